"""Training throughput: the host engine against the same network in plain Keras with one `Embedding` per feature.

Both sides train the same network with Adagrad on the same in-memory batches, in one process, in turn. Keras runs `fit`
as a user would who cares: batches in memory, prefetched, several steps per call, and without XLA, with which it is
slower (a run of the full benchmark shows it). Figure `keras`: examples per second of the host engine ÷ those of Keras.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import keras
import numpy as np
import numpy.typing as npt
import tensorflow as tf

from benchmarks.frame import Cost, alternate, arguments, finish, measured, show
from materialized.reader import Batch
from trainer.engines.contract import NO_FAULT, Serialized
from trainer.model import Definition, Model
from trainer.tables import Lookup, Table
from transforms.specs import Adagrad, Mlp, Train

ADAGRAD = Adagrad(learning_rate=0.05, initial_accumulator=0.1)


@dataclass(frozen=True)
class Settings:
    """What is trained, and for how long.

    Attributes:
      tables: number of features, each with a table of its own.
      rows: of a table.
      dim: values per row.
      exponent: ids follow Zipf's law with this exponent.
      batch_size: examples per step.
      hidden: the network's hidden layers.
      steps: per run.
    """

    tables: int = 26
    rows: int = 100_000
    dim: int = 16
    exponent: float = 1.1
    batch_size: int = 2048
    hidden: tuple[int, ...] = (256, 128)
    steps: int = 40


@dataclass(frozen=True)
class Data:
    """Examples: ids ``[examples, tables]`` and labels ``[examples]``."""

    ids: npt.NDArray[np.int64]
    labels: npt.NDArray[np.float32]


def make_data(settings: Settings) -> Data:
    """Random ids by Zipf's law, hot ones anywhere in a table, and labels that depend on them a little."""
    random = np.random.default_rng(7)
    chances = np.arange(1, settings.rows + 1) ** -settings.exponent
    chances /= chances.sum()
    ids = np.empty((settings.steps * settings.batch_size, settings.tables), np.int64)
    for table in range(settings.tables):
        ids[:, table] = random.permutation(settings.rows)[random.choice(settings.rows, len(ids), p=chances)]
    labels = (random.random(len(ids)) < 0.2 + 0.1 * (ids[:, 0] % 2)).astype(np.float32)
    return Data(ids, labels)


def _names(settings: Settings) -> list[str]:
    return [f"c{number:02}" for number in range(settings.tables)]


def _batches(settings: Settings, data: Data) -> tf.data.Dataset:
    """Pairs of ids ``[batch, tables]`` and labels ``[batch]``, cut beforehand: both sides get them at no cost."""
    shape = (settings.steps, settings.batch_size)
    return tf.data.Dataset.from_tensor_slices((data.ids.reshape(*shape, -1), data.labels.reshape(shape)))


def host_side(settings: Settings, data: Data) -> Callable[[], Cost]:
    """Trains with the host engine."""
    names = _names(settings)
    definition = Definition(
        name="benchmark",
        tables=tuple(Table(name, settings.rows, settings.dim, ADAGRAD) for name in names),
        lookups=tuple(Lookup(name, name) for name in names),
        dense={},
        network=Mlp(settings.hidden),
        train=Train(batch_size=settings.batch_size, optimizer=ADAGRAD),
    )
    model = Model(definition)
    run = model.engine.make_step(model.loss, model.parameters, Serialized())

    def batch(ids: Any, labels: Any) -> Batch:
        features = dict(zip(names, tf.unstack(ids, axis=1), strict=True))
        return Batch(features, labels, tf.ones_like(labels), tf.zeros([3], tf.int64))

    batches = _batches(settings, data).map(batch).prefetch(2)

    def side() -> Cost:
        iterator = iter(batches)

        def work() -> None:
            done = run(iterator, settings.steps)
            if done.fault != NO_FAULT or done.steps != settings.steps:
                raise RuntimeError(f"expected {settings.steps} steps, got {done}")

        return measured(work)

    return side


def keras_side(settings: Settings, data: Data, jit_compile: bool) -> Callable[[], Cost]:
    """Trains with Keras."""
    names = _names(settings)
    inputs = [keras.Input([], dtype="int64", name=name) for name in names]
    embedded = [keras.layers.Embedding(settings.rows, settings.dim)(each) for each in inputs]
    hidden = keras.layers.Concatenate()(embedded)
    for units in settings.hidden:
        hidden = keras.layers.Dense(units, activation="relu")(hidden)
    model = keras.Model(inputs, keras.layers.Dense(1)(hidden))
    model.compile(
        optimizer=keras.optimizers.Adagrad(ADAGRAD.learning_rate, ADAGRAD.initial_accumulator),
        loss=keras.losses.BinaryCrossentropy(from_logits=True),
        jit_compile=jit_compile,
        steps_per_execution=1
        if jit_compile
        else min(10, settings.steps),  # XLA compiles every step of a call, for minutes
    )

    def inputs_of(ids: Any, labels: Any) -> tuple[Any, Any]:
        return dict(zip(names, tf.unstack(ids, axis=1), strict=True)), labels[:, tf.newaxis]

    batches = _batches(settings, data).map(inputs_of).prefetch(2)
    return lambda: measured(lambda: model.fit(batches, epochs=1, verbose=0, shuffle=False))


def main(argv: Sequence[str] | None = None) -> None:
    """Runs the benchmark."""
    parser = arguments(__doc__.partition("\n")[0])
    parsed = parser.parse_args(argv)
    settings = Settings(steps=6) if parsed.quick else Settings()
    data = make_data(settings)
    sides = {"host engine": host_side(settings, data), "keras": keras_side(settings, data, jit_compile=False)}
    others = {} if parsed.quick else {"keras with XLA (one run)": keras_side(settings, data, jit_compile=True)}
    for side in (*sides.values(), *others.values()):
        side()  # traces and compiles
    costs = alternate(sides, parsed.runs or 5)
    costs |= alternate(others, 1)
    examples = settings.steps * settings.batch_size
    rates = {name: [examples / cost.wall_seconds for cost in each] for name, each in costs.items()}
    rows = [
        [name, f"{statistics.median(each):,.0f}", f"{min(each):,.0f}", f"{max(each):,.0f}"]
        for name, each in rates.items()
    ]
    show("examples per second", ["", "median", "least", "most"], rows)
    ratio = statistics.median(rates["host engine"]) / statistics.median(rates["keras"])
    finish("trainer", {"keras": ratio}, {**asdict(settings), "optimizer": "adagrad"})


if __name__ == "__main__":
    main()
