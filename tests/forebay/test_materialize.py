import os
import subprocess
import sys

import pytest

from forebay.main import main
from tests.commands import ROOT
from tests.pipelines.logs import csv, stored

DATASET = """
dataset: log
path: log
format: csv
schema: {query: string, device: string, price: float64, click: int64}
"""
MODEL = """
model: NAME
features:
  price: {dense: "log1p(fill(price, 0))"}
  device: {ids: "vocab(device)", table: device}
tables: {device: {dim: 4}}
label: click
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Two models of the same features over a log of two files; gives the arguments of the verb."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "150")
    (tmp_path / "dataset.yaml").write_text(DATASET)
    for name in ("one", "two"):
        (tmp_path / f"{name}.yaml").write_text(MODEL.replace("NAME", name))
    for number in (1, 2):
        csv(tmp_path / "log", number)
    return ["materialize", "one.yaml", "two.yaml", "--data", "dataset.yaml", "--store", "store"]


def test_it_computes_what_is_missing_and_then_nothing(project, tmp_path, capsys):
    assert main([*project, "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert "dry run: would ingest 2 text files, compute 1 statistic and 6 (column, chunk); nothing was written" in out
    assert not (tmp_path / "store").exists()

    assert main(project) == 0
    out = capsys.readouterr().out
    assert "1 statistic from 2 partial results" in out
    assert "6 (column, chunk) in 2 files" in out
    assert "hits 50.0 %" in out

    rooms = ("assets", "chunks", "datasets", "groups", "partials", "pins", "raw")
    files = [stored("store", room) for room in rooms]
    assert main(project) == 0
    assert capsys.readouterr().out == "hits 100 %: 12 (model, column, chunk) asked for, nothing to compute\n"
    assert main([*project, "--dry-run"]) == 0
    assert "would ingest 0 text files, compute 0 statistics and 0 (column, chunk)" in capsys.readouterr().out
    assert [stored("store", room) for room in rooms] == files

    csv(tmp_path / "log", 3).write_text("query,device,price,click\na,Phone,cheap,1\n")
    assert main([*project, "--dry-run", "--refresh"]) == 0
    # Statistics over three chunks are others, and so is the feature that uses them, in all chunks.
    assert "would ingest 1 text file, compute 1 statistic and 5 (column, chunk)" in capsys.readouterr().out
    assert main([*project, "--refresh", "--workers", "2"]) == 0
    out = capsys.readouterr().out
    assert "price: 1 bad value became null" in out
    assert "1 statistic from 1 partial result" in out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("query,device,price,click\na,b\n", "part-01.csv:2: expected 4 fields as in the header, found 2"),
        ("query,device,price\n", "part-01.csv:1: the header lacks 'click'"),
        ('query,device,price,click\na,"b,1,0\n', "part-01.csv:2: found a quote that is never closed"),
        ("", "part-01.csv:1: expected a header"),
        ("query,device,price,click\na,b,1,\n", "the label is null in 1 of 6 rows"),
    ],
)
def test_a_wrong_log_is_told_without_a_traceback(project, tmp_path, capfd, text, message):
    csv(tmp_path / "log", 1).write_text(text)
    assert main(project) == 2
    err = capfd.readouterr().err
    assert message in err
    assert "Traceback" not in err
    assert "apache_beam" not in err
    assert stored("store", "datasets") == set()


@pytest.mark.parametrize("verb", [["materialize"], ["run", "--output", "runs"]], ids=["materialize", "run"])
@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (("1", "", ""), "model 'one': the label is null in 2 of 8 rows that the filter keeps (rows count from 0)"),
        (("1", "2", "-1"), "model 'one': the label is not in [0, 1] in 2 of 8 rows that the filter keeps"),
    ],
)
def test_labels_that_nothing_can_learn_are_told_with_their_place(project, tmp_path, capfd, verb, labels, message):
    part = csv(tmp_path / "log", 1)
    part.write_text("query,device,price,click\n" + "".join(f"a,b,1,{label}\n" for label in labels))
    assert main([*verb, *project[1:]]) == 2
    err = capfd.readouterr().err
    assert message in err
    assert f"{part}: 2 rows, the first is row 1" in err
    assert "Traceback" not in err
    assert stored("store", "datasets") == set()
    assert not (tmp_path / "runs").exists()


def test_a_label_that_is_nan_is_told_with_its_place(project, tmp_path, capfd):
    (tmp_path / "one.yaml").write_text(MODEL.replace("NAME", "one").replace("label: click", "label: price * 0 + 0.5"))
    part = csv(tmp_path / "log", 1)
    part.write_text("query,device,price,click\na,b,1,1\na,b,nan,1\n")
    assert main(project) == 2
    err = capfd.readouterr().err
    assert "model 'one': the label is not in [0, 1] in 1 of 7 rows that the filter keeps" in err
    assert f"{part}: 1 row, the first is row 1" in err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--workers", "0"], "--workers: expected at least 1, found 0"),
        (["--beam=--regoin=x"], "Beam has no option --regoin (did you mean 'region'?)"),
        (["--runner", "DataflwRunner"], "(did you mean 'DataflowRunner'?)"),
        (["--runner", "FlinkRunner"], "needs --temp_location"),
        (["--format", "csv"], "invalid choice: 'csv'"),
        (["--store", "log"], "expected a store"),
    ],
)
def test_wrong_options(project, tmp_path, capsys, options, message):
    assert main([*project, *options]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "store").exists()


def test_a_log_without_files_leaves_no_store(project, tmp_path, capsys):
    for file in (tmp_path / "log").iterdir():
        file.unlink()
    assert main(project) == 2
    assert "expected files in" in capsys.readouterr().err
    assert not (tmp_path / "store").exists()


def test_a_disk_that_takes_no_more_is_told_without_a_traceback(project, tmp_path):
    script = (
        "import resource, sys; from forebay.main import main; "
        f"resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500)); sys.exit(main({project!r}))"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    ran = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert ran.returncode == 1
    assert "cannot write" in ran.stderr
    assert "File too large" in ran.stderr
    assert "Traceback" not in ran.stderr
    assert stored("store", "raw") == set()
