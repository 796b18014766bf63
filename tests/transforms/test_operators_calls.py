"""How calls are fitted to what operators declare."""

from __future__ import annotations

import subprocess
import sys

import pytest

from transforms import operators
from transforms.errors import OperatorError
from transforms.nodes import Node, raw
from transforms.operators import Argument, Literal, statistics
from transforms.types import ColumnType, DType, Shape

TEXT = raw("text", ColumnType(DType.STRING, nullable=True))
NUMBER = raw("number", ColumnType(DType.INT64))
UNSIGNED = raw("unsigned", ColumnType(DType.UINT64))
TRUTH = raw("truth", ColumnType(DType.BOOL))
WORDS = raw("words", ColumnType(DType.STRING, Shape.RAGGED))
OTHER_WORDS = raw("other_words", ColumnType(DType.STRING, Shape.RAGGED))


def call(name: str, *arguments: object, **named: object) -> Node:
    def argument(value: object) -> Argument:
        return value if isinstance(value, Node) else Literal(value)

    return operators.find(name).call(
        [argument(item) for item in arguments], {key: argument(item) for key, item in named.items()}
    )


def test_defaults_and_keywords_make_the_same_node() -> None:
    assert call("hash", TEXT, 10) == call("hash", TEXT, buckets=10, salt="") == call("hash", buckets=10, x=TEXT)
    assert call("hash", TEXT, 10) != call("hash", TEXT, 11)
    assert call("hash", TEXT, 10) != call("hash", TEXT, 10, "a")


def test_literals_that_differ_make_different_nodes() -> None:
    nodes = [call("equal", TEXT, "1"), call("equal", NUMBER, 1), call("equal", NUMBER, 1.0), call("equal", TRUTH, True)]
    nodes += [call("fill", TEXT, None), call("fill", NUMBER, None), call("equal", UNSIGNED, 1)]
    assert len({node.inputs[1].identity for node in nodes}) == len(nodes)
    assert call("clip", NUMBER, 0, 1).type.dtype is DType.INT64
    assert call("clip", NUMBER, 0, 1.0).type.dtype is DType.FLOAT64


def test_a_parameter_of_real_numbers_is_a_float_however_it_is_written() -> None:
    assert call("cyclic", NUMBER, 24) == call("cyclic", NUMBER, 24.0)
    assert call("bucketize", NUMBER, [1, 2]) == call("bucketize", NUMBER, (1.0, 2.0))


@pytest.mark.parametrize(
    ("name", "arguments", "named", "message", "argument"),
    [
        ("hash", [TEXT], {}, "hash(x, buckets, salt='') needs 'buckets'", None),
        ("hash", [], {"buckets": 1}, "hash(x, buckets, salt='') needs 'x'", None),
        ("hash", [TEXT, 1, "", 4], {}, "takes at most 3 arguments, found 4", 3),
        ("hash", [TEXT, 1], {"buckets": 2}, "was given 'buckets' twice", 2),
        ("hash", [TEXT, 1], {"slat": ""}, "has no argument 'slat' (did you mean 'salt'?)", 2),
        ("fill", [NUMBER], {"defualt": 0}, "fill(x, default) has no argument 'defualt' (did you mean 'default'?)", 1),
        ("cross", [], {"x": TEXT, "y": TEXT}, "takes 'x' by position only", 0),
        ("hash", [TEXT, 0], {}, "'buckets' of hash() is at least 1, found 0", 1),
        ("hash", [TEXT, 1.5], {}, "'buckets' of hash() is an integer, found 1.5", 1),
        ("hash", [TEXT, True], {}, "'buckets' of hash() is an integer, found True", 1),
        ("hash", [TEXT, 2**63], {}, "'buckets' of hash() is an integer, found 9223372036854775808", 1),
        ("hash", [TEXT, NUMBER], {}, "'buckets' of hash() is an integer written out, not an expression", 1),
        ("hash", [call("divide", NUMBER, 2), 9], {}, "takes string or int64 or uint64 or bool", 0),
        ("lower", [NUMBER], {}, "lower() takes string (one a row or a list) as 'x', found int64", 0),
        ("lower", [["a"]], {}, "lower() takes a column or one value as 'x', found ['a']", 0),
        ("lower", ["\ud800"], {}, "lower() takes a column or one value as 'x'", 0),
        ("concat", [], {}, "takes at least 1 positional arguments, found 0", None),
        ("cross", [TEXT], {}, "takes at least 2 positional arguments, found 1", None),
        ("add", [NUMBER, None], {"z": 1}, "add(x, y) has no argument 'z'", 2),
        ("add", [NUMBER, TRUTH], {}, "add() takes int64 or float32 or float64 as 'y', found bool", 1),
        ("equal", [TEXT, 1], {}, "equal() takes values of one kind, found string and int64", 1),
        ("where", [TRUTH, TEXT, 1], {}, "where() takes values of one kind, found string and int64", 2),
        ("less", [UNSIGNED, -1], {}, "less() takes values of one kind, found uint64 and int64", 1),
        ("is_in", [TEXT, [1]], {}, "is_in() looks for values of the column's kind, string; found 1", 1),
        ("cast", [NUMBER, "int32"], {}, "'dtype' of cast() is one of 'bool', 'float64', 'int64', 'string'", 1),
        ("bucketize", [NUMBER, []], {}, "'boundaries' of bucketize() ascend, found []", 1),
        ("bucketize", [NUMBER, [2, 1]], {}, "'boundaries' of bucketize() ascend, found [2.0, 1.0]", 1),
        ("bucketize", [NUMBER, ["a"]], {}, "'boundaries' of bucketize() is a list of numbers, found ['a']", 1),
        ("clip", [NUMBER, 2, 1], {}, "'high' of clip() is at least 'low', found 2 and 1", 2),
        ("cyclic", [NUMBER, 0], {}, "'period' of cyclic() is greater than 0, found 0", 1),
        ("quantiles", [NUMBER, 4], {"epsilon": 0.9}, "'epsilon' of quantiles() is at most 0.5, found 0.9", 2),
        ("concat", [WORDS, OTHER_WORDS], {}, "takes lists that are as long as each other", 1),
        ("concat", [WORDS, call("to_list", TEXT)], {}, "takes lists that are as long as each other", 1),
        ("fill", [WORDS, "a"], {}, "fill() takes any value (one a row) as 'x', found list<string>", 0),
        ("vocabulary", [TEXT], {}, "vocabulary() is a statistic of a whole column", None),
    ],
)
def test_a_call_that_does_not_fit_says_what_was_found_and_expected(
    name: str, arguments: list[object], named: dict[str, object], message: str, argument: int | None
) -> None:
    with pytest.raises(OperatorError) as error:
        call(name, *arguments, **named)
    assert message in str(error.value)
    assert error.value.argument == argument


def test_an_unknown_operator_names_the_nearest() -> None:
    with pytest.raises(OperatorError, match=r"there is no operator 'tokns' \(did you mean 'tokens'\?\)"):
        operators.find("tokns")


def test_lists_of_one_origin_go_together() -> None:
    upper = call("upper", WORDS)
    assert str(call("concat", WORDS, upper).type) == "list<string>"
    assert str(call("where", call("equal", call("length", WORDS), 3), WORDS, upper).type) == "list<string>"
    kept = call("vocab", WORDS, oov=0)  # drops what it does not know
    with pytest.raises(OperatorError, match="as long as each other"):
        call("add", kept, call("length", WORDS))


def test_vectors() -> None:
    cycle = call("cyclic", NUMBER, 24)
    assert str(call("multiply", cycle, call("float32", NUMBER)).type) == "float64[2]"
    with pytest.raises(OperatorError, match="fill"):
        call("multiply", cycle, call("length", TEXT))
    with pytest.raises(OperatorError, match="no lists"):
        call("multiply", cycle, call("length", WORDS))
    with pytest.raises(OperatorError, match="fill"):
        call("cyclic", call("length", TEXT), 24)


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (call("add", NUMBER, NUMBER), "int64"),
        (call("add", NUMBER, 0.5), "float64"),
        (call("divide", NUMBER, NUMBER), "float64"),
        (call("floor_divide", NUMBER, NUMBER), "nullable int64"),
        (call("floor_divide", NUMBER, 2), "int64"),
        (call("floor_divide", NUMBER, 0), "nullable int64"),
        (call("modulo", NUMBER, 2.0), "float64"),
        (call("power", NUMBER, 2), "float64"),
        (call("length", TEXT), "nullable int64"),
        (call("fill", call("length", TEXT), 0), "int64"),
        (call("fill", call("length", TEXT), 0.0), "float64"),
        (call("where", TRUTH, 1, None), "nullable int64"),
        (call("where", None, 1, 2), "nullable int64"),
        (call("is_missing", TEXT), "bool"),
        (call("logical_and", TRUTH, call("equal", TEXT, "a")), "nullable bool"),
        (call("float32", TRUTH), "float32"),
        (call("ids", NUMBER, 4), "nullable int64"),
        (call("vocab", NUMBER), "int64"),
        (call("vocab", NUMBER, oov=0), "nullable int64"),
        (call("tokens", TEXT), "list<string>"),
        (call("head", call("tokens", TEXT), 2), "list<string>"),
        (call("size", call("tokens", TEXT)), "int64"),
        (call("cross", WORDS, NUMBER), "list<string>"),
        (call("cross", TEXT, NUMBER), "nullable string"),
        (call("cyclic", NUMBER, 7), "float64[2]"),
        (call("zscore", call("length", WORDS)), "list<float64>"),
    ],
)
def test_types(node: Node, expected: str) -> None:
    assert str(node.type) == expected


def test_analyzers_are_nodes_of_their_own() -> None:
    vocab = call("vocab", TEXT, top_k=100, min_count=2, oov=3)
    analyzer = vocab.inputs[-1]
    assert vocab.parameters == {"oov": 3}
    assert (analyzer.operator, analyzer.analyzer, str(analyzer.type)) == ("vocabulary", True, "asset")
    assert analyzer.parameters == {"top_k": 100, "min_count": 2}
    assert call("vocab", TEXT, top_k=100, min_count=2).inputs[-1] == analyzer
    assert call("zscore", NUMBER).inputs[-1] == call("minmax", NUMBER).inputs[-1]
    assert call("quantiles", NUMBER, 200).inputs[-1].parameters == {"n": 200, "epsilon": 0.005}
    assert call("quantiles", NUMBER, 4).inputs[-1].parameters == {"n": 4, "epsilon": 0.01}


def test_partial_results_depend_on_what_enters_them_only() -> None:
    def accumulator(node: Node) -> object:
        analyzer = operators.find(node.inputs[-1].operator)
        assert isinstance(analyzer, operators.Analyzer)
        return analyzer.accumulator(node.inputs[-1].parameters)

    assert accumulator(call("vocab", TEXT)) == accumulator(call("vocab", TEXT, top_k=5)) == ("value_counts", 1, {})
    assert accumulator(call("quantiles", NUMBER, 4)) == accumulator(call("quantiles", NUMBER, 8))
    assert accumulator(call("quantiles", NUMBER, 4)) != accumulator(call("quantiles", NUMBER, 400))
    assert accumulator(call("zscore", NUMBER)) == ("moments", 1, {})


@pytest.mark.parametrize("analyzer", [each() for each in statistics.OPERATORS], ids=lambda each: each.name)
def test_partial_results_and_assets_change_their_names_together(
    analyzer: operators.Analyzer, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, parameters = analyzer.node(NUMBER, {"n": 4, "epsilon": 0.01}), {"n": 4, "epsilon": 0.01}
    _, version, _ = analyzer.accumulator(parameters)
    monkeypatch.setattr(type(analyzer), "version", analyzer.version + 1)
    assert analyzer.accumulator(parameters)[1] == version + 1
    assert analyzer.node(NUMBER, parameters) != before


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (call("hash", WORDS, 10), 10),
        (call("head", call("hash", WORDS, 10), 2), 10),
        (call("to_list", call("hash", TEXT, 10)), 10),
        (call("fill", call("hash", TEXT, 10), 10), 11),
        (call("fill", call("hash", TEXT, 10), call("hash", TEXT, 20)), 20),
        (call("fill", call("hash", TEXT, 10), -1), None),
        (call("where", TRUTH, call("hash", TEXT, 10), 3), 10),
        (call("where", TRUTH, None, call("hash", TEXT, 10)), 10),
        (call("where", TRUTH, call("hash", TEXT, 10), NUMBER), None),
        (call("vocab", TEXT), None),
        (call("vocab", TEXT, top_k=5, oov=2), 7),
        (call("ids", NUMBER, 4), 4),
        (call("quantiles", NUMBER, 4), 4),
        (call("bucketize", NUMBER, [1, 2]), 3),
        (call("hour", NUMBER), 24),
        (call("weekday", NUMBER), 7),
        (call("month", NUMBER), 13),
        (call("day", NUMBER), 32),
        (call("add", NUMBER, 1), None),
        (NUMBER, None),
    ],
)
def test_id_spaces(node: Node, expected: int | None) -> None:
    assert operators.id_space(node) == expected


@pytest.mark.parametrize(
    ("node", "identity"),
    [
        (call("hash", call("lower", TEXT), 100), "49ccf2d343a1440e"),
        (call("vocab", WORDS, top_k=7), "cd430a703627a019"),
        (call("where", call("less", NUMBER, 3), None, 0.5), "7c0aa614673368df"),
        (call("equal", UNSIGNED, 2**63), "8fd4e54c932ecc3f"),
        (call("quantiles", NUMBER, 3), "aa0ae7fd9cd2cf37"),
    ],
)
def test_identities_stay(node: Node, identity: str) -> None:
    """Stores keep columns by these: they change with an operator's version, never otherwise."""
    assert node.identity.startswith(identity)


def test_operators_are_found_without_tensorflow() -> None:
    program = "import sys; from transforms import operators; operators.names(); sys.exit('tensorflow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
