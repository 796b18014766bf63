"""The verb: what it prints, what it writes, and what it refuses before it works."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import tensorflow as tf

from forebay.main import main
from forebay.project import open_project
from tests.trainer.served_log import fill
from trainer.training import train

MODEL = """
model: clicks
features:
  query: {ids: "hash(tokens(query), 50)", table: token, combiner: mean}
  price: {dense: "log1p(fill(price, 0))"}
tables: {token: {dim: 4}}
label: clicked
network: {mlp: {hidden: [4]}}
"""

DATASET = """
dataset: log
path: log.parquet
format: parquet
schema: {clicked: bool not null}
"""

ASK = ["export", "model.yaml", "--data", "dataset.yaml", "--store", "store", "--run", "runs/clicks"]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with specs, a log, a filled store and a run."""
    directory = tmp_path_factory.mktemp("export")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(directory)
        Path("model.yaml").write_text(MODEL)
        Path("other.yaml").write_text(MODEL.replace("log1p(fill(price, 0))", "fill(price, 0)"))
        Path("dataset.yaml").write_text(DATASET)
        rows = {
            "query": ["red shoes", None, "größe", ""] * 5,
            "price": [None, 1.0, 0.1, 2.5] * 5,
            "clicked": [True, False] * 10,
        }
        pq.write_table(pa.table(rows), "log.parquet")
        project = open_project(["model.yaml"], "dataset.yaml", "store", create=True)
        assert project.store is not None
        fill(project.store, project.plan, {})
        train(project.plan_again(), "clicks", project.store, Path("runs/clicks"))
    return directory


def test_it_exports_checks_and_says_what_was_compared(
    trained: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(trained)
    monkeypatch.setenv("COLUMNS", "120")
    assert main([*ASK, "--output", "served/1"]) == 0
    printed = capsys.readouterr().out
    assert re.search(r"ids +features +1 +1, 7, 4,096 +[\d,]+ +0 +0\b", printed), printed
    assert re.search(r"predictions +examples +1 +1, 7, 4,096 +[\d,]+ +0 ", printed), printed
    assert "clicks: exported step 1 to served/1" in printed
    assert "served 20 rows of the log as it was trained: ids are equal" in printed
    signature = tf.saved_model.load("served/1").signatures["serving_default"]
    answer = signature(
        query=tf.constant(["red shoes"]),
        query__present=tf.constant([True]),
        price=tf.constant([0.0], tf.float64),
        price__present=tf.constant([False]),
    )
    assert 0 < answer["prediction"].numpy()[0] < 1

    # Again, it refuses; and what is there stays.
    before = sorted(Path("served").rglob("*"))
    assert main([*ASK, "--output", "served/1"]) == 2
    assert "served/1: expected no directory or an empty one for the export" in capsys.readouterr().err
    assert sorted(Path("served").rglob("*")) == before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["export", "model.yaml", *ASK[2:-1], "runs"], "runs: expected a run of model clicks with a checkpoint"),
        (["export", "other.yaml", *ASK[2:]], "features"),
    ],
)
def test_a_run_of_another_model_or_none_is_refused(
    words: list[str],
    message: str,
    trained: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(trained)
    assert main([*words, "--output", str(tmp_path / "out")]) == 2
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_without_the_check_nothing_of_the_log_is_needed(
    trained: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.chdir(trained)
    # The log has grown since, and the new rows are not materialized.
    grown = tmp_path / "grown"
    grown.mkdir()
    (grown / "dataset.yaml").write_text(DATASET.replace("log.parquet", "log*.parquet"))
    (grown / "log.parquet").write_bytes(Path("log.parquet").read_bytes())
    pq.write_table(pq.read_table("log.parquet").slice(3), grown / "log-more.parquet")
    words = ["export", "model.yaml", "--data", str(grown / "dataset.yaml"), *ASK[4:]]
    output = tmp_path / "out"
    assert main([*words, "--output", str(output)]) == 1
    assert "3 (column, chunk) of model clicks are missing" in capsys.readouterr().err
    assert not output.exists()
    assert main([*words, "--output", str(output), "--no-check"]) == 0
    assert "exported step 1" in capsys.readouterr().out
    assert (output / "saved_model.pb").exists()
