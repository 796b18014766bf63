"""Logs that are Parquet files: their footers, schemas, row groups and time ranges."""

from __future__ import annotations

import calendar
import datetime
import functools
from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from materialized.chunks import Time
from materialized.errors import SourceError
from materialized.log_files import LogFile
from transforms.places import nearest
from transforms.types import ColumnType


@functools.lru_cache(maxsize=4096)
def footer(file: LogFile) -> pq.FileMetaData:
    """The footer of a Parquet file. Raises SourceError where there is none."""
    try:
        return pq.read_metadata(file.path)
    except (pa.ArrowInvalid, OSError) as error:
        raise SourceError(
            f"{file.path}: expected a Parquet file, found what is none, or is truncated: {error}"
        ) from error


def unified_schema(files: Sequence[LogFile]) -> tuple[dict[str, ColumnType], dict[str, str]]:
    """The columns that all ``files`` have.

    A column is nullable where any file says so. The widths of its integers and floats may differ between files, its
    kind may not; a column of Arrow's null type goes with every kind.

    Returns:
      The type of each column, by name; and of the columns that Forebay has no type for, their Arrow type as text.

    Raises:
      SourceError: a file lacks a column that another one has, or has another kind there; the message names both.
    """
    schemas = [(file.path, footer(file).schema.to_arrow_schema()) for file in files]
    fields: dict[str, list[tuple[str, pa.Field]]] = {}
    for path, schema in schemas:
        for field in schema:
            fields.setdefault(field.name, []).append((path, field))
    types: dict[str, ColumnType] = {}
    unsupported: dict[str, str] = {}
    for name, found in fields.items():
        if len(found) != len(schemas):
            having = {path for path, _ in found}
            lacking = next(path for path, _ in schemas if path not in having)
            raise SourceError(f"{lacking}: expected a column {name!r}, which {found[0][0]} has, found none")
        column_type = _unified(name, found)
        if column_type is None:
            unsupported[name] = str(found[0][1].type)
        else:
            types[name] = column_type
    return types, unsupported


def _unified(name: str, found: Sequence[tuple[str, pa.Field]]) -> ColumnType | None:
    telling = [(path, field) for path, field in found if not pa.types.is_null(field.type)] or found
    (first_path, first_field), *others = telling
    first = ColumnType.from_arrow(first_field.type, nullable=False)
    for path, field in others:
        if ColumnType.from_arrow(field.type, nullable=False) != first:
            raise SourceError(
                f"{path}: expected {first_field.type} in column {name!r}, as in {first_path}, found {field.type}"
            )
    return first and first.with_nullable(any(field.nullable for _, field in found))


def row_group_runs(metadata: pq.FileMetaData, chunk_bytes: int) -> Iterator[tuple[int, ...]]:
    """Cuts a file into runs of row groups: as many as fit into ``chunk_bytes`` of decoded data, and at least one.

    A file without row groups is one run of none.
    """
    run: list[int] = []
    size = 0
    for index in range(metadata.num_row_groups):
        group_bytes = metadata.row_group(index).total_byte_size
        if run and size + group_bytes > chunk_bytes:
            yield tuple(run)
            run, size = [], 0
        run.append(index)
        size += group_bytes
    if run or metadata.num_row_groups == 0:
        yield tuple(run)


def rows_in(metadata: pq.FileMetaData, row_groups: Sequence[int]) -> int:
    """Number of rows in some row groups."""
    return sum(metadata.row_group(index).num_rows for index in row_groups)


def time_range(metadata: pq.FileMetaData, row_groups: Sequence[int], column: str | None) -> tuple[Time, Time] | None:
    """Smallest and largest value of ``column`` in some row groups, where the footer tells for all of them.

    Times and dates come as seconds since 1970-01-01 UTC.
    """
    index = {metadata.schema.column(at).path: at for at in range(metadata.num_columns)}.get(column or "")
    bounds: list[Time] = []
    for group in row_groups:
        if index is None:
            return None
        statistics = metadata.row_group(group).column(index).statistics
        if statistics is None or not statistics.has_min_max:
            return None
        bounds += [_seconds(statistics.min), _seconds(statistics.max)]
    try:
        return (min(bounds), max(bounds)) if bounds else None
    except TypeError:
        return None


def _seconds(value: object) -> Time:
    if isinstance(value, datetime.datetime):
        return calendar.timegm(value.utctimetuple())
    if isinstance(value, datetime.date):
        return calendar.timegm(value.timetuple())
    return value if isinstance(value, int | float) else str(value)


def declared(types: Mapping[str, ColumnType], schema: Mapping[str, ColumnType], place: str) -> dict[str, ColumnType]:
    """``types`` of the files with what a dataset file declares: that a column has no nulls, mostly.

    Raises:
      SourceError: it declares a column that the files lack, or one of another kind.
    """
    result = dict(types)
    for name, column_type in schema.items():
        if name not in types:
            raise SourceError(
                f"{place}: the schema declares {name!r}, which the files do not have{nearest(name, types)}"
            )
        if column_type.with_nullable(False) != types[name].with_nullable(False):
            raise SourceError(f"{place}: the schema declares {name!r} as {column_type}, the files have {types[name]}")
        result[name] = column_type
    return result
