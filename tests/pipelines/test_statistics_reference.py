"""Our statistics beside tensorflow-transform's, over the same values: one run of its own pipeline for all tests."""

import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from pipelines.accumulators import accumulator

ROOT = Path(__file__).parents[2]
CHUNKS = 7
BUCKETS = 8  # this and the parameters below as in tft_reference.py
EXACT_VALUES = 500
"""A sketch of this many values holds them all, whatever chunks they came in."""


@pytest.fixture(scope="module")
def columns():
    """Columns of the taxi log, and random ones: with ties, with NaN, and few enough for an exact sketch."""
    files = sorted((ROOT / "examples/taxi/data").glob("*.csv"))
    taxi = pa.concat_tables([pyarrow.csv.read_csv(file) for file in files], promote_options="permissive")
    rows = 2500
    taxi = taxi.select(["company", "trip_seconds"]).slice(0, rows)
    random = np.random.default_rng(7)
    words = [f"w{number}" for number in random.zipf(1.3, rows) % 300]
    words[:6] = ["", "é", "a b", "line\nbreak", "\r", "z" * 50]
    normal = random.normal(5, 3, rows).astype(np.float32)
    odd = normal[::-1].copy()
    odd[:4] = [np.nan, np.inf, -np.inf, np.nan]
    few = [float(value) if row % 5 == 0 else None for row, value in enumerate(normal)]
    assert 0 < len(few) - few.count(None) <= EXACT_VALUES
    return (
        taxi.append_column("word", pa.array(words))
        .append_column("odd", pa.array(odd))
        .append_column("few", pa.array(few, pa.float32()))
    )


@pytest.fixture(scope="module")
def reference(columns, tmp_path_factory):
    folder = tmp_path_factory.mktemp("reference")
    pq.write_table(columns, folder / "columns.parquet")
    script = Path(__file__).with_name("tft_reference.py")
    command = [sys.executable, str(script), folder / "columns.parquet", folder / "results.json", folder]
    run = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"})
    assert run.returncode == 0, run.stderr
    return json.loads((folder / "results.json").read_text())


def ours(column, kind, parameters, of_node):
    """The asset over the column, cut into chunks."""
    counter = accumulator(kind, 1, parameters)
    cuts = np.linspace(0, len(column), CHUNKS + 1).astype(int)
    partials = [counter.partial(column.slice(start, stop - start)) for start, stop in itertools.pairwise(cuts)]
    return counter.asset(counter.fold(partials), of_node)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("company", {"top_k": None, "min_count": 1}),
        ("trip_seconds", {"top_k": None, "min_count": 1}),
        ("word", {"top_k": 5, "min_count": 2}),
    ],
)
def test_vocabularies(columns, reference, name, parameters):
    found = ours(columns[name], "value_counts", {}, parameters)
    assert [value.hex() for value in found.values] == reference[f"{name}.vocabulary"]


def test_there_are_ties_to_be_ordered(columns):
    found = ours(columns["trip_seconds"], "value_counts", {}, {"top_k": None, "min_count": 1})
    assert len(set(found.counts)) <= len(found.counts) / 2


def test_moments_with_nan_and_infinities(columns, reference):
    found = ours(columns["odd"], "moments", {}, {})
    assert found.mean == pytest.approx(reference["odd.mean"][0], rel=1e-5)  # the reference computes in float32
    assert found.variance == pytest.approx(reference["odd.variance"][0], rel=1e-5)


def test_range(columns, reference):
    found = ours(columns["few"], "moments", {}, {})
    assert [found.minimum, found.maximum] == reference["few.minimum"] + reference["few.maximum"]


def test_quantiles_are_the_same_where_the_sketch_is_exact(columns, reference):
    found = ours(columns["few"], "quantiles", {"epsilon": 0.01}, {"n": BUCKETS})
    assert list(found.values) == reference["few.quantiles"]


def test_quantiles_are_within_the_rank_error_elsewhere(columns, reference):
    epsilon = 0.1
    values = columns["odd"].drop_null().to_numpy()
    values = np.sort(values[~np.isnan(values)])
    found = ours(columns["odd"], "quantiles", {"epsilon": epsilon}, {"n": BUCKETS})
    for boundaries in (found.values, reference["odd.quantiles"]):
        assert len(boundaries) == BUCKETS - 1
        for number, boundary in enumerate(boundaries, 1):
            wanted = number / BUCKETS
            low = np.searchsorted(values, boundary, "left") / len(values)
            high = np.searchsorted(values, boundary, "right") / len(values)
            assert low - epsilon <= wanted <= high + epsilon
