"""What a person sees while something takes long: a line on the console, from two seconds on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.status import Status

QUIET_SECONDS = 2.0
"""What takes less than this shows nothing."""

Show = Callable[[str], None]
"""Called with what is going on now."""


@contextmanager
def watched(console: Console | None) -> Iterator[Show]:
    """A line on ``console`` that says what it was last given; nothing without a console."""
    if console is None:
        yield lambda text: None
        return
    start = time.monotonic()
    status: Status | None = None

    def show(text: str) -> None:
        nonlocal status
        if status is not None:
            status.update(text)
        elif time.monotonic() - start > QUIET_SECONDS:
            status = console.status(text)
            status.start()

    try:
        yield show
    finally:
        if status is not None:
            status.stop()
