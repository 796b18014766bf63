"""Canonical bytes and digests of plain values: what every identity in Forebay is made of.

Two values have the same canonical form exactly when they are the same value of the same type: ``1``, ``"1"``, ``1.0``,
``True`` and ``None`` all differ, NaN equals NaN, ``0.0`` differs from ``-0.0``, a list differs from a mapping, and the
order of a mapping's keys does not matter. A value without a canonical form is an error, never a guess.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from transforms.errors import NotCanonicalError

Value: TypeAlias = "None | bool | int | float | str | bytes | Sequence[Value] | Mapping[str, Value]"


def _tagged(value: Value) -> object:
    if value is None:
        return {"none": None}
    if isinstance(value, bool):  # before int: a bool is an int to Python, and not to us
        return {"bool": value}
    if isinstance(value, int):
        return {"int": str(int(value))}
    if isinstance(value, float):
        return {"float": "nan" if math.isnan(value) else float(value).hex()}
    if isinstance(value, str):
        return {"str": str(value)}
    if isinstance(value, bytes):
        return {"bytes": bytes(value).hex()}
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            raise NotCanonicalError(f"a mapping with keys that are not strings has no canonical form: {value!r}")
        return {"map": {str(key): _tagged(item) for key, item in value.items()}}
    if isinstance(value, (list, tuple)):
        return {"list": [_tagged(item) for item in value]}
    raise NotCanonicalError(f"{type(value).__module__}.{type(value).__qualname__} has no canonical form: {value!r}")


def canonical_json(value: Value) -> str:
    """The canonical JSON text of ``value``, each scalar and container tagged with its type.

    Raises:
      NotCanonicalError: where some part of ``value`` has no canonical form.
    """
    return json.dumps(_tagged(value), sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def digest(value: Value) -> str:
    """SHA-256 of the canonical form, as 64 hexadecimal digits."""
    return hashlib.sha256(canonical_json(value).encode("ascii")).hexdigest()
