from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from materialized.chunks import ChunkEntry, Manifest
from materialized.delivery import Position
from materialized.errors import LabelError, MismatchError, NotMaterializedError
from materialized.packing import PackedRows
from materialized.reader import Batch, Reader
from materialized.store import Store
from tests.materialized.columns import identity, put
from tests.materialized.file_systems import watched
from transforms.specs import Evaluate, EvaluateChunks, EvaluateHash, EvaluateTime
from transforms.types import ColumnType, DType, Shape

SIZES = (0, 1, 7, 100, 33)
"""Rows of the chunks; every row of the log has a number of its own."""

FIRSTS = [sum(SIZES[:index]) for index in range(len(SIZES))]

TYPES = {
    "feature.row": ColumnType(DType.INT64),
    "feature.ids": ColumnType(DType.INT64, Shape.RAGGED),
    "feature.words": ColumnType(DType.STRING, Shape.RAGGED),
    "feature.dense": ColumnType(DType.FLOAT32),
    "feature.vector": ColumnType(DType.FLOAT32, Shape.VECTOR, width=2),
    "feature.name": ColumnType(DType.STRING),
    "feature.bits": ColumnType(DType.UINT64),
    "feature.flag": ColumnType(DType.BOOL),
    "feature.double": ColumnType(DType.FLOAT64),
    "label": ColumnType(DType.FLOAT32, nullable=True),
    "weight": ColumnType(DType.FLOAT32),
    "split": ColumnType(DType.BOOL),
}
FILTERS = {
    "some": lambda row: (True, False, None)[row % 3],
    "none": lambda row: False,
    "all but the last chunk": lambda row: row < FIRSTS[-1],
}


def _value(role: str, row: int) -> Any:
    return {
        "feature.row": row,
        "feature.ids": [row] * (row % 4),
        "feature.words": [f"é{row}", ""][: row % 3],
        "feature.dense": row / 2,
        "feature.vector": [row, -row],
        "feature.name": f"ü{row}",
        "feature.bits": 2**64 - 1 - row,
        "feature.flag": row % 2 == 0,
        "feature.double": row / 3,
        "label": None if row == 5 else row % 2,
        "weight": row + 1,
        "split": row % 5 == 0,
    }[role]


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    with tempfile.TemporaryDirectory() as folder:
        store = Store.create(Path(folder) / "store")
        for index, size in enumerate(SIZES):
            rows = range(FIRSTS[index], FIRSTS[index] + size)
            format = "tfrecord" if index == 2 else "parquet"
            put(
                store,
                identity(str(index)),
                {r: (t, [_value(r, row) for row in rows]) for r, t in TYPES.items()},
                format,
            )
            filters = {
                name: (ColumnType(DType.BOOL, nullable=True), [*map(rule, rows)]) for name, rule in FILTERS.items()
            }
            put(store, identity(str(index)), filters)
        yield store


def _entry(index: int, copy: int = 0, rows: bool = True) -> ChunkEntry:
    return ChunkEntry(identity(str(index)), f"/log/{index}-{copy}.csv", "ab" * 32, 0, 1, SIZES[index] if rows else None)


ALL = [_entry(index) for index in range(len(SIZES))]


def _reader(
    store: Store,
    entries: list[ChunkEntry] = ALL,
    filter: str | None = None,
    evaluate: Evaluate | None = None,
    part: str = "all",
    block_rows: int = 16,
    roles: tuple[str, ...] = ("feature.row", "feature.ids", "weight", "split"),
) -> Reader:
    columns = {role: (identity(role), TYPES[role]) for role in roles}
    # No row is without this label; the nullable one has tests of its own.
    columns["label"] = columns.get("label", (identity("feature.dense"), TYPES["feature.dense"]))
    if filter:
        columns["filter"] = (identity(filter), ColumnType(DType.BOOL, nullable=True))
    return Reader(store, entries, columns, evaluate, part, Manifest("log", tuple(entries)), block_rows)


def _rows(batch: PackedRows) -> list[int]:
    (row,) = batch.scalars[DType.INT64]
    return row.tolist()


def _flat(batch: PackedRows) -> list[Any]:
    arrays = [*batch.scalars.values(), *batch.vectors, batch.ends, *batch.values]
    return [(array.dtype.str, array.tolist()) for array in arrays]


passes = st.fixed_dictionaries(
    {
        "batch_size": st.integers(1, 60),
        "shuffle_seed": st.none() | st.integers(0, 3),
        "epochs": st.integers(1, 3),
        "drop_remainder": st.booleans(),
    }
)
readers = st.fixed_dictionaries(
    {
        "entries": st.lists(
            st.builds(_entry, st.integers(0, len(SIZES) - 1), st.integers(0, 99), st.booleans()), max_size=5
        ),
        "filter": st.none() | st.sampled_from(sorted(FILTERS)),
        "evaluate": st.none()
        | st.builds(EvaluateHash, fraction=st.just(0.4), seed=st.integers(0, 2))
        | st.just(EvaluateChunks(chunks="1:3"))
        | st.just(EvaluateTime(since=3)),
        "part": st.sampled_from(["all", "train", "evaluate"]),
        "block_rows": st.integers(1, 40),
    }
)


class TestExactness:
    @settings(max_examples=30)
    @given(readers, passes)
    def test_every_row_is_delivered_once_an_epoch(
        self, store: Store, read: dict[str, Any], way: dict[str, Any]
    ) -> None:
        reader = _reader(store, **read)
        filtered = FILTERS.get(read["filter"], lambda row: True)
        expected = sorted(
            FIRSTS[index] + offset
            for entry in reader._entries
            for index in [next(i for i in range(len(SIZES)) if identity(str(i)) == entry.chunk)]
            for offset in range(SIZES[index])
            if filtered(FIRSTS[index] + offset) and _in_part(read, entry, index, offset)
        )
        assert reader.examples() == len(expected)
        delivered: dict[int, list[list[int]]] = {epoch: [] for epoch in range(way["epochs"])}
        for batch, position in reader.packed_batches(**way):
            delivered[position.epoch].append(_rows(batch))
        for batches in delivered.values():
            rows = [row for batch in batches for row in batch]
            if way["drop_remainder"]:
                assert all(len(batch) == way["batch_size"] for batch in batches)
                assert len(rows) == len(expected) // way["batch_size"] * way["batch_size"]
                assert not set(rows) - set(expected)
            else:
                assert sorted(rows) == expected
                assert all(len(batch) == way["batch_size"] for batch in batches[:-1])
            if way["shuffle_seed"] is None and not way["drop_remainder"]:
                assert batches == next(iter(delivered.values()))

    @settings(max_examples=20)
    @given(readers, passes, st.data())
    def test_going_on_from_any_position_gives_the_rest(
        self, store: Store, read: dict[str, Any], way: dict[str, Any], data: st.DataObject
    ) -> None:
        reader = _reader(store, **read)
        batches = [(_flat(batch), position) for batch, position in reader.packed_batches(**way)]
        assert [(_flat(batch), position) for batch, position in reader.packed_batches(**way)] == batches
        if batches:
            done = data.draw(st.integers(1, len(batches)))
            rest = reader.packed_batches(**way, start=batches[done - 1][1])
            assert [(_flat(batch), position) for batch, position in rest] == batches[done:]

    @settings(max_examples=6)
    @given(passes, st.integers(1, 40))
    def test_columns_stay_together(self, store: Store, way: dict[str, Any], block_rows: int) -> None:
        reader = _reader(store, block_rows=block_rows, roles=tuple(TYPES), filter="some")
        if way["epochs"] > 1:
            way["epochs"] = None  # endless: as many batches as are taken
        for taken, batch in enumerate(_batches(reader, way)):
            for row_index, row in enumerate(batch["feature.row"]):
                for role, values in batch.items():
                    assert values[row_index] == _value(role, row), role
            if taken == 5:
                break

    def test_without_a_seed_rows_come_in_the_logs_order(self, store: Store) -> None:
        delivered = [row for batch, _ in _reader(store).packed_batches(batch_size=10) for row in _rows(batch)]
        assert delivered == list(range(sum(SIZES)))

    def test_orders_differ_between_epochs_and_seeds_and_are_the_same_again(self, store: Store) -> None:
        def order(seed: int) -> list[list[int]]:
            epochs: list[list[int]] = [[], []]
            for batch, position in _reader(store, entries).packed_batches(batch_size=10, shuffle_seed=seed, epochs=2):
                epochs[position.epoch] += _rows(batch)
            return epochs

        entries = ALL
        first, second = order(1), order(2)
        assert first == order(1)
        assert len({tuple(epoch) for epoch in (*first, *second)}) == 4
        assert all(epoch != list(range(sum(SIZES))) for epoch in (*first, *second))
        entries = [ALL[2]]  # one block: rows inside it change places too
        assert len({tuple(epoch) for epoch in (*order(1), *order(2))}) == 4

    def test_the_order_stays(self, store: Store) -> None:
        delivered = _reader(store, block_rows=4).packed_batches(batch_size=10, shuffle_seed=7)
        assert _rows(next(delivered)[0]) == GOLDEN_ROWS


GOLDEN_ROWS = [122, 123, 121, 120, 28, 30, 31, 29, 32, 34]


def _in_part(read: dict[str, Any], entry: ChunkEntry, index: int, offset: int) -> bool:
    if read["part"] == "all" or read["evaluate"] is None:
        return read["part"] != "evaluate"
    if isinstance(read["evaluate"], EvaluateChunks):
        held_out = entry.key in {item.key for item in read["entries"][1:3]}
    elif isinstance(read["evaluate"], EvaluateTime):
        held_out = (FIRSTS[index] + offset) % 5 == 0
    else:
        from materialized.splits import hashed

        held_out = bool(hashed(entry.chunk, range(offset, offset + 1), read["evaluate"])[0])
    return held_out == (read["part"] == "evaluate")


def _batches(reader: Reader, way: dict[str, Any]) -> Iterator[dict[str, list[Any]]]:
    """Batches that went through TensorFlow, as lists by role."""
    for batch in reader.dataset(**way):
        yield {
            **{f"feature.{name}": _listed(tensor) for name, tensor in batch.features.items()},
            "label": batch.label.numpy().tolist(),
            "weight": batch.weight.numpy().tolist(),
        }


def _listed(tensor: Any) -> list[Any]:
    def text(value: Any) -> Any:
        if isinstance(value, list):
            return [text(item) for item in value]
        return value.decode() if isinstance(value, bytes) else value

    if isinstance(tensor, tf.RaggedTensor):
        return text(tensor.to_list())
    if tensor.dtype == tf.int64 and (tensor.numpy() < 0).any():  # uint64 travels as its bits
        return tensor.numpy().view(np.uint64).tolist()
    return text(tensor.numpy().tolist())


class TestTensors:
    roles = tuple(TYPES)

    def test_types_and_shapes(self, store: Store) -> None:
        for drop_remainder, static in ((False, None), (True, 8)):
            spec = _reader(store, roles=self.roles).dataset(batch_size=8, drop_remainder=drop_remainder).element_spec
            assert isinstance(spec, Batch)
            shapes = {name: (feature.dtype, feature.shape.as_list()) for name, feature in spec.features.items()}
            assert shapes == {
                "row": (tf.int64, [static]),
                "ids": (tf.int64, [static, None]),
                "words": (tf.string, [static, None]),
                "dense": (tf.float32, [static]),
                "vector": (tf.float32, [static, 2]),
                "name": (tf.string, [static]),
                "bits": (tf.int64, [static]),
                "flag": (tf.bool, [static]),
                "double": (tf.float64, [static]),
            }
            assert isinstance(spec.features["ids"], tf.RaggedTensorSpec)
            assert (spec.label.dtype, spec.label.shape.as_list()) == (tf.float32, [static])
            assert (spec.weight.dtype, spec.weight.shape.as_list()) == (tf.float32, [static])
            assert (spec.position.dtype, spec.position.shape.as_list()) == (tf.int64, [3])

    def test_a_batchs_position_is_where_to_go_on(self, store: Store) -> None:
        reader = _reader(store)
        way = {"batch_size": 30, "shuffle_seed": 1, "epochs": 2}
        batches = list(reader.dataset(**way))
        start = Position(*(int(number) for number in batches[2].position))
        rest = list(reader.dataset(**way, start=start))
        assert [batch.features["row"].numpy().tolist() for batch in rest] == [
            batch.features["row"].numpy().tolist() for batch in batches[3:]
        ]
        assert [batch.position.numpy().tolist() for batch in rest] == [b.position.numpy().tolist() for b in batches[3:]]

    def test_without_a_weight_it_is_one(self, store: Store) -> None:
        batch = next(iter(_reader(store, roles=("feature.row",)).dataset(batch_size=4)))
        assert batch.weight.numpy().tolist() == [1.0] * 4

    def test_a_model_of_ragged_features_alone(self, store: Store) -> None:
        (batch,) = _reader(store, [_entry(2)], roles=("feature.words", "feature.ids")).dataset(batch_size=9)
        assert batch.features["ids"].to_list() == [_value("feature.ids", row) for row in range(1, 8)]

    @pytest.mark.parametrize(
        "read",
        [
            {"entries": []},
            {"entries": [_entry(0)]},
            {"filter": "none"},
            {"part": "evaluate"},
            {"part": "evaluate", "evaluate": EvaluateChunks(chunks="9:")},
        ],
    )
    def test_nothing_to_deliver_is_an_empty_dataset(self, store: Store, read: dict[str, Any]) -> None:
        reader = _reader(store, **read)
        dataset = reader.dataset(batch_size=4, epochs=None)
        assert list(dataset) == []
        assert dataset.element_spec == _reader(store).dataset(batch_size=4).element_spec
        assert reader.examples() == 0

    def test_a_batch_larger_than_the_data(self, store: Store) -> None:
        (batch,) = _reader(store).dataset(batch_size=1000)
        assert batch.label.shape == [sum(SIZES)]
        assert list(_reader(store).dataset(batch_size=1000, drop_remainder=True)) == []
        assert list(_reader(store).dataset(batch_size=1000, drop_remainder=True, epochs=None)) == []

    def test_it_can_be_left_before_its_end(self, store: Store) -> None:
        for _ in range(3):
            iterator = iter(_reader(store).dataset(batch_size=1, epochs=None, shuffle_seed=1))
            next(iterator)
            del iterator


class TestRefusals:
    def test_a_null_label_that_the_filter_keeps(self, store: Store) -> None:
        reader = _reader(store, roles=("feature.row", "label"))
        with pytest.raises(LabelError, match=r"/log/2-0.csv: the label of row 4 is null"):
            list(reader.packed_batches(batch_size=10, shuffle_seed=1))
        assert FILTERS["some"](5) is None
        list(_reader(store, roles=("feature.row", "label"), filter="some").packed_batches(batch_size=10))

    def test_a_column_that_is_not_there(self, store: Store) -> None:
        columns = {"label": (identity("nowhere"), TYPES["label"])}
        with pytest.raises(NotMaterializedError, match="1 of 1 columns of chunk"):
            Reader(store, ALL, columns).dataset(batch_size=1)

    def test_another_type(self, store: Store) -> None:
        columns = {"label": (identity("weight"), ColumnType(DType.FLOAT64))}
        with pytest.raises(MismatchError, match="expected float64 in column"):
            list(Reader(store, ALL, columns).packed_batches(batch_size=1))

    def test_another_number_of_rows(self, store: Store) -> None:
        entry = ChunkEntry(identity("3"), "/log/3.csv", "ab" * 32, 0, 1, 99)
        with pytest.raises(MismatchError, match=r"expected 99 rows of chunk .*3.csv\), found 100"):
            list(_reader(store, [entry]).packed_batches(batch_size=1))

    def test_arguments(self, store: Store) -> None:
        label = (identity("weight"), TYPES["weight"])
        for arguments, message in [
            ({"columns": {}}, "expected a column for the label"),
            ({"part": "test"}, "expected one of"),
            ({"block_rows": 0}, "at least one row per block"),
            ({"evaluate": EvaluateTime(since=1), "part": "train"}, "expected a column for the split"),
            ({"columns": {"label": label, "feature.x": (*label[:1], TYPES["label"])}}, "not nullable"),
        ]:
            with pytest.raises(ValueError, match=message):
                Reader(store, ALL, **{"columns": {"label": label}, **arguments})
        for deliver in (_reader(store).dataset, _reader(store).packed_batches):
            with pytest.raises(ValueError, match="at least one row per batch"):
                deliver(batch_size=0)


def test_only_the_models_columns_are_read(tmp_path: Path) -> None:
    local = Store.create(tmp_path / "store")
    count = 40_000
    noise = np.random.default_rng(0).normal(size=(11, count)).astype(np.float32)
    columns = {f"feature.{index}": (ColumnType(DType.FLOAT32), list(noise[index])) for index in range(10)}
    put(local, identity("0"), {**columns, "label": (ColumnType(DType.FLOAT32), list(noise[10]))})
    filesystem, handler = watched(str(tmp_path))
    store = Store.open("store", filesystem=filesystem)
    entry = ChunkEntry(identity("0"), "/log/0.csv", "ab" * 32, 0, 1, count)
    roles = {role: (identity(role), ColumnType(DType.FLOAT32)) for role in ("feature.3", "label")}
    for _ in Reader(store, [entry], roles).packed_batches(batch_size=1000, shuffle_seed=1):
        pass
    (read,) = [size for path, size in handler.bytes_read.items() if path.startswith("store/chunks/")]
    assert 2 * 4 * count <= read < 3 * 4 * count
