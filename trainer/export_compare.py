"""Comparing what an export answers with what it should: ids bit by bit, values within float tolerance.

What is asked and where the right answers come from is `trainer.export_check`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

Kind = Literal["ids", "values", "predictions"]

TOLERANCES: dict[Kind, tuple[float, float]] = {"ids": (0.0, 0.0), "values": (1e-5, 1e-6), "predictions": (1e-4, 1e-5)}
"""Relative and absolute tolerance of each kind.

A dense feature is rounded to float32 once, from float64: a last place or two. Predictions go through matrix products
whose order of summation depends on the batch size.
"""


@dataclass(frozen=True)
class Column:
    """Values of several rows side by side.

    Attributes:
      values: [values], or [rows, width] for a vector.
      lengths: values of each row [rows]; None where every row has one.
    """

    values: npt.NDArray[Any]
    lengths: npt.NDArray[np.int64] | None = None

    @classmethod
    def concatenate(cls, parts: list[Column]) -> Column:
        """The rows of ``parts`` (at least one), in order."""
        values = np.concatenate([part.values for part in parts])
        lengths = [part.lengths for part in parts if part.lengths is not None]
        return cls(values, np.concatenate(lengths) if lengths else None)


@dataclass(frozen=True)
class Comparison:
    """How one output differs from what it should be.

    Attributes:
      name: the feature's name, or ``prediction``.
      kind: what is compared, and so how closely.
      signature: which signature was asked.
      compared: number of values that were compared.
      differing: how many of them differ by more than the kind's tolerance; rows of other lengths count as one each.
      largest: the largest absolute difference; 0 where nothing differs.
    """

    name: str
    kind: Kind
    signature: str
    compared: int
    differing: int
    largest: float


def compare(name: str, kind: Kind, signature: str, found: Column, expected: Column) -> Comparison:
    """Compares an output with what it should be, row by row."""
    if (found.lengths is None) != (expected.lengths is None):
        return Comparison(name, kind, signature, len(expected.values), len(expected.values), float("inf"))
    if found.lengths is not None and not np.array_equal(found.lengths, expected.lengths):
        rows = min(len(found.lengths), len(expected.lengths))
        differing = int(np.sum(found.lengths[:rows] != expected.lengths[:rows]))
        differing += abs(len(found.lengths) - len(expected.lengths))
        return Comparison(name, kind, signature, len(expected.values), differing, float("inf"))
    if found.values.shape != expected.values.shape:
        return Comparison(name, kind, signature, len(expected.values), len(expected.values), float("inf"))
    return _compare_values(name, kind, signature, found.values, expected.values)


def _compare_values(
    name: str, kind: Kind, signature: str, found: npt.NDArray[Any], expected: npt.NDArray[Any]
) -> Comparison:
    if kind == "ids":  # in integers: float64 does not tell all int64 apart
        different = found != expected
        largest = max(
            (abs(a - b) for a, b in zip(found[different].tolist(), expected[different].tolist(), strict=True)),
            default=0,
        )
        return Comparison(name, kind, signature, expected.size, int(different.sum()), float(largest))
    relative, absolute = TOLERANCES[kind]
    different = ~np.isclose(found, expected, rtol=relative, atol=absolute, equal_nan=True)
    unequal = ~((found == expected) | (np.isnan(found) & np.isnan(expected)))  # inf - inf is no difference
    gaps = np.abs(found[unequal].astype(np.float64) - expected[unequal].astype(np.float64))
    gaps = np.where(np.isnan(gaps), np.inf, gaps)
    return Comparison(name, kind, signature, expected.size, int(different.sum()), float(gaps.max(initial=0.0)))
