from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.binding import bind, bind_all
from transforms.errors import SpecError
from transforms.nodes import CONSTANT, RAW, walk
from transforms.places import Place
from transforms.schema import parse_schema
from transforms.specs import (
    DatasetSpec,
    DenseFeature,
    EvaluateChunks,
    EvaluateHash,
    EvaluateTime,
    Expression,
    IdFeature,
    ModelSpec,
    TableSpec,
    Train,
)

SCHEMA = parse_schema(
    {
        "click": "bool not null",
        "price": "float64",
        "n": "int64 not null",
        "m": "int64",
        "query": "string",
        "user": "uint64",
        "tags": "list<string>",
        "numbers": "list<int64>",
        "at": "int64 not null",
        "odd name": "string not null",
    }
)
DATASET = DatasetSpec("log", ".", "parquet", time="at")


def model(let=None, dense=None, ids=None, label="click", tables=None, name="m", **more):
    """A spec written as texts; every id feature uses the table ``t``."""
    features = {
        **{key: DenseFeature(Expression(text)) for key, text in (dense or {}).items()},
        **{key: IdFeature(Expression(text), "t") for key, text in (ids or {}).items()},
    }
    expressions = {key: Expression(more.pop(key)) for key in ("weight", "filter") if key in more}
    return ModelSpec(
        model=name,
        features=features or {"n": DenseFeature(Expression("n"))},
        label=Expression(label),
        let={key: Expression(text) for key, text in (let or {}).items()},
        tables=tables if tables is not None else ({"t": TableSpec(4)} if ids else {}),
        **expressions,
        **more,
    )


def dense(text, **more):
    return bind(model(dense={"x": text}, **more), SCHEMA, DATASET).features["x"]


def said(node):
    """A node as nested calls."""
    if node.operator == RAW:
        return node.column
    if node.operator == CONSTANT:
        return repr(node.parameters["value"])
    arguments = [said(inner) for inner in node.inputs] + [f"{key}={value!r}" for key, value in node.parameters.items()]
    return f"{node.operator}({', '.join(arguments)})"


def mistakes(*specs, dataset=DATASET):
    with pytest.raises(SpecError) as caught:
        bind_all(specs, SCHEMA, dataset)
    return str(caught.value)


def test_what_a_bound_model_is():
    bound = bind(
        model(
            let={"words": "lower(query)", "size": "1_000"},
            ids={"words": "hash(words, size)", "m": "ids(m, 7)", "tags": "hash(tags, 8)"},
            dense={"p": "fill(price, 0)", "two": "cyclic(n, 24)", "yes": "n > 3"},
            weight="1 / n",
            filter="price > 1",
            train=Train(evaluate=EvaluateTime(100)),
        ),
        SCHEMA,
        DATASET,
    )
    types = {role: str(node.type) for role, node in bound.outputs().items()}
    assert types == {
        "feature.p": "float32",
        "feature.two": "float32[2]",
        "feature.yes": "float32",
        "feature.words": "list<int64>",
        "feature.m": "list<int64>",
        "feature.tags": "list<int64>",
        "label": "float32",
        "weight": "float32",
        "filter": "nullable bool",
        "split": "bool",
    }
    assert bound.name == "m"
    assert said(bound.features["words"]).startswith("to_list(hash(lower(query), buckets=1000")
    assert said(bound.split) == "greater_equal(at, 100)"


def test_one_expression_is_one_node_object_in_all_models():
    a = model(let={"x": "log1p(n)"}, dense={"a": "x + 1", "b": "x * 2"}, name="a")
    b = model(dense={"c": "log1p(n) + 1"}, name="b")
    first, second = bind_all([a, b], SCHEMA)
    assert first.features["a"] is second.features["c"]
    nodes = list(walk([*first.features.values(), *second.features.values()]))
    assert len({id(node) for node in nodes}) == len({node.identity for node in nodes})


def test_let_names_come_before_columns_and_column_means_the_raw_one():
    let = {"price": "fill(column('price'), 0)"}
    assert said(dense("price", let=let)).startswith("float32(fill(price, ")
    assert said(dense("is_missing(column('price'))", let=let)).startswith("float32(is_missing(price)")
    assert said(dense("length(column('odd name'))")).startswith("float32(length(odd name")


def test_a_let_can_be_a_literal_where_a_literal_is_wanted():
    assert dense("clip(n, low, high)", let={"low": "-1", "high": "2.5"}) == dense("clip(n, -1, 2.5)")


def test_a_dense_feature_is_rounded_once():
    assert dense("float32(n)") == dense("n")


def test_values_and_orders_that_identities_tell_apart():
    texts = ["n + 1", "n + 1.0", "1 + n", "n - 1", "1 - n", "n + -1", "n", "-n", "n * 1"]
    texts += ["query == '1'", "query == 'True'", "query == ''", "n == 1", "n == 1.0"]
    nodes = [dense(f"fill({text}, False)" if "query" in text else text) for text in texts]
    assert len({node.identity for node in nodes}) == len(texts)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("n+1", "add( n ,1 )"),
        ("0 < n < 9", "(0 < n) and (n < 9)"),
        ("n if click else 0", "where(click, n, 0)"),
        ("n not in [1, 2]", "not (n in (1, 2))"),
        ("clip(n, 0, 1)", "clip(n, 0x0, 1)"),
        ("fill(m, 1_0)", "fill(m, 10)"),
    ],
)
def test_the_same_said_otherwise_is_the_same(a, b):
    assert dense(a).identity == dense(b).identity


def test_a_chain_of_thousands_of_let_needs_no_stack():
    let = {f"v{i}": f"v{i - 1} + 1" for i in range(1, 3_000)} | {"v0": "n"}
    assert len(list(walk([dense("v2999", let=let)]))) == 3_002  # the column, the literal 1, the sums and the cast


TEXTS = {"a": "b + c", "b": "fill(price, 0)", "c": "log1p(b)", "d": "2", "e": "a * d"}


@given(st.permutations(list(TEXTS)), st.permutations(list("wxyz")))
def test_binding_does_not_depend_on_the_order_of_definitions(let_order, feature_order):
    features = {"w": "a + e", "x": "c", "y": "e - a", "z": "n * d"}
    spec = model(let=TEXTS, dense=features)
    shuffled = model(
        let={name: TEXTS[name] for name in let_order}, dense={name: features[name] for name in feature_order}
    )
    expected, found = bind(spec, SCHEMA), bind(shuffled, SCHEMA)
    assert expected.outputs() == found.outputs()
    assert list(found.features) == list(feature_order)


def test_a_cycle_is_printed_and_what_uses_it_is_not():
    let = {"z": "a", "a": "b + 1", "b": "c", "c": "a", "price": "fill(price, 0)", "ok": "n"}
    text = mistakes(model(let=let, dense={"x": "z + ok", "y": "ok"}))
    assert "model 'm', let 'a': is defined by itself: a → b → c → a\n    b + 1\n    ^^^^^" in text
    assert "let 'price': is defined by itself: price → price; the raw column is written column('price')" in text
    assert text.endswith("2 mistakes")


@pytest.mark.parametrize(
    ("text", "message", "marked"),
    [
        ("fill(prize, 0)", "unknown column 'prize' (did you mean 'price'?)", "prize"),
        ("column('lon')", "unknown column 'lon'; there are ", "column('lon')"),
        ("column('half')", "unknown column 'half'", "column('half')"),
        ("fil(price, 0)", "unknown operator 'fil' (did you mean 'fill'?)", "fil"),
        ("n(3)", "unknown operator 'n'; n is a column, and columns are not called", "n"),
        ("half(3)", "unknown operator 'half'; half is a column, and columns are not called", "half"),
        ("lower", "unknown column 'lower' (lower is an operator: lower(…))", "lower"),
        ("n if true else 0", "unknown column 'true' (did you mean True?)", "true"),
        ("hash(query, 9, slat='a')", "did you mean 'salt'?", "'a'"),
        ("1 + lower(n)", "found int64", "n"),
        ("n ++", "something is missing at its end", ""),
        ("n.m", "unsupported syntax: an attribute", "n.m"),
        ("fill(price)", "needs 'default'", "fill(price)"),
        ("3", "found the same value in all rows", "3"),
        ("half", "found the same value in all rows", "half"),
        ("log1p(half)", "found the same value in all rows", "log1p(half)"),
        ("query", "found nullable string; make it a feature of ids with hash(x, buckets) or vocab(x)", "query"),
        ("user", "found nullable uint64; make it a feature of ids", "user"),
        ("price", "found nullable float64; say what stands for a missing value with fill(x, 0)", "price"),
        ("price > 1", "found nullable bool; say what stands for a missing value with fill(x, 0)", "price > 1"),
        ("numbers", "found list<int64>; a list has no fixed size", "numbers"),
    ],
)
def test_what_is_wrong_with_a_dense_feature(text, message, marked):
    lines = mistakes(model(let={"half": "0.5"}, dense={"x": text})).split("\n")
    assert lines[0].startswith("model 'm', feature 'x': ")
    assert message in lines[0]
    assert lines[1] == f"    {text}"
    assert lines[1][len(lines[2]) - lines[2].count("^") : len(lines[2])] == marked


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("query", "ids are int64, one a row or a list, found nullable string; use hash(x, buckets) or vocab(x)"),
        ("user", "found nullable uint64; use hash(x, buckets) or vocab(x)"),
        ("price", "found nullable float64; use quantiles(x, n) or bucketize(x, [boundaries])"),
        ("click", "found bool; use where(x, 1, 0)"),
        ("tags", "found list<string>; use hash(x, buckets) or vocab(x)"),
        ("cyclic(n, 24)", "found float64[2]"),
        ("n", "ids without an upper bound need a table without end; use ids(x, n), hash(x, buckets) or vocab(x)"),
        ("hash(query, 101)", "ids go up to 100, so table 't' needs 101 rows, found 100"),
    ],
)
def test_what_is_wrong_with_a_feature_of_ids(text, message):
    assert message in mistakes(model(ids={"x": text}, tables={"t": TableSpec(4, rows=100)}))


def test_ids_that_fit_and_ids_that_only_the_data_bounds():
    tables = {"t": TableSpec(4, rows=100)}
    bound = bind(model(ids={"x": "hash(query, 100)", "y": "vocab(query)", "z": "hash(tags, 9)"}, tables=tables), SCHEMA)
    assert {str(node.type) for node in bound.features.values()} == {"list<int64>"}


def test_tables():
    assert "feature 'x': unknown table 't'; there are none" in mistakes(model(ids={"x": "hash(n, 3)"}, tables={}))
    wrong = model(ids={"x": "hash(n, 3)"}, tables={"tt": TableSpec(4)})
    assert "unknown table 't' (did you mean 'tt'?)" in mistakes(wrong)
    assert "model 'm', table 'tt' is used by no feature" in mistakes(wrong)
    included = {"t": TableSpec(4), "u": TableSpec(4, place=Place("common.yaml", 3))}
    assert bind(replace(model(ids={"x": "hash(n, 3)"}, tables=included), place=Place("m.yaml", 1)), SCHEMA)
    assert "m.yaml:3: table 'u' is used by no feature" in mistakes(
        replace(
            model(ids={"x": "hash(n, 3)"}, tables={"t": TableSpec(4), "u": TableSpec(4, place=Place("m.yaml", 3))}),
            place=Place("m.yaml", 1),
        )
    )


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"label": "query"}, "label: expected a number or a bool, one a row, found nullable string"),
        ({"label": "numbers"}, "label: expected a number or a bool, one a row, found list<int64>"),
        ({"label": "1"}, "label: expected something that depends on a column of the log, found the same value"),
        ({"weight": "click"}, "weight: expected a number, one a row, found bool"),
        ({"weight": "2"}, "weight: expected something that depends on a column of the log"),
        ({"filter": "n"}, "filter: expected a bool, one a row, found int64; a number is compared: x != 0"),
        ({"filter": "tags == 'a'"}, "filter: expected a bool, one a row, found list<bool>"),
        ({"filter": "True"}, "filter: expected something that depends on a column of the log"),
    ],
)
def test_what_is_wrong_with_label_weight_and_filter(parts, message):
    assert f"model 'm', {message}" in mistakes(model(**parts))


def test_a_label_may_be_missing_in_the_type_and_only_the_data_decides():
    assert str(bind(model(label="price > 3"), SCHEMA).label.type) == "nullable float32"


def split(evaluate, dataset=DATASET):
    bound = bind(model(train=Train(evaluate=evaluate)), SCHEMA, dataset)
    return None if bound.split is None else (said(bound.split), str(bound.split.type))


def test_splits_that_need_a_column_and_splits_that_need_none():
    assert split(None) is None
    assert split(EvaluateChunks("6:")) is None
    assert split(EvaluateHash(0.2)) is None
    assert split(EvaluateTime(1.5)) == ("greater_equal(at, 1.5)", "bool")
    assert split(EvaluateTime("2024-05-31")) == ("greater_equal(at, 1717113600)", "bool")
    assert split(EvaluateTime("2024-05-31T02:00:00+02:00")) == ("greater_equal(at, 1717113600)", "bool")
    assert split(EvaluateTime("1970-01-01T00:00:00.5Z")) == ("greater_equal(at, 0.5)", "bool")
    by_n, kind = split(EvaluateHash(0.25, Expression("n")))
    assert kind == "bool"
    assert by_n.startswith("less(hash(n, ")
    assert by_n.endswith(f", {2**30 // 4})")
    assert split(EvaluateHash(0.25, Expression("n"), seed=1))[0] != by_n


def test_rows_without_a_time_or_a_key_are_trained_on():
    nullable = replace(DATASET, time="m")
    assert split(EvaluateTime(3), nullable)[1] == "bool"
    assert split(EvaluateTime(3), nullable)[0].startswith("fill(greater_equal(m, 3), ")
    assert split(EvaluateHash(0.1, Expression("user")))[1] == "bool"


@pytest.mark.parametrize(
    ("evaluate", "dataset", "message"),
    [
        (EvaluateTime(1), None, "model 'm' evaluates by time, and the dataset names no column of time"),
        (EvaluateTime(1), replace(DATASET, time=None), "names no column of time; log should say `time: COLUMN`"),
        (EvaluateTime(1), replace(DATASET, time="att"), "the log has no column 'att' (did you mean 'at'?)"),
        (EvaluateTime(1), replace(DATASET, time="query"), "expected a number (seconds since"),
        (EvaluateTime("May"), DATASET, "expected a number, or a date or time like 2024-05-31"),
        (EvaluateHash(0.5, Expression("tags")), DATASET, "evaluate by: expected one value a row"),
        (EvaluateHash(0.5, Expression("'a'")), DATASET, "evaluate by: expected one value a row"),
        (EvaluateHash(0.5, Expression("usr")), DATASET, "evaluate by: unknown column 'usr' (did you mean 'user'?)"),
    ],
)
def test_what_is_wrong_with_a_split(evaluate, dataset, message):
    assert message in mistakes(model(train=Train(evaluate=evaluate)), dataset=dataset)


def test_all_mistakes_of_all_models_once_each_in_the_order_of_the_files():
    shared = {
        "x": Expression("nn", Place("common.yaml", 9)),
        "y": Expression("\n\n  n +\n  lowr(n)", Place("common.yaml", 3)),
    }
    a = replace(model(name="a", label="x + y"), let=shared, place=Place("a.yaml", 1))
    b = replace(model(name="b", label="mm"), let=shared, place=Place("b.yaml", 1))
    assert mistakes(a, b).split("\n") == [
        "common.yaml:6: let 'y': unknown operator 'lowr' (did you mean 'lower'?)",
        "      lowr(n)",
        "      ^^^^",
        "common.yaml:9: let 'x': unknown column 'nn' (did you mean 'n'?)",
        "    nn",
        "    ^^",
        "model 'b', label: unknown column 'mm' (did you mean 'm'?)",
        "    mm",
        "    ^^",
        "3 mistakes",
    ]


def test_two_models_of_one_name():
    a = replace(model(), place=Place("a.yaml", 1))
    b = replace(model(), place=Place("b.yaml", 2))
    assert mistakes(a, b) == "b.yaml:2: the model 'm' is given twice; first in a.yaml:1"


def test_a_model_without_features():
    assert "model 'm', the model has no features" in mistakes(replace(model(), features={}))
