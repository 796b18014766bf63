"""The figures of a plan that tables, page and JSON show alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from forebay.wording import count
from materialized.plan import Plan
from transforms.difference import Reason
from transforms.graph import FeatureGraph, is_boundary


@dataclass(frozen=True)
class Row:
    """Figures of one model, or of all together.

    Attributes:
      name: the model's name, or what stands for all.
      features: features that specs write; label, weight, filter and split are not among them.
      nodes: nodes of the graph, raw columns and literals included.
      components: components that it uses.
      columns: distinct columns that it asks for: features, label, weight, filter, split.
      requested: (model, column, chunk) triples.
      missing: (column, chunk) pairs that are not stored, each once.
    """

    name: str
    features: int
    nodes: int
    components: int
    columns: int
    requested: int
    missing: int

    @property
    def rate(self) -> float:
        """(requested − missing) ÷ requested."""
        return (self.requested - self.missing) / self.requested if self.requested else 1.0


@dataclass(frozen=True)
class Summary:
    """Figures of a plan.

    Attributes:
      models: one row a model, by name.
      total: all models together: what they share counts once, except in `features` and `requested`.
      nodes_before: nodes of all models, each by itself.
      sentence: dataset, chunks and window, for people.
    """

    models: tuple[Row, ...]
    total: Row
    nodes_before: int
    sentence: str

    @classmethod
    def of(cls, plan: Plan) -> Summary:
        """The figures of ``plan``."""
        chunks = len(plan.manifest.chunks)
        rows = tuple(_row(plan, model, chunks) for model in plan.graph.models)
        total = Row(
            name=f"{count(len(rows), 'model')} merged",
            features=sum(row.features for row in rows),
            nodes=len(plan.graph),
            components=len(plan.graph.components()),
            columns=len(plan.columns),
            requested=plan.hits.requested,
            missing=plan.hits.computed,
        )
        sentence = f"{count(len(rows), 'model')} over {plan.dataset.name}: {count(chunks, 'chunk')}"
        if any(node.analyzer for node in plan.graph.nodes):
            analyzers = sum(node.analyzer for node in plan.graph.nodes)
            sentence += (
                f"; {count(analyzers, 'statistic')} ({analyzers - len(plan.missing_assets)} there) over "
                f"{count(len(set(plan.window.chunks)), 'chunk')}, window generation {plan.window.generation}"
            )
        return cls(rows, total, sum(row.nodes for row in rows), sentence)


def _row(plan: Plan, model: str, chunks: int) -> Row:
    columns = plan.columns_of(model)
    return Row(
        name=model,
        features=sum(name == model and role.startswith("feature.") for name, role, _ in plan.requested),
        nodes=len(plan.graph.model_nodes(model)),
        components=sum(model in part.models for part in plan.graph.components()),
        columns=len(columns),
        requested=len(columns) * chunks,
        missing=plan.missing_of(model),
    )


def sharing(graph: FeatureGraph) -> Mapping[int, int]:
    """How many nodes, boundaries aside, are used by how many models: number of nodes by number of models."""
    found: dict[int, int] = {}
    for node in graph.nodes:
        if not is_boundary(node):
            users = len(graph.models_of(node.identity))
            found[users] = found.get(users, 0) + 1
    return dict(sorted(found.items(), reverse=True))


def reasons_of(plan: Plan) -> Mapping[str, Sequence[tuple[Reason, int]]]:
    """Of each column, why it is missing and in how many chunks, by column identity."""
    found: dict[str, dict[Reason, int]] = {}
    for (column, _), reason in plan.reasons.items():
        reasons = found.setdefault(column, {})
        reasons[reason] = reasons.get(reason, 0) + 1
    return {column: tuple(reasons.items()) for column, reasons in found.items()}


@dataclass(frozen=True)
class Group:
    """Columns that are missing for one reason, and the chunks in which they are."""

    reason: Reason
    columns: tuple[str, ...]
    chunks: tuple[str, ...]


def grouped_reasons(plan: Plan) -> tuple[Group, ...]:
    """What is missing, grouped by reason; chunks in manifest order, those first that concern most."""
    columns: dict[Reason, dict[str, None]] = {}
    chunks: dict[Reason, dict[str, None]] = {}
    for (column, chunk), reason in plan.reasons.items():
        columns.setdefault(reason, {})[column] = None
        chunks.setdefault(reason, {})[chunk] = None
    groups = (Group(reason, tuple(sorted(found)), tuple(chunks[reason])) for reason, found in columns.items())
    return tuple(sorted(groups, key=lambda group: (-len(group.columns) * len(group.chunks), str(group.reason))))
