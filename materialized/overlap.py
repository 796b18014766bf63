"""Warnings about what a model is evaluated on: rows that its statistics have seen, or none at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from materialized.chunks import ChunkEntry, Manifest
from materialized.pins import Window
from transforms.nodes import walk
from transforms.specs import DatasetSpec, Evaluate, EvaluateChunks, EvaluateTime
from transforms.splits import since_number, written

if TYPE_CHECKING:
    from transforms.binding import BoundModel


def overlap(model: BoundModel, dataset: DatasetSpec, manifest: Manifest, window: Window) -> str | None:
    """The warning about ``model``, or None where its statistics and its evaluation have no chunk in common.

    Splits by hash hold out rows of every chunk, on purpose; nothing is said about them.
    """
    evaluate = model.spec.train.evaluate
    if not any(node.analyzer for node in walk(list(model.outputs().values()))):
        return None
    held_out = {entry.chunk for entry in _held_out(evaluate, manifest, unknown=False)}
    seen = held_out.intersection(window.chunks)
    if not seen:
        return None
    return (
        f"model {model.name!r} is evaluated on chunks that its statistics have seen: {len(seen)} of {len(held_out)} "
        f"(evaluate: {written(evaluate)}; statistics of {dataset.name!r}: {dataset.statistics!r}, "
        f"generation {window.generation})"
    )


def nothing_held_out(model: BoundModel, manifest: Manifest) -> str | None:
    """The warning about ``model`` where no chunk has a row that its split by chunks or by time holds out, else None."""
    evaluate = model.spec.train.evaluate
    if not isinstance(evaluate, EvaluateChunks | EvaluateTime) or _held_out(evaluate, manifest, unknown=True):
        return None
    return (
        f"model {model.name!r} is evaluated on nothing: of the log's chunks ({len(manifest.entries)}) none is held out "
        f"(evaluate: {written(evaluate)})"
    )


def _held_out(evaluate: Evaluate | None, manifest: Manifest, unknown: bool) -> tuple[ChunkEntry, ...]:
    """The chunks that a split by chunks or by time holds out, if only in part.

    Where a file does not say its times, nothing is known: ``unknown`` says whether it is taken for held out.
    """
    if isinstance(evaluate, EvaluateChunks):
        return tuple(manifest.slice(evaluate.chunks))
    if not isinstance(evaluate, EvaluateTime):
        return ()
    since = since_number(evaluate)

    def is_held_out(entry: ChunkEntry) -> bool:
        latest = None if entry.time_range is None else entry.time_range[1]
        if since is None or not isinstance(latest, int | float):
            return unknown
        return latest >= since

    return tuple(entry for entry in manifest.entries if is_held_out(entry))
