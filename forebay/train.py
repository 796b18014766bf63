"""``forebay train``: trains models from the store and evaluates them."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from forebay import arguments as common
from transforms.errors import InputError

if TYPE_CHECKING:
    from rich.table import Table

    from trainer.training import TrainedModel


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's arguments."""
    common.add_models(parser)
    common.add_data(parser)
    common.add_store(parser)
    common.add_runs(parser)
    parser.add_argument("--epochs", type=int, metavar="N", help="passes over the data (default: the model's)")
    parser.add_argument("--steps", type=int, metavar="N", help="stop after N steps in all")
    parser.add_argument("--resume", action="store_true", help="go on from the newest checkpoint, where there is one")
    parser.add_argument(
        "--checkpoint-steps",
        type=int,
        default=1000,
        metavar="N",
        help="write a checkpoint every N steps (default: %(default)s) and at the end",
    )


def run(arguments: argparse.Namespace) -> int:
    """Trains each model and prints a table."""
    for option in ("epochs", "steps", "checkpoint_steps"):
        value = getattr(arguments, option)
        if value is not None and value < 1:
            raise InputError(f"--{option.replace('_', '-')}: expected at least 1, found {value}")
    from rich.console import Console

    from forebay.project import open_project
    from trainer.loop import Options
    from trainer.training import train

    project = open_project(arguments.models, arguments.data, arguments.store, must_exist=True)
    if project.store is None:
        raise InputError(f"{arguments.store}: expected a store, found nothing")
    options = Options(
        epochs=arguments.epochs,
        steps=arguments.steps,
        resume=arguments.resume,
        checkpoint_steps=arguments.checkpoint_steps,
    )
    trained = []
    for model in project.models:
        directory = Path(arguments.output) / model.name
        trained.append(train(project.plan, model.name, project.store, directory, options, Console(stderr=True)))
    Console(markup=False, highlight=False, emoji=False).print(results_table(trained))
    return 0


def results_table(models: Iterable[TrainedModel]) -> Table:
    """How good models are, one a line; ``—`` for what is not defined."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    table.add_column("model", no_wrap=True)
    # In 80 columns no figure may be cut.
    for head in (
        "steps",
        "rows\ntrained",
        "rows\nheld\nout",
        "AUC",
        "log\nloss",
        "norm.\nentropy",
        "cali-\nbration",
        "log loss\nof base\nrate",
    ):
        table.add_column(head, justify="right", no_wrap=True)
    for trained in models:
        metrics = trained.metrics
        if metrics is None:
            raise ValueError(f"{trained.name} was not evaluated")
        figures = (
            metrics.auc,
            metrics.log_loss,
            metrics.normalized_entropy,
            metrics.calibration,
            metrics.base_rate_log_loss,
        )
        table.add_row(
            trained.name,
            f"{trained.progress.step:,}",
            f"{trained.progress.examples:,}",
            f"{metrics.rows:,}",
            *("—" if figure is None else f"{figure:.4f}" for figure in figures),
        )
    return table
