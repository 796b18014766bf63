"""Runs tensorflow-transform's analyzers over a Parquet file, in a process of its own: its warnings are not ours.

``python tft_reference.py COLUMNS.parquet RESULTS.json WORKDIR``. What is computed of which column stands below.
"""

import json
import sys

import apache_beam as beam
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import tensorflow as tf
import tensorflow_transform as tft
import tensorflow_transform.beam as tft_beam
from apache_beam.options.pipeline_options import PipelineOptions
from tensorflow_transform.tf_metadata import dataset_metadata, schema_utils

VOCABULARIES = {"company": {}, "trip_seconds": {}, "word": {"top_k": 5, "frequency_threshold": 2}}
MOMENTS = ("odd",)
RANGES = ("few",)
QUANTILES = {"odd": 0.1, "few": 0.01}
"""Columns, each with the epsilon of its sketch."""
BUCKETS = 8


def run(columns, results, workdir):
    table = pq.read_table(columns)
    dtypes = {
        field.name: tf.string
        if pa.types.is_string(field.type)
        else tf.int64
        if pa.types.is_integer(field.type)
        else tf.float32
        for field in table.schema
    }

    def preprocess(inputs):
        for name, parameters in VOCABULARIES.items():
            tft.vocabulary(inputs[name], vocab_filename=name, **parameters)
        found = {}
        for name in MOMENTS:
            found |= {f"{name}.mean": tft.mean(inputs[name]), f"{name}.variance": tft.var(inputs[name])}
        for name in RANGES:
            found |= {f"{name}.minimum": tft.min(inputs[name]), f"{name}.maximum": tft.max(inputs[name])}
        for name, epsilon in QUANTILES.items():
            found[f"{name}.quantiles"] = tft.quantiles(inputs[name].values, BUCKETS, epsilon)
        column = tf.ones([inputs["word"].dense_shape[0], 1])
        return {name: column * tf.cast(value, tf.float32) for name, value in found.items()}

    rows = [{name: [] if value is None else [value] for name, value in row.items()} for row in table.to_pylist()]
    spec = {name: tf.io.VarLenFeature(dtype) for name, dtype in dtypes.items()}
    metadata = dataset_metadata.DatasetMetadata(schema_utils.schema_from_feature_spec(spec))
    with beam.Pipeline("FnApiRunner", PipelineOptions([])) as pipeline, tft_beam.Context(temp_dir=f"{workdir}/tmp"):
        transform = (pipeline | beam.Create(rows), metadata) | tft_beam.AnalyzeDataset(preprocess)
        transform | tft_beam.WriteTransformFn(f"{workdir}/transform")

    found = tft.TFTransformOutput(f"{workdir}/transform")
    empty = {
        name: tf.sparse.from_dense(tf.zeros([1, 0], dtype)) for name, dtype in dtypes.items() if dtype != tf.string
    }
    empty |= {name: tf.sparse.from_dense(tf.constant([], tf.string, [1, 0])) for name in dtypes if name not in empty}
    values = {name: np.ravel(value).tolist() for name, value in found.transform_raw_features(empty).items()}
    for name in VOCABULARIES:
        values[f"{name}.vocabulary"] = [token.hex() for token in found.vocabulary_by_name(name)]
    with open(results, "w") as file:
        json.dump(values, file)


if __name__ == "__main__":
    run(*sys.argv[1:])
