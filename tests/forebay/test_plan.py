import base64
import hashlib
import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forebay.graph_layout import lay_out
from forebay.main import main
from forebay.wording import percent
from materialized import layout as store_layout
from materialized.chunks import write_manifest
from materialized.groups import write_group
from materialized.pins import pin
from materialized.store import Store
from tests.commands import ROOT
from transforms.graph import FeatureGraph
from transforms.nodes import CONSTANT, Node, raw
from transforms.types import ColumnType, DType

DATASET = """
dataset: rides
path: rides-*.csv
format: csv
statistics: ":1"
schema: {fare: float64, tips: float64, company: string, area: int64}
"""

COMMON = """
features:
  company: {ids: "vocab(lower(company), min_count=2)", table: company}
  area:    {ids: "hash(area, 100)", table: area}
  fare:    {dense: "zscore(log1p(fill(fare, 0)))"}
tables: {company: {dim: 4}, area: {dim: 4}}
label: tips > 0
"""


@pytest.fixture
def rides(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    Path("dataset.yaml").write_text(DATASET)
    Path("common.yaml").write_text(COMMON)
    Path("one.yaml").write_text("model: one\ninclude: [common.yaml]\n")
    Path("two.yaml").write_text("model: two\ninclude: [common.yaml]\nfilter: \"company == '<b>A & B</b>'\"\n")
    for number in (1, 2):
        Path(f"rides-{number}.csv").write_text(f"fare,tips,company,area\n{number},0,A,1\n5,1,B,2\n")
    return tmp_path


def plan(capsys, *words, models=("one.yaml", "two.yaml"), code=0):
    found = main(["plan", *models, "--data", "dataset.yaml", "--store", "store", *words])
    captured = capsys.readouterr()
    assert found == code, captured
    return captured.out if code == 0 else captured.err


def plan_json(capsys, **options):
    plan(capsys, "--json", "plan.json", **options)
    return json.loads(Path("plan.json").read_text())


def compute(models=("one.yaml", "two.yaml")):
    """Leaves in the store what a plan finds after a job: descriptors, names of files, the pin, the manifest."""
    from forebay.project import open_project

    project = open_project(models, "dataset.yaml", "store", create=True)
    store, made = project.store, project.plan
    for chunk in made.missing:
        for group in made.groups_for(chunk):
            write_group(store, made.descriptor(group))
            store.write_once(store_layout.chunk_file(chunk, made.descriptor(group).group, "parquet"), b"rows")
    pin(store, made.dataset, made.window)
    write_manifest(store, made.manifest)


def reasons(content):
    return {
        (label, missing["kind"], missing["text"], len(missing["chunks"]))
        for column in content["columns"]
        for missing in column["missing"]
        for label in column["labels"]
    }


def files(directory):
    return {path: path.stat().st_mtime_ns for path in Path(directory).rglob("*") if path.is_file()}


def test_a_store_that_does_not_exist_yet_lacks_everything_and_is_not_made(rides, capsys):
    said = plan(capsys)
    assert "hits 44.4 %: 18 (model, column, chunk) asked for, 10 (column, chunk) to compute" in said
    assert re.search(
        r"all 5 columns\s+new store: nothing is in the store yet: there is none at this path\s+2 of 2", said
    )
    assert re.search(r"2 models merged\s+6 ", said)
    assert not Path("store").exists()


def test_a_full_store_hits_everything_and_is_not_touched(rides, capsys):
    compute()
    before = files("store")
    said = plan(capsys, "--html", "plan.html", "--json", "plan.json")
    assert "hits 100 %" in said
    assert "Missing" not in said
    assert files("store") == before
    assert not list(Path("store", "tmp").glob("*"))


def test_json_says_everything(rides, capsys):
    content = plan_json(capsys)
    assert content["hits"] == {"requested": 18, "computed": 10, "rate": 8 / 18}
    assert [model["model"] for model in content["models"]] == ["one", "two"]
    assert [Path(chunk["source"]).name for chunk in content["dataset"]["chunks"]] == ["rides-1.csv", "rides-2.csv"]
    assert content["window"]["chunks"] == [content["dataset"]["chunks"][0]["chunk"]]
    graph = FeatureGraph.from_json(content["graph"])
    assert len(graph) == content["total"]["nodes"] < content["total"]["nodes_before_merging"]
    assert [part["identity"] for part in content["components"]] == [part.identity for part in graph.components()]
    assert {tuple(column["labels"]) for column in content["columns"]} == {
        *((f"one.{role}", f"two.{role}") for role in ("feature.area", "feature.company", "feature.fare", "label")),
        ("two.filter",),
    }
    assert [statistic["there"] for statistic in content["statistics"]] == [False, False]
    assert content["warnings"] == []


def test_a_changed_parameter_is_named(rides, capsys):
    compute()
    Path("two.yaml").write_text(
        "model: two\ninclude: [common.yaml]\nfeatures:\n  area: {ids: 'hash(area, 200)', table: area}\n"
    )
    assert reasons(plan_json(capsys)) == {
        ("two.feature.area", "changed parameter", "hash.buckets: 100 -> 200", 2),
    }
    said = plan(capsys)
    assert re.search(r"area \(two\)\s+changed parameter: hash.buckets: 100 -> 200 \(compared with", said)


def test_new_operators_features_and_files_are_named(rides, capsys):
    compute()
    Path("rides-3.csv").write_text("fare,tips,company,area\n1,0,A,1\n")
    Path("one.yaml").write_text(
        "model: one\ninclude: [common.yaml]\nfeatures:\n"
        "  fare: {dense: 'zscore(sqrt(fill(fare, 0)))'}\n  tips: {dense: 'is_missing(tips)'}\n"
    )
    found = reasons(plan_json(capsys, models=["one.yaml"]))
    assert ("one.feature.fare", "new operator", "log1p -> sqrt", 3) in found
    assert ("one.feature.tips", "new operator", "no stored column uses is_missing", 3) in found
    new = {(label, text) for label, kind, text, chunks in found if (kind, chunks) == ("new chunk", 1)}
    assert {label for label, _ in new} == {"one.feature.area", "one.feature.company", "one.label"}
    assert all("rides-3.csv" in text for _, text in new)


def test_changed_files_and_schemas_are_named(rides, capsys):
    compute()
    Path("rides-2.csv").write_text("fare,tips,company,area\n7,0,A,1\n")
    changed = reasons(plan_json(capsys, models=["one.yaml"]))
    assert {(kind, chunks) for _, kind, _, chunks in changed} == {("changed chunk", 1)}
    assert all(re.search(r"rides-2.csv was [0-9a-f]{12}…, is now [0-9a-f]{12}…", text) for _, _, text, _ in changed)
    compute()
    Path("dataset.yaml").write_text(DATASET.replace("area: int64", "area: string"))
    by_label = {label: (kind, text) for label, kind, text, _ in reasons(plan_json(capsys, models=["one.yaml"]))}
    assert by_label["one.feature.area"] == (
        "changed raw schema",
        "raw column area: nullable int64 -> nullable string",
    )
    assert by_label["one.label"][0] == "changed raw schema"


def test_statistics_that_saw_what_a_model_is_evaluated_on_are_warned_of(rides, capsys):
    Path("one.yaml").write_text("model: one\ninclude: [common.yaml]\ntrain: {evaluate: {chunks: '0:1'}}\n")
    assert "warning: model 'one' is evaluated on chunks that its statistics have seen: 1 of 1" in plan(capsys)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda: Path("one.yaml").unlink(), "one.yaml"),
        (lambda: Path("dataset.yaml").unlink(), "dataset.yaml"),
        (lambda: Path("one.yaml").write_text("model: [\n"), "one.yaml:"),
        (lambda: Path("one.yaml").write_text("model: one\ninclude: [common.yaml]\nlabel: tip > 0\n"), "mean 'tips'"),
        (lambda: Path("two.yaml").write_text("model: one\ninclude: [common.yaml]\n"), "'one'"),
        (lambda: [path.unlink() for path in Path().glob("*.csv")], "rides-*.csv"),
        (lambda: Path("store").write_text("text"), "store: expected a store, found a file"),
        (lambda: (Path("store").mkdir(), Path("store/x").write_text("")), "store"),
        (lambda: (Store.create("store"), _write_format(99)), "99"),
    ],
    ids=["no model", "no dataset", "bad YAML", "unknown column", "one name", "no data", "file", "folder", "format"],
)  # fmt: skip
def test_mistakes_end_with_2_and_name_the_place(spoil, message, rides, capsys):
    spoil()
    said = plan(capsys, "--html", "plan.html", "--json", "plan.json", code=2)
    assert message in said
    assert "Traceback" not in said
    assert not Path("plan.html").exists()
    assert not Path("plan.json").exists()


def _write_format(version):
    path = Path("store", store_layout.STORE_FILE)
    path.unlink()
    path.write_text(json.dumps({"format": version}))


@pytest.mark.parametrize("option", ["--html", "--json"])
def test_a_file_that_cannot_be_written_is_told_before_the_work(option, rides, capsys):
    assert "no/such/plan: expected a file in a directory" in plan(capsys, option, "no/such/plan", code=2)


def test_planning_loads_neither_tensorflow_nor_beam(rides):
    script = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from forebay.main import main
words = ["one.yaml", "two.yaml", "--data", "dataset.yaml", "--store", "store", "--html", "a", "--json", "b"]
code = main(["plan", *words])
heavy = ["tensorflow", "keras", "apache_beam", "tensorflow_transform", "tfx_bsl", "pandas", "pyarrow.dataset"]
print(code, [name for name in heavy if name in sys.modules])
"""
    ran = subprocess.run([sys.executable, "-c", script], cwd=rides, capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == "0 []", ran.stdout + ran.stderr


class Page(HTMLParser):
    """What is in a page: elements, their attributes, the texts of scripts and styles, all other text."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.inside, self.raw, self.text = [], None, {"script": [], "style": []}, ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self.inside = tag

    def handle_endtag(self, tag):
        self.inside = None

    def handle_data(self, data):
        if self.inside in self.raw:
            self.raw[self.inside].append(data)
        else:
            self.text += data


def test_the_page_needs_nothing_but_itself_and_escapes_what_it_shows(rides, capsys):
    plan(capsys, "--html", "plan.html")
    page = Page(Path("plan.html").read_text())
    for tag, attributes in page.elements:
        assert not attributes.keys() & {"src", "href", "style", "srcset"}, (tag, attributes)
        assert not any(name.startswith("on") for name in attributes)
        assert tag not in ("link", "img", "iframe", "object", "form", "base")
    assert "<b>A & B</b>" in page.text
    assert "<b>A" not in Path("plan.html").read_text()
    facts, script = page.raw["script"]
    assert "filter" in {fact[0] for fact in json.loads(facts).values()}
    policy = next(attributes["content"] for tag, attributes in page.elements if "http-equiv" in attributes)
    for text in (script, page.raw["style"][0]):
        assert "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() in policy


def test_the_page_shows_every_node_and_column(rides, capsys):
    content = plan_json(capsys)
    plan(capsys, "--html", "plan.html")
    page = Page(Path("plan.html").read_text())
    drawn = [attributes for tag, attributes in page.elements if tag == "g"]
    literals = sum(node["operator"] == CONSTANT for node in content["graph"]["nodes"])
    assert len(drawn) == len(content["graph"]["nodes"]) - literals + len(content["columns"])
    assert sum("analyzer" in attributes["class"] for attributes in drawn) == len(content["statistics"])
    keys = {attributes["id"] for attributes in drawn}
    edges = [attributes for tag, attributes in page.elements if attributes.get("class") == "edge"]
    assert edges
    assert all({edge["data-from"], edge["data-to"]} <= keys for edge in edges)


INT = ColumnType(DType.INT64)


@st.composite
def graphs(draw):
    nodes = [raw(f"column{i}", INT) for i in range(draw(st.integers(1, 4)))]
    nodes.append(Node(CONSTANT, 1, {"value": 0}, (), INT))
    for number in range(draw(st.integers(0, 14))):
        inputs = draw(st.lists(st.sampled_from(nodes), min_size=1, max_size=3))
        nodes.append(Node("f", 1, {"n": number}, tuple(inputs), INT))
    chosen = draw(st.lists(st.sampled_from(nodes), min_size=1, max_size=5))
    return FeatureGraph({("m", f"feature.f{i}"): node for i, node in enumerate(chosen)})


@settings(max_examples=40)
@given(graphs())
def test_a_drawing_shows_everything_from_left_to_right_and_nothing_twice_in_one_place(graph):
    drawing = lay_out(graph)
    assert set(drawing.nodes) == {node.identity for node in graph.nodes if node.operator != CONSTANT}
    assert set(drawing.outputs) == {node.identity for node in graph.outputs.values()}
    boxes = [*drawing.nodes.values(), *drawing.outputs.values()]
    for index, box in enumerate(boxes):
        assert 0 <= box.x <= box.x + box.width <= drawing.width
        assert 0 <= box.y - box.height / 2 <= box.y + box.height / 2 <= drawing.height
        for other in boxes[index + 1 :]:
            beside = box.x + box.width <= other.x or other.x + other.width <= box.x
            assert beside or abs(box.y - other.y) >= box.height
    for edge in drawing.edges:
        xs = [x for x, _ in edge.points]
        assert xs == sorted(xs)
    lines = {(edge.source, edge.target) for edge in drawing.edges}
    used = {(inner.identity, node.identity) for node in graph.nodes for inner in node.inputs}
    assert {(s, t) for s, t in lines if t is not None} == {(s, t) for s, t in used if s in drawing.nodes}
    frames = [box for _, box in drawing.components]
    for above, below in pairwise(frames):
        assert above.y + above.height / 2 <= below.y - below.height / 2 + 1e-6


@pytest.mark.parametrize(
    ("rate", "text"), [(1.0, "100 %"), (0.0, "0 %"), (0.9999, "99.9 %"), (0.00001, "0.1 %"), (0.7447, "74.5 %")]
)
def test_a_share_is_all_or_nothing_only_when_it_is(rate, text):
    assert percent(rate) == text
