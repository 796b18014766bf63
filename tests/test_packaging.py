"""The distribution as users and Beam workers install it: what is in it, and the trainer with neither Beam nor tft."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tests.commands import ROOT, forebay, run

ROOMS = ["forebay", "materialized", "pipelines", "trainer", "transforms"]


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what is packaged; building writes beside the sources."""
    copy = tmp_path_factory.mktemp("sources")
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE", "constraints.txt"):
        shutil.copy(ROOT / name, copy)
    for room in ROOMS:
        shutil.copytree(ROOT / room, copy / room, ignore=shutil.ignore_patterns("__pycache__"))
    return copy


def test_packages_are_listed_completely() -> None:
    tree = ast.parse((ROOT / "setup.py").read_text(encoding="utf-8"))
    listed = next(
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "PACKAGES"
    )
    found = {
        path.parent.relative_to(ROOT).as_posix().replace("/", ".")
        for room in ROOMS
        for path in (ROOT / room).rglob("*.py")
    }
    assert sorted(listed) == sorted(found)


def test_setup_file_builds_what_a_beam_worker_installs(sources: Path, tmp_path: Path) -> None:
    run([sys.executable, "setup.py", "--quiet", "sdist", "--dist-dir", tmp_path], directory=sources)
    (archive,) = tmp_path.glob("forebay-*.tar.gz")
    with tarfile.open(archive) as inside:
        names = {name.partition("/")[2] for name in inside.getnames()}
    modules = {path.relative_to(ROOT).as_posix() for room in ROOMS for path in (ROOT / room).rglob("*.py")}
    assert modules | {"setup.py", "README.md", "LICENSE"} <= names
    assert not {name for name in names if name.startswith(("examples/", "benchmarks/", "docs/"))}


def test_constraints_are_plain_pins() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if not line.startswith("#")]
    assert [pin for pin in pins if "==" not in pin or any(mark in pin for mark in "/@; ")] == []
    assert len({pin.partition("==")[0].lower() for pin in pins}) == len(pins)


@pytest.fixture(scope="module")
def trainer_alone(sources: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a new environment with the extra ``trainer`` and nothing else."""
    if os.environ.get("FOREBAY_OFFLINE"):
        pytest.skip("FOREBAY_OFFLINE is set, and a new environment needs a package index")
    home = tmp_path_factory.mktemp("trainer_alone")
    subprocess.run([sys.executable, "-m", "venv", home], check=True)
    python = home / "bin" / "python"
    install = [python, "-m", "pip", "install", "--quiet", "--no-compile", "--disable-pip-version-check"]
    ran = subprocess.run(
        [*map(str, install), "--constraint", "constraints.txt", ".[trainer]"],
        cwd=sources, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, (
        f"the extra `trainer` could not be installed; where no package index can be reached, set FOREBAY_OFFLINE=1\n"
        f"{ran.stdout}\n{ran.stderr}"
    )
    return python


_IMPORT_ALL = """
import importlib, importlib.util, pathlib, sys
absent = [name for name in ("apache_beam", "tensorflow_transform", "tfx_bsl") if importlib.util.find_spec(name)]
assert absent == [], absent
count = 0
for room in ("transforms", "materialized", "trainer"):
    top = pathlib.Path(importlib.import_module(room).__file__).parent
    assert top.is_relative_to(sys.prefix), top
    for path in sorted(top.rglob("*.py")):
        parts = path.relative_to(top.parent).with_suffix("").parts
        importlib.import_module(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
        count += 1
print("modules", count)
"""


def test_trainer_alone_imports_everything_it_holds(trainer_alone: Path, tmp_path: Path) -> None:
    modules = [path for room in ("transforms", "materialized", "trainer") for path in (ROOT / room).rglob("*.py")]
    said = run([trainer_alone, "-c", _IMPORT_ALL], directory=tmp_path, ours=False)
    assert said.split()[-2:] == ["modules", str(len(modules))]


def test_trainer_alone_trains_from_a_store(trainer_alone: Path, tmp_path: Path) -> None:
    """Materialized here, trained there: all that the trainer needs of the other side is the store."""
    (tmp_path / "log.csv").write_text("clicked,item,price\n" + "".join(f"{i % 2},i{i % 7},{i}\n" for i in range(200)))
    (tmp_path / "log.yaml").write_text(
        "dataset: log\npath: log.csv\nformat: csv\nschema: {clicked: int64, item: string, price: float64 not null}\n"
    )
    (tmp_path / "model.yaml").write_text(
        "model: tiny\n"
        "features:\n"
        "  item: {ids: 'vocab(item)', table: item}\n"
        "  price: {dense: 'zscore(price)'}\n"
        "tables: {item: {dim: 4}}\n"
        "label: clicked\n"
        "network: {mlp: {hidden: [8]}}\n"
        "train: {batch_size: 32, evaluate: {hash: {fraction: 0.25}}}\n"
    )
    where = ("model.yaml", "--data", "log.yaml", "--store", "store")
    forebay("materialize", *where, directory=tmp_path)
    said = forebay("train", *where, "--output", "models", python=trainer_alone, directory=tmp_path)
    assert "tiny" in said
    elsewhere = ("model.yaml", "--data", "log.yaml", "--store", "elsewhere")
    refused = forebay("materialize", *elsewhere, python=trainer_alone, directory=tmp_path, code=1)
    assert "pip install 'forebay[pipelines]'" in refused
