"""``forebay materialize``: computes what is missing, once for all models."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from forebay import arguments as common
from transforms.errors import InputError

if TYPE_CHECKING:
    from forebay.project import Project
    from pipelines.job import Summary
    from pipelines.runner import RunnerOptions

FORMATS = ("parquet", "tfrecord")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's arguments."""
    common.add_models(parser)
    common.add_data(parser)
    common.add_store(parser)
    parser.add_argument("--dry-run", action="store_true", help="say what would be done; write nothing")
    parser.add_argument(
        "--refresh", action="store_true", help="compute statistics over the chunks there are now: a new generation"
    )
    parser.add_argument("--format", choices=FORMATS, default=FORMATS[0], help="of chunk files (default: %(default)s)")
    parser.add_argument(
        "--runner", default="DirectRunner", help="a Beam runner (default: %(default)s, in this process)"
    )
    parser.add_argument("--workers", type=int, default=1, help="workers of DirectRunner (default: %(default)s)")
    parser.add_argument(
        "--worker-mode",
        choices=("threads", "processes"),
        default="threads",
        help="what they are (default: %(default)s)",
    )
    parser.add_argument(
        "--beam",
        action="append",
        default=[],
        metavar="OPTION",
        help="an option of Beam's, such as --beam=--region=europe-west1; may be given several times",
    )


def run(arguments: argparse.Namespace) -> int:
    """Computes what is missing and prints what was done."""
    if arguments.workers < 1:
        raise InputError(f"--workers: expected at least 1, found {arguments.workers}")
    from forebay.project import open_project

    options = _runner_options(arguments)
    project = open_project(arguments.models, arguments.data, arguments.store, create=not arguments.dry_run)
    if arguments.dry_run:
        _print_dry_run(project, arguments.refresh)
    else:
        print_summary(materialize(project, arguments, options))
    return 0


def _runner_options(arguments: argparse.Namespace) -> RunnerOptions | None:
    """How Beam is to run, checked before anything is read or made; None for the defaults, which need no Beam yet."""
    if arguments.runner == "DirectRunner" and arguments.workers == 1 and not arguments.beam:
        return None
    from pipelines.runner import RunnerOptions

    options = RunnerOptions(arguments.runner, arguments.workers, arguments.worker_mode, tuple(arguments.beam))
    options.pipeline_options()
    return options


def materialize(
    project: Project, arguments: argparse.Namespace | None = None, options: RunnerOptions | None = None
) -> Summary:
    """Computes what the models of ``project`` lack.

    Args:
      project: opened with ``create``.
      arguments: those of this verb; None takes the defaults.
      options: how Beam runs; None runs it in this process.

    Returns:
      What was done.
    """
    from rich.console import Console

    from pipelines import job

    if project.store is None:
        raise ValueError("the project was opened without making a store")
    return job.run(
        project.models,
        project.dataset,
        project.store,
        options,
        format=FORMATS[0] if arguments is None else arguments.format,
        refresh=arguments is not None and arguments.refresh,
        console=Console(stderr=True),
    )


def print_summary(summary: Summary) -> None:
    """Prints what a job did, as a table."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    from forebay.plan_tables import hits_line
    from forebay.wording import count

    console = Console(markup=False, highlight=False, emoji=False)
    plan = summary.plan
    computed = plan.hits.computed
    if summary.ingested or summary.statistics or computed:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for head, side in (("step", "left"), ("computed", "left"), ("seconds", "right")):
            table.add_column(head, justify=side)  # type: ignore[arg-type]
        rows = {
            "ingest": count(summary.ingested, "text file"),
            "statistics": f"{count(summary.statistics, 'statistic')} from {count(summary.partials, 'partial result')}",
            "columns": f"{computed:,} (column, chunk) in {count(summary.files, 'file')}",
        }
        for step, text in rows.items():
            table.add_row(step, text, f"{summary.seconds.get(step, 0.0):.1f}")
        console.print(table)
    for column, bad in summary.bad_values.items():
        console.print(f"{column}: {count(bad, 'bad value')} became null", style="yellow")
    for warning in summary.after.warnings:
        console.print(f"warning: {warning}", style="yellow")
    console.print(hits_line(plan), style="bold")


def _print_dry_run(project: Project, refresh: bool) -> None:
    from forebay.plan_tables import print_plan
    from forebay.wording import count
    from pipelines.job import would_be_pinned

    window = would_be_pinned(project.dataset, project.plan.manifest, project.store, refresh)
    plan = project.plan_again(window)
    print_plan(plan)
    texts = {entry.source for entry in plan.manifest if entry.rows is None}
    print(
        f"dry run: would ingest {count(len(texts), 'text file')}, compute "
        f"{count(len(plan.missing_assets), 'statistic')} and {plan.hits.computed:,} (column, chunk); "
        "nothing was written"
    )
