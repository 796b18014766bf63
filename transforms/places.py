"""Places in files and texts that people write, and messages that point at them.

What is wrong is said by whoever finds it; `transforms.problems` collects it.
"""

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

    def down(self, lines: int) -> Place:
        """The place `lines` lines further down."""
        return Place(self.file, self.line + lines, self.column) if lines else self


@dataclass(frozen=True)
class Span:
    """A part of one line of an expression's text: characters ``start`` to ``end`` of line ``line``, counted from 0."""

    line: int
    start: int
    end: int


MAX_SHOWN = 100
"""Characters of a line that a message shows."""


def pointed(text: str, span: Span | None, indent: str = "    ") -> str:
    """The line of ``text`` that ``span`` is in, and under it carets that mark the span; the first line without a span.

    Of a long line, the part around the span.
    """
    lines = text.split("\n")
    line = lines[0 if span is None else min(span.line, len(lines) - 1)]
    start, end = (0, 0) if span is None else (min(span.start, len(line)), min(span.end, len(line)))
    first = max(0, min(start - MAX_SHOWN // 3, len(line) - MAX_SHOWN))
    shown = line[first : first + MAX_SHOWN]
    if first > 0:
        shown = "…" + shown[1:]
    if first + MAX_SHOWN < len(line):
        shown = shown[:-1] + "…"
    if span is None:
        return indent + shown
    # A tab before the caret stays a tab, so that both lines are as wide.
    margin = "".join("\t" if character == "\t" else " " for character in shown[: start - first])
    return f"{indent}{shown}\n{indent}{margin}{'^' * max(1, min(end - start, len(shown) - (start - first)))}"


def nearest(name: str, names: Iterable[str]) -> str:
    """`` (did you mean 'fare'?)`` for the valid name most like ``name``, or an empty string where none is like it."""
    names = sorted(names)
    by_lower = {other.lower(): other for other in reversed(names)}
    matches = [by_lower[name.lower()]] if name.lower() in by_lower else difflib.get_close_matches(name, names, n=1)
    return f" (did you mean {matches[0]!r}?)" if matches else ""
