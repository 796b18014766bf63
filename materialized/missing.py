"""Why a (column, chunk) is missing: what the store remembers, and what concerns chunks and their files.

What a stored column was computed by is remembered with its write group, as a `Lineage`. How one column differs from
another is told by `transforms.difference`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from materialized import layout
from materialized.chunks import ChunkEntry, read_manifest
from materialized.errors import MismatchError
from materialized.groups import GroupDescriptor
from materialized.inventory import Inventory
from materialized.store import Store
from transforms.difference import History, Kind, Reason, Statistics, StoredColumn
from transforms.errors import GraphError
from transforms.graph import FeatureGraph


@dataclass(frozen=True)
class Lineage:
    """What the columns of a write group are computed by; kept in the group's descriptor.

    Attributes:
      graph: the nodes of the columns and all that they are made from.
      nodes: identity of each column's node, by the column's identity.
      statistics: what the analyzers among the nodes saw.
    """

    graph: FeatureGraph
    nodes: Mapping[str, str]
    statistics: Statistics

    def to_text(self) -> str:
        """The lineage as JSON text."""
        statistics = {"dataset": self.statistics.dataset, "generation": self.statistics.generation}
        content = {"graph": self.graph.to_json(), "columns": dict(sorted(self.nodes.items())), "statistics": statistics}
        return json.dumps(content, separators=(",", ":"))

    @classmethod
    def from_text(cls, text: str) -> Lineage:
        """The lineage that `to_text` wrote.

        Raises:
          GraphError: ``text`` is none.
        """
        try:
            content = json.loads(text)
            statistics = Statistics(content["statistics"]["dataset"], int(content["statistics"]["generation"]))
            return cls(FeatureGraph.from_json(content["graph"]), dict(content["columns"]), statistics)
        except (ValueError, KeyError, TypeError) as error:
            raise GraphError(f"expected the lineage of a write group, found {text[:80]!r}") from error


class Memory:
    """What a store remembers of what was computed: every column of every write group, and the newest manifest.

    Args:
      store: the store, or None where there is none yet.
      dataset: name of the dataset whose manifest is looked up.
      inventory: where group descriptors that were read before are found.
    """

    def __init__(self, store: Store | None, dataset: str, inventory: Inventory | None) -> None:
        self._exists = store is not None
        groups = [] if store is None or inventory is None else _descriptors(store, inventory)
        self._identities = {column.identity for group in groups for column in group.columns}
        self._history = History(column for group in groups for column in _columns(group))
        self._kept = None if store is None else read_manifest(store, dataset)
        self._dataset = dataset

    def explain(self, column: StoredColumn, entry: ChunkEntry, computed: bool) -> Reason:
        """Why ``column`` is missing in the chunk of ``entry``; ``computed``: whether the chunk has other columns."""
        return self.of_column(column) or self.of_chunk(entry, computed)

    def of_column(self, column: StoredColumn) -> Reason | None:
        """Why no chunk has ``column``, or None where it was stored for some chunk."""
        if not self._identities:
            state = "it is empty" if self._exists else "there is none at this path"
            return Reason(Kind.NEW_STORE, f"nothing is in the store yet: {state}", "store")
        return None if column.identity in self._identities else self._history.explain(column)

    def of_chunk(self, entry: ChunkEntry, computed: bool) -> Reason:
        """Why the chunk of ``entry`` lacks a column that was stored for some chunk."""
        before = () if self._kept is None else self._kept.entries
        if any(old.chunk == entry.chunk for old in before) or computed:
            if computed:
                text = f"{entry} was computed without it, or the file that had it was collected or lost"
                return Reason(Kind.NOT_COMPUTED, text, entry.source)
            return Reason(Kind.LOST, f"{entry} was computed, and none of its files is there", entry.source)
        there = [old for old in before if old.source == entry.source]
        same = _first(before, lambda old: old.source_digest == entry.source_digest)
        if same is not None and same.parts != entry.parts:
            text = f"chunk_bytes of {self._dataset} changed; the bytes of its files are the same, cut into other chunks"
            return Reason(Kind.CHANGED_CHUNK, text, self._dataset)
        if same is not None:
            text = f"the schema of {self._dataset}, or how it is read; the bytes of its files are the same"
            return Reason(Kind.RAW_SCHEMA, text, self._dataset)
        if there:
            was, now = there[0].source_digest[:12], entry.source_digest[:12]
            return Reason(Kind.CHANGED_CHUNK, f"{entry.source} was {was}…, is now {now}…", entry.source)
        return Reason(Kind.NEW_CHUNK, f"{entry} is new in {self._dataset}", entry.source)


def _first(entries: Iterable[ChunkEntry], test: Callable[[ChunkEntry], bool]) -> ChunkEntry | None:
    return next((entry for entry in entries if test(entry)), None)


def _descriptors(store: Store, inventory: Inventory) -> list[GroupDescriptor]:
    keys = store.list(layout.groups())
    return [inventory.descriptor(key.rpartition("/")[2].removesuffix(".json")) for key in keys]


def _columns(group: GroupDescriptor) -> list[StoredColumn]:
    """The columns of a group that say what computes them; a descriptor without a lineage explains nothing."""
    if not group.subgraph:
        return []
    try:
        lineage = Lineage.from_text(group.subgraph)
        nodes = {column.identity: lineage.graph.node(lineage.nodes[column.identity]) for column in group.columns}
    except (GraphError, KeyError) as error:
        raise MismatchError(f"descriptor of write group {group.group}: its lineage is damaged: {error}") from error
    return [
        StoredColumn(column.identity, nodes[column.identity], column.labels, lineage.statistics)
        for column in group.columns
    ]
