"""Raw columns pass through a request, of tensors or of Examples, as they were."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from trainer.export_inputs import Input, columns_from_examples, columns_from_tensors, inputs_of, tensor_specs
from trainer.export_requests import example_request, tensor_request
from transforms.types import ColumnType, DType, Shape
from transforms.values import TF_DTYPES, Nullable, Value

TYPES = {
    "flag": ColumnType(DType.BOOL, nullable=True),
    "user": ColumnType(DType.UINT64),
    "fare": ColumnType(DType.FLOAT64, nullable=True),
    "words": ColumnType(DType.STRING, Shape.RAGGED),
    "größe": ColumnType(DType.STRING, nullable=True),
    "seen": ColumnType(DType.INT64, Shape.RAGGED),
    "prices": ColumnType(DType.FLOAT64, Shape.RAGGED),
    "city": ColumnType(DType.STRING),
}
INPUTS = inputs_of(TYPES)

ITEMS: dict[DType, st.SearchStrategy[Any]] = {
    DType.BOOL: st.booleans(),
    DType.UINT64: st.integers(-(2**63), 2**63 - 1),
    DType.INT64: st.integers(-(2**63), 2**63 - 1),
    DType.FLOAT64: st.floats(),
    DType.STRING: st.text().map(str.encode) | st.binary(max_size=4),
}
ZEROS: dict[DType, Any] = {DType.BOOL: False, DType.FLOAT64: 0.0, DType.STRING: b"", DType.INT64: 0, DType.UINT64: 0}

Rows = dict[str, list[Any]]


def cells(column: ColumnType) -> st.SearchStrategy[Any]:
    items = ITEMS[column.dtype]
    if column.shape is Shape.RAGGED:
        return st.lists(items, max_size=4)
    return st.none() | items if column.nullable else items


def logs() -> st.SearchStrategy[Rows]:
    row = st.tuples(*(cells(column) for column in TYPES.values()))
    return st.lists(row, max_size=9).map(
        lambda rows: {name: [row[index] for row in rows] for index, name in enumerate(TYPES)}
    )


def value_of(column: ColumnType, rows: Sequence[Any]) -> Value:
    dtype = TF_DTYPES[column.dtype]
    if column.shape is Shape.RAGGED:
        values = tf.constant([item for row in rows for item in row], dtype, [sum(map(len, rows))])
        return tf.RaggedTensor.from_row_lengths(values, tf.constant([len(row) for row in rows], tf.int64, [len(rows)]))
    values = tf.constant([ZEROS[column.dtype] if row is None else row for row in rows], dtype, [len(rows)])
    return Nullable(values, tf.constant([row is not None for row in rows], tf.bool)) if column.nullable else values


def same(one: Value, other: Value) -> bool:
    if isinstance(one, Nullable):
        return isinstance(other, Nullable) and all(map(same, one, other))
    if isinstance(one, tf.RaggedTensor):
        return same(one.values, other.values) and same(one.row_splits, other.row_splits)
    left, right = (tensor.numpy() for tensor in (one, other))
    if left.dtype == np.float64:  # by bits: NaN equals itself, 0.0 differs from -0.0
        left, right = left.view(np.int64), right.view(np.int64)
    return left.dtype == right.dtype and bool(np.array_equal(left, right))


@tf.function(input_signature=[tensor_specs(INPUTS)])
def through_tensors(request: dict[str, Any]) -> dict[str, Value]:
    return columns_from_tensors(INPUTS, request)


@tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
def through_examples(serialized: Any) -> dict[str, Value]:
    return columns_from_examples(INPUTS, serialized)


@given(logs())
@settings(max_examples=30)
def test_columns_pass_through_requests_as_they_were(rows: Rows) -> None:
    columns = {name: value_of(column, rows[name]) for name, column in TYPES.items()}
    from_tensors = through_tensors(tensor_request(INPUTS, columns))
    from_examples = through_examples(example_request(INPUTS, columns))
    for name, column in columns.items():
        assert same(from_tensors[name], column)
        assert same(from_examples[name], column)


def test_what_stands_under_a_missing_value_or_in_the_padding_does_not_matter() -> None:
    inputs = inputs_of({"fare": TYPES["fare"], "words": TYPES["words"]})
    columns = columns_from_tensors(
        inputs,
        {
            "fare": tf.constant([math.nan, 2.0], tf.float64),
            "fare__present": tf.constant([False, True]),
            "words": tf.constant([["a", "?"], ["?", "?"]]),
            "words__lengths": tf.constant([1, 0], tf.int64),
        },
    )
    assert columns["fare"].values.numpy().tolist() == [0.0, 2.0]
    assert columns["words"].to_list() == [[b"a"], []]


def example(**features: tf.train.Feature) -> bytes:
    return tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()


def floats(*values: float) -> tf.train.Feature:
    return tf.train.Feature(float_list=tf.train.FloatList(value=values))


def texts(*values: bytes) -> tf.train.Feature:
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))


def parsed(column: ColumnType, *serialized: bytes) -> Value:
    return columns_from_examples(inputs_of({"x": column}), tf.constant(serialized))["x"]


def test_doubles_come_rounded_in_a_float_list_and_exact_in_bytes() -> None:
    exact = example(x__float64=texts(struct.pack("<d", 0.1)))
    value = parsed(TYPES["fare"], example(x=floats(0.1)), exact, example())
    assert value.values.numpy().tolist() == [float(np.float32(0.1)), 0.1, 0.0]
    assert value.present.numpy().tolist() == [True, True, False]


@pytest.mark.parametrize(
    ("column", "serialized", "message"),
    [
        (TYPES["city"], example(), "'x' is missing in a row and may not be"),
        (TYPES["city"], example(x=texts(b"a", b"b")), "'x' has more than one value in a row"),
        (TYPES["fare"], example(x=floats(1.0), x__float64=texts(bytes(8))), "one or the other is expected"),
        (TYPES["fare"], example(x__float64=texts(b"0.1")), "one little-endian double each is expected"),
        (TYPES["fare"], example(x=texts(b"1.0")), "Data types don't match"),
    ],
    # A serialized map has no fixed order, and test names must be the same in every process.
    ids=["missing", "two values", "both ways", "no double", "another type"],
)
def test_an_example_that_is_not_a_row_is_refused(column: ColumnType, serialized: bytes, message: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        parsed(column, serialized)


@pytest.mark.parametrize("lengths", [[3, 0], [-1, 0], [1]])
def test_lengths_that_do_not_fit_are_refused(lengths: list[int]) -> None:
    request = {"x": tf.constant([["a", "b"], ["c", "d"]]), "x__lengths": tf.constant(lengths, tf.int64)}
    with pytest.raises(tf.errors.InvalidArgumentError, match="x__lengths"):
        columns_from_tensors(inputs_of({"x": TYPES["words"]}), request)


def test_presence_of_another_number_of_rows_is_refused() -> None:
    request = {"x": tf.constant([1.0, 2.0], tf.float64), "x__present": tf.constant([True])}
    with pytest.raises(tf.errors.InvalidArgumentError, match="differ in their number of rows"):
        columns_from_tensors(inputs_of({"x": TYPES["fare"]}), request)


def names(entry: Input) -> tuple[str | None, ...]:
    return entry.tensor, entry.companion, entry.exact


def test_names_that_tensorflow_does_not_take_or_that_collide_are_changed_and_the_others_are_not() -> None:
    number, words = ColumnType(DType.FLOAT64, nullable=True), TYPES["words"]
    columns = {
        "Fare": ColumnType(DType.INT64),
        "fare": number,
        "fare__present": ColumnType(DType.BOOL),
        "fare__float64": words,
        "class": ColumnType(DType.INT64),
        "_id": ColumnType(DType.INT64),
        "größe": ColumnType(DType.INT64),
    }
    found = {entry.column: names(entry) for entry in inputs_of(columns)}
    assert found == {
        "Fare": ("Fare", None, None),
        "fare": ("fare_2", "fare_2__present", "fare__float64_2"),
        "fare__present": ("fare__present", None, None),
        "fare__float64": ("fare__float64", "fare__float64__lengths", None),
        "class": ("column_class", None, None),
        "_id": ("column_id", None, None),
        "größe": ("gr__e", None, None),
    }
    assert list(found) == sorted(columns)
