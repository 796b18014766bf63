"""Why a batch stopped training or evaluation: the batch is read again and looked at, feature by feature."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from trainer.engines.contract import BAD_ID
from trainer.errors import DataError, DivergedError
from trainer.model import Definition
from transforms.errors import ForebayError


def fault_error(fault: int, place: str, batch: Any, definition: Definition) -> ForebayError:
    """The error that says what is wrong.

    Args:
      fault: what an engine answered.
      place: where it happened, as ``step 12``.
      batch: the batch that it happened with.
      definition: the model.
    """
    what = bad_ids(batch, definition) if fault == BAD_ID else bad_values(batch, definition)
    where = f"model {definition.name}, {place}"
    if what is not None:
        return DataError(f"{where}: {what}")
    return DivergedError(
        f"{where}: the loss is not finite and all inputs are; parameters have grown too large, "
        "which a smaller learning rate may prevent"
    )


def bad_ids(batch: Any, definition: Definition) -> str | None:
    """Says which feature of ``batch`` has an id outside its table."""
    tables = {table.name: table for table in definition.tables}
    for lookup in definition.lookups:
        values, table = batch.features[lookup.feature], tables[lookup.table]
        ids = (values.values if isinstance(values, tf.RaggedTensor) else values).numpy()
        outside = ids[(ids < 0) | (ids >= table.rows)]
        if len(outside):
            return f"feature {lookup.feature!r} has the id {outside[0]}, and its table is {table}"
    return None


def bad_values(batch: Any, definition: Definition) -> str | None:
    """Says which input of ``batch`` is not finite, or which label or weight is none."""
    for name in sorted(definition.dense):
        values = batch.features[name].numpy()
        wrong = values[~np.isfinite(values)]
        if len(wrong):
            return (
                f"feature {name!r} is not finite ({wrong[0]}) in a batch of {len(values)} rows; the loss is not either"
            )
    label, weight = batch.label.numpy(), batch.weight.numpy()
    wrong = label[~((label >= 0) & (label <= 1))]
    if len(wrong):
        return f"a label is {wrong[0]}; labels are in [0, 1]"
    wrong = weight[~((weight >= 0) & np.isfinite(weight))]
    if len(wrong):
        return f"a weight is {wrong[0]}; weights are finite and at least 0"
    return None
