"""Canonical bytes and digests of plain values: what every identity in Forebay is made of.

Two values have the same canonical form exactly when they are the same value of the same type: ``1``, ``"1"``, ``1.0``,
``True`` and ``None`` all differ, NaN equals NaN, ``0.0`` differs from ``-0.0``, a list differs from a mapping, and the
order of a mapping's keys does not matter. A value without a canonical form is an error, never a guess.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from transforms.errors import NotCanonicalError

Value: TypeAlias = "bool | int | float | str | bytes | Sequence[Value] | Mapping[str, Value] | None"


def tagged(value: Value) -> dict[str, Any]:
    """``value`` as a JSON value in which each scalar and container says its type: ``{"int": "1"}``, ``{"list": […]}``.

    Raises:
      NotCanonicalError: where some part of ``value`` has no canonical form.
    """
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
        return {"map": {str(key): tagged(item) for key, item in value.items()}}
    if isinstance(value, (list, tuple)):
        return {"list": [tagged(item) for item in value]}
    raise NotCanonicalError(f"{type(value).__module__}.{type(value).__qualname__} has no canonical form: {value!r}")


def canonical_json(value: Value) -> str:
    """The canonical JSON text of ``value``, each scalar and container tagged with its type.

    Raises:
      NotCanonicalError: where some part of ``value`` has no canonical form.
    """
    return json.dumps(tagged(value), sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def from_tagged(value: Any) -> Value:
    """The value that `tagged` wrote; every sequence comes back as a tuple, which has the same canonical form.

    Raises:
      NotCanonicalError: where ``value`` is nothing that `tagged` writes.
    """
    if not isinstance(value, dict) or len(value) != 1:
        raise NotCanonicalError(f"expected an object with one key that names a type, found {value!r}")
    ((tag, item),) = value.items()
    if tag == "none" and item is None:
        return None
    if tag == "bool" and isinstance(item, bool):
        return item
    if isinstance(item, str) and tag in _READERS:
        return _READERS[tag](item)
    if tag == "map" and isinstance(item, dict):
        return {name: from_tagged(inner) for name, inner in item.items()}
    if tag == "list" and isinstance(item, list):
        return tuple(from_tagged(inner) for inner in item)
    raise NotCanonicalError(f"no value is written as {value!r}")


_READERS: Mapping[str, Callable[[str], Value]] = {
    "int": int,
    "float": float.fromhex,
    "str": str,
    "bytes": bytes.fromhex,
}


def digest(value: Value) -> str:
    """SHA-256 of the canonical form, as 64 hexadecimal digits."""
    return hashlib.sha256(canonical_json(value).encode("ascii")).hexdigest()
