"""Operators that scale a number by the moments of its column."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from transforms.assets import Moments
from transforms.lazy import tf
from transforms.nodes import Node
from transforms.operators.arguments import NUMBERS, Operand
from transforms.operators.base import Operator, Parameters
from transforms.operators.elementwise import Elementwise
from transforms.operators.numbers import as_float, packets
from transforms.operators.statistics import MomentsAnalyzer
from transforms.types import DType


class _Scaled(Elementwise):
    """A number scaled by moments."""

    arguments = (Operand("x", NUMBERS),)
    analyzer = MomentsAnalyzer()

    def dtype(self, inputs: Sequence[Node], parameters: Parameters) -> DType:
        return DType.FLOAT64


def _steps(values: Any, offset: float, scale: float) -> Any:
    from transforms.values import opaque

    offset, scale = opaque(tf.constant(offset, tf.float64)), opaque(tf.constant(scale, tf.float64))
    return opaque(as_float(values) - offset) / scale


class ZScore(_Scaled):
    """How many standard deviations a number is above the mean; above the mean only, where there is no deviation.

    Example:
      x: nullable float64 = [1.0, 5.0, None]
      asset: Moments(10, 3.0, 4.0, 0.0, 9.0)
      zscore(x) = [-1.0, 1.0, None]
    """

    name = "zscore"

    def compute(self, values: Sequence[Any], node: Node, asset: Moments) -> Any:
        # The root is taken here: in the graph, the optimizer would turn the division by it into an approximation.
        return _steps(values[0], asset.mean, math.sqrt(asset.variance) or 1.0)


class MinMax(_Scaled):
    """Where a number stands between the least (0) and the greatest (1) one.

    Where these are the same, the logistic function of the number: it also ascends from 0 to 1.

    Example:
      x: int64 = [0, 9, 12]
      asset: Moments(10, 3.0, 4.0, 0.0, 9.0)
      minmax(x) ≈ [0.0, 1.0, 1.3333333333333333]
      y: int64 = [0, 1]
      asset: Moments(2, 1.0, 0.0, 1.0, 1.0)
      minmax(y) ≈ [0.5, 0.7310585786300049]
    """

    name = "minmax"

    def compute(self, values: Sequence[Any], node: Node, asset: Moments) -> Any:
        if asset.minimum < asset.maximum:
            return _steps(values[0], asset.minimum, asset.maximum - asset.minimum)
        return packets(tf.sigmoid, as_float(values[0]))


OPERATORS: tuple[type[Operator], ...] = (ZScore, MinMax)
