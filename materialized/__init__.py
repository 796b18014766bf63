"""What has been computed: the store, chunk files, windows, plans and the in-process reader.

Public: the `Store`, a log's columns and chunks (`raw_schema`, `current_manifest`), what models ask for and a store has
(`make_plan`), materialized columns as an Arrow table (`read_columns`) and a model's rows as a ``tf.data.Dataset``
(`Reader`). Errors are in `materialized.errors`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from transforms.public import names_of

if TYPE_CHECKING:
    from materialized.chunk_files import read_columns
    from materialized.chunks import ChunkEntry, Manifest
    from materialized.delivery import Position
    from materialized.pins import Window
    from materialized.plan import Plan, PlannedColumn, make_plan
    from materialized.reader import Batch, Reader
    from materialized.sources import current_manifest, raw_schema, unsupported_columns
    from materialized.store import Store
else:
    __getattr__, __dir__ = names_of(
        __name__,
        {
            "chunk_files": "read_columns",
            "chunks": "ChunkEntry Manifest",
            "delivery": "Position",
            "pins": "Window",
            "plan": "Plan PlannedColumn make_plan",
            "reader": "Batch Reader",
            "sources": "current_manifest raw_schema unsupported_columns",
            "store": "Store",
        },
    )

__all__ = [
    "Batch",
    "ChunkEntry",
    "Manifest",
    "Plan",
    "PlannedColumn",
    "Position",
    "Reader",
    "Store",
    "Window",
    "current_manifest",
    "make_plan",
    "raw_schema",
    "read_columns",
    "unsupported_columns",
]
