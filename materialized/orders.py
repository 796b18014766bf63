"""Seeded orders and draws, the same on every machine and with every version of every library.

All are made of splitmix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014), so
that a checkpoint's position means the same rows wherever it is restored.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

_MASK = 2**64 - 1

STEP = 0x9E3779B97F4A7C15
"""From one state of splitmix64 to the next: 2⁶⁴ ÷ the golden ratio."""


def splitmix64(values: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """The output function of splitmix64 at the states ``values``: a bijection of 64-bit integers."""
    mixed = values + np.uint64(STEP)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def draws(key: tuple[int, ...], rows: range) -> npt.NDArray[np.uint64]:
    """A 64-bit number for each position in ``rows`` that depends on ``key`` and the position alone."""
    state = np.zeros(1, np.uint64)
    for part in key:
        state = splitmix64(state ^ np.uint64(part & _MASK))
    positions = np.arange(rows.start, rows.stop, dtype=np.uint64)
    return splitmix64(splitmix64(positions) ^ state)


def permutation(key: tuple[int, ...], count: int) -> npt.NDArray[np.int64]:
    """A permutation of ``range(count)`` that depends on ``key`` and ``count`` alone."""
    return np.argsort(draws(key, range(count)), kind="stable")
