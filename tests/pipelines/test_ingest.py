import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from apache_beam import Create
from apache_beam.testing import test_pipeline
from apache_beam.testing.util import assert_that, equal_to

from materialized import layout
from materialized.raw_rows import read_raw
from materialized.sources import current_manifest, raw_schema, with_ingested
from materialized.store import Store
from pipelines.errors import ChangedSourceError, LogError
from pipelines.failures import FAILURES, Failure
from pipelines.ingest import Ingest
from pipelines.raw_chunks import RawChunk, bad_values, ingest_file, ingest_tasks
from tests.pipelines.logs import csv, dataset, stored


@pytest.fixture
def store(tmp_path):
    return Store.create(tmp_path / "store")


def ingest(store, log):
    """Ingests what is missing, without Beam."""
    manifest = current_manifest(log, store)
    for task in ingest_tasks(manifest, store):
        ingest_file(store, log.format, raw_schema(log), task)
    return with_ingested(manifest, store, log)


def test_files_become_chunks_on_beam(tmp_path, store):
    for number, rows in ((1, 3), (2, 0)):
        csv(tmp_path / "log", number, rows)
    (tmp_path / "log" / "part-03.csv").write_text("query,device,price,click\na,b\n")
    log = dataset(tmp_path / "log")
    manifest = current_manifest(log, store)
    tasks = ingest_tasks(manifest, store)
    first, empty, _ = manifest.chunks
    with test_pipeline.TestPipeline("FnApiRunner") as pipeline:
        found = pipeline | Create(tasks) | Ingest(store, "csv", raw_schema(log))
        assert_that(found.chunks, equal_to([RawChunk(first, 3), RawChunk(empty, 0)]))
        message = f"{tmp_path}/log/part-03.csv:2: expected 4 fields as in the header, found 2"
        assert_that(found[FAILURES], equal_to([Failure(message, is_input=True)]), label="failures")
    assert stored(store.path, "raw") == {f"{first}.parquet", f"{empty}.parquet"}
    assert [entry.rows for entry in with_ingested(manifest, store, log)] == [3, 0, None]
    assert [task.source[-11:] for task in ingest_tasks(manifest, store)] == ["part-03.csv"]


def test_chunks_of_one_file_hold_its_rows_evenly(tmp_path, store, monkeypatch):
    monkeypatch.setattr("pipelines.csv_rows._BLOCK_BYTES", 200)
    path = csv(tmp_path / "log", 1, rows=100)
    log = dataset(tmp_path / "log", chunk_bytes=path.stat().st_size // 7 + 1)
    manifest = ingest(store, log)
    assert [entry.rows for entry in manifest] == [14, 14, 14, 15, 14, 14, 15]
    tables = [read_raw(store, entry, raw_schema(log)) for entry in manifest]
    whole = ingest(Store.create(tmp_path / "other"), dataset(tmp_path / "log"))
    assert pa.concat_tables(tables) == read_raw(Store.open(tmp_path / "other"), whole.entries[0], raw_schema(log))


def test_more_chunks_than_rows(tmp_path, store):
    csv(tmp_path / "log", 1, rows=2)
    manifest = ingest(store, dataset(tmp_path / "log", chunk_bytes=20))
    assert len(manifest) > 2
    assert sum(entry.rows for entry in manifest) == 2


def test_equal_files_are_ingested_once(tmp_path, store):
    for number in (1, 2):
        csv(tmp_path / "log", number).write_text("query,device,price,click\na,b,1,0\n")
    manifest = current_manifest(dataset(tmp_path / "log"), store)
    assert len(ingest_tasks(manifest, store)) == 1


def test_columns_in_another_order_and_more_of_them(tmp_path, store):
    csv(tmp_path / "log", 1, rows=1)
    (tmp_path / "log" / "part-02.csv").write_text("extra,click,price,device,query\n9,1,2.5,Tablet,blue\n")
    log = dataset(tmp_path / "log")
    tables = [read_raw(store, entry, raw_schema(log)) for entry in ingest(store, log)]
    assert [table.column_names for table in tables] == [["query", "device", "price", "click"]] * 2
    assert tables[1].to_pylist() == [{"query": "blue", "device": "Tablet", "price": 2.5, "click": 1}]


def test_bad_values_are_counted_and_a_column_of_nulls_is_valid(tmp_path, store):
    csv(tmp_path / "log", 1).write_text("query,device,price,click\n,x,1e400,9e9\n,y,cheap,1\n")
    log = dataset(tmp_path / "log")
    manifest = ingest(store, log)
    assert bad_values(store, manifest) == {"click": 1, "price": 2}
    assert read_raw(store, manifest.entries[0], raw_schema(log)).column("query").null_count == 2


def test_null_where_there_must_be_a_value(tmp_path, store):
    csv(tmp_path / "log", 1).write_text('query,device,price,click\n"a\nb",x,1,1\n\nc,y,2,\n')
    log = dataset(tmp_path / "log", schema={"query": "string", "click": "int64 not null"})
    with pytest.raises(LogError, match=r"part-01.csv:5: expected a value in column 'click'.*found none"):
        ingest(store, log)
    assert stored(store.path, "raw") == set()


@pytest.mark.parametrize("chunk_bytes", [20, 1000])
def test_a_file_that_changes_before_it_is_read_leaves_nothing(tmp_path, store, chunk_bytes):
    path = csv(tmp_path / "log", 1)
    log = dataset(tmp_path / "log", chunk_bytes=chunk_bytes)
    (task,) = ingest_tasks(current_manifest(log, store), store)
    path.write_text("query,device,price,click\na,b,1,0\n")
    with pytest.raises(ChangedSourceError, match="expected the file with SHA-256"):
        ingest_file(store, "csv", raw_schema(log), task)
    assert stored(store.path, "raw") == set()


def test_raw_chunks_are_plain_parquet(tmp_path, store):
    csv(tmp_path / "log", 1)
    (entry,) = ingest(store, dataset(tmp_path / "log"))
    table = pq.read_table(f"{store.path}/{layout.raw_chunk(entry.chunk)}")
    assert table.schema.names == ["query", "device", "price", "click"]
    assert table.num_rows == 5
