from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainer.initial import EMBEDDING_STDDEV, glorot, normal, uniform


def test_golden_values() -> None:
    """Models that were trained elsewhere or earlier start from these very numbers."""
    assert uniform(0, "word", range(2), 2).tolist() == [
        [0.4528564243734056, 0.7762896827688013],
        [0.6052319252582292, 0.7675447682786714],
    ]


@given(
    seed=st.integers(0, 2**40),
    rows=st.integers(1, 50),
    columns=st.integers(1, 9),
    start=st.integers(0, 2**45),
    cut=st.integers(0, 50),
)
def test_a_value_depends_on_seed_name_row_and_column_alone(
    seed: int, rows: int, columns: int, start: int, cut: int
) -> None:
    whole = uniform(seed, "t", range(start, start + rows), columns + 3)
    cut = min(cut, rows)
    pieces = (range(start, start + cut), range(start + cut, start + rows))
    parts = [uniform(seed, "t", piece, columns) for piece in pieces]
    np.testing.assert_array_equal(np.concatenate(parts), whole[:, :columns])
    assert ((whole > 0) & (whole < 1)).all()
    assert not np.array_equal(whole, uniform(seed + 1, "t", range(start, start + rows), columns + 3))
    assert not np.array_equal(whole, uniform(seed, "u", range(start, start + rows), columns + 3))


def test_normal_and_glorot_have_their_moments() -> None:
    values = normal(1, "t", range(20_000), 8)
    assert values.dtype == np.float32
    assert values.mean() == pytest.approx(0, abs=4 * EMBEDDING_STDDEV / np.sqrt(values.size))
    assert values.std() == pytest.approx(EMBEDDING_STDDEV, rel=0.01)
    assert abs(np.corrcoef(values[:-1, 0], values[1:, 0])[0, 1]) < 0.03
    assert abs(np.corrcoef(values[:, 0], values[:, 1])[0, 1]) < 0.03
    kernel = glorot(1, "k", 300, 100)
    assert np.abs(kernel).max() <= np.sqrt(6 / 400)
    assert kernel.std() == pytest.approx(np.sqrt(6 / 400) / np.sqrt(3), rel=0.02)
