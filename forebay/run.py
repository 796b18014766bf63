"""``forebay run``: the whole line. Plans, materializes, trains every model, and exports one and checks it.

Each stage does only what is not done: columns that the store has are not computed, trainings that have ended are not
repeated, an export that is there is checked and left as it is. So a run that was interrupted is simply run again.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from forebay import arguments as common
from transforms.errors import InputError
from transforms.places import nearest

if TYPE_CHECKING:
    from materialized.plan import Plan
    from materialized.store import Store
    from trainer.training import TrainedModel


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's arguments."""
    common.add_models(parser)
    common.add_data(parser)
    common.add_store(parser)
    common.add_runs(parser)
    parser.add_argument(
        "--export", metavar="NAME", help="also export this model, to DIR/NAME/exports/STEP, and check what it serves"
    )


def run(arguments: argparse.Namespace) -> int:
    """Runs the line and prints what each stage did."""
    from rich.console import Console

    from forebay.materialize import materialize, print_summary
    from forebay.plan_tables import print_plan
    from forebay.project import open_project

    project = open_project(arguments.models, arguments.data, arguments.store, create=True)
    names = [model.name for model in project.models]
    if arguments.export is not None and arguments.export not in names:
        hint = nearest(arguments.export, names)
        raise InputError(f"--export: expected one of the models {', '.join(names)}, found {arguments.export!r}{hint}")
    _require_place(Path(arguments.output))
    if not project.plan.complete:
        print_plan(project.plan)
    summary = materialize(project)
    print_summary(summary)

    plan, store, output = summary.after, project.store, Path(arguments.output)
    if store is None:
        raise ValueError("the project was opened without making a store")
    from forebay.train import results_table

    ended = {name: _steps_before(output / name) for name in names}
    trained = _train(names, plan, store, output)
    repeated = [model.name for model in trained if model.progress.step == ended[model.name]]
    console = Console(markup=False, highlight=False, emoji=False)
    console.print(results_table(trained))
    if repeated:
        console.print(f"trained before, now only evaluated: {', '.join(repeated)}")
    for model in trained:
        if model.name == arguments.export:
            console.print(_export(model, plan, store, output), soft_wrap=True)
    return 0


def _require_place(output: Path) -> None:
    """Refuses an output that cannot be a directory, before hours of work for it."""
    found = next(path for path in (output.absolute(), *output.absolute().parents) if path.exists())
    if not found.is_dir():
        raise InputError(f"--output: expected a directory, or a place for one, found the file {found}")
    if not os.access(found, os.W_OK | os.X_OK):
        raise InputError(f"--output: {found} cannot be written")


def _train(names: list[str], plan: Plan, store: Store, output: Path) -> list[TrainedModel]:
    """Every model, from its newest checkpoint on if it has one."""
    from rich.console import Console

    from trainer.loop import Options
    from trainer.training import train

    options, progress = Options(resume=True), Console(stderr=True)
    return [train(plan, name, store, output / name, options, progress) for name in names]


def _steps_before(directory: Path) -> int | None:
    """Steps of the run's newest checkpoint, or None."""
    from trainer.checkpoints import Checkpoints
    from trainer.training import CHECKPOINTS

    return max(Checkpoints(directory / CHECKPOINTS, {}).steps(), default=None)


def _export(trained: TrainedModel, plan: Plan, store: Store, output: Path) -> str:
    """Exports a model unless that was done, and says how what is served compares with what was trained on.

    Servers look for numbered versions of a model, the highest of which they serve; the number is the training step.
    """
    from forebay.export import report_line
    from trainer.export import export_model
    from trainer.export_check import check_export

    directory = output / trained.name / "exports" / str(trained.progress.step)
    before = directory.exists()
    report = check_export(directory, trained, plan, store) if before else export_model(trained, plan, store, directory)
    return (
        f"{trained.name}: exported {'before ' if before else ''}to {directory}\n{report_line(report) if report else ''}"
    )
