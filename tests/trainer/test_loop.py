from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from tests.commands import ROOT
from tests.trainer.synthetic import Rows, definition
from trainer.checkpoints import Checkpoints, Progress
from trainer.errors import DataError, DivergedError, NoRowsError
from trainer.loop import Options, evaluate, fit
from trainer.model import Model
from trainer.summaries import Summaries
from transforms.specs import Sgd

SETUP = {"model": "small"}
ROWS = 200
EPOCHS = 3


def parameters(model: Model) -> dict[str, bytes]:
    return {part.name: part.read(range(part.shape[0])).tobytes() for part in model.parts()}


def trained(directory: Path | None, rows: Rows | None = None, **options: int) -> tuple[Model, Progress]:
    """A model trained from the newest checkpoint of ``directory``, if there is one."""
    model = Model(definition(epochs=EPOCHS))
    checkpoints, progress = None, Progress()
    if directory is not None:
        checkpoints = Checkpoints(directory, SETUP)
        if checkpoints.steps():
            progress = checkpoints.restore(checkpoints.steps()[-1], model.parts())
    source = rows or Rows(ROWS)
    return model, fit(model, source, Options(**options), progress, checkpoints, Summaries(None), lambda text: None)


@pytest.fixture(scope="module")
def undisturbed() -> dict[str, bytes]:
    model, progress = trained(None)
    assert progress == Progress(7 * EPOCHS, ROWS * EPOCHS, (EPOCHS - 1, 0, ROWS))
    return parameters(model)


def test_stopped_and_resumed_is_the_same_bit_by_bit(tmp_path: Path, undisturbed: dict[str, bytes]) -> None:
    for steps in (3, 11):  # within an epoch, and across the ends of two
        _, progress = trained(tmp_path, steps=steps, steps_per_call=2, checkpoint_steps=4)
        assert progress.step == steps
        assert Checkpoints(tmp_path, SETUP).steps()[-1] == steps
    model, progress = trained(tmp_path, checkpoint_steps=4)
    assert progress.step == 7 * EPOCHS
    assert parameters(model) == undisturbed
    again, progress = trained(tmp_path)
    assert progress.step == 7 * EPOCHS
    assert parameters(again) == undisturbed


_TRAIN = """
import sys, time
from pathlib import Path
from tests.trainer.test_loop import trained
trained(Path(sys.argv[1]), steps_per_call=1, checkpoint_steps=2)
"""


def test_killed_and_resumed_is_the_same_bit_by_bit(tmp_path: Path, undisturbed: dict[str, bytes]) -> None:
    process = subprocess.Popen([sys.executable, "-c", _TRAIN, str(tmp_path)], cwd=ROOT)
    checkpoints = Checkpoints(tmp_path, SETUP)
    while len(checkpoints.steps()) < 2:
        assert process.poll() is None, "ended before it was killed"
        time.sleep(0.002)
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert checkpoints.steps()[-1] < 7 * EPOCHS
    model, _ = trained(tmp_path)
    assert parameters(model) == undisturbed


def test_training_learns(tmp_path: Path) -> None:
    rows = Rows(2000)
    model, _ = trained(None, rows)
    metrics = evaluate(model, rows)
    assert metrics.rows == 2000
    assert metrics.auc is not None
    assert metrics.auc > 0.65
    assert metrics.normalized_entropy is not None
    assert metrics.normalized_entropy < 0.97
    assert metrics.calibration == pytest.approx(1, abs=0.1)


def test_evaluation_changes_nothing() -> None:
    model = Model(definition())
    before = parameters(model)
    evaluate(model, Rows(50))
    assert parameters(model) == before


def test_evaluating_no_rows_is_possible() -> None:
    assert evaluate(Model(definition()), Rows(0)).rows == 0


@pytest.mark.parametrize(
    ("feature", "value", "error", "message"),
    [
        ("price", float("inf"), DataError, r"model small, step 3: feature 'price' is not finite \(inf\)"),
        ("label", 2.0, DataError, r"step 3: a label is 2.0; labels are in \[0, 1\]"),
        ("weight", -1.0, DataError, r"step 3: a weight is -1.0"),
        ("brand", 40, DataError, r"step 3: feature 'brand' has the id 40, and its table is word\[40, 8\]"),
    ],
)
def test_what_stops_training_is_named(feature: str, value: float, error: type[Exception], message: str) -> None:
    rows = Rows(ROWS, {feature: {70: value}})
    model = Model(definition(shuffle=False))
    with pytest.raises(error, match=message):
        fit(model, rows, Options(), Progress(), None, Summaries(None), lambda text: None)
    with pytest.raises(
        error, match=re.escape(f"evaluation, rows from 0: {message.partition(': ')[2]}".replace("\\", ""))
    ):
        evaluate(model, rows)


@pytest.mark.parametrize(("rows", "drop"), [(0, False), (3, True)])
def test_nothing_to_train_on_is_no_training(tmp_path: Path, rows: int, drop: bool) -> None:
    model = Model(definition(drop_remainder=drop))
    checkpoints = Checkpoints(tmp_path, SETUP)
    with pytest.raises(
        NoRowsError, match=r"model small: expected .*rows to train on, found none .*\(evaluate: nothing\)"
    ):
        fit(model, Rows(rows), Options(), Progress(), checkpoints, Summaries(None), lambda text: None)
    assert not checkpoints.steps()


def test_parameters_that_grow_without_end_are_not_kept(tmp_path: Path) -> None:
    model = Model(definition(optimizer=Sgd(learning_rate=1e30)))
    checkpoints = Checkpoints(tmp_path, SETUP)
    with pytest.raises(DivergedError, match=r"model small, step \d+: .*a smaller learning rate may prevent"):
        fit(model, Rows(ROWS), Options(checkpoint_steps=1), Progress(), checkpoints, Summaries(None), lambda text: None)
    for step in checkpoints.steps():
        checkpoints.restore(step, model.parts())
        assert model.not_finite() is None


def test_steps_until_stop() -> None:
    options = Options(steps=25, steps_per_call=10, checkpoint_steps=8)
    assert [options.steps_until_stop(step) for step in (0, 7, 8, 16, 24, 25)] == [8, 1, 8, 8, 1, 0]
    with pytest.raises(ValueError, match="keep: expected at least 1, got 0"):
        Options(keep=0)


def test_tensorboard_reads_what_was_written(tmp_path: Path) -> None:
    event_accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    with Summaries(tmp_path) as summaries:
        fit(Model(definition()), Rows(ROWS), Options(steps_per_call=3), Progress(), None, summaries, lambda text: None)
        summaries.write(7, {"evaluate/auc": None})
    events = event_accumulator.EventAccumulator(str(tmp_path), {event_accumulator.TENSORS: 0}).Reload()
    assert sorted(events.Tags()["tensors"]) == ["train/examples_per_second", "train/log_loss"]
    losses = events.Tensors("train/log_loss")
    assert [event.step for event in losses] == [3, 6, 7]
    assert all(np.isfinite(tf.make_ndarray(event.tensor_proto)) for event in losses)
