from __future__ import annotations

import numpy as np
import tensorflow as tf

from tests.trainer.synthetic import LOOKUPS, TABLES
from trainer.tables import Block, Lookup, Table, blocks_of, combiner_weights, look_up
from transforms.specs import Sgd


def test_blocks_are_by_dim_then_kind_then_name() -> None:
    by_name = {table.name: table for table in TABLES}
    expected = (Block(4, ("day",)), Block(8, ("brand", "place", "bought", "query", "title")))
    assert blocks_of(by_name, LOOKUPS) == expected
    assert blocks_of(by_name, reversed(LOOKUPS)) == expected
    assert blocks_of(by_name, ()) == ()


def test_combiners_are_weights() -> None:
    lengths = tf.constant([0, 1, 4])
    assert combiner_weights("sum", lengths).numpy().tolist() == [1, 1, 1]
    assert combiner_weights("mean", lengths).numpy().tolist() == [1, 1, 0.25]
    assert combiner_weights("sqrtn", lengths).numpy().tolist() == [1, 1, 0.5]


def test_looking_up_whole_tables() -> None:
    table = Table("t", 4, 2, Sgd())
    lookups = (Lookup("one", "t"), Lookup("all", "t", "sum", True), Lookup("mean", "t", "mean", True))
    values = np.array([[1, 10], [2, 20], [3, 30], [4, 40]], np.float32)
    lists = tf.ragged.constant([[0, 0, 3], [], [2, 1]], dtype=tf.int64, row_splits_dtype=tf.int64)
    features = {"one": tf.constant([3, 1, 0], tf.int64), "all": lists, "mean": lists}
    (found,) = look_up({"t": values}, blocks_of({"t": table}, lookups), lookups, features)
    np.testing.assert_allclose(
        found,
        [[[4, 40], [6, 60], [2, 20]], [[2, 20], [0, 0], [0, 0]], [[1, 10], [5, 50], [2.5, 25]]],
    )
