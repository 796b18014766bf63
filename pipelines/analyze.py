"""Analyze: the statistics that plans lack, each computed once for all models, over the pinned window.

Level by level (an analyzer may read what another one found): of each chunk of the window, the columns that analyzers
read are computed and accumulated, all accumulators of a level in one pass; a partial result is kept per (accumulator,
chunk) and never computed again. References to partial results are grouped by accumulator; the partial results are
folded in the window's order, and every analyzer over that accumulator makes its asset of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import apache_beam as beam

from materialized.assets import has_asset, save_asset
from materialized.chunks import ChunkEntry
from materialized.partials import partial_chunks, read_partial, write_partial
from materialized.pins import Window
from materialized.plan import Plan
from materialized.store import Store
from pipelines.accumulators import accumulator
from pipelines.compute import Program
from pipelines.errors import PartialResultError
from pipelines.failures import FAILURES, FailingDoFn
from transforms import operators
from transforms.canonical import Value, digest
from transforms.nodes import Node


@dataclass(frozen=True)
class Accumulation:
    """What analyzers over one column share.

    Attributes:
      kind: which accumulator.
      version: of the accumulator.
      parameters: of the accumulator, sorted by name.
      column: identity of the column that is read.
    """

    kind: str
    version: int
    parameters: tuple[tuple[str, Value], ...]
    column: str

    @property
    def identity(self) -> str:
        """What partial results are kept under, besides the chunk."""
        parameters = dict(self.parameters)
        return digest({"kind": self.kind, "version": self.version, "parameters": parameters, "column": self.column})


@dataclass(frozen=True)
class Level:
    """Analyzers that can be computed together.

    Attributes:
      program: computes the columns that they read.
      accumulations: what is accumulated, by identity.
      analyzers: the analyzers over each accumulation, by its identity: (column identity, node parameters).
      window: the chunks that are seen, in order.
      present: references to partial results that the store has: (accumulation, chunk).
      tasks: what has to be accumulated.
    """

    program: Program
    accumulations: Mapping[str, Accumulation]
    analyzers: Mapping[str, tuple[tuple[str, Mapping[str, Value]], ...]]
    window: Window
    present: tuple[tuple[str, str], ...]
    tasks: tuple[AnalyzeTask, ...]


@dataclass(frozen=True)
class AnalyzeTask:
    """A chunk, and identities of the accumulations that lack it."""

    entry: ChunkEntry
    accumulations: tuple[str, ...]


def accumulation(node: Node, identities: Mapping[str, str]) -> Accumulation:
    """What an analyzer's node accumulates. ``identities``: column identity by node identity."""
    operator = operators.find(node.operator)
    if not isinstance(operator, operators.Analyzer):
        raise TypeError(f"{node.operator} is no analyzer")
    kind, version, parameters = operator.accumulator(node.parameters)
    return Accumulation(kind, version, tuple(sorted(parameters.items())), identities[node.inputs[0].identity])


def levels(plan: Plan, store: Store) -> tuple[Level, ...]:
    """What has to be done for the assets that ``plan`` lacks.

    Raises:
      PartialResultError: a chunk of the window is no longer in the log, and not all was accumulated while it was.
    """
    found = []
    for nodes in plan.graph.analyzer_levels():
        missing = [node for node in nodes if plan.identities[node.identity] in plan.missing_assets]
        if missing:
            found.append(_level(plan, store, missing))
    return tuple(found)


def _level(plan: Plan, store: Store, nodes: list[Node]) -> Level:
    accumulations: dict[str, Accumulation] = {}
    columns: dict[str, Node] = {}
    analyzers: dict[str, tuple[tuple[str, Mapping[str, Value]], ...]] = {}
    for node in nodes:
        found = accumulation(node, plan.identities)
        accumulations[found.identity] = found
        columns[found.column] = node.inputs[0]
        mine = (plan.identities[node.identity], dict(node.parameters))
        analyzers[found.identity] = (*analyzers.get(found.identity, ()), mine)
    have = {identity: partial_chunks(store, identity) for identity in accumulations}
    chunks = tuple(dict.fromkeys(plan.window.chunks))
    entries = {entry.chunk: entry for entry in reversed(plan.manifest.entries)}
    tasks = []
    for chunk in chunks:
        lacking = tuple(identity for identity in sorted(accumulations) if chunk not in have[identity])
        if lacking and chunk not in entries:
            raise PartialResultError(
                f"window {plan.window.generation} of dataset {plan.dataset.name!r} has a chunk that the log no longer "
                f"has, {chunk}, and new statistics need it; pin a new window with --refresh"
            )
        if lacking:
            tasks.append(AnalyzeTask(entries[chunk], lacking))
    return Level(
        program=Program.of(store, columns, plan.identities),
        accumulations=accumulations,
        analyzers=analyzers,
        window=plan.window,
        present=tuple((identity, chunk) for identity in sorted(have) for chunk in chunks if chunk in have[identity]),
        tasks=tuple(tasks),
    )


@dataclass(frozen=True)
class Analyzed:
    """PCollections: (accumulation, chunk) that were accumulated, identities of assets, and failures."""

    partials: Any
    assets: Any
    failures: Any


def analyze(pipeline: beam.Pipeline, todo: Iterable[Level], store: Store) -> Analyzed:
    """Adds the computation of ``todo`` to a pipeline, each level after the one before it."""
    partials, assets, failures = [], [], []
    barrier: list[Any] = []
    for number, level in enumerate(todo):
        with_name = f"level {number}: "
        counted = (
            pipeline
            | with_name + "chunks" >> beam.Create(level.tasks)
            | with_name + "spread" >> beam.Reshuffle()
            | with_name + "accumulate"
            >> beam.ParDo(_Accumulate(level), *map(beam.pvalue.AsIter, barrier)).with_outputs(FAILURES, main="done")
        )
        present = pipeline | with_name + "present" >> beam.Create(level.present)
        folded = (
            (counted.done, present)
            | with_name + "all" >> beam.Flatten()
            | with_name + "by accumulator" >> beam.GroupByKey()
            | with_name + "fold" >> beam.ParDo(_Fold(level)).with_outputs(FAILURES, main="assets")
        )
        partials.append(counted.done)
        assets.append(folded.assets)
        failures += [counted[FAILURES], folded[FAILURES]]
        barrier = [folded.assets]
    return Analyzed(
        partials | "partials" >> beam.Flatten(pipeline=pipeline),
        assets | "assets" >> beam.Flatten(pipeline=pipeline),
        failures | "analyze failures" >> beam.Flatten(pipeline=pipeline),
    )


class _Accumulate(FailingDoFn):
    def __init__(self, level: Level) -> None:
        self._program = level.program
        self._accumulations = level.accumulations

    def results(self, element: AnalyzeTask) -> Iterator[tuple[str, str]]:
        store = self._program.store
        wanted = [self._accumulations[identity] for identity in element.accumulations]
        program = self._program.only(frozenset(each.column for each in wanted))
        if not all(has_asset(store, asset) for _, asset in program.assets):
            return  # an earlier level failed, and has said so
        table = program.compute(element.entry)
        for each in wanted:
            data = accumulator(each.kind, each.version, dict(each.parameters)).partial(table.column(each.column))
            write_partial(store, each.identity, element.entry.chunk, data)
            yield each.identity, element.entry.chunk


class _Fold(FailingDoFn):
    def __init__(self, level: Level) -> None:
        self._store = level.program.store
        self._accumulations = level.accumulations
        self._analyzers = level.analyzers
        self._window = level.window

    def results(self, element: tuple[str, Iterable[str]]) -> Iterator[str]:
        identity, chunks = element
        if not set(self._window.chunks).issubset(chunks):
            return  # a chunk failed, and has said so
        each = self._accumulations[identity]
        counter = accumulator(each.kind, each.version, dict(each.parameters))
        folded = counter.fold(self._partial(identity, chunk) for chunk in self._window.chunks)
        for asset, parameters in self._analyzers[identity]:
            save_asset(self._store, asset, counter.asset(folded, parameters), self._window)
            yield asset

    def _partial(self, identity: str, chunk: str) -> bytes:
        data = read_partial(self._store, identity, chunk)
        if data is None:
            raise PartialResultError(f"{self._store.path}: the partial result {identity} of chunk {chunk} is gone")
        return data
