from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainer.metrics import Metrics, measure


def by_hand(labels: np.ndarray, logits: np.ndarray, weights: np.ndarray) -> Metrics:
    """The figures by their definitions, over all pairs of examples."""
    probability = 1 / (1 + np.exp(-logits))
    won = total = 0.0
    for y1, z1, w1 in zip(labels, logits, weights, strict=True):
        for y0, z0, w0 in zip(labels, logits, weights, strict=True):
            pair = y1 * w1 * (1 - y0) * w0
            total += pair
            won += pair * (1.0 if z1 > z0 else 0.5 if z1 == z0 else 0.0)
    rate = (labels * weights).sum() / weights.sum()
    losses = -(labels * np.log(probability) + (1 - labels) * np.log(1 - probability))
    loss = (losses * weights).sum() / weights.sum()
    entropy = -(rate * np.log(rate) + (1 - rate) * np.log(1 - rate))
    calibration = (probability * weights).sum() / (labels * weights).sum()
    return Metrics(len(labels), won / total, loss, loss / entropy, calibration, rate, entropy)


@given(
    rows=st.lists(
        st.tuples(st.sampled_from([0.0, 1.0, 0.25]), st.integers(-8, 8), st.sampled_from([0.0, 1.0, 2.5])), max_size=20
    )
)
def test_figures_are_their_definitions(rows: list[tuple[float, int, float]]) -> None:
    rows = [*rows, (0.0, -1, 1.0), (1.0, 2, 1.0)]
    labels, logits, weights = (np.array(column, np.float64) for column in zip(*rows, strict=True))
    found, expected = measure(labels, logits / 2, weights), by_hand(labels, logits / 2, weights)
    assert vars(found) == pytest.approx(vars(expected), rel=1e-9)


def test_one_class_has_no_auc() -> None:
    ones, logits = np.ones(3, np.float32), np.array([0.0, 1.0, 2.0], np.float32)
    found = measure(ones, logits, ones)
    assert (found.auc, found.normalized_entropy, found.base_rate, found.base_rate_log_loss) == (None, None, 1.0, 0.0)
    assert found.log_loss == pytest.approx(np.log1p(np.exp(-logits.astype(float))).mean())
    zeros = measure(np.zeros(3, np.float32), logits, ones)
    assert (zeros.auc, zeros.calibration, zeros.base_rate) == (None, None, 0.0)


def test_rows_without_weight_and_no_rows_have_no_figures() -> None:
    nothing = np.zeros(0, np.float32)
    assert measure(nothing, nothing, nothing) == Metrics(0)
    assert measure(np.ones(2), np.ones(2), np.zeros(2)) == Metrics(2)


def test_predictions_near_certainty_stay_finite() -> None:
    found = measure(np.array([1.0, 0.0]), np.array([-800.0, 800.0]), np.ones(2))
    assert found.log_loss is not None
    assert np.isfinite(found.log_loss)
    assert found.auc == 0.0
