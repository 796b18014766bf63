"""Checking an export: it is loaded as a server loads it and asked for rows of the log.

What it must give is not computed again: the ids and values of features are those in the store, which the model was
trained on, and the predictions are the trainer's own for them. The export is asked in several batch sizes, with tensors
and with Examples. How closely answers are compared is `trainer.export_compare`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from materialized.errors import NotMaterializedError
from materialized.plan import Plan
from materialized.reader import Batch
from materialized.store import Store
from trainer.engines.contract import NO_FAULT
from trainer.errors import DataError, ExportError
from trainer.export_compare import Column, Comparison, Kind, compare
from trainer.export_requests import example_request, tensor_request
from trainer.export_sample import Sample, sample_rows
from trainer.model import Model
from trainer.served_model import (
    EXAMPLE_FEATURES,
    EXAMPLES,
    FEATURES,
    LENGTHS,
    PREDICTION,
    SERVING,
)
from trainer.training import TrainedModel
from transforms.values import Nullable, Value

BATCH_SIZES = (1, 7, 4096)
"""Batch sizes that an export is asked in: one row, a few, and many."""

BATCHES = 32
"""At most so many batches of one size are asked."""


@dataclass(frozen=True)
class CheckReport:
    """What was asked of an export, and how it answered.

    Attributes:
      rows: how many different rows of the log were asked.
      batch_sizes: the sizes of the batches they were asked in.
      comparisons: one for each output, signature and batch size.
    """

    rows: int
    batch_sizes: tuple[int, ...]
    comparisons: tuple[Comparison, ...]

    @property
    def differing(self) -> tuple[Comparison, ...]:
        """The comparisons that show a difference above their tolerance."""
        return tuple(comparison for comparison in self.comparisons if comparison.differing)


def check_export(directory: str | Path, trained: TrainedModel, plan: Plan, store: Store) -> CheckReport:
    """Compares what the SavedModel in ``directory`` answers with what it should.

    Args:
      directory: the export.
      trained: the model that was exported.
      plan: a plan that has it.
      store: where its materialized columns are.

    Raises:
      ExportError: an answer differs by more than its tolerance, or the log has no rows to ask.
      NotMaterializedError: the store lacks some of the model's columns.
    """
    if missing := plan.missing_of(trained.name):
        raise NotMaterializedError(
            f"{store.path}: {missing} (column, chunk) of model {trained.name} are missing, and an export is checked"
            " with them; `forebay materialize` computes them"
        )
    sample = sample_rows(trained.bound, plan, store, max(BATCH_SIZES))
    report = CheckReport(sample.distinct, BATCH_SIZES, tuple(compare_answers(directory, trained.model, sample)))
    if report.differing:
        lines = "\n".join(f"  {_sentence(comparison)}" for comparison in report.differing)
        raise ExportError(f"{directory}: the export of {trained.name} does not give what the model does:\n{lines}")
    return report


def compare_answers(directory: str | Path, model: Model, sample: Sample) -> Iterator[Comparison]:
    """Asks the export for the rows of ``sample`` in all `BATCH_SIZES` and compares each output.

    Raises:
      DataError: an id of the sample is outside its table.
    """
    signatures = tf.saved_model.load(str(directory)).signatures
    looked_up = {lookup.feature for lookup in model.definition.lookups}
    kinds: dict[str, Kind] = {name: "ids" if name in looked_up else "values" for name in sorted(sample.features)}
    features = {name: column_of(value) for name, value in sample.features.items()}
    predicted = Column(predictions(model, sample).numpy())
    for size in BATCH_SIZES:
        batches = _batches(sample, size)
        asked = min(sample.rows, size * len(batches))
        of_tensors = [tensor_request(sample.inputs, batch) for batch in batches]
        of_examples = [{EXAMPLES: example_request(sample.inputs, batch)} for batch in batches]
        for signature, requests in ((FEATURES, of_tensors), (EXAMPLE_FEATURES, of_examples)):
            answers = [signatures[signature](**request) for request in requests]
            for name, kind in kinds.items():
                expected = _first(features[name], asked)
                yield compare(name, kind, signature, size, answered(answers, name), expected)
        for signature, requests in ((SERVING, of_tensors), (EXAMPLES, of_examples)):
            answers = [signatures[signature](**request) for request in requests]
            found, expected = answered(answers, PREDICTION), _first(predicted, asked)
            yield compare(PREDICTION, "predictions", signature, size, found, expected)


def predictions(model: Model, sample: Sample) -> Any:
    """The trainer's own predictions for the materialized features of ``sample``, ``[rows]``.

    Raises:
      DataError: an id is outside its table.
    """
    nothing = tf.zeros([sample.rows])
    batch = Batch(dict(sample.features), nothing, nothing, tf.zeros([3], tf.int64))
    logits, fault = model.engine.make_forward(model.predictions)(batch)
    if int(fault) != NO_FAULT:
        raise DataError(
            f"model {model.definition.name}: the rows to check the export with have an id outside its table"
        )
    return tf.sigmoid(logits)


def column_of(value: Value) -> Column:
    """A feature's values."""
    if isinstance(value, tf.RaggedTensor):
        return Column(value.values.numpy(), value.row_lengths().numpy())
    return Column(value.numpy())


def answered(answers: Sequence[Mapping[str, Any]], name: str) -> Column:
    """An output of a signature over several answers, without the padding of lists."""
    return Column.concatenate([_without_padding(answer[name], answer.get(name + LENGTHS)) for answer in answers])


def _without_padding(values: Any, lengths: Any) -> Column:
    if lengths is None:
        return Column(values.numpy())
    padded, counts = values.numpy(), lengths.numpy()
    return Column(padded[np.arange(padded.shape[1]) < counts[:, np.newaxis]], counts)


def _batches(sample: Sample, size: int) -> list[dict[str, Value]]:
    """The first rows of ``sample`` in batches; the last may be smaller."""
    starts = range(0, min(sample.rows, size * BATCHES), size)
    return [{name: _rows(value, start, size) for name, value in sample.columns.items()} for start in starts]


def _first(column: Column, rows: int) -> Column:
    if column.lengths is None:
        return Column(column.values[:rows])
    return Column(column.values[: column.lengths[:rows].sum()], column.lengths[:rows])


def _rows(value: Value, start: int, rows: int) -> Value:
    if isinstance(value, Nullable):
        return Nullable(*(part[start : start + rows] for part in value))
    if isinstance(value, tf.RaggedTensor):  # its own slicing takes milliseconds
        splits = value.row_splits[start : start + rows + 1]
        return tf.RaggedTensor.from_row_splits(value.values[splits[0] : splits[-1]], splits - splits[0], validate=False)
    return value[start : start + rows]


def _sentence(comparison: Comparison) -> str:
    name = comparison.name if comparison.kind == "predictions" else f"feature {comparison.name!r}"
    return (
        f"{name} ({comparison.kind}), signature {comparison.signature!r}, batches of {comparison.batch_size}:"
        f" {comparison.differing} of {comparison.compared} differ, by up to {comparison.largest:g}"
    )
