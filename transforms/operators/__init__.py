"""Operators: what expressions can call. `find` one by its name, `call` it with nodes and literals, get a node.

What an operator is stands in `base` and `elementwise`; each family has a module of its own, whose ``OPERATORS`` are all
that there are.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from transforms.errors import OperatorError
from transforms.nodes import CONSTANT, RAW, Node
from transforms.operators import (
    arithmetic,
    comparisons,
    conversions,
    functions,
    ids,
    lists,
    logic,
    missing,
    scaling,
    statistics,
    text,
    time,
)
from transforms.operators.arguments import Argument, Literal, Operand, Parameter
from transforms.operators.base import Analyzer, Operator
from transforms.places import nearest

if TYPE_CHECKING:
    from transforms.assets import Asset

__all__ = ["Analyzer", "Argument", "Literal", "Operand", "Operator", "Parameter", "find", "id_space", "names"]

_FAMILIES = (
    text,
    ids,
    arithmetic,
    functions,
    conversions,
    scaling,
    comparisons,
    logic,
    missing,
    lists,
    time,
    statistics,
)
_OPERATORS: Mapping[str, Operator] = MappingProxyType(
    {operator.name: operator() for family in _FAMILIES for operator in family.OPERATORS}
)


def find(name: str) -> Operator:
    """The operator of a name.

    Raises:
      OperatorError: where there is none; the message has the nearest name.
    """
    if name not in _OPERATORS:
        raise OperatorError(f"there is no operator {name!r}{nearest(name, names())}")
    return _OPERATORS[name]


def names() -> tuple[str, ...]:
    """Names of the operators that expressions call, sorted; analyzers come with the operators that need them."""
    return tuple(sorted(name for name, operator in _OPERATORS.items() if not isinstance(operator, Analyzer)))


def id_space(node: Node, assets: Mapping[str, Asset] | None = None) -> int | None:
    """The exclusive upper bound of the ids that ``node`` produces, or None where nothing bounds them.

    Args:
      node: a node of integers.
      assets: what analyzers found, by their node's identity; a vocabulary's size is known with it only.
    """
    known: dict[str, int | None] = {}  # a node may be used by many

    def of(node: Node) -> int | None:
        if node.identity not in known:
            known[node.identity] = space(node)
        return known[node.identity]

    def space(node: Node) -> int | None:
        if node.operator in (RAW, CONSTANT):
            value = node.parameters.get("value")
            return value + 1 if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
        operator = find(node.operator)
        asset = (assets or {}).get(node.inputs[-1].identity) if operator.analyzer else None
        return operator.id_space(node, asset, of)

    return of(node)
