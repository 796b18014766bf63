"""Analyzers: statistics of a column over a window of chunks, which other operators apply.

What they find are the values of `transforms.assets`; how partial results are computed and folded is
`pipelines.accumulators`' business. Each says here what its partial results depend on, and what kernels use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from transforms.errors import OperatorError
from transforms.lazy import tf
from transforms.nodes import Node
from transforms.operators.arguments import COLUMNS, DISCRETE, NUMBERS, SCALAR_OR_LIST, Operand, Parameter
from transforms.operators.base import Analyzer, Operator, Parameters
from transforms.types import ColumnType, DType

if TYPE_CHECKING:
    from transforms.assets import Asset, Boundaries, Moments, Vocabulary


def expect(asset: Asset | None, kind: str) -> Any:
    """``asset``, which must be of a kind.

    Raises:
      OperatorError: where it is of another.
    """
    if asset is None or asset.kind != kind:
        raise OperatorError(f"expected an asset of the kind {kind!r}, found {asset.kind if asset else None!r}")
    return asset


class VocabularyAnalyzer(Analyzer):
    """Distinct values by frequency: the `top_k` most frequent of those that occur at least `min_count` times.

    Ties are in descending order of the values' bytes, integers' as decimal text.
    """

    name = "vocabulary"
    arguments = (
        Operand("x", DISCRETE, SCALAR_OR_LIST),
        Parameter("top_k", "int", None, minimum=1),
        Parameter("min_count", "int", 1, minimum=1),
    )

    def accumulator(self, parameters: Parameters) -> tuple[str, int, Parameters]:
        return "value_counts", self.version, {}

    def prepare(self, asset: Asset, column: ColumnType) -> Any:
        """A module with a ``table`` from value to id, -1 for values that it does not hold, and their ``size``."""
        found: Vocabulary = expect(asset, "vocabulary")
        if column.dtype is DType.STRING:
            keys = tf.constant(list(found.values) or [b""], tf.string)
        else:
            numbers = [int(value) for value in found.values] or [0]
            bits = np.array([number - 2**64 if number >= 2**63 else number for number in numbers], np.int64)
            keys = tf.constant(bits, tf.int64)
        # A table is never empty: one for no values holds a key that has no id either.
        ids = tf.range(len(found.values), dtype=tf.int64) if found.values else tf.constant([-1], tf.int64)
        lookup = tf.Module("vocabulary")
        lookup.table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(keys, ids), -1)
        lookup.size = len(found.values)
        return lookup


class MomentsAnalyzer(Analyzer):
    """Count, mean, variance, minimum and maximum; nulls and NaN are left out."""

    name = "moments"
    arguments = (Operand("x", NUMBERS, COLUMNS),)

    def accumulator(self, parameters: Parameters) -> tuple[str, int, Parameters]:
        return "moments", self.version, {}

    def prepare(self, asset: Asset, column: ColumnType) -> Moments:
        found: Moments = expect(asset, "moments")
        return found


class BoundariesAnalyzer(Analyzer):
    """The n - 1 values that cut a column into n parts of about equal size, to within a rank error of epsilon."""

    name = "boundaries"
    arguments = (
        Operand("x", NUMBERS, SCALAR_OR_LIST),
        Parameter("n", "int", minimum=2),
        Parameter("epsilon", "float", None, minimum=1e-6, maximum=0.5),
    )

    def node(self, column: Node, parameters: Parameters) -> Node:
        if parameters["epsilon"] is None:
            n = parameters["n"]
            assert isinstance(n, int)
            parameters = {**parameters, "epsilon": min(1.0 / n, 0.01)}
        return super().node(column, parameters)

    def accumulator(self, parameters: Parameters) -> tuple[str, int, Parameters]:
        return "quantiles", self.version, {"epsilon": parameters["epsilon"]}

    def prepare(self, asset: Asset, column: ColumnType) -> Any:
        found: Boundaries = expect(asset, "boundaries")
        return np.array(found.values, np.float64)


OPERATORS: tuple[type[Operator], ...] = (VocabularyAnalyzer, MomentsAnalyzer, BoundariesAnalyzer)
