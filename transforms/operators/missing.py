"""Operators on what is missing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from transforms.assets import Asset
from transforms.lazy import tf
from transforms.nodes import Node
from transforms.operators.arguments import EVERYTHING, SCALAR_OR_LIST, Operand
from transforms.operators.base import IdSpace, Operator, Parameters, widest
from transforms.operators.comparisons import common_dtype, together
from transforms.operators.elementwise import Elementwise
from transforms.types import ColumnType, DType, Shape

if TYPE_CHECKING:
    from transforms.values import Value as Column

_SCALAR = (Shape.SCALAR,)


class Fill(Elementwise):
    """The value, or the default where it is missing; the default is a literal or another column.

    Example:
      x: nullable float64 = [1.5, nan, None]
      fill(x, 0) = [1.5, nan, 0.0]
      y: nullable float64 = [None, None, None]
      fill(y, x) = [1.5, nan, None]
    """

    name = "fill"
    arguments = (Operand("x", EVERYTHING, _SCALAR), Operand("default", EVERYTHING, _SCALAR))

    def dtype(self, inputs: Sequence[Node], parameters: Parameters) -> DType:
        return common_dtype(self.name, inputs)

    def nullable(self, inputs: Sequence[Node], parameters: Parameters) -> bool:
        return all(node.type.nullable for node in inputs)

    def compute(self, values: Sequence[Any], node: Node, asset: Any) -> Any:
        return together(values, node.type.dtype)[0]

    def compute_nullable(
        self, values: Sequence[Any], present: Sequence[Any | None], node: Node, asset: Any
    ) -> tuple[Any, Any | None]:
        value, default = together(values, node.type.dtype)
        if present[0] is None:
            return value, None
        found = tf.where(present[0], value, default)
        return found, None if present[1] is None else tf.logical_or(present[0], present[1])

    def id_space(self, node: Node, asset: Asset | None, of: IdSpace) -> int | None:
        return widest(node.inputs, of)


class IsMissing(Operator):
    """Whether the value is missing; whether a list is empty. NaN is not missing.

    Example:
      x: nullable float64 = [1.5, nan, None]
      is_missing(x) = [False, False, True]
      y: list<string> = [["a"], []]
      is_missing(y) = [False, True]
    """

    name = "is_missing"
    arguments = (Operand("x", EVERYTHING, SCALAR_OR_LIST),)

    def result_type(self, inputs: Sequence[Node], parameters: Parameters) -> ColumnType:
        return ColumnType(DType.BOOL)

    def kernel(self, inputs: Sequence[Column], node: Node, asset: Any) -> Column:
        from transforms.values import split

        if isinstance(inputs[0], tf.RaggedTensor):
            return tf.equal(inputs[0].row_lengths(), 0)
        values, present = split(inputs[0])
        return tf.zeros_like(values, tf.bool) if present is None else tf.logical_not(present)


OPERATORS: tuple[type[Operator], ...] = (Fill, IsMissing)
