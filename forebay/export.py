"""``forebay export``: writes a trained model as a SavedModel that takes raw features, and checks what it serves."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from forebay import arguments as common
from transforms.errors import InputError

if TYPE_CHECKING:
    from rich.table import Table

    from trainer.export_check import CheckReport


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's arguments."""
    parser.add_argument("model", metavar="MODEL", help="model spec (a YAML file)")
    common.add_data(parser)
    common.add_store(parser)
    parser.add_argument(
        "--run",
        required=True,
        type=common.path,
        metavar="DIR",
        help="the model's run, whose newest checkpoint is exported: what `forebay train --output` keeps under its name",
    )
    parser.add_argument(
        "--output",
        required=True,
        type=common.path,
        metavar="DIR",
        help="where the export goes: a directory that is new or empty",
    )
    parser.add_argument(
        "--no-check", dest="check", action="store_false", help="do not compare what it serves with the store"
    )


def run(arguments: argparse.Namespace) -> int:
    """Exports the model and prints what was compared."""
    from rich.console import Console

    from forebay.project import open_project

    project = open_project([arguments.model], arguments.data, arguments.store, must_exist=True)
    if project.store is None:
        raise InputError(f"{arguments.store}: expected a store, found nothing")
    from trainer.export import export_model, require_free
    from trainer.training import load_trained

    require_free(arguments.output)  # before the work
    trained = load_trained(project.plan, project.models[0].name, project.store, Path(arguments.run))
    report = export_model(trained, project.plan, project.store, arguments.output, check=arguments.check)
    console = Console(markup=False, highlight=False, emoji=False)
    if report is not None:
        console.print(report_table(report))
    console.print(f"{trained.name}: exported step {trained.progress.step:,} to {arguments.output}", soft_wrap=True)
    if report is not None:
        console.print(report_line(report), soft_wrap=True)
    return 0


def report_table(report: CheckReport) -> Table:
    """What was compared: a line for each kind of output and signature."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for head in ("compared", "signature"):
        table.add_column(head, no_wrap=True)
    for head in ("outputs", "batches of", "values", "differ", "by at\nmost"):
        table.add_column(head, justify="right", no_wrap=True)
    for kind, signature in dict.fromkeys((each.kind, each.signature) for each in report.comparisons):
        same = [each for each in report.comparisons if (each.kind, each.signature) == (kind, signature)]
        table.add_row(
            kind,
            signature,
            f"{len({each.name for each in same}):,}",
            ", ".join(f"{size:,}" for size in sorted({each.batch_size for each in same})),
            f"{sum(each.compared for each in same):,}",
            f"{sum(each.differing for each in same):,}",
            f"{max(each.largest for each in same):.2g}",
        )
    return table


def report_line(report: CheckReport) -> str:
    """The check in one line."""
    largest = {
        kind: max((each.largest for each in report.comparisons if each.kind == kind), default=0.0)
        for kind in ("values", "predictions")
    }
    return (
        f"served {report.rows:,} rows of the log as it was trained: ids are equal, dense features differ by at most"
        f" {largest['values']:.2g}, predictions by at most {largest['predictions']:.2g}"
    )
