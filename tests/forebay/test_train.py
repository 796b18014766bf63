"""The verb over a real store: what it prints, keeps, resumes and refuses."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from forebay.main import main
from forebay.project import open_project
from forebay.train import results_table
from materialized.errors import NotMaterializedError
from trainer.checkpoints import Progress
from trainer.definitions import define
from trainer.errors import RunError, SetupMismatchError
from trainer.loop import Options
from trainer.metrics import Metrics
from trainer.tables import Lookup, Table
from trainer.training import TrainedModel, load_trained, train
from transforms.specs import Adagrad, Sgd

MODEL = """
model: clicks
features:
  item: {ids: "vocab(item, oov=2)", table: item}
  words: {ids: "hash(tokens(query), 50)", table: word, combiner: mean}
  title: {ids: "hash(query, 30)", table: word}
  price: {dense: "zscore(log1p(fill(price, 0)))"}
  hour: {dense: "cyclic(hour, 24)"}
tables:
  item: {dim: 4, optimizer: {sgd: {learning_rate: 0.2}}}
  word: {dim: 4}
label: clicked
weight: "1 + hour / 24"
filter: price >= 0
network: {mlp: {hidden: [8]}}
train: {batch_size: 32, epochs: 2, evaluate: {hash: {fraction: 0.25}}}
"""
DATASET = """
dataset: log
path: log.csv
format: csv
schema: {clicked: int64 not null, item: string, query: string, price: float64, hour: int64 not null}
"""
ROWS = 400


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log with its columns in a store."""
    directory = tmp_path_factory.mktemp("log")
    random = np.random.default_rng(4)
    lines = ["clicked,item,query,price,hour"]
    for _ in range(ROWS):
        item = random.integers(0, 6)
        price = "" if random.random() < 0.1 else f"{random.integers(0, 9)}"
        words = " ".join(f"w{word}" for word in random.integers(0, 5, random.integers(1, 4)))
        lines.append(f"{int(random.random() < 0.1 + 0.15 * item)},i{item},{words},{price},{random.integers(0, 24)}")
    (directory / "log.csv").write_text("\n".join(lines) + "\n")
    (directory / "log.yaml").write_text(DATASET)
    (directory / "clicks.yaml").write_text(MODEL)
    arguments = [
        str(directory / "clicks.yaml"),
        "--data",
        str(directory / "log.yaml"),
        "--store",
        str(directory / "store"),
    ]
    assert main(["materialize", *arguments]) == 0
    return directory


@pytest.fixture
def place(log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the log, which a test may change."""
    shutil.copytree(log, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    return tmp_path


WHERE = ["clicks.yaml", "--data", "log.yaml", "--store", "store"]


def project(path: Path) -> tuple[object, ...]:
    opened = open_project([str(path / "clicks.yaml")], str(path / "log.yaml"), str(path / "store"), must_exist=True)
    assert opened.store is not None
    return opened.plan, "clicks", opened.store


def test_definition_has_all_sizes(log: Path) -> None:
    definition = define(*project(log))  # type: ignore[arg-type]
    assert definition.tables == (Table("item", 8, 4, Sgd(learning_rate=0.2)), Table("word", 50, 4, Adagrad()))
    assert definition.lookups == (
        Lookup("item", "item", "sum", ragged=definition.lookups[0].ragged),
        Lookup("words", "word", "mean", ragged=True),
        Lookup("title", "word", "sum", ragged=True),
    )
    assert definition.dense == {"price": 1, "hour": 2}


def test_it_trains_keeps_and_prints(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", *WHERE, "--output", "runs"]) == 0
    out = capsys.readouterr().out
    kept = json.loads((place / "runs" / "clicks" / "evaluation.json").read_text())
    line = next(line for line in out.splitlines() if line.strip().startswith("clicks"))
    figures = [kept[name] for name in ("auc", "log_loss", "normalized_entropy", "calibration", "base_rate_log_loss")]
    counts = [f"{kept[name]:,}" for name in ("step", "examples", "rows")]
    assert line.split() == ["clicks", *counts, *(f"{figure:.4f}" for figure in figures)]
    assert 0.15 < kept["rows"] / ROWS < 0.35
    trained = load_trained(*project(place), place / "runs" / "clicks")  # type: ignore[arg-type]
    assert trained.progress.step == kept["step"]
    assert trained.progress.examples == kept["examples"]
    assert list((place / "runs" / "clicks" / "summaries").iterdir())


def test_stopped_and_resumed_equals_undisturbed(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = project(place)
    whole = train(*arguments)  # type: ignore[arg-type]
    command = ["train", *WHERE, "--output", "runs", "--checkpoint-steps", "4"]
    assert main([*command, "--steps", "10"]) == 0
    assert main([*command]) == 2
    assert "has a run already, with a checkpoint of step 10; resume it (--resume)" in capsys.readouterr().err
    assert main([*command, "--resume"]) == 0
    resumed = load_trained(*arguments, place / "runs" / "clicks")  # type: ignore[arg-type]
    assert resumed.progress == whole.progress
    for ours, theirs in zip(resumed.model.parts(), whole.model.parts(), strict=True):
        rows = range(ours.shape[0])
        np.testing.assert_array_equal(ours.read(rows), theirs.read(rows), ours.name)


def test_a_run_of_another_model_or_other_data_is_refused(place: Path) -> None:
    directory = place / "runs"
    train(*project(place), directory, Options(steps=1))  # type: ignore[arg-type]
    (place / "clicks.yaml").write_text(MODEL.replace("tokens(query), 50", "tokens(query), 60"))
    assert main(["materialize", *WHERE]) == 0
    with pytest.raises(SetupMismatchError, match=r"belongs to another training: features is .* there, and .* now"):
        train(*project(place), directory, Options(resume=True))  # type: ignore[arg-type]
    with pytest.raises(SetupMismatchError, match="features is"):
        load_trained(*project(place), directory)  # type: ignore[arg-type]
    (place / "clicks.yaml").write_text(MODEL.replace("batch_size: 32", "batch_size: 64"))
    with pytest.raises(SetupMismatchError, match="batches is of 32, remainder kept there, and of 64"):
        train(*project(place), directory, Options(resume=True))  # type: ignore[arg-type]
    assert load_trained(*project(place), directory).progress.step == 1  # type: ignore[arg-type]


def test_a_damaged_file_is_told_without_a_traceback(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is found while TensorFlow asks for batches."""
    (file,) = (place / "store" / "chunks").rglob("*.parquet")
    data = bytearray(file.read_bytes())
    column = pq.read_metadata(file).row_group(0).column(0)
    begin = column.dictionary_page_offset or column.data_page_offset
    data[begin + column.total_compressed_size - 1] ^= 0xFF  # the last byte of its last page
    file.chmod(0o644)
    file.write_bytes(data)
    assert main(["train", *WHERE, "--output", "runs"]) == 1
    error = capsys.readouterr().err
    assert f"{file.name}: rows 0 to {ROWS - 1} cannot be read" in error
    assert "Traceback" not in error


def test_what_is_not_materialized_is_said(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "clicks.yaml").write_text(MODEL.replace("hash(query, 30)", "hash(query, 31)"))
    with pytest.raises(NotMaterializedError, match=r"1 \(column, chunk\) of model clicks are missing"):
        train(*project(place))  # type: ignore[arg-type]
    assert main(["train", *WHERE, "--output", "runs"]) == 1
    assert "`forebay materialize` computes them" in capsys.readouterr().err
    assert not (place / "runs").exists()


def test_values_that_are_not_finite_are_wrong_input_and_leave_no_files(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / "clicks.yaml").write_text(MODEL.replace("zscore(log1p(fill(price, 0)))", "log(fill(price, 0) * 0)"))
    assert main(["materialize", *WHERE]) == 0
    assert main(["train", *WHERE, "--output", "runs"]) == 2
    assert "model clicks, step 1: feature 'price' is not finite (-inf)" in capsys.readouterr().err
    assert list((place / "runs" / "clicks").iterdir()) == []


def test_wrong_options_are_refused(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", *WHERE, "--output", "runs", "--epochs", "0"]) == 2
    assert "--epochs: expected at least 1, found 0" in capsys.readouterr().err
    (place / "file").write_text("")
    assert main(["train", *WHERE, "--output", "file"]) == 2
    assert "cannot be made" in capsys.readouterr().err
    with pytest.raises(RunError, match="expected a run of model clicks with a checkpoint, found none"):
        load_trained(*project(place), place / "nothing")  # type: ignore[arg-type]


def test_undefined_figures_are_dashes(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One class among the rows held out, or no rows: no crash, no warning, a dash."""
    (place / "clicks.yaml").write_text(MODEL.replace("label: clicked", "label: clicked >= 0"))
    assert main(["materialize", *WHERE]) == 0
    capsys.readouterr()
    assert main(["train", *WHERE, "--output", "runs", "--steps", "1"]) == 0
    assert re.search(r"clicks +1 +32 +\d+ +— +\d\.\d+ +— +\d\.\d+ +0\.0000", capsys.readouterr().out)
    from rich.console import Console

    nothing = TrainedModel(*_bound(place), Progress(), Metrics(0), None)  # type: ignore[arg-type]
    console = Console(width=120)
    with console.capture() as captured:
        console.print(results_table([nothing]))
    assert captured.get().count("—") >= 5


def _bound(path: Path) -> tuple[object, object]:
    plan, _, _ = project(path)
    return plan.models[0], None  # type: ignore[attr-defined]
