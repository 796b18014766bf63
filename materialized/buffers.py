"""A column as plain arrays of numbers, the same for equal columns however Arrow happens to hold them.

Slices, chunked arrays, narrow offsets and what lies under a missing value all disappear here. Content digests, TFRecord
blocks and the reader are made of these arrays.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from transforms.types import ColumnType, DType, Shape

NUMPY = {
    DType.BOOL: np.dtype(np.bool_),
    DType.INT64: np.dtype("<i8"),
    DType.UINT64: np.dtype("<u8"),
    DType.FLOAT32: np.dtype("<f4"),
    DType.FLOAT64: np.dtype("<f8"),
}
"""How values lie in `Buffers.values`; strings lie there as bytes (uint8)."""

_BYTES = np.dtype(np.uint8)
_LENGTH = np.dtype("<i8")


@dataclass(frozen=True)
class Buffers:
    """The arrays of a column. Those that its type has no use for are None.

    Attributes:
      values: all values one after another, row by row; the dtype's zero (or no bytes) where a value is missing.
      value_lengths: strings only: bytes of each value, ``[values]`` int64.
      row_lengths: ragged only: values of each row, ``[rows]`` int64.
      present: nullable only: whether the row has a value, ``[rows]`` bool.
    """

    values: npt.NDArray[np.generic]
    value_lengths: npt.NDArray[np.int64] | None = None
    row_lengths: npt.NDArray[np.int64] | None = None
    present: npt.NDArray[np.bool_] | None = None

    def parts(self) -> list[npt.NDArray[np.generic]]:
        """The arrays that are there, in the order of the attributes."""
        arrays = (self.values, self.value_lengths, self.row_lengths, self.present)
        return [array for array in arrays if array is not None]


def parts_of(column_type: ColumnType) -> list[np.dtype[np.generic]]:
    """The dtypes of `Buffers.parts` for a column of this type."""
    text = column_type.dtype is DType.STRING
    dtypes: list[np.dtype[np.generic]] = [_BYTES, _LENGTH] if text else [NUMPY[column_type.dtype]]
    if column_type.shape is Shape.RAGGED:
        dtypes.append(_LENGTH)
    if column_type.nullable:
        dtypes.append(np.dtype(np.bool_))
    return dtypes


def to_buffers(column: pa.Array | pa.ChunkedArray, column_type: ColumnType) -> Buffers:
    """The arrays of ``column``, whose Arrow type is ``column_type.to_arrow()``."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    row_lengths = present = None
    if column_type.shape is Shape.RAGGED:
        lengths = array.value_lengths()
        row_lengths = (lengths.fill_null(0) if lengths.null_count else lengths).to_numpy().astype(_LENGTH)
        array = array.flatten()
    elif column_type.shape is Shape.VECTOR:
        array = array.flatten()
    elif column_type.nullable:
        present = array.is_valid().to_numpy(zero_copy_only=False)
    if column_type.dtype is not DType.STRING:
        zero = pa.scalar(False if column_type.dtype is DType.BOOL else 0, array.type)
        filled = array.fill_null(zero) if array.null_count else array
        values = filled.to_numpy(zero_copy_only=False).astype(NUMPY[column_type.dtype], copy=False)
        return Buffers(values, None, row_lengths, present)
    filled = array.fill_null("") if array.null_count else array
    if len(filled) == 0:
        return Buffers(np.zeros(0, _BYTES), np.zeros(0, _LENGTH), row_lengths, present)
    _, offset_buffer, data = filled.buffers()
    offsets = np.frombuffer(offset_buffer, np.int32)[filled.offset : filled.offset + len(filled) + 1]
    content = np.frombuffer(data, _BYTES) if data is not None else np.zeros(0, _BYTES)
    return Buffers(content[offsets[0] : offsets[-1]], np.diff(offsets).astype(_LENGTH), row_lengths, present)


def to_arrow(buffers: Buffers, column_type: ColumnType) -> pa.Array:
    """The Arrow array, of type ``column_type.to_arrow()``, of a column with these arrays."""
    values = _values_to_arrow(buffers, column_type)
    if column_type.shape is Shape.VECTOR:
        return pa.FixedSizeListArray.from_arrays(values, column_type.width)
    if buffers.row_lengths is not None:
        return pa.ListArray.from_arrays(_offsets(buffers.row_lengths), values)
    return values


def _values_to_arrow(buffers: Buffers, column_type: ColumnType) -> pa.Array:
    missing = None if buffers.present is None else ~buffers.present
    if buffers.value_lengths is None:
        return pa.array(buffers.values, mask=missing)
    valid = None
    if buffers.present is not None:
        valid = pa.py_buffer(np.packbits(buffers.present, bitorder="little"))
    arrays = [valid, pa.py_buffer(_offsets(buffers.value_lengths)), pa.py_buffer(np.ascontiguousarray(buffers.values))]
    return pa.Array.from_buffers(pa.string(), len(buffers.value_lengths), arrays)


def _offsets(lengths: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
    ends = np.cumsum(lengths)
    if len(ends) and ends[-1] > np.iinfo(np.int32).max:
        raise ValueError(f"a block of a column holds at most 2^31 - 1 values or bytes, found {ends[-1]}")
    return np.concatenate([np.zeros(1, np.int32), ends.astype(np.int32)])


def content_digest(column: pa.Array | pa.ChunkedArray, column_type: ColumnType) -> str:
    """SHA-256 of a column's content, as 64 hexadecimal digits.

    What is hashed: the type as text and the number of rows as decimal text, each ended by a newline; then the arrays of
    `Buffers` in their order: integers and floats as their little-endian bytes, bools as a byte each. Compression,
    encodings, row groups and the file format do not enter, so a column has one digest in Parquet and in TFRecord.
    """
    state = hashlib.sha256(f"{column_type}\n{len(column)}\n".encode())
    for part in to_buffers(column, column_type).parts():
        state.update(part.tobytes())
    return state.hexdigest()
