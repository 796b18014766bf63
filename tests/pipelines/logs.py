"""Small logs and models for the tests of this room."""

from pathlib import Path

from materialized.sources import raw_schema
from transforms.binding import bind_all
from transforms.specs import DatasetSpec, DenseFeature, Expression, IdFeature, ModelSpec, TableSpec

SCHEMA = {"query": "string", "device": "string", "price": "float64", "click": "int64"}


def lines(number, rows=5):
    """Rows that differ from file to file."""
    return "".join(f"red shoes {number},Phone{row % 3},{row + number}.5,{row % 2}\n" for row in range(rows))


def csv(folder, number, rows=5):
    """Writes a log file of the schema's columns and gives its path."""
    path = Path(folder) / f"part-{number:02}.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("query,device,price,click\n" + lines(number, rows))
    return path


def dataset(folder, **options):
    """The description of the files in a folder."""
    return DatasetSpec(**{"name": "log", "path": str(folder), "format": "csv", "schema": SCHEMA, **options})


def model(name, dense=None, ids=None, label="click", **options):
    """A model; ``dense`` and ``ids`` are expressions by feature."""
    features = {feature: DenseFeature(Expression(text)) for feature, text in (dense or {}).items()}
    features |= {feature: IdFeature(Expression(text), table="t") for feature, text in (ids or {}).items()}
    tables = {"t": TableSpec(dim=4)} if ids else {}
    return ModelSpec(model=name, features=features, tables=tables, label=Expression(label), **options)


def bound(specs, log):
    """The models bound to a log."""
    return bind_all(specs, raw_schema(log), log)


def stored(store_path, room):
    """The files in a folder of a store, relative to it."""
    root = Path(store_path) / room
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}
