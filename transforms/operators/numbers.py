"""Operators on numbers. They compute in float64 or int64 and round nowhere; `float32` rounds, once, at the end.

Integers wrap around (two's complement). Floating point follows IEEE 754: a division by zero is infinite, and NaN is a
number like any other. Functions that processors compute several values at a time go through `packets`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from transforms.errors import OperatorError
from transforms.lazy import tf
from transforms.nodes import CONSTANT, Node
from transforms.operators.arguments import INT64_MIN, NUMBERS, Operand, Parameter
from transforms.operators.base import Operator, Parameters
from transforms.operators.elementwise import Elementwise
from transforms.types import ColumnType, DType, Shape

if TYPE_CHECKING:
    from transforms.values import Value as Column

_PACKET = 16
"""A multiple of how many float64 any supported processor computes at a time."""


def packets(function: Any, *values: Any) -> Any:
    """``function`` of flat float64 tensors (or of rank 0), every value computed by the same instructions.

    TensorFlow computes exp, log and their like several values at a time with one approximation, and what is left over
    at the end of a tensor with another: a value's last bit would depend on where in a batch it stands. So that nothing is left
    over, the tensors are filled up.
    """
    shape = tf.shape(max(values, key=lambda item: item.shape.rank))
    count = tf.reduce_prod(shape)
    filled = []
    for item in values:
        flat = tf.reshape(tf.broadcast_to(item, shape), [-1])
        filled.append(tf.pad(flat, [[0, -count % _PACKET]], constant_values=tf.constant(1, tf.float64)))
    return tf.reshape(function(*filled)[:count], shape)


def as_float(value: Any) -> Any:
    """``value`` as float64."""
    return tf.cast(value, tf.float64)


def number_dtype(inputs: Sequence[Node]) -> DType:
    """int64 where all are integers, else float64."""
    return DType.INT64 if all(node.type.dtype is DType.INT64 for node in inputs) else DType.FLOAT64


class _Float(Elementwise):
    """A float64 of numbers, however they came."""

    arguments = (Operand("x", NUMBERS),)

    def dtype(self, inputs: Sequence[Node], parameters: Parameters) -> DType:
        return DType.FLOAT64

    def compute(self, values: Sequence[Any], node: Node, asset: Any) -> Any:
        return self.of(*map(as_float, values))

    def of(self, *values: Any) -> Any:
        """The result of float64 values."""
        return packets(self.function, *values)

    @staticmethod
    def function(*values: Any) -> Any:
        """The function of filled tensors."""
        raise OperatorError("an operator on numbers without a function")


class _Number(Elementwise):
    """int64 of integers, float64 of others."""

    arguments: ClassVar[tuple[Operand | Parameter, ...]] = (Operand("x", NUMBERS), Operand("y", NUMBERS))

    def dtype(self, inputs: Sequence[Node], parameters: Parameters) -> DType:
        return number_dtype(inputs)

    def compute(self, values: Sequence[Any], node: Node, asset: Any) -> Any:
        return self.of(*(values if node.type.dtype is DType.INT64 else map(as_float, values)))

    def of(self, *values: Any) -> Any:
        """The result of values of one dtype."""
        raise OperatorError("an operator on numbers without a function")


class Add(_Number):
    """The sum; integers wrap around.

    Example:
      x: nullable int64 = [1, 9223372036854775807, None]
      add(x, 1) = [2, -9223372036854775808, None]
      add(x, 0.5) = [1.5, 9223372036854775808.0, None]
    """

    name = "add"

    def of(self, *values: Any) -> Any:
        return values[0] + values[1]


class Subtract(_Number):
    """The difference; integers wrap around.

    Example:
      x: list<float64> = [[1.5, inf], []]
      subtract(x, 1) = [[0.5, inf], []]
    """

    name = "subtract"

    def of(self, *values: Any) -> Any:
        return values[0] - values[1]


class Multiply(_Number):
    """The product; integers wrap around.

    Example:
      x: int64 = [3, -4]
      multiply(x, x) = [9, 16]
    """

    name = "multiply"

    def of(self, *values: Any) -> Any:
        return values[0] * values[1]


class Divide(_Float):
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


class _Floored(_Number):
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


class Power(_Float):
    """x to the power of y, always float64.

    Example:
      x: float64 = [2.0, 9.0]
      power(x, 0.5) ≈ [1.4142135623730951, 3.0]
    """

    name = "power"
    arguments = (Operand("x", NUMBERS), Operand("y", NUMBERS))
    function = staticmethod(lambda x, y: tf.pow(x, y))


class Negative(_Number):
    """The number with the other sign.

    Example:
      x: nullable int64 = [1, None, -9223372036854775808]
      negative(x) = [-1, None, -9223372036854775808]
    """

    name = "negative"
    arguments = (Operand("x", NUMBERS),)

    def of(self, *values: Any) -> Any:
        return -values[0]


class Abs(_Number):
    """The number without its sign (the least int64 has no counterpart and stays).

    Example:
      x: float64 = [-1.5, 2.0, -inf]
      abs(x) = [1.5, 2.0, inf]
    """

    name = "abs"
    arguments = (Operand("x", NUMBERS),)

    def of(self, *values: Any) -> Any:
        return tf.where(values[0] < 0, -values[0], values[0])


class Sqrt(_Float):
    """The square root; NaN of a negative number.

    Example:
      x: int64 = [4, 0]
      sqrt(x) = [2.0, 0.0]
    """

    name = "sqrt"
    function = staticmethod(lambda x: tf.sqrt(x))


class Exp(_Float):
    """e to the power of a number.

    Example:
      x: float64 = [0.0, 1.0, -inf]
      exp(x) ≈ [1.0, 2.718281828459045, 0.0]
    """

    name = "exp"
    function = staticmethod(lambda x: tf.exp(x))


class Log(_Float):
    """The natural logarithm; -inf of 0, NaN of a negative number.

    Example:
      x: float64 = [1.0, 0.0, -1.0, 10.0]
      log(x) ≈ [0.0, -inf, nan, 2.302585092994046]
    """

    name = "log"
    function = staticmethod(lambda x: tf.math.log(x))


class Log1p(_Float):
    """The natural logarithm of 1 + x; -inf of -1, NaN below.

    Example:
      x: nullable float64 = [0.0, -1.0, None, 1.0]
      log1p(x) ≈ [0.0, -inf, None, 0.6931471805599453]
    """

    name = "log1p"
    function = staticmethod(lambda x: tf.math.log1p(x))


class Round(_Number):
    """The nearest whole number, halves to the even one.

    Example:
      x: float64 = [0.5, 1.5, -2.4]
      round(x) = [0.0, 2.0, -2.0]
    """

    name = "round"
    arguments = (Operand("x", NUMBERS),)

    def of(self, *values: Any) -> Any:
        return tf.round(values[0]) if values[0].dtype.is_floating else values[0]


class _Extreme(_Number):
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


class Clip(_Number):
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


class Cast(Elementwise):
    """The value as another type.

    Integers and truth values become exact numbers (true is 1); a float loses its fraction when it becomes an int64 and is
    missing where it is NaN or out of range; a number is true where it is not 0; integers become decimal text.

    Example:
      x: float64 = [1.9, -1.9, nan, 1e30]
      cast(x, "int64") = [1, -1, None, None]
      cast(x, "bool") = [True, True, True, True]
      u: uint64 = [18446744073709551615]
      cast(u, "string") = ["18446744073709551615"]
      cast(u, "float64") = [18446744073709551616.0]
    """

    name = "cast"
    arguments = (
        Operand("x", (DType.BOOL, DType.INT64, DType.UINT64, DType.FLOAT32, DType.FLOAT64)),
        Parameter("dtype", "text", choices=("bool", "float64", "int64", "string")),
    )

    def dtype(self, inputs: Sequence[Node], parameters: Parameters) -> DType:
        target = DType(parameters["dtype"])
        if target is DType.STRING and inputs[0].type.dtype in (DType.FLOAT32, DType.FLOAT64):
            raise OperatorError("cast() to a string takes an integer or a bool: a float has no one text", 0)
        return target

    def partial(self, inputs: Sequence[Node], parameters: Parameters) -> bool:
        return parameters["dtype"] == "int64" and inputs[0].type.dtype not in (DType.BOOL, DType.INT64)

    def compute(self, values: Sequence[Any], node: Node, asset: Any) -> Any:
        from transforms.operators.ids import as_text

        found, source = values[0], node.inputs[0].type.dtype
        if node.parameters["dtype"] == "bool":
            return found if source is DType.BOOL else tf.not_equal(found, tf.zeros([], found.dtype))
        if node.parameters["dtype"] == "string":
            return as_text(found, source)
        if node.parameters["dtype"] == "float64":
            return to_float(found, source, tf.float64)
        if source is DType.UINT64:
            return found, found >= 0
        if not found.dtype.is_floating:
            return tf.cast(found, tf.int64)
        found = tf.cast(found, tf.float64)
        valid = tf.logical_and(found >= float(INT64_MIN), found < -float(INT64_MIN))
        return tf.cast(tf.where(valid, found, tf.zeros_like(found)), tf.int64), valid


def to_float(values: Any, dtype: DType, target: Any) -> Any:
    """Values of any dtype but text as a float, rounded once."""
    if dtype is DType.UINT64:
        values = tf.bitcast(values, tf.uint64)
    return tf.cast(values, target)


class Float32(Elementwise):
    """The value as float32, rounded once: what networks take. Truth values become 0 and 1.

    Example:
      x: nullable bool = [True, False, None]
      float32(x) = [1.0, 0.0, None]
      y: float64 = [0.1, 1e300]
      float32(y) = [0.10000000149011612, inf]
    """

    name = "float32"
    arguments = (Operand("x", (DType.BOOL, DType.INT64, DType.UINT64, DType.FLOAT32, DType.FLOAT64)),)

    def dtype(self, inputs: Sequence[Node], parameters: Parameters) -> DType:
        return DType.FLOAT32

    def compute(self, values: Sequence[Any], node: Node, asset: Any) -> Any:
        return to_float(values[0], node.inputs[0].type.dtype, tf.float32)


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
    Add,
    Subtract,
    Multiply,
    Divide,
    FloorDivide,
    Modulo,
    Power,
    Negative,
    Abs,
    Sqrt,
    Exp,
    Log,
    Log1p,
    Round,
    Minimum,
    Maximum,
    Clip,
    Cast,
    Float32,
    Cyclic,
)
