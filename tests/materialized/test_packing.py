from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from materialized.packing import PackedRows, Packing, join
from tests.materialized.columns import TYPES, values
from transforms.types import ColumnType, DType, Shape

COLUMNS = {str(column_type): column_type for column_type in TYPES if not column_type.nullable}
PACKING = Packing.of(COLUMNS)


def _table(rows: list[dict[str, Any]]) -> pa.Table:
    return pa.table({name: pa.array([row[name] for row in rows], kind.to_arrow()) for name, kind in COLUMNS.items()})


def _unpacked(packed: PackedRows) -> list[dict[str, Any]]:
    columns: dict[str, list[Any]] = {}
    for dtype, names in PACKING.scalars.items():
        columns |= {name: packed.scalars[dtype][index].tolist() for index, name in enumerate(names)}
    for (name, _), matrix in zip(PACKING.vectors, packed.vectors, strict=True):
        columns[name] = matrix.tolist()
    for (name, _), ends, flat in zip(PACKING.ragged, packed.ends, packed.values, strict=True):
        columns[name] = [flat[start:stop].tolist() for start, stop in itertools.pairwise(ends)]
    return [{name: _text(column[row]) for name, column in columns.items()} for row in range(len(packed))]


def _text(value: Any) -> Any:
    if isinstance(value, list):
        return [_text(item) for item in value]
    return value.decode() if isinstance(value, bytes) else value


rows = st.lists(st.fixed_dictionaries({name: values(kind) for name, kind in COLUMNS.items()}), max_size=5)


@given(rows, st.integers(0, 5))
def test_packed_rows_are_the_tables(found: list[dict[str, Any]], skipped: int) -> None:
    assert _unpacked(PACKING.pack(_table(found).slice(skipped))) == found[skipped:]


@given(rows, st.data())
def test_taking_cutting_and_joining_are_those_of_lists(found: list[dict[str, Any]], data: st.DataObject) -> None:
    packed = PACKING.pack(_table(found))
    order = data.draw(st.permutations(range(len(found))))
    taken = packed.take(np.array(order, np.int64))
    expected = [found[row] for row in order]
    assert _unpacked(taken) == expected
    start = data.draw(st.integers(0, len(found)))
    stop = data.draw(st.integers(start, len(found)))
    parts = [taken.cut(0, start), taken.cut(start, stop), taken.cut(stop, len(found))]
    assert [row for part in parts for row in _unpacked(part)] == expected
    assert _unpacked(join(parts)) == expected


def test_a_null_list_is_an_empty_one_and_a_missing_value_a_zero() -> None:
    kinds = {"l": ColumnType(DType.INT64, Shape.RAGGED), "x": ColumnType(DType.FLOAT32, nullable=True)}
    table = pa.table({"l": pa.array([[1], None, [2, 3]]), "x": pa.array([1.0, None, 2.0], pa.float32())})
    packed = Packing.of(kinds).pack(table)
    assert packed.ends.tolist() == [[0, 1, 1, 3]]
    assert packed.values[0].tolist() == [1, 2, 3]
    assert packed.scalars[DType.FLOAT32].tolist() == [[1.0, 0.0, 2.0]]
