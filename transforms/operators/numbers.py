"""What operators on numbers have in common. They compute in float64 or int64 and round nowhere.

Integers wrap around (two's complement). Floating point follows IEEE 754: a division by zero is infinite, and NaN is a
number like any other. Functions that processors compute several values at a time go through `packets`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from transforms.errors import OperatorError
from transforms.lazy import tf
from transforms.nodes import Node
from transforms.operators.arguments import NUMBERS, Operand, Parameter
from transforms.operators.base import Parameters
from transforms.operators.elementwise import Elementwise
from transforms.types import DType

_PACKET = 16
"""A multiple of how many float64 any supported processor computes at a time."""


def packets(function: Any, *values: Any) -> Any:
    """``function`` of flat float64 tensors (or of rank 0), every value computed by the same instructions.

    TensorFlow computes exp, log and their like several values at a time with one approximation, and what is left over
    at the end of a tensor with another: a value's last bit would depend on where in a batch it stands. So that nothing
    is left over, the tensors are filled up.
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


class FloatOf(Elementwise):
    """An operator that gives a float64 of numbers, however they came."""

    arguments: ClassVar[tuple[Operand | Parameter, ...]] = (Operand("x", NUMBERS),)

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


class NumberOf(Elementwise):
    """An operator that gives an int64 of integers, a float64 of others."""

    arguments: ClassVar[tuple[Operand | Parameter, ...]] = (Operand("x", NUMBERS), Operand("y", NUMBERS))

    def dtype(self, inputs: Sequence[Node], parameters: Parameters) -> DType:
        return number_dtype(inputs)

    def compute(self, values: Sequence[Any], node: Node, asset: Any) -> Any:
        return self.of(*(values if node.type.dtype is DType.INT64 else map(as_float, values)))

    def of(self, *values: Any) -> Any:
        """The result of values of one dtype."""
        raise OperatorError("an operator on numbers without a function")
