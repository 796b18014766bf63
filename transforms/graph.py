"""The feature graph: the nodes of any number of models, each once, and who uses them.

`FeatureGraph` is the one class around ``networkx.DiGraph``, and this the one module that imports it; callers ask named
questions. Nothing that it answers depends on the order in which models or nodes came. What a node *is* stands in
`transforms.nodes`; why a stored graph differs from a wanted one is `transforms.difference`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

import networkx as nx

from transforms.canonical import digest, from_tagged, tagged
from transforms.errors import GraphError, NotCanonicalError, SpecError
from transforms.nodes import CONSTANT, RAW, Node, node_digest, walk
from transforms.types import ColumnType

if TYPE_CHECKING:
    from transforms.binding import BoundModel

Output: TypeAlias = tuple[str, str]
"""A model's name and a role in it: ``feature.NAME``, ``label``, ``weight``, ``filter`` or ``split``."""


def is_boundary(node: Node) -> bool:
    """Whether ``node`` is where the graph begins (a raw column or a literal): boundaries connect nothing."""
    return node.operator in (RAW, CONSTANT)


@dataclass(frozen=True)
class Component:
    """A weakly connected part of the graph, where raw columns and literals do not connect.

    Attributes:
      nodes: its nodes, sorted by identity; no boundaries.
      models: names of the models that use any of them, sorted.
      outputs: the outputs whose node is one of them, sorted.
    """

    nodes: tuple[Node, ...]
    models: tuple[str, ...]
    outputs: tuple[Output, ...]

    @property
    def identity(self) -> str:
        """Digest of the nodes' identities: blind to names, another one when the component grows."""
        return digest({"component": [node.identity for node in self.nodes]})


class FeatureGraph:
    """Nodes and what models call them.

    Args:
      outputs: the node of each (model, role).
      nodes: further nodes to hold (a stored subgraph's, say); what they are made from comes along.
    """

    def __init__(self, outputs: Mapping[Output, Node], nodes: Iterable[Node] = ()) -> None:
        roots = [*outputs.values(), *nodes]
        everything = sorted(walk(roots), key=lambda node: node.identity)
        self._graph: Any = nx.DiGraph()
        self._graph.add_nodes_from((node.identity, {"node": node}) for node in everything)
        self._graph.add_edges_from((inner.identity, node.identity) for node in everything for inner in node.inputs)
        self._outputs = MappingProxyType(dict(sorted(outputs.items())))

    @classmethod
    def of(cls, models: Iterable[BoundModel]) -> FeatureGraph:
        """The merged graph of ``models``.

        Raises:
          SpecError: where two different models have one name.
        """
        outputs: dict[str, dict[str, Node]] = {}
        places: dict[str, str] = {}
        for model in models:
            place = str(model.spec.place or "a spec made in Python")
            roles = dict(model.outputs())
            where = f"{places.get(model.name)} and {place}"
            _check_same(model.name, outputs.setdefault(model.name, roles), roles, where)
            places[model.name] = place
        return cls({(model, role): node for model, roles in outputs.items() for role, node in roles.items()})

    def merge(self, other: FeatureGraph) -> FeatureGraph:
        """Both graphs in one: commutative, associative, idempotent.

        Raises:
          SpecError: where the two hold different models of one name.
        """
        ours, theirs = _by_model(self._outputs), _by_model(other.outputs)
        for model in sorted(ours.keys() & theirs.keys()):
            _check_same(model, ours[model], theirs[model], "two graphs")
        return FeatureGraph({**self._outputs, **other.outputs}, [*self.nodes, *other.nodes])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FeatureGraph) and self.nodes == other.nodes and self.outputs == other.outputs

    def __hash__(self) -> int:
        return hash((self.nodes, tuple(self.outputs.items())))

    def __len__(self) -> int:
        return len(self.nodes)

    def __contains__(self, identity: object) -> bool:
        return identity in self._graph

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """Every node once, sorted by identity."""
        return tuple(self.node(identity) for identity in sorted(self._graph))

    @property
    def outputs(self) -> Mapping[Output, Node]:
        """The node of each (model, role), sorted by both names."""
        return self._outputs

    def node(self, identity: str) -> Node:
        """The node of an identity.

        Raises:
          GraphError: where the graph has no such node.
        """
        if identity not in self._graph:
            raise GraphError(f"the graph has no node {identity!r}; it has {len(self._graph)} others")
        found: Node = self._graph.nodes[identity]["node"]
        return found

    @cached_property
    def models(self) -> tuple[str, ...]:
        """Names of the models, sorted."""
        return tuple(sorted({model for model, _ in self._outputs}))

    def models_of(self, identity: str) -> tuple[str, ...]:
        """Names of the models that use a node, directly or through others, sorted."""
        return self._users.get(self.node(identity).identity, ())

    @cached_property
    def _users(self) -> Mapping[str, tuple[str, ...]]:
        users: dict[str, list[str]] = {}
        for model, roles in sorted(_by_model(self._outputs).items()):
            for node in walk(list(roles.values())):
                users.setdefault(node.identity, []).append(model)
        return {identity: tuple(models) for identity, models in users.items()}

    def model_nodes(self, model: str) -> tuple[Node, ...]:
        """The nodes that one model uses, sorted by identity."""
        return tuple(node for node in self.nodes if model in self._users.get(node.identity, ()))

    def components(self) -> tuple[Component, ...]:
        """The components, in a fixed order; they partition the nodes that are no boundaries."""
        return self._components

    @cached_property
    def _components(self) -> tuple[Component, ...]:
        inner = self._graph.subgraph(node.identity for node in self.nodes if not is_boundary(node))
        parts = sorted(sorted(part) for part in nx.weakly_connected_components(inner))
        part_of = {identity: index for index, part in enumerate(parts) for identity in part}
        outputs: list[list[Output]] = [[] for _ in parts]
        for output, node in self._outputs.items():
            if node.identity in part_of:
                outputs[part_of[node.identity]].append(output)
        return tuple(
            Component(
                nodes=tuple(self.node(identity) for identity in part),
                models=tuple(sorted({model for identity in part for model in self.models_of(identity)})),
                outputs=tuple(named),
            )
            for part, named in zip(parts, outputs, strict=True)
        )

    def generations(self) -> tuple[tuple[Node, ...], ...]:
        """The nodes by the length of the longest way to them from a boundary, each generation sorted by identity."""
        return tuple(
            tuple(self.node(identity) for identity in sorted(generation))
            for generation in nx.topological_generations(self._graph)
        )

    def column_identities(self, window: str) -> Mapping[str, str]:
        """What each node's values are called in the store, by the node's identity.

        An analyzer's result depends on the chunks that it saw, and so does everything downstream of it; everything else
        is called by its node's identity.

        Args:
          window: identity of the window of chunks over which analyzers run.
        """
        bound: dict[str, str] = {}
        for node in (node for generation in self.generations() for node in generation):
            name = node_digest(node, [bound[inner.identity] for inner in node.inputs])
            bound[node.identity] = digest({"analyzer": name, "window": window}) if node.analyzer else name
        return MappingProxyType(bound)

    def analyzer_levels(self) -> tuple[tuple[Node, ...], ...]:
        """The analyzers, level by level: those of a level need only columns and the results of earlier levels."""
        levels: list[list[Node]] = []
        depth: dict[str, int] = {}
        for node in (node for generation in self.generations() for node in generation):
            above = max((depth[inner.identity] for inner in node.inputs), default=0)
            if node.analyzer:
                levels += [[]] if above == len(levels) else []
                levels[above].append(node)
            depth[node.identity] = above + node.analyzer
        return tuple(tuple(sorted(level, key=lambda node: node.identity)) for level in levels)

    def subgraph(self, nodes: Iterable[Node]) -> FeatureGraph:
        """The graph of ``nodes`` and of what they are made from, with the outputs that are among ``nodes``."""
        kept = {node.identity: self.node(node.identity) for node in nodes}
        outputs = {output: node for output, node in self._outputs.items() if node.identity in kept}
        return FeatureGraph(outputs, kept.values())

    def to_json(self) -> dict[str, Any]:
        """The graph as a JSON object: ``nodes`` (inputs before what uses them) and ``outputs``.

        A node has ``identity``, ``operator``, ``version``, ``parameters`` (each scalar tagged with its type, as in
        `transforms.canonical`), ``inputs`` (identities), ``type`` and ``analyzer``; an output ``model``, ``role`` and
        ``node``.
        """
        ordered = (node for generation in self.generations() for node in generation)
        return {
            "nodes": [_node_to_json(node) for node in ordered],
            "outputs": [
                {"model": model, "role": role, "node": node.identity} for (model, role), node in self._outputs.items()
            ],
        }

    @classmethod
    def from_json(cls, value: Any) -> FeatureGraph:
        """The graph that `to_json` wrote.

        Raises:
          GraphError: where ``value`` is no such object, or a node's identity is not that of its content.
        """
        nodes: dict[str, Node] = {}
        try:
            for item in value["nodes"]:
                node = _node_from_json(item, [nodes[identity] for identity in item["inputs"]])
                if node.identity != item["identity"]:
                    raise GraphError(
                        f"a stored node {item['operator']!r} says that its identity is {item['identity']!r}; "
                        f"its content has {node.identity!r}"
                    )
                nodes[node.identity] = node
            outputs = {(item["model"], item["role"]): nodes[item["node"]] for item in value["outputs"]}
        except (KeyError, TypeError, ValueError, AttributeError, NotCanonicalError) as error:
            raise GraphError(f"not a stored graph: {type(error).__name__}: {error}") from error
        return cls(outputs, nodes.values())


def _by_model(outputs: Mapping[Output, Node]) -> dict[str, dict[str, Node]]:
    models: dict[str, dict[str, Node]] = {}
    for (model, role), node in outputs.items():
        models.setdefault(model, {})[role] = node
    return models


def _check_same(model: str, one: Mapping[str, Node], other: Mapping[str, Node], where: str) -> None:
    if one != other:
        roles = sorted(role for role in one.keys() | other.keys() if one.get(role) != other.get(role))
        raise SpecError(f"two different models are named {model!r}, in {where}: they differ in {', '.join(roles)}")


def _node_to_json(node: Node) -> dict[str, Any]:
    return {
        "identity": node.identity,
        "operator": node.operator,
        "version": node.version,
        "parameters": {name: tagged(value) for name, value in node.parameters.items()},
        "inputs": [inner.identity for inner in node.inputs],
        "type": node.type.to_json(),
        "analyzer": node.analyzer,
    }


def _node_from_json(item: Mapping[str, Any], inputs: Sequence[Node]) -> Node:
    return Node(
        operator=item["operator"],
        version=item["version"],
        parameters={name: from_tagged(value) for name, value in item["parameters"].items()},
        inputs=tuple(inputs),
        type=ColumnType.from_json(item["type"]),
        analyzer=item["analyzer"],
    )
