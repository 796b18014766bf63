from __future__ import annotations

import datetime
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from materialized import layout
from materialized.chunks import ChunkEntry
from materialized.errors import SourceError
from materialized.log_files import LogFile, file_digest, find_files
from materialized.sources import current_manifest, raw_schema, unsupported_columns, with_ingested
from materialized.store import Store
from transforms.places import Place
from transforms.specs import DatasetSpec
from transforms.types import ColumnType, DType, Shape

SCHEMA = {"user": "int64", "query": "string"}


def _text(path: Path | str, chunk_bytes: int = 2**20, schema: dict[str, str] = SCHEMA) -> DatasetSpec:
    return DatasetSpec(name="log", path=str(path), format="csv", schema=schema, chunk_bytes=chunk_bytes)


def _parquet(path: Path, chunk_bytes: int = 2**20, time: str | None = None, **schema: str) -> DatasetSpec:
    return DatasetSpec(name="log", path=str(path), format="parquet", schema=schema, chunk_bytes=chunk_bytes, time=time)


def _write(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"user,query\n1,{name}\n")


def _found(path: Path, folder: Path) -> list[str]:
    return [os.path.relpath(file.path, folder) for file in find_files(_text(path))]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    folder = tmp_path / "log"
    folder.mkdir()
    return folder


class TestFinding:
    def test_the_order_is_that_of_paths_as_text(self, log: Path) -> None:
        _write(log, "9.csv", "10.csv", "b/1.csv", "a/2.csv")
        assert _found(log, log) == ["10.csv", "9.csv", "a/2.csv", "b/1.csv"]

    def test_hidden_names_are_ignored(self, log: Path) -> None:
        _write(log, "a.csv", ".b.csv", "_SUCCESS", ".git/c.csv", "_temporary/d.csv")
        assert _found(log, log) == ["a.csv"]
        assert _found(log / "*", log) == ["a.csv"]
        assert _found(log / "**" / "*.csv", log) == ["a.csv"]

    def test_a_hidden_parent_hides_nothing(self, tmp_path: Path) -> None:
        _write(tmp_path / "_work", "a.csv")
        assert _found(tmp_path / "_work", tmp_path) == ["_work/a.csv"]
        assert _found(tmp_path / "_work" / "*.csv", tmp_path) == ["_work/a.csv"]

    def test_links_to_files_are_followed_and_links_to_directories_are_not(self, log: Path, tmp_path: Path) -> None:
        _write(tmp_path / "elsewhere", "a.csv", "b.csv")
        (log / "linked.csv").symlink_to(tmp_path / "elsewhere" / "a.csv")
        (log / "folder").symlink_to(tmp_path / "elsewhere")
        (log / "broken.csv").symlink_to(tmp_path / "nowhere")
        assert _found(log, log) == ["linked.csv"]

    def test_a_glob(self, log: Path) -> None:
        _write(log, "a.csv", "b.csv", "c.txt", "d/e.csv")
        assert _found(log / "*.csv", log) == ["a.csv", "b.csv"]
        assert _found(log / "[b-z]*", log) == ["b.csv", "c.txt"]

    def test_what_exists_goes_before_a_glob(self, log: Path) -> None:
        _write(log, "day[1].csv", "day1.csv", "part[2]/a.csv")
        assert _found(log / "day[1].csv", log) == ["day[1].csv"]
        assert _found(log / "part[2]", log) == ["part[2]/a.csv"]

    def test_a_path_is_relative_to_the_dataset_file(self, log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        _write(log, "data/a.csv")
        dataset = DatasetSpec(
            name="log", path="data", format="csv", schema=SCHEMA, place=Place(str(log / "dataset.yaml"), 1)
        )
        monkeypatch.chdir("/")
        assert [file.path for file in find_files(dataset)] == [str(log / "data" / "a.csv")]

    def test_an_empty_directory(self, log: Path) -> None:
        with pytest.raises(SourceError, match=r"dataset 'log': expected files in .*log, found an empty directory"):
            find_files(_text(log))

    def test_nothing_there(self, log: Path) -> None:
        with pytest.raises(SourceError, match=r"expected a file or directory at .*absent, found nothing"):
            find_files(_text(log / "absent"))
        with pytest.raises(SourceError, match=r"expected files that match .*\*.csv, found nothing"):
            find_files(_text(log / "*.csv"))

    def test_an_address(self) -> None:
        with pytest.raises(SourceError, match="expected a local path to the log, found 'gs://bucket/log'"):
            find_files(_text("gs://bucket/log"))


class TestDigests:
    def _aged(self, path: Path) -> LogFile:
        os.utime(path, (1_000_000_000, 1_000_000_000))
        (file,) = find_files(_text(path))
        return file

    def test_it_is_of_the_bytes(self, log: Path) -> None:
        (log / "a").write_bytes(b"abc")
        found = file_digest(self._aged(log / "a"), None)
        assert found == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

    def test_a_file_that_just_changed_is_not_remembered(self, log: Path, tmp_path: Path) -> None:
        store = Store.create(tmp_path / "store")
        (log / "a").write_bytes(b"abc")
        file_digest(self._aged(log / "a"), store)  # the change of its status is young, whatever its times say
        assert store.list("sources") == ()

    def test_a_memory_is_used_for_this_version_only(self, log: Path, tmp_path: Path) -> None:
        store = Store.create(tmp_path / "store")
        (log / "a").write_bytes(b"abc")
        (file,) = find_files(_text(log / "a"))
        settled = LogFile(file.path, file.bytes, (*file.version[:2], 10**18, 10**18))
        key = _memory_key(settled)
        store.write_once(key, b'{"sha256": "remembered"}')
        assert file_digest(settled, store) == "remembered"
        assert file_digest(file, store) != "remembered"

    def test_a_damaged_memory_is_read_again(self, log: Path, tmp_path: Path) -> None:
        store = Store.create(tmp_path / "store")
        (log / "a").write_bytes(b"abc")
        (file,) = find_files(_text(log / "a"))
        store.write_once(_memory_key(file), b"{")
        assert file_digest(file, store).startswith("ba7816bf")

    def test_a_file_that_changes_meanwhile_is_refused(self, log: Path) -> None:
        (log / "a").write_bytes(b"abc")
        (file,) = find_files(_text(log / "a"))
        (log / "a").write_bytes(b"abcd")
        with pytest.raises(SourceError, match="the file changed while it was read"):
            file_digest(file, None)


def _memory_key(file: LogFile) -> str:
    from transforms.canonical import digest

    return layout.source_digest(digest({"path": file.path, "version": list(file.version)}))


class TestTextManifests:
    def test_chunks_by_size(self, log: Path) -> None:
        (log / "a.csv").write_bytes(b"x" * 100)
        (log / "b.csv").write_bytes(b"")
        manifest = current_manifest(_text(log, chunk_bytes=33), None)
        assert [(Path(entry.source).name, entry.ordinal, entry.parts) for entry in manifest] == [
            ("a.csv", 0, 4),
            ("a.csv", 1, 4),
            ("a.csv", 2, 4),
            ("a.csv", 3, 4),
            ("b.csv", 0, 1),
        ]
        assert len(manifest.chunks) == 5
        assert {entry.rows for entry in manifest} == {None}
        assert {entry.location for entry in manifest} == {None}

    def test_equal_files_are_one_chunk_twice(self, log: Path) -> None:
        _write(log, "a.csv")
        shutil.copy(log / "a.csv", log / "b.csv")
        manifest = current_manifest(_text(log), None)
        assert len(manifest) == 2
        assert len(manifest.chunks) == 1

    def test_a_moved_file_keeps_its_chunk_and_a_changed_one_does_not(self, log: Path) -> None:
        _write(log, "a.csv")
        before = current_manifest(_text(log), None).chunks
        (log / "a.csv").rename(log / "z.csv")
        assert current_manifest(_text(log), None).chunks == before
        times = os.stat(log / "z.csv")
        content = (log / "z.csv").read_bytes()
        (log / "z.csv").write_bytes(content[:-2] + b"!\n")
        os.utime(log / "z.csv", ns=(times.st_atime_ns, times.st_mtime_ns))
        assert current_manifest(_text(log), None).chunks != before

    def test_how_it_is_read_is_part_of_a_chunk(self, log: Path) -> None:
        _write(log, "a.csv")
        variants = [
            _text(log),
            _text(log, schema={"user": "int64"}),
            _text(log, schema={"user": "int64", "query": "string not null"}),
            _text(log, chunk_bytes=8),
            DatasetSpec(name="log", path=str(log), format="jsonl", schema=SCHEMA),
        ]
        assert len({current_manifest(dataset, None).chunks[0] for dataset in variants}) == len(variants)

    def test_the_order_of_the_schema_is_not(self, log: Path) -> None:
        _write(log, "a.csv")
        turned = dict(reversed(SCHEMA.items()))
        assert current_manifest(_text(log), None).chunks == current_manifest(_text(log, schema=turned), None).chunks

    def test_identities_stay(self, log: Path) -> None:
        (log / "a.csv").write_bytes(b"user,query\n1,x\n")
        assert current_manifest(_text(log), None).chunks == (GOLDEN_CHUNK,)

    def test_identities_do_not_depend_on_the_process(self, log: Path) -> None:
        (log / "a.csv").write_bytes(b"user,query\n1,x\n")
        script = f"""
import sys; sys.path.insert(0, {str(Path(__file__).parents[2])!r})
from materialized.sources import current_manifest
from transforms.specs import DatasetSpec
dataset = DatasetSpec(name="log", path={str(log)!r}, format="csv", schema={SCHEMA!r}, chunk_bytes=2**20)
print(*current_manifest(dataset, None).chunks)
"""
        environment = {**os.environ, "PYTHONHASHSEED": "7"}
        done = subprocess.run([sys.executable, "-c", script], cwd="/", env=environment, capture_output=True, text=True)
        assert done.stdout.split() == [GOLDEN_CHUNK], done.stderr

    def test_ingested_text_has_rows_and_times(self, log: Path, tmp_path: Path) -> None:
        store = Store.create(tmp_path / "store")
        _write(log, "a.csv")
        shutil.copy(log / "a.csv", log / "b.csv")
        dataset = DatasetSpec(name="log", path=str(log), format="csv", schema=SCHEMA, time="user")
        (chunk,) = current_manifest(dataset, store).chunks
        sink = pa.BufferOutputStream()
        pq.write_table(pa.table({"user": [5, 3, 9], "query": ["a", "b", "c"]}), sink, row_group_size=2)
        store.write_once(layout.raw_chunk(chunk), sink.getvalue().to_pybytes())
        entries = current_manifest(dataset, store).entries
        assert [(entry.rows, entry.time_range) for entry in entries] == [(3, (3, 9))] * 2
        assert with_ingested(current_manifest(dataset, None), store, dataset).entries == entries

    def test_a_text_format_needs_a_schema(self, log: Path) -> None:
        with pytest.raises(SourceError, match="expected a schema, which csv files do not bring"):
            raw_schema(_text(log, schema={}))


GOLDEN_CHUNK = "31a9dce443374720adc332256e517e27a146c550044074c4a91d06ac0f351df7"


class TestParquetManifests:
    def _table(self, rows: int) -> pa.Table:
        return pa.table({"user": pa.array(range(rows), pa.int64())})

    def test_row_groups_are_packed_greedily(self, log: Path) -> None:
        pq.write_table(self._table(1000), log / "a.parquet", row_group_size=100, use_dictionary=False, compression=None)
        group_bytes = pq.read_metadata(log / "a.parquet").row_group(0).total_byte_size
        manifest = current_manifest(_parquet(log, chunk_bytes=3 * group_bytes + 10), None)
        assert [entry.row_groups for entry in manifest] == [(0, 1, 2), (3, 4, 5), (6, 7, 8), (9,)]
        assert [entry.rows for entry in manifest] == [300, 300, 300, 100]
        single = current_manifest(_parquet(log, chunk_bytes=1), None)
        assert [entry.row_groups for entry in single] == [(index,) for index in range(10)]

    def test_a_file_without_row_groups_is_a_chunk_without_rows(self, log: Path) -> None:
        with pq.ParquetWriter(log / "a.parquet", self._table(0).schema):
            pass
        pq.write_table(self._table(0), log / "b.parquet")
        entries = current_manifest(_parquet(log), None).entries
        assert [entry.rows for entry in entries] == [0, 0]

    def test_times_come_from_the_footer(self, log: Path) -> None:
        times = [datetime.datetime(2020, 1, 1, 0, 0, second) for second in (5, 3, 9)]
        pq.write_table(pa.table({"at": pa.array(times, pa.timestamp("us"))}), log / "a.parquet")
        (entry,) = current_manifest(_parquet(log, time="at"), None).entries
        assert entry.time_range == (1577836803, 1577836809)

    @pytest.mark.parametrize("cut", [0, 3, 100, -1, -5])
    def test_truncated_files_are_named(self, log: Path, cut: int) -> None:
        pq.write_table(self._table(1000), log / "a.parquet")
        whole = (log / "a.parquet").read_bytes()
        (log / "a.parquet").write_bytes(whole[:cut])
        for look in (lambda: current_manifest(_parquet(log), None), lambda: raw_schema(_parquet(log))):
            with pytest.raises(SourceError, match=r"a\.parquet: expected a Parquet file"):
                look()

    def test_other_formats_are_named(self, log: Path) -> None:
        _write(log, "a.csv")
        with pytest.raises(SourceError, match=r"a\.csv: expected a Parquet file"):
            current_manifest(_parquet(log), None)


class TestParquetSchemas:
    def _write(self, log: Path, *schemas: dict[str, pa.DataType]) -> None:
        for index, schema in enumerate(schemas):
            pq.write_table(pa.schema(list(schema.items())).empty_table(), log / f"{index}.parquet")

    def test_widths_are_unified(self, log: Path) -> None:
        self._write(
            log,
            {"a": pa.int32(), "b": pa.float32(), "c": pa.string(), "d": pa.null()},
            {"a": pa.int64(), "b": pa.float64(), "c": pa.dictionary(pa.int32(), pa.large_string()), "d": pa.int8()},
        )
        assert raw_schema(_parquet(log)) == {
            "a": ColumnType(DType.INT64, nullable=True),
            "b": ColumnType(DType.FLOAT64, nullable=True),
            "c": ColumnType(DType.STRING, nullable=True),
            "d": ColumnType(DType.INT64, nullable=True),
        }

    def test_a_column_is_nullable_where_any_file_says_so(self, log: Path) -> None:
        pq.write_table(pa.schema([pa.field("a", pa.int64(), nullable=False)]).empty_table(), log / "x.parquet")
        assert not raw_schema(_parquet(log))["a"].nullable
        self._write(log, {"a": pa.int64()})
        assert raw_schema(_parquet(log))["a"].nullable

    def test_kinds_in_conflict_name_both_files(self, log: Path) -> None:
        self._write(log, {"a": pa.int32()}, {"a": pa.string()})
        with pytest.raises(
            SourceError, match=r"1\.parquet: expected int32 in column 'a', as in .*0\.parquet, found string"
        ):
            raw_schema(_parquet(log))

    @pytest.mark.parametrize("order", [(0, 1), (1, 0)])
    def test_an_absent_column_names_file_and_column(self, log: Path, order: tuple[int, int]) -> None:
        schemas = [{"a": pa.int32(), "b": pa.int32()}, {"a": pa.int32()}]
        self._write(log, *(schemas[index] for index in order))
        lacking = order.index(1)
        with pytest.raises(SourceError, match=rf"{lacking}\.parquet: expected a column 'b', which .*, found none"):
            raw_schema(_parquet(log))

    def test_columns_without_a_type_are_left_out(self, log: Path) -> None:
        self._write(log, {"a": pa.struct([("x", pa.int32())]), "b": pa.list_(pa.int32()), "c": pa.decimal128(5)})
        assert raw_schema(_parquet(log)) == {"b": ColumnType(DType.INT64, Shape.RAGGED)}
        assert set(unsupported_columns(_parquet(log))) == {"a", "c"}

    def test_a_dataset_file_may_say_that_there_are_no_nulls(self, log: Path) -> None:
        self._write(log, {"a": pa.int32()})
        assert raw_schema(_parquet(log, a="int64 not null")) == {"a": ColumnType(DType.INT64)}
        with pytest.raises(SourceError, match=r"declares 'a' as .*string, the files have nullable int64"):
            raw_schema(_parquet(log, a="string"))
        with pytest.raises(SourceError, match="declares 'z', which the files do not have"):
            raw_schema(_parquet(log, z="string"))
        with pytest.raises(SourceError, match=r"which the files do not have \(did you mean 'a'\?\)"):
            raw_schema(_parquet(log, A="string"))

    def test_key_and_time_are_columns_of_the_files(self, log: Path) -> None:
        self._write(log, {"user": pa.string(), "second": pa.timestamp("s")})
        assert raw_schema(replace(_parquet(log), key="user", time="second"))
        for fields, message in {
            ("key", "usr"): r"key: unknown column 'usr' \(did you mean 'user'\?\)",
            ("time", "secnd"): r"time: unknown column 'secnd' \(did you mean 'second'\?\)",
            ("time", "user"): "time: expected a column of int64 or float64, found 'user' of nullable string",
        }.items():
            with pytest.raises(SourceError, match=message):
                raw_schema(replace(_parquet(log), **dict([fields])))


def test_an_entry_says_where_its_rows_lie() -> None:
    entry = ChunkEntry("ab" * 32, "/log/a.parquet", "cd" * 32, 1, 3, 5, (4, 5))
    assert entry.location is not None
    assert (entry.location.path, entry.location.row_groups) == ("/log/a.parquet", (4, 5))
    assert str(entry) == "/log/a.parquet (part 2 of 3)"
