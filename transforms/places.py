"""Places in files that people write, and messages that point at them."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    """A position in a file; lines and columns count from 1."""

    file: str
    line: int
    column: int = 1

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


def nearest(name: str, names: Iterable[str]) -> str:
    """`` (did you mean 'fare'?)`` for the valid name most like ``name``, or an empty string where none is like it."""
    matches = difflib.get_close_matches(name, sorted(names), n=1)
    return f" (did you mean {matches[0]!r}?)" if matches else ""
