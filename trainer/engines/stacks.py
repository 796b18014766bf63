"""A stack: tables of one dim and optimizer, one below the other in one variable, looked up and updated together.

A row of the variable holds a row's values and, to the right of them, its slots: the gather of the forward pass then
brings all that the update needs, and the update is one scatter of whole rows. (Values and slots in variables of their
own cost two more passes over random memory; measured, the update took twice as long.)

What is looked up is a sparse matrix A, one row per (example, feature), one column per distinct id of the step, with the
combiners' weights in it: activations are A · rows, and the gradient of the distinct rows is Aᵀ · gradient. The product
adds in a fixed order in one thread, and distinct rows are scattered once, so results are the same at any thread count.
Features with exactly one id per example need no product forward: a gather and a reshape.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from trainer.engines.contract import VALUES
from trainer.optimizers import slots_of, update
from trainer.tables import Lookup, Table, combiner_weights
from trainer.variables import assign_part


class Looked(NamedTuple):
    """What a step looked up in a stack.

    Attributes:
      activations: ``[batch, features, dim]``.
      valid: whether all ids are inside their tables; scalar bool.
      ids: the distinct ids, as rows of the stack.
      rows: their rows ``[distinct, dim · (1 + slots)]``.
      examples: which (example, feature) each id that occurs belongs to ``[occurring]``.
      distinct: which of `ids` each id that occurs is ``[occurring]``.
      weights: the weight of each id that occurs ``[occurring]``.
    """

    activations: Any
    valid: Any
    ids: Any
    rows: Any
    examples: Any
    distinct: Any
    weights: Any


class Stack(tf.Module):
    """Some tables in one variable.

    Attributes:
      lookups: its features in the order of its activations: those with one id first.
      offsets: first row of each table in the variable.
    """

    def __init__(self, name: str, tables: Sequence[Table], lookups: Sequence[Lookup]):
        """Stacks ``tables`` (one dim, one optimizer) that ``lookups`` look up."""
        super().__init__(name=name)
        self.dim = tables[0].dim
        self.optimizer = tables[0].optimizer
        self.lookups = tuple(sorted(lookups, key=lambda each: (each.ragged, each.feature)))
        self.tables = {table.name: table for table in tables}
        starts = np.concatenate([[0], np.cumsum([table.rows for table in tables])])
        self.offsets = {table.name: int(start) for table, start in zip(tables, starts, strict=False)}
        total = int(starts[-1])
        # Half the bytes make finding the distinct ids a third faster.
        self._id_dtype = tf.int32 if total < 2**31 else tf.int64
        first = [0.0] * self.dim + [value for value in slots_of(self.optimizer).values() for _ in range(self.dim)]
        self.variable = tf.Variable(
            tf.tile(tf.constant([first], tf.float32), [total, 1]), trainable=False, name=f"{name}_rows"
        )

    def look_up(self, features: Mapping[str, Any]) -> Looked:
        """Looks up a batch's ids. An id that is outside its table is taken as the table's first."""
        parts = []
        single, several = self._split
        batch = tf.constant(0)
        if single:
            matrix = tf.stack([features[lookup.feature] for lookup in single], axis=1)
            batch = tf.shape(matrix)[0]
            placed, inside = self._placed(matrix, *self._bounds(single))
            examples = tf.range(batch * len(single))
            parts.append((tf.reshape(placed, [-1]), inside, examples, tf.ones(tf.shape(examples))))
        if several:
            batch = tf.shape(features[several[0].feature].row_splits)[0] - 1
            parts.append(self._several([features[lookup.feature] for lookup in several], batch))
        ids, inside, examples, weights = ([part[number] for part in parts] for number in range(4))
        distinct, of_distinct = tf.unique(_concat(ids, 0), out_idx=tf.int32)
        looked = Looked(
            activations=None,
            valid=tf.reduce_all(tf.stack(inside)),
            ids=distinct,
            rows=tf.gather(self.variable, distinct),
            examples=_concat(examples, 0),
            distinct=of_distinct,
            weights=_concat(weights, 0),
        )
        return looked._replace(activations=self._activations(looked, batch))

    def _several(self, lists: Sequence[Any], batch: Any) -> tuple[Any, Any, Any, Any]:
        """Ids, whether all are valid, examples and weights of the features with any number of ids.

        All features at once: operations for each would cost more than what they do, in small batches.
        """
        single, several = self._split
        splits = tf.stack([each.row_splits for each in lists])
        lengths = splits[:, 1:] - splits[:, :-1]
        ids = _concat([each.values for each in lists], 0)
        ends = tf.cumsum(tf.reshape(lengths, [-1]))[tf.newaxis]
        numbers = tf.range(tf.size(ids, tf.int64))[tf.newaxis]
        owners = tf.raw_ops.UpperBound(sorted_inputs=ends, values=numbers, out_type=tf.int32)[0]
        feature, example = owners // batch, owners % batch
        rows, starts = (tf.gather(each, feature) for each in self._bounds(several))
        placed, inside = self._placed(ids, rows, starts)
        weights = tf.ones(tf.shape(lengths))
        for combiner in sorted({lookup.combiner for lookup in several} - {"sum"}):
            of_combiner = tf.constant([[lookup.combiner == combiner] for lookup in several])
            weights = tf.where(of_combiner, combiner_weights(combiner, lengths), weights)
        examples = batch * len(single) + example * len(several) + feature
        return placed, inside, examples, tf.gather(tf.reshape(weights, [-1]), owners)

    def _bounds(self, lookups: Sequence[Lookup]) -> tuple[Any, Any]:
        """Number of rows and first row in the stack of each feature's table."""
        rows = [self.tables[lookup.table].rows for lookup in lookups]
        starts = [self.offsets[lookup.table] for lookup in lookups]
        return tf.constant(rows, tf.int64), tf.constant(starts, tf.int64)

    @property
    def _split(self) -> tuple[Sequence[Lookup], Sequence[Lookup]]:
        """The features with one id and those with any number."""
        single = sum(not lookup.ragged for lookup in self.lookups)
        return self.lookups[:single], self.lookups[single:]

    def _placed(self, ids: Any, rows: Any, starts: Any) -> tuple[Any, Any]:
        """Ids as rows of the stack, and whether all are inside their tables."""
        inside = (ids >= 0) & (ids < rows)
        return tf.cast(tf.where(inside, ids, 0) + starts, self._id_dtype), tf.reduce_all(inside)

    def _activations(self, looked: Looked, batch: Any) -> Any:
        single, several = (len(lookups) for lookups in self._split)
        values = looked.rows[:, : self.dim]
        parts = []
        cut = batch * single
        if single:
            vectors = tf.gather(values, looked.distinct[:cut])
            parts.append(tf.reshape(vectors, [-1, single, self.dim]))
        if several:
            summed = _product(
                looked.examples[cut:] - cut, looked.distinct[cut:], looked.weights[cut:], values, batch * several
            )
            parts.append(tf.reshape(summed, [-1, several, self.dim]))
        return _concat(parts, 1)

    def update(self, looked: Looked, gradients: Any) -> None:
        """One step of the optimizer on the distinct rows that were looked up.

        Args:
          looked: what `look_up` gave; the rows must not have changed since.
          gradients: of the step's loss by the activations ``[batch, features, dim]``.
        """
        single = len(self._split[0])
        if single in (0, len(self.lookups)):
            per_example = tf.reshape(gradients, [-1, self.dim])
        else:  # all vectors of features with one id, then all others: as `examples` counts them
            parts = [tf.reshape(part, [-1, self.dim]) for part in (gradients[:, :single], gradients[:, single:])]
            per_example = tf.concat(parts, axis=0)
        summed = _product(looked.distinct, looked.examples, looked.weights, per_example, tf.size(looked.ids))
        values, *slots = tf.split(looked.rows, 1 + len(slots_of(self.optimizer)), axis=1)
        after = update(self.optimizer, values, slots, summed)
        rows = _concat([after.values, *after.slots], 1)
        self.variable.scatter_update(tf.IndexedSlices(rows, looked.ids))

    def read(self, table: str, slot: str, rows: range) -> Any:
        """Rows of a table's values or of a slot, ``[rows, dim]``."""
        start = self._column(slot)
        # A gather: reading the variable itself would copy all of it.
        whole = tf.gather(self.variable, tf.range(rows.start, rows.stop, dtype=tf.int64) + self.offsets[table])
        return whole[:, start : start + self.dim]

    def write(self, table: str, slot: str, rows: range, values: Any) -> None:
        """Replaces rows of a table's values or of a slot."""
        assign_part(self.variable, [self.offsets[table] + rows.start, self._column(slot)], values)

    def _column(self, slot: str) -> int:
        return (VALUES, *slots_of(self.optimizer)).index(slot) * self.dim


def _concat(parts: Sequence[Any], axis: int) -> Any:
    return parts[0] if len(parts) == 1 else tf.concat(parts, axis=axis)


def _product(rows: Any, columns: Any, weights: Any, matrix: Any, count: Any) -> Any:
    """Adds ``weights[i] · matrix[columns[i]]`` to row ``rows[i]`` of ``count`` rows of zeros, in the order of i."""
    places = tf.cast(tf.stack([rows, columns], axis=1), tf.int64)
    shape = tf.stack([tf.cast(count, tf.int64), tf.shape(matrix, tf.int64)[0]])
    return tf.raw_ops.SparseTensorDenseMatMul(a_indices=places, a_values=weights, a_shape=shape, b=matrix)
