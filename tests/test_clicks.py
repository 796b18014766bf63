"""A real click log through the whole line: a trained model must rank better than the best single column does."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from tests.commands import ROOT, forebay

# The smoothed mean of `click` per `advertiser_id`, the best of all columns, on a random 80/20 split.
BEST_COLUMN_AUC = 0.614


@pytest.fixture
def clicks(tmp_path: Path) -> Path:
    """A directory with the log, its description and the model."""
    named = os.environ.get("FOREBAY_CLICK_LOG")
    beside = ROOT.parent / "shared" / "data" / "kdd2012_click" / "Click_prediction_small.csv"
    log = Path(named) if named else beside
    if not named and not beside.is_file():
        pytest.skip(
            "the click log Click_prediction_small.csv (KDD Cup 2012, track 2; OpenML has it) is not here; "
            "FOREBAY_CLICK_LOG says where it is"
        )
    assert log.is_file(), f"FOREBAY_CLICK_LOG names {log}, and there is no such file"
    for path in (ROOT / "tests" / "clicks").glob("*.yaml"):
        shutil.copy(path, tmp_path)
    (tmp_path / "Click_prediction_small.csv").symlink_to(log)
    return tmp_path


def test_model_ranks_better_than_the_best_column(clicks: Path, capsys: pytest.CaptureFixture[str]) -> None:
    forebay("run", "click.yaml", "--data", "dataset.yaml", "--store", "store", "--output", "trained", directory=clicks)
    evaluation = json.loads((clicks / "trained" / "click" / "evaluation.json").read_text(encoding="utf-8"))
    auc = evaluation["auc"]
    with capsys.disabled():
        print(
            f"\nclick log: AUC {auc:.4f} on {evaluation['rows']:,} rows held out, "
            f"{auc - BEST_COLUMN_AUC:+.4f} against the best single column's {BEST_COLUMN_AUC}"
        )
    assert 0.19 < evaluation["rows"] / 39_948 < 0.21
    assert auc > BEST_COLUMN_AUC
    assert evaluation["log_loss"] < evaluation["base_rate_log_loss"]
