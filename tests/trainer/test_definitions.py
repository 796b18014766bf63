"""What tells two trainings apart: everything that changes a step, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from materialized.plan import make_plan
from materialized.sources import current_manifest, raw_schema
from materialized.store import Store
from trainer.definitions import define, setup_of
from transforms.binding import bind
from transforms.places import Place
from transforms.specs import (
    DatasetSpec,
    DcnV2,
    DenseFeature,
    EvaluateHash,
    Expression,
    IdFeature,
    ModelSpec,
    Sgd,
    TableSpec,
    Train,
)

MODEL = ModelSpec(
    model="m",
    features={"user": IdFeature(Expression("hash(user, 10)"), "user"), "price": DenseFeature(Expression("price"))},
    tables={"user": TableSpec(dim=2)},
    label=Expression("clicked"),
    train=Train(evaluate=EvaluateHash(fraction=0.5, by=Expression("user"))),
)


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("log") / "log.parquet"
    columns = {"user": pa.array(["a", "b"]), "price": pa.array([1.0, 2.0]), "clicked": pa.array([True, False])}
    pq.write_table(pa.table(columns), path)
    return path


def setup(log: Path, spec: ModelSpec) -> dict[str, str]:
    declared = {"user": "string not null", "price": "float64 not null", "clicked": "bool not null"}
    dataset = DatasetSpec(name="log", path=str(log), format="parquet", schema=declared)
    store = Store.create(log.parent / "store")
    plan = make_plan([bind(spec, raw_schema(dataset), dataset)], dataset, current_manifest(dataset, store), store)
    return setup_of(plan, "m", define(plan, "m", store))


def at(line: int) -> ModelSpec:
    """The same model, as a file that begins with ``line`` lines of comments says it."""
    place = Place("m.yaml", line)
    return replace(
        MODEL,
        features={name: replace(feature, place=place) for name, feature in MODEL.features.items()},
        tables={"user": replace(MODEL.tables["user"], place=place)},
        label=Expression("clicked", place),
        train=Train(evaluate=EvaluateHash(fraction=0.5, by=Expression("user", place))),
        place=place,
    )


def test_where_a_spec_is_written_does_not_matter(log: Path) -> None:
    assert setup(log, at(1)) == setup(log, at(7)) == setup(log, MODEL)


CHANGES = {
    "features": replace(MODEL, features={**MODEL.features, "user": IdFeature(Expression("hash(user, 9)"), "user")}),
    "tables": replace(MODEL, tables={"user": TableSpec(dim=3)}),
    "network": replace(MODEL, network=DcnV2()),
    "dense optimizer": replace(MODEL, train=replace(MODEL.train, optimizer=Sgd())),
    "seed": replace(MODEL, train=replace(MODEL.train, seed=1)),
    "batches": replace(MODEL, train=replace(MODEL.train, batch_size=7)),
    "order": replace(MODEL, train=replace(MODEL.train, shuffle=False)),
    "held out": replace(MODEL, train=replace(MODEL.train, evaluate=EvaluateHash(fraction=0.5))),
    "label, weight and filter": replace(MODEL, filter=Expression("price > 1")),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_changes_a_step_does(log: Path, name: str) -> None:
    before, after = setup(log, MODEL), setup(log, CHANGES[name])
    assert name in {key for key in before if before[key] != after[key]}


def test_more_epochs_go_on_from_the_same_checkpoint(log: Path) -> None:
    assert setup(log, replace(MODEL, train=replace(MODEL.train, epochs=9))) == setup(log, MODEL)
