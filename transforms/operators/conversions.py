"""Values as other types. Numbers are rounded once, by `Float32`, at the end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from transforms.errors import OperatorError
from transforms.lazy import tf
from transforms.nodes import Node
from transforms.operators.arguments import INT64_MIN, Operand, Parameter
from transforms.operators.base import Operator, Parameters
from transforms.operators.elementwise import Elementwise
from transforms.operators.ids import as_text
from transforms.types import DType


class Cast(Elementwise):
    """The value as another type.

    Integers and truth values become exact numbers (true is 1); a float loses its fraction when it becomes an int64 and
    is missing where it is NaN or out of range; a number is true where it is not 0; integers become decimal text.

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


OPERATORS: tuple[type[Operator], ...] = (
    Cast,
    Float32,
)
