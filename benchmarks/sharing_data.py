"""The taxi log at the size of a benchmark: resampled with seeded noise, so that hardly two rows are alike."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from transforms.specs import DatasetSpec

_TYPES = {"int64": pa.int64(), "float64": pa.float64(), "string": pa.string()}


def enlarge(dataset: DatasetSpec, source: Path, target: Path, rows: int, seed: int = 0) -> None:
    """Writes Parquet files, one per file of the taxi log, and a dataset file beside them.

    A file's rows are drawn with replacement from its original's. Each is then moved within its quarter of an hour; fare
    and tip are scaled together, so that the label stays what it was; miles, seconds and places are jittered.

    Args:
      dataset: the description of the taxi log.
      source: directory of the dataset file.
      target: where to write ``data/*.parquet`` and ``dataset.yaml``.
      rows: in all files together.
      seed: other seeds draw other rows.
    """
    schema = {name: text.partition(" ")[0] for name, text in dataset.schema.items()}
    types = {name: _TYPES[text] for name, text in schema.items()}
    options = pa_csv.ConvertOptions(column_types=types, include_columns=list(types), strings_can_be_null=True)
    generator = np.random.default_rng(seed)
    files = sorted(source.glob(dataset.path))
    (target / "data").mkdir(parents=True)
    for index, path in enumerate(files):
        table = pa_csv.read_csv(path, convert_options=options)
        wanted = rows * (index + 1) // len(files) - rows * index // len(files)
        drawn = table.take(pa.array(generator.integers(0, table.num_rows, wanted)))
        noisy = _with_noise(drawn, generator).sort_by("trip_start_timestamp")
        pq.write_table(noisy, target / "data" / f"{path.stem}.parquet", row_group_size=wanted)
    required = "".join(f"  {name}: {text}\n" for name, text in dataset.schema.items() if text.endswith("not null"))
    (target / "dataset.yaml").write_text(
        f"dataset: {dataset.name}\npath: data/*.parquet\nformat: parquet\n"
        f'time: {dataset.time}\nstatistics: "{dataset.statistics}"\nschema:\n{required}',
        encoding="utf-8",
    )


def _with_noise(table: pa.Table, generator: np.random.Generator) -> pa.Table:
    """The rows, changed a little; what is missing stays missing."""
    rows = table.num_rows
    price = generator.lognormal(0, 0.05, rows)
    changed = {
        "trip_start_timestamp": pc.add(table["trip_start_timestamp"], pa.array(generator.integers(0, 900, rows))),
        "fare": pc.round(pc.multiply(table["fare"], pa.array(price)), 2),
        "tips": pc.round(pc.multiply(table["tips"], pa.array(price)), 2),
        "trip_miles": pc.round(pc.multiply(table["trip_miles"], pa.array(generator.lognormal(0, 0.05, rows))), 2),
        "trip_seconds": pc.max_element_wise(
            pc.add(table["trip_seconds"], pa.array(generator.integers(-30, 31, rows))), 0, skip_nulls=False
        ),
    }
    for place in ("pickup_latitude", "pickup_longitude", "dropoff_latitude", "dropoff_longitude"):
        changed[place] = pc.round(pc.add(table[place], pa.array(generator.normal(0, 0.002, rows))), 9)
    for name, values in changed.items():
        table = table.set_column(table.schema.get_field_index(name), name, values)
    return table
