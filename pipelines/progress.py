"""Progress of a job, seen from outside: by looking at what has appeared in the store.

Runners report progress in ways of their own, or not at all; a file that can be seen is whole, whoever wrote it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

from materialized.store import Store

_LOOK_SECONDS = 0.5

_LOOK_SHARE = 20
"""A look at the store is followed by a pause of at least this many times its duration."""


@dataclass(frozen=True)
class Goal:
    """Something that is done when some files exist.

    Attributes:
      keys: the files.
      rows: how many rows of the log it stands for.
    """

    keys: tuple[str, ...]
    rows: int = 0


class _RowsPerSecond(ProgressColumn):
    def render(self, task: Task) -> Text:
        seconds = task.elapsed or 0.0
        rows = task.fields["rows"]
        return Text(f"{rows / seconds:,.0f} rows/s" if rows and seconds else "", style="progress.data.speed")


@contextmanager
def watched(
    title: str, unit: str, goals: Sequence[Goal], store: Store, note: str, console: Console | None
) -> Iterator[None]:
    """Shows how many of ``goals`` are reached while the block runs.

    Args:
      title: what is done.
      unit: what a goal is called.
      goals: what is waited for.
      store: where the files appear.
      note: shown behind the bar: the hit rate.
      console: a terminal; None, or one that is no terminal, shows nothing.
    """
    if console is None or not console.is_terminal or not goals:
        yield
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(unit),
        _RowsPerSecond(),
        TimeRemainingColumn(elapsed_when_finished=True),
        TextColumn("{task.fields[note]}"),
    )
    with Progress(*columns, console=console) as progress:
        task = progress.add_task(title, total=len(goals), rows=0, note=note)
        watcher = _Watcher(goals, store, lambda done, rows: progress.update(task, completed=done, rows=rows))
        watcher.start()
        try:
            yield
        finally:
            watcher.stop()


class _Watcher(threading.Thread):
    """Looks again and again which goals are reached."""

    def __init__(self, goals: Sequence[Goal], store: Store, report: Callable[[int, int], None]) -> None:
        super().__init__(name="progress", daemon=True)
        self._waiting = list(goals)
        self._total = len(goals)
        self._store = store
        self._report = report
        self._rows = 0
        self._ended = threading.Event()

    def run(self) -> None:
        while not self._ended.is_set():
            start = time.monotonic()
            self.look()
            self._ended.wait(max(_LOOK_SECONDS, _LOOK_SHARE * (time.monotonic() - start)))

    def look(self) -> None:
        """Looks once."""
        waiting = []
        for goal in self._waiting:
            if all(self._store.exists(key) for key in goal.keys):
                self._rows += goal.rows
            else:
                waiting.append(goal)
        self._waiting = waiting
        self._report(self._total - len(waiting), self._rows)

    def stop(self) -> None:
        """Looks for the last time and ends."""
        self._ended.set()
        self.join()
        self.look()
