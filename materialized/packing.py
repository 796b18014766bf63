"""Rows of many columns packed into few arrays, so that taking, cutting and joining rows costs little per column.

All scalar and vector columns of one dtype lie side by side in a matrix ``[rows, width]``; all ragged columns keep their
values one after another and share a matrix of row boundaries. Nothing here knows TensorFlow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from materialized.buffers import NUMPY, to_buffers
from transforms.types import ColumnType, DType, Shape

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Packing:
    """Where each column lies in the arrays of `PackedRows`.

    Attributes:
      dense: by dtype, its columns from left to right, with their types: first scalars, then vectors.
      ragged: the ragged columns in order, with their types.
    """

    dense: Mapping[DType, tuple[tuple[str, ColumnType], ...]]
    ragged: tuple[tuple[str, ColumnType], ...]

    @classmethod
    def of(cls, columns: Mapping[str, ColumnType]) -> Packing:
        """The packing of ``columns``; depends on names and types, not on the order given."""
        dense: dict[DType, tuple[tuple[str, ColumnType], ...]] = {}
        for dtype in DType:
            found = [item for item in sorted(columns.items(), key=_name) if item[1].shape is not Shape.RAGGED]
            same = [item for item in found if item[1].dtype is dtype]
            if same:  # scalars first, so that they are cut off together
                dense[dtype] = tuple(sorted(same, key=lambda item: item[1].shape is Shape.VECTOR))
        return cls(dense, tuple(item for item in sorted(columns.items(), key=_name) if item[1].shape is Shape.RAGGED))

    def pack(self, table: pa.Table) -> PackedRows:
        """The rows of ``table``, which has the columns under their names and Arrow types (missing values as zeros)."""
        dense = {}
        for dtype, columns in self.dense.items():
            matrix = np.empty((table.num_rows, sum(_width(column_type) for _, column_type in columns)), _numpy(dtype))
            at = 0
            for name, column_type in columns:
                width = _width(column_type)
                matrix[:, at : at + width] = _values(table.column(name), column_type).reshape(-1, width)
                at += width
            dense[dtype] = matrix
        ends = np.zeros((len(self.ragged), table.num_rows + 1), np.int64)
        values = []
        for index, (name, column_type) in enumerate(self.ragged):
            buffers = to_buffers(table.column(name), column_type)
            assert buffers.row_lengths is not None
            np.cumsum(buffers.row_lengths, out=ends[index, 1:])
            values.append(_values(table.column(name), column_type))
        return PackedRows(dense, ends, tuple(values))


def _name(item: tuple[str, ColumnType]) -> str:
    return item[0]


def _width(column_type: ColumnType) -> int:
    return column_type.width or 1


def _numpy(dtype: DType) -> np.dtype[Any]:
    return np.dtype(object) if dtype is DType.STRING else NUMPY[dtype]


def _values(column: pa.ChunkedArray, column_type: ColumnType) -> Array:
    """All values of a column one after another; strings as bytes objects."""
    if column_type.dtype is not DType.STRING:
        return to_buffers(column, column_type).values
    array = column.combine_chunks()
    if column_type.shape is not Shape.SCALAR:
        array = array.flatten()
    return array.fill_null("").cast(pa.binary()).to_numpy(zero_copy_only=False)


@dataclass(frozen=True)
class PackedRows:
    """Rows, packed.

    Attributes:
      dense: by dtype, a matrix ``[rows, width]``.
      ends: row boundaries ``[ragged columns, rows + 1]``: row r of column c has the values from ``ends[c, r]`` to
        ``ends[c, r + 1]``.
      values: each ragged column's values.
    """

    dense: Mapping[DType, Array]
    ends: npt.NDArray[np.int64]
    values: tuple[Array, ...]

    def __len__(self) -> int:
        return self.ends.shape[1] - 1

    def take(self, rows: npt.NDArray[np.int64]) -> PackedRows:
        """These ``rows``, in this order."""
        dense = {dtype: matrix.take(rows, axis=0) for dtype, matrix in self.dense.items()}
        ends = np.zeros((len(self.values), len(rows) + 1), np.int64)
        values = []
        for old, new, column in zip(self.ends, ends, self.values, strict=True):
            starts = old.take(rows)
            lengths = old[1:].take(rows) - starts
            np.cumsum(lengths, out=new[1:])
            source = np.repeat(starts - new[:-1], lengths)
            source += np.arange(len(source))
            values.append(column.take(source))
        return PackedRows(dense, ends, tuple(values))

    def cut(self, start: int, stop: int) -> PackedRows:
        """The rows from ``start`` to ``stop``; dense and ragged values are not copied."""
        dense = {dtype: matrix[start:stop] for dtype, matrix in self.dense.items()}
        ends = self.ends[:, start : stop + 1]
        values = tuple(column[row[0] : row[-1]] for row, column in zip(ends, self.values, strict=True))
        return PackedRows(dense, ends - ends[:, :1], values)


def join(parts: Sequence[PackedRows]) -> PackedRows:
    """The rows of all ``parts`` (at least one, of one packing), one part after another."""
    if len(parts) == 1:
        return parts[0]
    dense = {dtype: np.concatenate([part.dense[dtype] for part in parts]) for dtype in parts[0].dense}
    lengths = np.concatenate([np.diff(part.ends) for part in parts], axis=1)
    ends = np.zeros((lengths.shape[0], lengths.shape[1] + 1), np.int64)
    np.cumsum(lengths, axis=1, out=ends[:, 1:])
    values = tuple(np.concatenate(columns) for columns in zip(*(part.values for part in parts), strict=True))
    return PackedRows(dense, ends, values)
