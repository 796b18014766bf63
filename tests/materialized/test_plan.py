from dataclasses import dataclass, field, replace
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from materialized import layout
from materialized.chunks import ChunkEntry, Manifest, write_manifest
from materialized.errors import FormatVersionError, MismatchError, NotAStoreError, ReadOnlyStoreError, SliceError
from materialized.groups import write_group
from materialized.inventory import Inventory
from materialized.missing import Lineage
from materialized.pins import Window, pin
from materialized.plan import BUNDLE_COLUMNS, make_plan
from materialized.read_only import look_at_store
from materialized.store import Store
from transforms.canonical import digest
from transforms.difference import Kind
from transforms.errors import GraphError
from transforms.nodes import Node, raw
from transforms.specs import DatasetSpec, EvaluateChunks, EvaluateHash, EvaluateTime
from transforms.types import ColumnType, DType, Shape

STRING = ColumnType(DType.STRING, nullable=True)
INT = ColumnType(DType.INT64)
LOG = DatasetSpec(name="clicks", path="clicks", format="parquet")


@dataclass(frozen=True)
class Model:
    """What a plan asks of a bound model."""

    name: str
    roles: dict
    spec: SimpleNamespace = field(default_factory=lambda: SimpleNamespace(place=None))

    def outputs(self):
        return self.roles


def op(operator, *inputs, version=1, **parameters):
    return Node(operator, version, parameters, inputs, INT)


def vocab(node, top_k=10):
    asset = ColumnType(DType.STRING, Shape.ASSET)
    return op("vocab", node, Node("vocabulary", 1, {"top_k": top_k}, (node,), asset, analyzer=True))


QUERY, DEVICE, PRICE = raw("query", STRING), raw("device", STRING), raw("price", STRING)
TOKENS, LOWER = op("tokens", QUERY), op("lower", DEVICE)
Q, P = op("hash", TOKENS, buckets=10), op("log1p", PRICE)
D, X = op("hash", LOWER, buckets=10), op("cross", TOKENS, LOWER)


def model(name, **features):
    return Model(name, {f"feature.{feature}": node for feature, node in features.items()})


def entry(name, content=None, ordinal=0, parts=1, **options):
    source_digest = digest(content or name)
    chunk = digest({"source": source_digest, "ordinal": ordinal, "parts": parts, **options})
    return ChunkEntry(chunk, f"{name}.parquet", source_digest, ordinal, parts, rows=10, row_groups=(0,))


def manifest(*entries):
    return Manifest("clicks", tuple(entry(e) if isinstance(e, str) else e for e in entries))


def plan_for(store, entries, *models, **options):
    return make_plan(models, LOG, manifest(*entries), store, **options)


def compute(store, plan):
    """Leaves in ``store`` what a plan finds after a job: descriptors, names of files, the pin, the manifest."""
    written = {}
    for chunk in plan.missing:
        for group in plan.groups_for(chunk):
            write_group(store, plan.descriptor(group))
            store.write_once(layout.chunk_file(chunk, plan.descriptor(group).group, "parquet"), b"rows")
            written.setdefault(chunk, []).append(set(group))
    pin(store, plan.dataset, plan.window)
    write_manifest(store, plan.manifest)
    return written


@pytest.fixture
def store(tmp_path):
    return Store.create(tmp_path / "store")


def kinds(plan):
    return {reason.kind for reason in plan.reasons.values()}


def test_without_a_store_everything_is_missing_and_the_reason_says_so():
    plan = plan_for(None, ["a", "b"], model("m", q=Q, p=P))
    assert {chunk: set(columns) for chunk, columns in plan.missing.items()} == {
        entry("a").chunk: {Q.identity, P.identity},
        entry("b").chunk: {Q.identity, P.identity},
    }
    assert len(plan.reasons) == 4
    assert kinds(plan) == {Kind.NEW_STORE}
    assert plan.window == Window(1, tuple(plan.manifest.chunks))


def test_a_column_that_k_models_share_hits_all_but_once(store):
    plan = plan_for(store, ["a", "b"], *(model(f"m{i}", **{f"q{i}": Q}) for i in range(4)))
    assert (plan.hits.requested, plan.hits.computed, plan.hits.rate) == (8, 2, 1 - 1 / 4)
    compute(store, plan)
    again = plan_for(store, ["a", "b"], *(model(f"m{i}", renamed=Q) for i in range(4)))
    assert (again.hits.computed, again.hits.rate, again.complete) == (0, 1.0, True)


def test_two_names_for_one_column_in_a_model_are_one_request(store):
    plan = plan_for(store, ["a"], model("m", one=Q, two=Q))
    assert plan.hits.requested == 1
    assert plan.columns[Q.identity].labels == ("m.feature.one", "m.feature.two")
    assert plan.column("m", "feature.two") == plan.columns[Q.identity]


def test_two_equal_files_are_two_entries_and_one_chunk(store):
    plan = plan_for(store, [entry("a", "same"), entry("b", "same")], model("m", q=Q))
    assert len(plan.manifest.entries) == 2
    assert (len(plan.missing), plan.hits.requested) == (1, 1)


def test_the_worked_case(store):
    def a(**more):
        return model("a", q=Q, p=P, **more)

    b = model("b", q=Q, d=D)
    first = plan_for(store, ["1", "2"], a(), b)
    assert set(compute(store, first)) == {entry("1").chunk, entry("2").chunk}

    with_x = plan_for(store, ["1", "2"], a(x=X), b)
    assert compute(store, with_x) == {entry(name).chunk: [{X.identity}] for name in "12"}

    third = plan_for(store, ["1", "2", "3"], a(x=X), b)
    assert compute(store, third) == {entry("3").chunk: [{node.identity for node in (Q, P, D, X)}]}

    dropped = plan_for(store, ["1", "2", "3"], a(), b)
    assert dropped.complete
    fourth = plan_for(store, ["1", "2", "3", "4"], a(), b)
    assert compute(store, fourth) == {entry("4").chunk: [{node.identity for node in (Q, P, D)}]}

    back = plan_for(store, ["1", "2", "3", "4"], a(x=X), b)
    assert dict(back.missing) == {entry("4").chunk: (X.identity,)}
    assert kinds(back) == {Kind.NOT_COMPUTED}
    inventory = Inventory(store)
    assert X.identity in inventory.files(entry("1").chunk)
    assert X.identity not in inventory.files(entry("4").chunk)


@pytest.mark.parametrize(
    ("change", "kind", "text"),
    [
        (op("hash", TOKENS, buckets=20), Kind.CHANGED_PARAMETER, "hash.buckets: 10 -> 20"),
        (op("hash", TOKENS, buckets=10, version=2), Kind.OPERATOR_VERSION, "hash: version 1 -> 2"),
        (op("hash", op("tokens", DEVICE), buckets=10), Kind.OTHER_RAW_COLUMN, "raw column query -> device"),
        (op("hash", op("bigrams", TOKENS), buckets=10), Kind.NEW_OPERATOR, "bigrams around tokens(query)"),
    ],
)
def test_a_changed_feature_is_explained_by_what_changed(store, change, kind, text):
    compute(store, plan_for(store, ["a", "b"], model("m", q=Q, p=P)))
    plan = plan_for(store, ["a", "b"], model("m", q=change, p=P))
    assert set(plan.reasons) == {(change.identity, entry("a").chunk), (change.identity, entry("b").chunk)}
    found = {(reason.kind, reason.text, reason.like) for reason in plan.reasons.values()}
    assert found == {(kind, text, "m.feature.q")}


@pytest.mark.parametrize(
    ("before", "now", "kind", "text"),
    [
        (["a"], ["a", "b"], Kind.NEW_CHUNK, "b.parquet is new in clicks"),
        (["a", "b"], ["a", entry("b", "c")], Kind.CHANGED_CHUNK, f"was {digest('b')[:12]}…, is now {digest('c')[:12]}"),
        (["a", "b"], ["a", entry("b", schema="new")], Kind.RAW_SCHEMA, "the schema of clicks, or how it is read"),
        (["a", "b"], ["a", entry("b", ordinal=1, parts=3)], Kind.CHANGED_CHUNK, "chunk_bytes of clicks changed"),
    ],
)  # fmt: skip
def test_a_chunk_without_columns_is_explained_by_its_file(store, before, now, kind, text):
    compute(store, plan_for(store, before, model("m", q=Q)))
    plan = plan_for(store, now, model("m", q=Q))
    ((pair, reason),) = plan.reasons.items()
    assert pair == (Q.identity, plan.manifest.entries[1].chunk)
    assert reason.kind is kind
    assert text in reason.text
    assert reason.symbol


def test_a_moved_file_hits(store):
    compute(store, plan_for(store, ["a"], model("m", q=Q)))
    assert plan_for(store, [entry("elsewhere", "a")], model("m", q=Q)).complete


def test_a_chunk_that_lost_its_files_says_so(store):
    compute(store, plan_for(store, ["a", "b"], model("m", q=Q)))
    for path in (store.files.root / layout.chunk_files(entry("b").chunk)).iterdir():
        path.unlink()
    plan = plan_for(store, ["a", "b"], model("m", q=Q))
    ((_, reason),) = plan.reasons.items()
    assert (reason.kind, reason.symbol) == (Kind.LOST, "b.parquet")


def test_a_new_window_recomputes_only_what_depends_on_statistics(store):
    v = vocab(QUERY)
    first = plan_for(store, ["a"], model("m", q=Q, v=v))
    compute(store, first)
    # Pinned: more chunks change no identity.
    grown = plan_for(store, ["a", "b"], model("m", q=Q, v=v))
    assert grown.window == first.window
    assert set(grown.missing) == {entry("b").chunk}
    refreshed = plan_for(store, ["a"], model("m", q=Q, v=v), window=Window(2, (entry("b").chunk,)))
    ((pair, reason),) = refreshed.reasons.items()
    assert pair[0] == refreshed.identities[v.identity] != first.identities[v.identity]
    assert reason.kind is Kind.NEW_WINDOW
    assert "generation 1 -> 2 of the statistics of clicks: vocabulary(query, top_k=10)" in reason.text


def test_what_analyzers_find_is_missing_until_it_is_stored(store):
    v = vocab(QUERY)
    plan = plan_for(store, ["a"], model("m", v=v))
    ((identity, node),) = plan.missing_assets.items()
    assert (identity, node) == (plan.identities[v.inputs[1].identity], v.inputs[1])
    compute(store, plan)
    assert not plan_for(store, ["a"], model("m", v=v)).complete


@pytest.mark.parametrize(
    ("evaluate", "seen"),
    [
        (EvaluateChunks("1:"), "1 of 2 (evaluate: chunks '1:'"),
        (EvaluateTime(150), "1 of 2 (evaluate: time since 150"),
        (EvaluateTime("1970-01-01T00:02:30Z"), "1 of 2 (evaluate: time since 1970-01-01T00:02:30Z"),
        (EvaluateChunks("2:"), None),
        (EvaluateTime(200), None),
        (EvaluateTime("1970-01-02"), None),
        (EvaluateHash(0.1), None),
        (None, None),
    ],
)
def test_statistics_over_what_is_held_out_are_warned_of(evaluate, seen):
    entries = [replace(entry(name), time_range=(time, time + 99)) for name, time in (("a", 0), ("b", 100), ("c", 200))]
    dataset = replace(LOG, statistics=":2")
    spec = SimpleNamespace(place=None, train=SimpleNamespace(evaluate=evaluate))
    models = [replace(model("m", v=vocab(QUERY)), spec=spec), replace(model("n", q=Q), spec=spec)]
    found = make_plan(models, dataset, manifest(*entries), None).warnings
    warnings = [text for text in found if "is evaluated on nothing" not in text]
    assert len(warnings) == (seen is not None)
    assert all(f"model 'm' is evaluated on chunks that its statistics have seen: {seen}" in text for text in warnings)


@pytest.mark.parametrize(
    ("evaluate", "text"),
    [
        (EvaluateChunks("2:"), "chunks '2:'"),
        (EvaluateTime(200), "time since 200"),
        (EvaluateTime("1970-01-02"), "time since 1970-01-02"),
        (EvaluateChunks("1:"), None),
        (EvaluateTime(199), None),
        (EvaluateHash(0.1), None),
        (None, None),
    ],
)
def test_that_nothing_is_held_out_is_warned_of(evaluate, text):
    entries = [replace(entry(name), time_range=(time, time + 99)) for name, time in (("a", 0), ("b", 100))]
    spec = SimpleNamespace(place=None, train=SimpleNamespace(evaluate=evaluate))
    bound = replace(model("n", q=Q), spec=spec)
    expected = f"model 'n' is evaluated on nothing: of the log's chunks (2) none is held out (evaluate: {text})"
    assert make_plan([bound], LOG, manifest(*entries), None).warnings == ((expected,) if text else ())
    if isinstance(evaluate, EvaluateTime):
        # Where a file does not say its times, nothing is claimed.
        assert make_plan([bound], LOG, manifest(*entries, entry("c")), None).warnings == ()


def test_a_window_without_chunks_is_refused_where_statistics_are_needed():
    dataset = replace(LOG, statistics="2:")
    with pytest.raises(SliceError, match=r"dataset 'clicks': expected chunks .* none of the 1 in the slice '2:'"):
        make_plan([model("m", v=vocab(QUERY))], dataset, manifest("a"), None)
    assert make_plan([model("m", q=Q)], dataset, manifest("a"), None).missing


@settings(max_examples=30)
@given(st.lists(st.integers(1, 2 * BUNDLE_COLUMNS), min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_write_groups_partition_what_is_missing(sizes, rng):
    features = {}
    for part, size in enumerate(sizes):
        stem = op("lower", raw(f"c{part}", STRING))
        features |= {f"f{part}_{i}": op("hash", stem, buckets=i + 1) for i in range(size)}
    names = list(features)
    rng.shuffle(names)
    plan = plan_for(None, ["a"], model("m", **{name: features[name] for name in names}), model("n", raw=QUERY))
    groups = plan.groups_for(entry("a").chunk)
    assert sorted(identity for group in groups for identity in group) == list(plan.missing[entry("a").chunk])
    assert sum(len(group) < BUNDLE_COLUMNS for group in groups) <= 1
    for part, size in enumerate(sizes):
        together = {features[f"f{part}_{i}"].identity for i in range(size)}
        assert sum(bool(together.intersection(group)) for group in groups) == 1
    same = plan_for(None, ["a"], model("m", **features), model("n", raw=QUERY))
    assert same.groups_for(entry("a").chunk) == groups
    assert plan.groups_for("no such chunk") == ()


def test_a_lineage_comes_back_and_a_damaged_one_is_refused(store):
    plan = plan_for(store, ["a"], model("m", q=Q, v=vocab(QUERY)))
    descriptor = plan.descriptor(plan.groups_for(entry("a").chunk)[0])
    lineage = Lineage.from_text(descriptor.subgraph)
    assert lineage.to_text() == descriptor.subgraph
    assert {lineage.graph.node(node) for node in lineage.nodes.values()} == {Q, vocab(QUERY)}
    with pytest.raises(GraphError, match="expected the lineage"):
        Lineage.from_text('{"graph": 1}')
    write_group(store, replace(descriptor, subgraph="nonsense"))
    with pytest.raises(MismatchError, match="its lineage is damaged"):
        plan_for(store, ["a"], model("m", q=Q))


def test_looking_at_a_store_changes_nothing_in_it(tmp_path):
    assert look_at_store(str(tmp_path / "absent")) is None
    assert not (tmp_path / "absent").exists()
    (tmp_path / "empty").mkdir()
    assert look_at_store(str(tmp_path / "empty")) is None
    Store.create(tmp_path / "store")
    looked_at = look_at_store(str(tmp_path / "store"))
    assert not looked_at.writable
    with pytest.raises(ReadOnlyStoreError, match="opened for reading only"):
        looked_at.write_once("key", b"")
    assert {path.name for path in (tmp_path / "store").iterdir()} - {layout.TEMPORARY} == {layout.STORE_FILE}


def test_what_is_no_store_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "notes").write_text("")
    for name in ("file", "folder"):
        with pytest.raises(NotAStoreError, match=name):
            look_at_store(str(tmp_path / name))
    for name, found in {"file/store": f"found a file at {tmp_path / 'file'}", "link": "found a symbolic link"}.items():
        (tmp_path / "link").unlink(missing_ok=True)
        (tmp_path / "link").symlink_to("nothing")
        for look in (look_at_store, Store.create):
            with pytest.raises(NotAStoreError, match=found):
                look(str(tmp_path / name))
    (tmp_path / "folder" / layout.STORE_FILE).write_text('{"format": 99}')
    with pytest.raises(FormatVersionError, match="99"):
        look_at_store(str(tmp_path / "folder"))
