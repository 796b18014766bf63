"""Model and dataset files, read into specs; every mistake is told with file and line, all of them in one error.

YAML itself is `transforms.yaml_tree`, including files is `transforms.includes`, making dataclasses of trees is
`transforms.spec_trees`. Here stands which keys there are.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from transforms.errors import SpecError
from transforms.includes import IncludedFiles
from transforms.places import Place, nearest
from transforms.problems import Problems
from transforms.schema import parse_type
from transforms.spec_trees import INVALID, Kind, TreeReader, expression, value
from transforms.specs import (
    Adagrad,
    DatasetSpec,
    DcnV2,
    DenseFeature,
    Dlrm,
    EvaluateChunks,
    EvaluateHash,
    EvaluateTime,
    IdFeature,
    Mlp,
    ModelSpec,
    Sgd,
    TableSpec,
    Train,
)
from transforms.yaml_tree import MapTree, ScalarTree, Tree, describe, read_map


def load_model(path: str | Path, root: str | Path | None = None) -> ModelSpec:
    """Reads one model file; see `load_models`."""
    return load_models([path], root)[0]


def load_models(paths: Iterable[str | Path], root: str | Path | None = None) -> tuple[ModelSpec, ...]:
    """Reads model files.

    Args:
      paths: the files.
      root: directory that all included files have to lie in; by default each model file's own.

    Returns:
      The models, in the files' order.

    Raises:
      SpecError: where a file is wrong, or two models have one name; tells all mistakes of all files.
    """
    problems = Problems()
    files, reader = IncludedFiles(problems), TreeReader(problems)
    models: dict[str, ModelSpec] = {}
    names: dict[Path, str] = {}
    for path in paths:
        name = str(path)
        file = Path(name).resolve()
        if file in names:
            also = "" if names[file] == name else f", also as {names[file]}"
            problems.add(None, f"{name}: the file is given twice{also}")
            continue
        names[file] = name
        tree = files.load(name, Path(root) if root is not None else Path(name).parent)
        model = INVALID if tree is None else _model(reader, tree)
        if not isinstance(model, ModelSpec):
            continue
        if model.model in models:
            first = models[model.model].place
            problems.add(model.place, f"the model {model.model!r} is given twice; first in {first}")
        models.setdefault(model.model, model)
    problems.raise_if_any()
    return tuple(models.values())


def load_dataset(path: str | Path) -> DatasetSpec:
    """Reads a dataset file.

    Raises:
      SpecError: where it is wrong; tells all mistakes.
    """
    problems = Problems()
    tree = read_map(Path(path), str(path), problems)
    dataset = INVALID if tree is None else _dataset(TreeReader(problems), tree)
    problems.raise_if_any()
    if not isinstance(dataset, DatasetSpec):
        raise SpecError(f"{path}: no dataset")
    return dataset


def _model(reader: TreeReader, tree: MapTree) -> Any:
    if _is_swapped(reader, tree, "model", "dataset"):
        return INVALID
    entry = tree.entries.get("model")
    if entry is not None and entry.place.file == tree.place.file:
        tree = MapTree(entry.place, tree.entries)
    return reader.make(_MODEL, tree, "")


def _is_swapped(reader: TreeReader, tree: MapTree, wanted: str, other: str) -> bool:
    """Whether the file is one of the other kind, which is told in place of each of its keys."""
    if wanted in tree.entries or other not in tree.entries:
        return False
    reader.problems.add(tree.place, f"expected a {wanted} file, with the key {wanted!r}; found a {other} file")
    return True


def _dataset(reader: TreeReader, tree: MapTree) -> Any:
    if _is_swapped(reader, tree, "dataset", "model"):
        return INVALID
    reader.check_keys(tree, _DATASET_KEYS, "")
    entries = {_FIELD.get(key, key): entry for key, entry in tree.entries.items() if key in _DATASET_KEYS}
    if "dataset" not in tree.entries:
        reader.problems.add(tree.place, "lacks the key 'dataset', the dataset's name")
        return INVALID
    dataset = reader.make(_DATASET, MapTree(tree.place, entries), "")
    if isinstance(dataset, DatasetSpec):
        _check_dataset(dataset, reader.problems, {key: entry.place for key, entry in tree.entries.items()})
    return dataset


def _check_dataset(dataset: DatasetSpec, problems: Problems, places: dict[str, Place]) -> None:
    if not dataset.schema and dataset.format != "parquet":
        problems.add(dataset.place, f"{dataset.format} files say nothing of types; give `schema: {{COLUMN: TYPE, …}}`")
        return
    for key, column in (("key", dataset.key), ("time", dataset.time)):
        if column is not None and dataset.schema and column not in dataset.schema:
            problems.add(places.get(key), f"{key}: unknown column {column!r}{nearest(column, dataset.schema)}")
    found = None if dataset.time is None else dataset.schema.get(dataset.time)
    if found is not None and not parse_type(found).is_number:
        expected = "expected a column of int64 or float64"
        problems.add(places.get("time"), f"time: {expected}, found {dataset.time!r} of {found}")


def _schema(reader: TreeReader, tree: Tree, what: str) -> Any:
    return reader.named(tree, what, lambda name, item: _type(reader, item, f"{what}: {name}"))


def _type(reader: TreeReader, tree: Tree, what: str) -> Any:
    if not isinstance(tree, ScalarTree) or not isinstance(tree.value, str):
        reader.problems.add(
            tree.place, f"{what}: expected a type like int64 or `string not null`, found {describe(tree)}"
        )
        return INVALID
    try:
        parse_type(tree.value)
    except SpecError as error:
        reader.problems.add(tree.place, f"{what}: {error}")
        return INVALID
    return tree.value


def _let(reader: TreeReader, tree: Tree, what: str) -> Any:
    def read(name: str, item: Tree) -> Any:
        return reader.make_once(lambda: expression(reader, item, f"let {name!r}"), item)

    return reader.named(tree, what, read)


def _features(reader: TreeReader, tree: Tree, what: str) -> Any:
    def read(name: str, item: Tree) -> Any:
        return reader.make_once(lambda: _feature(reader, item, f"feature {name!r}"), item)

    return reader.named(tree, what, read)


def _feature(reader: TreeReader, tree: Tree, what: str) -> Any:
    if not isinstance(tree, MapTree):
        expected = "{ids: EXPRESSION, table: NAME} or {dense: EXPRESSION}"
        reader.problems.add(tree.place, f"{what}: expected {expected}, found {describe(tree)}")
        return INVALID
    if ("ids" in tree.entries) == ("dense" in tree.entries):
        found = "both" if "ids" in tree.entries else "neither"
        reader.problems.add(tree.place, f"{what}: expected one of the keys 'ids' and 'dense', found {found}")
        reader.check_keys(tree, (*_ID_FEATURE.keys, *_DENSE_FEATURE.keys), what)
        return INVALID
    return reader.make(_ID_FEATURE if "ids" in tree.entries else _DENSE_FEATURE, tree, what)


def _tables(reader: TreeReader, tree: Tree, what: str) -> Any:
    def read(name: str, item: Tree) -> Any:
        return reader.make_once(lambda: reader.make(_TABLE, item, f"table {name!r}"), item)

    return reader.named(tree, what, read)


def _optimizer(reader: TreeReader, tree: Tree, what: str) -> Any:
    return reader.choose(_OPTIMIZERS, tree, what)


def _network(reader: TreeReader, tree: Tree, what: str) -> Any:
    return reader.choose(_NETWORKS, tree, what)


def _evaluate(reader: TreeReader, tree: Tree, what: str) -> Any:
    return reader.choose(_EVALUATE, tree, what)


def _train(reader: TreeReader, tree: Tree, what: str) -> Any:
    return reader.make(_TRAIN, tree, what)


_OPTIMIZERS = {
    "sgd": Kind(Sgd, {"learning_rate": value}),
    "adagrad": Kind(Adagrad, {"learning_rate": value, "initial_accumulator": value}),
}

_NETWORKS = {
    "mlp": Kind(Mlp, {"hidden": value}),
    "dlrm": Kind(Dlrm, {"bottom": value, "top": value}),
    "dcn_v2": Kind(DcnV2, {"cross_layers": value, "rank": value, "hidden": value}),
}

_EVALUATE = {
    "chunks": Kind(EvaluateChunks, {"chunks": value}, main="chunks"),
    "time": Kind(EvaluateTime, {"since": value}, main="since", placed=True),
    "hash": Kind(EvaluateHash, {"fraction": value, "by": expression, "seed": value}, main="fraction"),
}

_ID_FEATURE = Kind(IdFeature, {"ids": expression, "table": value, "combiner": value}, placed=True)

_DENSE_FEATURE = Kind(DenseFeature, {"dense": expression}, placed=True)

_TABLE = Kind(TableSpec, {"dim": value, "rows": value, "optimizer": _optimizer}, placed=True)

_TRAIN = Kind(
    Train,
    {
        "batch_size": value,
        "epochs": value,
        "seed": value,
        "shuffle": value,
        "drop_remainder": value,
        "optimizer": _optimizer,
        "evaluate": _evaluate,
    },
)

_MODEL = Kind(
    ModelSpec,
    {
        "model": value,
        "let": _let,
        "features": _features,
        "tables": _tables,
        "label": expression,
        "weight": expression,
        "filter": expression,
        "network": _network,
        "train": _train,
    },
    placed=True,
    read_before=("include",),
)

_DATASET = Kind(
    DatasetSpec,
    {
        "name": value,
        "path": value,
        "format": value,
        "schema": _schema,
        "key": value,
        "time": value,
        "statistics": value,
        "chunk_bytes": value,
    },
    placed=True,
)

_FIELD = {"dataset": "name"}
"""Keys that are called otherwise than their field."""

_DATASET_KEYS = ("dataset", *(key for key in _DATASET.keys if key != "name"))
