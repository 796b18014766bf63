"""The mistakes found in what a user wrote, collected so that one error can tell all of them."""

from __future__ import annotations

from dataclasses import dataclass

from transforms.errors import SpecError
from transforms.places import Place, Span, pointed


@dataclass(frozen=True)
class Problem:
    """One mistake.

    Attributes:
      place: where it was made, or None for specs made in Python.
      message: what was found, what was expected.
      snippet: the expression with a caret under the part at fault, or an empty string.
    """

    place: Place | None
    message: str
    snippet: str = ""

    def __str__(self) -> str:
        first = f"{self.place}: {self.message}" if self.place is not None else self.message
        return f"{first}\n{self.snippet}" if self.snippet else first


class Problems:
    """Mistakes, by file and line; one that is found again (in a file that several models include) is told once."""

    def __init__(self) -> None:
        self._found: dict[Problem, None] = {}

    def __len__(self) -> int:
        return len(self._found)

    def add(self, place: Place | None, message: str) -> None:
        """Notes a mistake."""
        self._found[Problem(place, message)] = None

    def add_in_text(self, place: Place | None, message: str, text: str, span: Span | None) -> None:
        """Notes a mistake in an expression that begins at ``place``."""
        if place is not None and span is not None:
            place = place.down(span.line)
        self._found[Problem(place, message, pointed(text, span))] = None

    def raise_if_any(self) -> None:
        """Raises all mistakes as one error.

        Raises:
          SpecError: where there is any.
        """
        if self._found:
            texts = [str(problem) for problem in self._in_order()]
            if len(texts) > 1:
                texts.append(f"{len(texts)} mistakes")
            raise SpecError("\n".join(texts))

    def _in_order(self) -> list[Problem]:
        """Files in the order in which they came up, and the lines of each file in theirs."""
        files: dict[str | None, int] = {}
        for problem in self._found:
            files.setdefault(problem.place.file if problem.place else None, len(files))

        def rank(problem: Problem) -> tuple[int, int]:
            place = problem.place
            return (files[place.file], place.line) if place else (files[None], 0)

        return sorted(self._found, key=rank)
