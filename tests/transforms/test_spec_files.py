import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.errors import SpecError
from transforms.places import Place
from transforms.spec_files import load_dataset, load_model, load_models
from transforms.specs import (
    Adagrad,
    DatasetSpec,
    DcnV2,
    DenseFeature,
    Dlrm,
    EvaluateChunks,
    EvaluateHash,
    EvaluateTime,
    Expression,
    IdFeature,
    Mlp,
    ModelSpec,
    Sgd,
    TableSpec,
    Train,
)

WHOLE = """model: m
let: {words: tokens(lower(query)), size: 1_000}
features:
  query: {ids: "hash(words, size)", table: t, combiner: mean}
  price: {dense: "fill(price, 0)"}
tables:
  t: {dim: 32, rows: 1000, optimizer: {adagrad: {learning_rate: 0.1}}}
label: click
filter: "country in ['US', 'CA']"
network: {dlrm: {bottom: [8], top: [8, 4]}}
train: {batch_size: 4096, evaluate: {hash: {fraction: 0.2, by: user}}}
"""

SMALL = "model: m\nfeatures:\n  n: {dense: n}\nlabel: click\n"


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Writes files into an empty working directory."""
    monkeypatch.chdir(tmp_path)

    def write(**texts):
        for name, text in texts.items():
            path = tmp_path / f"{name.replace('__', '/')}.yaml"
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)

    return write


def mistakes(*paths):
    with pytest.raises(SpecError) as caught:
        load_models(paths)
    return str(caught.value).splitlines()


def test_a_file_says_what_the_dataclasses_say(write):
    write(
        m="""
model: ctr_tokens
let:
  query_tokens: tokens(lower(query))
  buckets: 1_000
features:
  query:    {ids: "hash(query_tokens, buckets)", table: token, combiner: mean}
  price:    {dense: "zscore(log1p(fill(price, 0)))"}
tables:
  token: {dim: 32, rows: 1_000, optimizer: {adagrad: {learning_rate: 1, initial_accumulator: 0}}}
  other: {dim: 4, optimizer: sgd}
label: click
weight: "1 / sampling_rate"
filter: "country in ['US', 'CA']"
network: {dcn_v2: {cross_layers: 3, hidden: [512, 256]}}
train: {batch_size: 4096, shuffle: false, optimizer: {sgd: {learning_rate: 1e-3}}, evaluate: {chunks: "6:"}}
"""
    )
    assert load_model("m.yaml") == ModelSpec(
        model="ctr_tokens",
        let={"query_tokens": Expression("tokens(lower(query))"), "buckets": Expression("1_000")},
        features={
            "query": IdFeature(Expression("hash(query_tokens, buckets)"), "token", "mean"),
            "price": DenseFeature(Expression("zscore(log1p(fill(price, 0)))")),
        },
        tables={
            "token": TableSpec(32, 1000, Adagrad(1.0, 0.0)),
            "other": TableSpec(4, optimizer=Sgd()),
        },
        label=Expression("click"),
        weight=Expression("1 / sampling_rate"),
        filter=Expression("country in ['US', 'CA']"),
        network=DcnV2(3, hidden=(512, 256)),
        train=Train(4096, shuffle=False, optimizer=Sgd(1e-3), evaluate=EvaluateChunks("6:")),
    )


def test_what_is_written_keeps_its_place(write):
    write(m="# a comment\n" + SMALL)
    model = load_model("m.yaml")
    assert model.place == Place("m.yaml", 2, 1)
    assert model.features["n"].place == Place("m.yaml", 4, 6)
    assert model.features["n"].dense.place == Place("m.yaml", 4, 14)
    assert model.label.place == Place("m.yaml", 5, 8)


@pytest.mark.parametrize(
    ("network", "expected"),
    [
        ("mlp", Mlp()),
        ("{mlp: }", Mlp()),
        ("{mlp: {hidden: []}}", Mlp(())),
        ("{dlrm: {bottom: [1], top: [2, 3]}}", Dlrm((1,), (2, 3))),
        ("{dcn_v2: {rank: 4}}", DcnV2(rank=4)),
    ],
)
def test_networks(write, network, expected):
    write(m=f"{SMALL}network: {network}\n")
    assert load_model("m.yaml").network == expected


@pytest.mark.parametrize(
    ("evaluate", "expected"),
    [
        ("{chunks: '-2:'}", EvaluateChunks("-2:")),
        ("{chunks: {chunks: ':'}}", EvaluateChunks(":")),
        ("{time: 1_700_000_000}", EvaluateTime(1_700_000_000)),
        ("{time: {since: 2024-05-31}}", EvaluateTime("2024-05-31")),
        ("{time: 2024-05-31T12:00:00Z}", EvaluateTime("2024-05-31T12:00:00Z")),
        ("{hash: 0.2}", EvaluateHash(0.2)),
        ("{hash: {fraction: 0.2, by: user, seed: 3}}", EvaluateHash(0.2, Expression("user"), 3)),
        ("null", None),
    ],
)
def test_evaluation_splits(write, evaluate, expected):
    write(m=f"{SMALL}train: {{evaluate: {evaluate}}}\n")
    assert load_model("m.yaml").train.evaluate == expected


@pytest.mark.parametrize(
    ("text", "expected"), [("1", "1"), ("1e3", "1e3"), ("true", "True"), ("'on'", "on"), ("no", "no")]
)
def test_numbers_and_words_are_expressions(write, text, expected):
    write(m=SMALL.replace("label: click", f"label: {text}"))
    assert load_model("m.yaml").label == Expression(expected)


def test_names_that_other_yaml_readers_take_for_booleans(write):
    write(
        m="model: yes\nfeatures:\n  on: {ids: 'ids(n, 3)', table: off}\n  no: {dense: n}\n"
        "tables: {off: {dim: 2}}\nlabel: y\n"
    )
    model = load_model("m.yaml")
    assert (model.model, list(model.features), list(model.tables)) == ("yes", ["on", "no"], ["off"])


def test_all_mistakes_of_all_files_at_once(write):
    write(
        a="""
modle: a
features:
  a: {ids: n, table: t, combiner: average}
  b: {ids: n, tabel: t}
  c: {dense: f(a, b)}
  d: log1p(n)
  e: {ids: n, dense: n, table: t}
  f: {dense: [n]}
  3: {dense: n}
tables:
  t: {dim: 0, rows: many}
  u: {optimizer: adagrat}
label: {a: b}
""",
        b="""
model: a b
features: [a]
label: click
network: {mlp: {hidden: [64, x]}, dlrm: {}}
train: {batch_size: 1.5, shuffle: yes, epochs: -1, evaluate: {hash: 1}, optimizer: {sgd: {learning_rate: .inf}}}
""",
    )
    assert mistakes("a.yaml", "b.yaml") == [
        "a.yaml:2: unknown key 'modle' (did you mean 'model'?)",
        "a.yaml:2: lacks the key 'model'",
        "a.yaml:4: feature 'a': combiner: expected 'sum', 'mean' or 'sqrtn', found 'average'",
        "a.yaml:5: feature 'b': unknown key 'tabel' (did you mean 'table'?)",
        "a.yaml:5: feature 'b': lacks the key 'table'",
        "a.yaml:6: feature 'c': unknown key 'b)'; an expression with commas inside { } has to be quoted",
        "a.yaml:7: feature 'd': expected {ids: EXPRESSION, table: NAME} or {dense: EXPRESSION}, found 'log1p(n)'",
        "a.yaml:8: feature 'e': expected one of the keys 'ids' and 'dense', found both",
        "a.yaml:9: feature 'f': dense: expected an expression, found a list; "
        "one that begins with [ or { has to be quoted",
        "a.yaml:10: features: expected a name of letters a-z, digits and _ that does not begin with a digit, found '3'",
        "a.yaml:12: table 't': dim: expected greater than 0, found 0",
        "a.yaml:12: table 't': rows: expected an integer, found 'many'",
        "a.yaml:13: table 'u': optimizer: expected one of sgd, adagrad, found 'adagrat' (did you mean 'adagrad'?)",
        "a.yaml:13: table 'u': lacks the key 'dim'",
        "a.yaml:14: label: expected an expression, found a map; one that begins with [ or { has to be quoted",
        "b.yaml:2: model: expected a name of letters a-z, digits and _ that does not begin with a digit, found 'a b'",
        "b.yaml:3: features: expected a map of names to values, found a list",
        "b.yaml:5: network: expected one of mlp, dlrm, dcn_v2, found a map",
        "b.yaml:6: train: optimizer: sgd: learning_rate: expected a finite number, found inf",
        "b.yaml:6: train: evaluate: hash: fraction: expected less than 1, found 1",
        "b.yaml:6: train: batch_size: expected an integer, found 1.5",
        "b.yaml:6: train: epochs: expected greater than 0, found -1",
        "b.yaml:6: train: shuffle: expected true or false, found 'yes'",
        "23 mistakes",
    ]


def test_files_that_are_mixed_up_and_a_misspelt_include(write):
    write(a=SMALL, b="inclde: [c.yaml]\n" + SMALL)
    Path("data.yaml").write_text("dataset: log\npath: x\n")
    assert mistakes("data.yaml") == ["data.yaml:1: expected a model file, with the key 'model'; found a dataset file"]
    with pytest.raises(SpecError, match="expected a dataset file, with the key 'dataset'; found a model file"):
        load_dataset("a.yaml")
    assert mistakes("b.yaml") == ["b.yaml:1: unknown key 'inclde' (did you mean 'include'?)"]


def test_an_expression_with_a_comma_inside_braces(write):
    write(a=SMALL + "let: {n: fill(n, 0)}\n")
    (mistake,) = mistakes("a.yaml")
    assert mistake.startswith("a.yaml:5: let: '0)' has no value, and there is nothing to drop")
    assert mistake.endswith("an expression with commas inside { } has to be quoted")


def test_two_models_of_one_name(write):
    write(a=SMALL, b="# another\n" + SMALL)
    assert mistakes("a.yaml", "b.yaml") == ["b.yaml:2: the model 'm' is given twice; first in a.yaml:1"]
    assert mistakes("a.yaml", "a.yaml") == ["a.yaml: the file is given twice"]
    Path("c.yaml").symlink_to("a.yaml")
    assert mistakes("a.yaml", "./c.yaml") == ["./c.yaml: the file is given twice, also as a.yaml"]


def test_an_empty_file_and_one_that_is_not_there(write):
    write(a="")
    assert mistakes("a.yaml", "b.yaml") == [
        "a.yaml:1: expected a map of keys to values, found an empty file",
        "b.yaml: expected a YAML file: No such file or directory",
        "2 mistakes",
    ]


COMMON = """
let: {x: f(a), y: g(a)}
features:
  one: {dense: x}
  two: {dense: y}
tables: {t: {dim: 4}}
label: click
weight: w
train: {batch_size: 7, epochs: 3}
"""


def test_a_file_wins_over_what_it_includes_name_by_name(write):
    write(
        common=COMMON,
        m="""
model: m
include: [common.yaml]
let: {y: h(a)}
features:
  two: null
  three: {dense: y}
weight: null
label: tip
train: {epochs: 1, seed: null}
""",
    )
    model = load_model("m.yaml")
    assert {name: each.text for name, each in model.let.items()} == {"x": "f(a)", "y": "h(a)"}
    assert list(model.features) == ["one", "three"]
    assert (model.tables, model.label.text, model.weight) == ({"t": TableSpec(4)}, "tip", None)
    assert model.train == Train(batch_size=7, epochs=1)
    assert model.features["one"].dense.place == Place("common.yaml", 4, 16)


def test_a_later_include_wins_over_an_earlier_and_both_may_share_a_third(write):
    write(
        common=COMMON,
        a="include: common.yaml\nlet: {x: a}\nlabel: a\n",
        b="include: [common.yaml]\nlet: {x: b}\n",
        m="model: m\ninclude: [a.yaml, b.yaml]\n",
    )
    model = load_model("m.yaml")
    assert (model.let["x"].text, model.label.text) == ("b", "click")


def test_includes_are_found_beside_the_file_that_names_them(write, tmp_path, monkeypatch):
    write(specs__common=COMMON, specs__m="model: m\ninclude: [common.yaml]\n")
    assert load_model("specs/m.yaml").label.place == Place("specs/common.yaml", 7, 8)
    monkeypatch.chdir("/")
    assert load_model(tmp_path / "specs" / "m.yaml") == load_model(os.path.relpath(tmp_path / "specs" / "m.yaml"))


def test_an_include_stays_within_its_root(write, tmp_path):
    write(common=COMMON, specs__m="model: m\ninclude: [../common.yaml]\n")
    assert mistakes("specs/m.yaml")[0] == "specs/m.yaml:2: include: '../common.yaml' lies outside of specs"
    assert load_model("specs/m.yaml", root=".").label.text == "click"
    (tmp_path / "specs" / "link.yaml").symlink_to(tmp_path / "common.yaml")
    write(specs__m=f"model: m\ninclude: [link.yaml, {tmp_path}/common.yaml]\n")
    assert [line.split(": ", 1)[1] for line in mistakes("specs/m.yaml")[:2]] == [
        "include: 'link.yaml' lies outside of specs",
        f"include: '{tmp_path}/common.yaml' lies outside of specs",
    ]


def test_includes_that_cannot_be(write):
    write(
        a="include: [b.yaml]\n",
        b="include: [c.yaml]\n",
        c="include: [b.yaml]\n",
        m=SMALL + 'include: [a.yaml, none.yaml, {x: y}, "\\0"]\n',
    )
    assert mistakes("m.yaml") == [
        "m.yaml:5: include: expected a list of file names, found a map",
        "m.yaml:5: include: expected a list of file names, found '\\x00'",
        "m.yaml:5: include: there is no file none.yaml",
        "c.yaml:1: include: a file includes itself: b.yaml → c.yaml → b.yaml",
        "4 mistakes",
    ]


def test_only_what_was_included_can_be_dropped(write):
    write(common=COMMON, m="model: m\ninclude: common.yaml\nfeatures: {tow: null}\ntables: {u: null}\n")
    assert mistakes("m.yaml") == [
        "m.yaml:3: features: 'tow' has no value, and there is nothing to drop (did you mean 'two'?)",
        "m.yaml:4: tables: 'u' has no value, and there is nothing to drop; no included file defines it",
        "2 mistakes",
    ]


def test_a_mistake_in_a_shared_file_is_told_once(write):
    write(common="features:\n  x: {dens: n}\nlabel: y\n", a="model: a\ninclude: common.yaml\n")
    write(b="model: b\ninclude: common.yaml\n")
    assert len(mistakes("a.yaml", "b.yaml")) == 3  # neither ids nor dense; an unknown key; and how many


def test_what_lacks_because_of_a_broken_include_is_not_told(write):
    write(common="features: [\n", a="model: a\ninclude: common.yaml\n", b="model: b\ninclude: common.yaml\n")
    assert [line.split(": ")[0] for line in mistakes("a.yaml", "b.yaml")] == ["common.yaml:2"]


@given(
    st.integers(0, len(WHOLE)),
    st.integers(0, 12),
    st.sampled_from(
        [
            "",
            "[",
            "{",
            "}",
            ":",
            ": ",
            "\n",
            "\n  ",
            "\t",
            "'",
            '"',
            "&a ",
            "*a ",
            "-",
            "null",
            "3",
            "yes",
            "!",
            "#",
            ",",
        ]
    ),
)
def test_a_damaged_file_is_read_or_refused_and_nothing_else(tmp_path_factory, start, length, text):
    path = tmp_path_factory.getbasetemp() / "damaged.yaml"
    path.write_text(WHOLE[:start] + text + WHOLE[start + length :])
    try:
        told = str(load_model(path).place)
    except SpecError as error:
        told = str(error)
    assert str(path) in told


def test_a_dataset(write):
    write(
        d="""
dataset: taxi
path: data/trips-*.csv
format: csv
time: at
key: user
statistics: ":7"
chunk_bytes: 1_000
schema: {at: int64 not null, user: string}
"""
    )
    assert load_dataset("d.yaml") == DatasetSpec(
        name="taxi",
        path="data/trips-*.csv",
        format="csv",
        schema={"at": "int64 not null", "user": "string"},
        key="user",
        time="at",
        statistics=":7",
        chunk_bytes=1000,
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("path: x\nformat: csv\n", "d.yaml:1: lacks the key 'dataset'"),
        ("dataset: d\npath: x\nformat: jsonl\n", "d.yaml:1: jsonl files say nothing of types"),
        ("dataset: d\npath: x\nformat: tsv\n", "d.yaml:3: format: expected 'csv', 'jsonl' or 'parquet', found 'tsv'"),
        ("dataset: d\npath: x\nformat: parquet\nstatistics: 7\n", "d.yaml:4: statistics: expected text, found 7"),
        ("dataset: d\npath: x\nformat: parquet\nstatistics: '7'\n", "d.yaml:4: statistics: expected a slice of chunks"),
        ("dataset: d\npath: x\nformat: csv\nschema: {a: int}\n", r"d.yaml:4: schema: a: .*did you mean 'int64'"),
        ("dataset: d\npath: x\nformat: csv\nschema: [a]\n", "d.yaml:4: schema: expected a map"),
        ("dataset: d\npath: x\nformat: csv\nschema: {ab: int64}\ntime: abc\n", r"d.yaml:5: time: .*did you mean 'ab'"),
        (
            "dataset: d\npath: x\nformat: csv\nschema: {a: string}\ntime: a\n",
            "d.yaml:5: time: expected a column of int64",
        ),
        ("network: mlp\n", "d.yaml:1: unknown key 'network'; expected dataset, path"),
        ("dataset: d\npath: ''\nformat: parquet\n", "d.yaml:2: path: expected text that is not empty, found ''"),
    ],
)
def test_a_dataset_that_is_wrong(write, text, expected):
    write(d=text)
    with pytest.raises(SpecError, match=expected):
        load_dataset("d.yaml")
