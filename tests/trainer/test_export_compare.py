"""What counts as a difference between an export's answer and what it should be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from trainer.export_compare import Column, Kind, compare


def outcome(kind: Kind, found: Column, expected: Column) -> tuple[int, float]:
    comparison = compare("x", kind, "examples", 7, found, expected)
    assert (comparison.name, comparison.kind, comparison.signature) == ("x", kind, "examples")
    return comparison.differing, comparison.largest


def ids(*values: int, lengths: tuple[int, ...] | None = None) -> Column:
    return Column(np.array(values, np.int64), None if lengths is None else np.array(lengths, np.int64))


def numbers(*values: Any) -> Column:
    return Column(np.array(values, np.float32))


@pytest.mark.parametrize(
    ("found", "expected", "differing", "largest"),
    [
        (ids(1, 2), ids(1, 2), 0, 0.0),
        (ids(1, 2), ids(1, 5), 1, 3.0),
        (ids(2**62), ids(2**62 + 1), 1, 1.0),  # equal in float64
        (ids(), ids(), 0, 0.0),
        (ids(1, 2, 3, lengths=(1, 2)), ids(1, 2, 3, lengths=(1, 2)), 0, 0.0),
        (ids(1, 2, 3, lengths=(1, 2)), ids(1, 2, 3, lengths=(2, 1)), 2, np.inf),
        (ids(1, lengths=(1,)), ids(1, lengths=(1, 0)), 2, np.inf),
        (ids(1, 2), ids(1, 2, lengths=(1, 1)), 2, np.inf),
        (ids(1, 2), ids(1), 2, np.inf),
        (ids(), ids(lengths=(0,)), 1, np.inf),
    ],
)
def test_ids_are_equal_or_differ(found: Column, expected: Column, differing: int, largest: float) -> None:
    assert outcome("ids", found, expected) == (differing, largest)


@pytest.mark.parametrize(
    ("found", "expected", "differing", "largest"),
    [
        (numbers(1.0, np.nan, np.inf), numbers(1.0, np.nan, np.inf), 0, 0.0),
        (numbers(1.0), numbers(np.nextafter(np.float32(1), np.float32(2))), 0, 2.0**-23),
        (numbers(1.0), numbers(1.5), 1, 0.5),
        (numbers(1.0), numbers(np.nan), 1, np.inf),
        (numbers(-np.inf), numbers(np.inf), 1, np.inf),
        (numbers([1.0, 2.0]), numbers([1.0, 4.0]), 1, 2.0),
        (numbers([1.0, 2.0]), numbers(1.0), 1, np.inf),
    ],
)
def test_values_may_differ_in_their_last_places(
    found: Column, expected: Column, differing: int, largest: float
) -> None:
    assert outcome("values", found, expected) == (differing, largest)


def test_predictions_are_given_more_room_than_values() -> None:
    found, expected = numbers(0.50001), numbers(0.5)
    assert outcome("predictions", found, expected)[0] == 0
    assert outcome("values", numbers(0.5002), expected)[0] == 1
    assert outcome("predictions", numbers(0.5002), expected)[0] == 1


def test_parts_are_put_together_in_order() -> None:
    whole = Column.concatenate([ids(1, 2, lengths=(2,)), ids(lengths=(0,)), ids(3, lengths=(1,))])
    assert outcome("ids", whole, ids(1, 2, 3, lengths=(2, 0, 1))) == (0, 0.0)
