import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transforms.difference import History, Kind, Statistics, StoredColumn, describe, differences
from transforms.nodes import CONSTANT, Node, raw
from transforms.types import ColumnType, DType, Shape

STRING = ColumnType(DType.STRING, nullable=True)
FLOAT = ColumnType(DType.FLOAT64, nullable=True)
INT = ColumnType(DType.INT64)
ASSET = ColumnType(DType.STRING, Shape.ASSET)

QUERY, USER, FARE = raw("query", STRING), raw("user", STRING), raw("fare", FLOAT)


def op(operator, *inputs, version=1, **parameters):
    return Node(operator, version, parameters, inputs, INT)


def literal(value):
    return Node(CONSTANT, 1, {"value": value}, (), INT)


def vocab(node, top_k=10):
    return op("vocab", node, Node("vocabulary", 1, {"top_k": top_k}, (node,), ASSET, analyzer=True), oov=1)


def column(node, *labels, identity=None, statistics=None):
    return StoredColumn(identity or node.identity, node, labels, statistics)


@pytest.mark.parametrize(
    ("new", "old", "kind", "text"),
    [
        (op("hash", QUERY, n=2000), op("hash", QUERY, n=1000), Kind.CHANGED_PARAMETER, "hash.n: 1000 -> 2000"),
        (op("hash", QUERY, salt="a"), op("hash", QUERY), Kind.CHANGED_PARAMETER, "hash.salt: (none) -> 'a'"),
        (op("f", QUERY, n=1.0), op("f", QUERY, n=1), Kind.CHANGED_PARAMETER, "f.n: 1 -> 1.0"),
        (op("hash", QUERY, version=2), op("hash", QUERY), Kind.OPERATOR_VERSION, "hash: version 1 -> 2"),
        (op("hash", USER), op("hash", QUERY), Kind.OTHER_RAW_COLUMN, "raw column query -> user"),
        (op("f", raw("fare", INT)), op("f", FARE), Kind.RAW_SCHEMA, "raw column fare: nullable float64 -> int64"),
        (op("log1p", FARE), FARE, Kind.NEW_OPERATOR, "log1p around fare"),
        (op("hash", op("lower", QUERY)), op("hash", QUERY), Kind.NEW_OPERATOR, "lower around query"),
        (op("hash", QUERY), op("hash", op("lower", QUERY)), Kind.CHANGED_INPUT, "lower is no longer around query"),
        (op("log1p", FARE), op("log", FARE), Kind.NEW_OPERATOR, "log -> log1p"),
        (op("fill", FARE, literal(1)), op("fill", FARE, literal(0)), Kind.CHANGED_PARAMETER, "literal in fill: 0 -> 1"),
        (op("f", literal(2)), op("f", FARE), Kind.CHANGED_INPUT, "fare -> 2"),
        (op("minus", FARE, USER), op("minus", USER, FARE), Kind.CHANGED_INPUT, "order of the arguments of minus"),
        (op("cross", QUERY, USER, FARE), op("cross", QUERY, USER), Kind.CHANGED_INPUT, "cross takes fare"),
        (op("cross", QUERY, QUERY), op("cross", QUERY), Kind.CHANGED_INPUT, "cross takes 2 inputs, not 1"),
        (op("cross", QUERY), op("cross", QUERY, USER), Kind.CHANGED_INPUT, "cross no longer takes user"),
        (vocab(QUERY, 20), vocab(QUERY, 10), Kind.CHANGED_PARAMETER, "vocabulary.top_k: 10 -> 20"),
    ],
)  # fmt: skip
def test_one_difference_is_named(new, old, kind, text):
    (found,) = differences(new, old)
    assert (found.kind, found.text) == (kind, text)
    assert found.symbol


def test_each_difference_is_named_once_and_the_first_kind_leads():
    new = op("cross", op("hash", USER, buckets=20), op("lower", op("hash", USER, buckets=20, version=2)))
    old = op("cross", op("hash", QUERY, buckets=10), op("hash", QUERY, buckets=10))
    assert [difference.text for difference in differences(new, old)] == [
        "hash: version 1 -> 2",
        "lower around hash(query, buckets=10)",
        "raw column query -> user",
        "hash.buckets: 10 -> 20",
    ]


@st.composite
def nodes(draw):
    made = [QUERY, FARE, literal(draw(st.integers(0, 2)))]
    for _ in range(draw(st.integers(1, 6))):
        inputs = draw(st.lists(st.sampled_from(made), min_size=1, max_size=2))
        version = draw(st.integers(1, 2))
        made.append(op(draw(st.sampled_from("fg")), *inputs, version=version, n=draw(st.integers(0, 2))))
    return made[-1]


@settings(max_examples=50)
@given(nodes(), nodes())
def test_there_are_differences_exactly_between_different_nodes(new, old):
    assert bool(differences(new, old)) == (new != old)
    assert differences(new, new) == ()


def test_a_column_with_the_same_label_is_what_a_changed_one_is_compared_with():
    history = History([column(op("hash", QUERY, buckets=10), "m.feature.q"), column(op("hash", USER), "m.feature.u")])
    reason = history.explain(column(op("hash", op("lower", QUERY), buckets=10), "m.feature.q"))
    assert (reason.kind, reason.symbol, reason.like) == (Kind.NEW_OPERATOR, "lower", "m.feature.q")
    assert str(reason) == "new operator: lower around query"


def test_of_several_columns_with_a_label_the_nearest_is_compared():
    versions = [op("hash", QUERY, buckets=10), op("hash", op("lower", USER), buckets=10), op("vocab", QUERY)]
    history = History(column(node, "m.feature.q") for node in versions)
    assert history.explain(column(op("hash", QUERY, buckets=20), "m.feature.q")).text == "hash.buckets: 10 -> 20"


def test_a_new_model_is_compared_by_what_its_expressions_are_made_of():
    history = History([column(op("quantiles", FARE, n=20), "tip.feature.step")])
    reason = history.explain(column(op("quantiles", FARE, n=100), "tip_fine.feature.step"))
    assert (reason.kind, reason.text) == (Kind.CHANGED_PARAMETER, "quantiles.n: 20 -> 100")
    assert reason.like == "tip.feature.step"


def test_what_nothing_is_like_is_a_new_feature_or_a_new_operator():
    history = History([column(op("hash", QUERY), "m.feature.q")])
    assert history.explain(column(op("hash", FARE), "m.feature.f")).kind is Kind.NEW_FEATURE
    new = history.explain(column(op("hash", op("bigrams", FARE)), "m.feature.b"))
    assert (new.kind, new.text) == (Kind.NEW_OPERATOR, "no stored column uses bigrams")


def test_the_same_expression_over_other_statistics_is_a_new_window():
    def stored(identity, dataset, generation):
        return column(vocab(QUERY), "m.feature.q", identity=identity, statistics=Statistics(dataset, generation))

    history = History([stored("one", "clicks", 1), stored("two", "clicks", 2), stored("three", "views", 7)])
    reason = history.explain(stored("four", "clicks", 3))
    assert (reason.kind, reason.symbol) == (Kind.NEW_WINDOW, "vocabulary(query, top_k=10)")
    assert "generation 2 -> 3 of the statistics of clicks" in reason.text
    assert "views" in History([stored("three", "views", 7)]).explain(stored("four", "clicks", 1)).text
    assert "other chunks" in history.explain(stored("five", "clicks", 2)).text


def test_a_history_knows_its_columns():
    history = History([column(QUERY, "a.label"), column(QUERY, "b.label"), column(USER)])
    assert QUERY.identity in history
    assert FARE.identity not in history
    assert len(history) == 2


def test_a_node_is_described_as_one_would_write_it():
    assert describe(op("fill", op("lower", QUERY), literal("x"), n=2)) == "fill(lower(query), 'x', n=2)"
    deep = FARE
    for _ in range(5000):
        deep = op("add", deep, deep)
    assert describe(deep) == describe(deep, 60)
    assert len(describe(deep)) == 60
