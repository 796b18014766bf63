"""What operators are called with: literals, and the declarations that say which arguments an operator takes.

An operator declares a tuple of `Operand` (a column, or a literal that stands for one) and `Parameter` (a literal that
is part of the operator itself). Fitting a call to the declarations is `transforms.operators.base`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias
from typing import Literal as OneOf

from transforms.canonical import Value
from transforms.errors import OperatorError
from transforms.nodes import CONSTANT, Node
from transforms.places import nearest
from transforms.types import ColumnType, DType, Shape

INT64_MIN, INT64_MAX, UINT64_MAX = -(2**63), 2**63 - 1, 2**64 - 1


@dataclass(frozen=True)
class Literal:
    """A value written in an expression: None, bool, int, float, str, bytes, or a list or tuple of these."""

    value: Any


Argument: TypeAlias = Node | Literal

INTEGERS = (DType.INT64,)
NUMBERS = (DType.INT64, DType.FLOAT32, DType.FLOAT64)
TEXT = (DType.STRING,)
BOOLS = (DType.BOOL,)
DISCRETE = (DType.STRING, DType.INT64, DType.UINT64, DType.BOOL)
EVERYTHING = tuple(DType)

SCALAR_OR_LIST = (Shape.SCALAR, Shape.RAGGED)
COLUMNS = (Shape.SCALAR, Shape.RAGGED, Shape.VECTOR)


@dataclass(frozen=True)
class Operand:
    """An argument that is a column; a literal given for it becomes a constant.

    Attributes:
      name: for keyword calls and messages.
      dtypes: what its values may be.
      shapes: which shapes it may have.
      repeated: whether any number of further positional arguments are operands of this kind too.
    """

    name: str
    dtypes: tuple[DType, ...] = EVERYTHING
    shapes: tuple[Shape, ...] = COLUMNS
    repeated: bool = False

    def check(self, operator: str, node: Node, index: int) -> None:
        """Raise an `OperatorError` unless ``node`` may be this operand."""
        if node.type.dtype in self.dtypes and node.type.shape in self.shapes:
            return
        raise OperatorError(f"{operator}() takes {self.accepted} as {self.name!r}, found {node.type}", index)

    @property
    def accepted(self) -> str:
        """What this operand may be, in words: ``int64 or float64, scalar or list``."""
        dtypes = "any value" if self.dtypes == EVERYTHING else " or ".join(dtype.value for dtype in self.dtypes)
        words = {Shape.SCALAR: "one a row", Shape.RAGGED: "a list", Shape.VECTOR: "a vector"}
        return dtypes if self.shapes == COLUMNS else f"{dtypes} ({' or '.join(words[shape] for shape in self.shapes)})"


class _Required:
    """The default of a parameter that has none."""

    def __repr__(self) -> str:
        return "(required)"


REQUIRED = _Required()

Kind: TypeAlias = OneOf["int", "float", "number", "text", "bool", "numbers", "values"]

_WORDS: dict[str, str] = {
    "int": "an integer",
    "float": "a number",
    "number": "a number",
    "text": "a text",
    "bool": "True or False",
    "numbers": "a list of numbers",
    "values": "a list of literals",
}


@dataclass(frozen=True)
class Parameter:
    """An argument that is a literal and part of the operator's identity.

    Attributes:
      name: for keyword calls, messages and `Node.parameters`.
      kind: ``float`` is kept as a float however it was written, ``number`` stays an int or a float.
      default: taken where the argument is not given; None means that None may also be written.
      minimum: the least value; of each element, for lists.
      above: what the value is greater than.
      maximum: the greatest value.
      choices: the accepted texts.
    """

    name: str
    kind: Kind
    default: Any = REQUIRED
    minimum: float | None = None
    above: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()

    def read(self, operator: str, argument: Argument, index: int) -> Value:
        """The parameter's value.

        Raises:
          OperatorError: where the argument is no literal, of another type, or out of range.
        """
        if isinstance(argument, Node):
            wanted = _WORDS[self.kind]
            raise OperatorError(f"{self.name!r} of {operator}() is {wanted} written out, not an expression", index)
        value = argument.value
        if value is None and self.default is None:
            return None
        problem = self._problem(value)
        if problem:
            raise OperatorError(f"{self.name!r} of {operator}() is {problem}, found {value!r}", index)
        if self.kind == "float":
            return float(value)
        if self.kind in ("numbers", "values"):
            return tuple(float(item) for item in value) if self.kind == "numbers" else tuple(value)
        found: Value = value
        return found

    def _problem(self, value: Any) -> str:
        """What the value should have been, or an empty string where it is right."""
        items = value if self.kind in ("numbers", "values") else [value]
        if not isinstance(items, list | tuple) or not all(_IS_KIND[self.kind](item) for item in items):
            return _WORDS[self.kind]
        if self.choices and value not in self.choices:
            return f"one of {', '.join(map(repr, self.choices))}{nearest(str(value), self.choices)}"
        for item in items:
            if self.minimum is not None and not item >= self.minimum:
                return f"at least {self.minimum}"
            if self.above is not None and not item > self.above:
                return f"greater than {self.above}"
            if self.maximum is not None and not item <= self.maximum:
                return f"at most {self.maximum}"
        return ""


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and INT64_MIN <= value <= INT64_MAX


def _is_number(value: Any) -> bool:
    return _is_int(value) or (isinstance(value, float) and not math.isnan(value))


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and _encodes(value)


def _is_literal(value: Any) -> bool:
    if isinstance(value, str):
        return _encodes(value)
    return isinstance(value, bool | bytes | float) or (isinstance(value, int) and INT64_MIN <= value <= UINT64_MAX)


_IS_KIND = {
    "int": _is_int,
    "float": _is_number,
    "number": _is_number,
    "text": _is_text,
    "bool": lambda value: isinstance(value, bool),
    "numbers": _is_number,
    "values": _is_literal,
}


def _encodes(text: str) -> bool:
    """Whether a text has a UTF-8 form; one with half of a surrogate pair has none."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def literal_dtype(value: Any) -> DType | None:
    """What a literal is as a column, or None where it cannot be one."""
    if isinstance(value, bool):
        return DType.BOOL
    if isinstance(value, int):
        return DType.INT64 if INT64_MIN <= value <= INT64_MAX else DType.UINT64 if 0 <= value <= UINT64_MAX else None
    if isinstance(value, float):
        return DType.FLOAT64
    if isinstance(value, bytes) or (isinstance(value, str) and _encodes(value)):
        return DType.STRING
    return None


def constant(value: Any, like: DType | None = None) -> Node | None:
    """The node of a literal that is an operand, or None where it cannot be one.

    None takes the dtype ``like``; a non-negative integer beside a uint64 column becomes a uint64.
    """
    if value is None:
        if like is None:
            return None
        return Node(CONSTANT, 1, {"value": None, "dtype": like.value}, (), ColumnType(like, nullable=True))
    dtype = literal_dtype(value)
    if dtype is None:
        return None
    if dtype is DType.INT64 and like is DType.UINT64 and value >= 0:
        return Node(CONSTANT, 1, {"value": value, "dtype": "uint64"}, (), ColumnType(DType.UINT64))
    return Node(CONSTANT, 1, {"value": value}, (), ColumnType(dtype))


def operand_nodes(
    operator: str, arguments: Sequence[Argument], declared: Sequence[Operand], indexes: Sequence[int]
) -> tuple[Node, ...]:
    """The operands as nodes; literals become constants, None one of the kind of those that it stands beside."""
    nodes = []
    for argument, operand, index in zip(arguments, declared, indexes, strict=True):
        if isinstance(argument, Node):
            nodes.append(argument)
            continue
        node = constant(argument.value, _like(arguments, declared, operand))
        if node is None:
            found = repr(argument.value)
            raise OperatorError(f"{operator}() takes a column or one value as {operand.name!r}, found {found}", index)
        nodes.append(node)
    return tuple(nodes)


def _like(arguments: Sequence[Argument], declared: Sequence[Operand], operand: Operand) -> DType | None:
    """What a literal that is ``operand`` stands beside: a column where there is one, else a literal."""
    beside = [item for item, other in zip(arguments, declared, strict=True) if other.dtypes == operand.dtypes]
    found = [item.type.dtype for item in beside if isinstance(item, Node)]
    found += [dtype for item in beside if isinstance(item, Literal) and (dtype := literal_dtype(item.value))]
    return found[0] if found else operand.dtypes[0] if len(operand.dtypes) == 1 else None
