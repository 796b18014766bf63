"""Text to values, vectorised: what a field of a CSV file or a JSON string means as a value of some type.

The rules are the same for every value of a column, whatever the others look like:

* missing (null) stays missing; a field is missing where the file has nothing, an empty string included.
* numbers and bools may have spaces around them.
* integers: decimal digits with a sign, and nothing behind the point if there is one (``12``, ``-3``, ``12.0``), in
  range.
* floats: decimal notation (``1.5``, ``.5``, ``1e5``), ``nan``, ``inf``, ``infinity`` in any case. A number too large
  for float64 is not read as infinity: it is a bad value.
* bools: ``true false t f yes no y n 1 0`` in any case.
* strings: any valid UTF-8.

What fits none of these is a *bad value*: it becomes null, and is counted.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from transforms.types import ColumnType, DType, Shape

_INTEGER = r"^[+-]?[0-9]+(\.0*)?$"
_UNSIGNED = r"^\+?[0-9]+(\.0*)?$"
_DECIMAL = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_SPECIAL = r"(?i)^[+-]?(nan|inf|infinity)$"

_TRUE = ("true", "t", "yes", "y", "1")
_FALSE = ("false", "f", "no", "n", "0")

_SAFE_DIGITS = 18
"""An integer of at most this many characters fits into int64 and uint64 whatever it is."""

_RANGES = {DType.INT64: (-(2**63), 2**63 - 1), DType.UINT64: (0, 2**64 - 1)}


def parse_column(texts: pa.Array, column_type: ColumnType) -> tuple[pa.Array, int]:
    """Reads a column of text.

    Args:
      texts: an Arrow array of strings or binaries; nulls and empty texts are missing values.
      column_type: what to read them as; a scalar type.

    Returns:
      The values, of type ``column_type.to_arrow()``, and the number of bad values, which are null among them.
    """
    if column_type.shape is not Shape.SCALAR:
        raise ValueError(f"text is read as scalars, not as {column_type}")
    texts, undecodable = _decode(texts)
    texts = pc.if_else(pc.equal(pc.binary_length(texts), 0), pa.scalar(None, pa.string()), texts)
    if column_type.dtype is DType.STRING:
        return texts, undecodable
    trimmed = pc.utf8_trim_whitespace(texts)
    trimmed = pc.if_else(pc.equal(pc.binary_length(trimmed), 0), pa.scalar(None, pa.string()), trimmed)
    if column_type.dtype is DType.BOOL:
        values = _bools(trimmed)
    elif column_type.dtype in _RANGES:
        values = _integers(trimmed, column_type.dtype)
    else:
        values = _floats(trimmed, column_type.to_arrow())
    return values, undecodable + values.null_count - trimmed.null_count


def _decode(texts: pa.Array) -> tuple[pa.Array, int]:
    if pa.types.is_string(texts.type):
        return texts, 0
    try:
        return texts.cast(pa.string()), 0
    except pa.ArrowInvalid:  # some are not UTF-8; find which, one by one: this is rare
        decoded = [_decode_one(text) for text in texts.to_pylist()]
        values = pa.array(decoded, pa.string())
        return values, values.null_count - texts.null_count


def _decode_one(text: bytes | None) -> str | None:
    if text is None:
        return None
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _keep(texts: pa.Array, condition: Any) -> pa.Array:
    """``texts`` where ``condition`` holds, null elsewhere."""
    return pc.if_else(condition, texts, pa.scalar(None, pa.string()))


def _bools(texts: pa.Array) -> pa.Array:
    lowered = pc.utf8_lower(texts)
    true = pc.is_in(lowered, pa.array(_TRUE))
    known = pc.or_(true, pc.is_in(lowered, pa.array(_FALSE)))
    return pc.if_else(known, true, pa.scalar(None, pa.bool_()))


def _integers(texts: pa.Array, dtype: DType) -> pa.Array:
    pattern = _UNSIGNED if dtype is DType.UINT64 else _INTEGER
    digits = _keep(texts, pc.match_substring_regex(texts, pattern))
    digits = pc.replace_substring_regex(digits, r"^\+|\..*$", "")
    if pc.any(pc.greater(pc.binary_length(digits), _SAFE_DIGITS)).as_py():
        # Arrow's cast stops at the first number out of range, so look at the long ones before.
        smallest, largest = _RANGES[dtype]
        inside = [
            text is not None and (len(text) <= _SAFE_DIGITS or smallest <= _to_int(text) <= largest)
            for text in digits.to_pylist()
        ]
        digits = _keep(digits, pa.array(inside))
        digits = pc.replace_substring_regex(digits, r"^(-?)0+([0-9])", r"\1\2")
    return digits.cast(pa.int64() if dtype is DType.INT64 else pa.uint64())


_LONGEST = 4000
"""Digits of the longest number that Python converts without being asked to; no such number is in range anyway."""


def _to_int(text: str) -> int:
    text = ("-" if text[0] == "-" else "") + (text.lstrip("-").lstrip("0") or "0")
    return int(text) if len(text) <= _LONGEST else 2**64


def _floats(texts: pa.Array, arrow_type: pa.DataType) -> pa.Array:
    special = pc.match_substring_regex(texts, _SPECIAL)
    numbers = _keep(texts, pc.or_(special, pc.match_substring_regex(texts, _DECIMAL)))
    values = numbers.cast(pa.float64()).cast(arrow_type)
    return pc.if_else(pc.and_(pc.is_inf(values), pc.invert(special)), pa.scalar(None, arrow_type), values)
