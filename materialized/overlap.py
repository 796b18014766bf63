"""A warning where statistics have seen rows on which a model is evaluated."""

from __future__ import annotations

from typing import TYPE_CHECKING

from materialized.chunks import Manifest
from materialized.pins import Window
from transforms.nodes import walk
from transforms.specs import DatasetSpec, EvaluateChunks, EvaluateTime
from transforms.splits import since_number

if TYPE_CHECKING:
    from transforms.binding import BoundModel


def overlap(model: BoundModel, dataset: DatasetSpec, manifest: Manifest, window: Window) -> str | None:
    """The warning about ``model``, or None where its statistics and its evaluation have no chunk in common.

    Splits by hash hold out rows of every chunk, on purpose; nothing is said about them.
    """
    evaluate = model.spec.train.evaluate
    if evaluate is None or not any(node.analyzer for node in walk(list(model.outputs().values()))):
        return None
    if isinstance(evaluate, EvaluateChunks):
        held_out = {entry.chunk for entry in manifest.slice(evaluate.chunks)}
        by = f"chunks {evaluate.chunks!r}"
    elif isinstance(evaluate, EvaluateTime) and (since := since_number(evaluate)) is not None:
        # Where a file does not say its times, nothing is known, and nothing is claimed.
        held_out = {
            entry.chunk
            for entry in manifest.entries
            if entry.time_range is not None
            and isinstance(entry.time_range[1], int | float)
            and entry.time_range[1] >= since
        }
        by = f"time since {evaluate.since}"
    else:
        return None
    seen = held_out.intersection(window.chunks)
    if not seen:
        return None
    return (
        f"model {model.name!r} is evaluated on chunks that its statistics have seen: {len(seen)} of {len(held_out)} "
        f"(evaluate: {by}; statistics of {dataset.name!r}: {dataset.statistics!r}, generation {window.generation})"
    )
