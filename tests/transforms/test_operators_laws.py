"""What holds for all element-wise operators: lists as scalars, nothing of nothing, a batch as its rows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transforms import operators
from transforms.assets import Boundaries, Moments, Vocabulary
from transforms.compiler import Transform, compile_nodes
from transforms.nodes import Node, raw
from transforms.operators import Literal
from transforms.operators.elementwise import Elementwise
from transforms.types import ColumnType, DType, Shape

# Everything that an operator is called with beside its first operand.
CALLS: dict[str, tuple[DType, tuple[object, ...]]] = {
    **dict.fromkeys(("lower", "upper", "strip", "length"), (DType.STRING, ())),
    "concat": (DType.STRING, ("-",)),
    "hash": (DType.UINT64, (1000,)),
    "vocab": (DType.STRING, (None, 1, 3)),
    "ids": (DType.INT64, (50,)),
    "bucketize": (DType.FLOAT64, ([-1.0, 0.0, 2.5],)),
    "quantiles": (DType.FLOAT64, (4,)),
    **dict.fromkeys(
        ("add", "subtract", "multiply", "floor_divide", "modulo", "minimum", "maximum"), (DType.INT64, (-7,))
    ),
    **dict.fromkeys(("divide", "power"), (DType.FLOAT64, (1.7,))),
    **dict.fromkeys(("negative", "abs"), (DType.INT64, ())),
    **dict.fromkeys(("sqrt", "exp", "log", "log1p", "round", "zscore", "minmax", "float32"), (DType.FLOAT64, ())),
    "clip": (DType.FLOAT64, (-1, 1)),
    "cast": (DType.FLOAT64, ("int64",)),
    **dict.fromkeys(("equal", "not_equal"), (DType.STRING, ("a",))),
    **dict.fromkeys(("less", "less_equal", "greater", "greater_equal"), (DType.UINT64, (2**63,))),
    "is_in": (DType.INT64, ([1, 2],)),
    "logical_not": (DType.BOOL, ()),
    **dict.fromkeys(("logical_and", "logical_or"), (DType.BOOL, (True,))),
    "where": (DType.BOOL, ("yes", "no")),
    **dict.fromkeys(("hour", "weekday", "day", "month"), (DType.INT64, ())),
}
LARGE = 2**63 - 1
VALUES: dict[DType, st.SearchStrategy[object]] = {
    DType.STRING: st.text(st.characters(codec="utf-8"), max_size=6) | st.sampled_from(["a", "A\0b", "ÉÈ", " x "]),
    DType.BOOL: st.booleans(),
    DType.INT64: st.integers(-LARGE - 1, LARGE) | st.integers(-60, 60),
    DType.UINT64: st.integers(0, 2**64 - 1),
    DType.FLOAT64: st.floats() | st.floats(-100, 100),
}


def node_of(name: str, shape: Shape, nullable: bool) -> Node:
    dtype, arguments = CALLS[name]
    kind = "nullable" if nullable else shape.value
    column = raw(f"{kind}.{dtype.value}", ColumnType(dtype, shape, nullable))
    return operators.find(name).call([column, *map(Literal, arguments)], {})


@pytest.fixture(scope="module")
def transform() -> Transform:
    nodes = {}
    for name in CALLS:
        nodes[f"scalar.{name}"] = node_of(name, Shape.SCALAR, nullable=False)
        nodes[f"nullable.{name}"] = node_of(name, Shape.SCALAR, nullable=True)
        nodes[f"ragged.{name}"] = node_of(name, Shape.RAGGED, nullable=False)
    assets = {}
    for node in nodes.values():
        analyzer = node.inputs[-1] if node.inputs else node
        if analyzer.analyzer:
            assets[analyzer.identity] = {
                "vocabulary": Vocabulary((b"a", b"A\0b", b""), (3, 2, 1)),
                "moments": Moments(3, 1.5, 7.0, -9.0, 11.0),
                "boundaries": Boundaries((-1.0, 0.0, 7.0)),
            }[analyzer.operator]
    return compile_nodes(nodes, assets)


def table_of(values: dict[DType, list[object]], present: list[bool], splits: list[int]) -> pa.Table:
    columns = {}
    for dtype, column in values.items():
        arrow = ColumnType(dtype).to_arrow()
        columns[f"scalar.{dtype.value}"] = pa.array(column, arrow)
        there = [value if here else None for value, here in zip(column, present, strict=True)]
        columns[f"nullable.{dtype.value}"] = pa.array(there, arrow)
        lists = [column[begin:end] for begin, end in pairwise(splits)]
        columns[f"ragged.{dtype.value}"] = pa.array(lists, pa.list_(arrow))
    return pa.table(columns)


@st.composite
def tables(draw: st.DrawFn, rows: int = 12) -> tuple[pa.Table, list[bool], list[int]]:
    count = draw(st.integers(0, rows))
    values = {dtype: draw(st.lists(item, min_size=count, max_size=count)) for dtype, item in VALUES.items()}
    present = draw(st.lists(st.booleans(), min_size=count, max_size=count))
    cuts = draw(st.lists(st.integers(0, count), min_size=max(count - 1, 0), max_size=max(count - 1, 0)))
    splits = [0, *sorted(cuts), count] if count else [0]
    return table_of(values, present, splits), present, splits


def bits(column: pa.ChunkedArray) -> str:
    """Equal where all values are, to the last bit: unlike ==, it tells zeros by sign and finds NaN equal to NaN."""
    return repr(column.to_pylist())


def test_all_are_here() -> None:
    elementwise = {name for name in operators.names() if isinstance(operators.find(name), Elementwise)}
    assert elementwise - {"fill"} == set(CALLS)  # fill takes no lists


@settings(max_examples=20, deadline=None)
@given(tables())
def test_a_list_is_computed_as_its_values_are(
    transform: Transform, drawn: tuple[pa.Table, list[bool], list[int]]
) -> None:
    table, _, splits = drawn
    found = transform.apply(table)
    for name in CALLS:
        scalars = found[f"scalar.{name}"].to_pylist()
        rows = [scalars[begin:end] for begin, end in pairwise(splits)]
        lists = [[item for item in row if item is not None] for row in rows]  # dropped by an operator
        assert repr(lists) == bits(found[f"ragged.{name}"]), name


@settings(max_examples=20, deadline=None)
@given(tables())
def test_of_nothing_comes_nothing(transform: Transform, drawn: tuple[pa.Table, list[bool], list[int]]) -> None:
    table, present, _ = drawn
    found = transform.apply(table)
    for name in CALLS:
        scalars = found[f"scalar.{name}"].to_pylist()
        expected = [value if here else None for value, here in zip(scalars, present, strict=True)]
        if name == "logical_or":  # true, whatever is missing
            expected = [True] * len(present)
        assert repr(expected) == bits(found[f"nullable.{name}"]), name


@settings(max_examples=5, deadline=None)
@given(tables(rows=7))
def test_a_batch_is_computed_as_its_rows_are(
    transform: Transform, drawn: tuple[pa.Table, list[bool], list[int]]
) -> None:
    table, _, _ = drawn
    found = transform.apply(table)
    rows = [transform.apply(table.slice(row, 1)) for row in range(table.num_rows)]
    apart = pa.concat_tables([transform.apply(table.slice(0, 0)), *rows])
    for name in found.column_names:
        assert bits(found[name]) == bits(apart[name]), name


FLOATS = ("sqrt", "exp", "log", "log1p", "divide", "power", "zscore", "minmax")


@pytest.fixture(scope="module")
def floats() -> Transform:
    """The functions that processors compute several values at a time."""
    column = raw("x", ColumnType(DType.FLOAT64))
    nodes = {
        name: operators.find(name).call([column, *[Literal(item) for item in CALLS[name][1]]], {}) for name in FLOATS
    }
    nodes["cyclic"] = operators.find("cyclic").call([column, Literal(24.0)], {})
    moments = {False: Moments(3, 1.5, 7.0, -9.0, 11.0), True: Moments(1, 0.0, 0.0, 0.0, 0.0)}
    return compile_nodes(nodes, {nodes["zscore"].inputs[-1].identity: moments[True]})


def pieces(count: int, size: int) -> Iterator[tuple[int, int]]:
    yield from ((begin, min(size, count - begin)) for begin in range(0, count, size))


@pytest.mark.parametrize("size", [1, 7, 1001])
def test_the_last_bit_does_not_depend_on_the_batch(floats: Transform, size: int) -> None:
    draw = np.random.default_rng(0)
    count = 150 if size == 1 else 20_003
    values = np.concatenate([draw.lognormal(0, 3, count - 5), [0.0, -0.0, math.inf, -math.inf, math.nan]])
    table = pa.table({"x": draw.permutation(values)})
    whole = floats.apply(table)
    some = list(pieces(count, size))[:: 1 if size != 7 else 97]
    for begin, length in some:
        piece = floats.apply(table.slice(begin, length))
        for name in whole.column_names:
            assert bits(piece[name]) == bits(whole[name].slice(begin, length)), name
