"""A plan as tables on a terminal."""

from __future__ import annotations

from collections.abc import Iterable

from rich import box
from rich.console import Console
from rich.table import Table

from forebay.plan_summary import Group, Summary, grouped_reasons, sharing
from forebay.wording import count, listing, models_of, percent, roles_of, which_models
from materialized.plan import Plan
from transforms.graph import Component

MOST_ROWS = 40
"""Rows of a table; what does not fit is counted, and is in ``--json`` and ``--html``."""


def print_plan(plan: Plan, console: Console | None = None) -> None:
    """Prints ``plan``."""
    # Names from specs and data are text: no markup, no guesses about numbers and paths in them.
    console = console or Console(markup=False, highlight=False, emoji=False)
    summary = Summary.of(plan)
    console.print(summary.sentence)
    console.print(_models(summary))
    console.print(
        f"{count(summary.nodes_before, 'node')} before merging, {len(plan.graph):,} after; used by: "
        + ", ".join(f"{count(models, 'model')} {nodes:,}" for models, nodes in sharing(plan.graph).items())
        + " (without raw columns and literals)"
    )
    console.print(_components(plan))
    if plan.missing:
        console.print(_missing(plan))
    for identity, node in plan.missing_assets.items() if not plan.missing else ():
        console.print(f"statistic not there: {node.operator} {identity[:12]}")
    for warning in plan.warnings:
        console.print(f"warning: {warning}", style="yellow")
    console.print(hits_line(plan), style="bold")


def hits_line(plan: Plan) -> str:
    """``hits 74.5 %: 846 (model, column, chunk) asked for, 216 (column, chunk) to compute``."""
    done = "nothing to compute" if plan.complete else f"{plan.hits.computed:,} (column, chunk) to compute"
    return f"hits {percent(plan.hits.rate)}: {plan.hits.requested:,} (model, column, chunk) asked for, {done}"


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        number = column.startswith("#")
        table.add_column(column.lstrip("#"), justify="right" if number else "left", no_wrap=number, overflow="fold")
    return table


def _models(summary: Summary) -> Table:
    heads = ("#features", "#nodes", "#components", "#columns", "#asked\nfor", "#to\ncompute", "#hits")
    table = _table("Models", "model", *heads)
    for row in (*summary.models, summary.total):
        numbers = (row.features, row.nodes, row.components, row.columns, row.requested, row.missing)
        last = row is summary.models[-1]
        table.add_row(row.name, *(f"{number:,}" for number in numbers), percent(row.rate), end_section=last)
    return table


def _components(plan: Plan) -> Table:
    parts = sorted(plan.graph.components(), key=lambda part: (-len(part.models), -len(part.nodes), part.identity))
    table = _table(f"Components ({len(parts):,})", "#models", "used by", "#nodes", "from", "columns")
    for part in parts[:MOST_ROWS]:
        users = which_models(part.models, plan.graph.models)
        names = sorted({roles_of([f"{model}.{role}"]) for model, role in part.outputs})
        table.add_row(str(len(part.models)), users, f"{len(part.nodes):,}", listing(_raw(part), 3), listing(names, 4))
    _more(table, len(parts) - MOST_ROWS, 5)
    return table


def _raw(part: Component) -> list[str]:
    return sorted({inner.column for node in part.nodes for inner in node.inputs if inner.is_raw})


def _missing(plan: Plan) -> Table:
    groups = grouped_reasons(plan)
    chunks = len(plan.manifest.chunks)
    table = _table(f"Missing ({plan.hits.computed:,} of (column, chunk))", "column", "why", "#chunks")
    for group in groups[:MOST_ROWS]:
        like = f" (compared with {group.reason.like})" if group.reason.like else ""
        table.add_row(_columns(plan, group), f"{group.reason}{like}", f"{len(group.chunks):,} of {chunks:,}")
    _more(table, len(groups) - MOST_ROWS, 3)
    return table


def _columns(plan: Plan, group: Group) -> str:
    if len(group.columns) == len(plan.columns) and len(group.columns) > 1:
        return f"all {len(group.columns):,} columns"
    labels = [plan.columns[identity].labels for identity in group.columns]
    if len(labels) == 1:
        return f"{roles_of(labels[0])} ({which_models(models_of(labels[0]), plan.graph.models, most=2)})"
    names: Iterable[str] = sorted(roles_of(each) for each in labels)
    return listing(list(names), 4)


def _more(table: Table, number: int, width: int) -> None:
    if number > 0:
        table.add_row(*["…"] * (width - 1), f"{number:,} more")
