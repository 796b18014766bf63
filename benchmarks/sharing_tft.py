"""The peer of `benchmarks.sharing`: one taxi model's features by tensorflow-transform alone, as a process of its own.

``python -m benchmarks.sharing_tft MODEL DATA OUTPUT`` analyzes the first seven files of DATA and writes the transformed
features of all of them. What a preprocessing function computes was written by hand after examples/taxi/models.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import apache_beam as beam
import pyarrow as pa
import pyarrow.parquet as pq
import tensorflow as tf
import tensorflow_transform as tft
import tensorflow_transform.beam as tft_beam
from tensorflow_transform.tf_metadata import dataset_metadata, schema_utils
from tfx_bsl.tfxio import tensor_adapter, tensor_representation_util

STRINGS = ("company", "payment_type")
INTEGERS = (
    "trip_start_timestamp",
    "trip_start_hour",
    "trip_seconds",
    "pickup_community_area",
    "dropoff_community_area",
    "dropoff_census_tract",
)
FLOATS = (
    "fare",
    "tips",
    "trip_miles",
    "pickup_latitude",
    "pickup_longitude",
    "dropoff_latitude",
    "dropoff_longitude",
)
STATISTICS_FILES = 7

Tensors = Mapping[str, Any]


@dataclass(frozen=True)
class Variant:
    """What sets one of the five models apart.

    Attributes:
      fare_steps: quantiles of the fare.
      crosses: whether it has the features ``route`` and ``area_hour``.
      fare_per_mile: whether it has that feature.
      any_tip: whether its label is any tip at all.
      card_only: whether it has a filter.
    """

    fare_steps: int = 20
    crosses: bool = False
    fare_per_mile: bool = False
    any_tip: bool = False
    card_only: bool = False


VARIANTS = {
    "tip": Variant(),
    "tip_fine": Variant(fare_steps=100),
    "tip_cross": Variant(crosses=True),
    "tip_any": Variant(any_tip=True),
    "tip_card": Variant(fare_per_mile=True, card_only=True),
}


def preprocessing(variant: Variant, columns: Tensors) -> dict[str, Any]:
    """The features, label and filter of a model; columns that may be missing come as sparse tensors."""
    fare = _filled(columns["fare"], 0.0)
    miles = _filled(columns["trip_miles"], 0.0)
    seconds = tf.cast(_filled(columns["trip_seconds"], 0), tf.float64)
    moment = _filled(columns["trip_start_timestamp"], 0)
    hour = moment // 3600 % 24
    speed = tf.clip_by_value(tf.cast(miles, tf.float64) / tf.maximum(seconds, 60.0) * 3600.0, 0.0, 80.0)
    pickup = _as_text(columns["pickup_community_area"])
    dropoff = _as_text(columns["dropoff_community_area"])
    period = 2 * 3.141592653589793 / 24
    angle = tf.cast(_filled(columns["trip_start_hour"], 0), tf.float32) * period
    company = tf.strings.lower(_filled(columns["company"], "independent"))
    outputs = {
        "company": tft.compute_and_apply_vocabulary(company, frequency_threshold=10, num_oov_buckets=1),
        "pickup_area": columns["pickup_community_area"],
        "dropoff_area": columns["dropoff_community_area"],
        "pickup_cell": _cell(columns["pickup_latitude"], columns["pickup_longitude"]),
        "dropoff_cell": _cell(columns["dropoff_latitude"], columns["dropoff_longitude"]),
        "tract": tft.compute_and_apply_vocabulary(
            columns["dropoff_census_tract"], frequency_threshold=20, num_oov_buckets=1
        ),
        "hour": hour,
        "weekday": (moment // 86400 + 3) % 7,
        "month": _month(moment),
        "fare_step": tft.bucketize(columns["fare"], variant.fare_steps),
        "duration_step": tft.bucketize(columns["trip_seconds"], 20),
        "speed_step": tf.searchsorted(
            tf.constant([1, 5, 8, 10, 12, 15, 20, 30, 40], tf.float64), speed, side="right", out_type=tf.int64
        ),
        "fare": tft.scale_to_z_score(tf.math.log1p(fare)),
        "miles": tft.scale_to_z_score(tf.math.log1p(miles)),
        "duration": tft.scale_to_z_score(tf.cast(tf.math.log1p(seconds), tf.float32)),
        "no_miles": tf.cast(tf.equal(miles, 0), tf.float32),
        "time_of_day": tf.stack([tf.sin(angle), tf.cos(angle)], axis=1),
    }
    if variant.crosses:
        outputs["route"] = _crossed(pickup, dropoff, 2000)
        outputs["area_hour"] = _crossed(pickup, tf.strings.as_string(hour), 2000)
    if variant.fare_per_mile:
        outputs["fare_per_mile"] = tft.scale_to_z_score(tf.math.log1p(fare / tf.maximum(miles, 0.1)))
    tips = _filled(columns["tips"], 0.0)
    outputs["label"] = tf.cast(tips > (0.0 if variant.any_tip else 0.2 * fare), tf.float32)
    if variant.card_only:
        outputs["filter"] = tf.cast(tf.equal(_filled(columns["payment_type"], ""), "Credit Card"), tf.int64)
    return outputs


def _filled(sparse: Any, default: Any) -> Any:
    dense = tf.sparse.SparseTensor(sparse.indices, sparse.values, [sparse.dense_shape[0], 1])
    return tf.squeeze(tf.sparse.to_dense(dense, default), axis=1)


def _as_text(sparse: Any) -> Any:
    text = tf.sparse.SparseTensor(sparse.indices, tf.strings.as_string(sparse.values), sparse.dense_shape)
    return _filled(text, "")


def _crossed(left: Any, right: Any, buckets: int) -> Any:
    return tf.strings.to_hash_bucket_fast(tf.strings.join([left, right], separator="_"), buckets)


def _cell(latitude: Any, longitude: Any) -> Any:
    return _crossed(_as_text(tft.bucketize(latitude, 16)), _as_text(tft.bucketize(longitude, 16)), 512)


def _month(moment: Any) -> Any:
    """The month of a moment by the civil calendar, in integer arithmetic (days counted from 1 March of year 0)."""
    day_of_era = (moment // 86400 + 719468) % 146097
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36524 - day_of_era // 146096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    from_march = (5 * day_of_year + 2) // 153
    return (from_march + 2) % 12 + 1


def _metadata() -> Any:
    features = dict.fromkeys(STRINGS, tf.io.VarLenFeature(tf.string))
    features |= dict.fromkeys(INTEGERS, tf.io.VarLenFeature(tf.int64))
    features |= dict.fromkeys(FLOATS, tf.io.VarLenFeature(tf.float32))
    return dataset_metadata.DatasetMetadata(schema_utils.schema_from_feature_spec(features))


def _batches(path: str, size: int = 16384) -> Iterator[pa.RecordBatch]:
    """Record batches of a Parquet file, each cell a list of no or one value, as tensorflow-transform takes them."""
    types = {name: pa.large_binary() for name in STRINGS}
    types |= {name: pa.int64() for name in INTEGERS} | {name: pa.float32() for name in FLOATS}
    for batch in pq.ParquetFile(path).iter_batches(size, columns=list(types)):
        arrays = []
        for name, value_type in types.items():
            column = batch.column(name)
            offsets = pa.array([0, *column.is_valid().cast(pa.int64()).to_numpy(zero_copy_only=False).cumsum()])
            arrays.append(pa.LargeListArray.from_arrays(offsets, column.drop_null().cast(value_type)))
        yield pa.RecordBatch.from_arrays(arrays, list(types))


class _WriteParquet(beam.DoFn):
    """Writes what a bundle brings as one Parquet file."""

    def __init__(self, output: str) -> None:
        self._output = output
        self._tables: list[pa.Table] = []

    def process(self, element: tuple[pa.RecordBatch, Mapping[str, Any]]) -> None:
        self._tables.append(pa.Table.from_batches([element[0]]))

    def finish_bundle(self) -> None:
        if self._tables:
            pq.write_table(pa.concat_tables(self._tables), f"{self._output}/{uuid4().hex}.parquet")
            self._tables = []


def run(model: str, data: str, output: str) -> None:
    """Analyzes and transforms with tensorflow-transform's own pipeline on the DirectRunner."""
    files = sorted(str(path) for path in Path(data).glob("*.parquet"))
    Path(output).mkdir(parents=True)
    metadata = _metadata()
    config = tensor_adapter.TensorAdapterConfig(
        next(_batches(files[0])).schema,
        tensor_representation_util.InferTensorRepresentationsFromSchema(metadata.schema),
    )
    with tempfile.TemporaryDirectory() as scratch, beam.Pipeline() as pipeline, tft_beam.Context(temp_dir=scratch):
        window = pipeline | "window" >> beam.Create(files[:STATISTICS_FILES]) | "read window" >> beam.FlatMap(_batches)
        everything = pipeline | "all" >> beam.Create(files) | "read all" >> beam.FlatMap(_batches)
        transform = (window, config) | tft_beam.AnalyzeDataset(partial(preprocessing, VARIANTS[model]))
        transformed, _ = ((everything, config), transform) | tft_beam.TransformDataset(output_record_batches=True)
        transformed | beam.ParDo(_WriteParquet(output))


if __name__ == "__main__":
    run(*sys.argv[1:])
