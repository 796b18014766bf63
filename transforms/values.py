"""Columns of a batch as TensorFlow values, and the few things that are done to all of them.

A scalar column is a tensor ``[batch]``, a nullable one `Nullable`, a vector a tensor ``[batch, width]``, a list a
``tf.RaggedTensor`` ``[batch, None]``, a literal a tensor of rank 0. Where a nullable value is missing, the tensor holds
zero (or the empty string). Turning Arrow into these and back is `transforms.arrow_values`.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import tensorflow as tf

from transforms.types import ColumnType, DType, Shape


class Nullable(NamedTuple):
    """A nullable scalar column.

    Attributes:
      values: ``[batch]``; zero where missing.
      present: bool ``[batch]``.
    """

    values: Any
    present: Any


Value: TypeAlias = Any  # tf.Tensor | tf.RaggedTensor | Nullable; TensorFlow's classes are Any to the type checker

TF_DTYPES = {
    DType.STRING: tf.string,
    DType.BOOL: tf.bool,
    DType.INT64: tf.int64,
    DType.UINT64: tf.int64,  # the same bits
    DType.FLOAT32: tf.float32,
    DType.FLOAT64: tf.float64,
}


def tensor_spec(column: ColumnType) -> Any:
    """What TensorFlow has to know about a column before it sees one."""
    dtype = TF_DTYPES[column.dtype]
    if column.shape is Shape.RAGGED:
        return tf.RaggedTensorSpec([None, None], dtype, ragged_rank=1, row_splits_dtype=tf.int64)
    if column.shape is Shape.VECTOR:
        return tf.TensorSpec([None, column.width], dtype)
    spec = tf.TensorSpec([None], dtype)
    return Nullable(spec, tf.TensorSpec([None], tf.bool)) if column.nullable else spec


def split(value: Value) -> tuple[Any, Any | None]:
    """A scalar column's values, and which are present (None where all are)."""
    return (value.values, value.present) if isinstance(value, Nullable) else (value, None)


def zero_where_missing(values: Any, present: Any) -> Nullable:
    """The nullable column of ``values``, with zero where nothing is present."""
    return Nullable(tf.where(present, values, tf.zeros([], values.dtype)), present)


def opaque(values: Any) -> Any:
    """``values``, with what they were computed by hidden from TensorFlow's graph optimizer.

    The optimizer rewrites floating-point arithmetic by rules of real numbers: a division by a constant becomes a
    multiplication by its reciprocal, ``(x + 1) + 2`` becomes ``x + 3``. What a column holds would then depend on what
    else is in the function. No rule looks through a placeholder with a default, and it copies nothing.
    """
    return tf.raw_ops.PlaceholderWithDefault(input=values, shape=values.shape)
