"""Operators on lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from transforms.assets import Asset
from transforms.lazy import tf
from transforms.nodes import Node
from transforms.operators.arguments import EVERYTHING, SCALAR_OR_LIST, Operand, Parameter
from transforms.operators.base import IdSpace, Operator, Parameters
from transforms.types import ColumnType, DType, Shape

if TYPE_CHECKING:
    from transforms.values import Value as Column

_LIST = (Shape.RAGGED,)


class Size(Operator):
    """How many values a list has.

    Example:
      x: list<string> = [["a", "b"], []]
      size(x) = [2, 0]
    """

    name = "size"
    arguments = (Operand("x", EVERYTHING, _LIST),)

    def result_type(self, inputs: Sequence[Node], parameters: Parameters) -> ColumnType:
        return ColumnType(DType.INT64)

    def kernel(self, inputs: Sequence[Column], node: Node, asset: Any) -> Column:
        return inputs[0].row_lengths()


class Head(Operator):
    """The first n values of a list; all of a shorter one.

    Example:
      x: list<int64> = [[1, 2, 3], [4], []]
      head(x, 2) = [[1, 2], [4], []]
    """

    name = "head"
    arguments = (Operand("x", EVERYTHING, _LIST), Parameter("n", "int", minimum=1))

    def result_type(self, inputs: Sequence[Node], parameters: Parameters) -> ColumnType:
        return inputs[0].type

    def kernel(self, inputs: Sequence[Column], node: Node, asset: Any) -> Column:
        return inputs[0][:, : node.parameters["n"]]

    def id_space(self, node: Node, asset: Asset | None, of: IdSpace) -> int | None:
        return of(node.inputs[0])


class ToList(Operator):
    """A list of the one value, empty where it is missing; a list stays as it is.

    Example:
      x: nullable int64 = [5, None]
      to_list(x) = [[5], []]
    """

    name = "to_list"
    arguments = (Operand("x", EVERYTHING, SCALAR_OR_LIST),)

    def result_type(self, inputs: Sequence[Node], parameters: Parameters) -> ColumnType:
        return ColumnType(inputs[0].type.dtype, Shape.RAGGED)

    def kernel(self, inputs: Sequence[Column], node: Node, asset: Any) -> Column:
        from transforms.values import split

        if isinstance(inputs[0], tf.RaggedTensor):
            return inputs[0]
        values, present = split(inputs[0])
        if present is None:
            return tf.RaggedTensor.from_row_splits(values, tf.range(tf.size(values, tf.int64) + 1), validate=False)
        splits = tf.concat([tf.zeros([1], tf.int64), tf.cumsum(tf.cast(present, tf.int64))], 0)
        return tf.RaggedTensor.from_row_splits(tf.boolean_mask(values, present), splits, validate=False)

    def id_space(self, node: Node, asset: Asset | None, of: IdSpace) -> int | None:
        return of(node.inputs[0])


OPERATORS: tuple[type[Operator], ...] = (Size, Head, ToList)
