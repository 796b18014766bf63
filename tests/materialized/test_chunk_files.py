from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from materialized import layout
from materialized.buffers import content_digest, parts_of, to_arrow, to_buffers
from materialized.chunk_files import CODECS, ChunkColumns, read_columns, write_chunk
from materialized.chunk_header import BLOCK_ROWS
from materialized.errors import MismatchError, NotMaterializedError
from materialized.groups import GroupColumn, GroupDescriptor, read_group, write_group
from materialized.inventory import Inventory
from materialized.store import Store
from tests.materialized.columns import TYPES, identity, put, values
from tests.materialized.file_systems import watched
from transforms.types import ColumnType, DType, Shape

CHUNK, OTHER_CHUNK = identity("chunk 1"), identity("chunk 2")
FORMATS = sorted(CODECS)
INT64 = ColumnType(DType.INT64)
FLOAT32 = ColumnType(DType.FLOAT32)
IDS = ColumnType(DType.INT64, Shape.RAGGED)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.create(tmp_path / "store")


def _rows(data: st.DataObject, column_type: ColumnType) -> list[Any]:
    return data.draw(st.lists(values(column_type), max_size=6))


class TestBuffers:
    @given(st.data(), st.sampled_from(TYPES))
    def test_they_hold_a_column_whole(self, data: st.DataObject, column_type: ColumnType) -> None:
        array = pa.array(_rows(data, column_type), column_type.to_arrow())
        buffers = to_buffers(array, column_type)
        assert [part.dtype for part in buffers.parts()] == parts_of(column_type)
        back = to_arrow(buffers, column_type)
        back.validate(full=True)
        assert back.equals(array)

    @given(st.data(), st.sampled_from(TYPES))
    def test_a_digest_does_not_see_how_arrow_holds_a_column(self, data: st.DataObject, column_type: ColumnType) -> None:
        rows, around = _rows(data, column_type), _rows(data, column_type)
        arrow = column_type.to_arrow()
        expected = content_digest(pa.array(rows, arrow), column_type)
        sliced = pa.array(around + rows + around, arrow).slice(len(around), len(rows))
        cut = data.draw(st.integers(0, len(rows)))
        chunked = pa.chunked_array([pa.array(rows[:cut], arrow), pa.array(rows[cut:], arrow)], arrow)
        assert content_digest(sliced, column_type) == expected
        assert content_digest(chunked, column_type) == expected

    @given(st.data(), st.sampled_from(TYPES))
    def test_other_columns_have_other_digests(self, data: st.DataObject, column_type: ColumnType) -> None:
        arrays = [pa.array(_rows(data, column_type), column_type.to_arrow()) for _ in range(2)]
        digests = {content_digest(array, column_type) for array in arrays}
        if arrays[0].to_pylist() != arrays[1].to_pylist():
            assert len(digests) == 2

    def test_what_lies_under_a_null_is_not_seen(self) -> None:
        column_type = ColumnType(DType.INT64, nullable=True)
        bitmap = pa.py_buffer(bytes([0b101]))
        arrays = [
            pa.Array.from_buffers(pa.int64(), 3, [bitmap, pa.py_buffer(np.array([1, hidden, 3]).tobytes())])
            for hidden in (0, 99)
        ]
        assert len({content_digest(array, column_type) for array in arrays}) == 1

    def test_digests_stay(self) -> None:
        found = {
            str(column_type): content_digest(pa.array(rows, column_type.to_arrow()), column_type)[:16]
            for column_type, rows in [
                (INT64, [1, -1]),
                (ColumnType(DType.STRING, nullable=True), ["a", None, ""]),
                (ColumnType(DType.FLOAT32, Shape.VECTOR, width=2), [[1.0, 2.0]]),
                (ColumnType(DType.STRING, Shape.RAGGED), [["a", "bc"], []]),
                (ColumnType(DType.BOOL), [True]),
            ]
        }
        assert found == GOLDEN_DIGESTS

    def test_a_digest_is_made_as_documented(self) -> None:
        column_type = ColumnType(DType.STRING, Shape.RAGGED)
        arrays = [b"abc", np.array([1, 2], "<i8").tobytes(), np.array([2, 0], "<i8").tobytes()]
        expected = hashlib.sha256(b"list<string>\n2\n" + b"".join(arrays)).hexdigest()
        assert content_digest(pa.array([["a", "bc"], []], column_type.to_arrow()), column_type) == expected


GOLDEN_DIGESTS = {
    "bool": "4d4122bc2f1a0edb",
    "float32[2]": "0644f6766b66fb28",
    "int64": "2ef39d5acde38525",
    "list<string>": "ab3da90bdaa8ee76",
    "nullable string": "4cda59045f87b02a",
}


@pytest.mark.parametrize("format", FORMATS)
class TestFiles:
    @settings(max_examples=10)
    @given(st.data())
    def test_columns_come_back_as_they_were(self, format: str, data: st.DataObject) -> None:
        kinds = data.draw(st.lists(st.sampled_from(TYPES), min_size=1, max_size=5))
        count = data.draw(st.integers(0, 5))
        columns = {
            str(index): (kind, data.draw(st.lists(values(kind), min_size=count, max_size=count)))
            for index, kind in enumerate(kinds)
        }
        with tempfile.TemporaryDirectory() as folder:
            store = Store.create(Path(folder) / "store")
            put(store, CHUNK, columns, format)
            asked = data.draw(st.permutations(sorted(columns)))[: data.draw(st.integers(1, len(columns)))]
            table = read_columns(store, CHUNK, {identity(name): columns[name][0] for name in asked})
        assert table.column_names == [identity(name) for name in asked]
        assert table.to_pydict() == {identity(name): columns[name][1] for name in asked}
        assert [field.type for field in table.schema] == [columns[name][0].to_arrow() for name in asked]

    def test_runs_of_rows_across_blocks(self, format: str, store: Store) -> None:
        count = 2 * BLOCK_ROWS + 100
        lists = [[row] * (row % 3) for row in range(count)]
        put(store, CHUNK, {"x": (INT64, list(range(count))), "l": (IDS, lists)}, format)
        opened = ChunkColumns(store, CHUNK, [identity("l"), identity("x")])
        assert opened.rows == count
        for rows in (range(5, 9), range(BLOCK_ROWS - 2, 2 * BLOCK_ROWS + 1), range(count - 1, count), range(7, 7)):
            table = opened.read(rows)
            assert table[identity("x")].to_pylist() == list(rows)
            assert table[identity("l")].to_pylist() == lists[rows.start : rows.stop]

    def test_the_first_file_stays(self, format: str, store: Store) -> None:
        descriptor = put(store, CHUNK, {"x": (INT64, [1, 2])}, format)
        assert not write_chunk(store, CHUNK, descriptor, pa.table({identity("x"): [3, 4]}), format)
        assert read_columns(store, CHUNK, [identity("x")])[identity("x")].to_pylist() == [1, 2]

    def test_columns_are_joined_by_position(self, format: str, store: Store) -> None:
        put(store, CHUNK, {"x": (INT64, [1, 2])}, format)
        put(store, CHUNK, {"y": (FLOAT32, [3.0, 4.0]), "z": (INT64, [5, 6])}, "parquet")
        table = read_columns(store, CHUNK, [identity(name) for name in "zxy"])
        assert list(table.to_pydict().values()) == [[5, 6], [1, 2], [3.0, 4.0]]

    def test_a_column_that_is_not_there(self, format: str, store: Store) -> None:
        put(store, CHUNK, {"x": (INT64, [1])}, format)
        with pytest.raises(NotMaterializedError, match=f"1 of 2 columns of chunk {CHUNK} .* {identity('y')}"):
            read_columns(store, CHUNK, [identity("x"), identity("y")])

    def test_another_type_than_expected(self, format: str, store: Store) -> None:
        put(store, CHUNK, {"x": (INT64, [1])}, format)
        with pytest.raises(MismatchError, match=rf"{format}: expected float32 in column {identity('x')}, found int64"):
            read_columns(store, CHUNK, {identity("x"): FLOAT32})

    def test_a_file_of_another_chunk_is_refused(self, format: str, store: Store) -> None:
        descriptor = put(store, CHUNK, {"x": (INT64, [1])}, format)
        data = store.read(layout.chunk_file(CHUNK, descriptor.group, format))
        store.write_once(layout.chunk_file(OTHER_CHUNK, descriptor.group, format), data)
        with pytest.raises(MismatchError, match=f"expected rows of chunk {OTHER_CHUNK}, found those of chunk {CHUNK}"):
            read_columns(store, OTHER_CHUNK, [identity("x")])

    def test_a_file_of_another_group_is_refused(self, format: str, store: Store) -> None:
        x = put(store, CHUNK, {"x": (INT64, [1])}, format)
        y = put(store, OTHER_CHUNK, {"y": (INT64, [1])}, format)
        data = store.read(layout.chunk_file(CHUNK, x.group, format))
        store.write_once(layout.chunk_file(CHUNK, y.group, format), data)
        with pytest.raises(MismatchError, match=f"expected columns of group {y.group}, found those of group {x.group}"):
            read_columns(store, CHUNK, [identity("y")])

    def test_files_of_unequal_rows_are_refused(self, format: str, store: Store) -> None:
        put(store, CHUNK, {"x": (INT64, [1])}, format)
        put(store, CHUNK, {"y": (INT64, [1, 2])}, format)
        with pytest.raises(MismatchError, match="one chunk has one number of rows"):
            read_columns(store, CHUNK, [identity("x"), identity("y")])

    @pytest.mark.parametrize("damage", ["cut", "emptied", "flipped"])
    def test_damage_is_refused_and_named(self, format: str, damage: str, store: Store) -> None:
        descriptor = put(store, CHUNK, {"x": (INT64, list(range(1000)))}, format)
        key = layout.chunk_file(CHUNK, descriptor.group, format)
        data = bytearray(store.read(key))
        if damage == "flipped":
            data[len(data) // (8 if format == "parquet" else 2)] ^= 0xFF
        changed = {"cut": data[: len(data) // 2], "emptied": b"", "flipped": data}[damage]
        path = Path(store.path) / key
        path.chmod(0o644)
        path.write_bytes(changed)
        with pytest.raises(MismatchError, match=rf"{descriptor.group}\.{format}: "):
            read_columns(store, CHUNK, [identity("x")])


def test_other_data_under_the_same_descriptor_is_refused(store: Store) -> None:
    descriptor = put(store, CHUNK, {"x": (INT64, [1, 2])})
    key = layout.chunk_file(CHUNK, descriptor.group, "parquet")
    path = Path(store.path) / key
    table = pq.read_table(path)
    forged = pa.table({identity("x"): [1, 3]}).replace_schema_metadata(table.schema.metadata)
    path.chmod(0o644)
    pq.write_table(forged, path)
    with pytest.raises(MismatchError, match=r"parquet: expected content digest \w{64} in column \w{64}, found \w{64}"):
        read_columns(store, CHUNK, [identity("x")])


def test_a_parquet_file_of_somebody_else_is_refused(store: Store) -> None:
    descriptor = put(store, CHUNK, {"x": (INT64, [1, 2])})
    path = Path(store.path) / layout.chunk_file(CHUNK, descriptor.group, "parquet")
    path.chmod(0o644)
    pq.write_table(pa.table({"x": [1]}), path)
    with pytest.raises(MismatchError, match="expected a chunk file's descriptor"):
        read_columns(store, CHUNK, [identity("x")])


class TestWriting:
    descriptor = GroupDescriptor((GroupColumn(identity("x"), INT64),))

    @pytest.mark.parametrize(
        ("table", "message"),
        [
            (pa.table({identity("y"): [1]}), "expected .*, found"),
            (pa.table({identity("x"): pa.array([1.0])}), "expected int64 .*, found Arrow double"),
            (pa.table({identity("x"): pa.array([1, None])}), "expected no nulls in .*, found 1"),
        ],
    )
    def test_what_the_descriptor_does_not_say_is_not_written(self, table: pa.Table, message: str, store: Store) -> None:
        with pytest.raises(MismatchError, match=message):
            write_chunk(store, CHUNK, self.descriptor, table)
        assert store.list("chunks") == ()

    def test_a_group_needs_its_columns_once(self) -> None:
        with pytest.raises(ValueError, match="at least one column and each of them once"):
            GroupDescriptor(())
        with pytest.raises(ValueError, match="at least one column and each of them once"):
            GroupDescriptor((*self.descriptor.columns, *self.descriptor.columns))

    def test_descriptors_come_back_as_they_were(self, store: Store) -> None:
        columns = [GroupColumn(identity(str(kind)), kind, ("m.feature.x",)) for kind in TYPES]
        descriptor = GroupDescriptor(tuple(columns), '{"nodes": []}')
        write_group(store, descriptor)
        assert read_group(store, descriptor.group) == descriptor
        assert GroupDescriptor(tuple(reversed(columns)), '{"nodes": []}') == descriptor

    def test_a_descriptor_of_another_group_is_refused(self, store: Store) -> None:
        write_group(store, self.descriptor)
        store.write_once(layout.group("ab" * 32), store.read(layout.group(self.descriptor.group)))
        with pytest.raises(MismatchError, match=f"expected the columns of group abab.*{self.descriptor.group}"):
            read_group(store, "ab" * 32)


class TestInventory:
    def test_what_a_chunk_has(self, store: Store) -> None:
        first = put(store, CHUNK, {"a": (INT64, [1]), "b": (INT64, [1])})
        second = put(store, CHUNK, {"c": (INT64, [1])}, "tfrecord")
        found = Inventory(store).files(CHUNK)
        assert found == {identity("a"): first.group, identity("b"): first.group, identity("c"): second.group}
        assert Inventory(store).files(OTHER_CHUNK) == {}
        assert set(Inventory(store, ("parquet",)).files(CHUNK)) == {identity("a"), identity("b")}

    def test_a_file_whose_descriptor_is_gone_is_told(self, tmp_path: Path) -> None:
        local = Store.create(tmp_path / "store")
        group = put(local, CHUNK, {"a": (INT64, [1])}).group
        (tmp_path / "store" / layout.group(group)).unlink()
        with pytest.raises(MismatchError, match=f"{layout.group(group)}: expected a group descriptor, found nothing"):
            Inventory(local).files(CHUNK)

    def test_what_comes_later_is_seen(self, store: Store) -> None:
        inventory = Inventory(store)
        assert inventory.files(CHUNK) == {}
        put(store, CHUNK, {"a": (INT64, [1])})
        assert set(inventory.files(CHUNK)) == {identity("a")}

    def test_requests_grow_with_chunks_not_with_columns(self, tmp_path: Path) -> None:
        local = Store.create(tmp_path / "store")
        chunks = [identity(f"chunk {index}") for index in range(5)]
        for chunk in chunks:
            put(local, chunk, {str(index): (INT64, [1]) for index in range(30)})
            put(local, chunk, {"one more": (INT64, [1])})
        filesystem, handler = watched(str(tmp_path))
        inventory = Inventory(Store.open("store", filesystem=filesystem))
        handler.listed.clear()
        handler.bytes_read.clear()
        for chunk in chunks:
            assert len(inventory.files(chunk)) == 31
        assert len(handler.listed) == 5
        assert len(handler.bytes_read) == 2  # each group's descriptor, once
        assert all(path.startswith("store/groups/") for path in handler.bytes_read)

    def test_of_overlapping_groups_the_choice_is_the_same_for_all(self, store: Store) -> None:
        one = put(store, CHUNK, {"a": (INT64, [1]), "b": (INT64, [1])})
        two = put(store, CHUNK, {"a": (INT64, [1]), "c": (INT64, [1])})
        assert Inventory(store).files(CHUNK)[identity("a")] == min(one.group, two.group)


def test_only_the_asked_columns_are_read(tmp_path: Path) -> None:
    local = Store.create(tmp_path / "store")
    rng = np.random.default_rng(0)
    wide = {str(index): (ColumnType(DType.FLOAT64), list(rng.normal(size=20_000))) for index in range(10)}
    put(local, CHUNK, wide)
    put(local, CHUNK, {"apart": (INT64, list(range(20_000)))})
    filesystem, handler = watched(str(tmp_path))
    store = Store.open("store", filesystem=filesystem)
    read_columns(store, CHUNK, [identity("3")])
    (key,) = [path for path in handler.bytes_read if path.startswith("store/chunks/")]
    one_column = 20_000 * 8
    assert one_column <= handler.bytes_read[key] < 2 * one_column


def test_a_plain_tf_data_pipeline_reads_tfrecord_chunks(store: Store) -> None:
    import tensorflow as tf

    count = BLOCK_ROWS + 10
    lists = [[row] * (row % 3) for row in range(count)]
    descriptor = put(
        store,
        CHUNK,
        {
            "dense": (FLOAT32, [row / 2 for row in range(count)]),
            "ids": (IDS, lists),
            "vector": (ColumnType(DType.FLOAT32, Shape.VECTOR, width=2), [[row, -row] for row in range(count)]),
        },
        "tfrecord",
    )
    spec = {
        "rows": tf.io.FixedLenFeature([], tf.int64),
        "forebay": tf.io.FixedLenFeature([], tf.string),
        identity("dense"): tf.io.FixedLenFeature([], tf.string),
        identity("vector"): tf.io.FixedLenFeature([], tf.string),
        identity("ids"): tf.io.FixedLenFeature([2], tf.string),
    }

    def decode(record: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.RaggedTensor]:
        example = tf.io.parse_single_example(record, spec)
        dense = tf.io.decode_raw(example[identity("dense")], tf.float32)
        vector = tf.reshape(tf.io.decode_raw(example[identity("vector")], tf.float32), [-1, 2])
        ids, lengths = tf.unstack(example[identity("ids")])
        ragged = tf.RaggedTensor.from_row_lengths(tf.io.decode_raw(ids, tf.int64), tf.io.decode_raw(lengths, tf.int64))
        return dense, vector, ragged

    path = Path(store.path) / layout.chunk_file(CHUNK, descriptor.group, "tfrecord")
    blocks = list(tf.data.TFRecordDataset(str(path)).map(decode))
    assert [block[0].shape[0] for block in blocks] == [BLOCK_ROWS, 10]
    assert np.array_equal(tf.concat([block[0] for block in blocks], 0), np.arange(count, dtype=np.float32) / 2)
    assert np.array_equal(tf.concat([block[1] for block in blocks], 0)[:, 1], -np.arange(count, dtype=np.float32))
    assert tf.concat([block[2] for block in blocks], 0).to_list() == lists
