"""Where the nodes of a feature graph go on a page: layers from left to right, components in bands from top to bottom.

Raw columns stand left, outputs right, everything else in the layer of its distance from the raw columns. Literals are
not drawn; they are written into the boxes of the operators that take them. An edge that crosses layers gets a waypoint
in each, so that it runs between boxes; edges from one node to several share waypoints. The order within layers and of
bands follows barycenters (Sugiyama, Tagawa and Toda 1981) and depends on content alone.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from transforms.graph import Component, FeatureGraph
from transforms.nodes import CONSTANT, Node

WIDTH, HEIGHT = 132.0, 34.0
"""Size of a box."""

RAW_WIDTH, OUTPUT_WIDTH = 184.0, 220.0
"""Width of the box of a raw column and of an output."""

_LAYER, _ROW, _LANE = 180.0, 42.0, 12.0
"""From layer to layer; room of a box; room of a waypoint."""

_MARGIN, _HEADER, _PADDING, _GAP, _BAND = 24.0, 22.0, 12.0, 8.0, 16.0
"""Around everything; above the first band; beside and between bands; what a band takes beside its rows."""

_SWEEPS = 6

Place: TypeAlias = "tuple[str, str, int]"
"""What takes room in a band: ("node" or "output", identity, 0), or a source's waypoint ("from", identity, layer)."""


@dataclass(frozen=True)
class Box:
    """A rectangle; ``y`` is its middle."""

    x: float
    y: float
    width: float = WIDTH
    height: float = HEIGHT


@dataclass(frozen=True)
class Edge:
    """A line from a node to a node, or to the output of that node where ``target`` is None.

    Attributes:
      source: identity of the node that it leaves.
      target: identity of the node that it enters.
      points: its way: where it leaves, waypoints, where it enters.
    """

    source: str
    target: str | None
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Layout:
    """A drawing.

    Attributes:
      nodes: the box of each node but literals, by identity.
      outputs: the box of each output, by its node's identity.
      components: each component and the box around it.
      edges: the lines.
      width: of the whole.
      height: of the whole.
    """

    nodes: Mapping[str, Box]
    outputs: Mapping[str, Box]
    components: tuple[tuple[Component, Box], ...]
    edges: tuple[Edge, ...]
    width: float
    height: float


@dataclass(frozen=True)
class _Band:
    """One component, or an output that is a raw column itself, laid out on its own; ``y`` counts from the band's top.

    An edge leads from a node to a node, or to its output (None).
    """

    component: Component | None
    y: Mapping[Place, float]
    edges: tuple[tuple[str, str | None], ...]
    height: float


def lay_out(graph: FeatureGraph) -> Layout:
    """The drawing of ``graph``."""
    layer = {node.identity: index for index, nodes in enumerate(graph.generations()) for node in nodes}
    last = max(layer.values(), default=0) + 1
    bands = _bands(graph, layer, last)
    bands, tops, raw_y = _stack(bands, [node for node in graph.nodes if node.is_raw])

    nodes = {identity: Box(_x(0), y, RAW_WIDTH) for identity, y in raw_y.items()}
    outputs: dict[str, Box] = {}
    components = []
    waypoints: dict[tuple[int, Place], float] = {}
    for index, (band, top) in enumerate(zip(bands, tops, strict=True)):
        for place, y in band.y.items():
            kind, identity, _ = place
            if kind == "output":
                outputs[identity] = Box(_x(last), top + y, OUTPUT_WIDTH)
            elif kind == "node":
                nodes[identity] = Box(_x(layer[identity]), top + y)
            else:
                waypoints[index, place] = top + y
        if band.component is not None:
            width = _LAYER * (last - 2) + WIDTH + 2 * _PADDING
            box = Box(_x(1) - _PADDING, top + band.height / 2, width, band.height - _GAP)
            components.append((band.component, box))

    edges = []
    for index, band in enumerate(bands):
        for source, target in band.edges:
            into = outputs[source] if target is None else nodes[target]
            points = [(nodes[source].x + nodes[source].width, nodes[source].y)]
            for step in range(layer[source] + 1, last if target is None else layer[target]):
                y = waypoints[index, ("from", source, step)]
                points += [(_x(step), y), (_x(step) + WIDTH, y)]
            edges.append(Edge(source, target, (*points, (into.x, into.y))))
    height = (
        max([box.y for box in nodes.values()] + [box.y for box in outputs.values()], default=0.0) + HEIGHT + _MARGIN
    )
    return Layout(nodes, outputs, tuple(components), tuple(edges), _x(last) + OUTPUT_WIDTH + _MARGIN, height)


def _x(layer: int) -> float:
    return _MARGIN + (0 if layer == 0 else layer * _LAYER + RAW_WIDTH - WIDTH)


def _bands(graph: FeatureGraph, layer: Mapping[str, int], last: int) -> list[_Band]:
    wanted = {node.identity: node for node in graph.outputs.values()}
    inside = {node.identity for part in graph.components() for node in part.nodes}
    bands = [_band(part.nodes, part, layer, wanted, last) for part in graph.components()]
    return bands + [
        _band([node], None, layer, wanted, last) for identity, node in sorted(wanted.items()) if identity not in inside
    ]


def _band(
    nodes: Sequence[Node], part: Component | None, layer: Mapping[str, int], wanted: Container[str], last: int
) -> _Band:
    layers: list[dict[Place, list[Place]]] = [{} for _ in range(last + 1)]  # of each place, what is left of it
    edges: list[tuple[str, str | None]] = []

    def reach(source: str, at: int) -> Place:
        """What stands for ``source`` in layer ``at``: itself or a waypoint, made here with all before it."""
        place: Place = ("node", source, 0)
        for step in range(layer[source] + 1, at + 1):
            layers[step].setdefault(("from", source, step), [place])
            place = ("from", source, step)
        return place

    for node in sorted(nodes, key=lambda node: (layer[node.identity], node.identity)):
        identity = node.identity
        if part is not None:
            drawn = [inner for inner in dict.fromkeys(node.inputs) if inner.operator != CONSTANT]
            edges += [(inner.identity, identity) for inner in drawn]
            at = layer[identity]
            layers[at]["node", identity, 0] = [reach(inner.identity, at - 1) for inner in drawn]
        if identity in wanted:
            layers[last]["output", identity, 0] = [reach(identity, last - 1)]
            edges += [(identity, None)] if node.operator != CONSTANT else []
    y, height = _settle(layers)
    return _Band(part, y, tuple(edges), height)


def _stack(bands: Sequence[_Band], raw: Sequence[Node]) -> tuple[list[_Band], list[float], dict[str, float]]:
    """Bands from top to bottom, the top of each, and the heights of raw columns, each near the bands that use it."""
    order = sorted(bands, key=lambda band: sorted(band.y))
    names = {node.identity: node.column for node in raw}
    heights = {identity: index * _ROW for index, identity in enumerate(sorted(names, key=lambda name: names[name]))}
    users: dict[str, list[_Band]] = {identity: [] for identity in names}
    sources = [sorted({source for source, _ in band.edges if source in names}) for band in order]
    for band, read in zip(order, sources, strict=True):
        for identity in read:
            users[identity].append(band)
    tops: dict[int, float] = {}
    for _ in range(_SWEEPS):
        means = [sum(heights[identity] for identity in read) / len(read) if read else 0.0 for read in sources]
        ranks = sorted(range(len(order)), key=lambda index: (means[index], index))
        order, sources = [order[index] for index in ranks], [sources[index] for index in ranks]
        top = _MARGIN + _HEADER
        for band in order:
            tops[id(band)] = top
            top += band.height
        wish = {}
        for identity in names:
            middles = [tops[id(band)] + band.height / 2 for band in users[identity]]
            wish["node", identity, 0] = sum(middles) / len(middles) if middles else heights[identity]
        heights = {identity: y for (_, identity, _), y in _spread(wish).items()}
    above = _MARGIN + _HEADER + _ROW / 2 - min(heights.values(), default=_MARGIN + _HEADER + _ROW / 2)
    shift = max(0.0, above)
    return order, [tops[id(band)] + shift for band in order], {name: y + shift for name, y in heights.items()}


def _settle(layers: Sequence[Mapping[Place, Sequence[Place]]]) -> tuple[dict[Place, float], float]:
    """Heights of the places of a band, and the band's height: sweeps from left to right and back, by barycenters."""
    right: dict[Place, list[Place]] = {}
    for places in layers:
        for place, lefts in places.items():
            for inner in lefts:
                right.setdefault(inner, []).append(place)
    y: dict[Place, float] = {}
    for places in layers:
        y.update(_spread({place: float(index) for index, place in enumerate(places)}))
    for sweep in range(_SWEEPS):
        forward = sweep % 2 == 0
        for places in layers if forward else reversed(layers):
            near = places if forward else {place: right.get(place, []) for place in places}
            wish = {}
            for place in places:
                known = [y[other] for other in near[place] if other in y]
                wish[place] = sum(known) / len(known) if known else y[place]
            y.update(_spread(wish))
    top = min((value - _size(place) / 2 for place, value in y.items()), default=0.0)
    y = {place: value - top + _BAND / 2 for place, value in y.items()}
    bottom = max((value + _size(place) / 2 for place, value in y.items()), default=0.0)
    return y, bottom + _BAND / 2


def _size(place: Place) -> float:
    return _LANE if place[0] == "from" else _ROW


def _spread(wish: Mapping[Place, float]) -> dict[Place, float]:
    """Heights in the order of ``wish``, as near to it as they go without overlapping."""
    # Pool neighbours that would overlap and move each pool to the mean wish of its members: least squares.
    pools: list[tuple[list[Place], float, float]] = []  # members, height of all, wished middle
    for place in sorted(wish, key=lambda place: (wish[place], place)):
        pool = ([place], _size(place), wish[place])
        while pools and pools[-1][2] + pools[-1][1] / 2 > pool[2] - pool[1] / 2 - 1e-9:
            members, height, middle = pools.pop()
            both = members + pool[0]
            total = height + pool[1]
            # What the top of the joint pool should be, asked of each member.
            top = (len(members) * (middle - height / 2) + len(pool[0]) * (pool[2] - pool[1] / 2 - height)) / len(both)
            pool = (both, total, top + total / 2)
        pools.append(pool)
    placed = {}
    for members, height, middle in pools:
        top = middle - height / 2
        for place in members:
            placed[place] = top + _size(place) / 2
            top += _size(place)
    return placed
