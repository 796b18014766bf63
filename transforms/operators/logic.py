"""The logic of three values (true, false, missing), and choices by them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from transforms.assets import Asset
from transforms.errors import OperatorError
from transforms.lazy import tf
from transforms.nodes import Node
from transforms.operators.arguments import BOOLS, Operand
from transforms.operators.base import IdSpace, Operator, Parameters, widest
from transforms.operators.comparisons import Predicate, common_dtype, together
from transforms.operators.elementwise import Elementwise
from transforms.types import DType


class LogicalNot(Predicate):
    """The opposite; missing stays missing.

    Example:
      x: nullable bool = [True, False, None]
      logical_not(x) = [False, True, None]
    """

    name = "logical_not"
    arguments = (Operand("x", BOOLS),)

    def compute(self, values: Sequence[Any], node: Node, asset: Any) -> Any:
        return tf.logical_not(values[0])


class _Kleene(Predicate):
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
        return widest(node.inputs[1:], of)


OPERATORS: tuple[type[Operator], ...] = (LogicalNot, LogicalAnd, LogicalOr, Where)
