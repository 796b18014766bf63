"""The host engine: all tables in the memory of one process, stacked, and a step that never leaves TensorFlow.

`trainer.engines.stacks` looks up and updates; this module puts the step together and loops over it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from trainer.engines.contract import (
    BAD_ID,
    NO_FAULT,
    NOT_FINITE,
    VALUES,
    Dense,
    Forward,
    Run,
    Schedule,
    StepsRun,
    require,
)
from trainer.engines.stacks import Looked, Stack
from trainer.optimizers import Parameters, slots_of
from trainer.tables import Block, Lookup, Table, blocks_of
from transforms.specs import Optimizer


class HostEngine(tf.Module):
    """Tables in this process's memory; see `trainer.engines.contract.Engine`."""

    def __init__(self, tables: Iterable[Table], lookups: Iterable[Lookup]):
        """Holds the tables that ``lookups`` look up, with values 0 until they are written.

        Raises:
          UnsupportedError: a table has an optimizer that this engine does not have.
        """
        super().__init__(name="host")
        lookups = tuple(lookups)
        used = {lookup.table for lookup in lookups}
        self._tables = {table.name: table for table in sorted(tables, key=lambda each: each.name) if table.name in used}
        require("host", "optimizer", (type(table.optimizer).__name__.lower() for table in self._tables.values()))
        self._blocks = blocks_of(self._tables, lookups)
        kinds: dict[tuple[int, Optimizer], list[Table]] = {}
        for table in self._tables.values():
            kinds.setdefault((table.dim, table.optimizer), []).append(table)
        self._stacks = [
            Stack(f"stack_{number}", members, [each for each in lookups if each.table in {m.name for m in members}])
            for number, members in enumerate(kinds.values())
        ]
        self._stack_of = {name: stack for stack in self._stacks for name in stack.tables}

    @property
    def tables(self) -> Mapping[str, Table]:
        """The tables, by name."""
        return dict(self._tables)

    def make_step(self, dense: Dense, parameters: Parameters, schedule: Schedule) -> Run:
        """A function that runs steps; see `trainer.engines.contract.Engine.make_step`."""
        require("host", "schedule", [schedule.name])

        def go_on(done: StepsRun, wanted: Any, more: Any) -> Any:
            return (done.steps < wanted) & (done.fault == NO_FAULT) & more

        def run(iterator: Any, wanted: Any) -> StepsRun:
            def body(done: StepsRun, more: Any) -> tuple[StepsRun, Any]:
                following = iterator.get_next_as_optional()
                more = following.has_value()
                return tf.cond(
                    more, lambda: self._step(dense, parameters, following.get_value(), done), lambda: done
                ), more

            start = StepsRun(
                steps=tf.constant(0, tf.int64),
                examples=tf.constant(0, tf.int64),
                loss=tf.constant(0.0, tf.float64),
                weight=tf.constant(0.0, tf.float64),
                position=tf.fill([3], tf.constant(-1, tf.int64)),
                fault=tf.constant(NO_FAULT),
            )
            done, _ = tf.while_loop(
                lambda done, more: go_on(done, wanted, more), body, (start, tf.constant(True)), parallel_iterations=1
            )
            return done

        traced = _Traced(run)

        def call(iterator: Any, steps: int) -> StepsRun:
            done = traced.of(iterator.element_spec, iterator, tf.TensorSpec([], tf.int64))(
                iterator, tf.constant(steps, tf.int64)
            )
            return StepsRun(*(value.numpy() for value in done))

        return call

    def _step(self, dense: Dense, parameters: Parameters, batch: Any, done: StepsRun) -> StepsRun:
        """One step, added to what is ``done``."""
        looked = [stack.look_up(batch.features) for stack in self._stacks]
        activations = self._to_blocks(looked)
        variables = list(parameters.values.values())
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch([*activations, *variables])
            loss = dense(activations, batch)
            mean = tf.math.divide_no_nan(loss.loss, loss.weight)
        by_activations, by_variables = tape.gradient(
            mean, (activations, variables), unconnected_gradients=tf.UnconnectedGradients.ZERO
        )
        for stack, found, gradients in zip(self._stacks, looked, self._to_stacks(by_activations), strict=True):
            stack.update(found, gradients)
        parameters.apply(by_variables)
        valid = tf.reduce_all(tf.stack([found.valid for found in looked] or [tf.constant(True)]))
        fault = tf.where(valid, tf.where(tf.math.is_finite(loss.loss), NO_FAULT, NOT_FINITE), BAD_ID)
        counted = StepsRun(
            steps=done.steps + 1,
            examples=done.examples + tf.shape(batch.label, tf.int64)[0],
            loss=done.loss + tf.cast(loss.loss, tf.float64),
            weight=done.weight + tf.cast(loss.weight, tf.float64),
            position=batch.position,
            fault=fault,
        )
        return tf.nest.map_structure(
            lambda new, old: tf.where(fault == NO_FAULT, new, old), counted, done._replace(fault=fault)
        )

    def make_forward(self, forward: Forward) -> Any:
        """A function without training; see `trainer.engines.contract.Engine.make_forward`."""

        def look_up_and_call(batch: Any) -> tuple[Any, Any]:
            looked = [stack.look_up(batch.features) for stack in self._stacks]
            valid = tf.reduce_all(tf.stack([found.valid for found in looked] or [tf.constant(True)]))
            return forward(self._to_blocks(looked), batch), tf.where(valid, NO_FAULT, BAD_ID)

        traced = _Traced(look_up_and_call)

        def call(batch: Any) -> tuple[Any, Any]:
            spec = tf.nest.map_structure(_any_batch, batch)
            result: tuple[Any, Any] = traced.of(spec, spec)(batch)
            return result

        return call

    def read_rows(self, table: str, slot: str, rows: range) -> npt.NDArray[np.float32]:
        """Rows of `VALUES` or a slot."""
        values: npt.NDArray[np.float32] = self._stack_of[table].read(table, slot, rows).numpy()
        return values

    def write_rows(self, table: str, slot: str, rows: range, values: npt.NDArray[np.float32]) -> None:
        """Replaces rows of `VALUES` or a slot."""
        expected = (len(rows), self._tables[table].dim)
        if values.shape != expected or rows.stop > self._tables[table].rows:
            raise ValueError(
                f"{self._tables[table]}, {slot}: expected {expected} values for rows {rows}, got {values.shape}"
            )
        self._stack_of[table].write(table, slot, rows, values)

    def _to_blocks(self, looked: list[Looked]) -> list[Any]:
        """The stacks' activations as the model's blocks."""
        return [
            _arranged([(found.activations, stack) for stack, found in pairs], block)
            for block, pairs in self._by_block(looked)
        ]

    def _to_stacks(self, by_block: list[Any]) -> list[Any]:
        """The blocks' gradients as the stacks' activations lie."""
        of_dim = {block.dim: (block, gradients) for block, gradients in zip(self._blocks, by_block, strict=True)}
        result = []
        for stack in self._stacks:
            block, gradients = of_dim[stack.dim]
            wanted = [block.features.index(lookup.feature) for lookup in stack.lookups]
            same = wanted == list(range(len(block.features)))
            result.append(gradients if same else tf.gather(gradients, wanted, axis=1))
        return result

    def _by_block(self, looked: list[Looked]) -> list[tuple[Block, list[tuple[Stack, Looked]]]]:
        pairs = list(zip(self._stacks, looked, strict=True))
        return [(block, [pair for pair in pairs if pair[0].dim == block.dim]) for block in self._blocks]


def slots_in(table: Table) -> tuple[str, ...]:
    """Everything of a table that is read and written by rows: its values, then its optimizer's slots."""
    return (VALUES, *slots_of(table.optimizer))


class _Traced:
    """A function traced once for each kind of batch.

    TensorFlow's own cache would do, but it takes several models in one process for one function traced again and again,
    and warns.
    """

    def __init__(self, function: Any):
        self._function = tf.function(function, autograph=False)
        self._kinds: list[tuple[Any, Any]] = []

    def of(self, kind: Any, *arguments: Any) -> Any:
        """The trace for ``kind`` of batch, which ``arguments`` are of."""
        for known, trace in self._kinds:
            if known == kind:
                return trace
        trace = self._function.get_concrete_function(*arguments)
        self._kinds.append((kind, trace))
        return trace


def _any_batch(value: Any) -> Any:
    """The type of a batch's tensor, of any batch size."""
    if isinstance(value, tf.RaggedTensor):
        return tf.RaggedTensorSpec([None, None], value.dtype, ragged_rank=1, row_splits_dtype=value.row_splits.dtype)
    return tf.TensorSpec([None, *value.shape[1:]], value.dtype)


def _arranged(parts: list[tuple[Any, Stack]], block: Block) -> Any:
    """Activations of several stacks side by side, in the block's order of features."""
    found = [lookup.feature for _, stack in parts for lookup in stack.lookups]
    joined = parts[0][0] if len(parts) == 1 else tf.concat([values for values, _ in parts], axis=1)
    if found == list(block.features):
        return joined
    return tf.gather(joined, [found.index(name) for name in block.features], axis=1)
