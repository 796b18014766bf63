import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.accumulators import accumulator, flat_values
from pipelines.errors import PartialResultError

COUNTS = accumulator("value_counts", 1, {})
MOMENTS = accumulator("moments", 1, {})
QUANTILES = accumulator("quantiles", 1, {"epsilon": 0.01})
ALL = {"top_k": None, "min_count": 1}

_WORDS = st.lists(st.lists(st.sampled_from(["a", "b", "é", "z" * 9]) | st.none(), max_size=8), max_size=5)
_NUMBERS = st.lists(st.lists(st.floats(-1e6, 1e6) | st.none(), max_size=8), max_size=5)


def fold(counter, chunks, kind, parameters):
    return counter.asset(counter.fold([counter.partial(pa.array(chunk, kind)) for chunk in chunks]), parameters)


@given(_WORDS)
def test_vocabulary_is_sorted_by_count_and_then_by_bytes(chunks):
    found = fold(COUNTS, chunks, pa.string(), ALL)
    words = [word.encode() for chunk in chunks for word in chunk if word is not None]
    expected = sorted(((words.count(word), word) for word in set(words)), reverse=True)
    assert list(zip(found.counts, found.values, strict=True)) == expected


@given(_WORDS, st.integers(1, 3), st.integers(1, 3))
def test_top_k_and_min_count_cut_the_same_order(chunks, top_k, min_count):
    whole = fold(COUNTS, chunks, pa.string(), ALL)
    kept = [value for value, count in zip(whole.values, whole.counts, strict=True) if count >= min_count][:top_k]
    assert list(fold(COUNTS, chunks, pa.string(), {"top_k": top_k, "min_count": min_count}).values) == kept


def test_many_chunks_are_added_in_steps():
    chunks = [[f"w{number}", "every"] for number in range(50)]
    found = fold(COUNTS, chunks, pa.string(), ALL)
    assert (found.values[0], found.counts[0], len(found.values)) == (b"every", 50, 51)


def test_what_is_no_token():
    array = pa.array(["", "a\nb", "\r", " ", None, "x"])
    assert set(COUNTS.asset(COUNTS.fold([COUNTS.partial(array)]), ALL).values) == {b" ", b"x"}


@pytest.mark.parametrize("kind", [pa.int64(), pa.uint64()])
def test_integers_are_tokens_as_decimal_text(kind):
    assert fold(COUNTS, [[9, 10, 10], [9, 8]], kind, ALL).values == (b"9", b"10", b"8")
    largest = 2**64 - 1 if kind == pa.uint64() else -(2**63)
    assert fold(COUNTS, [[largest]], kind, ALL).values == (str(largest).encode(),)


def test_lists_dictionaries_and_chunked_arrays_flatten():
    lists = pa.chunked_array([pa.array([["a"], [], None]), pa.array([["b", "a"]])])
    assert flat_values(lists).to_pylist() == ["a", "b", "a"]
    assert flat_values(pa.array(["x", None, "x"]).dictionary_encode()).to_pylist() == ["x", "x"]
    assert flat_values(pa.array([[1.0, 2.0], [3.0, 4.0]], pa.list_(pa.float64(), 2))[1:]).to_pylist() == [3.0, 4.0]


@given(_NUMBERS)
def test_moments(chunks):
    found = fold(MOMENTS, chunks, pa.float64(), {})
    values = np.array([value for chunk in chunks for value in chunk if value is not None])
    assert found.count == len(values)
    if len(values):
        assert found.mean == pytest.approx(values.mean(), abs=1e-6)
        assert found.variance == pytest.approx(values.var(), rel=1e-9, abs=1e-6)
        assert (found.minimum, found.maximum) == (values.min(), values.max())
    else:
        assert (found.mean, found.variance, found.minimum, found.maximum) == (0, 0, 0, 0)


def test_moments_of_large_numbers_that_differ_little():
    values = 1e9 + np.arange(1000) % 2
    found = fold(MOMENTS, np.split(values, 10), pa.float64(), {})
    assert found.variance == pytest.approx(0.25, rel=1e-9)


def test_moments_leave_out_what_is_not_finite():
    found = fold(MOMENTS, [[1.0, math.nan], [3.0, math.inf], [math.nan]], pa.float64(), {})
    assert (found.count, found.mean, found.variance, found.minimum, found.maximum) == (2, 2.0, 1.0, 1.0, math.inf)


def test_moments_of_numbers_whose_squares_overflow():
    assert fold(MOMENTS, [[1e200, -1e200]], pa.float64(), {}).variance == math.inf


@given(_NUMBERS, st.integers(2, 10))
def test_quantiles_of_few_values_are_values_at_their_ranks(chunks, n):
    found = fold(QUANTILES, chunks, pa.float64(), {"n": n}).values
    values = sorted(value for chunk in chunks for value in chunk if value is not None)
    assert len(found) == (n - 1 if values else 0)
    for number, boundary in enumerate(found, 1):
        below, up_to = np.searchsorted(values, boundary, "left"), np.searchsorted(values, boundary, "right")
        assert below - 1 <= number * len(values) / n <= up_to + 1
        assert boundary in values


def test_a_folded_sketch_answers_more_than_once():
    folded = QUANTILES.fold([QUANTILES.partial(pa.array(np.arange(100.0)))])
    assert QUANTILES.asset(folded, {"n": 2}).values == (50.0,)
    assert QUANTILES.asset(folded, {"n": 4}).values == (25.0, 50.0, 75.0)


@pytest.mark.parametrize("counter", [COUNTS, MOMENTS, QUANTILES])
def test_what_is_no_partial_result_is_refused(counter):
    with pytest.raises(PartialResultError, match="expected"):
        counter.fold([b"something else"])


@pytest.mark.parametrize("counter", [COUNTS, MOMENTS, QUANTILES])
def test_partial_results_are_the_same_bytes_again(counter):
    values = pa.array([3, 1, 2, 3, None])
    assert counter.partial(values) == counter.partial(pa.array([3, 1, 2, 3, None]))
