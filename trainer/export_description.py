"""What an export says about itself, for people and for programs that make requests: ``assets.extra/forebay.json``.

Plain values only; nothing reads it at serving time.
"""

from __future__ import annotations

import importlib.metadata
from typing import Any

import keras
import tensorflow as tf

from materialized.plan import Plan
from trainer.export_inputs import Input
from trainer.served_model import (
    EXAMPLE_FEATURES,
    EXAMPLES,
    FEATURES,
    LENGTHS,
    LOGIT,
    PREDICTION,
    SERVING,
    ServedModel,
)
from trainer.training import TrainedModel
from transforms.nodes import walk
from transforms.types import ColumnType, Shape

FORMAT = 1
"""Version of the description's own layout."""


def describe(served: ServedModel, trained: TrainedModel, plan: Plan) -> dict[str, Any]:
    """The description of an export.

    Args:
      served: what is exported.
      trained: the model.
      plan: a plan that has it; it knows the identities of columns.
    """
    bound, definition = trained.bound, trained.model.definition
    lookups = {lookup.feature: lookup for lookup in definition.lookups}
    features = {}
    for name, node in bound.features.items():
        lookup = lookups.get(name)
        use = {"dense": True} if lookup is None else {"table": lookup.table, "combiner": lookup.combiner}
        identity = plan.column(bound.name, f"feature.{name}").identity
        features[name] = {"type": str(node.type), **use, "column": identity, "outputs": _outputs(name, node.type)}
    return {
        "format": FORMAT,
        "model": bound.name,
        "trained": {"steps": trained.progress.step, "examples": trained.progress.examples},
        "signatures": {
            SERVING: {"takes": "tensors", "gives": [PREDICTION, LOGIT]},
            EXAMPLES: {"takes": "examples", "gives": [PREDICTION, LOGIT]},
            FEATURES: {"takes": "tensors", "gives": "features"},
            EXAMPLE_FEATURES: {"takes": "examples", "gives": "features"},
        },
        "outputs": {
            PREDICTION: {"dtype": "float32", "shape": ["batch"], "is": "the probability that the label is 1"},
            LOGIT: {"dtype": "float32", "shape": ["batch"], "is": "its logarithmic odds"},
        },
        "inputs": [_input(entry) for entry in served.inputs],
        "features": features,
        "tables": {table.name: {"rows": table.rows, "dim": table.dim} for table in definition.tables},
        "statistics": {
            "dataset": plan.dataset.name,
            "generation": plan.window.generation,
            "window": plan.window.identity,
            "analyzers": sorted(
                plan.identities[node.identity] for node in walk(list(bound.features.values())) if node.analyzer
            ),
        },
        "versions": {
            "forebay": _version("forebay"),
            "tensorflow": str(tf.__version__),
            "keras": str(keras.__version__),
        },
    }


def _input(entry: Input) -> dict[str, Any]:
    tensors = {
        name: {"dtype": spec.dtype.name, "shape": ["batch", *("longest" for _ in spec.shape[1:])]}
        for name, spec in entry.specs().items()
    }
    feature: dict[str, Any] = {"name": entry.column, "dtype": entry.example_dtype.name}
    if entry.exact is not None:
        feature["exact"] = {
            "name": entry.exact,
            "dtype": "string",
            "is": "little-endian doubles, 8 bytes each",
        }
    if entry.is_list:
        missing = {"tensors": f"{entry.companion} is 0", "examples": "no such feature, or one without values"}
    elif entry.type.nullable:
        missing = {"tensors": f"{entry.companion} is false", "examples": "no such feature, or one without values"}
    else:
        missing = None
    return {
        "column": entry.column,
        "type": str(entry.type),
        "tensors": tensors,
        "example": feature,
        "null": missing,
    }


def _outputs(name: str, column: ColumnType) -> list[str]:
    return [name, name + LENGTHS] if column.shape is Shape.RAGGED else [name]


def _version(distribution: str) -> str | None:
    """Its version, or None where it runs from a checkout without being installed."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None
