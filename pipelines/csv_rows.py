"""Rows of a CSV file, block by block, as typed Arrow columns.

A file is UTF-8 (with or without a byte order mark), fields are separated by commas and may be quoted by ``"`` (doubled
inside), lines end in LF or CRLF, and the first record names the columns. Columns that the schema does not name are
skipped; blank lines are no records. Arrow parses; the standard library's parser names the line when something is wrong,
which Arrow cannot.
"""

from __future__ import annotations

import csv
import io
import reprlib
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.csv

from pipelines.errors import LogError
from pipelines.raw_stream import Open, RawStream, check_text, opened
from pipelines.row_batches import RowBatch
from pipelines.text_values import parse_column
from transforms.places import nearest
from transforms.types import ColumnType, Shape

_BLOCK_BYTES = 16 * 2**20

_SHOWN_NAMES = 50
"""Names of a header that a message shows."""

_END = b"\x1eend of the rows\x1e"
"""Every field of a record put behind the file's last one. When it does not come out again, a quote was left open."""


def batches(open_source: Open, schema: Mapping[str, ColumnType]) -> Iterator[RowBatch]:
    """The rows of a CSV file in order.

    Raises:
      LogError: the file is no such CSV file; the message names the line.
    """
    check_text(open_source, "CSV")
    header = _header(open_source, schema)
    with opened(open_source) as stream:
        try:
            yield from _parsed(_Ended(stream, len(header)), schema)
        except pa.ArrowInvalid as error:
            raise _located(open_source, header, error) from error
        yield RowBatch.end(schema, stream.digest)


def _parsed(stream: _Ended, schema: Mapping[str, ColumnType]) -> Iterator[RowBatch]:
    reader = pyarrow.csv.open_csv(
        pa.PythonFile(stream, mode="r"),
        read_options=pyarrow.csv.ReadOptions(block_size=_BLOCK_BYTES),
        parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True),
        convert_options=pyarrow.csv.ConvertOptions(
            check_utf8=False,  # bytes that are no UTF-8 are a bad value, not a bad file
            column_types=dict.fromkeys(schema, pa.binary()),
            include_columns=list(schema),
            strings_can_be_null=False,
        ),
    )
    waiting: pa.RecordBatch | None = None
    for block in reader:
        if block.num_rows == 0:
            continue
        if waiting is not None:
            yield _typed(waiting, schema)
        waiting = block
    if waiting is None or any(column[-1].as_py() != _END for column in waiting.columns):
        raise pa.ArrowInvalid("the file ends inside a quoted field")
    yield _typed(waiting.slice(0, waiting.num_rows - 1), schema)


def _typed(block: pa.RecordBatch, schema: Mapping[str, ColumnType]) -> RowBatch:
    columns = {}
    bad = {}
    for name, column_type in schema.items():
        columns[name], bad[name] = parse_column(block.column(name), column_type)
    return RowBatch(columns, bad, block.num_rows)


class _Ended(io.RawIOBase):
    """A stream with `_END` as its last record."""

    def __init__(self, stream: RawStream, fields: int) -> None:
        super().__init__()
        self._inner = stream
        self._tail = io.BytesIO(b"\n" + b",".join([_END] * fields) + b"\n")

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        data = self._inner.read(size)
        while len(data) < size:  # Arrow looks for the header in what one call returns
            more = self._inner.read(size - len(data)) or self._tail.read(size - len(data))
            if not more:
                break
            data += more
        return data


def _header(open_source: Open, schema: Mapping[str, ColumnType]) -> list[str]:
    with opened(open_source) as stream:
        header = next((record for record, _ in _records(stream)), None)
    if header is None:
        raise LogError(f"{stream.source}:1: expected a header that names the columns, found an empty file")
    _check_header(f"{stream.source}:1", header, schema)
    return header


def _check_header(place: str, header: list[str], schema: Mapping[str, ColumnType]) -> None:
    for name, column_type in schema.items():
        if column_type.shape is not Shape.SCALAR:
            raise LogError(
                f"{place}: column {name!r} is declared {column_type}, but a field of a CSV file is one value; "
                "declare it string and split it in an expression: tokens(x, separator)"
            )
    twice = sorted({name for name in header if header.count(name) > 1})
    if twice:
        raise LogError(f"{place}: expected each column once, found {', '.join(map(repr, twice))} more than once")
    lacking = [f"{name!r}{nearest(name, header)}" for name in schema if name not in header]
    if lacking:
        more = f" and {len(header) - _SHOWN_NAMES} more" if len(header) > _SHOWN_NAMES else ""
        names = ", ".join(map(reprlib.repr, header[:_SHOWN_NAMES])) + more
        raise LogError(f"{place}: the header lacks {', '.join(lacking)}; it has {names}")


def _records(stream: RawStream, strict: bool = False) -> Iterator[tuple[list[str], int]]:
    """Records that are not blank, each with the line that it begins on, by the standard library's parser."""
    text = io.TextIOWrapper(io.BufferedReader(stream, 1 << 20), "utf-8-sig", errors="replace", newline="")
    reader = csv.reader(text, strict=strict)
    longest = csv.field_size_limit(sys.maxsize)
    try:
        line = 1
        for record in reader:
            if record:
                yield record, line
            line = reader.line_num + 1
    finally:
        csv.field_size_limit(longest)


def line_of(open_source: Open, row: int) -> int:
    """The line on which row ``row`` (from 0, the header not counted) begins."""
    with opened(open_source) as stream:
        for index, (_, line) in enumerate(_records(stream)):
            if index == row + 1:
                return line
    raise IndexError(f"{stream.source} has no row {row}")


def _ends_in_quotes(open_source: Open) -> bool:
    with opened(open_source) as stream:
        try:
            for _ in _records(stream, strict=True):
                pass
        except csv.Error as error:
            return "unexpected end of data" in str(error)
    return False


def _located(open_source: Open, header: list[str], error: Any) -> LogError:
    """The mistake at which Arrow stopped, found again by a parser that knows lines."""
    line, last = 1, header
    with opened(open_source) as stream:
        records = _records(stream)
        for record, line in records:  # noqa: B007 - used after the loop
            last = record
            if len(last) != len(header):
                break
        is_last = next(records, None) is None
    if "quoted field" in str(error) or (is_last and _ends_in_quotes(open_source)):
        return LogError(f"{stream.source}:{line}: found a quote that is never closed in the record that begins here")
    if len(last) != len(header):
        return LogError(f"{stream.source}:{line}: expected {len(header)} fields as in the header, found {len(last)}")
    return LogError(f"{stream.source}: not a CSV file that can be read: {error}")
