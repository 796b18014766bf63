"""The training loop and evaluation: batches in, steps run, checkpoints and figures out.

What a step does is the engine's. The loop decides only how many steps run per call and what happens between calls, so
neither that nor a checkpoint nor a restart changes any parameter, bit by bit.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

import numpy as np
import tensorflow as tf

from materialized.delivery import Position
from trainer.checkpoints import KEEP, Checkpoints, Progress
from trainer.diagnosis import fault_error
from trainer.engines.contract import NO_FAULT, Schedule, Serialized, StepsRun
from trainer.errors import DivergedError, NoRowsError
from trainer.metrics import Metrics, measure
from trainer.model import Model
from trainer.progress import Show
from trainer.summaries import Summaries
from transforms.splits import written

EVALUATION_BATCH = 4096
"""Examples per batch where nothing is trained."""


class Source(Protocol):
    """Where batches come from; `materialized.reader.Reader` is one."""

    def dataset(
        self,
        *,
        batch_size: int,
        shuffle_seed: int | None = None,
        epochs: int | None = 1,
        drop_remainder: bool = False,
        start: Position | None = None,
    ) -> Any:
        """Batches as a ``tf.data.Dataset``; the same arguments give the same batches."""

    def telling(self) -> AbstractContextManager[None]:
        """Around taking batches: what the source raises is raised as itself, not as an error of TensorFlow's."""


@dataclass(frozen=True)
class Options:
    """How a training is run; none of these changes what a step does.

    Attributes:
      epochs: passes over the data; None takes the spec's.
      steps: stop after so many steps in all; None runs all epochs.
      resume: whether to go on from the newest checkpoint, if there is one.
      checkpoint_steps: a checkpoint is written every so many steps, and at the end.
      keep: how many checkpoints are kept.
      steps_per_call: steps between looks at the clock and at the loss.
      schedule: how lookups and updates overlap.
    """

    epochs: int | None = None
    steps: int | None = None
    resume: bool = False
    checkpoint_steps: int = 1000
    keep: int = KEEP
    steps_per_call: int = 50
    schedule: Schedule = field(default_factory=Serialized)

    def __post_init__(self) -> None:
        for name in ("epochs", "steps", "checkpoint_steps", "keep", "steps_per_call"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name}: expected at least 1, got {value}")

    def steps_until_stop(self, step: int) -> int:
        """How many steps to run in the next call, after ``step`` of them."""
        stops = [step + self.steps_per_call, step - step % self.checkpoint_steps + self.checkpoint_steps]
        return min(stops if self.steps is None else [*stops, self.steps]) - step


def fit(
    model: Model,
    source: Source,
    options: Options,
    progress: Progress,
    checkpoints: Checkpoints | None,
    summaries: Summaries,
    show: Show,
) -> Progress:
    """Trains ``model`` on ``source`` from ``progress`` on.

    Args:
      model: what is trained; its parameters are those of ``progress``.
      source: the training examples.
      options: how.
      progress: how far the training is.
      checkpoints: where checkpoints go, or None for nowhere.
      summaries: where figures go.
      show: called with what is going on.

    Returns:
      How far the training is when the data, the epochs or the steps end.

    Raises:
      DataError: an id is outside its table, or a dense feature, a label or a weight cannot be used.
      DivergedError: the loss, or a parameter, is not finite, and no data are the cause.
      NoRowsError: there is no batch to train on.
    """
    run = model.engine.make_step(model.loss, model.parameters, options.schedule)
    iterator = iter(_training_batches(model, source, options, progress))
    while (wanted := options.steps_until_stop(progress.step)) > 0:
        started = time.monotonic()
        with source.telling():
            done = run(iterator, wanted)
        before, progress = progress, _advanced(progress, done)
        if done.fault != NO_FAULT:
            raise _fault(model, source, options, progress, int(done.fault))
        if done.steps:
            _tell(before, progress, done, time.monotonic() - started, summaries, show)
        ended = done.steps < wanted or progress.step == options.steps
        if ended and not progress.step:
            raise _no_rows(model)
        if checkpoints is not None and (ended or progress.step % options.checkpoint_steps == 0):
            _require_finite(model, progress)
            checkpoints.save(progress, model.parts())
        if ended:
            break
    return progress


def _training_batches(model: Model, source: Source, options: Options, progress: Progress) -> Any:
    train = model.definition.train
    return source.dataset(
        batch_size=train.batch_size,
        shuffle_seed=train.seed if train.shuffle else None,
        epochs=options.epochs or train.epochs,
        drop_remainder=train.drop_remainder,
        start=None if progress.position is None else Position(*progress.position),
    )


def _advanced(progress: Progress, done: StepsRun) -> Progress:
    if not done.steps:
        return progress
    epoch, block, rows = (int(number) for number in done.position)
    return Progress(progress.step + int(done.steps), progress.examples + int(done.examples), (epoch, block, rows))


def _fault(model: Model, source: Source, options: Options, progress: Progress, fault: int) -> Exception:
    """What is wrong with the step after ``progress``, whose batch is read again."""
    batch = next(iter(_training_batches(model, source, options, progress)))
    return fault_error(fault, f"step {progress.step + 1}", batch, model.definition)


def _no_rows(model: Model) -> NoRowsError:
    train = model.definition.train
    wanted = f"a batch of {train.batch_size} rows" if train.drop_remainder else "rows"
    return NoRowsError(
        f"model {model.definition.name}: expected {wanted} to train on, found none that its filter keeps and that is "
        f"not held out (evaluate: {written(train.evaluate)})"
    )


def _require_finite(model: Model, progress: Progress) -> None:
    """Keeps parameters that are of no use out of checkpoints."""
    if name := model.not_finite():
        raise DivergedError(
            f"model {model.definition.name}, step {progress.step}: {name} is no longer finite; "
            "a smaller learning rate may prevent it"
        )


def _tell(
    before: Progress, progress: Progress, done: StepsRun, seconds: float, summaries: Summaries, show: Show
) -> None:
    loss = float(done.loss / done.weight) if done.weight else None
    rate = (progress.examples - before.examples) / max(seconds, 1e-9)
    summaries.write(progress.step, {"train/log_loss": loss, "train/examples_per_second": rate})
    epoch = progress.position[0] + 1 if progress.position else 1
    shown = "—" if loss is None else f"{loss:.4f}"
    show(f"training: epoch {epoch}, step {progress.step:,}, {rate:,.0f} examples/s, log loss {shown}")


def evaluate(model: Model, source: Source, show: Show = lambda text: None) -> Metrics:
    """How good the model's predictions for ``source`` are; changes nothing.

    Raises:
      DataError: an id is outside its table, or a dense feature, a label or a weight cannot be used.
      DivergedError: a prediction is not finite, and no data are the cause.
    """
    forward = model.engine.make_forward(model.predictions)
    parts: list[tuple[Any, Any, Any]] = [(np.zeros(0, np.float32),) * 3]
    rows = 0
    for batch in _each(source, source.dataset(batch_size=EVALUATION_BATCH)):
        logits, fault = forward(batch)
        usable = tf.reduce_all(
            tf.math.is_finite(logits) & (batch.label >= 0) & (batch.label <= 1) & (batch.weight >= 0)
        )
        if fault != NO_FAULT or not usable:
            raise fault_error(int(fault), f"evaluation, rows from {rows}", batch, model.definition)
        parts.append((batch.label.numpy(), logits.numpy(), batch.weight.numpy()))
        rows += len(parts[-1][0])
        show(f"evaluating: {rows:,} examples")
    labels, all_logits, weights = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return measure(labels, all_logits, weights)


def _each(source: Source, batches: Any) -> Iterator[Any]:
    with source.telling():
        yield from batches


def scalars(metrics: Metrics) -> dict[str, float | None]:
    """The figures of an evaluation under the names that TensorBoard shows."""
    return {f"evaluate/{name}": value for name, value in asdict(metrics).items()}
