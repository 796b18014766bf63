import json
import random
import subprocess
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import transforms
from transforms.errors import GraphError, SpecError
from transforms.graph import FeatureGraph, is_boundary
from transforms.nodes import CONSTANT, Node, raw, walk
from transforms.types import ColumnType, DType, Shape

STRING = ColumnType(DType.STRING, nullable=True)
INT = ColumnType(DType.INT64)
ASSET = ColumnType(DType.STRING, Shape.ASSET)
WINDOW = "window"

law = settings(max_examples=40)  # drawing graphs is slow, and small ones break a wrong law soon


@dataclass(frozen=True)
class Model:
    """What the graph asks of a bound model."""

    name: str
    roles: dict
    spec: SimpleNamespace = field(default_factory=lambda: SimpleNamespace(place=None))

    def outputs(self):
        return self.roles


def op(operator, *inputs, version=1, **parameters):
    return Node(operator, version, parameters, inputs, INT)


def constant(value):
    return Node(CONSTANT, 1, {"value": value}, (), INT)


def analyzer(operator, *inputs, **parameters):
    return Node(operator, 1, parameters, inputs, ASSET, analyzer=True)


@st.composite
def node_lists(draw):
    """Nodes that use each other, few enough names that equal ones turn up in different lists."""
    nodes = [raw(name, STRING) for name in draw(st.sets(st.sampled_from("abc"), min_size=1))]
    nodes += [constant(value) for value in draw(st.sets(st.sampled_from([0, 1, True, 1.0, "1", None]), max_size=2))]
    for _ in range(draw(st.integers(0, 8))):
        inputs = draw(st.lists(st.sampled_from(nodes), min_size=1, max_size=3))
        name = draw(st.sampled_from(["f", "g", "h", "moments"]))
        make = analyzer if name == "moments" else op
        nodes.append(make(name, *inputs, n=draw(st.integers(0, 2))))
    return nodes


@st.composite
def models(draw, name):
    nodes = draw(node_lists())
    chosen = draw(st.lists(st.sampled_from(nodes), min_size=1, max_size=5))
    return Model(name, {f"feature.f{i}": node for i, node in enumerate(chosen)})


def graphs(name):
    return models(name).map(lambda model: FeatureGraph.of([model]))


@law
@given(graphs("a"), graphs("b"))
def test_merging_is_commutative(a, b):
    assert a.merge(b) == b.merge(a)
    assert json.dumps(a.merge(b).to_json()) == json.dumps(b.merge(a).to_json())
    assert a.merge(b).components() == b.merge(a).components()


@law
@given(graphs("a"), graphs("b"), graphs("c"))
def test_merging_is_associative(a, b, c):
    assert a.merge(b).merge(c) == a.merge(b.merge(c))


@law
@given(graphs("a"), graphs("b"))
def test_merging_is_idempotent(a, b):
    both = a.merge(b)
    assert a.merge(a) == a
    assert both.merge(a) == both.merge(both) == both


@law
@given(graphs("a"), node_lists())
def test_merging_keeps_nodes_that_no_model_names(graph, nodes):
    """What a store remembers of columns that are no longer asked for."""
    remembered = FeatureGraph({}, nodes)
    for merged in (graph.merge(remembered), remembered.merge(graph)):
        assert set(merged.nodes) == {*graph.nodes, *walk(nodes)}
        assert merged.outputs == graph.outputs


@law
@given(models("a"), models("b"), st.randoms(use_true_random=False))
def test_merging_is_blind_to_names(a, b, rng):
    def renamed(model):
        roles = [f"feature.other{i}" for i in range(len(model.roles))]
        rng.shuffle(roles)
        return Model(model.name + "_renamed", dict(zip(roles, model.roles.values(), strict=True)))

    one, other = FeatureGraph.of([a, b]), FeatureGraph.of([renamed(a), renamed(b)])
    assert one.nodes == other.nodes
    assert one.column_identities(WINDOW) == other.column_identities(WINDOW)
    assert [part.identity for part in one.components()] == [part.identity for part in other.components()]


@law
@given(st.lists(models("x"), min_size=1, max_size=4), st.randoms(use_true_random=False))
def test_nothing_depends_on_the_order_of_insertion(drawn, rng):
    named = [replace(model, name=f"m{i}") for i, model in enumerate(drawn)]
    shuffled = [Model(m.name, dict(rng.sample(list(m.roles.items()), len(m.roles)))) for m in named]
    rng.shuffle(shuffled)
    one, other = FeatureGraph.of(named), FeatureGraph.of(shuffled)
    assert json.dumps(one.to_json()) == json.dumps(other.to_json())
    assert one.components() == other.components()
    assert one.analyzer_levels() == other.analyzer_levels()
    assert one.generations() == other.generations()


@law
@given(models("a"), models("b"))
def test_components_partition_the_nodes_that_are_no_boundaries(a, b):
    graph = FeatureGraph.of([a, b])
    members = [node.identity for part in graph.components() for node in part.nodes]
    assert sorted(members) == [node.identity for node in graph.nodes if not is_boundary(node)]
    part_of = {node.identity: i for i, part in enumerate(graph.components()) for node in part.nodes}
    for node in graph.nodes:
        for inner in node.inputs:
            if not is_boundary(inner):
                assert part_of[inner.identity] == part_of[node.identity]


@law
@given(models("a"), models("b"))
def test_each_node_knows_the_models_that_reach_it(a, b):
    graph = FeatureGraph.of([a, b])
    for node in graph.nodes:
        users = [model.name for model in (a, b) if node in set(walk(list(model.roles.values())))]
        assert graph.models_of(node.identity) == tuple(users)
    assert set(graph.model_nodes("a")) == set(walk(list(a.roles.values())))


@law
@given(models("a"))
def test_only_what_is_downstream_of_an_analyzer_depends_on_the_window(model):
    graph = FeatureGraph.of([model])
    one, other = graph.column_identities("one"), graph.column_identities("two")
    for node in graph.nodes:
        downstream = any(inner.analyzer for inner in walk([node]))
        assert (one[node.identity] != other[node.identity]) == downstream
        assert (one[node.identity] == node.identity) == (not downstream)
    assert len(set(one.values())) == len(graph)


@law
@given(models("a"))
def test_an_analyzer_waits_for_the_analyzers_above_it(model):
    graph = FeatureGraph.of([model])
    levels = graph.analyzer_levels()
    level_of = {node.identity: i for i, level in enumerate(levels) for node in level}
    assert sorted(level_of) == [node.identity for node in graph.nodes if node.analyzer]
    for level in levels:
        for node in level:
            above = [level_of[inner.identity] for inner in walk(node.inputs) if inner.analyzer]
            assert level_of[node.identity] == max(above, default=-1) + 1


@law
@given(models("a"), models("b"))
def test_a_graph_comes_back_from_json(a, b):
    graph = FeatureGraph.of([a, b])
    back = FeatureGraph.from_json(json.loads(json.dumps(graph.to_json())))
    assert back == graph
    assert [node.type for node in back.nodes] == [node.type for node in graph.nodes]
    assert back.column_identities(WINDOW) == graph.column_identities(WINDOW)


@law
@given(models("a"), st.data())
def test_a_subgraph_holds_what_its_nodes_are_made_from(model, data):
    graph = FeatureGraph.of([model])
    chosen = data.draw(st.lists(st.sampled_from(graph.nodes), unique=True))
    part = graph.subgraph(chosen)
    assert set(part.nodes) == set(walk(chosen))
    assert part.outputs == {output: node for output, node in graph.outputs.items() if node in chosen}
    unnamed = FeatureGraph({}, chosen)
    assert unnamed.merge(graph) == graph.merge(unnamed) == graph


def test_raw_columns_and_literals_do_not_connect():
    user = raw("user", STRING)
    model = Model("m", {"feature.a": op("hash", user, n=1), "feature.b": op("hash", user, n=2), "weight": user})
    graph = FeatureGraph.of([model])
    assert [len(part.nodes) for part in graph.components()] == [1, 1]
    literal = constant(0)
    filled = Model("m", {"feature.a": op("fill", user, literal), "feature.b": op("fill", raw("item", STRING), literal)})
    assert len(FeatureGraph.of([filled]).components()) == 2


def test_two_models_of_one_name_are_told_apart():
    one = Model("ctr", {"feature.a": op("f", raw("x", STRING))}, SimpleNamespace(place="one.yaml:1"))
    two = Model("ctr", {"feature.a": op("g", raw("x", STRING))}, SimpleNamespace(place="two.yaml:1"))
    with pytest.raises(SpecError, match=r"'ctr', in one.yaml:1 and two.yaml:1: they differ in feature.a"):
        FeatureGraph.of([one, two])
    with pytest.raises(SpecError, match="two different models are named 'ctr'"):
        FeatureGraph.of([one]).merge(FeatureGraph.of([two]))
    assert FeatureGraph.of([one, one]) == FeatureGraph.of([one])


def test_what_identities_tell_apart_makes_different_nodes():
    values = [1, "1", 1.0, True, None, float("nan"), 0, 0.0, -0.0, "", False, b"1", [1], [[1]]]
    x = raw("x", STRING)
    assert len({op("f", x, value=value).identity for value in values}) == len(values)
    y = raw("y", STRING)
    assert op("subtract", x, y) != op("subtract", y, x)
    assert raw("x", STRING) != raw("x", INT)
    assert op("f", x, version=2) != op("f", x)


def test_an_unknown_node_is_its_own_error():
    graph = FeatureGraph({("m", "label"): raw("x", INT)})
    with pytest.raises(GraphError, match="no node 'nothing'"):
        graph.node("nothing")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda stored: [], "not a stored graph"),
        (lambda stored: {}, "'nodes'"),
        (lambda stored: {**stored, "nodes": stored["nodes"][1:]}, "not a stored graph"),
        (lambda stored: {**stored, "outputs": [{"model": "m"}]}, "'role'"),
        (lambda stored: {**stored, "nodes": [{**stored["nodes"][0], "version": 2}]}, "its identity is"),
        (lambda stored: {**stored, "nodes": [{**stored["nodes"][0], "parameters": {"a": 1}}]}, "names a type"),
    ],
)
def test_a_damaged_graph_is_refused(damage, message):
    stored = FeatureGraph({("m", "label"): op("f", raw("x", INT))}).to_json()
    with pytest.raises(GraphError, match=message):
        FeatureGraph.from_json(damage(stored))


GOLDEN = {
    "raw": "fd433506e1fda524ff5095d0052b07c491e8c1b3e51dc7aa1d24346fd3d8c93f",
    "hash": "f6fefee15875a6f83e156b4d63adb46930de2d0c2674ce5ed7937ca0d2c30063",
    "vocab": "45afa5259f935cdd8f5ba9ed5cd054ec9270e34bb9ba461947b541a1c28c04f6",
    "column": "56fb39b126a85daef28cc696f03399502b4ec354907dd55fb9a23bc248cb0d23",
    "component": "9d43efb0e1c2f180f3017b67186d239e9d257f34372d070a55ff1a15c69f8478",
}


def golden():
    query = raw("query", STRING)
    hashed = op("hash", op("lower", query), buckets=1000, salt="")
    vocab = op("vocab", query, analyzer("vocabulary", query, top_k=None, min_count=1), oov=1)
    graph = FeatureGraph.of([Model("m", {"feature.h": hashed, "feature.v": vocab, "label": raw("click", INT)})])
    return {
        "raw": query.identity,
        "hash": hashed.identity,
        "vocab": vocab.identity,
        "column": graph.column_identities("0" * 64)[vocab.identity],
        "component": graph.components()[0].identity,
    }


def test_identities_are_what_they_have_always_been():
    assert golden() == GOLDEN


@pytest.mark.parametrize("seed", ["0", "1", "4711"])
def test_identities_are_the_same_in_every_process(seed, tmp_path):
    script = f"import json, runpy; print(json.dumps(runpy.run_path({__file__!r})['golden']()))"
    environment = {"PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(transforms.__file__).parents[1])}
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == GOLDEN


def test_a_deep_graph_needs_no_recursion():
    node = raw("x", INT)
    for _ in range(5000):
        node = op("add", node, constant(random.Random(0).random()))
    graph = FeatureGraph({("m", "feature.deep"): node})
    assert len(graph.generations()) == 5001
    assert FeatureGraph.from_json(graph.to_json()) == graph
