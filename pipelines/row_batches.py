"""A run of rows that a parser made of a text file: typed columns, and how many values were bad."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from transforms.types import ColumnType


@dataclass(frozen=True)
class RowBatch:
    """Rows in the file's order.

    Attributes:
      columns: an array per column of the schema, of type ``ColumnType.to_arrow()``.
      bad: number of bad values per column; they are null in `columns`.
      rows: number of rows.
      digest: SHA-256 of the file's bytes, in the last batch of a file, which has no rows; None in all others.
    """

    columns: Mapping[str, pa.Array]
    bad: Mapping[str, int]
    rows: int
    digest: str | None = None

    @classmethod
    def end(cls, schema: Mapping[str, ColumnType], digest: str) -> RowBatch:
        """The batch that ends a file."""
        columns = {name: pa.array([], column_type.to_arrow()) for name, column_type in schema.items()}
        return cls(columns, dict.fromkeys(schema, 0), 0, digest)
