"""Nodes of the feature graph: an operator applied to other nodes, named by content.

A node's identity is the digest of its operator, the operator's version, its parameters and the identities of its inputs
in order. Nothing else enters: not what a model calls it, not the process, not the order in which anything was made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from transforms.canonical import Value, digest
from transforms.types import ColumnType

RAW = "raw"
"""The operator of a column as the log has it; its parameters are the column's name and type."""

CONSTANT = "constant"
"""The operator of a literal in an expression; its parameter is the value."""


@dataclass(frozen=True, eq=False)
class Node:
    """An operator applied to inputs. Equal when the identity is.

    Attributes:
      operator: name of the operator, or `RAW` or `CONSTANT`.
      version: the operator's version; it changes when the operator's output changes.
      parameters: values fixed in the expression, by name.
      inputs: the nodes that it is applied to, in the operator's argument order.
      type: type of the result; follows from the rest, so it is no part of the identity.
      analyzer: whether the result is an asset found over a window of chunks, not a column.
      identity: 64 hexadecimal digits.
    """

    operator: str
    version: int
    parameters: Mapping[str, Value]
    inputs: tuple[Node, ...] = field(repr=False)  # a graph written out as a tree can be exponentially long
    type: ColumnType
    analyzer: bool = False
    identity: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "identity", node_digest(self, [node.identity for node in self.inputs]))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Node) and self.identity == other.identity

    def __hash__(self) -> int:
        return hash(self.identity)

    @property
    def is_raw(self) -> bool:
        """Whether this is a column of the log."""
        return self.operator == RAW

    @property
    def column(self) -> str:
        """Name of the log's column; raw nodes only."""
        return str(self.parameters["column"])


def node_digest(node: Node, inputs: Sequence[str]) -> str:
    """The digest of ``node`` over ``inputs``, the identities that stand for its inputs."""
    return digest(
        {
            "operator": node.operator,
            "version": node.version,
            "parameters": dict(node.parameters),
            "inputs": list(inputs),
        }
    )


def raw(column: str, column_type: ColumnType) -> Node:
    """The node of a column of the log."""
    return Node(RAW, 1, {"column": column, "type": str(column_type)}, (), column_type)


def walk(roots: Sequence[Node]) -> Iterator[Node]:
    """Every node that ``roots`` reach, each once, inputs before what uses them, without recursion."""
    seen: set[str] = set()
    stack: list[tuple[Node, bool]] = [(root, False) for root in reversed(roots)]
    while stack:
        node, ready = stack.pop()
        if ready:
            yield node
        elif node.identity not in seen:
            seen.add(node.identity)
            stack.append((node, True))
            stack.extend((inner, False) for inner in reversed(node.inputs))
