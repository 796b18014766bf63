"""A model as the trainer runs it: an engine's tables, a dense network, and the loss between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from trainer.checkpoints import Part
from trainer.engines.contract import VALUES, Activations, Engine, Loss
from trainer.engines.host import HostEngine, slots_in
from trainer.initial import normal
from trainer.networks import make_network, variables_of
from trainer.optimizers import Parameters
from trainer.tables import Block, Lookup, Table, blocks_of
from trainer.variables import assign_part
from transforms.specs import Network, Train

WRITE_ROWS = 65_536
"""Rows of a table that are computed, read or written at a time."""


@dataclass(frozen=True)
class Definition:
    """What a model consists of, all sizes known.

    Attributes:
      name: the model's name.
      tables: its embedding tables.
      lookups: its id features.
      dense: number of values of each numeric feature, by name; 1 for a scalar.
      network: its dense network.
      train: how it is trained.
    """

    name: str
    tables: tuple[Table, ...]
    lookups: tuple[Lookup, ...]
    dense: Mapping[str, int]
    network: Network
    train: Train

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """The blocks of its activations."""
        return blocks_of({table.name: table for table in self.tables}, self.lookups)


class Model:
    """A model with its parameters.

    Attributes:
      definition: what it consists of.
      engine: holds its tables.
      network: its dense network.
      parameters: the network's variables and their optimizer's slots.
    """

    def __init__(self, definition: Definition, engine: Engine | None = None):
        """A model with first values (`trainer.initial`); its engine is a `HostEngine` unless another is given."""
        self.definition = definition
        self.engine: Engine = engine or HostEngine(definition.tables, definition.lookups)
        seed = definition.train.seed
        self.network = make_network(definition.network, definition.blocks, sum(definition.dense.values()), seed)
        self.parameters = Parameters(definition.train.optimizer, variables_of(self.network))
        for table in self.engine.tables.values():
            for rows in row_ranges(table.rows):
                self.engine.write_rows(table.name, VALUES, rows, normal(seed, table.name, rows, table.dim))

    def logits(self, activations: Activations, features: Mapping[str, Any]) -> Any:
        """One logit per example ``[batch]``.

        Args:
          activations: what the ids looked up, for each of the definition's blocks.
          features: the numeric features, by name: ``[batch]`` or ``[batch, width]``; others are ignored.
        """
        return self.network(list(activations), self._side_by_side(activations, features))

    def _side_by_side(self, activations: Activations, features: Mapping[str, Any]) -> Any:
        parts = [tf.reshape(features[name], [-1, width]) for name, width in sorted(self.definition.dense.items())]
        return tf.concat(parts, axis=1) if parts else tf.zeros([tf.shape(activations[0])[0], 0])

    def loss(self, activations: Activations, batch: Any) -> Loss:
        """Weighted log loss of a `materialized.reader.Batch`.

        A label outside [0, 1] or a weight below 0 makes it NaN, so that training stops there.
        """
        logits = self.logits(activations, batch.features)
        losses = tf.nn.sigmoid_cross_entropy_with_logits(labels=batch.label, logits=logits)
        valid = (batch.label >= 0) & (batch.label <= 1) & (batch.weight >= 0)
        losses = tf.where(valid, losses, float("nan"))
        return Loss(tf.reduce_sum(losses * batch.weight), tf.reduce_sum(batch.weight))

    def predictions(self, activations: Activations, batch: Any) -> Any:
        """The logit of each example of a batch."""
        return self.logits(activations, batch.features)

    def parts(self) -> Iterator[Part]:
        """All parameters and slots, as a checkpoint names them."""
        for table in self.engine.tables.values():
            for slot in slots_in(table):
                yield Part(
                    name=f"table/{table.name}/{slot}",
                    shape=(table.rows, table.dim),
                    read=partial(self.engine.read_rows, table.name, slot),
                    write=partial(self.engine.write_rows, table.name, slot),
                )
        for name, variable in self.parameters.values.items():
            for slot, stored in {VALUES: variable, **self.parameters.slots[name]}.items():
                yield Part(
                    name=f"dense/{name}/{slot}",
                    shape=tuple(stored.shape),
                    read=partial(_read_variable, stored),
                    write=partial(_write_variable, stored),
                )

    def not_finite(self) -> str | None:
        """Name of a dense variable that has a value that is not finite, or None."""
        for name, variable in self.parameters.values.items():
            if not tf.reduce_all(tf.math.is_finite(variable)):
                return name
        return None


def _read_variable(variable: tf.Variable, rows: range) -> npt.NDArray[np.float32]:
    values: npt.NDArray[np.float32] = variable.numpy()[rows.start : rows.stop]
    return values


def _write_variable(variable: tf.Variable, rows: range, values: npt.NDArray[np.float32]) -> None:
    assign_part(variable, [rows.start, *[0] * (values.ndim - 1)], values)


def row_ranges(rows: int, size: int = WRITE_ROWS) -> Iterator[range]:
    """``range(rows)`` in pieces."""
    for start in range(0, rows, size):
        yield range(start, min(start + size, rows))
