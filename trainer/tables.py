"""Logical embedding tables: what models, checkpoints and exports know. How rows lie anywhere is an engine's business.

An id feature is looked up in a table with a combiner. Combiners become weights of single ids before the lookup, so that
tables always sum. The vectors of all features reach the network in *blocks*: features of equal dim side by side.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import tensorflow as tf

from transforms.specs import Optimizer

Combiner = Literal["sum", "mean", "sqrtn"]


@dataclass(frozen=True)
class Table:
    """An embedding table.

    Attributes:
      name: its name in the model's spec.
      rows: number of rows; ids are in [0, rows).
      dim: values per row.
      optimizer: how rows are updated.
    """

    name: str
    rows: int
    dim: int
    optimizer: Optimizer

    def __str__(self) -> str:
        return f"{self.name}[{self.rows}, {self.dim}]"


@dataclass(frozen=True)
class Lookup:
    """An id feature: which table it is looked up in, and how the rows of one example's ids become one vector.

    Attributes:
      feature: its name.
      table: name of the table.
      combiner: "sum"; "mean", the sum ÷ n; "sqrtn", the sum ÷ √n. An example without ids gets zeros.
      ragged: whether an example has any number of ids; otherwise it has exactly one, and all combiners are the same.
    """

    feature: str
    table: str
    combiner: Combiner = "sum"
    ragged: bool = False


@dataclass(frozen=True)
class Block:
    """Features whose vectors have one dim; their activations are a tensor ``[batch, features, dim]``.

    Attributes:
      dim: values per vector.
      features: names, in the order of the tensor's second axis: those with one id first, each kind by name.
    """

    dim: int
    features: tuple[str, ...]


def blocks_of(tables: Mapping[str, Table], lookups: Iterable[Lookup]) -> tuple[Block, ...]:
    """The blocks of a model, by dim. They depend on the features alone, so that every engine has the same."""
    by_dim: dict[int, list[Lookup]] = {}
    for lookup in lookups:
        by_dim.setdefault(tables[lookup.table].dim, []).append(lookup)
    return tuple(
        Block(dim, tuple(each.feature for each in sorted(same, key=lambda each: (each.ragged, each.feature))))
        for dim, same in sorted(by_dim.items())
    )


def combiner_weights(combiner: Combiner, lengths: Any) -> Any:
    """The weight of every id of each example.

    Args:
      combiner: the feature's combiner.
      lengths: number of ids of each example ``[batch]``.

    Returns:
      ``[batch]`` float32; what stands at examples without ids is finite and not used.
    """
    count = tf.cast(tf.maximum(lengths, 1), tf.float32)
    if combiner == "mean":
        return 1.0 / count
    if combiner == "sqrtn":
        return 1.0 / tf.sqrt(count)
    return tf.ones_like(count)


def look_up(
    values: Mapping[str, Any], blocks: Iterable[Block], lookups: Iterable[Lookup], features: Mapping[str, Any]
) -> tuple[Any, ...]:
    """The activations, straight from whole tables: for serving, and what engines are checked against.

    Args:
      values: each table's rows ``[rows, dim]``, by name.
      blocks: the model's blocks.
      lookups: the model's id features.
      features: ids by feature: ``[batch]``, or ragged ``[batch, None]``.

    Returns:
      For each block ``[batch, features, dim]``.
    """
    by_feature = {lookup.feature: lookup for lookup in lookups}

    def vectors(lookup: Lookup) -> Any:
        ids, table = features[lookup.feature], values[lookup.table]
        if not lookup.ragged:
            return tf.gather(table, ids)
        owners = ids.value_rowids()  # many operations: once
        weights = tf.gather(combiner_weights(lookup.combiner, ids.row_lengths()), owners)
        weighted = tf.gather(table, ids.values) * weights[:, tf.newaxis]
        return tf.math.unsorted_segment_sum(weighted, owners, ids.nrows())

    return tuple(tf.stack([vectors(by_feature[name]) for name in block.features], axis=1) for block in blocks)
