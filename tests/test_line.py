"""The whole line as the README runs it, on a part of the taxi trips: plan, materialize, train, export; then again."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.commands import ROOT, forebay

TAXI = ROOT / "examples" / "taxi"
ROWS_PER_FILE = 150


@pytest.fixture(scope="module")
def taxi(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example with the first rows of each of its files."""
    copy = tmp_path_factory.mktemp("taxi")
    shutil.copytree(TAXI / "models", copy / "models")
    shutil.copy(TAXI / "dataset.yaml", copy)
    (copy / "data").mkdir()
    for path in sorted((TAXI / "data").glob("*.csv")):
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        (copy / "data" / path.name).write_text("".join(lines[: ROWS_PER_FILE + 1]), encoding="utf-8")
    return copy


def computed(store: Path) -> dict[Path, int]:
    """Everything in a store but the digests of source files, which are remembered once the files are no longer new."""
    paths = [path for path in sorted(store.rglob("*")) if path.is_file() and path.parent.name != "sources"]
    return {path: path.stat().st_mtime_ns for path in paths}


def test_line_runs_and_the_second_time_computes_nothing(taxi: Path) -> None:
    names = ["tip", "tip_card", "tip_cross"]
    command = ["run", *(f"models/{name}.yaml" for name in names), "--data", "dataset.yaml", "--store", "store"]
    command += ["--output", "trained", "--export", "tip_cross"]

    first = forebay(*command, directory=taxi)
    for name in names:
        assert re.search(rf"\b{name}\b.*\d", first), f"no line about {name} in\n{first}"
    shared = re.search(r"hits (\d+(?:\.\d+)?) %", first)
    assert shared, first
    assert 60 < float(shared[1]) < 90

    stored = computed(taxi / "store")
    again = forebay(*command, directory=taxi)
    assert "hits 100 %" in again
    assert f"trained before, now only evaluated: {', '.join(names)}" in again
    assert re.search(r"tip_cross: exported before to trained/tip_cross/exports/\d+", again)
    assert computed(taxi / "store") == stored


def test_export_of_an_unknown_model_is_refused_before_any_work(taxi: Path) -> None:
    command = ["run", "models/tip.yaml", "--data", "dataset.yaml", "--store", "elsewhere", "--output", "none"]
    refused = forebay(*command, "--export", "tipp", directory=taxi, code=2)
    assert "found 'tipp' (did you mean 'tip'?)" in refused
    assert not (taxi / "none").exists()


def test_an_output_that_cannot_be_is_refused_before_any_work(taxi: Path) -> None:
    command = ["run", "models/tip.yaml", "--data", "dataset.yaml", "--store", "untouched", "--output"]
    refused = forebay(*command, "dataset.yaml/runs", directory=taxi, code=2)
    assert f"--output: expected a directory, or a place for one, found the file {taxi / 'dataset.yaml'}" in refused
    assert computed(taxi / "untouched").keys() <= {taxi / "untouched" / "store.json"}
