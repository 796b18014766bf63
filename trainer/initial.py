"""First values of parameters: a function of (seed, name, row, column) and of nothing else.

A counter hash, so that any part of a table can be computed alone and is the same whatever the stacking, the sharding or
the engine. The bits of a value are an output of SplitMix64 (`materialized.orders`) that is the seed of another:

    row_bits = number `row` of the generator seeded with the first 8 bytes of the digest of seed and name
    bits     = number `column` of the generator seeded with row_bits

The upper 53 bits are a uniform number in (0, 1); a normal one is its inverse CDF. Computed in float64, rounded once.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from materialized.orders import STEP, splitmix64
from transforms.canonical import digest

EMBEDDING_STDDEV = 0.05
"""Standard deviation of embedding rows' first values."""

_GAMMA = np.uint64(STEP)


def uniform(seed: int, name: str, rows: range, columns: int) -> npt.NDArray[np.float64]:
    """Uniform numbers in (0, 1), ``[rows, columns]``."""
    key = np.uint64(int(digest({"seed": seed, "name": name})[:16], 16))
    row_bits = splitmix64(key + np.arange(rows.start, rows.stop, dtype=np.uint64) * _GAMMA)
    bits = splitmix64(row_bits[:, np.newaxis] + np.arange(columns, dtype=np.uint64) * _GAMMA)
    result: npt.NDArray[np.float64] = ((bits >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
    return result


def normal(
    seed: int, name: str, rows: range, columns: int, stddev: float = EMBEDDING_STDDEV
) -> npt.NDArray[np.float32]:
    """Normal numbers with mean 0, ``[rows, columns]``."""
    scaled: npt.NDArray[np.float64] = ndtri(uniform(seed, name, rows, columns)) * stddev
    return scaled.astype(np.float32)


def glorot(seed: int, name: str, inputs: int, outputs: int) -> npt.NDArray[np.float32]:
    """A dense layer's kernel ``[inputs, outputs]``: uniform in ±√(6 ÷ (inputs + outputs)) (Glorot and Bengio, 2010)."""
    limit = np.sqrt(6.0 / (inputs + outputs))
    scaled: npt.NDArray[np.float64] = (2.0 * uniform(seed, name, range(inputs), outputs) - 1.0) * limit
    return scaled.astype(np.float32)
