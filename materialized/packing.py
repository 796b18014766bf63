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
      dense: by dtype, the scalar and vector columns of its matrix from left to right, with their types.
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
            if same := tuple(item for item in found if item[1].dtype is dtype):
                dense[dtype] = same
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
        ends = np.zeros((table.num_rows + 1, len(self.ragged)), np.int64)
        values = []
        for index, (name, column_type) in enumerate(self.ragged):
            column = table.column(name)
            lengths = column.combine_chunks().value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
            np.cumsum(lengths, out=ends[1:, index])
            values.append(_values(column, column_type))
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
      ends: ``[rows + 1, ragged columns]``; row r of column c has the values from ``ends[r, c]`` to ``ends[r + 1, c]``,
        counted from where the column's values begin in the arrays this was cut from.
      values: each ragged column's values.
    """

    dense: Mapping[DType, Array]
    ends: npt.NDArray[np.int64]
    values: tuple[Array, ...]

    def __len__(self) -> int:
        return len(self.ends) - 1

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """Number of values of each row of each ragged column, ``[rows, ragged columns]``."""
        return np.diff(self.ends, axis=0)

    def take(self, rows: npt.NDArray[np.int64]) -> PackedRows:
        """These ``rows``, in this order."""
        dense = {dtype: matrix[rows] for dtype, matrix in self.dense.items()}
        starts = self.ends[:-1][rows]
        lengths = self.ends[1:][rows] - starts
        ends = np.zeros((len(rows) + 1, len(self.values)), np.int64)
        np.cumsum(lengths, axis=0, out=ends[1:])
        values = []
        for index, column in enumerate(self.values):
            shift = np.repeat(starts[:, index] - ends[:-1, index], lengths[:, index])
            values.append(column[shift + np.arange(len(shift))])
        return PackedRows(dense, ends, tuple(values))

    def cut(self, start: int, stop: int) -> PackedRows:
        """The rows from ``start`` to ``stop``, without copying."""
        dense = {dtype: matrix[start:stop] for dtype, matrix in self.dense.items()}
        ends = self.ends[start : stop + 1]
        first, last = ends[0], ends[-1]
        values = tuple(column[first[index] : last[index]] for index, column in enumerate(self.values))
        return PackedRows(dense, ends - first, values)


def join(parts: Sequence[PackedRows]) -> PackedRows:
    """The rows of all ``parts`` (at least one, of one packing), one part after another."""
    if len(parts) == 1:
        return parts[0]
    dense = {dtype: np.concatenate([part.dense[dtype] for part in parts]) for dtype in parts[0].dense}
    lengths = np.concatenate([part.lengths for part in parts])
    ends = np.concatenate([np.zeros((1, lengths.shape[1]), np.int64), np.cumsum(lengths, axis=0)])
    values = tuple(np.concatenate(columns) for columns in zip(*(part.values for part in parts), strict=True))
    return PackedRows(dense, ends, values)
