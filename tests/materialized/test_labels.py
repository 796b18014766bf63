from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from materialized.chunks import ChunkEntry
from materialized.errors import LabelError, NotMaterializedError
from materialized.labels import check_labels
from materialized.store import Store
from tests.materialized.columns import identity, put
from transforms.types import ColumnType, DType

FLOAT = ColumnType(DType.FLOAT32, nullable=True)
BOOL = ColumnType(DType.BOOL, nullable=True)
COLUMNS = {
    "label": (identity("label"), FLOAT),
    "weight": (identity("weight"), FLOAT),
    "filter": (identity("filter"), BOOL),
}


def _check(folder: Path, *chunks: dict[str, list[Any]], again: bool = False) -> int:
    store = Store.create(folder / "store")
    entries = []
    for index, rows in enumerate(chunks):
        chunk = identity(str(index))
        put(store, chunk, {name: (COLUMNS[name][1], values) for name, values in rows.items()})
        entries.append(ChunkEntry(chunk, f"/log/{index // 2}.csv", "ab" * 32, index % 2, 2, len(rows["label"])))
    entries += entries if again else []
    return check_labels(store, entries, {name: COLUMNS[name] for name in chunks[0]}, "m")


def test_good_labels_are_counted(tmp_path: Path) -> None:
    assert _check(tmp_path, {"label": [0.0, 1.0]}, {"label": [0.5]}, {"label": []}) == 3


def test_an_entry_that_is_there_twice_counts_twice(tmp_path: Path) -> None:
    assert _check(tmp_path, {"label": [0.0, 1.0]}, again=True) == 4


def test_null_labels_are_counted_and_the_first_row_of_each_chunk_is_named(tmp_path: Path) -> None:
    chunks = [{"label": [0.0, None, None]}, {"label": [1.0]}, {"label": [1.0]}, {"label": [1.0, None]}]
    with pytest.raises(LabelError) as caught:
        _check(tmp_path, *chunks)
    assert str(caught.value).splitlines() == [
        "model 'm': the label is null in 3 of 7 rows that the filter keeps (rows count from 0)",
        "  /log/0.csv (part 1 of 2): 2 rows, the first is row 1",
        "  /log/1.csv (part 2 of 2): 1 row, the first is row 2",  # counted in the file, not in the chunk
    ]


def test_rows_that_the_filter_drops_may_have_anything(tmp_path: Path) -> None:
    rows = {
        "label": [None, 7.0, 1.0, None],
        "weight": [None, -1.0, 2.0, 1.0],
        "filter": [False, None, True, False],
    }
    assert _check(tmp_path, rows) == 1


def test_an_all_null_label_says_so(tmp_path: Path) -> None:
    with pytest.raises(LabelError, match="model 'm': the label is null in all 2 rows"):
        _check(tmp_path, {"label": [None]}, {"label": [None]})


def test_no_rows_are_no_null_labels(tmp_path: Path) -> None:
    assert _check(tmp_path, {"label": []}) == 0
    assert _check(tmp_path / "b", {"label": [None], "filter": [False]}) == 0


@pytest.mark.parametrize("label", [-0.1, 1.5, float("nan"), float("inf")])
def test_labels_out_of_range(tmp_path: Path, label: float) -> None:
    with pytest.raises(LabelError, match=r"the label is not in \[0, 1\] in 1 of 2 rows"):
        _check(tmp_path, {"label": [label, 1.0]})


@pytest.mark.parametrize("weight", [None, -0.1, float("nan"), float("inf")])
def test_weights(tmp_path: Path, weight: float | None) -> None:
    with pytest.raises(LabelError, match=r"the weight is .* in 1 of 2 rows"):
        _check(tmp_path, {"label": [1.0, 1.0], "weight": [0.0, weight]})


def test_several_problems_are_told_together(tmp_path: Path) -> None:
    with pytest.raises(LabelError) as caught:
        _check(tmp_path, {"label": [None, 2.0, 1.0], "weight": [1.0, 1.0, None]})
    assert str(caught.value).count("model 'm'") == 3


def test_what_is_not_there_yet(tmp_path: Path) -> None:
    store = Store.create(tmp_path / "store")
    entry = ChunkEntry(identity("0"), "/log/0.csv", "ab" * 32, 0, 1, 1)
    with pytest.raises(NotMaterializedError):
        check_labels(store, [entry], COLUMNS, "m")
