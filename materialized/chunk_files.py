"""Writing and reading the materialized columns of chunks.

A chunk file holds exactly the chunk's rows in the chunk's order, so columns of several files are joined by position.
What is read is checked against the descriptor in the file, the group's descriptor and what the reader expects.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import pyarrow as pa

from materialized import layout
from materialized.buffers import content_digest
from materialized.chunk_header import ChunkHeader
from materialized.codecs import Codec, ColumnFile, ParquetCodec
from materialized.errors import MismatchError, NotMaterializedError
from materialized.groups import GroupDescriptor, write_group
from materialized.inventory import Inventory, StoredFile
from materialized.store import Store
from materialized.tfrecord import TFRecordCodec
from transforms.types import ColumnType

CODECS: Mapping[str, Codec] = {codec.suffix: codec for codec in (ParquetCodec(), TFRecordCodec())}
"""The formats of chunk files, by name."""


def write_chunk(
    store: Store, chunk: str, descriptor: GroupDescriptor, table: pa.Table, format: str = ParquetCodec.suffix
) -> bool:
    """Commits the columns of ``descriptor`` for ``chunk``; the group's descriptor goes first.

    Args:
      store: where to.
      chunk: identity of the chunk.
      descriptor: which columns, and of what types.
      table: all rows of the chunk in its order; columns are named by their identities.
      format: a key of `CODECS`.

    Returns:
      Whether this call committed the file; False means that it was there.

    Raises:
      MismatchError: ``table`` is not what ``descriptor`` says.
      ReadOnlyStoreError: the store cannot be written.
    """
    codec = CODECS[format]
    header = ChunkHeader.of(chunk, descriptor, table)
    write_group(store, descriptor)
    return store.write_once(layout.chunk_file(chunk, descriptor.group, codec.suffix), codec.encode(table, header))


class ChunkColumns:
    """Some columns of a chunk, from as many files as they lie in."""

    def __init__(
        self,
        store: Store,
        chunk: str,
        columns: Iterable[str] | Mapping[str, ColumnType],
        inventory: Inventory | None = None,
    ):
        """Opens the files.

        Args:
          store: where they are.
          chunk: identity of the chunk.
          columns: column identities, with the types that are expected if they are known.
          inventory: one of ``store``, to spare reading group descriptors again.

        Raises:
          NotMaterializedError: a column is not there.
          MismatchError: a file is damaged, or is not what it should be.
        """
        inventory = inventory or Inventory(store)
        self.chunk = chunk
        self._order = list(dict.fromkeys(columns))
        self._files: list[tuple[str, ColumnFile, list[str]]] = []
        stored = inventory.stored(chunk)
        missing = [identity for identity in self._order if identity not in stored]
        if missing:
            raise NotMaterializedError(
                f"{store.path}: {len(missing)} of {len(self._order)} columns of chunk {chunk} are not materialized,"
                f" the first is {missing[0]}"
            )
        wanted: dict[StoredFile, list[str]] = {}
        for identity in self._order:
            wanted.setdefault(stored[identity], []).append(identity)
        for file, identities in wanted.items():
            opened = CODECS[file.suffix].open(store, file.key)
            place = f"{store.path}/{file.key}"
            _check(place, opened.header, chunk, file.group, inventory.descriptor(file.group).types)
            if isinstance(columns, Mapping):
                _check_types(place, opened.header.types, {identity: columns[identity] for identity in identities})
            self._files.append((place, opened, identities))
        counts = {opened.header.rows: place for place, opened, _ in self._files}
        if len(counts) > 1:
            (rows, place), (other_rows, other_place) = list(counts.items())[:2]
            raise MismatchError(
                f"{place} has {rows} rows and {other_place} has {other_rows}: one chunk has one number of rows"
            )
        self.rows = next(iter(counts), 0)

    def read(self, rows: range | None = None) -> pa.Table:
        """The columns, in the order asked for and named by their identities, of a run of ``rows`` (None: of all)."""
        rows = range(self.rows) if rows is None else rows
        tables = [opened.read(identities, rows) for _, opened, identities in self._files]
        columns = {
            name: column for table in tables for name, column in zip(table.column_names, table.columns, strict=True)
        }
        return pa.table([columns[identity] for identity in self._order], names=self._order)

    def verify(self, table: pa.Table) -> None:
        """Compares ``table``, all rows, with the content digests in the files.

        Raises:
          MismatchError: a column has another digest.
        """
        for place, opened, identities in self._files:
            for identity in identities:
                expected = opened.header.content[identity]
                found = content_digest(table.column(identity), opened.header.types[identity])
                if found != expected:
                    raise MismatchError(
                        f"{place}: expected content digest {expected} in column {identity}, found {found}"
                    )


def read_columns(
    store: Store,
    chunk: str,
    columns: Sequence[str] | Mapping[str, ColumnType],
    inventory: Inventory | None = None,
) -> pa.Table:
    """All rows of some columns of ``chunk``, joined by position, with their content digests verified.

    Arguments and errors are those of `ChunkColumns`; only the asked columns are read.
    """
    opened = ChunkColumns(store, chunk, columns, inventory)
    table = opened.read()
    opened.verify(table)
    return table


def _check(place: str, header: ChunkHeader, chunk: str, group: str, types: Mapping[str, ColumnType]) -> None:
    if header.chunk != chunk:
        raise MismatchError(f"{place}: expected rows of chunk {chunk}, found those of chunk {header.chunk}")
    if header.group != group:
        raise MismatchError(f"{place}: expected columns of group {group}, found those of group {header.group}")
    if sorted(header.types) != sorted(types):
        raise MismatchError(f"{place}: expected the columns {sorted(types)}, found {sorted(header.types)}")
    _check_types(place, header.types, types)


def _check_types(place: str, found: Mapping[str, ColumnType], expected: Mapping[str, ColumnType]) -> None:
    for identity, column_type in expected.items():
        if found[identity] != column_type:
            raise MismatchError(f"{place}: expected {column_type} in column {identity}, found {found[identity]}")
