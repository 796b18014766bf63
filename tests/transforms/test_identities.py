"""Identities name what is stored: they may change only when a column's values do."""

import json
import os
import subprocess
import sys
from pathlib import Path

from transforms.binding import bind
from transforms.nodes import CONSTANT, Node, raw
from transforms.schema import parse_schema
from transforms.spec_files import load_model
from transforms.types import ColumnType, DType

ROOT = Path(__file__).parents[2]

SPEC = """
model: golden
let:
  words: tokens(lower(query))
features:
  words: {ids: "hash(words, 1_000)", table: words}
  pair:  {ids: "hash(cross(words, device), 500)", table: words}
  price: {dense: "zscore(log1p(fill(price, 0)))"}
tables:
  words: {dim: 4}
label: click
weight: 1 / n
filter: country in ['US', 'CA']
train: {evaluate: {hash: {fraction: 0.5, by: device}}}
"""

SCHEMA = {
    "query": "string",
    "device": "string not null",
    "price": "float64",
    "click": "bool not null",
    "n": "int64 not null",
    "country": "string",
}

GOLDEN = {
    "feature.words": "2c782502367364e1a65b0472b6b1efdb959e4c7bde9996f1155da38ce7f14c3b",
    "feature.pair": "23c49adb01df48b877e044aae5c141662e792cfd589fc59d63d91c9a6b88434b",
    "feature.price": "cea13c1171555fb5ee80b378fcd2d2846f3b4a76304cf0a0a9749575d0af1a26",
    "label": "8963557f002e90fe8e9a688e6199efad43392155b791f1dee9080aeedbd1c1d8",
    "weight": "a7be11ff6405b0bd413653efb61ee52e3dabaca1b393755007fdfe62f6479aec",
    "filter": "a69188260780fca9f0d454198c99564857012a4b7ca0bb373b7e3a501b9723e5",
    "split": "cf3bda2de1640d59bc98f6675ea27c11c36b7d244f06d40885c51444107f28f8",
}

PROGRAM = """
import json, sys
from transforms.binding import bind
from transforms.schema import parse_schema
from transforms.spec_files import load_model

schema = parse_schema(json.loads(sys.argv[2]))
print(json.dumps({role: node.identity for role, node in bind(load_model(sys.argv[1]), schema).outputs().items()}))
loaded = {name.split(".")[0] for name in sys.modules}
assert not loaded & {"tensorflow", "apache_beam", "keras"}, loaded
"""


def identities(path, schema):
    return {role: node.identity for role, node in bind(load_model(path), parse_schema(schema)).outputs().items()}


def test_golden_identities(tmp_path):
    path = tmp_path / "golden.yaml"
    path.write_text(SPEC)
    assert identities(path, SCHEMA) == GOLDEN


def test_identities_are_the_same_in_every_process(tmp_path):
    (tmp_path / "golden.yaml").write_text(SPEC)
    other = tmp_path / "elsewhere"
    other.mkdir()
    backwards = json.dumps(dict(reversed(SCHEMA.items())))
    for seed, directory, schema in (("0", tmp_path, json.dumps(SCHEMA)), ("4242", other, backwards)):
        path = os.path.relpath(tmp_path / "golden.yaml", directory)
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
        run = subprocess.run(
            [sys.executable, "-c", PROGRAM, path, schema],
            cwd=directory,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert run.returncode == 0, run.stderr
        assert json.loads(run.stdout) == GOLDEN


def test_a_raw_column_is_its_name_and_type():
    nodes = [
        raw("a", ColumnType(DType.INT64)),
        raw("b", ColumnType(DType.INT64)),
        raw("a", ColumnType(DType.INT64, nullable=True)),
        raw("a", ColumnType(DType.FLOAT64)),
    ]
    assert len({node.identity for node in nodes}) == len(nodes)
    assert nodes[0].identity == "5bc1bd3ef7e7c0b06aefc71a4d574db7ffa54cdf15babec11a7b0142188ba93b"


def test_parameters_versions_and_the_order_of_inputs_are_part_of_an_identity():
    number = ColumnType(DType.FLOAT64)
    a, b = raw("a", number), raw("b", number)
    values = [1, "1", 1.0, True, None, float("nan"), (1,), ((1,),), "None", b"1", -0.0, 0.0]
    nodes = [Node(CONSTANT, 1, {"value": value}, (), number) for value in values]
    nodes += [Node("f", 1, {}, inputs, number) for inputs in ((), (a,), (b,), (a, b), (b, a), (a, a))]
    nodes += [Node("f", 2, {}, (a,), number), Node("g", 1, {}, (a,), number), Node("f", 1, {"x": 1}, (a,), number)]
    assert len({node.identity for node in nodes}) == len(nodes)
