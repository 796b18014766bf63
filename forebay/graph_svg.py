"""The feature graph of a plan as one SVG element; `forebay.graph_layout` says where everything goes.

Every text that comes from specs or data is escaped. Elements carry ``data-`` attributes for `forebay.graph_page`'s
script, and titles for when there is none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape

from forebay.graph_layout import HEIGHT, Box, Layout, lay_out
from forebay.wording import count, cut, models_of, roles_of, settings, which_models
from materialized.plan import Plan
from transforms.difference import describe
from transforms.nodes import Node

LEVELS = 5
"""Number of colours that say how many models share something."""


def level(models: int, all_models: int) -> int:
    """The colour, from 1, of what ``models`` of ``all_models`` share."""
    return 1 if all_models < 2 or models < 1 else 1 + round((LEVELS - 1) * (models - 1) / (all_models - 1))


def draw(plan: Plan) -> str:
    """The merged graph of ``plan``."""
    layout = lay_out(plan.graph)
    numbers = {node.identity: number for number, node in enumerate(plan.graph.nodes)}
    size = f'width="{layout.width:.0f}" height="{layout.height:.0f}"'
    box = f'viewBox="0 0 {layout.width:.0f} {layout.height:.0f}"'
    parts = [
        f'<svg id="graph" xmlns="http://www.w3.org/2000/svg" {size} {box} role="img" aria-label="feature graph">',
        *_heads(layout),
        *_components(plan, layout),
        *_edges(layout, numbers),
        *(
            _node(plan, node, layout.nodes[node.identity], numbers)
            for node in plan.graph.nodes
            if node.identity in layout.nodes
        ),
        *(_output(plan, identity, box, numbers) for identity, box in layout.outputs.items()),
        "</svg>",
    ]
    return "\n".join(parts)


def _heads(layout: Layout) -> Iterator[str]:
    heads = [(24.0, "raw columns")]
    if layout.components:
        heads.append((layout.components[0][1].x, "operators, a frame around each component"))
    if layout.outputs:
        heads.append((next(iter(layout.outputs.values())).x, "columns that models ask for"))
    for x, text in heads:
        yield f'<text class="head" x="{x:.0f}" y="24">{text}</text>'


def _components(plan: Plan, layout: Layout) -> Iterator[str]:
    for part, box in layout.components:
        who = which_models(part.models, plan.graph.models, most=8)
        title = f"component {part.identity[:12]}: {count(len(part.nodes), 'node')}, used by {who}"
        yield (
            f'<rect class="component" x="{box.x:.1f}" y="{box.y - box.height / 2:.1f}" width="{box.width:.1f}" '
            f'height="{box.height:.1f}" rx="10"><title>{escape(title)}</title></rect>'
        )


def _edges(layout: Layout, numbers: Mapping[str, int]) -> Iterator[str]:
    for edge in layout.edges:
        (x, y), *rest = edge.points
        path = f"M{x:.1f} {y:.1f}"
        for next_x, next_y in rest:
            bend = (next_x - x) / 2
            straight = next_y == y
            path += (
                f"H{next_x:.1f}"
                if straight
                else f"C{x + bend:.1f} {y:.1f} {x + bend:.1f} {next_y:.1f} {next_x:.1f} {next_y:.1f}"
            )
            x, y = next_x, next_y
        target = f"o{numbers[edge.source]}" if edge.target is None else f"n{numbers[edge.target]}"
        yield f'<path class="edge" data-from="n{numbers[edge.source]}" data-to="{target}" d="{path}"/>'


def _node(plan: Plan, node: Node, box: Box, numbers: Mapping[str, int]) -> str:
    models = plan.graph.models_of(node.identity)
    kind = "raw" if node.is_raw else f"level{level(len(models), len(plan.graph.models))}"
    kind += " analyzer" if node.analyzer else ""
    name = node.column if node.is_raw else node.operator
    below = str(node.type) if node.is_raw else settings(node)
    title = f"{describe(node, 400)}\n{node.type}, used by {which_models(models, plan.graph.models, most=8)}"
    return _box(f"n{numbers[node.identity]}", kind, box, name, below, title, models, 23 if node.is_raw else 18)


def _output(plan: Plan, identity: str, box: Box, numbers: Mapping[str, int]) -> str:
    column = plan.columns[plan.identities[identity]]
    missing = sum(column.identity in columns for columns in plan.missing.values())
    chunks = len(plan.manifest.chunks)
    status = "there" if not missing else "partly" if missing < chunks else "missing"
    models = models_of(column.labels)
    names = roles_of(column.labels)
    who = which_models(models, plan.graph.models) if len(models) < 3 else count(len(models), "model")
    below = f"{chunks - missing}/{chunks} there · {who}"
    asked = f"asked for by {', '.join(column.labels)}"
    title = f"{names}: {column.type}\n{asked}\n{chunks - missing} of {count(chunks, 'chunk')} there"
    return _box(f"o{numbers[identity]}", f"output {status}", box, names, below, title, models, 29)


def _box(
    key: str, kind: str, box: Box, name: str, below: str, title: str, models: tuple[str, ...], characters: int
) -> str:
    first = 15.0 if below else 21.0
    second = f'<text class="below" x="10" y="28">{escape(cut(below, int(characters * 1.2)))}</text>' if below else ""
    return (
        f'<g class="node {kind}" id="{key}" tabindex="0" data-models="{escape(" ".join(models))}" '
        f'transform="translate({box.x:.1f} {box.y - HEIGHT / 2:.1f})"><title>{escape(title)}</title>'
        f'<rect width="{box.width:.0f}" height="{box.height:.0f}" rx="6"/>'
        f'<text x="10" y="{first:.0f}">{escape(cut(name, characters))}</text>{second}</g>'
    )
