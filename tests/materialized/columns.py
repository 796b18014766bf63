"""Columns for tests: of every type, from hypothesis or from rows, and chunks of them in a store."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from materialized.chunk_files import write_chunk
from materialized.groups import GroupColumn, GroupDescriptor
from materialized.store import Store
from transforms.types import ColumnType, DType, Shape

DTYPES = list(DType)
TYPES = [
    *(ColumnType(dtype) for dtype in DTYPES),
    *(ColumnType(dtype, nullable=True) for dtype in DTYPES),
    *(ColumnType(dtype, Shape.VECTOR, width=2) for dtype in DTYPES),
    *(ColumnType(dtype, Shape.RAGGED) for dtype in DTYPES),
]

_VALUES: Mapping[DType, st.SearchStrategy[Any]] = {
    DType.STRING: st.text(max_size=4),
    DType.BOOL: st.booleans(),
    DType.INT64: st.integers(-(2**63), 2**63 - 1),
    DType.UINT64: st.integers(0, 2**64 - 1),
    DType.FLOAT32: st.floats(width=32, allow_nan=False),
    DType.FLOAT64: st.floats(allow_nan=False),
}


def values(column_type: ColumnType) -> st.SearchStrategy[Any]:
    """One row's value of a column."""
    value = _VALUES[column_type.dtype]
    if column_type.shape is Shape.RAGGED:
        return st.lists(value, max_size=3)
    if column_type.shape is Shape.VECTOR:
        return st.lists(value, min_size=column_type.width, max_size=column_type.width)
    return st.none() | value if column_type.nullable else value


def identity(name: str) -> str:
    """A column or chunk identity."""
    return hashlib.sha256(name.encode()).hexdigest()


def put(
    store: Store, chunk: str, columns: Mapping[str, tuple[ColumnType, list[Any]]], format: str = "parquet"
) -> GroupDescriptor:
    """Writes ``columns``, by name, as one group of ``chunk``."""
    descriptor = GroupDescriptor(tuple(GroupColumn(identity(name), kind) for name, (kind, _) in columns.items()))
    arrays = {identity(name): pa.array(rows, kind.to_arrow()) for name, (kind, rows) in columns.items()}
    write_chunk(store, chunk, descriptor, pa.table(arrays), format)
    return descriptor
