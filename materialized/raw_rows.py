"""Reading raw columns of a chunk, as the types that expressions are bound against.

Where raw rows lie (row groups of the log's own Parquet files, or the store's ingested text) and how Arrow holds them
there end here: narrow integers, dictionaries, large strings, timestamps, null lists and fixed-size lists all become
what `ColumnType.to_arrow` says.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from materialized import layout
from materialized.chunks import ChunkEntry
from materialized.errors import MismatchError, NotMaterializedError, SourceError
from materialized.log_files import require_unchanged
from materialized.store import Store
from transforms.arrow_times import to_seconds
from transforms.types import ColumnType, DType, Shape


def read_raw(store: Store | None, entry: ChunkEntry, columns: Mapping[str, ColumnType]) -> pa.Table:
    """Some raw columns of a chunk, all rows in order; nothing else is read.

    Args:
      store: where ingested text lies, and the digests of the log's files are remembered.
      entry: the chunk.
      columns: type of each column to read, by name.

    Raises:
      SourceError: the log's file is damaged, lacks a column, has a null where ``columns`` says there is none, or is no
        longer the one that the chunk is named after.
      NotMaterializedError: the chunk is text that has not been ingested.
    """
    place = entry.source if entry.location else f"{store.path if store else ''}/{layout.raw_chunk(entry.chunk)}"
    try:
        file = _open(store, entry)
        row_groups = range(file.num_row_groups) if entry.row_groups is None else entry.row_groups
        present = set(file.schema_arrow.names)
        lacking = [name for name in columns if name not in present]
        if lacking:
            raise SourceError(
                f"{place}: expected a column {lacking[0]!r}, found {', '.join(sorted(present)) or 'none'}"
            )
        table = file.read_row_groups(list(row_groups), columns=list(columns)) if columns else None
    except (pa.ArrowInvalid, OSError) as error:
        kind = SourceError if entry.location else MismatchError
        raise kind(
            f"{place}: expected the raw rows of {entry} as Parquet, found what cannot be read: {error}"
        ) from error
    rows = sum(file.metadata.row_group(index).num_rows for index in row_groups)
    if entry.rows is not None and rows != entry.rows:
        raise SourceError(f"{place}: expected {entry.rows} rows in {entry}, found {rows}; the file changed")
    if entry.location:
        require_unchanged(entry.source, entry.source_digest, store)
    if table is None:
        return pa.table({})
    arrays = [_converted(table.column(name), kind, f"{place}: column {name!r}") for name, kind in columns.items()]
    return pa.table(arrays, names=list(columns))


def _open(store: Store | None, entry: ChunkEntry) -> pq.ParquetFile:
    if entry.location:
        return pq.ParquetFile(entry.source)
    if store is None or not store.exists(layout.raw_chunk(entry.chunk)):
        raise NotMaterializedError(f"{entry}: its rows have not been ingested into the store")
    return pq.ParquetFile(store.open_file(layout.raw_chunk(entry.chunk)))


def _converted(column: pa.ChunkedArray, column_type: ColumnType, place: str) -> pa.Array:
    try:
        array = raw_array(column, column_type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise SourceError(f"{place}: expected {column_type}, found {column.type}: {error}") from error
    if array.null_count and not column_type.nullable and column_type.shape is Shape.SCALAR:
        row = pc.index(array.is_null(), True).as_py()
        raise SourceError(
            f"{place}: expected {column_type}, which is never null, found {array.null_count} nulls,"
            f" the first in row {row}"
        )
    return array


def raw_array(column: pa.Array | pa.ChunkedArray, column_type: ColumnType) -> pa.Array:
    """``column``, as any Arrow type that `ColumnType.from_arrow` takes, as the Arrow type of ``column_type``.

    Times are rounded down to seconds (`transforms.arrow_times`). A null list is an empty list, and missing elements of
    a list are left out. Bytes that are not UTF-8 stay as they are.
    """
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(array, pa.ChunkedArray):  # what combine_chunks leaves where one array cannot hold it all
        raise pa.ArrowInvalid("more than 2^31 - 1 bytes in one chunk; choose smaller chunks")
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if column_type.shape is Shape.RAGGED:
        return _list_array(array, column_type)
    return _scalar_array(array, column_type.dtype)


def _list_array(array: pa.Array, column_type: ColumnType) -> pa.Array:
    if pa.types.is_null(array.type):
        return pa.array([[]] * len(array), column_type.to_arrow())
    lengths = pc.fill_null(pc.list_value_length(array), 0).to_numpy(zero_copy_only=False)
    values = array.flatten()
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if values.null_count:
        parents = np.repeat(np.arange(len(array)), lengths)
        lengths = np.bincount(parents[values.is_valid().to_numpy(zero_copy_only=False)], minlength=len(array))
        values = values.drop_null()
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)]).astype(np.int32)
    return pa.ListArray.from_arrays(offsets, _scalar_array(values, column_type.dtype))


def _scalar_array(array: pa.Array, dtype: DType) -> pa.Array:
    target = ColumnType(dtype).to_arrow()
    if pa.types.is_temporal(array.type):
        array = to_seconds(array)
    if dtype is DType.STRING:
        return pc.cast(array, options=pc.CastOptions(target_type=target, allow_invalid_utf8=True))
    return array.cast(target)
