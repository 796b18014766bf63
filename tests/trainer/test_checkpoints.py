from __future__ import annotations

import json
import multiprocessing
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from trainer.checkpoints import Checkpoints, Part, Progress
from trainer.errors import CheckpointError, SetupMismatchError

SETUP = {"model": "m", "tables": "t[6, 2] by Sgd"}


class Array:
    """A part in memory, in pieces of two rows."""

    def __init__(self, name: str, values: np.ndarray):
        self.values = values.astype(np.float32)
        self.part = Small(name, self.values.shape, self._read, self._write)

    def _read(self, rows: range) -> np.ndarray:
        return self.values[rows.start : rows.stop]

    def _write(self, rows: range, values: np.ndarray) -> None:
        self.values[rows.start : rows.stop] = values


class Small(Part):
    """A part that is written in small pieces."""

    def ranges(self) -> Iterator[range]:
        for start in range(0, self.shape[0], 2):
            yield range(start, min(start + 2, self.shape[0]))


def arrays(factor: float = 1.0, rows: int = 5) -> list[Array]:
    return [
        Array("table/t/values", factor * np.arange(rows * 2).reshape(rows, 2)),
        Array("dense/b/values", factor * np.ones(3)),
    ]


def parts(of: list[Array]) -> list[Part]:
    return [each.part for each in of]


def test_what_is_saved_is_restored(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path / "run", SETUP)
    assert checkpoints.steps() == ()
    progress = Progress(12, 345, (1, 2, 3))
    checkpoints.save(progress, parts(arrays()))
    found = arrays(0.0)
    assert Checkpoints(tmp_path / "run", SETUP).restore(12, parts(found)) == progress
    for ours, theirs in zip(found, arrays(), strict=True):
        np.testing.assert_array_equal(ours.values, theirs.values)
    files = sorted(path.name for path in checkpoints.path(12).iterdir())
    assert files == ["000000.npy", "000001.npy", "checkpoint.json"]
    np.testing.assert_array_equal(np.load(checkpoints.path(12) / "000000.npy"), arrays()[0].values)


def test_old_ones_go_and_the_newest_stay(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path, SETUP, keep=2)
    for step in (5, 50, 7):
        checkpoints.save(Progress(step), parts(arrays()))
    assert checkpoints.steps() == (7, 50)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["000000000007", "000000000050"]


def test_a_step_is_saved_once(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path, SETUP)
    first = checkpoints.save(Progress(5), parts(arrays()))
    before = (first / "checkpoint.json").stat().st_mtime_ns
    assert checkpoints.save(Progress(5), parts(arrays())) == first
    assert (first / "checkpoint.json").stat().st_mtime_ns == before


@pytest.mark.parametrize("damage", ["flip", "shorten", "remove", "description"])
def test_a_damaged_one_is_refused_and_changes_nothing(tmp_path: Path, damage: str) -> None:
    checkpoints = Checkpoints(tmp_path, SETUP)
    path = checkpoints.save(Progress(5), parts(arrays())) / "000001.npy"
    if damage == "flip":
        data = bytearray(path.read_bytes())
        data[-1] ^= 1
        path.write_bytes(bytes(data))
    elif damage == "shorten":
        path.write_bytes(path.read_bytes()[:-4])
    elif damage == "remove":
        path.unlink()
    else:
        path = path.parent / "checkpoint.json"
        path.write_text(path.read_text()[:100])
    found = arrays(0.0)
    with pytest.raises(CheckpointError, match=str(path)):
        checkpoints.restore(5, parts(found))
    assert not any(each.values.any() for each in found)


@pytest.mark.parametrize(("steps", "left"), [((5,), "the run has none"), ((3, 5), "the newest is that of step 3")])
def test_what_is_left_without_a_damaged_checkpoint_is_said(tmp_path: Path, steps: tuple[int, ...], left: str) -> None:
    checkpoints = Checkpoints(tmp_path, SETUP)
    paths = [checkpoints.save(Progress(step), parts(arrays())) for step in steps]
    assert checkpoints.restore_newest(parts(arrays())).step == 5
    (paths[-1] / "000000.npy").write_bytes(b"")
    with pytest.raises(CheckpointError, match=f"000000.npy is damaged: .*\nwithout {paths[-1]} {left}"):
        checkpoints.restore_newest(parts(arrays()))


def test_another_format_is_refused(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path, SETUP)
    path = checkpoints.save(Progress(5), parts(arrays())) / "checkpoint.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"format": 2}))
    with pytest.raises(CheckpointError, match="expected a checkpoint of format 1, found 2"):
        checkpoints.restore(5, parts(arrays()))


def test_another_setup_is_refused_naming_both(tmp_path: Path) -> None:
    Checkpoints(tmp_path, SETUP).save(Progress(5), parts(arrays()))
    other = Checkpoints(tmp_path, SETUP | {"tables": "t[8, 2] by Sgd"})
    with pytest.raises(SetupMismatchError, match=r"tables is t\[6, 2\] by Sgd there, and t\[8, 2\] by Sgd now"):
        other.restore(5, parts(arrays()))
    assert other.restore(5, parts(arrays()), only=["model"]).step == 5


def test_other_arrays_are_refused_naming_them(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path, SETUP)
    checkpoints.save(Progress(5), parts(arrays()))
    with pytest.raises(SetupMismatchError, match=r"table/t/values has shape \(5, 2\) there, and \(7, 2\) in the model"):
        checkpoints.restore(5, parts(arrays(rows=7)))
    with pytest.raises(SetupMismatchError, match="it has dense/b/values, which the model has not"):
        checkpoints.restore(5, parts(arrays()[:1]))
    more = [*arrays(), Array("table/u/values", np.zeros((1, 1)))]
    with pytest.raises(SetupMismatchError, match="the model has table/u/values, which it has not"):
        checkpoints.restore(5, parts(more))


def _save_forever(directory: Path) -> None:
    """Saves step after step, each with its own number in all arrays."""
    checkpoints = Checkpoints(directory, SETUP, keep=2)
    step = 0
    while True:
        step += 1
        checkpoints.save(Progress(step), parts(arrays(float(step), rows=400)))


def test_killed_while_saving_a_whole_one_is_restored(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    last = 0
    for round_number in range(8):
        directory = tmp_path / str(round_number)
        process = multiprocessing.get_context("fork").Process(target=_save_forever, args=(directory,))
        process.start()
        assert process.pid is not None
        while not Checkpoints(directory, SETUP).steps():
            time.sleep(0.01)
        time.sleep(random.random() * 0.05)
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        checkpoints = Checkpoints(directory, SETUP, keep=2)
        last = checkpoints.steps()[-1]
        found = arrays(0.0, rows=400)
        assert checkpoints.restore(last, parts(found)).step == last
        np.testing.assert_array_equal(found[0].values, arrays(float(last), rows=400)[0].values)
        checkpoints.save(Progress(last + 1), parts(arrays()))
        assert all(path.name.isdecimal() for path in directory.iterdir()), "nothing half-written is left"
    assert last
