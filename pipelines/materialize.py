"""Materialize: the columns that chunks lack, each computed once for all models.

A task is a chunk with the write groups that it lacks. All columns of a task are computed together, from raw columns
that are read once; then each group is committed as one file. A job that dies leaves whole files or none, so that the
next plan asks only for what is still missing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import apache_beam as beam

from materialized.chunk_files import write_chunk
from materialized.chunks import ChunkEntry
from materialized.groups import GroupDescriptor
from materialized.plan import Plan
from materialized.store import Store
from pipelines.compute import Program
from pipelines.failures import FAILURES, FailingDoFn


@dataclass(frozen=True)
class MaterializeTask:
    """A chunk, and the write groups to compute for it, by their digests."""

    entry: ChunkEntry
    groups: tuple[str, ...]


@dataclass(frozen=True)
class MaterializedGroup:
    """A file that was written: the group's digest, the chunk, and its number of rows."""

    group: str
    chunk: str
    rows: int


def materialize_tasks(plan: Plan) -> tuple[tuple[MaterializeTask, ...], dict[str, GroupDescriptor]]:
    """A task per chunk that lacks something, and the descriptors of all groups, by digest."""
    entries = {entry.chunk: entry for entry in reversed(plan.manifest.entries)}
    descriptors: dict[tuple[str, ...], GroupDescriptor] = {}
    tasks = []
    for chunk in plan.missing:
        groups = plan.groups_for(chunk)
        for group in groups:
            if group not in descriptors:
                descriptors[group] = plan.descriptor(group)
        tasks.append(MaterializeTask(entries[chunk], tuple(descriptors[group].group for group in groups)))
    return tuple(tasks), {descriptor.group: descriptor for descriptor in descriptors.values()}


class Materialize(beam.PTransform):
    """From `MaterializeTask` to `MaterializedGroup`, and what failed on the output `FAILURES`.

    Args:
      plan: what to compute; only what is missing is sent to workers.
      store: where to.
      format: of the files, a key of `materialized.chunk_files.CODECS`.
    """

    def __init__(self, plan: Plan, store: Store, format: str) -> None:
        super().__init__()
        self._tasks, descriptors = materialize_tasks(plan)
        wanted = {column.identity for descriptor in descriptors.values() for column in descriptor.columns}
        nodes = {identity: plan.columns[identity].node for identity in wanted}
        self._work = _MaterializeChunk(Program.of(store, nodes, plan.identities), descriptors, format)

    def expand(self, begin: Any) -> Any:
        return (
            begin
            | "chunks that lack columns" >> beam.Create(self._tasks)
            | "spread" >> beam.Reshuffle()
            | "compute" >> beam.ParDo(self._work).with_outputs(FAILURES, main="groups")
        )


class _MaterializeChunk(FailingDoFn):
    def __init__(self, program: Program, descriptors: dict[str, GroupDescriptor], format: str) -> None:
        self._program = program
        self._descriptors = descriptors
        self._format = format

    def results(self, element: MaterializeTask) -> Iterator[MaterializedGroup]:
        descriptors = [self._descriptors[group] for group in element.groups]
        columns = frozenset(column.identity for each in descriptors for column in each.columns)
        table = self._program.only(columns).compute(element.entry)
        for each in descriptors:
            part = table.select([column.identity for column in each.columns])
            write_chunk(self._program.store, element.entry.chunk, each, part, self._format)
            yield MaterializedGroup(each.group, element.entry.chunk, table.num_rows)
