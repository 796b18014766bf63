"""Scalars for TensorBoard, in files that it reads; nothing where TensorBoard is not installed."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import tensorflow as tf

DIRECTORY = "summaries"
"""Where they are, inside a run's directory."""


class Summaries:
    """Writes scalars of a run."""

    def __init__(self, directory: Path | None):
        """Writes into ``directory``, which is made at the first write, or nowhere if it is None."""
        there = directory is not None and importlib.util.find_spec("tensorboard") is not None
        self._directory = directory if there else None
        self._writer: Any = None

    def __enter__(self) -> Summaries:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._writer is not None:
            self._writer.close()

    def write(self, step: int, scalars: Mapping[str, float | None]) -> None:
        """Writes what has a value."""
        if self._directory is None:
            return
        if self._writer is None:
            self._writer = tf.summary.create_file_writer(str(self._directory))
        with self._writer.as_default():
            for name, value in scalars.items():
                if value is not None:
                    tf.summary.scalar(name, value, step=step)
