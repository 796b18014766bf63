"""From a dataset's description to its columns and its manifest, without parsing text.

Chunks are named by content: SHA-256 of the source file's bytes and how they are read and cut. Where the file lies and
what it is called do not enter, so that a moved file still has its columns and a changed one never does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pyarrow.parquet as pq

from materialized import layout, parquet_logs
from materialized.chunks import ChunkEntry, Manifest, chunk_identity
from materialized.errors import MismatchError, SourceError
from materialized.log_files import LogFile, file_digest, find_files
from materialized.store import Store
from transforms.places import nearest
from transforms.schema import parse_schema
from transforms.specs import DatasetSpec
from transforms.types import ColumnType

INGEST_VERSION = 1
"""Changes when the same text would become other raw rows."""

_HASHING_THREADS = 4


def raw_schema(dataset: DatasetSpec) -> Mapping[str, ColumnType]:
    """Type of each raw column that expressions may read, by name.

    Text formats take it from the dataset file. Parquet files bring their own; there, the dataset file may declare that
    a column has no nulls. Columns that Forebay has no type for are left out (see `unsupported_columns`).

    Raises:
      SourceError: the files contradict each other or the dataset file, a text format has no schema, or there are no
        files.
    """
    declared = parse_schema(dataset.schema)
    place = str(dataset.place or f"dataset {dataset.name!r}")
    if dataset.format != "parquet":
        if not declared:
            raise SourceError(f"{place}: expected a schema, which {dataset.format} files do not bring, found none")
        return declared
    types, _ = parquet_logs.unified_schema(find_files(dataset))
    schema = parquet_logs.declared(types, declared, place)
    _check_roles(dataset, schema, place)
    return schema


def _check_roles(dataset: DatasetSpec, schema: Mapping[str, ColumnType], place: str) -> None:
    """Refuses a key or a time that the files do not have; of text formats the dataset file itself tells."""
    for role, column in (("key", dataset.key), ("time", dataset.time)):
        if column is not None and column not in schema:
            raise SourceError(f"{place}: {role}: unknown column {column!r}{nearest(column, schema)}")
    if dataset.time is not None and not schema[dataset.time].is_number:
        found = f"found {dataset.time!r} of {schema[dataset.time]}"
        raise SourceError(f"{place}: time: expected a column of int64 or float64, {found}")


def unsupported_columns(dataset: DatasetSpec) -> Mapping[str, str]:
    """Columns of Parquet files that no expression can read, with their Arrow types as text; empty for text formats."""
    return parquet_logs.unified_schema(find_files(dataset))[1] if dataset.format == "parquet" else {}


def current_manifest(dataset: DatasetSpec, store: Store | None) -> Manifest:
    """The dataset's chunks as its files are now.

    Text that ``store`` has ingested comes with its number of rows; other text has None there.

    Raises:
      SourceError: a file is absent, unreadable or not what the dataset's description says, or there are none.
    """
    files = find_files(dataset)
    with ThreadPoolExecutor(_HASHING_THREADS) as threads:
        digests = list(threads.map(lambda file: file_digest(file, store), files))
    cut = _parquet_entries if dataset.format == "parquet" else _text_entries
    entries = [entry for file, found in zip(files, digests, strict=True) for entry in cut(dataset, file, found)]
    manifest = Manifest(dataset.name, tuple(entries))
    return manifest if store is None else with_ingested(manifest, store, dataset)


def _parquet_entries(dataset: DatasetSpec, file: LogFile, found: str) -> Iterator[ChunkEntry]:
    metadata = parquet_logs.footer(file)
    runs = list(parquet_logs.row_group_runs(metadata, dataset.chunk_bytes))
    for ordinal, row_groups in enumerate(runs):
        yield ChunkEntry(
            chunk=chunk_identity(found, {"format": "parquet", "row_groups": list(row_groups)}),
            source=file.path,
            source_digest=found,
            ordinal=ordinal,
            parts=len(runs),
            rows=parquet_logs.rows_in(metadata, row_groups),
            row_groups=row_groups,
            time_range=parquet_logs.time_range(metadata, row_groups, dataset.time),
        )


def _text_entries(dataset: DatasetSpec, file: LogFile, found: str) -> Iterator[ChunkEntry]:
    parts = max(1, -(-file.bytes // dataset.chunk_bytes))
    schema = {name: str(column) for name, column in parse_schema(dataset.schema).items()}
    for ordinal in range(parts):
        options = {
            "format": dataset.format,
            "ingest": INGEST_VERSION,
            "schema": schema,
            "ordinal": ordinal,
            "parts": parts,
        }
        yield ChunkEntry(chunk_identity(found, options), file.path, found, ordinal, parts, rows=None)


def with_ingested(manifest: Manifest, store: Store, dataset: DatasetSpec) -> Manifest:
    """``manifest`` with the rows and time ranges of the text chunks that ``store`` has ingested."""
    known: dict[str, ChunkEntry] = {}
    entries = []
    for entry in manifest.entries:
        if entry.row_groups is None and entry.rows is None:
            if entry.chunk not in known:
                known[entry.chunk] = _ingested(entry, store, dataset)
            same = known[entry.chunk]
            entry = replace(entry, rows=same.rows, time_range=same.time_range)
        entries.append(entry)
    return replace(manifest, entries=tuple(entries))


def _ingested(entry: ChunkEntry, store: Store, dataset: DatasetSpec) -> ChunkEntry:
    key = layout.raw_chunk(entry.chunk)
    if not store.exists(key):
        return entry
    try:
        metadata = pq.read_metadata(store.open_file(key))
    except (ValueError, OSError) as error:  # Arrow's errors derive from these two
        raise MismatchError(f"{store.path}/{key}: expected the ingested rows of {entry} as Parquet: {error}") from error
    time_range = parquet_logs.time_range(metadata, range(metadata.num_row_groups), dataset.time)
    return replace(entry, rows=metadata.num_rows, time_range=time_range)
