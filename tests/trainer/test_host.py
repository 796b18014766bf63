"""The host engine against what its tables mean: dense float64 arrays, updated row by row with NumPy."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from materialized.delivery import Position
from tests.commands import ROOT
from tests.trainer.synthetic import LOOKUPS, TABLES, Rows, definition
from trainer.engines.contract import BAD_ID, NO_FAULT, NOT_FINITE, VALUES, Loss, Pipelined, Serialized
from trainer.engines.host import HostEngine, slots_in
from trainer.errors import UnsupportedError
from trainer.initial import normal
from trainer.model import Model
from trainer.optimizers import EPSILON, Parameters
from trainer.tables import Block, Lookup, Table, blocks_of, look_up
from transforms.specs import Adagrad, Optimizer, Sgd

BY_NAME = {table.name: table for table in TABLES}
BLOCKS = blocks_of(BY_NAME, LOOKUPS)
DENSE_OPTIMIZER = Adagrad(learning_rate=0.05)


def mixers() -> list[np.ndarray]:
    """Fixed numbers that a linear model multiplies each block with."""
    return [np.random.default_rng(8).normal(size=(len(block.features), block.dim)) for block in BLOCKS]


def linear(bias: tf.Variable) -> Any:
    def loss(activations: Any, batch: Any) -> Loss:
        logits = bias * batch.features["price"]
        for values, mixer in zip(activations, mixers(), strict=True):
            logits += tf.reduce_sum(values * mixer.astype(np.float32), axis=[1, 2])
        losses = tf.nn.sigmoid_cross_entropy_with_logits(labels=batch.label, logits=logits)
        return Loss(tf.reduce_sum(losses * batch.weight), tf.reduce_sum(batch.weight))

    return loss


class Reference:
    """The same model in float64: every table whole, every update written out."""

    def __init__(self) -> None:
        self.values = {t.name: normal(3, t.name, range(t.rows), t.dim).astype(np.float64) for t in TABLES}
        self.sums = {t.name: np.full((t.rows, t.dim), 0.1) for t in TABLES}
        self.bias, self.bias_sum = 0.0, 0.1

    def step(self, batch: Any) -> None:
        mixer = {
            feature: numbers[number]
            for block, numbers in zip(BLOCKS, mixers(), strict=True)
            for number, feature in enumerate(block.features)
        }
        label, weight, price = (
            each.numpy().astype(np.float64) for each in (batch.label, batch.weight, batch.features["price"])
        )
        logits = self.bias * price
        uses: list[tuple[str, int, int, float, np.ndarray]] = []  # table, example, row, weight, gradient per logit
        for lookup in LOOKUPS:
            ids = batch.features[lookup.feature].numpy()
            for example, found in enumerate(ids):
                rows = np.atleast_1d(found)
                part = {"sum": 1.0, "mean": 1 / max(len(rows), 1), "sqrtn": max(len(rows), 1) ** -0.5}[lookup.combiner]
                for row in rows:
                    uses.append((lookup.table, example, row, part, mixer[lookup.feature]))
                    logits[example] += part * (self.values[lookup.table][row] * mixer[lookup.feature]).sum()
        slope = (1 / (1 + np.exp(-logits)) - label) * weight / weight.sum()
        gradients = {name: np.zeros_like(values) for name, values in self.values.items()}
        touched = {name: set() for name in self.values}
        for table, example, row, part, numbers in uses:
            gradients[table][row] += slope[example] * part * numbers
            touched[table].add(row)
        for name, rows in touched.items():
            for row in rows:  # each distinct row once
                self.values[name][row], self.sums[name][row] = update(
                    BY_NAME[name].optimizer, self.values[name][row], self.sums[name][row], gradients[name][row]
                )
        self.bias, self.bias_sum = update(DENSE_OPTIMIZER, self.bias, self.bias_sum, (slope * price).sum())


def update(optimizer: Optimizer, value: Any, total: Any, gradient: Any) -> tuple[Any, Any]:
    if isinstance(optimizer, Sgd):
        return value - optimizer.learning_rate * gradient, total
    total = total + gradient**2
    return value - optimizer.learning_rate * gradient / (np.sqrt(total) + EPSILON), total


def filled(tables: Any = TABLES, lookups: Any = LOOKUPS) -> HostEngine:
    engine = HostEngine(tables, lookups)
    for table in engine.tables.values():
        engine.write_rows(table.name, VALUES, range(table.rows), normal(3, table.name, range(table.rows), table.dim))
    return engine


def everything(engine: HostEngine) -> Mapping[str, np.ndarray]:
    return {
        f"{table.name}/{slot}": engine.read_rows(table.name, slot, range(table.rows))
        for table in engine.tables.values()
        for slot in slots_in(table)
    }


def test_fifty_steps_equal_the_float64_reference() -> None:
    engine, reference, bias = filled(), Reference(), tf.Variable(0.0)
    run = engine.make_step(linear(bias), Parameters(DENSE_OPTIMIZER, {"bias": bias}), Serialized())
    data = Rows(330).dataset(batch_size=33, shuffle_seed=1, epochs=5)
    assert run(iter(data), 1000).steps == 50
    for batch in data:
        reference.step(batch)
    assert bias.numpy() == pytest.approx(reference.bias, abs=2e-6)
    for table in TABLES:
        found = everything(engine)[f"{table.name}/{VALUES}"]
        assert np.abs(found - normal(3, table.name, range(table.rows), table.dim)).max() > 0.05
        np.testing.assert_allclose(found, reference.values[table.name], rtol=0, atol=2e-6)
        if isinstance(table.optimizer, Adagrad):
            accumulator = everything(engine)[f"{table.name}/accumulator"]
            np.testing.assert_allclose(accumulator, reference.sums[table.name], rtol=2e-5)


def test_what_is_looked_up_is_what_whole_tables_give() -> None:
    engine = filled()
    batch = Rows(40).batch(np.arange(40), Position(0, 0, 40))
    found, fault = engine.make_forward(lambda activations, batch: tuple(activations))(batch)
    assert fault == NO_FAULT
    whole = {table.name: engine.read_rows(table.name, VALUES, range(table.rows)) for table in TABLES}
    for ours, theirs in zip(found, look_up(whole, BLOCKS, LOOKUPS, batch.features), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-7)


def test_stacking_changes_no_bit() -> None:
    """A table trained alone, or beside others of its kind, with another optimizer's features between its own."""
    together = filled()
    data = Rows(64).dataset(batch_size=16)
    for name in ("word", "item"):
        table = BY_NAME[name]
        own = [each for each in LOOKUPS if each.table == table.name]
        alone = filled([table], own)
        for engine, blocks in ((together, BLOCKS), (alone, (Block(table.dim, _names(own)),))):
            _reset(engine)
            engine.make_step(_sum_of(blocks, _names(own)), Parameters(Sgd(), {}), Serialized())(iter(data), 10)
        for slot in slots_in(table):
            rows = range(table.rows)
            np.testing.assert_array_equal(
                together.read_rows(table.name, slot, rows), alone.read_rows(table.name, slot, rows)
            )


def _names(lookups: Any) -> tuple[str, ...]:
    return tuple(each.feature for each in sorted(lookups, key=lambda each: (each.ragged, each.feature)))


def _reset(engine: HostEngine) -> None:
    for table in engine.tables.values():
        rows = range(table.rows)
        engine.write_rows(table.name, VALUES, rows, normal(3, table.name, rows, table.dim))
        for slot in slots_in(table)[1:]:
            engine.write_rows(table.name, slot, rows, np.full((table.rows, table.dim), 0.1, np.float32))


def _sum_of(blocks: Any, features: tuple[str, ...]) -> Any:
    def loss(activations: Any, batch: Any) -> Loss:
        total = tf.zeros(tf.shape(batch.label))
        for block, values in zip(blocks, activations, strict=True):
            for number, feature in enumerate(block.features):
                if feature in features:
                    total += tf.reduce_sum(tf.sin(values[:, number]), axis=1)
        return Loss(tf.reduce_sum(total * batch.weight), tf.reduce_sum(batch.weight))

    return loss


_RUN_WITH_THREADS = """
import hashlib, sys
import tensorflow as tf
tf.config.threading.set_intra_op_parallelism_threads(int(sys.argv[1]))
tf.config.threading.set_inter_op_parallelism_threads(int(sys.argv[1]))
from trainer.engines.contract import Serialized, Loss
from trainer.optimizers import Parameters
from transforms.specs import Adagrad, Sgd
from trainer.engines.host import HostEngine
from trainer.tables import Lookup, Table
from materialized.reader import Batch
import numpy as np
tables = [Table(f"t{n}", 2000, 16, Adagrad()) for n in range(4)]
engine = HostEngine(tables, [Lookup(f"f{n}", f"t{n}", "mean", n > 1) for n in range(4)])
random = np.random.default_rng(0)
def batch(rows):
    features = {f"f{n}": tf.constant(random.zipf(1.2, rows) % 2000) for n in range(2)}
    for n in (2, 3):
        lengths = random.integers(0, 9, rows)
        features[f"f{n}"] = tf.RaggedTensor.from_row_lengths(random.zipf(1.2, lengths.sum()) % 2000, lengths)
    return Batch(features, tf.constant(random.random(rows), tf.float32), tf.ones(rows), tf.zeros(3, tf.int64))
batches = [batch(3000) for _ in range(4)]
spec = tf.nest.map_structure(tf.type_spec_from_value, batches[0])
lists, single = tf.RaggedTensorSpec([3000, None], tf.int64), tf.TensorSpec([3000], tf.int64)
spec = spec._replace(features={name: lists if name > "f1" else single for name in spec.features})
def dense(activations, batch):  # exact whatever the order of its sums: gradients are signs and small integers
    (values,) = activations
    return Loss(tf.reduce_sum(tf.round(batch.label * 8)[:, None, None] * values), tf.constant(4096.0))
run = engine.make_step(dense, Parameters(Sgd(), {}), Serialized())
done = run(iter(tf.data.Dataset.from_generator(lambda: iter(batches), output_signature=spec)), 100)
assert done.steps == 4, done
digest = hashlib.sha256()
for table in tables:
    for slot in ("values", "accumulator"):
        digest.update(engine.read_rows(table.name, slot, range(2000)).tobytes())
print(digest.hexdigest())
"""


def test_lookup_and_update_are_the_same_at_any_thread_count() -> None:
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", _RUN_WITH_THREADS, str(threads)], cwd=ROOT, stdout=subprocess.PIPE, text=True
        )
        for threads in (1, 8)
    ]
    said = [process.communicate()[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    assert len(set(said)) == 1, said


def test_steps_say_what_they_did() -> None:
    model = Model(definition())
    run = model.engine.make_step(model.loss, model.parameters, Serialized())
    iterator = iter(Rows(70).dataset(batch_size=32))
    first, rest, none = run(iterator, 1), run(iterator, 10), run(iterator, 10)
    assert (first.steps, first.examples, list(first.position)) == (1, 32, [0, 0, 32])
    assert (rest.steps, rest.examples, list(rest.position), rest.fault) == (2, 38, [0, 0, 70], NO_FAULT)
    assert (none.steps, none.examples, list(none.position)) == (0, 0, [-1, -1, -1])
    assert 0.2 < rest.loss / rest.weight < 1.2
    weights = [batch.weight.numpy().sum() for batch in Rows(70).dataset(batch_size=32)]
    assert (first.weight, rest.weight) == (weights[0], sum(weights[1:]))


@pytest.mark.parametrize(
    ("feature", "value", "fault"),
    [("brand", 40, BAD_ID), ("brand", -1, BAD_ID), ("price", float("nan"), NOT_FINITE), ("label", 1.5, NOT_FINITE)],
)
def test_steps_stop_at_a_fault(feature: str, value: float, fault: int) -> None:
    model = Model(definition())
    run = model.engine.make_step(model.loss, model.parameters, Serialized())
    done = run(iter(Rows(160, {feature: {70: value}}).dataset(batch_size=32)), 100)
    assert (done.steps, done.fault, list(done.position)) == (2, fault, [0, 0, 64])


def test_a_step_without_weight_changes_no_value() -> None:
    model = Model(definition())
    before = everything(model.engine)
    rows = Rows(32, {"weight": dict.fromkeys(range(32), 0.0)})
    assert (
        model.engine.make_step(model.loss, model.parameters, Serialized())(iter(rows.dataset(batch_size=32)), 5).steps
        == 1
    )
    for name, values in everything(model.engine).items():
        np.testing.assert_array_equal(values, before[name])


def test_a_model_without_tables_trains() -> None:
    weight = tf.Variable(0.0)
    engine = HostEngine([], [])
    run = engine.make_step(
        lambda activations, batch: Loss(tf.reduce_sum((weight - batch.label) ** 2), tf.reduce_sum(batch.weight)),
        Parameters(Sgd(learning_rate=0.1), {"weight": weight}),
        Serialized(),
    )
    assert run(iter(Rows(64).dataset(batch_size=32)), 10).steps == 2
    assert weight.numpy() > 0
    assert engine.tables == {}


def test_rows_are_read_and_written_by_logical_name() -> None:
    engine = filled()
    engine.write_rows("place", "accumulator", range(2, 4), np.full((2, 8), 7.0, np.float32))
    assert engine.read_rows("place", "accumulator", range(1, 5))[:, 0].tolist() == pytest.approx([0.1, 7, 7, 0.1])
    np.testing.assert_array_equal(
        engine.read_rows("place", VALUES, range(7)), normal(3, "place", range(7), 8), "other slots stay"
    )
    with pytest.raises(ValueError, match=r"place\[7, 8\], values: expected \(2, 8\) values for rows range\(6, 8\)"):
        engine.write_rows("place", VALUES, range(6, 8), np.zeros((2, 8), np.float32))


def test_what_the_engine_cannot_do_is_refused_by_name() -> None:
    engine = filled()
    with pytest.raises(UnsupportedError, match=r"host engine has no schedule 'pipelined'.*'serialized'"):
        engine.make_step(linear(tf.Variable(0.0)), Parameters(Sgd(), {}), Pipelined(2))


def test_tables_that_no_feature_uses_take_no_memory() -> None:
    engine = HostEngine([Table("used", 3, 2, Sgd()), Table("unused", 10**12, 2, Sgd())], [Lookup("f", "used")])
    assert list(engine.tables) == ["used"]
