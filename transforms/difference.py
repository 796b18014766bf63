"""Why a column is not stored: what differs between its node and the nodes of columns that are.

The store keeps, with each write group, the part of the feature graph that computes its columns; a `History` is made of
all of them. What concerns chunks and files instead of nodes is `materialized.missing`.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from transforms.canonical import canonical_json, digest
from transforms.nodes import CONSTANT, RAW, Node, walk


class Kind(enum.Enum):
    """Kinds of reasons for which a (column, chunk) is not stored. The first that applies names the reason."""

    NEW_STORE = "new store"
    RAW_SCHEMA = "changed raw schema"
    OPERATOR_VERSION = "operator version changed"
    NEW_OPERATOR = "new operator"
    OTHER_RAW_COLUMN = "other raw column"
    CHANGED_PARAMETER = "changed parameter"
    CHANGED_INPUT = "changed input"
    NEW_WINDOW = "new window"
    NEW_FEATURE = "new feature"
    CHANGED_CHUNK = "changed chunk"
    NEW_CHUNK = "new chunk"
    NOT_COMPUTED = "not computed here"
    LOST = "collected or lost"


_ORDER = {kind: index for index, kind in enumerate(Kind)}


@dataclass(frozen=True)
class Difference:
    """One thing in which a node differs from another.

    Attributes:
      kind: what kind of thing.
      symbol: the operator or raw column at fault.
      text: what was and what is, naming the symbol.
    """

    kind: Kind
    symbol: str
    text: str


@dataclass(frozen=True)
class Reason:
    """Why a (column, chunk) is not stored.

    Attributes:
      kind: the kind of the first difference.
      text: all differences, for people; names the symbol or file.
      symbol: the operator, raw column or file at fault.
      like: label of the stored column that this one was compared with, or None.
    """

    kind: Kind
    text: str
    symbol: str
    like: str | None = None

    def __str__(self) -> str:
        return f"{self.kind.value}: {self.text}"


@dataclass(frozen=True)
class Statistics:
    """Over what the analyzers of a stored column ran: a pinned window of a dataset."""

    dataset: str
    generation: int

    def __str__(self) -> str:
        return f"{self.dataset}, generation {self.generation}"


@dataclass(frozen=True)
class StoredColumn:
    """A column that is stored for some chunk, or a wanted one.

    Attributes:
      identity: the column's identity.
      node: what computes it.
      labels: ``model.role`` of those that asked for it.
      statistics: what its analyzers saw; None without analyzers.
    """

    identity: str
    node: Node
    labels: tuple[str, ...] = ()
    statistics: Statistics | None = None


class History:
    """What a store knows about columns that were computed, whenever and for whichever chunks.

    Args:
      columns: each column once per write group that it is in.
    """

    def __init__(self, columns: Iterable[StoredColumn]) -> None:
        self._columns = tuple(sorted(columns, key=lambda column: (column.identity, column.labels)))

    def __contains__(self, identity: object) -> bool:
        return identity in self._by_identity

    def __len__(self) -> int:
        return len(self._by_identity)

    @cached_property
    def _by_identity(self) -> Mapping[str, StoredColumn]:
        return {column.identity: column for column in self._columns}

    @cached_property
    def _alike(self) -> Mapping[str, list[StoredColumn]]:
        """Stored columns by each thing that makes two of them comparable: a label, a node, the outline of a node."""
        found: dict[str, dict[str, StoredColumn]] = {}
        outlines: dict[str, str] = {}
        for column in self._columns:
            for key in (*column.labels, column.node.identity, _outline(column.node, outlines)):
                found.setdefault(key, {}).setdefault(column.identity, column)
        return {key: list(columns.values()) for key, columns in found.items()}

    @cached_property
    def _operators(self) -> frozenset[str]:
        return frozenset(node.operator for node in walk([column.node for column in self._columns]))

    def explain(self, wanted: StoredColumn) -> Reason:
        """Why ``wanted``, a column that no chunk has, is not stored."""
        same = self._alike.get(wanted.node.identity)
        if same:
            return _other_window(wanted, same)
        for keys in (wanted.labels, (_outline(wanted.node, {}),)):
            candidates = [column for key in keys for column in self._alike.get(key, ())]
            compared = [(differences(wanted.node, column.node), column) for column in candidates]
            if compared:
                found, column = min(compared, key=lambda pair: (len(pair[0]), pair[1].identity))
                return Reason(found[0].kind, _join(found), found[0].symbol, _like(wanted, column))
        unknown = {node.operator for node in walk([wanted.node])} - self._operators - {RAW, CONSTANT}
        if unknown:
            names = ", ".join(sorted(unknown))
            return Reason(Kind.NEW_OPERATOR, f"no stored column uses {names}", names)
        return Reason(Kind.NEW_FEATURE, f"nothing like {describe(wanted.node)} was ever stored", describe(wanted.node))


def differences(new: Node, old: Node) -> tuple[Difference, ...]:
    """In what ``new`` differs from ``old``, each thing once, in the order of `Kind`; empty for equal nodes."""
    found: dict[Difference, None] = {}
    seen: set[tuple[str, str]] = set()
    pairs = [(new, old, "the expression")]
    while pairs:
        one, other, where = pairs.pop()
        if one != other and (one.identity, other.identity) not in seen:
            seen.add((one.identity, other.identity))
            here, inner = _compare(one, other, where)
            found.update(dict.fromkeys(here))
            pairs.extend((left, right, one.operator) for left, right in reversed(inner))
    return tuple(sorted(found, key=lambda difference: (_ORDER[difference.kind], difference.text)))


def describe(node: Node, characters: int = 60) -> str:
    """``node`` as it might be written in a spec, cut to about ``characters``: ``hash(lower(query), buckets=1000)``."""
    text = ""
    for piece in _pieces(node):
        text += piece
        if len(text) > characters:
            return text[: characters - 1] + "…"
    return text


Compared = tuple[list[Difference], list[tuple[Node, Node]]]
"""Differences between two nodes themselves, and the pairs of inputs that are still to be compared."""


def _compare(new: Node, old: Node, where: str) -> Compared:
    if new.operator != old.operator:
        return _other_operator(new, old)
    if new.is_raw:
        if new.column != old.column:
            return [Difference(Kind.OTHER_RAW_COLUMN, new.column, f"raw column {old.column} -> {new.column}")], []
        text = f"raw column {new.column}: {old.type} -> {new.type}"
        return [Difference(Kind.RAW_SCHEMA, new.column, text)], []
    if new.operator == CONSTANT:
        text = f"literal in {where}: {old.parameters['value']!r} -> {new.parameters['value']!r}"
        return [Difference(Kind.CHANGED_PARAMETER, where, text)], []
    found = []
    if new.version != old.version:
        text = f"{new.operator}: version {old.version} -> {new.version}"
        found.append(Difference(Kind.OPERATOR_VERSION, new.operator, text))
    for name in sorted(new.parameters.keys() | old.parameters.keys()):
        was, now = (_value(node, name) for node in (old, new))
        if was != now:
            symbol = f"{new.operator}.{name}"
            found.append(Difference(Kind.CHANGED_PARAMETER, symbol, f"{symbol}: {was[0]} -> {now[0]}"))
    if len(new.inputs) == len(old.inputs):
        if new.inputs != old.inputs and sorted(map(_key, new.inputs)) == sorted(map(_key, old.inputs)):
            text = f"order of the arguments of {new.operator}"
            return [*found, Difference(Kind.CHANGED_INPUT, new.operator, text)], []
        return found, list(zip(new.inputs, old.inputs, strict=True))
    more = [f"takes {describe(node)}" for node in new.inputs if node not in old.inputs]
    fewer = [f"no longer takes {describe(node)}" for node in old.inputs if node not in new.inputs]
    text = f"{new.operator} {', '.join(more + fewer) or f'takes {len(new.inputs)} inputs, not {len(old.inputs)}'}"
    return [*found, Difference(Kind.CHANGED_INPUT, new.operator, text)], []


def _other_operator(new: Node, old: Node) -> Compared:
    if inner := _inside(new, old):
        text = f"{new.operator} around {describe(old)}"
        return [Difference(Kind.NEW_OPERATOR, new.operator, text)], [(inner, old)]
    if inner := _inside(old, new):
        text = f"{old.operator} is no longer around {describe(new)}"
        return [Difference(Kind.CHANGED_INPUT, old.operator, text)], [(new, inner)]
    if new.operator in (RAW, CONSTANT):
        text = f"{describe(old)} -> {describe(new)}"
        return [Difference(Kind.CHANGED_INPUT, describe(new), text)], []
    text = f"{old.operator if old.inputs else describe(old)} -> {new.operator}"
    pairs = zip(new.inputs, old.inputs, strict=True) if len(new.inputs) == len(old.inputs) else ()
    return [Difference(Kind.NEW_OPERATOR, new.operator, text)], list(pairs)


def _inside(outer: Node, wanted: Node) -> Node | None:
    """What in ``outer`` stands for ``wanted``: the node itself, or an input of ``outer`` by the same operator."""
    if any(node == wanted for node in walk(outer.inputs)):
        return wanted
    return next((node for node in outer.inputs if node.operator == wanted.operator and node.inputs), None)


def _key(node: Node) -> str:
    return node.identity


def _value(node: Node, name: str) -> tuple[str, str]:
    """A parameter for people, and in the form in which values are compared."""
    if name not in node.parameters:
        return "(none)", ""
    return repr(node.parameters[name]), canonical_json(node.parameters[name])


def _other_window(wanted: StoredColumn, stored: list[StoredColumn]) -> Reason:
    analyzers = sorted({describe(node) for node in walk([wanted.node]) if node.analyzer})
    ours = [column for column in stored if _dataset(column) == _dataset(wanted)] or stored
    newest = max(ours, key=lambda column: (column.statistics.generation if column.statistics else 0, column.identity))
    was, now = newest.statistics, wanted.statistics
    if was and now and was.dataset == now.dataset and was.generation != now.generation:
        text = f"generation {was.generation} -> {now.generation} of the statistics of {now.dataset}"
    else:
        text = f"statistics over other chunks ({was}) -> ({now})"
    return Reason(Kind.NEW_WINDOW, f"{text}: {', '.join(analyzers)}", ", ".join(analyzers), _like(wanted, newest))


def _dataset(column: StoredColumn) -> str | None:
    return column.statistics.dataset if column.statistics else None


def _like(wanted: StoredColumn, column: StoredColumn) -> str | None:
    """The label under which the stored column is best known to those who ask for the wanted one."""
    return next((label for label in wanted.labels if label in column.labels), min(column.labels, default=None))


def _join(found: tuple[Difference, ...], most: int = 4) -> str:
    more = [f"and {len(found) - most} more"] if len(found) > most else []
    return "; ".join([*(difference.text for difference in found[:most]), *more])


def _outline(root: Node, known: dict[str, str]) -> str:
    """Digest of the operators and raw columns of a node, blind to versions, parameters, literals and types."""
    for node in walk([root]):
        if node.identity not in known:
            name = node.column if node.is_raw else ""
            known[node.identity] = digest([node.operator, name, *(known[inner.identity] for inner in node.inputs)])
    return known[root.identity]


def _pieces(root: Node) -> Iterator[str]:
    """The text of a node, piece by piece, so that whoever has enough can stop."""
    stack: list[Node | str] = [root]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            yield item
        elif item.is_raw:
            yield item.column
        elif item.operator == CONSTANT:
            yield repr(item.parameters["value"])
        else:
            parts: list[Node | str] = []
            arguments: list[Node | str] = [*item.inputs]
            arguments += [f"{name}={value!r}" for name, value in sorted(item.parameters.items())]
            for argument in arguments:
                parts += [", ", argument] if parts else [argument]
            stack += reversed([f"{item.operator}(", *parts, ")"])
