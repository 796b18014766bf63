"""The header of a chunk file: the descriptor that is kept with the columns, in every format."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from materialized import layout
from materialized.buffers import content_digest
from materialized.errors import MismatchError
from materialized.groups import GroupDescriptor
from transforms.types import ColumnType

BLOCK_ROWS = 16_384
"""Rows that are encoded together, and that can be read without the others. The reader's blocks have this size too."""


@dataclass(frozen=True)
class ChunkHeader:
    """What a chunk file says about itself.

    Attributes:
      chunk: identity of the chunk.
      group: identity of the write group.
      rows: number of rows.
      types: type of each column, by identity.
      content: `content_digest` of each column, by identity.
    """

    chunk: str
    group: str
    rows: int
    types: Mapping[str, ColumnType]
    content: Mapping[str, str]

    @classmethod
    def of(cls, chunk: str, descriptor: GroupDescriptor, table: pa.Table) -> ChunkHeader:
        """The header of ``table``, whose columns are named by their identities.

        Raises:
          MismatchError: the table has other columns or types than ``descriptor`` says, or nulls where there can be
            none.
        """
        place = f"columns of chunk {chunk}, group {descriptor.group}"
        if sorted(table.column_names) != sorted(descriptor.types):
            raise MismatchError(f"{place}: expected {sorted(descriptor.types)}, found {sorted(table.column_names)}")
        for identity, column_type in descriptor.types.items():
            column = table.column(identity)
            if column.type != column_type.to_arrow():
                raise MismatchError(
                    f"{place}: expected {column_type} (Arrow {column_type.to_arrow()}) in {identity},"
                    f" found Arrow {column.type}"
                )
            if column.null_count and not column_type.nullable:
                raise MismatchError(
                    f"{place}: expected no nulls in {identity} ({column_type}), found {column.null_count}"
                )
        content = {
            identity: content_digest(table.column(identity), kind) for identity, kind in descriptor.types.items()
        }
        return cls(chunk, descriptor.group, table.num_rows, descriptor.types, content)

    def to_json(self) -> bytes:
        """The header as JSON."""
        content = {
            "format": layout.FORMAT,
            "chunk": self.chunk,
            "group": self.group,
            "rows": self.rows,
            "columns": {
                identity: {"type": column_type.to_json(), "content": self.content[identity]}
                for identity, column_type in self.types.items()
            },
        }
        return json.dumps(content, sort_keys=True).encode()

    @classmethod
    def from_json(cls, data: bytes | None, place: str) -> ChunkHeader:
        """The header that `to_json` wrote; ``place`` names the file in messages.

        Raises:
          MismatchError: ``data`` is no header, or one of another format version.
        """
        try:
            content = json.loads(data or b"")
            if content["format"] != layout.FORMAT:
                raise MismatchError(f"{place}: expected format version {layout.FORMAT}, found {content['format']!r}")
            columns = content["columns"]
            return cls(
                chunk=content["chunk"],
                group=content["group"],
                rows=int(content["rows"]),
                types={identity: ColumnType.from_json(column["type"]) for identity, column in columns.items()},
                content={identity: column["content"] for identity, column in columns.items()},
            )
        except (ValueError, KeyError, TypeError) as error:
            raise MismatchError(f"{place}: expected a chunk file's descriptor, found {(data or b'')[:80]!r}") from error
