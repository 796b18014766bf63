"""Types of raw columns as people write them in a dataset file: ``int64``, ``string not null``, ``list<int64>``."""

from __future__ import annotations

import re
from collections.abc import Mapping

from transforms.errors import SpecError
from transforms.places import nearest
from transforms.types import ColumnType, DType, Shape

_DTYPES = {dtype.value: dtype for dtype in (DType.STRING, DType.BOOL, DType.INT64, DType.UINT64, DType.FLOAT64)}

_MEANT = {
    "str": "string",
    "text": "string",
    "bytes": "string",
    "binary": "string",
    "boolean": "bool",
    "int": "int64",
    "integer": "int64",
    "long": "int64",
    "bigint": "int64",
    "int8": "int64",
    "int16": "int64",
    "int32": "int64",
    "timestamp": "int64",
    "uint8": "int64",
    "uint16": "int64",
    "uint32": "int64",
    "float": "float64",
    "double": "float64",
    "float32": "float64",
}
"""What other systems call types; a guess at the meaning belongs into a message, not into the data."""

_PATTERN = re.compile(r"(?P<list>list\s*<\s*)?(?P<dtype>[A-Za-z0-9_]+)(?(list)\s*>)(?P<required>\s+not\s+null)?")


def parse_type(text: str) -> ColumnType:
    """The type that ``text`` names; nullable unless it ends in ``not null`` or is a list.

    Raises:
      SpecError: where it names none; says what was meant, or what there is.
    """
    match = _PATTERN.fullmatch(text.strip())
    if match is None:
        raise SpecError(f"expected a type ({_accepted()}), found {text!r}")
    name = match["dtype"]
    if name not in _DTYPES:
        meant = _MEANT.get(name.lower())
        hint = f" (did you mean {meant!r}?)" if meant else nearest(name, _DTYPES)
        raise SpecError(f"unknown type {name!r}{hint}; expected {_accepted()}")
    if match["list"]:
        if match["required"]:
            raise SpecError(f"{text!r}: a list is never null, a missing one is empty; leave `not null` out")
        return ColumnType(_DTYPES[name], Shape.RAGGED)
    return ColumnType(_DTYPES[name], nullable=not match["required"])


def parse_schema(schema: Mapping[str, str]) -> dict[str, ColumnType]:
    """The types of a dataset file's ``schema``, in its order.

    Raises:
      SpecError: where a type is none; names the first such column.
    """
    types = {}
    for column, text in schema.items():
        try:
            types[column] = parse_type(text)
        except SpecError as error:
            raise SpecError(f"column {column!r}: {error}") from error
    return types


def _accepted() -> str:
    return f"{', '.join(_DTYPES)}, or list<…> of one of these; scalars may be followed by `not null`"
