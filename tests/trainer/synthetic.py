"""A small model and rows for it without a store, for tests of what trains and what is trained."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import tensorflow as tf

from materialized.delivery import Position
from materialized.reader import Batch
from trainer.model import Definition
from trainer.tables import Lookup, Table
from transforms.specs import Adagrad, Mlp, Sgd, Train

TABLES = (
    Table("word", 40, 8, Adagrad(learning_rate=0.1)),
    Table("place", 7, 8, Adagrad(learning_rate=0.1)),
    Table("item", 25, 8, Sgd(learning_rate=0.2)),
    Table("day", 5, 4, Sgd(learning_rate=0.2)),
)
LOOKUPS = (
    Lookup("title", "word", "mean", ragged=True),
    Lookup("query", "word", "sqrtn", ragged=True),
    Lookup("brand", "word"),
    Lookup("place", "place"),
    Lookup("bought", "item", "sum", ragged=True),
    Lookup("day", "day"),
)
DENSE = {"price": 1, "shape": 2}


def definition(**train: Any) -> Definition:
    """A model with two features of several ids and one of one id on a table, and two optimizers at one dim."""
    return Definition("small", TABLES, LOOKUPS, DENSE, Mlp((16, 8)), Train(**{"batch_size": 32, "seed": 3, **train}))


@dataclass
class Rows:
    """Rows of a `definition`, delivered as a reader delivers them.

    Attributes:
      count: how many.
      changed: replaces features of rows, to spoil them: ``{feature: {row: value}}``.
    """

    count: int
    changed: dict[str, dict[int, float]] = field(default_factory=dict)

    def batch(self, rows: np.ndarray, position: Position) -> Batch:
        """These rows."""
        every = self._all
        features: dict[str, Any] = {}
        for lookup in LOOKUPS:
            lists = [every[lookup.feature][row] for row in rows]
            if lookup.ragged:
                flat = np.concatenate([np.zeros(0, np.int64), *lists])
                features[lookup.feature] = tf.RaggedTensor.from_row_lengths(flat, [len(each) for each in lists])
            else:
                features[lookup.feature] = tf.constant(lists, tf.int64, [len(rows)])
        for name in DENSE:
            features[name] = tf.constant(every[name][rows])
        label, weight = (tf.constant(every[name][rows]) for name in ("label", "weight"))
        return Batch(features, label, weight, tf.constant(position, tf.int64))

    @cached_property
    def _all(self) -> dict[str, Any]:
        random = np.random.default_rng(11)
        rows: dict[str, Any] = {}
        for lookup in LOOKUPS:
            size = next(table.rows for table in TABLES if table.name == lookup.table)
            if lookup.ragged:
                lengths = random.integers(0, 5, self.count)
                rows[lookup.feature] = [random.integers(0, max(2, size // 4), length) for length in lengths]
            else:
                rows[lookup.feature] = random.integers(0, size, self.count)
        rows["price"] = random.normal(size=self.count).astype(np.float32)
        rows["shape"] = random.normal(size=(self.count, 2)).astype(np.float32)
        rows["label"] = (random.random(self.count) < 0.3 + 0.4 * (rows["brand"] % 2)).astype(np.float32)
        rows["weight"] = random.integers(0, 4, self.count).astype(np.float32)
        for name, values in self.changed.items():
            for row, value in values.items():
                rows[name][row] = value
        return rows

    def dataset(
        self,
        *,
        batch_size: int,
        shuffle_seed: int | None = None,
        epochs: int | None = 1,
        drop_remainder: bool = False,
        start: Position | None = None,
    ) -> tf.data.Dataset:
        batches = []
        for epoch in range(epochs or 1):
            order = np.arange(self.count)
            if shuffle_seed is not None:
                np.random.default_rng([shuffle_seed, epoch]).shuffle(order)
            for at in range(0, self.count, batch_size):
                rows = order[at : at + batch_size]
                position = Position(epoch, 0, at + len(rows))
                if start is not None and position <= start:
                    continue
                if not drop_remainder or len(rows) == batch_size:
                    batches.append((rows, position))
        spec = tf.nest.map_structure(_of_any_batch, self.batch(np.arange(0), Position(0, 0, 0)))
        spec = spec._replace(position=tf.TensorSpec([3], tf.int64))
        return tf.data.Dataset.from_generator(
            lambda: (self.batch(rows, position) for rows, position in batches), output_signature=spec
        )

    def telling(self) -> AbstractContextManager[None]:
        return nullcontext()


def _of_any_batch(value: Any) -> Any:
    if isinstance(value, tf.RaggedTensor):
        return tf.RaggedTensorSpec([None, None], value.dtype, ragged_rank=1)
    return tf.TensorSpec([None, *value.shape[1:]], value.dtype)
