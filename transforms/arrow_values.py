"""Arrow columns as TensorFlow values, and back.

What Arrow can say and a `ColumnType` cannot is settled here: a null list is an empty one, nulls inside a list are
dropped, times become whole seconds (rounded down), integers of any width int64, and the dictionary of a column with
repeated strings is converted once and gathered.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import tensorflow as tf

from transforms.arrow_times import to_seconds
from transforms.errors import InputError
from transforms.types import ColumnType, DType, Shape
from transforms.values import Nullable, Value, split


def to_value(column: pa.Array | pa.ChunkedArray, column_type: ColumnType) -> Value:
    """A column of any accepted Arrow type as the TensorFlow value of ``column_type``.

    Raises:
      InputError: where the column is of another type, or has nulls where the type has none.
    """
    array = _decoded(column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column)
    if column_type.shape is Shape.RAGGED:
        return _ragged(array, column_type)
    if column_type.shape is Shape.VECTOR:
        flat = _flatten(array, column_type)
        if array.null_count or len(flat) != len(array) * (column_type.width or 0):
            raise InputError(f"expected {column_type.width} values in every row, found nulls or others in {array.type}")
        return tf.reshape(_tensor(_dense(flat, column_type.dtype)), [-1, column_type.width])
    values = _tensor(_dense(array, column_type.dtype))
    if column_type.nullable:
        return Nullable(values, tf.constant(_valid(array)))
    if array.null_count:
        raise InputError(f"expected {column_type}, found {array.null_count} missing values")
    return values


def from_value(value: Value, column_type: ColumnType) -> pa.Array:
    """The Arrow array, of type ``column_type.to_arrow()``, of a TensorFlow value."""
    if column_type.shape is Shape.RAGGED:
        splits = value.row_splits.numpy()
        if splits[-1] > np.iinfo(np.int32).max:
            raise InputError(f"{splits[-1]} values in the lists of one block of rows are too many: make smaller chunks")
        flat = _array(value.values, column_type.dtype, None)
        return pa.ListArray.from_arrays(pa.array(splits.astype(np.int32)), flat)
    if column_type.shape is Shape.VECTOR:
        flat = _array(tf.reshape(value, [-1]), column_type.dtype, None)
        return pa.FixedSizeListArray.from_arrays(flat, column_type.width)
    values, present = split(value)
    return _array(values, column_type.dtype, None if present is None else ~present.numpy())


def _decoded(array: pa.Array) -> pa.Array:
    """``array``, without its dictionary where that holds a null: such a null is not one to `is_valid`."""
    nulls = pa.types.is_dictionary(array.type) and array.dictionary.null_count
    return array.dictionary_decode() if nulls else array


def _valid(array: pa.Array) -> np.ndarray[Any, Any]:
    return np.asarray(array.is_valid().to_numpy(zero_copy_only=False), bool)


def _flatten(array: pa.Array, column_type: ColumnType) -> pa.Array:
    """The values of an array of lists, one after the other, those of null lists left out."""
    kinds = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    if not any(kind(array.type) for kind in kinds):
        raise InputError(f"expected {column_type}, found a column of {array.type}")
    return pc.list_flatten(array)


def _ragged(array: pa.Array, column_type: ColumnType) -> Any:
    if pa.types.is_null(array.type):
        array = array.cast(pa.list_(pa.null()))
    flat = _decoded(_flatten(array, column_type))
    lengths = pc.fill_null(pc.list_value_length(array), 0).to_numpy(zero_copy_only=False)
    splits = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    if flat.null_count:
        valid = _valid(flat)
        splits = np.concatenate([[0], np.cumsum(valid, dtype=np.int64)])[splits]
        flat = flat.drop_null()
    values = _tensor(_dense(flat, column_type.dtype))
    return tf.RaggedTensor.from_row_splits(values, tf.constant(splits, tf.int64), validate=False)


def _tensor(values: Any) -> Any:
    return values if isinstance(values, tf.Tensor) else tf.convert_to_tensor(values)


def _dense(array: pa.Array, dtype: DType) -> Any:
    """The values of an array without lists, zero (or the empty string) where null; a tensor or a numpy array."""
    if pa.types.is_null(array.type):
        return tf.zeros([len(array)], tf.string) if dtype is DType.STRING else _numbers(array, dtype)
    if pa.types.is_dictionary(array.type):
        if dtype is not DType.STRING:
            return _dense(array.dictionary_decode(), dtype)
        if not len(array.dictionary):
            return tf.zeros([len(array)], tf.string)
        # The empty string stands first, for the rows without a value.
        distinct = tf.concat([[""], _dense(array.dictionary, dtype)], 0)
        indices = pc.fill_null(array.indices.cast(pa.int64()), -1).to_numpy(zero_copy_only=False)
        return tf.gather(distinct, indices + 1)
    if dtype is DType.STRING:
        return _strings(array)
    if pa.types.is_temporal(array.type):
        array = to_seconds(array)
    return _numbers(array, dtype)


def _numbers(array: pa.Array, dtype: DType) -> np.ndarray[Any, Any]:
    target = ColumnType(dtype).to_arrow()
    wanted = (pa.types.is_boolean,) if dtype is DType.BOOL else (pa.types.is_integer, pa.types.is_floating)
    if not any(kind(array.type) for kind in (*wanted, pa.types.is_null)):
        raise InputError(f"expected {dtype.value}, found a column of {array.type}")
    try:
        array = array if array.type == target else array.cast(target)
    except pa.ArrowInvalid as error:
        raise InputError(f"expected {dtype.value}, found a column of {array.type}: {error}") from error
    if array.null_count:
        array = pc.fill_null(array, pa.scalar(False if dtype is DType.BOOL else 0, target))
    values = np.asarray(array.to_numpy(zero_copy_only=False))
    return values.view(np.int64) if dtype is DType.UINT64 else values


def _strings(array: pa.Array) -> Any:
    """Strings or binaries as a tensor, by way of Python's bytes: measured, the fastest way there is."""
    kind = array.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        array = array.cast(pa.binary() if pa.types.is_string(kind) else pa.large_binary())
    elif not (pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind)):
        raise InputError(f"expected string, found a column of {kind}")
    if array.null_count:
        array = pc.fill_null(array, b"")
    return tf.constant(array.to_pylist(), tf.string, [len(array)])


def _array(values: Any, dtype: DType, missing: np.ndarray[Any, Any] | None) -> pa.Array:
    found = values.numpy()
    if dtype is DType.UINT64:
        found = found.view(np.uint64)
    if dtype is not DType.STRING:
        return pa.array(found, ColumnType(dtype).to_arrow(), mask=missing)
    binary = pa.array(found, pa.binary(), mask=missing)
    try:
        return binary.cast(pa.string())
    except pa.ArrowInvalid:  # bytes that are no UTF-8 have no place in a column of strings
        texts = [None if item is None else item.decode("utf-8", "replace") for item in binary.to_pylist()]
        return pa.array(texts, pa.string())
