"""A small log with everything that is hard to serve, a model over it, and its columns in a store.

Statistics are written down instead of counted: what an export does with them is what its tests are about.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from materialized.assets import save_asset
from materialized.chunk_files import write_chunk
from materialized.plan import Plan, make_plan
from materialized.raw_rows import read_raw
from materialized.sources import current_manifest, raw_schema
from materialized.store import Store
from trainer.checkpoints import Progress
from trainer.definitions import define
from trainer.model import Model
from trainer.training import TrainedModel
from transforms.assets import Asset, Boundaries, Moments, Vocabulary
from transforms.binding import bind
from transforms.compiler import compile_nodes
from transforms.specs import (
    DatasetSpec,
    DcnV2,
    DenseFeature,
    Expression,
    IdFeature,
    ModelSpec,
    TableSpec,
)

ROWS_PER_FILE = 150

_IDS = {
    "user": ("hash(user, 1_000)", "user", "sum"),
    "item_rank": ("vocab(item)", "item", "sum"),
    "query": ("hash(tokens(lower(query)), 500)", "token", "mean"),
    "query_rank": ("vocab(query, oov=3)", "rank", "sum"),
    "words": ("vocab(words, oov=2)", "word", "sqrtn"),
    "pair": ("hash(cross(words, city, item), 500)", "token", "sum"),
    "step": ("quantiles(price, 4)", "step", "sum"),
    "score_step": ("bucketize(score, [-1, 0, 12.45])", "step", "sum"),
    "seen": ("ids(seen, 50)", "seen", "sum"),
    "flag": ("where(fill(flag, False), 1, 0)", "step", "sum"),
    "hour": ("hour(at)", "seen", "sum"),
}
_DENSE = {
    "price": "zscore(log1p(fill(abs(price), 0)))",
    # No table has so many rows, but the ids are exact.
    "large": "fill(hash(item, 3_000_000_000), 0) / 3_000_000_000",
    "day": "cyclic(hour(at), 24)",
    "words_count": "size(words)",
    "known": "where(is_missing(query), 0.25, 0.5)",
}

MODEL = ModelSpec(
    model="served",
    features={
        **{
            name: IdFeature(Expression(text), table, combiner)  # type: ignore[arg-type]
            for name, (text, table, combiner) in _IDS.items()
        },
        **{name: DenseFeature(Expression(text)) for name, text in _DENSE.items()},
    },
    tables={
        **{name: TableSpec(dim=4) for name in ("user", "item", "rank", "word", "step", "seen")},
        "token": TableSpec(dim=8),
    },
    label=Expression("clicked"),
    weight=Expression("1 / rate"),
    filter=Expression("rate > 0"),
    network=DcnV2(cross_layers=1, hidden=(8,)),
)

_VOCABULARIES = {
    "item": Vocabulary((b"3000000000", b"-7", b"9007199254740993"), (9, 5, 2)),
    "query": Vocabulary(("süß".encode(), b"a\0b", b"plain words", b""), (9, 5, 2, 1)),
    "words": Vocabulary(("ÿ".encode(), b"x", "日本".encode()), (9, 5, 2)),
}


@dataclass(frozen=True)
class Served:
    """A model over the log, with its first values, and its columns in a store."""

    plan: Plan
    store: Store
    trained: TrainedModel


def log_table(seed: int, rows: int) -> pa.Table:
    """Rows with nulls, empty and null lists, unseen tokens, NUL and other letters, NaN, and integers beyond 2^31."""
    random = np.random.default_rng(seed)

    def draw(*values: object) -> list[object]:
        return [values[place] for place in random.integers(0, len(values), rows)]

    columns = {
        "user": pa.array(draw(0, 1, 2**31, 2**32 + 1, 2**63, 2**64 - 1), pa.uint64()),
        "item": pa.array(draw(None, 0, -7, 3_000_000_000, 2**53 + 1, -(2**63)), pa.int64()),
        "query": pa.array(draw(None, "", "süß", "SÜSS Süß", "a\0b", "plain words", "unseen 🙂", " "), pa.string()),
        "words": pa.array(draw(None, [], ["x"], ["ÿ", "x", "unseen"], ["日本"] * 3, [""]), pa.list_(pa.string())),
        "price": pa.array(draw(None, 0.0, -0.0, 0.1, 12.45, 12.450000000000001, 1e300, 7.25), pa.float64()),
        "score": pa.array(draw(0.0, -1.0, 12.45, float("nan"), float("inf"), -float("inf")), pa.float64()),
        "city": pa.array(draw("Köln", "", "Oslo"), pa.string()),
        "seen": pa.array(draw([], [0, 49], [50, 2**40, 3], [-1]), pa.list_(pa.int64())),
        "flag": pa.array(draw(None, True, False), pa.bool_()),
        "at": pa.array(random.integers(-(2**33), 2**33, rows), pa.int64()),
        "clicked": pa.array(draw(True, False), pa.bool_()),
        "rate": pa.array(draw(0.0, 0.5, 1.0), pa.float64()),
    }
    return pa.table(columns)


def served(directory: Path, files: int = 2) -> Served:
    """Writes the log, materializes the model's columns in this process, and makes the model with its first values."""
    (directory / "log").mkdir()
    for number in range(files):
        pq.write_table(log_table(number, ROWS_PER_FILE), directory / "log" / f"{number}.parquet")
    required = dict.fromkeys(("user", "score", "city", "at", "clicked", "rate"), "not null")
    types = {
        "user": "uint64",
        "score": "float64",
        "city": "string",
        "at": "int64",
        "clicked": "bool",
        "rate": "float64",
    }
    dataset = DatasetSpec(
        name="log",
        path=str(directory / "log"),
        format="parquet",
        schema={name: f"{types[name]} {required[name]}" for name in required},
    )
    bound = bind(MODEL, raw_schema(dataset), dataset)
    store = Store.create(directory / "store")
    plan = make_plan([bound], dataset, current_manifest(dataset, store), store)
    assets: dict[str, Asset] = {}
    for level in plan.graph.analyzer_levels():
        for node in level:
            assets[node.identity] = _asset(node.operator, node.inputs[0].parameters.get("column"))
            save_asset(store, plan.identities[node.identity], assets[node.identity], plan.window)
    fill(store, plan, assets)
    plan = make_plan([bound], dataset, current_manifest(dataset, store), store)
    assert plan.complete
    model = Model(define(plan, bound.name, store))
    return Served(plan, store, TrainedModel(bound, model, Progress(), None, None))


def fill(store: Store, plan: Plan, assets: Mapping[str, Asset]) -> None:
    """Materializes what ``plan`` lacks, in this process and without Beam."""
    transform = compile_nodes({column: planned.node for column, planned in plan.columns.items()}, assets)
    for entry in plan.manifest:
        table = transform.apply(read_raw(store, entry, transform.inputs))
        for group in plan.groups_for(entry.chunk):
            write_chunk(store, entry.chunk, plan.descriptor(group), table.select(list(group)))


def _asset(analyzer: str, column: object) -> Asset:
    if analyzer == "moments":
        return Moments(count=10, mean=1.5, variance=0.3, minimum=0.0, maximum=9.0)
    return Boundaries((0.0, 0.1, 12.45)) if analyzer == "boundaries" else _VOCABULARIES[str(column)]
