"""The plan: which columns of which chunks models ask for, which the store has, which are missing and why.

Making a plan reads names and descriptors, no rows, and writes nothing. Computing what is missing is `pipelines`;
reading what is there is `materialized.reader`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING

from materialized.assets import has_asset
from materialized.chunks import Manifest
from materialized.errors import SliceError
from materialized.groups import GroupColumn, GroupDescriptor
from materialized.inventory import Inventory
from materialized.missing import Lineage, Memory
from materialized.overlap import nothing_held_out, overlap
from materialized.pins import Window, current_window
from materialized.store import Store
from transforms.difference import Reason, Statistics, StoredColumn
from transforms.graph import FeatureGraph
from transforms.nodes import Node, walk
from transforms.specs import DatasetSpec
from transforms.types import ColumnType

if TYPE_CHECKING:
    from transforms.binding import BoundModel

BUNDLE_COLUMNS = 16
"""Components with fewer missing columns than this are bundled into write groups of at least as many."""


@dataclass(frozen=True)
class PlannedColumn:
    """A column that some model asks for.

    Attributes:
      identity: the column's identity: its node's, with the window of the analyzers above it.
      node: what computes it.
      type: its type.
      labels: ``model.role`` of those that ask for it, sorted.
    """

    identity: str
    node: Node
    type: ColumnType
    labels: tuple[str, ...]


@dataclass(frozen=True)
class HitCounts:
    """How much of what is asked for need not be computed.

    Attributes:
      requested: (model, column, chunk) triples.
      computed: (column, chunk) pairs that are missing, each once for all models.
    """

    requested: int
    computed: int

    @property
    def rate(self) -> float:
        """(requested − computed) ÷ requested; 1 where nothing is asked for."""
        return (self.requested - self.computed) / self.requested if self.requested else 1.0


@dataclass(frozen=True, eq=False)
class Plan:
    """What models ask of a dataset, and what of it a store has.

    Attributes:
      models: the models.
      graph: their merged graph.
      dataset: the dataset.
      manifest: its chunks now.
      window: the chunks over which analyzers run.
      identities: the column identity of each node, analyzers included, by the node's identity.
      columns: the columns that models ask for, by column identity.
      requested: the column identity of each (model, role).
      missing: identities of the columns that a chunk lacks, sorted, by chunk in manifest order; chunks that lack
        nothing are not in it.
      missing_assets: the analyzers whose result is not stored, level by level, by column identity.
      reasons: why each missing (column, chunk) is missing.
    """

    models: tuple[BoundModel, ...]
    graph: FeatureGraph
    dataset: DatasetSpec
    manifest: Manifest
    window: Window
    identities: Mapping[str, str]
    columns: Mapping[str, PlannedColumn]
    requested: tuple[tuple[str, str, str], ...]
    missing: Mapping[str, tuple[str, ...]]
    missing_assets: Mapping[str, Node]
    reasons: Mapping[tuple[str, str], Reason]

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """What is allowed and should be known: a model is evaluated on what statistics have seen, or on nothing."""
        found = (
            warning
            for model in self.models
            for warning in (
                overlap(model, self.dataset, self.manifest, self.window),
                nothing_held_out(model, self.manifest),
            )
        )
        return tuple(warning for warning in found if warning is not None)

    @property
    def complete(self) -> bool:
        """Whether nothing is missing."""
        return not self.missing and not self.missing_assets

    @cached_property
    def hits(self) -> HitCounts:
        """Counts over all models."""
        per_model = sum(len(self.columns_of(model.name)) for model in self.models)
        return HitCounts(per_model * len(self.manifest.chunks), sum(map(len, self.missing.values())))

    def columns_of(self, model: str) -> tuple[str, ...]:
        """Identities of the columns that ``model`` asks for, each once, sorted."""
        return tuple(sorted({column for name, _, column in self.requested if name == model}))

    def missing_of(self, model: str) -> int:
        """Number of (column, chunk) pairs that ``model`` asks for and that are missing."""
        wanted = set(self.columns_of(model))
        return sum(len(wanted.intersection(columns)) for columns in self.missing.values())

    def column(self, model: str, role: str) -> PlannedColumn:
        """The column that ``model`` calls ``role``. Raises KeyError where it has no such role."""
        return self.columns[self.identities[self.graph.outputs[model, role].identity]]

    def groups_for(self, chunk: str) -> tuple[tuple[str, ...], ...]:
        """The write groups of what ``chunk`` lacks: column identities, each in one group.

        A component's columns lie together; components with few missing columns are bundled, in a fixed order, so that
        a chunk has few files and chunks that lack the same columns have the same groups.
        """
        missing = set(self.missing.get(chunk, ()))
        parts = [tuple(sorted(missing.intersection(part))) for part in self._parts]
        groups = [part for part in parts if len(part) >= BUNDLE_COLUMNS]
        bundle: list[str] = []
        for part in parts:
            if len(part) < BUNDLE_COLUMNS:
                bundle.extend(part)
            if len(bundle) >= BUNDLE_COLUMNS:
                groups.append(tuple(sorted(bundle)))
                bundle = []
        if bundle:
            groups.append(tuple(sorted(bundle)))
        return tuple(sorted(groups))

    @cached_property
    def _parts(self) -> tuple[tuple[str, ...], ...]:
        """The columns of each component, then those that are raw columns or literals themselves."""
        by_node = {column.node.identity: identity for identity, column in self.columns.items()}
        parts = [
            tuple(by_node[node.identity] for node in component.nodes if node.identity in by_node)
            for component in self.graph.components()
        ]
        inside = {identity for part in parts for identity in part}
        return (*filter(None, parts), tuple(identity for identity in self.columns if identity not in inside))

    def descriptor(self, group: Sequence[str]) -> GroupDescriptor:
        """The descriptor of a write group, with what explains its columns later.

        Args:
          group: identities of planned columns.
        """
        columns = [self.columns[identity] for identity in group]
        lineage = Lineage(
            # Without outputs: who asks changes with every model, and labels say it already.
            graph=FeatureGraph({}, [column.node for column in columns]),
            nodes={column.identity: column.node.identity for column in columns},
            statistics=self._statistics,
        )
        described = tuple(GroupColumn(column.identity, column.type, column.labels) for column in columns)
        return GroupDescriptor(described, lineage.to_text())

    @property
    def _statistics(self) -> Statistics:
        return Statistics(self.dataset.name, self.window.generation)


def make_plan(
    models: Sequence[BoundModel],
    dataset: DatasetSpec,
    manifest: Manifest,
    store: Store | None,
    window: Window | None = None,
) -> Plan:
    """Looks up what ``models`` ask of ``dataset`` in ``store``.

    Args:
      models: the models; a model given twice counts once.
      dataset: the dataset that they are bound to.
      manifest: its chunks.
      store: where columns are kept, or None where there is no store yet: everything is missing.
      window: the chunks over which analyzers run; None takes the current one (`materialized.pins`).

    Returns:
      The plan.

    Raises:
      SpecError: two different models have one name.
      SliceError: models need statistics, and the window has no chunks.
      MismatchError: a file of the store is damaged.
    """
    graph = FeatureGraph.of(models)
    window = current_window(store, dataset, manifest) if window is None else window
    analyzers = [node for level in graph.analyzer_levels() for node in level]
    if analyzers and not window.chunks:
        raise SliceError(
            f"{dataset.place or f'dataset {dataset.name!r}'}: expected chunks to compute statistics over, found none "
            f"of the {len(manifest)} in the slice {dataset.statistics!r} (window generation {window.generation})"
        )
    identities = graph.column_identities(window.identity)
    requested = tuple((model, role, identities[node.identity]) for (model, role), node in graph.outputs.items())
    columns = _columns(graph, identities)
    inventory = None if store is None else Inventory(store)
    stored = {chunk: set(inventory.files(chunk)) if inventory else set() for chunk in manifest.chunks}
    missing = {
        chunk: tuple(identity for identity in columns if identity not in found)
        for chunk, found in stored.items()
        if not found.issuperset(columns)
    }
    memory = Memory(store, dataset.name, inventory)
    return Plan(
        models=tuple({model.name: model for model in models}.values()),
        graph=graph,
        dataset=dataset,
        manifest=manifest,
        window=window,
        identities=identities,
        columns=MappingProxyType(columns),
        requested=requested,
        missing=MappingProxyType(missing),
        missing_assets=MappingProxyType(
            {
                identities[node.identity]: node
                for node in analyzers
                if store is None or not has_asset(store, identities[node.identity])
            }
        ),
        reasons=MappingProxyType(_reasons(columns, missing, manifest, window, memory, stored)),
    )


def _columns(graph: FeatureGraph, identities: Mapping[str, str]) -> dict[str, PlannedColumn]:
    labels: dict[str, list[str]] = {}
    nodes: dict[str, Node] = {}
    for (model, role), node in graph.outputs.items():
        identity = identities[node.identity]
        nodes[identity] = node
        labels.setdefault(identity, []).append(f"{model}.{role}")
    return {
        identity: PlannedColumn(identity, node, node.type, tuple(sorted(labels[identity])))
        for identity, node in sorted(nodes.items(), key=lambda item: item[0])
    }


def _reasons(
    columns: Mapping[str, PlannedColumn],
    missing: Mapping[str, Sequence[str]],
    manifest: Manifest,
    window: Window,
    memory: Memory,
    stored: Mapping[str, set[str]],
) -> dict[tuple[str, str], Reason]:
    entries = {entry.chunk: entry for entry in reversed(manifest.entries)}
    statistics = Statistics(manifest.dataset, window.generation)
    of_column: dict[str, Reason | None] = {}
    found: dict[tuple[str, str], Reason] = {}
    for chunk, identities in missing.items():
        of_chunk = memory.of_chunk(entries[chunk], computed=bool(stored[chunk]))
        for identity in identities:
            if identity not in of_column:
                column = columns[identity]
                seen = statistics if any(node.analyzer for node in walk([column.node])) else None
                wanted = StoredColumn(identity, column.node, column.labels, seen)
                of_column[identity] = memory.of_column(wanted)
            found[identity, chunk] = of_column[identity] or of_chunk
    return found
