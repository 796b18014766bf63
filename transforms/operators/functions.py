"""Functions of numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from transforms.errors import OperatorError
from transforms.lazy import tf
from transforms.nodes import Node
from transforms.operators.arguments import NUMBERS, Operand, Parameter
from transforms.operators.base import Operator, Parameters
from transforms.operators.numbers import FloatOf, NumberOf, as_float, number_dtype, packets
from transforms.types import ColumnType, DType, Shape

if TYPE_CHECKING:
    from transforms.values import Value as Column


class Sqrt(FloatOf):
    """The square root; NaN of a negative number.

    Example:
      x: int64 = [4, 0]
      sqrt(x) = [2.0, 0.0]
    """

    name = "sqrt"
    function = staticmethod(lambda x: tf.sqrt(x))


class Exp(FloatOf):
    """e to the power of a number.

    Example:
      x: float64 = [0.0, 1.0, -inf]
      exp(x) ≈ [1.0, 2.718281828459045, 0.0]
    """

    name = "exp"
    function = staticmethod(lambda x: tf.exp(x))


class Log(FloatOf):
    """The natural logarithm; -inf of 0, NaN of a negative number.

    Example:
      x: float64 = [1.0, 0.0, -1.0, 10.0]
      log(x) ≈ [0.0, -inf, nan, 2.302585092994046]
    """

    name = "log"
    function = staticmethod(lambda x: tf.math.log(x))


class Log1p(FloatOf):
    """The natural logarithm of 1 + x; -inf of -1, NaN below.

    Example:
      x: nullable float64 = [0.0, -1.0, None, 1.0]
      log1p(x) ≈ [0.0, -inf, None, 0.6931471805599453]
    """

    name = "log1p"
    function = staticmethod(lambda x: tf.math.log1p(x))


class Round(NumberOf):
    """The nearest whole number, halves to the even one.

    Example:
      x: float64 = [0.5, 1.5, -2.4]
      round(x) = [0.0, 2.0, -2.0]
    """

    name = "round"
    arguments = (Operand("x", NUMBERS),)

    def of(self, *values: Any) -> Any:
        return tf.round(values[0]) if values[0].dtype.is_floating else values[0]


class _Extreme(NumberOf):
    arguments = (Operand("x", NUMBERS), Operand("y", NUMBERS, repeated=True))

    def of(self, *values: Any) -> Any:
        found = values[0]
        for item in values[1:]:
            found = self.better(found, item)
        return found

    @staticmethod
    def better(x: Any, y: Any) -> Any:
        """The one of two to take."""
        raise OperatorError("an extreme of nothing")


def _least(x: Any, y: Any) -> Any:
    # Written out because tf.minimum's answer for NaN depends on the place in the batch.
    return tf.where(tf.logical_or(x < y, tf.not_equal(x, x)), x, y)


def _greatest(x: Any, y: Any) -> Any:
    return tf.where(tf.logical_or(x > y, tf.not_equal(x, x)), x, y)


class Minimum(_Extreme):
    """The least of the numbers; NaN if one is.

    Example:
      x: float64 = [1.0, nan, 7.0]
      minimum(x, 3) = [1.0, nan, 3.0]
    """

    name = "minimum"
    better = staticmethod(_least)


class Maximum(_Extreme):
    """The greatest of the numbers; NaN if one is.

    Example:
      x: nullable int64 = [1, None, 7]
      maximum(x, 3, 2) = [3, None, 7]
    """

    name = "maximum"
    better = staticmethod(_greatest)


class Clip(NumberOf):
    """The number, or the nearer of two bounds where it is outside them; NaN stays.

    Example:
      x: float64 = [-1.0, 0.5, inf, nan]
      clip(x, 0, 1) = [0.0, 0.5, 1.0, nan]
    """

    name = "clip"
    arguments = (Operand("x", NUMBERS), Parameter("low", "number"), Parameter("high", "number"))

    def dtype(self, inputs: Sequence[Node], parameters: Parameters) -> DType:
        low, high = parameters["low"], parameters["high"]
        assert isinstance(low, int | float)
        assert isinstance(high, int | float)
        if not low <= high:
            raise OperatorError(f"'high' of clip() is at least 'low', found {low!r} and {high!r}", 2)
        whole = isinstance(low, int) and isinstance(high, int)
        return number_dtype(inputs) if whole else DType.FLOAT64

    def compute(self, values: Sequence[Any], node: Node, asset: Any) -> Any:
        floating = node.type.dtype is DType.FLOAT64
        x = as_float(values[0]) if floating else values[0]
        low, high = (tf.constant(node.parameters[name], x.dtype) for name in ("low", "high"))
        return tf.where(x < low, low, tf.where(x > high, high, x))


class Cyclic(Operator):
    """Where a number stands in a period: sine and cosine of its angle, so that the end lies beside the beginning.

    Example:
      x: int64 = [0, 6, 12]
      cyclic(x, 24) ≈ [[0.0, 1.0], [1.0, 6.123233995736766e-17], [1.2246467991473532e-16, -1.0]]
    """

    name = "cyclic"
    arguments = (
        Operand("x", NUMBERS, (Shape.SCALAR,)),
        Parameter("period", "float", above=0),
    )

    def result_type(self, inputs: Sequence[Node], parameters: Parameters) -> ColumnType:
        if inputs[0].type.nullable:
            raise OperatorError("cyclic() makes a vector, which cannot be missing; fill() the missing values first", 0)
        return ColumnType(DType.FLOAT64, Shape.VECTOR, width=2)

    def kernel(self, inputs: Sequence[Column], node: Node, asset: Any) -> Column:
        from transforms.values import opaque

        period = opaque(tf.constant(node.parameters["period"], tf.float64))
        turn = opaque(tf.math.floormod(as_float(inputs[0]), period) / period)
        angle = opaque(turn * (2 * math.pi))
        pair = [packets(tf.sin, angle), packets(tf.cos, angle)]
        return opaque(tf.stack(pair, axis=-1))


OPERATORS: tuple[type[Operator], ...] = (
    Sqrt,
    Exp,
    Log,
    Log1p,
    Round,
    Minimum,
    Maximum,
    Clip,
    Cyclic,
)
