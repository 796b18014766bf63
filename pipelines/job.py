"""The job behind `forebay materialize`: ingest, pin, analyze, materialize, each only where something lacks.

Every step looks at the store and does what is missing, so a job that died is simply run again. This module decides
what is done; how, is in `pipelines.ingest`, `pipelines.analyze` and `pipelines.materialize`. Beam and TensorFlow are
imported only by the steps that have something to do.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console

from materialized import layout
from materialized.chunk_files import CODECS
from materialized.chunks import Manifest, write_manifest
from materialized.labels import check_labels
from materialized.pins import Window, current_window, next_generation, pin, pinned_window, proposed_window
from materialized.plan import Plan, make_plan
from materialized.sources import current_manifest, raw_schema, with_ingested
from materialized.store import Store
from pipelines.progress import Goal, watched
from transforms.binding import BoundModel
from transforms.specs import DatasetSpec


@dataclass(frozen=True)
class Summary:
    """What a job did.

    Attributes:
      plan: what was missing when columns were about to be computed.
      after: the same plan when all was done: nothing is missing.
      ingested: number of text files that were ingested.
      bad_values: number of values of the log that could not be read and became null, by raw column.
      statistics: number of assets that were computed.
      partials: number of (accumulator, chunk) that were computed for them.
      files: number of chunk files that were written.
      seconds: how long each step took, by name.
      cpu_seconds: CPU time of each step, that of processes which it started and which have ended included.
    """

    plan: Plan
    after: Plan
    ingested: int
    bad_values: Mapping[str, int]
    statistics: int
    partials: int
    files: int
    seconds: Mapping[str, float] = field(default_factory=dict)
    cpu_seconds: Mapping[str, float] = field(default_factory=dict)


def would_be_pinned(dataset: DatasetSpec, manifest: Manifest, store: Store | None, refresh: bool) -> Window:
    """The window over which a job would compute statistics; pins nothing.

    Args:
      dataset: the dataset.
      manifest: its chunks.
      store: the store, or None where there is none yet.
      refresh: whether a new generation is wanted.
    """
    pinned = None if store is None else pinned_window(store, dataset)
    if pinned is None or not refresh:
        return current_window(store, dataset, manifest)
    proposed = proposed_window(dataset, manifest, pinned.generation + 1)
    return pinned if proposed.chunks == pinned.chunks else proposed


def run(
    models: Sequence[BoundModel],
    dataset: DatasetSpec,
    store: Store,
    options: Any = None,
    *,
    format: str = "parquet",
    refresh: bool = False,
    console: Console | None = None,
) -> Summary:
    """Computes whatever ``models`` ask for and ``store`` lacks.

    Args:
      models: the bound models.
      dataset: the log that they are bound to.
      store: where columns are kept; must be writable.
      options: `pipelines.runner.RunnerOptions`; None runs in this process.
      format: of chunk files, a key of `materialized.chunk_files.CODECS`.
      refresh: whether statistics are computed over a newly pinned window.
      console: where progress is shown.

    Returns:
      What was done.

    Raises:
      InputError: the log, or a model's labels, are wrong; nothing half-written is left.
      ForebayError: something else that was foreseen went wrong.
    """
    if format not in CODECS:
        raise ValueError(f"expected a format among {', '.join(CODECS)}, got {format!r}")
    store.require_writable()
    watch = _Stopwatch()
    manifest = current_manifest(dataset, store)
    with watch("ingest"):
        ingested = _ingest(dataset, manifest, store, options, console)
        manifest = with_ingested(manifest, store, dataset)
    window = would_be_pinned(dataset, manifest, store, refresh)
    plan = make_plan(models, dataset, manifest, store, window)
    if any(node.analyzer for node in plan.graph.nodes):
        pinned = next_generation(store, dataset, manifest) if refresh else pin(store, dataset, window)
        if pinned.chunks != window.chunks:  # another process was first
            plan = make_plan(models, dataset, manifest, store, pinned)
    with watch("statistics"):
        partials = _analyze(plan, store, options, console)
    with watch("columns"):
        files = _materialize(plan, store, options, format, console)
    for model in plan.models:
        columns = {role: plan.column(model.name, role) for role in model.outputs()}
        check_labels(
            store,
            manifest.entries,
            {role: (column.identity, column.type) for role, column in columns.items()},
            model.name,
        )
    write_manifest(store, manifest)
    after = make_plan(models, dataset, manifest, store, plan.window)
    return Summary(
        plan=plan,
        after=after,
        ingested=ingested,
        bad_values=_bad_values(dataset, store, manifest),
        statistics=len(plan.missing_assets),
        partials=partials,
        files=files,
        seconds=watch.seconds,
        cpu_seconds=watch.cpu_seconds,
    )


class _Stopwatch:
    """Measures steps by name."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.cpu_seconds: dict[str, float] = {}

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        start, cpu = time.monotonic(), _cpu_seconds()
        yield
        self.seconds[name] = time.monotonic() - start
        self.cpu_seconds[name] = _cpu_seconds() - cpu


def _cpu_seconds() -> float:
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def _bad_values(dataset: DatasetSpec, store: Store, manifest: Manifest) -> Mapping[str, int]:
    if dataset.format == "parquet":
        return {}
    from pipelines.raw_chunks import bad_values

    return bad_values(store, manifest)


def _ingest(dataset: DatasetSpec, manifest: Manifest, store: Store, options: Any, console: Console | None) -> int:
    if dataset.format == "parquet":
        return 0
    from pipelines.raw_chunks import ingest_tasks

    tasks = ingest_tasks(manifest, store)
    if not tasks:
        return 0
    import apache_beam as beam

    from pipelines.failures import FAILURES
    from pipelines.ingest import Ingest
    from pipelines.runner import RunnerOptions, run_job

    goals = [Goal(tuple(layout.raw_chunk(entry.chunk) for entry in task.entries)) for task in tasks]
    work = Ingest(store, dataset.format, raw_schema(dataset))
    with watched("ingest", "files", goals, store, "", console):
        run_job(
            lambda pipeline: (pipeline | beam.Create(tasks) | "ingest" >> work)[FAILURES], options or RunnerOptions()
        )
    return len(tasks)


def _analyze(plan: Plan, store: Store, options: Any, console: Console | None) -> int:
    if not plan.missing_assets:
        return 0
    from pipelines.analyze import analyze, levels
    from pipelines.runner import RunnerOptions, run_job

    todo = levels(plan, store)
    goals = [
        Goal(tuple(layout.partial(each, task.entry.chunk) for each in task.accumulations), task.entry.rows or 0)
        for level in todo
        for task in level.tasks
    ]
    with watched("statistics", "chunks", goals, store, "", console):
        run_job(lambda pipeline: analyze(pipeline, todo, store).failures, options or RunnerOptions())
    return sum(len(task.accumulations) for level in todo for task in level.tasks)


def _materialize(plan: Plan, store: Store, options: Any, format: str, console: Console | None) -> int:
    if not plan.missing:
        return 0
    from pipelines.failures import FAILURES
    from pipelines.materialize import Materialize, materialize_tasks
    from pipelines.runner import RunnerOptions, run_job

    tasks, _ = materialize_tasks(plan)
    suffix = CODECS[format].suffix
    goals = [
        Goal(tuple(layout.chunk_file(task.entry.chunk, group, suffix) for group in task.groups), task.entry.rows or 0)
        for task in tasks
    ]
    note = f"hits {plan.hits.rate:.1%}"
    work = Materialize(plan, store, format)
    with watched("columns", "chunks", goals, store, note, console):
        run_job(lambda pipeline: (pipeline | "materialize" >> work)[FAILURES], options or RunnerOptions())
    return sum(len(task.groups) for task in tasks)
