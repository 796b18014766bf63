import math

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pipelines.text_values import parse_column
from transforms.types import ColumnType, DType, Shape


def parse(texts, dtype):
    values, bad = parse_column(pa.array(texts, pa.binary()), ColumnType(dtype, nullable=True))
    assert values.type == ColumnType(dtype).to_arrow()
    return values.to_pylist(), bad


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b"12", 12),
        (b" -3 ", -3),
        (b"+5", 5),
        (b"12.0", 12),
        (b"12.", 12),
        (b"-0", 0),
        (b"0" * 30 + b"7", 7),
        (b"9223372036854775807", 2**63 - 1),
        (b"-9223372036854775808", -(2**63)),
        (b"9223372036854775808", None),
        (b"-9223372036854775809", None),
        (b"9" * 5000, None),
        (b"12.5", None),
        (b"1e3", None),
        (b"0x10", None),
        (b"1_000", None),
        (b"--1", None),
        (b"\xd9\xa3", None),  # a digit, but not a decimal one of ASCII
        (b"\xff", None),
    ],
)
def test_integers(text, value):
    assert parse([text], DType.INT64) == ([value], int(value is None))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b"18446744073709551615", 2**64 - 1),
        (b"9223372036854775808", 2**63),
        (b"+1", 1),
        (b"18446744073709551616", None),
        (b"-1", None),
    ],
)
def test_unsigned_integers(text, value):
    assert parse([text], DType.UINT64) == ([value], int(value is None))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b"1.5", 1.5),
        (b" .5", 0.5),
        (b"1.", 1.0),
        (b"+1e5", 1e5),
        (b"1E-400", 0.0),
        (b"inf", math.inf),
        (b"-Infinity", -math.inf),
        (b"1e400", None),
        (b"-1e400", None),
        (b".", None),
        (b"1,5", None),
        (b"nan()", None),
        (b"0x1p3", None),
    ],
)
def test_floats(text, value):
    assert parse([text], DType.FLOAT64) == ([value], int(value is None))


def test_nan_is_a_value():
    values, bad = parse([b"NaN"], DType.FLOAT64)
    assert math.isnan(values[0])
    assert bad == 0


def test_a_number_too_large_for_float32_is_bad_there():
    assert parse([b"1e39", b"inf"], DType.FLOAT32) == ([None, math.inf], 1)


def test_bools():
    assert parse([b"TRUE", b" f ", b"Yes", b"n", b"1", b"0", b"2", b"on"], DType.BOOL) == (
        [True, False, True, False, True, False, None, None],
        2,
    )


def test_strings_keep_their_spaces():
    assert parse([b"a", b" ", "é".encode(), b"\xff"], DType.STRING) == (["a", " ", "é", None], 1)


@pytest.mark.parametrize("dtype", list(DType))
def test_missing_values_are_null_and_not_bad(dtype):
    assert parse([b"", None], dtype) == ([None, None], 0)


def test_no_rows():
    assert parse([], DType.INT64) == ([], 0)


def test_lists_are_no_text():
    with pytest.raises(ValueError, match="scalars"):
        parse_column(pa.array([b"1"]), ColumnType(DType.INT64, Shape.RAGGED))


@given(st.lists(st.binary(max_size=25) | st.from_regex(rb"[+-]?[0-9]{1,22}(\.[0-9]?)?", fullmatch=True), max_size=20))
@example([b"1", b"9" * 19, b"x"])
def test_a_value_does_not_depend_on_the_others(texts):
    for dtype in (DType.INT64, DType.UINT64, DType.BOOL, DType.STRING):
        together, bad = parse(texts, dtype)
        alone = [parse([text], dtype) for text in texts]
        assert together == [values[0] for values, _ in alone]
        assert bad == sum(count for _, count in alone)


@given(st.lists(st.floats(allow_nan=False), max_size=20))
def test_floats_come_back(values):
    assert parse([repr(value).encode() for value in values], DType.FLOAT64) == (values, 0)
