"""Comparisons of values of one kind, and what values of different kinds are beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from transforms.canonical import Value
from transforms.errors import OperatorError
from transforms.lazy import tf
from transforms.nodes import Node
from transforms.operators.arguments import DISCRETE, Operand, Parameter, literal_dtype
from transforms.operators.base import Operator, Parameters
from transforms.operators.elementwise import Elementwise
from transforms.types import DType


def common_dtype(operator: str, inputs: Sequence[Node], first: int = 0) -> DType:
    """What values of ``inputs`` are beside each other: float64 where one is a float.

    Raises:
      OperatorError: where they are of different kinds.
    """
    types = [node.type for node in inputs]
    if all(column.is_number for column in types):
        return DType.INT64 if all(column.dtype is DType.INT64 for column in types) else DType.FLOAT64
    for index, column in enumerate(types):
        if column.dtype is not types[0].dtype:
            found = f"{types[0].dtype.value} and {column.dtype.value}"
            raise OperatorError(f"{operator}() takes values of one kind, found {found}", first + index)
    return types[0].dtype


def together(values: Sequence[Any], dtype: DType) -> list[Any]:
    """Values cast to what they are beside each other."""
    return [tf.cast(value, tf.float64) if dtype is DType.FLOAT64 else value for value in values]


class Predicate(Elementwise):
    """Truth values of anything."""

    def dtype(self, inputs: Sequence[Node], parameters: Parameters) -> DType:
        return DType.BOOL


class _Comparison(Predicate):
    arguments: ClassVar[tuple[Operand | Parameter, ...]] = (Operand("x"), Operand("y"))

    def dtype(self, inputs: Sequence[Node], parameters: Parameters) -> DType:
        common_dtype(self.name, inputs)
        return DType.BOOL

    def compute(self, values: Sequence[Any], node: Node, asset: Any) -> Any:
        dtype = common_dtype(self.name, node.inputs)
        x, y = together(values, dtype)
        return self.of(x, y, dtype)

    def of(self, x: Any, y: Any, dtype: DType) -> Any:
        """The comparison of two values of one dtype."""
        return self.order(x, y)

    @staticmethod
    def order(x: Any, y: Any) -> Any:
        """The comparison of two values that are ordered as TensorFlow orders them."""
        raise OperatorError("a comparison of nothing")


class Equal(_Comparison):
    """Whether two values are the same; missing where one is. NaN is not equal to itself.

    Example:
      x: nullable string = ["a", "b", None]
      equal(x, "a") = [True, False, None]
      u: uint64 = [5, 18446744073709551615]
      equal(u, 5) = [True, False]
    """

    name = "equal"
    order = staticmethod(lambda x, y: tf.equal(x, y))


class NotEqual(_Comparison):
    """Whether two values differ; missing where one is.

    Example:
      x: nullable float64 = [1.0, nan, None]
      not_equal(x, 1) = [False, True, None]
    """

    name = "not_equal"
    order = staticmethod(lambda x, y: tf.not_equal(x, y))


_ORDERED = tuple(dtype for dtype in DType if dtype not in (DType.BOOL, DType.STRING))


class _Order(_Comparison):
    arguments = (Operand("x", _ORDERED), Operand("y", _ORDERED))

    def of(self, x: Any, y: Any, dtype: DType) -> Any:
        if dtype is DType.UINT64:  # in the order of int64 once the highest bit is flipped
            x, y = (tf.bitwise.bitwise_xor(item, tf.constant(-(2**63), tf.int64)) for item in (x, y))
        return self.order(x, y)


class Less(_Order):
    """Whether x < y; missing where one is.

    Example:
      x: nullable int64 = [1, 2, None]
      less(x, 2) = [True, False, None]
      u: uint64 = [5, 18446744073709551615]
      less(u, 9223372036854775808) = [True, False]
    """

    name = "less"
    order = staticmethod(lambda x, y: x < y)


class LessEqual(_Order):
    """Whether x <= y; missing where one is.

    Example:
      x: float64 = [1.0, 2.0, nan]
      less_equal(x, 1) = [True, False, False]
    """

    name = "less_equal"
    order = staticmethod(lambda x, y: x <= y)


class Greater(_Order):
    """Whether x > y; missing where one is.

    Example:
      x: list<int64> = [[1, 2], []]
      greater(x, 1) = [[False, True], []]
    """

    name = "greater"
    order = staticmethod(lambda x, y: x > y)


class GreaterEqual(_Order):
    """Whether x >= y; missing where one is.

    Example:
      x: int64 = [1, 2]
      greater_equal(x, 1.5) = [False, True]
    """

    name = "greater_equal"
    order = staticmethod(lambda x, y: x >= y)


class IsIn(Predicate):
    """Whether the value is one of a list of literals; missing where it is.

    Example:
      x: nullable string = ["US", "FR", None]
      is_in(x, ["US", "CA"]) = [True, False, None]
    """

    name = "is_in"
    arguments = (Operand("x", DISCRETE), Parameter("values", "values"))

    def dtype(self, inputs: Sequence[Node], parameters: Parameters) -> DType:
        column = inputs[0].type.dtype
        for value in _sequence(parameters["values"]):
            found = literal_dtype(value)
            unsigned = column is DType.UINT64 and found is DType.INT64 and isinstance(value, int) and value >= 0
            if found is not column and not unsigned:
                kind = column.value
                raise OperatorError(f"is_in() looks for values of the column's kind, {kind}; found {value!r}", 1)
        return DType.BOOL

    def compute(self, values: Sequence[Any], node: Node, asset: Any) -> Any:
        wanted = _sequence(node.parameters["values"])
        accepted = [item - 2**64 if isinstance(item, int) and item >= 2**63 else item for item in wanted]
        return tf.reduce_any(tf.equal(values[0][..., tf.newaxis], tf.constant(accepted, values[0].dtype)), axis=-1)


def _sequence(value: Value) -> Sequence[Value]:
    assert isinstance(value, tuple)
    return value


OPERATORS: tuple[type[Operator], ...] = (Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual, IsIn)
