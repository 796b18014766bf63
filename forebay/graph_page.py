"""A plan as one HTML file: the merged graph drawn, what each model shares, and a table of columns with what is missing.

The file needs nothing else: no server, no network. Its content security policy allows its own style and script and
nothing more, and every text that comes from specs or data is escaped.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from html import escape

from forebay.graph_svg import draw, level
from forebay.page_parts import SCRIPT, STYLE
from forebay.plan_summary import Summary, reasons_of
from forebay.wording import count, models_of, percent, roles_of, which_models
from materialized.plan import Plan
from transforms.difference import describe


def page(plan: Plan) -> str:
    """The page of ``plan``."""
    summary = Summary.of(plan)
    policy = f"default-src 'none'; style-src '{_hash(STYLE)}'; script-src '{_hash(SCRIPT)}'"
    facts = json.dumps(_facts(plan)).replace("<", "\\u003c")
    title = escape(f"Feature plan of {plan.dataset.name}")
    return "\n".join(
        [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{title}</title><style>{STYLE}</style></head><body>",
            f"<h1>{title}</h1>",
            f'<p class="sub">{escape(summary.sentence)}</p>',
            *_tiles(summary),
            *(f'<p class="warning">{escape(warning)}</p>' for warning in plan.warnings),
            "<h2>Models</h2>",
            *_models(summary),
            "<h2>Feature graph</h2>",
            *_tools(plan),
            f'<div class="figure">{draw(plan)}</div>',
            "<h2>Columns</h2>",
            *_columns(plan),
            '<aside id="about" hidden><button aria-label="close">×</button><h3></h3><dl></dl></aside>',
            f'<script type="application/json" id="facts">{facts}</script>',
            f"<script>{SCRIPT}</script></body></html>",
        ]
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _tiles(summary: Summary) -> Iterator[str]:
    total = summary.total
    tiles = [
        (f"{len(summary.models)}", "models"),
        (f"{total.features:,}", f"features, {total.columns:,} distinct columns"),
        (f"{summary.nodes_before:,} → {total.nodes:,}", "nodes before → after merging"),
        (f"{total.components:,}", "components"),
        (percent(total.rate), f"hits: {total.missing:,} of {total.requested:,} to compute"),
    ]
    yield '<div class="tiles">'
    yield from (f'<div class="tile"><b>{escape(number)}</b><span>{escape(text)}</span></div>' for number, text in tiles)
    yield "</div>"


def _models(summary: Summary) -> Iterator[str]:
    heads = ["features", "nodes", "components", "columns", "asked for", "to compute", "hits"]
    yield '<div class="scroll"><table><thead><tr><th>model</th>'
    yield "".join(f'<th class="n">{head}</th>' for head in heads) + "</tr></thead><tbody>"
    for row in (*summary.models, summary.total):
        numbers = [row.features, row.nodes, row.components, row.columns, row.requested, row.missing]
        cells = "".join(f'<td class="n">{number:,}</td>' for number in numbers)
        kind = ' class="total"' if row is summary.total else ""
        yield f'<tr{kind}><td>{escape(row.name)}</td>{cells}<td class="n">{percent(row.rate)}</td></tr>'
    yield "</tbody></table></div>"


def _tools(plan: Plan) -> Iterator[str]:
    options = "".join(f"<option>{escape(name)}</option>" for name in plan.graph.models)
    yield (
        '<div class="tools"><input id="search" type="search" placeholder="find an operator, column or feature" '
        'aria-label="find"><select id="model" aria-label="model">'
        f'<option value="">all models</option>{options}</select>'
        '<span><button id="out" aria-label="smaller">−</button> <button id="fit">fit</button> '
        '<button id="in" aria-label="larger">+</button></span><span class="legend">'
    )
    models = len(plan.graph.models)
    shares: dict[int, list[int]] = {}
    for number in range(1, models + 1):
        shares.setdefault(level(number, models), []).append(number)
    for shade, numbers in sorted(shares.items()):
        text = f"{numbers[0]}" if len(numbers) == 1 else f"{numbers[0]}–{numbers[-1]}"
        noun = "model" if text == "1" else "models"
        yield f'<span><i class="swatch shade{shade}"></i>{text} {noun}</span>'
    for kind, text in (("a", "statistics"), ("t", "column there"), ("p", "partly"), ("m", "missing")):
        yield f'<span><i class="swatch edge-{kind}"></i>{text}</span>'
    yield "</span></div>"


def _columns(plan: Plan) -> Iterator[str]:
    chunks = len(plan.manifest.chunks)
    why = reasons_of(plan)
    yield '<table id="columns"><thead><tr><th>column</th><th>models</th><th>type</th><th>expression</th>'
    yield "<th>chunks there</th><th>why the others are missing</th></tr></thead><tbody>"
    for column in sorted(plan.columns.values(), key=lambda column: (roles_of(column.labels), column.identity)):
        models = models_of(column.labels)
        reasons = why.get(column.identity, ())
        there = chunks - sum(number for _, number in reasons)
        width = 100 * there / chunks if chunks else 100
        lines = "<br>".join(
            f'<span class="kind">{escape(reason.kind.value)}</span> {escape(reason.text)}'
            + (f' <span class="soft">(compared with {escape(reason.like)})</span>' if reason.like else "")
            + (f' <span class="soft">× {count(number, "chunk")}</span>' if number < chunks else "")
            for reason, number in reasons
        )
        yield (
            f'<tr data-models="{escape(" ".join(models))}"><td>{escape(roles_of(column.labels))}</td>'
            f"<td>{escape(which_models(models, plan.graph.models))}</td><td>{escape(str(column.type))}</td>"
            f"<td><code>{escape(describe(column.node, 240))}</code></td>"
            f'<td class="n"><svg class="bar" width="72" height="8"><rect class="none" width="72" height="8"/>'
            f'<rect class="some" width="{0.72 * width:.1f}" height="8"/></svg> {there:,}/{chunks:,}</td>'
            f"<td>{lines}</td></tr>"
        )
    yield "</tbody></table>"


def _facts(plan: Plan) -> Mapping[str, Sequence[object]]:
    """What the panel shows of each node and output: a title, then pairs of a term and a text."""
    facts: dict[str, Sequence[object]] = {}
    why = reasons_of(plan)
    for number, node in enumerate(plan.graph.nodes):
        shared = which_models(plan.graph.models_of(node.identity), plan.graph.models, most=20)
        common = [["expression", describe(node, 1000)], ["type", str(node.type)], ["used by", shared]]
        identities = [["node", node.identity], ["column", plan.identities[node.identity]]]
        version = [] if node.is_raw else [["operator", f"{node.operator}, version {node.version}"]]
        facts[f"n{number}"] = [node.column if node.is_raw else node.operator, *version, *common, *identities]
        column = plan.columns.get(plan.identities[node.identity])
        if column is not None:
            asked = [["asked for by", ", ".join(column.labels)]]
            missing = [
                [f"missing in {count(times, 'chunk')}", str(reason)] for reason, times in why.get(column.identity, ())
            ]
            facts[f"o{number}"] = [roles_of(column.labels), *asked, *missing, *common, *identities]
    return facts
