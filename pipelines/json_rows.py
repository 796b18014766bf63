r"""Rows of a JSON lines file, block by block, as typed Arrow columns.

Every line that is not blank is one JSON object in UTF-8: one row. Keys that the schema does not name are skipped, a key
that an object lacks is null. A number may be written as a JSON number or as a string of the same text (many writers put
64-bit integers into strings); a string column takes JSON strings only. A null list is an empty list, and null or bad
elements of a list are left out of it; bad ones are counted.

Arrow parses blocks in which everything is as declared. A block in which anything is not is read again line by line with
the standard library, which can say what is wrong and where.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json

from pipelines.errors import LogError
from pipelines.raw_stream import Open, RawStream, check_text, opened
from pipelines.row_batches import RowBatch
from pipelines.text_values import parse_column
from transforms.types import ColumnType, DType, Shape

_BLOCK_BYTES = 8 * 2**20

_TWO_OBJECTS = re.compile(rb"}[ \t\r]*{")
"""What a line with two objects must contain; Arrow would take it for two rows."""


def batches(open_source: Open, schema: Mapping[str, ColumnType]) -> Iterator[RowBatch]:
    """The rows of a JSON lines file in order.

    Raises:
      LogError: a line is not a JSON object; the message names it.
    """
    check_text(open_source, "JSON lines")
    with opened(open_source) as stream:
        for block, first_line in _blocks(stream):
            batch = _quick(block, schema)
            yield batch if batch is not None else _careful(block, schema, stream.source, first_line)
        yield RowBatch.end(schema, stream.digest)


def _blocks(stream: RawStream) -> Iterator[tuple[bytes, int]]:
    """Runs of whole lines, each with the number of its first line."""
    line = 1
    rest = stream.read(_BLOCK_BYTES).removeprefix(codecs.BOM_UTF8)
    while rest:
        more = stream.read(_BLOCK_BYTES)
        cut = rest.rfind(b"\n") + 1 if more else len(rest)
        if cut:
            yield rest[:cut], line
            line += rest.count(b"\n", 0, cut)
        rest = rest[cut:] + more


def _lines(block: bytes, first_line: int) -> Iterator[tuple[int, bytes]]:
    for number, line in enumerate(block.split(b"\n"), first_line):
        if line.strip(b" \t\r"):
            yield number, line


def line_of(open_source: Open, row: int) -> int:
    """The line of row ``row`` (from 0)."""
    with opened(open_source) as stream:
        for block, first_line in _blocks(stream):
            for number, _ in _lines(block, first_line):
                if row == 0:
                    return number
                row -= 1
    raise IndexError(f"{stream.source} has no such row")


def _quick(block: bytes, schema: Mapping[str, ColumnType]) -> RowBatch | None:
    """The rows by Arrow's parser, or None where `_careful` has to look."""
    rows = sum(1 for _ in _lines(block, 0))
    if not rows or not schema or _TWO_OBJECTS.search(block):
        return None
    try:
        block.decode("utf-8")
        table = pyarrow.json.read_json(
            pa.BufferReader(block),
            read_options=pyarrow.json.ReadOptions(use_threads=False, block_size=len(block) + 1),
            parse_options=pyarrow.json.ParseOptions(
                explicit_schema=pa.schema({name: column_type.to_arrow() for name, column_type in schema.items()}),
                unexpected_field_behavior="ignore",
            ),
        )
    except (pa.ArrowInvalid, UnicodeDecodeError):
        return None
    if table.num_rows != rows:
        return None
    columns = {}
    for name, column_type in schema.items():
        column = table.column(name).combine_chunks()
        if pa.types.is_floating(column.type) and pc.any(pc.is_inf(column)).as_py():
            return None  # infinity as it was written, or a number too large
        if column_type.shape is Shape.RAGGED:
            flat = column.flatten()
            if flat.null_count or (pa.types.is_floating(flat.type) and pc.any(pc.is_inf(flat)).as_py()):
                return None
            column = pc.if_else(column.is_valid(), column, pa.scalar([], column.type)) if column.null_count else column
        columns[name] = column
    return RowBatch(columns, dict.fromkeys(schema, 0), rows)


class _Number(str):
    """A JSON number as it was written."""

    __slots__ = ()


class _Object(list[tuple[str, Any]]):
    """A JSON object's keys and values, keys that come twice included."""


_DECODER = json.JSONDecoder(
    object_pairs_hook=_Object, parse_float=_Number, parse_int=_Number, parse_constant=_Number, strict=True
)


def _careful(block: bytes, schema: Mapping[str, ColumnType], source: str, first_line: int) -> RowBatch:
    values: dict[str, list[Any]] = {name: [] for name in schema}
    rows = 0
    for number, line in _lines(block, first_line):
        found = _object(line, schema, f"{source}:{number}")
        for name, column in values.items():
            column.append(found.get(name))
        rows += 1
    columns = {}
    bad = {}
    for name, column_type in schema.items():
        read = _ragged if column_type.shape is Shape.RAGGED else _scalars
        columns[name], bad[name] = read(values[name], column_type)
    return RowBatch(columns, bad, rows)


def _object(line: bytes, schema: Mapping[str, ColumnType], place: str) -> dict[str, Any]:
    try:
        value = _DECODER.decode(line.decode("utf-8").strip(" \t\r"))
    except (ValueError, RecursionError) as error:  # of which those of JSON and of UTF-8 are kinds
        raise LogError(f"{place}: expected a JSON object, found {_short(line)}: {error}") from error
    if not isinstance(value, _Object):
        raise LogError(f"{place}: expected a JSON object, found {_short(line)}")
    found: dict[str, Any] = {}
    for key, item in value:
        if key in found and key in schema:
            raise LogError(f"{place}: expected each key once, found {key!r} more than once")
        found[key] = item
    return found


def _short(line: bytes) -> str:
    text = line.strip().decode("utf-8", "backslashreplace")
    return repr(text if len(text) <= 60 else text[:57] + "...")


def _scalars(values: list[Any], column_type: ColumnType) -> tuple[pa.Array, int]:
    texts = [None if value is None else _text(value, column_type.dtype) for value in values]
    bad = sum(text is None for text in texts) - sum(value is None for value in values)
    if column_type.dtype is DType.STRING:
        return pa.array(texts, pa.string()), bad
    parsed, unread = parse_column(pa.array(texts, pa.string()), column_type)
    return parsed, bad + unread


def _text(value: Any, dtype: DType) -> str | None:
    """``value`` as a text of which `parse_column` makes it, or None where it is nothing that ``dtype`` takes."""
    if isinstance(value, bool):
        return str(value) if dtype is DType.BOOL else None
    if isinstance(value, _Number):
        return None if dtype is DType.STRING else str(value)
    if isinstance(value, str):
        return value if _is_unicode(value) else None
    return None


def _is_unicode(text: str) -> bool:
    """Whether ``text`` can be written as UTF-8: JSON can escape half a surrogate pair."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _ragged(values: list[Any], column_type: ColumnType) -> tuple[pa.Array, int]:
    lists = [value if isinstance(value, list) and not isinstance(value, _Object) else [] for value in values]
    wrong = sum(value is not None and (not isinstance(value, list) or isinstance(value, _Object)) for value in values)
    element = ColumnType(column_type.dtype, nullable=True)
    flat, bad = _scalars([item for items in lists for item in items], element)
    offsets = [0]
    kept = flat.is_valid().to_pylist()
    position = 0
    for items in lists:
        offsets.append(offsets[-1] + sum(kept[position : position + len(items)]))
        position += len(items)
    column = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), flat.drop_null())
    return column.cast(column_type.to_arrow()), wrong + bad
