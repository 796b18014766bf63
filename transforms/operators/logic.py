"""Comparisons, the logic of three values (true, false, missing), and choices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from transforms.assets import Asset
from transforms.canonical import Value
from transforms.errors import OperatorError
from transforms.lazy import tf
from transforms.nodes import Node
from transforms.operators.arguments import BOOLS, DISCRETE, Operand, Parameter, literal_dtype
from transforms.operators.base import IdSpace, Operator, Parameters
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
            raise OperatorError(
                f"{operator}() takes values of one kind, found {types[0].dtype.value} and {column.dtype.value}", first + index
            )
    return types[0].dtype


def together(values: Sequence[Any], dtype: DType) -> list[Any]:
    """Values cast to what they are beside each other."""
    return [tf.cast(value, tf.float64) if dtype is DType.FLOAT64 else value for value in values]


class _Predicate(Elementwise):
    """Truth values of anything."""

    def dtype(self, inputs: Sequence[Node], parameters: Parameters) -> DType:
        return DType.BOOL


class _Comparison(_Predicate):
    arguments: ClassVar[tuple[Operand | Parameter, ...]] = (Operand("x"), Operand("y"))

    def dtype(self, inputs: Sequence[Node], parameters: Parameters) -> DType:
        common_dtype(self.name, inputs)
        return DType.BOOL

    def compute(self, values: Sequence[Any], node: Node, asset: Any) -> Any:
        dtype = common_dtype(self.name, node.inputs)
        return self.of(*together(values, dtype), dtype)

    @staticmethod
    def of(x: Any, y: Any, dtype: DType) -> Any:
        """The comparison of two values of one dtype."""
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
    of = staticmethod(lambda x, y, dtype: tf.equal(x, y))


class NotEqual(_Comparison):
    """Whether two values differ; missing where one is.

    Example:
      x: nullable float64 = [1.0, nan, None]
      not_equal(x, 1) = [False, True, None]
    """

    name = "not_equal"
    of = staticmethod(lambda x, y, dtype: tf.not_equal(x, y))


_ORDERED = tuple(dtype for dtype in DType if dtype not in (DType.BOOL, DType.STRING))


class _Order(_Comparison):
    arguments = (Operand("x", _ORDERED), Operand("y", _ORDERED))

    @classmethod
    def of(cls, x: Any, y: Any, dtype: DType) -> Any:
        if dtype is DType.UINT64:  # in the order of int64 once the highest bit is flipped
            x, y = (tf.bitwise.bitwise_xor(item, tf.constant(-(2**63), tf.int64)) for item in (x, y))
        return cls.order(x, y)

    @staticmethod
    def order(x: Any, y: Any) -> Any:
        """The comparison of two numbers."""
        raise OperatorError("an order of nothing")


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


class IsIn(_Predicate):
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
                raise OperatorError(f"is_in() looks for values of the column's kind, {column.value}, found {value!r}", 1)
        return DType.BOOL

    def compute(self, values: Sequence[Any], node: Node, asset: Any) -> Any:
        accepted = [
            item - 2**64 if isinstance(item, int) and item >= 2**63 else item for item in _sequence(node.parameters["values"])
        ]
        return tf.reduce_any(tf.equal(values[0][..., tf.newaxis], tf.constant(accepted, values[0].dtype)), axis=-1)


def _sequence(value: Value) -> Sequence[Value]:
    assert isinstance(value, tuple)
    return value


class LogicalNot(_Predicate):
    """The opposite; missing stays missing.

    Example:
      x: nullable bool = [True, False, None]
      logical_not(x) = [False, True, None]
    """

    name = "logical_not"
    arguments = (Operand("x", BOOLS),)

    def compute(self, values: Sequence[Any], node: Node, asset: Any) -> Any:
        return tf.logical_not(values[0])


class _Kleene(_Predicate):
    """Of a missing operand only that is known which follows whatever its value."""

    arguments = (Operand("x", BOOLS), Operand("y", BOOLS, repeated=True))
    decides: ClassVar[bool]

    def compute(self, values: Sequence[Any], node: Node, asset: Any) -> Any:
        raise OperatorError("the logic of three values needs to know which are missing")

    def compute_nullable(
        self, values: Sequence[Any], present: Sequence[Any | None], node: Node, asset: Any
    ) -> tuple[Any, Any | None]:
        decided: Any = None
        known: Any = None
        for value, there in zip(values, present, strict=True):
            decisive = value if self.decides else tf.logical_not(value)
            if there is not None:
                decisive = tf.logical_and(decisive, there)
                known = there if known is None else tf.logical_and(known, there)
            decided = decisive if decided is None else tf.logical_or(decided, decisive)
        result = decided if self.decides else tf.logical_not(decided)
        return result, None if known is None else tf.logical_or(known, decided)


class LogicalAnd(_Kleene):
    """Whether all are true; false where one is false, whatever is missing.

    Example:
      x: nullable bool = [True, False, None]
      logical_and(x, True) = [True, False, None]
      logical_and(x, False) = [False, False, False]
    """

    name = "logical_and"
    decides = False


class LogicalOr(_Kleene):
    """Whether one is true; true where one is true, whatever is missing.

    Example:
      x: nullable bool = [True, False, None]
      logical_or(x, True) = [True, True, True]
      logical_or(x, False) = [True, False, None]
    """

    name = "logical_or"
    decides = True


class Where(Elementwise):
    """x where the condition is true, y where it is false; missing where the condition or the chosen one is.

    Example:
      c: nullable bool = [True, False, None, True]
      x: nullable int64 = [1, 2, 3, None]
      where(c, x, 0.5) = [1.0, 0.5, None, None]
      where(c, "yes", None) = ["yes", None, None, "yes"]
    """

    name = "where"
    arguments = (Operand("condition", BOOLS), Operand("x"), Operand("y"))

    def dtype(self, inputs: Sequence[Node], parameters: Parameters) -> DType:
        return common_dtype(self.name, inputs[1:], first=1)

    def compute(self, values: Sequence[Any], node: Node, asset: Any) -> Any:
        return tf.where(values[0], *together(values[1:], node.type.dtype))

    def compute_nullable(
        self, values: Sequence[Any], present: Sequence[Any | None], node: Node, asset: Any
    ) -> tuple[Any, Any | None]:
        found = self.compute(values, node, asset)
        if all(item is None for item in present):
            return found, None
        first, second = (tf.constant(True) if item is None else item for item in present[1:])
        chosen = tf.where(values[0], first, second)
        return found, chosen if present[0] is None else tf.logical_and(present[0], chosen)

    def id_space(self, node: Node, asset: Asset | None, of: IdSpace) -> int | None:
        spaces = [of(inner) for inner in node.inputs[1:]]
        return None if None in spaces else max(space for space in spaces if space is not None)


OPERATORS: tuple[type[Operator], ...] = (
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    IsIn,
    LogicalNot,
    LogicalAnd,
    LogicalOr,
    Where,
)
