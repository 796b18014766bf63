"""From a plan to what the trainer needs: a model's definition with all sizes, and its setup in words.

Tables get as many rows as their features can have ids, which for a vocabulary is known only when it is computed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from materialized.assets import load_asset
from materialized.chunk_header import BLOCK_ROWS
from materialized.plan import Plan
from materialized.store import Store
from trainer.errors import TableError
from trainer.model import Definition
from trainer.tables import Lookup, Table
from transforms import operators
from transforms.assets import Asset
from transforms.binding import BoundModel
from transforms.canonical import digest
from transforms.nodes import Node, walk
from transforms.specs import Adagrad, DenseFeature, IdFeature
from transforms.types import Shape

MODEL_SETUP = ("model", "features", "tables", "network")
"""What of a setup a checkpoint must share to be loaded; to go on training, it must share all."""


def bound_model(plan: Plan, name: str) -> BoundModel:
    """The model called ``name``. Raises KeyError where the plan has none."""
    return {model.name: model for model in plan.models}[name]


def define(plan: Plan, name: str, store: Store) -> Definition:
    """What the model called ``name`` consists of.

    Raises:
      NotMaterializedError: a vocabulary that a table's size depends on is not in the store.
      TableError: a table has fewer rows than its features have ids, or nothing says how many it needs.
    """
    model = bound_model(plan, name)
    spec = model.spec
    lookups, dense = [], {}
    for feature, written in spec.features.items():
        kind = model.features[feature].type
        if isinstance(written, IdFeature):
            lookups.append(Lookup(feature, written.table, written.combiner, kind.shape is Shape.RAGGED))
        else:
            dense[feature] = kind.width or 1
    spaces = _id_spaces(plan, model, store)
    tables = []
    for table, sizes in spec.tables.items():
        needed = {lookup.feature: spaces[lookup.feature] for lookup in lookups if lookup.table == table}
        if needed:
            rows = _rows(name, table, sizes.rows, needed)
            tables.append(Table(table, rows, sizes.dim, sizes.optimizer or Adagrad()))
    return Definition(name, tuple(tables), tuple(lookups), dense, spec.network, spec.train)


def _id_spaces(plan: Plan, model: BoundModel, store: Store) -> Mapping[str, int | None]:
    """How many ids each id feature can have."""
    nodes = {
        name: node for name, node in model.features.items() if not isinstance(model.spec.features[name], DenseFeature)
    }
    assets = load_assets(nodes.values(), plan, store)
    return {name: operators.id_space(node, assets) for name, node in nodes.items()}


def load_assets(nodes: Iterable[Node], plan: Plan, store: Store) -> dict[str, Asset]:
    """What analyzers found for ``nodes``, by the analyzer node's identity.

    Raises:
      NotMaterializedError: something has not been computed.
    """
    analyzers = [node for node in walk(list(nodes)) if node.analyzer]
    return {node.identity: load_asset(store, plan.identities[node.identity]).asset for node in analyzers}


def _rows(model: str, table: str, given: int | None, needed: Mapping[str, int | None]) -> int:
    spaces = [space for space in needed.values() if space is not None]
    if given is None and len(spaces) < len(needed):
        unknown = ", ".join(feature for feature, space in needed.items() if space is None)
        raise TableError(f"model {model}: nothing says how many rows table {table} needs for {unknown}; give it `rows`")
    if given is not None and max(spaces, default=0) > given:
        feature = max((name for name, space in needed.items() if space is not None), key=lambda name: needed[name] or 0)
        raise TableError(
            f"model {model}: table {table} has {given} rows, and feature {feature} has {needed[feature]} different ids"
        )
    return max(given or 0, *spaces, 1)


def setup_of(plan: Plan, name: str, definition: Definition) -> dict[str, str]:
    """What a training is, in words that tell two of them apart: a checkpoint goes on only where all are the same."""
    model = bound_model(plan, name)
    train = definition.train
    columns = {role: plan.column(name, role).identity for role in model.outputs()}
    others = {role: identity for role, identity in columns.items() if not role.startswith("feature.")}
    described = {lookup.feature: f"{lookup.combiner} of {lookup.table}" for lookup in definition.lookups} | {
        feature: f"dense[{width}]" for feature, width in definition.dense.items()
    }
    features = [f"{feature} ({text}, {columns[f'feature.{feature}'][:12]})" for feature, text in described.items()]
    chunks = [entry.chunk for entry in plan.manifest.entries]
    return {
        "model": name,
        "features": ", ".join(sorted(features)),
        "tables": ", ".join(sorted(f"{table} by {table.optimizer}" for table in definition.tables)),
        "network": str(definition.network),
        "dense optimizer": str(train.optimizer),
        "seed": str(train.seed),
        "batches": f"of {train.batch_size}, remainder {'dropped' if train.drop_remainder else 'kept'}",
        "order": f"{'shuffled' if train.shuffle else 'as logged'}, in blocks of {BLOCK_ROWS} rows",
        "held out": str(train.evaluate),
        "label, weight and filter": ", ".join(f"{role} {identity[:12]}" for role, identity in sorted(others.items())),
        "data": f"{len(chunks)} chunks of {plan.dataset.name}, digest {digest(chunks)[:12]}",
    }
