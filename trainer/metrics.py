"""How good predictions are: AUC, log loss, normalized entropy and calibration, exact and weighted.

A label may be any number in [0, 1]. An example with label y and weight w counts as a click of weight w · y and a
non-click of weight w · (1 − y) with the same prediction, which is what the log loss of such a label means anyway.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import expit
from sklearn.metrics import log_loss, roc_auc_score

Floats = npt.NDArray[np.float32] | npt.NDArray[np.float64]


@dataclass(frozen=True)
class Metrics:
    """Figures over some examples; None where a figure is not defined for them.

    Attributes:
      rows: number of examples.
      auc: area under the ROC curve; not defined with labels of one class.
      log_loss: weighted mean of −log of the probability given to what happened.
      normalized_entropy: `log_loss` ÷ `base_rate_log_loss` (He et al., "Practical lessons from predicting clicks on ads
        at Facebook", ADKDD 2014, formula 1); below 1 where predictions know more than the base rate.
      calibration: sum of predictions ÷ sum of labels.
      base_rate: weighted mean of the labels.
      base_rate_log_loss: the log loss of always predicting `base_rate`, which is its entropy.
    """

    rows: int
    auc: float | None = None
    log_loss: float | None = None
    normalized_entropy: float | None = None
    calibration: float | None = None
    base_rate: float | None = None
    base_rate_log_loss: float | None = None


def measure(labels: Floats, logits: Floats, weights: Floats) -> Metrics:
    """The figures of predictions.

    Args:
      labels: ``[rows]``, in [0, 1].
      logits: ``[rows]``, what the sigmoid takes to predictions.
      weights: ``[rows]``, at least 0; an example of weight 0 counts as a row and in nothing else.
    """
    rows = len(labels)
    counted = weights > 0
    label, weight = labels[counted].astype(np.float64), weights[counted].astype(np.float64)
    prediction = expit(logits[counted].astype(np.float64))
    total, positive = float(weight.sum()), float((weight * label).sum())
    if not total:
        return Metrics(rows)
    rate = positive / total
    classes, scores, parts = _by_class(label, prediction, weight)
    loss = float(log_loss(classes, scores, sample_weight=parts, labels=[0, 1]))
    calibration = float((weight * prediction).sum()) / positive if positive else None
    if len(np.unique(classes)) < 2:
        return Metrics(rows, None, loss, None, calibration, rate, 0.0)
    entropy = -(rate * float(np.log(rate)) + (1 - rate) * float(np.log1p(-rate)))
    return Metrics(
        rows=rows,
        auc=float(roc_auc_score(classes, scores, sample_weight=parts)),
        log_loss=loss,
        normalized_entropy=loss / entropy,
        calibration=calibration,
        base_rate=rate,
        base_rate_log_loss=entropy,
    )


def _by_class(
    label: npt.NDArray[np.float64], prediction: npt.NDArray[np.float64], weight: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Examples as clicks and non-clicks, with weights above 0."""
    classes = np.concatenate([np.ones(len(label), np.int64), np.zeros(len(label), np.int64)])
    weights = np.concatenate([weight * label, weight * (1 - label)])
    there = weights > 0
    return classes[there], np.concatenate([prediction, prediction])[there], weights[there]
