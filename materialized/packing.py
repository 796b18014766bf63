"""Rows of many columns packed into few arrays, so that taking, cutting and joining rows costs little per column.

All scalar columns of one dtype are the rows of a matrix ``[columns, rows]``, every vector column is a matrix of its
own, and all ragged columns keep their values one after another and share a matrix of row boundaries. Nothing here knows
TensorFlow.
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
      scalars: by dtype, names of the scalar columns in the order of the matrix's rows.
      vectors: the vector columns in order, with their types.
      ragged: the ragged columns in order, with their types.
    """

    scalars: Mapping[DType, tuple[str, ...]]
    vectors: tuple[tuple[str, ColumnType], ...]
    ragged: tuple[tuple[str, ColumnType], ...]

    @classmethod
    def of(cls, columns: Mapping[str, ColumnType]) -> Packing:
        """The packing of ``columns``; depends on names and types, not on the order given."""
        by_shape: dict[Shape, list[tuple[str, ColumnType]]] = {shape: [] for shape in Shape}
        for name, column_type in sorted(columns.items(), key=lambda item: item[0]):
            by_shape[column_type.shape].append((name, column_type))
        scalars = {
            dtype: tuple(name for name, kind in by_shape[Shape.SCALAR] if kind.dtype is dtype)
            for dtype in DType
            if any(kind.dtype is dtype for _, kind in by_shape[Shape.SCALAR])
        }
        return cls(scalars, tuple(by_shape[Shape.VECTOR]), tuple(by_shape[Shape.RAGGED]))

    def pack(self, table: pa.Table) -> PackedRows:
        """The rows of ``table``, which has the columns under their names and Arrow types (missing values as zeros)."""
        scalars = {}
        for dtype, names in self.scalars.items():
            scalars[dtype] = np.empty((len(names), table.num_rows), _numpy(dtype))
            for index, name in enumerate(names):
                scalars[dtype][index] = _values(table.column(name), ColumnType(dtype))
        vectors = tuple(
            _values(table.column(name).combine_chunks().flatten(), ColumnType(kind.dtype)).reshape(-1, kind.width or 1)
            for name, kind in self.vectors
        )
        ends = np.zeros((len(self.ragged), table.num_rows + 1), np.int64)
        values = []
        for index, (name, column_type) in enumerate(self.ragged):
            array = table.column(name).combine_chunks()
            if array.null_count:  # a null list is an empty one
                array = pa.ListArray.from_arrays(_ends(array), array.flatten())
            offsets = array.offsets.to_numpy()
            np.subtract(offsets, offsets[0] if len(offsets) else 0, out=ends[index], dtype=np.int64)
            values.append(_values(array.flatten(), ColumnType(column_type.dtype)))
        return PackedRows(scalars, vectors, ends, tuple(values))


def _numpy(dtype: DType) -> np.dtype[Any]:
    return np.dtype(object) if dtype is DType.STRING else NUMPY[dtype]


def _values(column: pa.Array | pa.ChunkedArray, scalar: ColumnType) -> Array:
    """The values of a column of scalars, zeros for missing ones; strings as bytes objects."""
    if scalar.dtype is not DType.STRING:
        return to_buffers(column, scalar).values
    return column.fill_null("").cast(pa.binary()).to_numpy(zero_copy_only=False)


def _ends(lists: pa.ListArray) -> npt.NDArray[np.int32]:
    lengths = lists.value_lengths().fill_null(0).to_numpy()
    return np.concatenate([np.zeros(1, np.int32), np.cumsum(lengths, dtype=np.int32)])


@dataclass(frozen=True)
class PackedRows:
    """Rows, packed.

    Attributes:
      scalars: by dtype, a matrix ``[columns, rows]``.
      vectors: each vector column's matrix, ``[rows, width]``.
      ends: row boundaries ``[ragged columns, rows + 1]``: row r of column c has the values from ``ends[c, r]`` to
        ``ends[c, r + 1]``.
      values: each ragged column's values.
    """

    scalars: Mapping[DType, Array]
    vectors: tuple[Array, ...]
    ends: npt.NDArray[np.int64]
    values: tuple[Array, ...]

    def __len__(self) -> int:
        return self.ends.shape[1] - 1

    def take(self, rows: npt.NDArray[np.int64]) -> PackedRows:
        """These ``rows``, in this order."""
        scalars = {dtype: matrix.take(rows, axis=1) for dtype, matrix in self.scalars.items()}
        vectors = tuple(matrix.take(rows, axis=0) for matrix in self.vectors)
        ends = np.zeros((len(self.values), len(rows) + 1), np.int64)
        values = []
        for old, new, column in zip(self.ends, ends, self.values, strict=True):
            starts = old.take(rows)
            lengths = old[1:].take(rows) - starts
            np.cumsum(lengths, out=new[1:])
            source = np.repeat(starts - new[:-1], lengths)
            source += np.arange(len(source))
            values.append(column.take(source))
        return PackedRows(scalars, vectors, ends, tuple(values))

    def cut(self, start: int, stop: int) -> PackedRows:
        """The rows from ``start`` to ``stop``; no values are copied."""
        scalars = {dtype: matrix[:, start:stop] for dtype, matrix in self.scalars.items()}
        vectors = tuple(matrix[start:stop] for matrix in self.vectors)
        ends = self.ends[:, start : stop + 1]
        values = tuple(column[row[0] : row[-1]] for row, column in zip(ends, self.values, strict=True))
        return PackedRows(scalars, vectors, ends - ends[:, :1], values)


def join(parts: Sequence[PackedRows]) -> PackedRows:
    """The rows of all ``parts`` (at least one, of one packing), one part after another."""
    if len(parts) == 1:
        return parts[0]
    scalars = {dtype: np.concatenate([part.scalars[dtype] for part in parts], axis=1) for dtype in parts[0].scalars}
    vectors = tuple(np.concatenate(matrices) for matrices in zip(*(part.vectors for part in parts), strict=True))
    lengths = np.concatenate([np.diff(part.ends) for part in parts], axis=1)
    ends = np.zeros((lengths.shape[0], lengths.shape[1] + 1), np.int64)
    np.cumsum(lengths, axis=1, out=ends[:, 1:])
    values = tuple(np.concatenate(columns) for columns in zip(*(part.values for part in parts), strict=True))
    return PackedRows(scalars, vectors, ends, values)
