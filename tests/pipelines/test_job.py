import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow.fs import LocalFileSystem, SubTreeFileSystem

from materialized.assets import load_asset
from materialized.chunk_files import read_columns
from materialized.errors import LabelError, ReadOnlyStoreError
from materialized.files import LocalFiles
from materialized.partials import read_partial
from materialized.pins import pinned_window
from materialized.sources import current_manifest
from materialized.store import Store
from pipelines import job
from pipelines.accumulators import accumulator
from pipelines.analyze import accumulation
from pipelines.errors import PartialResultError
from pipelines.runner import RunnerOptions
from tests.commands import ROOT
from tests.pipelines.logs import bound, csv, dataset, model, stored
from transforms.errors import InputError

Q, P, D = "hash(tokens(query), 100)", "log1p(fill(price, 0))", "hash(lower(device), 10)"
X = "hash(cross(tokens(query), lower(device)), 50)"
VOCABULARY = {"ids": {"v": "vocab(query, top_k=2)"}}

READ = []


class RecordingFiles(LocalFiles):
    """Local files that remember what was opened."""

    def open(self, key):
        READ.append(key)
        return super().open(key)


@pytest.fixture
def store(tmp_path):
    return Store.create(tmp_path / "store")


def run(store, log, *specs, **options):
    return job.run(bound(specs, log), log, store, **options)


def test_the_worked_case(tmp_path, store):
    """Two models; one gains a column; a chunk comes; the column is dropped; another chunk comes."""
    log = dataset(tmp_path / "log")
    before = model("a", ids={"q": Q}, dense={"p": P})
    after = model("a", ids={"q": Q, "x": X}, dense={"p": P})
    other = model("b", ids={"q": Q, "d": D})

    def step(*specs):
        had = stored(store.path, "chunks")
        summary = run(store, log, *specs)
        assert summary.after.complete
        new = {}
        for path in stored(store.path, "chunks") - had:
            columns = set(pq.read_schema(f"{store.path}/chunks/{path}").names)
            new.setdefault(path.partition("/")[0], []).append(columns)
        return summary, new

    def files_read(summary, chunk):
        READ.clear()
        recording = Store(store.path, RecordingFiles(Path(store.path)))
        read_columns(recording, chunk, summary.plan.columns_of("a"))
        return len({key for key in READ if key.startswith("chunks/")})

    csv(tmp_path / "log", 1)
    csv(tmp_path / "log", 2)
    summary, new = step(before, other)
    one, two = summary.plan.manifest.chunks
    roles = [("a", "feature.q"), ("a", "feature.p"), ("b", "feature.d"), ("a", "label")]
    four = {summary.plan.column(*role).identity for role in roles}
    assert new == {one: [four], two: [four]}
    # q and the label are shared: of twelve requests eight had to be computed.
    assert (summary.plan.hits.requested, summary.plan.hits.computed) == (12, 8)
    assert [files_read(summary, chunk) for chunk in (one, two)] == [1, 1]

    summary, new = step(after, other)
    x = summary.plan.column("a", "feature.x").identity
    assert new == {one: [{x}], two: [{x}]}
    assert [files_read(summary, chunk) for chunk in (one, two)] == [2, 2]

    csv(tmp_path / "log", 3)
    summary, new = step(after, other)
    three = summary.plan.manifest.chunks[2]
    assert new == {three: [four | {x}]}
    assert [files_read(summary, chunk) for chunk in (one, two, three)] == [2, 2, 1]

    summary, new = step(before, other)
    assert new == {}
    assert summary.plan.hits.rate == 1
    assert [files_read(summary, chunk) for chunk in (one, two, three)] == [1, 1, 1]

    csv(tmp_path / "log", 4)
    summary, new = step(before, other)
    last = summary.plan.manifest.chunks[3]
    assert new == {last: [four]}
    assert [files_read(summary, chunk) for chunk in (one, two, three, last)] == [1, 1, 1, 1]

    summary, new = step(after, other)  # it comes back: only the chunk that never had it computes it
    assert new == {last: [{x}]}


def statistics(summary, store):
    """What each analyzer of a plan found, by column identity."""
    plan = summary.plan
    analyzers = [plan.identities[node.identity] for node in plan.graph.nodes if node.analyzer]
    return {identity: load_asset(store, identity).asset for identity in analyzers}


MODELS = (
    model("a", dense={"z": "zscore(log1p(fill(price, 0)))"}, ids={"v": "vocab(tokens(query), top_k=2)"}),
    # The same counts cut elsewhere; a statistic of a column that itself needs one.
    model(
        "b",
        dense={"z": "fill(zscore(clip(zscore(price), -1, 1)), 0)"},
        ids={"v": "vocab(tokens(query), min_count=9)"},
    ),
    model("c", ids={"v": "quantiles(price, 3)"}),
)


def test_statistics_do_not_depend_on_how_the_work_is_cut(tmp_path):
    for number in range(1, 6):
        csv(tmp_path / "log", number, rows=7 * number)
    log = dataset(tmp_path / "log")
    stores = [Store.create(tmp_path / name) for name in ("one", "two")]
    summaries = [
        run(store, log, *MODELS, options=options)
        for store, options in zip(stores, (RunnerOptions(), RunnerOptions(workers=3)), strict=True)
    ]
    found = [statistics(summary, store) for summary, store in zip(summaries, stores, strict=True)]
    assert len(found[0]) == 6
    assert found[0] == found[1]
    assert stored(stores[0].path, "partials") == stored(stores[1].path, "partials")
    # Two vocabularies share their counts: of six statistics five are accumulated, over five chunks.
    assert [(summary.statistics, summary.partials) for summary in summaries] == [(6, 25), (6, 25)]


def test_partial_results_are_folded_as_the_window_names_them(tmp_path, store):
    """In its order, which the last bits of moments and of sketches show, and a chunk that it has twice twice."""
    for number in range(1, 6):
        csv(tmp_path / "log", number, rows=7 * number)
    (tmp_path / "log" / "part-09.csv").write_bytes((tmp_path / "log" / "part-02.csv").read_bytes())
    log = dataset(tmp_path / "log")
    plan = run(store, log, model("a", dense={"z": "fill(zscore(log1p(price)), 0)"})).plan
    window = pinned_window(store, log).chunks
    assert (len(window), len(set(window))) == (6, 5)
    ((node,),) = plan.graph.analyzer_levels()
    kept, counter = accumulation(node, plan.identities), accumulator("moments", 1, {})

    def folded(chunks):
        return counter.asset(counter.fold(read_partial(store, kept.identity, chunk) for chunk in chunks), {})

    found = load_asset(store, plan.identities[node.identity]).asset
    assert found == folded(window)
    assert found.count == folded(set(window)).count + 14
    assert found != folded(sorted(window))


def test_partial_results_are_used_again(tmp_path, store):
    for number in (1, 2):
        csv(tmp_path / "log", number)
    log = dataset(tmp_path / "log")
    assert run(store, log, model("a", ids={"v": "vocab(query)"})).partials == 2
    # Another cut of the same counts: none is computed.
    summary = run(store, log, model("a", ids={"v": "vocab(query)"}), model("b", ids={"v": "vocab(query, top_k=1)"}))
    assert (summary.statistics, summary.partials) == (1, 0)
    csv(tmp_path / "log", 3)
    # The window is pinned: the new chunk does not move any statistic.
    summary = run(store, log, model("a", ids={"v": "vocab(query)"}))
    assert (summary.statistics, summary.partials) == (0, 0)
    # A refresh accumulates the new chunk only.
    summary = run(store, log, model("a", ids={"v": "vocab(query)"}), refresh=True)
    assert (summary.statistics, summary.partials) == (1, 1)
    assert pinned_window(store, log).generation == 2
    assert run(store, log, model("a", ids={"v": "vocab(query)"}), refresh=True).plan.complete


def test_a_pinned_chunk_that_is_gone(tmp_path, store):
    gone = csv(tmp_path / "log", 1)
    csv(tmp_path / "log", 2)
    log = dataset(tmp_path / "log")
    run(store, log, model("a", **VOCABULARY))
    gone.unlink()
    # What was accumulated while it was there still stands in for it.
    assert run(store, log, model("b", ids={"v": "vocab(query, top_k=1)"})).partials == 0
    with pytest.raises(PartialResultError, match=r"the log no longer has.*--refresh"):
        run(store, log, model("c", ids={"v": "vocab(device)"}))
    assert run(store, log, model("c", ids={"v": "vocab(device)"}), refresh=True).partials == 1


def test_without_statistics_no_window_is_pinned(tmp_path, store):
    csv(tmp_path / "log", 1)
    log = dataset(tmp_path / "log")
    run(store, log, model("a", dense={"p": P}))
    assert pinned_window(store, log) is None


def test_values(tmp_path, store):
    (tmp_path / "log").mkdir()
    (tmp_path / "log" / "part.csv").write_text("query,device,price,click\na b,X,3,1\n,,,0\na,x,,1\n")
    log = dataset(tmp_path / "log")
    spec = model("m", dense={"p": "fill(price, -1)"}, ids={"v": "vocab(tokens(query))"}, filter=None)
    plan = run(store, log, spec).plan
    identities = [plan.column("m", role).identity for role in ("feature.p", "feature.v", "label")]
    table = read_columns(store, plan.manifest.chunks[0], identities)
    assert [column.to_pylist() for column in table.columns] == [[3.0, -1.0, -1.0], [[0, 1], [], [0]], [1.0, 0.0, 1.0]]


def test_a_zero_row_file_and_a_column_of_nulls(tmp_path, store):
    csv(tmp_path / "log", 1)
    csv(tmp_path / "log", 2, rows=0)
    (tmp_path / "log" / "part-03.csv").write_text("query,device,price,click\n,,,1\n")
    log = dataset(tmp_path / "log")
    assert run(store, log, *MODELS).after.complete


@pytest.mark.parametrize("format", ["parquet", "tfrecord"])
def test_parquet_logs_stay_where_they_are(tmp_path, store, format):
    (tmp_path / "log").mkdir()
    table = pa.table({"query": ["a b", None], "price": [1.0, None], "click": [1, 0]})
    pq.write_table(table, tmp_path / "log" / "part.parquet")
    log = dataset(tmp_path / "log", format="parquet", schema={})
    summary = run(store, log, model("m", dense={"p": P}, ids={"v": "vocab(tokens(query))"}), format=format)
    assert summary.ingested == 0
    assert stored(store.path, "raw") == set()
    assert {path.rpartition(".")[2] for path in stored(store.path, "chunks")} == {format}


def test_labels_are_checked_again_until_they_are_right(tmp_path, store):
    csv(tmp_path / "log", 1).write_text("query,device,price,click\na,x,1,1\nb,y,2,\n")
    log = dataset(tmp_path / "log")
    for _ in range(2):
        with pytest.raises(LabelError, match="the label is null in 1 of 2 rows"):
            run(store, log, model("m", dense={"p": P}))
    assert run(store, log, model("m", dense={"p": P}, label="fill(click, 0)")).after.complete


def test_mistakes_of_all_files_come_as_one_input_error(tmp_path, store):
    csv(tmp_path / "log", 1).write_text("query,device,price,click\na,x\n")
    csv(tmp_path / "log", 2)
    csv(tmp_path / "log", 3).write_text("query,device\n")
    log = dataset(tmp_path / "log")
    with pytest.raises(InputError) as caught:
        run(store, log, model("m", dense={"p": P}))
    first, second = str(caught.value).splitlines()
    assert "part-01.csv:2: expected 4 fields" in first
    assert "part-03.csv:1: the header lacks 'price', 'click'" in second
    assert type(caught.value) is InputError
    assert len(stored(store.path, "raw")) == 1
    assert stored(store.path, "datasets") == set()


def test_a_store_on_another_file_system(tmp_path):
    csv(tmp_path / "log", 1)
    log = dataset(tmp_path / "log")
    (tmp_path / "bucket").mkdir()
    bucket = SubTreeFileSystem(str(tmp_path / "bucket"), LocalFileSystem())
    remote = Store.create("store", filesystem=bucket)
    assert run(remote, log, model("a", **VOCABULARY)).after.complete
    assert len(stored(tmp_path / "bucket" / "store", "chunks")) == 1


def test_a_store_that_cannot_be_written(tmp_path, store):
    csv(tmp_path / "log", 1)
    log = dataset(tmp_path / "log")
    from materialized.read_only import read_only

    with pytest.raises(ReadOnlyStoreError):
        run(read_only(store), log, model("m", dense={"p": P}))


KILLED = """
import os, signal, sys
from pathlib import Path
from materialized.files import LocalFiles
from materialized.store import Store
from pipelines import job
from tests.pipelines.logs import bound, dataset
from tests.pipelines.test_job import KILLED_MODEL

commit = LocalFiles.write_once
seen = []

def write_once(self, key, data):
    if key.startswith("chunks/"):
        seen.append(key)
        if len(seen) == 3:
            self._temporary(data[: len(data) // 2])
            os.kill(os.getpid(), signal.SIGKILL)
    return commit(self, key, data)

LocalFiles.write_once = write_once
log = dataset(sys.argv[1])
job.run(bound([KILLED_MODEL], log), log, Store.create(sys.argv[2]))
"""


KILLED_MODEL = model("m", dense={"p": P}, ids={"v": "vocab(query)"})


def test_a_killed_job_goes_on_where_it_was(tmp_path):
    for number in range(1, 5):
        csv(tmp_path / "log", number)
    log = dataset(tmp_path / "log")
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path / "log"), str(tmp_path / "store")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    store = Store.open(tmp_path / "store")
    assert len(stored(store.path, "chunks")) == 2
    assert len(stored(store.path, "tmp")) == 1

    summary = run(store, log, KILLED_MODEL)
    columns = len(summary.plan.columns)
    assert (summary.ingested, summary.statistics, summary.partials) == (0, 0, 0)
    assert (summary.files, summary.plan.hits.computed) == (2, 2 * columns)

    undisturbed = Store.create(tmp_path / "undisturbed")
    other = run(undisturbed, log, KILLED_MODEL)
    assert stored(store.path, "chunks") == stored(undisturbed.path, "chunks")
    for chunk in current_manifest(log, store).chunks:
        identities = list(other.plan.columns)
        assert read_columns(store, chunk, identities) == read_columns(undisturbed, chunk, identities)
