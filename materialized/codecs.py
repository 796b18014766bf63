"""How the columns of a chunk become the bytes of a file and back: the contract, and the Parquet codec.

A codec keeps rows in order in blocks of `BLOCK_ROWS`, repeats the header inside the file, and reads any run of rows of
some columns without the others as far as the format allows. Checksums of the format are always verified.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from materialized.chunk_header import BLOCK_ROWS, ChunkHeader
from materialized.errors import MismatchError
from materialized.store import Store


class ColumnFile(Protocol):
    """An open chunk file."""

    header: ChunkHeader

    def read(self, identities: Sequence[str], rows: range) -> pa.Table:
        """The columns ``identities``, in this order and named so, of the consecutive ``rows``.

        Raises:
          MismatchError: the file is damaged.
        """


class Codec(Protocol):
    """A file format for the columns of a chunk."""

    @property
    def suffix(self) -> str:
        """The format's name, and the suffix of its files."""

    def encode(self, table: pa.Table, header: ChunkHeader) -> bytes:
        """The bytes of a file with ``table`` and ``header``."""

    def open(self, store: Store, key: str) -> ColumnFile:
        """The file at ``key``.

        Raises:
          MismatchError: it is damaged or has no header.
        """


class ParquetCodec:
    """Parquet: a row group per block, the header in the footer's metadata, a checksum on every page."""

    suffix = "parquet"

    def encode(self, table: pa.Table, header: ChunkHeader) -> bytes:
        """The bytes of a Parquet file with ``table`` and ``header``."""
        sink = pa.BufferOutputStream()
        pq.write_table(
            table.select(sorted(table.column_names)).replace_schema_metadata({"forebay": header.to_json()}),
            sink,
            row_group_size=BLOCK_ROWS,
            compression="lz4",
            use_dictionary=_repeating(table),
            write_page_checksum=True,
        )
        return sink.getvalue().to_pybytes()

    def open(self, store: Store, key: str) -> ColumnFile:
        """The Parquet file at ``key``. Raises MismatchError."""
        place = f"{store.path}/{key}"
        try:
            file = pq.ParquetFile(store.open_file(key), page_checksum_verification=True)
        except (pa.ArrowInvalid, OSError) as error:
            if isinstance(error, FileNotFoundError):
                raise
            raise MismatchError(f"{place}: expected a Parquet file, found what is none: {error}") from error
        return _ParquetColumnFile(place, file)


def _repeating(table: pa.Table) -> list[str]:
    """Parquet paths of the columns whose first block has a dictionary worth writing: values come twice on average."""
    paths = []
    for name in table.column_names:
        column = table.column(name).slice(0, BLOCK_ROWS).combine_chunks()
        nested = pa.types.is_list(column.type) or pa.types.is_fixed_size_list(column.type)
        values = column.flatten() if nested else column
        if 2 * pc.count_distinct(values).as_py() <= len(values):
            paths.append(f"{name}.list.element" if nested else name)
    return paths


class _ParquetColumnFile:
    def __init__(self, place: str, file: pq.ParquetFile):
        metadata = file.schema_arrow.metadata or {}
        self.header = ChunkHeader.from_json(metadata.get(b"forebay"), place)
        self._place = place
        self._file = file
        counts = [file.metadata.row_group(index).num_rows for index in range(file.metadata.num_row_groups)]
        self._starts = [sum(counts[:index]) for index in range(len(counts) + 1)]
        if self._starts[-1] != self.header.rows:
            raise MismatchError(
                f"{place}: expected {self.header.rows} rows as its descriptor says, found {self._starts[-1]}"
            )
        for identity, column_type in self.header.types.items():
            index = file.schema_arrow.get_field_index(identity)
            found = "no such column" if index < 0 else file.schema_arrow.field(index).type
            if found != column_type.to_arrow():
                expected = column_type.to_arrow()
                raise MismatchError(
                    f"{place}: expected Arrow {expected} in {identity} as its descriptor says, found {found}"
                )

    def read(self, identities: Sequence[str], rows: range) -> pa.Table:
        groups = [
            index
            for index, start in enumerate(self._starts[:-1])
            if start < rows.stop and self._starts[index + 1] > rows.start
        ]
        try:
            table = self._file.read_row_groups(groups, columns=list(identities))
        except (pa.ArrowInvalid, OSError) as error:
            raise MismatchError(
                f"{self._place}: rows {rows.start} to {rows.stop - 1} cannot be read: {error}"
            ) from error
        first = self._starts[groups[0]] if groups else 0
        return table.select(list(identities)).slice(rows.start - first, len(rows)).replace_schema_metadata(None)
