"""Comparing what an export answers with what it should: ids bit by bit, values within float tolerance.

What is asked and where the right answers come from is `trainer.export_check`.
"""

from __future__ import annotations

import math
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
      values: [values], or [rows, width] for vectors.
      lengths: values of each row [rows]; None where every row has one.
    """

    values: npt.NDArray[Any]
    lengths: npt.NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.row_lengths)

    @property
    def row_lengths(self) -> npt.NDArray[np.int64]:
        """How many values each row has [rows]; a vector counts as one."""
        return np.ones(len(self.values), np.int64) if self.lengths is None else self.lengths

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
      batch_size: rows per request.
      compared: number of values that were compared.
      differing: how many of them differ by more than the kind's tolerance; a row of another length counts as one.
      largest: the largest absolute difference; 0 where nothing differs.
    """

    name: str
    kind: Kind
    signature: str
    batch_size: int
    compared: int
    differing: int
    largest: float


def compare(name: str, kind: Kind, signature: str, batch_size: int, found: Column, expected: Column) -> Comparison:
    """Compares an output with what it should be, row by row."""
    if (found.lengths is None) != (expected.lengths is None) or len(found) != len(expected):
        differing, largest = max(len(found), len(expected)), math.inf
    elif not np.array_equal(found.row_lengths, expected.row_lengths):
        differing, largest = int(np.sum(found.row_lengths != expected.row_lengths)), math.inf
    elif found.values.shape != expected.values.shape:
        differing, largest = len(expected), math.inf
    elif kind == "ids":
        differing, largest = _compare_ids(found.values, expected.values)
    else:
        differing, largest = _compare_numbers(found.values, expected.values, *TOLERANCES[kind])
    return Comparison(name, kind, signature, batch_size, expected.values.size, differing, largest)


def _compare_ids(found: npt.NDArray[Any], expected: npt.NDArray[Any]) -> tuple[int, float]:
    different = found != expected
    # In Python's integers: float64 does not tell all int64 apart, and their difference may be no int64.
    pairs = zip(found[different].tolist(), expected[different].tolist(), strict=True)
    return int(different.sum()), float(max((abs(one - other) for one, other in pairs), default=0))


def _compare_numbers(
    found: npt.NDArray[Any], expected: npt.NDArray[Any], relative: float, absolute: float
) -> tuple[int, float]:
    different = ~np.isclose(found, expected, rtol=relative, atol=absolute, equal_nan=True)
    unequal = ~((found == expected) | (np.isnan(found) & np.isnan(expected)))  # inf - inf is no difference
    gaps = np.abs(found[unequal].astype(np.float64) - expected[unequal].astype(np.float64))
    return int(different.sum()), float(np.where(np.isnan(gaps), np.inf, gaps).max(initial=0.0))
