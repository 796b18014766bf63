"""Training a model of a plan from start to end: what the verbs `train`, `export` and `run` call.

A run's directory has ``checkpoints/`` (`trainer.checkpoints`), ``summaries/`` for TensorBoard and ``evaluation.json``.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console

from materialized.plan import Plan
from materialized.reader import Reader
from materialized.store import Store
from trainer.checkpoints import Checkpoints, Progress
from trainer.definitions import MODEL_SETUP, bound_model, define, setup_of
from trainer.errors import RunError
from trainer.loop import Options, evaluate, fit, scalars
from trainer.metrics import Metrics
from trainer.model import Model
from trainer.progress import watched
from trainer.summaries import DIRECTORY as SUMMARIES
from trainer.summaries import Summaries
from transforms.binding import BoundModel

CHECKPOINTS = "checkpoints"
EVALUATION = "evaluation.json"


@dataclass(frozen=True, eq=False)
class TrainedModel:
    """A model after training.

    Attributes:
      bound: what it was trained as.
      model: its definition and parameters.
      progress: how far it is trained.
      metrics: over the rows held out (none of them: all figures None), or None where it was only loaded.
      directory: its run's directory, or None.
    """

    bound: BoundModel
    model: Model
    progress: Progress
    metrics: Metrics | None
    directory: Path | None

    @property
    def name(self) -> str:
        """The model's name."""
        return self.bound.name


def train(
    plan: Plan,
    name: str,
    store: Store,
    directory: str | Path | None = None,
    options: Options | None = None,
    console: Console | None = None,
) -> TrainedModel:
    """Trains and evaluates a model from materialized columns.

    Args:
      plan: has the model; the store must lack none of its columns.
      name: the model's name.
      store: where the columns are.
      directory: of the run; None keeps nothing.
      options: how to run it.
      console: where progress is shown if it takes long.

    Returns:
      The trained model.

    Raises:
      RunError: the directory has a run already and is not to be resumed, or cannot be written.
      SetupMismatchError: it has a run of another model, data or training.
      NotMaterializedError: the store lacks something.
      DivergedError, DataError: training cannot go on.
    """
    options = options or Options()
    directory = None if directory is None else Path(directory)
    definition = define(plan, name, store)
    source, held_out = Reader.of(plan, name, store, "train"), Reader.of(plan, name, store, "evaluate")
    checkpoints = None
    if directory is not None:
        checkpoints = Checkpoints(directory / CHECKPOINTS, setup_of(plan, name, definition), options.keep)
        _prepare(directory, checkpoints, options.resume)
    model = Model(definition)
    progress = Progress()
    if checkpoints is not None and checkpoints.steps():
        progress = checkpoints.restore_newest(model.parts())
    with watched(console) as show_line, Summaries(None if directory is None else directory / SUMMARIES) as summaries:

        def show(text: str) -> None:
            show_line(f"{name}: {text}")

        progress = fit(model, source, options, progress, checkpoints, summaries, show)
        metrics = evaluate(model, held_out, show)
        summaries.write(progress.step, scalars(metrics))
    if directory is not None:
        _write_evaluation(directory, progress, metrics)
    return TrainedModel(bound_model(plan, name), model, progress, metrics, directory)


def load_trained(plan: Plan, name: str, store: Store, directory: str | Path) -> TrainedModel:
    """A model as its run's newest checkpoint has it. The data may have grown since; the model must be the same.

    Raises:
      RunError: the directory has no checkpoint.
      SetupMismatchError: its checkpoint belongs to another model.
      CheckpointError: its checkpoint is damaged.
    """
    directory = Path(directory)
    definition = define(plan, name, store)
    checkpoints = Checkpoints(directory / CHECKPOINTS, setup_of(plan, name, definition))
    if not checkpoints.steps():
        raise RunError(
            f"{directory}: expected a run of model {name} with a checkpoint, found none; `forebay train` makes one"
        )
    model = Model(definition)
    progress = checkpoints.restore_newest(model.parts(), only=MODEL_SETUP)
    return TrainedModel(bound_model(plan, name), model, progress, None, directory)


def _prepare(directory: Path, checkpoints: Checkpoints, resume: bool) -> None:
    """Makes the run's directory, or refuses what is there."""
    if checkpoints.steps() and not resume:
        raise RunError(
            f"{directory} has a run already, with a checkpoint of step {checkpoints.steps()[-1]}; "
            "resume it (--resume), or train into another directory"
        )
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunError(f"{directory}: cannot be made: {error.strerror}") from error
    if not os.access(directory, os.W_OK | os.X_OK):
        raise RunError(f"{directory}: cannot be written")


def _write_evaluation(directory: Path, progress: Progress, metrics: Metrics) -> None:
    text = json.dumps({"step": progress.step, "examples": progress.examples, **asdict(metrics)}, indent=1)
    temporary = directory / f".{EVALUATION}-{os.getpid()}"
    temporary.write_text(text + "\n", encoding="utf-8")
    temporary.replace(directory / EVALUATION)
