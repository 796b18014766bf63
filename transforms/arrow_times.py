"""Arrow's times, dates and durations as whole seconds: the one place that rounds them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from transforms.errors import InputError

_UNITS_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_DAY_SECONDS = 86_400


def to_seconds(array: pa.Array) -> pa.Array:
    """Times as int64 seconds, rounded down: since 1970-01-01 UTC, since midnight, or of a duration.

    Raises:
      InputError: the array holds intervals, which are no number of seconds.
    """
    kind = array.type
    if pa.types.is_date32(kind):
        return pc.multiply(array.cast(pa.int32()).cast(pa.int64()), _DAY_SECONDS)
    unit = "ms" if pa.types.is_date64(kind) else getattr(kind, "unit", None)
    if unit not in _UNITS_PER_SECOND:
        raise InputError(f"expected times, found a column of {kind}, which is no number of seconds")
    ticks = array.cast(pa.int32() if pa.types.is_time32(kind) else pa.int64()).cast(pa.int64())
    # NumPy rounds down; Arrow's division and its casts to coarser units round towards 1970.
    values = pc.fill_null(ticks, 0).to_numpy(zero_copy_only=False) // _UNITS_PER_SECOND[unit]
    missing = ~np.asarray(array.is_valid().to_numpy(zero_copy_only=False), bool)
    return pa.array(values, pa.int64(), mask=missing)
