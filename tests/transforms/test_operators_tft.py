"""Statistics and how they are applied equal tensorflow-transform's, wherever it has the same."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import tensorflow as tf
import tensorflow_transform as tft
import tensorflow_transform.beam as tft_beam
from tensorflow_transform.tf_metadata import dataset_metadata, schema_utils

from transforms import operators
from transforms.assets import Asset, Boundaries, Moments, Vocabulary
from transforms.compiler import compile_nodes
from transforms.nodes import Node, raw
from transforms.operators import Literal
from transforms.types import ColumnType, DType

WORDS = ["b", "a", "é", "a", "c", "b", "a", "d", "Z", "e", "10", "9"]
NUMBERS = [5, -3, 5, 2**40, 7, -3, 5, 100, 7, 12, 0, 1]
FLOATS = [0.25, -1.5, 3.0, 3.0, 0.0, 1e6, -7.25, 2.0, 2.5, 9.0, -0.5, 4.0]
ROWS = {"word": WORDS, "number": NUMBERS, "float": FLOATS}


def preprocess(inputs: Mapping[str, Any]) -> dict[str, Any]:
    boundaries = tft.quantiles(inputs["float"], 4, epsilon=0.01)
    return {
        "word_ids": tft.compute_and_apply_vocabulary(inputs["word"], vocab_filename="words"),
        "word_top": tft.compute_and_apply_vocabulary(inputs["word"], top_k=3, num_oov_buckets=4, vocab_filename="top"),
        "number_ids": tft.compute_and_apply_vocabulary(
            inputs["number"], frequency_threshold=2, num_oov_buckets=5, vocab_filename="numbers"
        ),
        "zscore": tft.scale_to_z_score(inputs["float"]),
        "minmax": tft.scale_to_0_1(inputs["float"]),
        "quantile": tft.apply_buckets(inputs["float"], boundaries),
        "boundaries": tf.tile(boundaries, [tf.shape(inputs["float"])[0], 1]),
        "hash": tft.hash_strings(inputs["word"], 1000),
    }


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    kinds = {"word": tf.string, "number": tf.int64, "float": tf.float32}
    schema = schema_utils.schema_from_feature_spec(
        {name: tf.io.FixedLenFeature([], kind) for name, kind in kinds.items()}
    )
    rows = [dict(zip(ROWS, row, strict=True)) for row in zip(*ROWS.values(), strict=True)]
    work: Path = tmp_path_factory.mktemp("tft")
    with tft_beam.Context(temp_dir=str(work)):
        (transformed, _), _ = (rows, dataset_metadata.DatasetMetadata(schema)) | tft_beam.AnalyzeAndTransformDataset(
            preprocess
        )
    return {name: [row[name] for row in transformed] for name in transformed[0]}


def ranked(column: list[Any], top_k: int | None = None, min_count: int = 1) -> Vocabulary:
    counts = Counter(str(value).encode() for value in column)
    order = sorted(((count, value) for value, count in counts.items() if count >= min_count), reverse=True)[:top_k]
    return Vocabulary(tuple(value for _, value in order), tuple(count for count, _ in order))


@pytest.fixture(scope="module")
def ours(theirs: dict[str, list[Any]]) -> dict[str, list[Any]]:
    word, number = (raw(name, ColumnType(kind)) for name, kind in [("word", DType.STRING), ("number", DType.INT64)])
    real = raw("float", ColumnType(DType.FLOAT64))
    assets: dict[str, Asset] = {}

    def call(name: str, column: Node, asset: Asset | None, **parameters: Any) -> Node:
        node = operators.find(name).call([column], {key: Literal(value) for key, value in parameters.items()})
        if asset is not None:
            assets[node.inputs[-1].identity] = asset
        return node

    moments = Moments(len(FLOATS), float(np.mean(FLOATS)), float(np.var(FLOATS)), min(FLOATS), max(FLOATS))
    nodes = {
        "word_ids": call("vocab", word, ranked(WORDS)),
        "word_top": call("vocab", word, ranked(WORDS, top_k=3), top_k=3, oov=4),
        "number_ids": call("vocab", number, ranked(NUMBERS, min_count=2), min_count=2, oov=5),
        "zscore": call("zscore", real, moments),
        "minmax": call("minmax", real, moments),
        "quantile": call("quantiles", real, Boundaries(tuple(theirs["boundaries"][0].tolist())), n=4),
        "hash": call("hash", word, None, buckets=1000),
    }
    found = compile_nodes(nodes, assets).apply(pa.table(ROWS))
    return dict(found.to_pydict())


@pytest.mark.parametrize("name", ["word_ids", "word_top", "number_ids", "quantile", "hash"])
def test_ids_are_the_same(name: str, ours: dict[str, list[Any]], theirs: dict[str, list[Any]]) -> None:
    assert ours[name] == [int(value) for value in theirs[name]]


@pytest.mark.parametrize("name", ["zscore", "minmax"])
def test_values_are_as_close_as_float32_is(name: str, ours: dict[str, list[Any]], theirs: dict[str, list[Any]]) -> None:
    assert all(math.isclose(*pair, rel_tol=2e-6) for pair in zip(ours[name], theirs[name], strict=True))
