"""Rows to check an export with: raw, and as they were materialized."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from materialized.chunk_files import ChunkColumns
from materialized.chunks import ChunkEntry
from materialized.inventory import Inventory
from materialized.plan import Plan
from materialized.raw_rows import read_raw
from materialized.store import Store
from trainer.errors import ExportError
from trainer.export_inputs import Input, inputs_of
from transforms.arrow_values import to_value
from transforms.binding import BoundModel
from transforms.nodes import walk
from transforms.types import ColumnType
from transforms.values import Value

CHUNKS = 8
"""Rows come from at most so many chunks, spread over the log."""


@dataclass(frozen=True)
class Sample:
    """Rows of the log, raw and as they were materialized.

    Attributes:
      inputs: how requests give the raw columns.
      rows: how many.
      distinct: how many different rows of the log they are.
      columns: raw columns, by name.
      features: features, by name.
    """

    inputs: tuple[Input, ...]
    rows: int
    distinct: int
    columns: Mapping[str, Value]
    features: Mapping[str, Value]


def sample_rows(bound: BoundModel, plan: Plan, store: Store, rows: int) -> Sample:
    """Rows from all over the log, in a fixed random order, repeated where the log has fewer.

    Args:
      bound: the model.
      plan: a plan that has it.
      store: where materialized columns are.
      rows: how many.

    Raises:
      ExportError: the log has no rows.
    """
    inputs = {node.column: node.type for node in walk(list(bound.features.values())) if node.is_raw}
    planned = {name: plan.column(bound.name, f"feature.{name}") for name in bound.features}
    types = {column.identity: column.type for column in planned.values()}
    inventory = Inventory(store)
    raw, materialized, found = [], [], 0
    for entry, chunk, wanted in _spread(plan, store, types, inventory, rows):
        raw.append(read_raw(store, entry, inputs).slice(0, wanted))
        materialized.append(chunk.read(range(wanted)))
        found += wanted
    if not found:
        raise ExportError(f"the log {plan.dataset.name!r} has no rows to check the export of {bound.name} with")
    order = pa.array(np.random.default_rng(0).permutation(rows) % found)
    raw_rows = pa.concat_tables(raw).take(order)
    feature_rows = pa.concat_tables(materialized).take(order)
    return Sample(
        inputs_of(inputs),
        rows,
        found,
        {name: to_value(raw_rows[name], column) for name, column in inputs.items()},
        {name: to_value(feature_rows[column.identity], column.type) for name, column in planned.items()},
    )


def _spread(
    plan: Plan, store: Store, types: Mapping[str, ColumnType], inventory: Inventory, rows: int
) -> Iterator[tuple[ChunkEntry, ChunkColumns, int]]:
    """Chunks from all over the log, and how many rows to take of each to have about ``rows``."""
    entries = plan.manifest.entries
    places = sorted({number * len(entries) // CHUNKS for number in range(CHUNKS)}) if entries else []
    chosen = [entries[place] for place in places]
    chunks = [(entry, ChunkColumns(store, entry.chunk, types, inventory)) for entry in chosen]
    left = rows
    for place, (entry, chunk) in enumerate(sorted(chunks, key=lambda pair: pair[1].rows)):
        wanted = min(chunk.rows, -(-left // (len(chunks) - place)))
        left -= wanted
        if wanted:
            yield entry, chunk, wanted
