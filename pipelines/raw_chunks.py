"""Text files become raw Parquet chunks in the store, once.

A task is a file. Its rows are cut evenly into the chunks that the manifest has of it; a file of several chunks is read
twice, first to count its rows, so that no more than one chunk is in memory. Nothing is committed before the digest of
the bytes that were read is known to be the one that the chunks are named after.

What a row of text is, is said in `pipelines.csv_rows` and `pipelines.json_rows`; running tasks on Beam is
`pipelines.ingest`, reading the chunks `materialized.raw_rows`.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from materialized import layout
from materialized.chunks import ChunkEntry, Manifest, rows_of_part
from materialized.store import Store
from pipelines import csv_rows, json_rows
from pipelines.errors import ChangedSourceError, LogError, ScratchError
from pipelines.raw_stream import Open, RawStream, opened
from pipelines.row_batches import RowBatch
from transforms.types import ColumnType

BAD_VALUES = b"forebay.bad_values"
"""Key in the footer of a raw chunk: JSON, number of bad values by column, of those columns that have any."""


@dataclass(frozen=True)
class TextFormat:
    """A format of text files.

    Attributes:
      batches: the rows of a file in order; the last batch has the file's digest.
      line_of: the line of a row.
    """

    batches: Callable[[Open, Mapping[str, ColumnType]], Iterator[RowBatch]]
    line_of: Callable[[Open, int], int]


FORMATS: Mapping[str, TextFormat] = {
    "csv": TextFormat(csv_rows.batches, csv_rows.line_of),
    "jsonl": TextFormat(json_rows.batches, json_rows.line_of),
}


@dataclass(frozen=True)
class IngestTask:
    """A file to ingest.

    Attributes:
      entries: all chunks of one file, in order.
    """

    entries: tuple[ChunkEntry, ...]

    @property
    def source(self) -> str:
        """The file's path."""
        return self.entries[0].source


@dataclass(frozen=True)
class RawChunk:
    """A chunk that lies in the store: its identity and number of rows."""

    chunk: str
    rows: int


def ingest_tasks(manifest: Manifest, store: Store) -> tuple[IngestTask, ...]:
    """The text files of ``manifest`` of which ``store`` lacks a chunk; of equal files the first."""
    files: dict[tuple[str, ...], list[ChunkEntry]] = {}
    by_source: dict[str, list[ChunkEntry]] = {}
    for entry in manifest:
        if entry.location is None:
            by_source.setdefault(entry.source, []).append(entry)
    for entries in by_source.values():
        files.setdefault(tuple(entry.chunk for entry in entries), entries)
    return tuple(
        IngestTask(tuple(entries))
        for chunks, entries in files.items()
        if not all(store.exists(layout.raw_chunk(chunk)) for chunk in chunks)
    )


def ingest_file(store: Store, format: str, schema: Mapping[str, ColumnType], task: IngestTask) -> list[RawChunk]:
    """Reads a file and commits its chunks.

    Raises:
      LogError: the file is not of the format, lacks a column, or has a null where the schema says there is none.
      ChangedSourceError: the file is not the one that the chunks are named after.
      ScratchError: the directory for temporary files is full.
    """
    text = FORMATS[format]
    open_source = partial(RawStream, task.source)
    parts = len(task.entries)
    rows = _count(text, open_source, schema) if parts > 1 else None
    with tempfile.TemporaryDirectory(prefix="forebay-ingest-") as folder:
        # The raw chunks wait here until the digest is known: it comes with the last of the file's bytes.
        written = []
        cut = _Cut(task.entries, rows, schema)
        for batch in text.batches(open_source, schema):
            _check_nulls(text, open_source, batch, schema, cut.rows_seen)
            for entry, table in cut.add(batch):
                path = Path(folder) / str(entry.ordinal)
                _put_aside(path, _encode(table))
                written.append((entry, table.num_rows, path))
            if batch.digest is not None and batch.digest != task.entries[0].source_digest:
                raise ChangedSourceError(
                    f"{task.source}: expected the file with SHA-256 {task.entries[0].source_digest}, as when it was "
                    f"listed, found {batch.digest}; the files of a log must be complete"
                )
        for entry, _, path in written:
            store.write_once(layout.raw_chunk(entry.chunk), path.read_bytes())
    return [RawChunk(entry.chunk, count) for entry, count, _ in written]


def _count(text: TextFormat, open_source: Open, schema: Mapping[str, ColumnType]) -> int:
    one_column = dict(list(schema.items())[:1])
    return sum(batch.rows for batch in text.batches(open_source, one_column))


class _Cut:
    """Cuts a file's batches into its chunks."""

    def __init__(self, entries: Sequence[ChunkEntry], rows: int | None, schema: Mapping[str, ColumnType]) -> None:
        self._entries = list(entries)
        self._rows = rows
        self._schema = pa.schema({name: column_type.to_arrow() for name, column_type in schema.items()})
        self._waiting: list[pa.Table] = []
        self._bad: dict[str, int] = {}
        self.rows_seen = 0

    def add(self, batch: RowBatch) -> Iterator[tuple[ChunkEntry, pa.Table]]:
        """Takes a batch in, and gives out the chunks that are complete with it, as tables."""
        self._waiting.append(pa.table(dict(batch.columns), schema=self._schema))
        self.rows_seen += batch.rows
        for name, count in batch.bad.items():
            self._bad[name] = self._bad.get(name, 0) + count
        last = batch.digest is not None
        while self._entries and (last or self._rows is not None):
            entry = self._entries[0]
            total = self.rows_seen if self._rows is None else self._rows
            size = len(rows_of_part(entry.ordinal, entry.parts, total))
            table = pa.concat_tables(self._waiting)
            if table.num_rows < size or (not last and table.num_rows == size == 0):
                return
            self._waiting = [table.slice(size)]
            # Bad values count for the chunk in which their batch ends; a file's sum is exact.
            bad, self._bad = {name: count for name, count in sorted(self._bad.items()) if count}, {}
            yield self._entries.pop(0), table.slice(0, size).replace_schema_metadata({BAD_VALUES: json.dumps(bad)})


def _put_aside(path: Path, data: bytes) -> None:
    try:
        path.write_bytes(data)
    except OSError as error:
        raise ScratchError(f"{path.parent}: cannot write {len(data):,} bytes: {error.strerror} (see TMPDIR)") from error


def _encode(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    return sink.getvalue().to_pybytes()


def _check_nulls(
    text: TextFormat, open_source: Open, batch: RowBatch, schema: Mapping[str, ColumnType], before: int
) -> None:
    for name, column_type in schema.items():
        column = batch.columns[name]
        if column.null_count and not column_type.nullable:
            row = before + pc.index(column.is_null(), True).as_py()
            with opened(open_source) as stream:
                source = stream.source
            kind = "one that is bad" if batch.bad[name] == column.null_count else "none"
            raise LogError(
                f"{source}:{text.line_of(open_source, row)}: expected a value in column {name!r}, which is declared "
                f"{column_type} not null, found {kind} (as in {column.null_count} of {batch.rows} rows read with it)"
            )


def bad_values(store: Store, manifest: Manifest) -> dict[str, int]:
    """Number of bad values in each raw column that has any, over the ingested chunks of ``manifest``."""
    counts: dict[str, int] = {}
    for chunk in {entry.chunk for entry in manifest if entry.location is None}:
        metadata = pq.read_metadata(store.open_file(layout.raw_chunk(chunk))).metadata or {}
        for name, count in json.loads(metadata.get(BAD_VALUES, b"{}")).items():
            counts[name] = counts.get(name, 0) + count
    return dict(sorted(counts.items()))
