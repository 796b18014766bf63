from __future__ import annotations

import datetime
import hashlib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from materialized import layout
from materialized.chunks import ChunkEntry
from materialized.errors import NotMaterializedError, SourceError
from materialized.raw_rows import raw_array, read_raw
from materialized.store import Store
from transforms.types import ColumnType, DType, Shape

BEFORE_1970 = datetime.datetime(1969, 12, 31, 23, 59, 59, 500_000)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (pa.array([1, None], pa.int8()), [1, None]),
        (pa.array([2**32 - 1], pa.uint32()), [2**32 - 1]),
        (pa.array([2**64 - 1, None], pa.uint64()), [2**64 - 1, None]),
        (pa.array([1.5, None], pa.float32()), [1.5, None]),
        (pa.array(["a", None]).dictionary_encode(), ["a", None]),
        (pa.array(["a", None], pa.large_string()), ["a", None]),
        (pa.array([b"a", None], pa.large_binary()), ["a", None]),
        (pa.nulls(2), [None, None]),
        (pa.array([BEFORE_1970, None], pa.timestamp("us")), [-1, None]),
        (pa.array([datetime.datetime(2020, 1, 1)], pa.timestamp("ns", tz="America/Chicago")), [1577836800]),
        (pa.array([datetime.date(1969, 12, 31)]), [-86400]),
        (pa.array([datetime.date(1969, 12, 31)], pa.date64()), [-86400]),
        (pa.array([datetime.time(1, 0, 0, 5)]), [3600]),
        (pa.array([datetime.timedelta(seconds=5, microseconds=3)]), [5]),
        (pa.array([datetime.timedelta(seconds=-1, milliseconds=-500), None]), [-2, None]),
        (pa.array([[1, None], None, [], [None], [2, 3]], pa.list_(pa.int32())), [[1], [], [], [], [2, 3]]),
        (pa.array([[9], [1, None], None], pa.list_(pa.int32())).slice(1), [[1], []]),
        (pa.array([[1, 2], None, [3, None]], pa.list_(pa.int16(), 2)), [[1, 2], [], [3]]),
        (pa.array([["a"], None]).cast(pa.large_list(pa.large_string())), [["a"], []]),
        (pa.chunked_array([["a"], [None]], pa.string()), ["a", None]),
        (pa.chunked_array([], pa.list_(pa.int8())), []),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pa.Array | pa.ChunkedArray) else "",
)
def test_what_arrow_holds_becomes_the_columns_type(found: pa.Array, expected: list[Any]) -> None:
    column_type = ColumnType.from_arrow(found.type)
    assert column_type is not None
    array = raw_array(found, column_type)
    array.validate(full=True)
    assert array.type == column_type.to_arrow()
    assert array.to_pylist() == expected


def test_bytes_that_are_no_text_stay_as_they_are() -> None:
    array = raw_array(pa.array([b"\xff\x00", None]), ColumnType(DType.STRING, nullable=True))
    assert array.cast(pa.binary()).to_pylist() == [b"\xff\x00", None]


@given(st.lists(st.none() | st.lists(st.none() | st.integers(0, 9), max_size=4)))
def test_missing_elements_are_left_out(rows: list[list[int | None] | None]) -> None:
    array = raw_array(pa.array(rows, pa.list_(pa.int32())), ColumnType(DType.INT64, Shape.RAGGED))
    assert array.to_pylist() == [[item for item in row or [] if item is not None] for row in rows]


class TestReading:
    def _entry(self, path: Path, rows: int | None = 4, row_groups: tuple[int, ...] | None = (1, 2)) -> ChunkEntry:
        digest = hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else "cd" * 32
        return ChunkEntry("ab" * 32, str(path), digest, 0, 1, rows, row_groups)

    def _write(self, path: Path) -> None:
        table = pa.table({"a": pa.array([0, 1, None, 3, 4, 5], pa.int32()), "b": list("uvwxyz")})
        pq.write_table(table, path, row_group_size=2)

    def test_rows_of_row_groups(self, tmp_path: Path) -> None:
        self._write(tmp_path / "a.parquet")
        table = read_raw(None, self._entry(tmp_path / "a.parquet"), {"a": ColumnType(DType.INT64, nullable=True)})
        assert table.to_pydict() == {"a": [None, 3, 4, 5]}

    def test_ingested_rows(self, tmp_path: Path) -> None:
        store = Store.create(tmp_path / "store")
        entry = self._entry(tmp_path / "a.csv", None, None)
        with pytest.raises(NotMaterializedError, match=r"a\.csv: its rows have not been ingested"):
            read_raw(store, entry, {"b": ColumnType(DType.STRING)})
        self._write(tmp_path / "a.parquet")
        store.write_once(layout.raw_chunk(entry.chunk), (tmp_path / "a.parquet").read_bytes())
        assert read_raw(store, entry, {"b": ColumnType(DType.STRING)})["b"].to_pylist() == list("uvwxyz")

    def test_a_null_where_there_is_none_names_the_row(self, tmp_path: Path) -> None:
        self._write(tmp_path / "a.parquet")
        expected = r"a\.parquet: column 'a': expected int64, which is never null, found 1 nulls, the first in row 0"
        with pytest.raises(SourceError, match=expected):
            read_raw(None, self._entry(tmp_path / "a.parquet"), {"a": ColumnType(DType.INT64)})

    def test_an_absent_column(self, tmp_path: Path) -> None:
        self._write(tmp_path / "a.parquet")
        with pytest.raises(SourceError, match=r"a\.parquet: expected a column 'z', found a, b"):
            read_raw(None, self._entry(tmp_path / "a.parquet"), {"z": ColumnType(DType.INT64)})

    def test_another_type(self, tmp_path: Path) -> None:
        self._write(tmp_path / "a.parquet")
        with pytest.raises(SourceError, match=r"a\.parquet: column 'b': expected int64, found string"):
            read_raw(None, self._entry(tmp_path / "a.parquet"), {"b": ColumnType(DType.INT64)})

    def test_a_file_that_was_cut_short_since(self, tmp_path: Path) -> None:
        self._write(tmp_path / "a.parquet")
        data = (tmp_path / "a.parquet").read_bytes()
        (tmp_path / "a.parquet").write_bytes(data[: len(data) // 2])
        with pytest.raises(SourceError, match=r"a\.parquet: expected the raw rows of .*a\.parquet as Parquet"):
            read_raw(None, self._entry(tmp_path / "a.parquet"), {"a": ColumnType(DType.INT64, nullable=True)})

    def test_a_file_that_was_changed_since(self, tmp_path: Path) -> None:
        """As many rows of as many columns: only its digest tells."""
        path, store = tmp_path / "a.parquet", Store.create(tmp_path / "store")
        self._write(path)
        entry, columns = self._entry(path), {"b": ColumnType(DType.STRING)}
        assert read_raw(store, entry, columns).num_rows == 4
        pq.write_table(pa.table({"a": pa.array([0] * 6, pa.int32()), "b": list("UVWXYZ")}), path, row_group_size=2)
        for remembering in (store, None):
            with pytest.raises(SourceError, match=rf"a\.parquet: expected the file with SHA-256 {entry.source_digest}"):
                read_raw(remembering, entry, columns)

    def test_another_number_of_rows(self, tmp_path: Path) -> None:
        self._write(tmp_path / "a.parquet")
        with pytest.raises(SourceError, match=r"expected 7 rows in .*, found 4; the file changed"):
            read_raw(None, self._entry(tmp_path / "a.parquet", 7), {"b": ColumnType(DType.STRING)})
