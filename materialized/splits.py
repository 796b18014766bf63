"""Which rows are held out for evaluation.

Three ways, one answer: for a run of rows of a manifest entry, which are evaluation rows. By chunks, a whole entry is on
one side. By time, or by hash of an expression, a materialized column says so (`BoundModel.split`). By hash of the
position, a row's side depends on its chunk's content, its position there and the seed: equal chunks are on the same
sides, and a chunk that is added moves no row.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from materialized.chunks import ChunkEntry, Manifest
from materialized.orders import draws
from transforms.specs import Evaluate, EvaluateChunks, EvaluateHash


@dataclass(frozen=True)
class Split:
    """Tells evaluation rows from training rows.

    Attributes:
      evaluate: how rows are held out; None holds out none.
      held_out: keys of the entries that are held out whole, where it is by chunks.
    """

    evaluate: Evaluate | None
    held_out: frozenset[tuple[str, int]] = frozenset()

    @classmethod
    def of(cls, evaluate: Evaluate | None, manifest: Manifest) -> Split:
        """The split of ``manifest`` by ``evaluate``. Raises SliceError where its slice is none."""
        if isinstance(evaluate, EvaluateChunks):
            return cls(evaluate, frozenset(entry.key for entry in manifest.slice(evaluate.chunks)))
        return cls(evaluate)

    @property
    def needs_column(self) -> bool:
        """Whether the model's split column says which rows are held out."""
        by_position = isinstance(self.evaluate, EvaluateHash) and self.evaluate.by is None
        return not (self.evaluate is None or isinstance(self.evaluate, EvaluateChunks) or by_position)

    def entries(self, entries: Iterable[ChunkEntry], part: str) -> tuple[ChunkEntry, ...]:
        """The entries that can have rows of ``part`` ("all", "train" or "evaluate")."""
        if part == "all":
            return tuple(entries)
        if self.evaluate is None:
            return tuple(entries) if part == "train" else ()
        if not isinstance(self.evaluate, EvaluateChunks):
            return tuple(entries)
        return tuple(entry for entry in entries if (entry.key in self.held_out) == (part == "evaluate"))

    def keep(
        self, entry: ChunkEntry, rows: range, part: str, column: npt.NDArray[np.bool_] | None
    ) -> npt.NDArray[np.bool_]:
        """Which of ``rows`` of ``entry`` are in ``part``; ``column`` has the split column's values if one is needed."""
        if part == "all":
            return np.ones(len(rows), np.bool_)
        held_out = self._held_out(entry, rows, column)
        return held_out if part == "evaluate" else ~held_out

    def _held_out(self, entry: ChunkEntry, rows: range, column: npt.NDArray[np.bool_] | None) -> npt.NDArray[np.bool_]:
        if self.needs_column:
            if column is None:
                raise ValueError(f"a split by {self.evaluate} needs the split column")
            return column
        if isinstance(self.evaluate, EvaluateHash):
            return hashed(entry.chunk, rows, self.evaluate)
        return np.full(len(rows), entry.key in self.held_out)


def hashed(chunk: str, rows: range, evaluate: EvaluateHash) -> npt.NDArray[np.bool_]:
    """Which of ``rows`` of ``chunk`` a split by position holds out."""
    bound = np.uint64(min(int(evaluate.fraction * 2.0**64), 2**64 - 1))
    return draws((int(chunk[:16], 16), evaluate.seed), rows) < bound
