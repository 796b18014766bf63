"""The types of columns: a dtype, a shape and whether values may be missing.

What a type says about values, everywhere in Forebay:

* scalar: one value a row; ``[batch]``. Nullable scalars are (values, present).
* vector: ``width`` values a row; ``[batch, width]``; never null.
* ragged: any number of values a row; ``[batch, None]``. A null list *is* an empty list, so ragged columns are never
  nullable, and neither are their elements.
* asset: not a column but what an analyzer found (a vocabulary, moments, boundaries).

NaN is a float like any other and is not null. ``uint64`` values travel as the int64 with the same bits.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa


class DType(enum.Enum):
    """What one value is."""

    STRING = "string"
    BOOL = "bool"
    INT64 = "int64"
    UINT64 = "uint64"
    FLOAT32 = "float32"
    FLOAT64 = "float64"


class Shape(enum.Enum):
    """How many values a row has."""

    SCALAR = "scalar"
    VECTOR = "vector"
    RAGGED = "ragged"
    ASSET = "asset"


@dataclass(frozen=True)
class ColumnType:
    """The type of a column of the log or of a node of the feature graph.

    Attributes:
      dtype: what one value is.
      shape: how many values a row has.
      nullable: whether a value may be missing; scalars only.
      width: values per row of a vector; None for all other shapes.
    """

    dtype: DType
    shape: Shape = Shape.SCALAR
    nullable: bool = False
    width: int | None = None

    def __post_init__(self) -> None:
        if (self.shape is Shape.VECTOR) != (self.width is not None):
            raise ValueError(
                f"width belongs to vectors and only to them, got shape {self.shape.value} and width {self.width}"
            )
        if self.width is not None and self.width < 1:
            raise ValueError(f"a vector has at least one value, got width {self.width}")
        if self.nullable and self.shape is not Shape.SCALAR:
            raise ValueError(f"only scalars are nullable, got a nullable {self.shape.value}")

    def __str__(self) -> str:
        if self.shape is Shape.ASSET:
            return "asset"
        if self.shape is Shape.VECTOR:
            return f"{self.dtype.value}[{self.width}]"
        if self.shape is Shape.RAGGED:
            return f"list<{self.dtype.value}>"
        return f"nullable {self.dtype.value}" if self.nullable else self.dtype.value

    @property
    def is_number(self) -> bool:
        """Whether arithmetic is defined: integers and floats, but not bool, nor uint64, whose bits travel as int64."""
        return self.dtype in (DType.INT64, DType.FLOAT32, DType.FLOAT64)

    def with_nullable(self, nullable: bool) -> ColumnType:
        """This type, nullable or not. Shapes that are never null stay as they are."""
        return replace(self, nullable=nullable and self.shape is Shape.SCALAR)

    def to_arrow(self) -> pa.DataType:
        """The Arrow type that a materialized column of this type is stored as."""
        value = _TO_ARROW[self.dtype]
        if self.shape is Shape.RAGGED:
            return pa.list_(value)
        if self.shape is Shape.VECTOR:
            return pa.list_(value, self.width)
        return value

    def to_json(self) -> dict[str, Any]:
        """The type as a JSON object."""
        return {
            "dtype": self.dtype.value,
            "shape": self.shape.value,
            "nullable": self.nullable,
            "width": self.width,
        }

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> ColumnType:
        """The type that `to_json` wrote.

        Raises:
          KeyError, TypeError, ValueError: ``content`` is no such object.
        """
        width = content["width"]
        if not isinstance(content["nullable"], bool) or not isinstance(width, int | None):
            raise TypeError(f"expected the type of a column, found {content!r}")
        return cls(DType(content["dtype"]), Shape(content["shape"]), content["nullable"], width)

    @classmethod
    def from_arrow(cls, arrow: pa.DataType, nullable: bool = True) -> ColumnType | None:
        """The type of a raw column of Arrow type ``arrow``, or None where Forebay has no type for it.

        Integers of every width become int64 (uint64 stays uint64), floats float64, strings, binaries and dictionaries
        of them string, timestamps and dates int64 (seconds since 1970-01-01 UTC), lists of any of these ragged.
        """
        if pa.types.is_dictionary(arrow):
            return cls.from_arrow(arrow.value_type, nullable)
        if pa.types.is_list(arrow) or pa.types.is_large_list(arrow) or pa.types.is_fixed_size_list(arrow):
            element = cls.from_arrow(arrow.value_type, nullable=False)
            return None if element is None or element.shape is not Shape.SCALAR else cls(element.dtype, Shape.RAGGED)
        for test, dtype in _FROM_ARROW:
            if test(arrow):
                return cls(dtype, nullable=nullable)
        return None


_TO_ARROW = {
    DType.STRING: pa.string(),
    DType.BOOL: pa.bool_(),
    DType.INT64: pa.int64(),
    DType.UINT64: pa.uint64(),
    DType.FLOAT32: pa.float32(),
    DType.FLOAT64: pa.float64(),
}

_FROM_ARROW = (
    (pa.types.is_boolean, DType.BOOL),
    (pa.types.is_uint64, DType.UINT64),
    (pa.types.is_integer, DType.INT64),
    (pa.types.is_floating, DType.FLOAT64),
    (pa.types.is_temporal, DType.INT64),
    (pa.types.is_string, DType.STRING),
    (pa.types.is_large_string, DType.STRING),
    (pa.types.is_binary, DType.STRING),
    (pa.types.is_large_binary, DType.STRING),
    (pa.types.is_null, DType.STRING),
)
