"""Compiled functions: what is shared, what is refused, and that a column does not depend on its neighbours."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import tensorflow as tf

from transforms import operators
from transforms.assets import Asset, Moments, Vocabulary
from transforms.compiler import Transform, compile_nodes
from transforms.errors import ForebayError, InputError
from transforms.nodes import Node, raw
from transforms.operators import Literal
from transforms.types import ColumnType, DType, Shape
from transforms.values import Nullable

X = raw("x", ColumnType(DType.FLOAT64, nullable=True))
Y = raw("y", ColumnType(DType.FLOAT64))
WORDS = raw("words", ColumnType(DType.STRING, Shape.RAGGED))


def call(name: str, *arguments: object, **named: object) -> Node:
    given = [item if isinstance(item, Node) else Literal(item) for item in arguments]
    return operators.find(name).call(given, {key: Literal(value) for key, value in named.items()})


def run(nodes: Mapping[str, Node], table: pa.Table, assets: Mapping[str, Asset] | None = None) -> pa.Table:
    return compile_nodes(nodes, assets or {}).apply(table)


def count_operations(transform: Transform, kind: str) -> int:
    graph = transform._function.get_concrete_function().graph
    return sum(operation.type == kind for operation in graph.get_operations())


def test_inputs_and_outputs() -> None:
    transform = compile_nodes({"b": call("size", WORDS), "a": call("add", X, Y)}, {})
    assert dict(transform.inputs) == {"words": WORDS.type, "x": X.type, "y": Y.type}
    assert list(transform.outputs) == ["b", "a"]
    table = pa.table({"unused": [1, 2], "y": [0.5, 1.0], "words": [["a"], None], "x": [1.0, None]})
    found = transform.apply(table)
    assert found.schema == pa.schema({"b": pa.int64(), "a": pa.float64()})
    assert found.to_pydict() == {"b": [1, 0], "a": [1.5, None]}


def test_tensors_in_and_out() -> None:
    transform = compile_nodes({"sum": call("add", X, Y), "size": call("size", WORDS), "words": WORDS, "x": X}, {})
    words = tf.RaggedTensor.from_row_lengths(["a", "b"], tf.constant([2, 0], tf.int64))
    x = Nullable(tf.constant([1.0, 0.0], tf.float64), tf.constant([True, False]))
    found = transform({"x": x, "y": tf.constant([1.0, 2.0], tf.float64), "words": words})
    assert isinstance(found["sum"], Nullable)
    assert found["sum"].values.numpy().tolist() == [2.0, 0.0]  # zero where missing
    assert found["sum"].present.numpy().tolist() == [True, False]
    assert found["size"].numpy().tolist() == [2, 0]
    assert found["words"].to_list() == [[b"a", b"b"], []]


def test_what_is_shared_is_computed_once() -> None:
    tokens = call("tokens", call("strip", raw("text", ColumnType(DType.STRING))))
    again = call("tokens", call("strip", raw("text", ColumnType(DType.STRING))))
    nodes = {"hash": call("hash", tokens, 10), "size": call("size", again), "same": call("hash", again, 10)}
    transform = compile_nodes(nodes, {})
    assert count_operations(transform, "StringStrip") == count_operations(transform, "StringSplitV2") == 1
    assert count_operations(transform, "StringToHashBucketFast") == 1


def test_literals_alone_fill_every_row() -> None:
    nodes = {
        "one": call("add", 1, 0),
        "text": call("tokens", "a b"),
        "half": call("divide", 1, 2),
        "none": call("where", True, None, 1),
        "turn": call("cyclic", 0, 24),
    }
    found = run(nodes, pa.table({"unused": [1, 2]})).to_pydict()
    assert found["one"] == [1, 1]
    assert found["text"] == [["a", "b"]] * 2
    assert found["half"] == [0.5, 0.5]
    assert found["none"] == [None, None]
    assert found["turn"] == [[0.0, 1.0]] * 2
    assert run({"one": nodes["one"]}, pa.table({"unused": pa.array([], pa.int64())})).num_rows == 0
    with pytest.raises(InputError, match="rows"):
        compile_nodes({"one": nodes["one"]}, {})({})


def test_a_column_does_not_depend_on_what_is_compiled_with_it() -> None:
    """The graph optimizer may not replace divisions, reorder sums or fuse functions: it would, left alone."""
    draw = np.random.default_rng(0)
    values = draw.lognormal(0, 2, 997)
    table = pa.table({"y": values})
    thirds = call("divide", Y, 3.7)
    nodes = {
        "divided": thirds,
        "twice": call("multiply", thirds, 1.9),
        "sums": call("add", call("add", Y, 0.1), 0.7),
        "factors": call("add", call("multiply", Y, 0.3), call("multiply", Y, 0.9)),
        "long": call("add", call("add", Y, thirds), call("add", call("multiply", Y, Y), call("sqrt", Y))),
        "root": call("divide", Y, call("sqrt", call("add", Y, 1.0))),
        "log": call("log", call("add", Y, 1.0)),
        "nested": call("exp", call("negative", call("sqrt", Y))),
        "cube": call("power", Y, 3.0),
    }
    together = run(nodes, table)
    for name, node in nodes.items():
        assert together[name].equals(run({name: node}, table)[name]), name
    exact = {
        "divided": values / 3.7,
        "twice": values / 3.7 * 1.9,
        "sums": values + 0.1 + 0.7,
        "factors": values * 0.3 + values * 0.9,
        "long": (values + values / 3.7) + (values * values + np.sqrt(values)),
        "root": values / np.sqrt(values + 1.0),
    }
    for name, expected in exact.items():
        assert np.array_equal(together[name].to_numpy(), expected), name


def test_integers_wrap_around_and_do_not_trap() -> None:
    left, right = (raw(name, ColumnType(DType.INT64)) for name in ("left", "right"))
    least, greatest = -(2**63), 2**63 - 1
    table = pa.table({"left": [least, least, greatest, 7, 0], "right": [-1, 0, 1, -2, 0]})
    nodes = {name: call(name, left, right) for name in ("add", "multiply", "floor_divide", "modulo")}
    nodes |= {"by_minus_one": call("floor_divide", left, -1), "by_zero": call("modulo", left, 0)}
    nodes |= {"abs": call("abs", left)}
    assert run(nodes, table).to_pydict() == {
        "add": [greatest, least, least, 5, 0],
        "multiply": [least, 0, greatest, -14, 0],
        "floor_divide": [least, None, greatest, -4, None],
        "modulo": [0, None, 0, -1, None],
        "by_minus_one": [least, least, -greatest, -7, 0],
        "by_zero": [None] * 5,
        "abs": [least, least, greatest, 7, 0],
    }


def test_unsigned_integers_keep_their_value() -> None:
    column = raw("u", ColumnType(DType.UINT64, nullable=True))
    values = [0, 2**63 - 1, 2**63, 2**64 - 1, None]
    nodes = {
        "same": column,
        "hash": call("hash", column, 10**6),
        "text": call("hash", call("cast", column, "string"), 10**6),
        "cross": call("cross", column, "z"),
        "float": call("float32", column),
        "in": call("is_in", column, [2**64 - 1, 0]),
        "vocab": call("vocab", column),
    }
    vocabulary = Vocabulary((str(2**63).encode(), b"0"), (2, 1))
    assets = {nodes["vocab"].inputs[-1].identity: vocabulary}
    found = run(nodes, pa.table({"u": pa.array(values, pa.uint64())}), assets).to_pydict()
    assert found["same"] == values
    assert found["hash"] == found["text"]
    assert found["hash"][3] == int(tf.strings.to_hash_bucket_fast(str(2**64 - 1), 10**6))
    assert found["cross"][3] == "20:18446744073709551615z"
    assert found["float"] == [0.0, 2.0**63, 2.0**63, 2.0**64, None]
    assert found["in"] == [True, False, False, True, None]
    assert found["vocab"] == [1, 2, 0, 2, None]


def test_text_with_any_bytes() -> None:
    column = raw("t", ColumnType(DType.STRING))
    table = pa.table({"t": pa.array([b"\xff\xfeA", b"a\0B", b"", "İß".encode()], pa.binary())})
    nodes = {"lower": call("lower", column), "same": column, "tokens": call("tokens", column, "\0")}
    nodes |= {"size": call("length", column), "upper": call("upper", column), "strip": call("strip", column)}
    found = run(nodes, table).to_pydict()
    assert found["lower"] == ["\ufffd\ufffda", "a\0b", "", "i\u0307ß"]
    assert found["same"] == ["\ufffd\ufffdA", "a\0B", "", "İß"]
    assert found["tokens"][1] == ["a", "B"]
    assert found["size"][1:] == [3, 0, 2]
    assert found["upper"][1:] == ["A\0B", "", "İSS"]
    assert found["strip"] == found["same"]


def test_a_missing_scalar_beside_a_list_empties_it() -> None:
    suffix = raw("suffix", ColumnType(DType.STRING, nullable=True))
    table = pa.table({"words": [["a", "b"], ["c"], []], "suffix": ["!", None, "?"]})
    found = run({"both": call("concat", WORDS, suffix), "cross": call("cross", suffix, WORDS)}, table).to_pydict()
    assert found["both"] == [["a!", "b!"], [], []]
    assert found["cross"] == [["1:!a", "1:!b"], [], []]


def test_an_empty_vocabulary_and_no_deviation() -> None:
    vocab, scaled = call("vocab", WORDS), call("zscore", X)
    assets = {
        vocab.inputs[-1].identity: Vocabulary((), ()),
        scaled.inputs[-1].identity: Moments(0, 0.0, 0.0, 0.0, 0.0),
    }
    found = run({"vocab": vocab, "scaled": scaled}, pa.table({"words": [["a"], []], "x": [2.0, None]}), assets)
    assert found.to_pydict() == {"vocab": [[0], []], "scaled": [2.0, None]}
    assert operators.id_space(vocab, assets) == 1


def test_what_an_analyzer_saw_is_not_computed() -> None:
    column = call("vocab", call("lower", WORDS))
    transform = compile_nodes({"id": column}, {column.inputs[-1].identity: Vocabulary((b"a",), (1,))})
    assert count_operations(transform, "LookupTableFindV2") == 1


def test_it_saves_and_loads(tmp_path: Path) -> None:
    vocab = call("vocab", WORDS)
    vocabulary = Vocabulary((b"b",), (1,))
    transform = compile_nodes({"id": vocab, "x": call("add", X, 1)}, {vocab.inputs[-1].identity: vocabulary})
    tf.saved_model.save(transform, str(tmp_path))
    loaded = tf.saved_model.load(str(tmp_path))
    words = tf.RaggedTensor.from_row_lengths(["a", "b"], tf.constant([2, 0], tf.int64))
    x = Nullable(tf.constant([1.0, 0.0], tf.float64), tf.constant([True, False]))
    found = loaded._function({"words": words, "x": x}, tf.constant(2, tf.int64))
    assert found["id"].to_list() == [[1, 0], []]
    assert found["x"].values.numpy().tolist() == [2.0, 0.0]


def test_refusals() -> None:
    vocab = call("vocab", WORDS)
    with pytest.raises(ForebayError, match="no asset for vocabulary"):
        compile_nodes({"a": vocab}, {})
    with pytest.raises(ForebayError, match="statistic of a whole column"):
        compile_nodes({"a": vocab.inputs[-1]}, {})
    with pytest.raises(ForebayError, match="expected an asset of the kind 'vocabulary', found 'moments'"):
        compile_nodes({"a": vocab}, {vocab.inputs[-1].identity: Moments(0, 0.0, 0.0, 0.0, 0.0)})
    with pytest.raises(ForebayError, match="version 1 here, the node was made by 2"):
        compile_nodes({"a": Node("lower", 2, {}, (WORDS,), WORDS.type)}, {})
    transform = compile_nodes({"a": call("add", X, Y)}, {})
    with pytest.raises(InputError, match="lacks the column 'y'; it has x"):
        transform.apply(pa.table({"x": [1.0]}))
    with pytest.raises(InputError, match="column 'y': expected float64, found a column of string"):
        transform.apply(pa.table({"x": [1.0], "y": ["a"]}))
    with pytest.raises(InputError, match="lacks the columns y; it has x"):
        transform({"x": 1.0})
