"""Ingest on Beam: from text files to raw chunks. An element is a file (see `pipelines.raw_chunks`), never a row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import apache_beam as beam

from materialized.store import Store
from pipelines.failures import FAILURES, FailingDoFn
from pipelines.raw_chunks import IngestTask, RawChunk, ingest_file
from transforms.types import ColumnType


class Ingest(beam.PTransform):
    """From `IngestTask` to `RawChunk`, and what failed on the output `FAILURES`.

    Args:
      store: where the chunks go.
      format: a key of `FORMATS`.
      schema: type of each raw column.
    """

    def __init__(self, store: Store, format: str, schema: Mapping[str, ColumnType]) -> None:
        super().__init__()
        self._work = _IngestFile(store, format, dict(schema))

    def expand(self, tasks: Any) -> Any:
        return tasks | beam.Reshuffle() | beam.ParDo(self._work).with_outputs(FAILURES, main="chunks")


class _IngestFile(FailingDoFn):
    def __init__(self, store: Store, format: str, schema: dict[str, ColumnType]) -> None:
        self._store = store
        self._format = format
        self._schema = schema

    def results(self, element: IngestTask) -> Iterator[RawChunk]:
        yield from ingest_file(self._store, self._format, self._schema, element)
