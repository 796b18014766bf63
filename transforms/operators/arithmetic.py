"""Python's arithmetic: the operators behind ``+ - * / // % **``, and a number's sign."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from transforms.errors import OperatorError
from transforms.lazy import tf
from transforms.nodes import CONSTANT, Node
from transforms.operators.arguments import NUMBERS, Operand
from transforms.operators.base import Operator, Parameters
from transforms.operators.numbers import FloatOf, NumberOf, as_float, number_dtype
from transforms.types import DType


class Add(NumberOf):
    """The sum; integers wrap around.

    Example:
      x: nullable int64 = [1, 9223372036854775807, None]
      add(x, 1) = [2, -9223372036854775808, None]
      add(x, 0.5) = [1.5, 9223372036854775808.0, None]
    """

    name = "add"

    def of(self, *values: Any) -> Any:
        return values[0] + values[1]


class Subtract(NumberOf):
    """The difference; integers wrap around.

    Example:
      x: list<float64> = [[1.5, inf], []]
      subtract(x, 1) = [[0.5, inf], []]
    """

    name = "subtract"

    def of(self, *values: Any) -> Any:
        return values[0] - values[1]


class Multiply(NumberOf):
    """The product; integers wrap around.

    Example:
      x: int64 = [3, -4]
      multiply(x, x) = [9, 16]
    """

    name = "multiply"

    def of(self, *values: Any) -> Any:
        return values[0] * values[1]


class Divide(FloatOf):
    """The quotient, always float64; of a division by zero, infinite or NaN.

    Example:
      x: int64 = [3, -1, 0]
      y: int64 = [2, 0, 0]
      divide(x, y) = [1.5, -inf, nan]
    """

    name = "divide"
    arguments = (Operand("x", NUMBERS), Operand("y", NUMBERS))

    def of(self, *values: Any) -> Any:
        return values[0] / values[1]


class _Floored(NumberOf):
    """What integer division by zero leaves open is missing; floats follow IEEE 754."""

    def partial(self, inputs: Sequence[Node], parameters: Parameters) -> bool:
        divisor = inputs[1]
        known = divisor.operator == CONSTANT and divisor.parameters["value"] != 0
        return number_dtype(inputs) is DType.INT64 and not known

    def compute(self, values: Sequence[Any], node: Node, asset: Any) -> Any:
        if node.type.dtype is DType.FLOAT64:
            return self.of(*map(as_float, values))
        x, y = values
        # Processors trap on a division by 0, and on the one quotient that is out of range: the least integer by -1.
        plain = tf.logical_and(tf.not_equal(y, 0), tf.not_equal(y, -1))
        found = tf.where(tf.equal(y, -1), self.by_minus_one(x), self.of(x, tf.where(plain, y, tf.ones_like(y))))
        return (found, tf.not_equal(y, 0)) if self.partial(node.inputs, node.parameters) else found

    def by_minus_one(self, x: Any) -> Any:
        """The result of a division by -1."""
        raise OperatorError("a division without a quotient")


class FloorDivide(_Floored):
    """The quotient rounded down; of integers, missing where the divisor is 0.

    Example:
      x: int64 = [7, -7, 5]
      y: int64 = [2, 2, 0]
      floor_divide(x, y) = [3, -4, None]
      floor_divide(x, 2) = [3, -4, 2]
      floor_divide(x, 0.5) = [14.0, -14.0, 10.0]
    """

    name = "floor_divide"

    def of(self, *values: Any) -> Any:
        if values[0].dtype.is_floating:
            return tf.floor(values[0] / values[1])
        return values[0] // values[1]

    def by_minus_one(self, x: Any) -> Any:
        return -x


class Modulo(_Floored):
    """The remainder, with the divisor's sign; of integers, missing where the divisor is 0.

    Example:
      x: int64 = [7, -7, 5]
      y: int64 = [4, 4, 0]
      modulo(x, y) = [3, 1, None]
      modulo(x, 2.5) = [2.0, 0.5, 0.0]
    """

    name = "modulo"

    def of(self, *values: Any) -> Any:
        return tf.math.floormod(values[0], values[1])

    def by_minus_one(self, x: Any) -> Any:
        return tf.zeros_like(x)


class Power(FloatOf):
    """x to the power of y, always float64.

    Example:
      x: float64 = [2.0, 9.0]
      power(x, 0.5) ≈ [1.4142135623730951, 3.0]
    """

    name = "power"
    arguments = (Operand("x", NUMBERS), Operand("y", NUMBERS))
    function = staticmethod(lambda x, y: tf.pow(x, y))


class Negative(NumberOf):
    """The number with the other sign.

    Example:
      x: nullable int64 = [1, None, -9223372036854775808]
      negative(x) = [-1, None, -9223372036854775808]
    """

    name = "negative"
    arguments = (Operand("x", NUMBERS),)

    def of(self, *values: Any) -> Any:
        return -values[0]


class Abs(NumberOf):
    """The number without its sign (the least int64 has no counterpart and stays).

    Example:
      x: float64 = [-1.5, 2.0, -inf]
      abs(x) = [1.5, 2.0, inf]
    """

    name = "abs"
    arguments = (Operand("x", NUMBERS),)

    def of(self, *values: Any) -> Any:
        return tf.where(values[0] < 0, -values[0], values[0])


OPERATORS: tuple[type[Operator], ...] = (
    Add,
    Subtract,
    Multiply,
    Divide,
    FloorDivide,
    Modulo,
    Power,
    Negative,
    Abs,
)
