"""Operators that make ids: integers in [0, n) that index the rows of an embedding table."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from transforms.assets import Asset, Vocabulary
from transforms.errors import OperatorError
from transforms.lazy import tf
from transforms.nodes import Node
from transforms.operators.arguments import DISCRETE, INTEGERS, NUMBERS, SCALAR_OR_LIST, Operand, Parameter
from transforms.operators.base import IdSpace, Operator, Parameters
from transforms.operators.elementwise import Elementwise
from transforms.operators.statistics import BoundariesAnalyzer, VocabularyAnalyzer
from transforms.types import ColumnType, DType, Shape

if TYPE_CHECKING:
    from transforms.values import Value as Column


def as_text(values: Any, dtype: DType) -> Any:
    """Discrete values as text: integers in decimal, truth values as ``true`` and ``false``."""
    if dtype is DType.STRING:
        return values
    if dtype is DType.BOOL:
        return tf.where(values, "true", "false")
    return tf.as_string(tf.bitcast(values, tf.uint64) if dtype is DType.UINT64 else values)


class _Ids(Elementwise):
    """Integers of anything."""

    def dtype(self, inputs: Sequence[Node], parameters: Parameters) -> DType:
        return DType.INT64


class Hash(_Ids):
    """A bucket of [0, buckets) by the FarmHash64 fingerprint of the salt followed by the value as text.

    Integers are hashed as decimal text, truth values as ``true`` and ``false``. Other salts give other collisions.

    Example:
      x: nullable string = ["a", "b", None, ""]
      hash(x, 100) = [39, 22, None, 63]
      n: list<int64> = [[1, -1], []]
      hash(n, 100) = [[49, 30], []]
      hash(n, 100, salt="other") = [[7, 0], []]
      u: uint64 = [18446744073709551615]
      hash(u, 1000) = [233]
    """

    name = "hash"
    arguments = (
        Operand("x", DISCRETE, SCALAR_OR_LIST),
        Parameter("buckets", "int", minimum=1),
        Parameter("salt", "text", ""),
    )

    def compute(self, values: Sequence[Any], node: Node, asset: Any) -> Any:
        text = as_text(values[0], node.inputs[0].type.dtype)
        if node.parameters["salt"]:
            text = tf.strings.join([str(node.parameters["salt"]), text])
        return tf.strings.to_hash_bucket_fast(text, node.parameters["buckets"])

    def id_space(self, node: Node, asset: Asset | None, of: IdSpace) -> int | None:
        return _int(node, "buckets")


def _int(node: Node, name: str) -> int:
    value = node.parameters[name]
    assert isinstance(value, int)
    return value


class Vocab(_Ids):
    """A value's rank in the column's vocabulary, the most frequent first; unseen values share `oov` buckets after it.

    The vocabulary holds the `top_k` most frequent values of those that occur at least `min_count` times. With `oov=0`,
    an unseen value is missing. An unseen value's bucket is the FarmHash64 fingerprint of its text, modulo `oov`.

    Example:
      x: nullable string = ["b", "a", "zzz", None]
      asset: Vocabulary((b"a", b"b"), (5, 3))
      vocab(x) = [1, 0, 2, None]
      vocab(x, oov=0) = [1, 0, None, None]
      u: uint64 = [18446744073709551615, 7]
      asset: Vocabulary((b"18446744073709551615",), (5,))
      vocab(u, min_count=2) = [0, 1]
    """

    name = "vocab"
    arguments = (
        Operand("x", DISCRETE[:3], SCALAR_OR_LIST),
        Parameter("top_k", "int", None, minimum=1),
        Parameter("min_count", "int", 1, minimum=1),
        Parameter("oov", "int", 1, minimum=0),
    )
    analyzer = VocabularyAnalyzer()

    def partial(self, inputs: Sequence[Node], parameters: Parameters) -> bool:
        return parameters["oov"] == 0

    def compute(self, values: Sequence[Any], node: Node, asset: Any) -> Any:
        found = asset.table.lookup(values[0])
        seen = found >= 0
        oov = _int(node, "oov")
        if oov == 0:
            return found, seen
        if oov == 1:
            return tf.where(seen, found, asset.size)
        text = as_text(values[0], node.inputs[0].type.dtype)
        return tf.where(seen, found, asset.size + tf.strings.to_hash_bucket_fast(text, oov))

    def id_space(self, node: Node, asset: Asset | None, of: IdSpace) -> int | None:
        oov, top_k = _int(node, "oov"), node.inputs[-1].parameters["top_k"]
        if isinstance(asset, Vocabulary):
            return max(len(asset.values) + oov, 1)
        return top_k + oov if isinstance(top_k, int) else None


class Ids(_Ids):
    """The integers themselves, as ids of [0, n); one outside is missing (dropped, in a list).

    Example:
      x: int64 = [0, 9, 10, -1]
      ids(x, 10) = [0, 9, None, None]
      y: list<int64> = [[0, 10, 3], []]
      ids(y, 10) = [[0, 3], []]
    """

    name = "ids"
    arguments = (Operand("x", INTEGERS, SCALAR_OR_LIST), Parameter("n", "int", minimum=1))

    def partial(self, inputs: Sequence[Node], parameters: Parameters) -> bool:
        return True

    def compute(self, values: Sequence[Any], node: Node, asset: Any) -> Any:
        return values[0], tf.logical_and(values[0] >= 0, values[0] < node.parameters["n"])

    def id_space(self, node: Node, asset: Asset | None, of: IdSpace) -> int | None:
        return _int(node, "n")


def bucket_of(values: Any, boundaries: Any) -> Any:
    """How many of the ascending boundaries are at or below each value; all of them for NaN."""
    values = tf.cast(values, tf.float64)
    flat = tf.reshape(values, [-1])
    found = tf.searchsorted(tf.constant(boundaries, tf.float64), flat, side="right", out_type=tf.int64)
    found = tf.where(tf.math.is_nan(flat), tf.constant(len(boundaries), tf.int64), found)
    return tf.reshape(found, tf.shape(values))


class Bucketize(_Ids):
    """The number of boundaries that are at or below a number; NaN is in the last bucket.

    Example:
      x: nullable float64 = [0.5, 1.0, 9.0, nan, None]
      bucketize(x, [1, 2.5]) = [0, 1, 2, 2, None]
    """

    name = "bucketize"
    arguments = (Operand("x", NUMBERS, SCALAR_OR_LIST), Parameter("boundaries", "numbers"))

    def result_type(self, inputs: Sequence[Node], parameters: Parameters) -> ColumnType:
        boundaries = parameters["boundaries"]
        assert isinstance(boundaries, tuple)
        if not boundaries or any(not low < high for low, high in pairwise(boundaries)):
            raise OperatorError(f"'boundaries' of bucketize() ascend, found {list(boundaries)}", 1)
        return super().result_type(inputs, parameters)

    def compute(self, values: Sequence[Any], node: Node, asset: Any) -> Any:
        return bucket_of(values[0], np.array(node.parameters["boundaries"], np.float64))

    def id_space(self, node: Node, asset: Asset | None, of: IdSpace) -> int | None:
        boundaries = node.parameters["boundaries"]
        assert isinstance(boundaries, tuple)
        return len(boundaries) + 1


class Quantiles(_Ids):
    """Which of n parts of about equal size a number falls into; a boundary belongs to the part above it.

    NaN is in the last part. The boundaries' rank error is at most `epsilon` of all values (default: 1/n, at most 0.01).

    Example:
      x: nullable int64 = [1, 2, 3, None]
      asset: Boundaries((2.0, 3.0))
      quantiles(x, 3) = [0, 1, 2, None]
    """

    name = "quantiles"
    arguments = (
        Operand("x", NUMBERS, SCALAR_OR_LIST),
        Parameter("n", "int", minimum=2),
        Parameter("epsilon", "float", None, minimum=1e-6, maximum=0.5),
    )
    analyzer = BoundariesAnalyzer()

    def compute(self, values: Sequence[Any], node: Node, asset: Any) -> Any:
        return bucket_of(values[0], asset)

    def id_space(self, node: Node, asset: Asset | None, of: IdSpace) -> int | None:
        return _int(node.inputs[-1], "n")


class Cross(Operator):
    """Every combination of the operands' values, as text that `hash` or `vocab` take.

    Each text but the last comes with its length in bytes before it, so that no two combinations are the same text. A
    row where a scalar is missing has no combination: missing, or an empty list. Integers are crossed as decimal text.

    Example:
      x: list<string> = [["a", "bc"], []]
      y: nullable int64 = [7, 8]
      cross(x, y) = [["1:a7", "2:bc7"], []]
      cross(y, "z") = ["1:7z", "1:8z"]
      cross(x, x) = [["1:aa", "1:abc", "2:bca", "2:bcbc"], []]
    """

    name = "cross"
    arguments = (Operand("x", DISCRETE, SCALAR_OR_LIST), Operand("y", DISCRETE, SCALAR_OR_LIST, repeated=True))

    def result_type(self, inputs: Sequence[Node], parameters: Parameters) -> ColumnType:
        if any(node.type.shape is Shape.RAGGED for node in inputs):
            return ColumnType(DType.STRING, Shape.RAGGED)
        return ColumnType(DType.STRING, nullable=any(node.type.nullable for node in inputs))

    def kernel(self, inputs: Sequence[Column], node: Node, asset: Any) -> Column:
        from transforms.values import Nullable, split, zero_where_missing

        result: Any = None
        for position, (value, inner) in enumerate(zip(inputs, node.inputs, strict=True)):
            last = position == len(inputs) - 1
            ragged = isinstance(value, tf.RaggedTensor)
            flat, present = (value.values, None) if ragged else split(value)
            text = as_text(flat, inner.type.dtype)
            if not last:
                text = tf.strings.join([tf.as_string(tf.strings.length(text)), ":", text])
            item = value.with_values(text) if ragged else text if present is None else Nullable(text, present)
            result = item if result is None else _combine(result, item)
        return zero_where_missing(*result) if isinstance(result, Nullable) else result


def _combine(left: Column, right: Column) -> Column:
    """Every text of ``left`` followed by every text of ``right``, row by row."""
    from transforms.values import Nullable, split

    if not isinstance(left, tf.RaggedTensor) and not isinstance(right, tf.RaggedTensor):
        (first, there), (second, also) = split(left), split(right)
        text = tf.strings.join([first, second])
        known = [item for item in (there, also) if item is not None]
        return Nullable(text, known[0] if len(known) == 1 else tf.logical_and(*known)) if known else text
    rows = (left if isinstance(left, tf.RaggedTensor) else right).nrows(tf.int64)
    first, first_starts, first_lengths = _as_list(left, rows)
    second, second_starts, second_lengths = _as_list(right, rows)
    lengths = first_lengths * second_lengths
    splits = tf.concat([tf.zeros([1], tf.int64), tf.cumsum(lengths)], 0)
    row = tf.repeat(tf.range(rows), lengths)
    place = tf.range(splits[-1]) - tf.gather(splits, row)
    width = tf.gather(second_lengths, row)
    text = tf.strings.join(
        [
            tf.gather(first, tf.gather(first_starts, row) + place // width),
            tf.gather(second, tf.gather(second_starts, row) + place % width),
        ]
    )
    return tf.RaggedTensor.from_row_splits(text, splits, validate=False)


def _as_list(value: Column, rows: Any) -> tuple[Any, Any, Any]:
    """A column's flat values, where each row's begin, and how many it has."""
    from transforms.values import split

    if isinstance(value, tf.RaggedTensor):
        return value.values, value.row_starts(), value.row_lengths()
    values, present = split(value)
    return values, tf.range(rows), tf.ones([rows], tf.int64) if present is None else tf.cast(present, tf.int64)


OPERATORS: tuple[type[Operator], ...] = (Hash, Vocab, Ids, Bucketize, Quantiles, Cross)
