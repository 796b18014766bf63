"""Every Arrow type that a column may have, as TensorFlow values, and back."""

from __future__ import annotations

import datetime

import numpy as np
import pyarrow as pa
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from transforms.arrow_values import from_value, to_value
from transforms.errors import InputError
from transforms.types import ColumnType, DType, Shape
from transforms.values import Nullable


def nullable(dtype: DType) -> ColumnType:
    return ColumnType(dtype, nullable=True)


def ragged(dtype: DType) -> ColumnType:
    return ColumnType(dtype, Shape.RAGGED)


def back(array: pa.Array | pa.ChunkedArray, kind: ColumnType) -> list[object]:
    found = from_value(to_value(array, kind), kind)
    assert found.type == kind.to_arrow()
    found.validate(full=True)
    return list(found.to_pylist())


UTC = datetime.timezone.utc
BEFORE = datetime.datetime(1969, 12, 31, 23, 59, 59, 500_000, tzinfo=UTC)


@pytest.mark.parametrize(
    ("array", "dtype", "expected"),
    [
        (pa.array([1, None, -3], pa.int8()), DType.INT64, [1, None, -3]),
        (pa.array([1, None, 2**32 - 1], pa.uint32()), DType.INT64, [1, None, 2**32 - 1]),
        (pa.array([0, None, 2**64 - 1], pa.uint64()), DType.UINT64, [0, None, 2**64 - 1]),
        (pa.array([7, None], pa.int32()), DType.UINT64, [7, None]),
        (pa.array([1, None], pa.int32()), DType.FLOAT64, [1.0, None]),
        (pa.array([0.5, None], pa.float32()), DType.FLOAT64, [0.5, None]),
        (pa.array([np.float16(0.5), None], pa.float16()), DType.FLOAT64, [0.5, None]),
        (pa.array([True, None, False]), DType.BOOL, [True, None, False]),
        (pa.array(["a", None, "", "é\0x"]), DType.STRING, ["a", None, "", "é\0x"]),
        (pa.array(["a", None], pa.large_string()), DType.STRING, ["a", None]),
        (pa.array([b"a", None, b"\xff"], pa.binary()), DType.STRING, ["a", None, "\ufffd"]),
        (pa.array([b"ab", None], pa.large_binary()), DType.STRING, ["ab", None]),
        (pa.array(["b", "a", None, "b"]).dictionary_encode(), DType.STRING, ["b", "a", None, "b"]),
        (pa.array([None, None], pa.string()).dictionary_encode(), DType.STRING, [None, None]),
        (pa.DictionaryArray.from_arrays([0, 1, None], ["a", None]), DType.STRING, ["a", None, None]),
        (pa.array([5, None, 5]).dictionary_encode(), DType.INT64, [5, None, 5]),
        (pa.nulls(2), DType.STRING, [None, None]),
        (pa.nulls(2), DType.INT64, [None, None]),
        (pa.nulls(1), DType.BOOL, [None]),
        (pa.array([BEFORE, None], pa.timestamp("ms", "UTC")), DType.INT64, [-1, None]),
        (pa.array([1_500_000_000, None], pa.timestamp("ns")), DType.INT64, [1, None]),
        (pa.array([2, None], pa.timestamp("s")), DType.INT64, [2, None]),
        (pa.array([datetime.date(1970, 1, 3), None], pa.date32()), DType.INT64, [172_800, None]),
        (pa.array([datetime.date(1970, 1, 3), None], pa.date64()), DType.INT64, [172_800, None]),
        (pa.array([datetime.time(1, 0, 1), None], pa.time32("s")), DType.INT64, [3601, None]),
        (pa.array([datetime.time(1, 0, 1), None], pa.time64("us")), DType.INT64, [3601, None]),
    ],
)
def test_scalars(array: pa.Array, dtype: DType, expected: list[object]) -> None:
    kind = nullable(dtype)
    assert back(array, kind) == expected
    assert back(pa.concat_arrays([array, array]).slice(1, len(array)), kind) == [*expected[1:], expected[0]]
    assert back(pa.chunked_array([array.slice(1), array.slice(0, 1)]), kind) == [*expected[1:], expected[0]]
    assert back(array.slice(0, 0), kind) == []
    assert back(pa.chunked_array([], array.type), kind) == []
    # Under a missing value there is always the same.
    value = to_value(array, kind)
    assert isinstance(value, Nullable)
    under = tf.boolean_mask(value.values, ~value.present).numpy().tolist()
    assert all(item in (0, b"") for item in under)


@pytest.mark.parametrize(
    ("array", "dtype", "expected"),
    [
        (pa.array([[1, None, 2], None, [], [3]], pa.list_(pa.int16())), DType.INT64, [[1, 2], [], [], [3]]),
        (pa.array([["a"], None, ["b", "a", None]], pa.large_list(pa.string())), DType.STRING, [["a"], [], ["b", "a"]]),
        (pa.array([[1.5, 2.0], None, [None, 0.0]], pa.list_(pa.float32(), 2)), DType.FLOAT64, [[1.5, 2.0], [], [0.0]]),
        (pa.array([[2**63], []], pa.list_(pa.uint64())), DType.UINT64, [[2**63], []]),
        (pa.array([[True, None], []]), DType.BOOL, [[True], []]),
        (pa.nulls(2), DType.INT64, [[], []]),
        (
            pa.ListArray.from_arrays([0, 2, 3], pa.array(["x", "y", "x"]).dictionary_encode()),
            DType.STRING,
            [["x", "y"], ["x"]],
        ),
    ],
)
def test_lists(array: pa.Array, dtype: DType, expected: list[object]) -> None:
    kind = ragged(dtype)
    assert back(array, kind) == expected
    assert back(array.slice(1), kind) == expected[1:]
    assert back(pa.chunked_array([array.slice(1), array.slice(0, 1)]), kind) == [*expected[1:], expected[0]]
    assert back(array.slice(0, 0), kind) == []


def test_vectors() -> None:
    kind = ColumnType(DType.FLOAT64, Shape.VECTOR, width=2)
    array = pa.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], pa.list_(pa.float64(), 2))
    assert back(array.slice(1), kind) == [[3.0, 4.0], [5.0, 6.0]]
    assert back(array.slice(0, 0), kind) == []
    with pytest.raises(InputError, match="expected 2 values in every row"):
        to_value(pa.array([[1.0, 2.0], None], pa.list_(pa.float64(), 2)), kind)


@settings(deadline=None)
@given(st.lists(st.lists(st.text(max_size=3) | st.none(), max_size=3) | st.none(), max_size=9), st.integers(0, 9))
def test_a_slice_is_the_slice(lists: list[list[str | None] | None], begin: int) -> None:
    array = pa.array(lists, pa.list_(pa.string())).slice(begin)
    expected = [[item for item in row or [] if item is not None] for row in lists[begin:]]
    assert back(array, ragged(DType.STRING)) == expected


@pytest.mark.parametrize(
    ("array", "kind", "message"),
    [
        (pa.array([1, None]), ColumnType(DType.INT64), "expected int64, found 1 missing values"),
        (pa.array(["a"]), nullable(DType.INT64), "expected int64, found a column of string"),
        (pa.array([1]), nullable(DType.STRING), "expected string, found a column of int64"),
        (pa.array([1]), nullable(DType.BOOL), "expected bool, found a column of int64"),
        (pa.array([True]), nullable(DType.INT64), "expected int64, found a column of bool"),
        (pa.array([0.5]), nullable(DType.INT64), "expected int64, found a column of double"),
        (pa.array([-1]), nullable(DType.UINT64), "expected uint64, found a column of int64"),
        (pa.array([1]), ragged(DType.INT64), "expected list<int64>, found a column of int64"),
        (pa.array([(1, 2, 3)], pa.month_day_nano_interval()), nullable(DType.INT64), "no number of seconds"),
    ],
)
def test_another_type_is_refused(array: pa.Array, kind: ColumnType, message: str) -> None:
    with pytest.raises(InputError, match=message):
        to_value(array, kind)


def test_types_say_which_arrow_types_are_accepted() -> None:
    accepted = (pa.int8(), pa.timestamp("us"), pa.date32(), pa.large_binary(), pa.null(), pa.list_(pa.date64()))
    for arrow in accepted:
        kind = ColumnType.from_arrow(arrow)
        assert kind is not None
        assert back(pa.nulls(2, arrow), kind) == ([[], []] if kind.shape is Shape.RAGGED else [None, None])
