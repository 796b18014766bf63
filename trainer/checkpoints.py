"""Checkpoints: one directory per step, canonical, whole or not there.

A checkpoint holds arrays by logical name (a table's rows and its slots, a dense variable and its slots), never an
engine's stacks, so that any engine can restore what any other wrote. ``checkpoint.json`` lists them with shapes and
digests, beside the step, the reader's position and the setup: what the training was, in words that can be compared.
Arrays are plain ``.npy`` files, numbered: names never become paths.

Everything is written to a temporary directory, flushed to disk, and renamed: a directory whose name is a number is
whole. A file that was damaged later is refused by its digest.
"""

from __future__ import annotations

import hashlib
import io
import itertools
import json
import os
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from trainer.errors import CheckpointError, SetupMismatchError

FORMAT = 1
KEEP = 3
"""How many checkpoints of a run are kept."""

_DESCRIPTION = "checkpoint.json"
_TEMPORARY = ".writing-"


@dataclass(frozen=True)
class Part:
    """An array of a checkpoint, read and written in pieces along its first axis.

    Attributes:
      name: its logical name, as ``table/NAME/SLOT`` or ``dense/NAME/SLOT``.
      shape: its shape, at least one axis; float32.
      read: gives rows.
      write: replaces rows.
    """

    name: str
    shape: tuple[int, ...]
    read: Callable[[range], npt.NDArray[np.float32]]
    write: Callable[[range, npt.NDArray[np.float32]], None]

    def ranges(self) -> Iterator[range]:
        """Its rows in pieces of about 16 MB."""
        size = max(1, 2**22 // max(1, int(np.prod(self.shape[1:]))))
        for start in range(0, self.shape[0], size):
            yield range(start, min(start + size, self.shape[0]))


@dataclass(frozen=True)
class Progress:
    """How far a training is.

    Attributes:
      step: steps done.
      examples: examples seen in them.
      position: the reader's position after the last of them, or None before the first.
    """

    step: int = 0
    examples: int = 0
    position: tuple[int, int, int] | None = None


class Checkpoints:
    """The checkpoints of one run."""

    def __init__(self, directory: Path, setup: Mapping[str, str], keep: int = KEEP):
        """Checkpoints in ``directory``, which is made when the first is saved.

        Args:
          directory: where they are.
          setup: what the training is, in named texts; a checkpoint of another setup is refused.
          keep: how many of the newest to keep.
        """
        if keep < 1:
            raise ValueError(f"expected to keep at least one checkpoint, got {keep}")
        self._directory = directory
        self._setup = dict(setup)
        self._keep = keep

    def steps(self) -> tuple[int, ...]:
        """The steps of which there is a checkpoint, oldest first."""
        if not self._directory.is_dir():
            return ()
        names = [entry.name for entry in self._directory.iterdir() if entry.is_dir()]
        return tuple(sorted(int(name) for name in names if name.isdecimal()))

    def path(self, step: int) -> Path:
        """The directory of the checkpoint of ``step``."""
        return self._directory / f"{step:012}"

    def save(self, progress: Progress, parts: Iterable[Part]) -> Path:
        """Writes a checkpoint of ``parts`` and removes those that are no longer kept; its directory."""
        final = self.path(progress.step)
        if final.exists():
            return final  # the same step of the same setup has the same values
        self._directory.mkdir(parents=True, exist_ok=True)
        temporary = self._directory / f"{_TEMPORARY}{progress.step}-{os.getpid()}"
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir()
        arrays = [_write_part(part, temporary, f"{number:06}.npy") for number, part in enumerate(parts)]
        description = {
            "format": FORMAT,
            "step": progress.step,
            "examples": progress.examples,
            "position": progress.position,
            "setup": self._setup,
            "arrays": arrays,
        }
        with open(temporary / _DESCRIPTION, "w", encoding="utf-8") as file:
            json.dump(description, file, indent=1, sort_keys=True)
            _flush(file)
        _flush_directory(temporary)
        temporary.rename(final)
        _flush_directory(self._directory)
        self._remove_old()
        return final

    def _remove_old(self) -> None:
        """Removes old checkpoints and what killed processes left half-written."""
        for step in self.steps()[: -self._keep]:
            # First out of sight, so that one that is half-removed is never taken for whole.
            leaving = self._directory / f"{_TEMPORARY}removed-{step}"
            self.path(step).rename(leaving)
        for entry in self._directory.glob(f"{_TEMPORARY}*"):
            shutil.rmtree(entry, ignore_errors=True)

    def restore(self, step: int, parts: Iterable[Part], only: Collection[str] | None = None) -> Progress:
        """Puts the checkpoint of ``step`` into ``parts``.

        Args:
          step: one of `steps`.
          parts: where its arrays go, all of them.
          only: names of the texts of the setup that must be the same; None takes all.

        Raises:
          SetupMismatchError: it belongs to another setup, or its arrays have other names or shapes.
          CheckpointError: it is damaged.
        """
        directory = self.path(step)
        description = _description(directory)
        self._require_setup(directory, description["setup"], only)
        found = {entry["name"]: entry for entry in description["arrays"]}
        wanted = {part.name: part for part in parts}
        for name in sorted(found.keys() ^ wanted.keys()):
            where, other = ("it has", "the model has not") if name in found else ("the model has", "it has not")
            raise SetupMismatchError(f"{directory}: {where} {name}, which {other}")
        for name, part in wanted.items():
            if tuple(found[name]["shape"]) != part.shape:
                raise SetupMismatchError(
                    f"{directory}: {name} has shape {tuple(found[name]['shape'])} there, and {part.shape} in the model"
                )
        for name in wanted:  # all checked before any is changed
            _check_file(directory / found[name]["file"], found[name]["sha256"])
        for name, part in wanted.items():
            array = np.load(directory / found[name]["file"], mmap_mode="r", allow_pickle=False)
            for rows in part.ranges():
                part.write(rows, np.array(array[rows.start : rows.stop]))
        position = description["position"]
        return Progress(
            int(description["step"]),
            int(description["examples"]),
            None if position is None else (int(position[0]), int(position[1]), int(position[2])),
        )

    def restore_newest(self, parts: Iterable[Part], only: Collection[str] | None = None) -> Progress:
        """Puts the newest checkpoint into ``parts``, as `restore`; if it is damaged, says which is left without it."""
        steps = self.steps()
        try:
            return self.restore(steps[-1], parts, only)
        except CheckpointError as error:
            left = f"the newest is that of step {steps[-2]}" if len(steps) > 1 else "the run has none"
            raise CheckpointError(f"{error}\nwithout {self.path(steps[-1])} {left}") from error

    def _require_setup(self, directory: Path, found: Mapping[str, str], only: Collection[str] | None) -> None:
        for name in sorted(found.keys() | self._setup.keys()):
            if only is not None and name not in only:
                continue
            there, here = found.get(name, "(nothing)"), self._setup.get(name, "(nothing)")
            if there != here:
                raise SetupMismatchError(
                    f"{directory} belongs to another training: {name} is {there} there, and {here} now; "
                    "train into another directory, or go back to what it was"
                )


def _write_part(part: Part, directory: Path, name: str) -> dict[str, Any]:
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f4", "fortran_order": False, "shape": part.shape})
    digest = hashlib.sha256()
    with open(directory / name, "wb") as file:
        pieces = (np.ascontiguousarray(part.read(rows), "<f4").tobytes() for rows in part.ranges())
        for piece in itertools.chain([header.getvalue()], pieces):
            file.write(piece)
            digest.update(piece)
        _flush(file)
    return {"name": part.name, "file": name, "shape": list(part.shape), "sha256": digest.hexdigest()}


def _description(directory: Path) -> dict[str, Any]:
    path = directory / _DESCRIPTION
    try:
        description = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{path} cannot be read: {error}") from error
    if not isinstance(description, dict) or description.get("format") != FORMAT:
        found = description.get("format") if isinstance(description, dict) else type(description).__name__
        raise CheckpointError(f"{path}: expected a checkpoint of format {FORMAT}, found {found}")
    missing = {"step", "examples", "position", "setup", "arrays"} - description.keys()
    if missing:
        raise CheckpointError(f"{path} lacks {', '.join(sorted(missing))}")
    return description


def _check_file(path: Path, expected: str) -> None:
    try:
        with open(path, "rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise CheckpointError(f"{path} cannot be read: {error}") from error
    if found != expected:
        raise CheckpointError(f"{path} is damaged: expected SHA-256 {expected}, found {found}")


def _flush(file: Any) -> None:
    file.flush()
    os.fsync(file.fileno())


def _flush_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
