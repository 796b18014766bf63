"""First values of parameters: a function of (seed, name, row, column) and of nothing else.

A counter hash, so that any part of a table can be computed alone and is the same whatever the stacking, the sharding or
the engine. The bits of a value are two rounds of SplitMix64's finalizer (Steele, Lea and Flood, "Fast splittable
pseudorandom number generators", OOPSLA 2014, with Stafford's mix 13), one over the row and one over the column:

    row_bits = mix(key + (row + 1) · γ)        key: the first 8 bytes of the digest of seed and name
    bits     = mix(row_bits + (column + 1) · γ)    γ = 2⁶⁴ ÷ golden ratio

The upper 53 bits are a uniform number in (0, 1); a normal one is its inverse CDF. Computed in float64, rounded once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from transforms.canonical import digest

EMBEDDING_STDDEV = 0.05
"""Standard deviation of embedding rows' first values."""

_GAMMA = np.uint64(0x9E3779B97F4A7C15)


def uniform(seed: int, name: str, rows: range, columns: int) -> npt.NDArray[np.float64]:
    """Uniform numbers in (0, 1), ``[rows, columns]``."""
    key = np.uint64(int(digest({"seed": seed, "name": name})[:16], 16))
    row_numbers = np.arange(rows.start + 1, rows.stop + 1, dtype=np.uint64)
    column_numbers = np.arange(1, columns + 1, dtype=np.uint64)
    row_bits = _mix(key + row_numbers * _GAMMA)
    bits = _mix(row_bits[:, np.newaxis] + column_numbers * _GAMMA)
    result: npt.NDArray[np.float64] = ((bits >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
    return result


def normal(
    seed: int, name: str, rows: range, columns: int, stddev: float = EMBEDDING_STDDEV
) -> npt.NDArray[np.float32]:
    """Normal numbers with mean 0, ``[rows, columns]``."""
    scaled: npt.NDArray[np.float64] = ndtri(uniform(seed, name, rows, columns)) * stddev
    return scaled.astype(np.float32)


def glorot(seed: int, name: str, inputs: int, outputs: int) -> npt.NDArray[np.float32]:
    """A dense layer's kernel ``[inputs, outputs]``: uniform in ±√(6 ÷ (inputs + outputs)) (Glorot and Bengio, 2010)."""
    limit = np.sqrt(6.0 / (inputs + outputs))
    scaled: npt.NDArray[np.float64] = (2.0 * uniform(seed, name, range(inputs), outputs) - 1.0) * limit
    return scaled.astype(np.float32)


def _mix(bits: npt.NDArray[Any]) -> npt.NDArray[np.uint64]:
    """SplitMix64's finalizer; arithmetic on uint64 arrays is modulo 2⁶⁴."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: npt.NDArray[np.uint64] = bits ^ (bits >> np.uint64(31))
    return mixed
