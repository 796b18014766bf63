"""Specs bound to a log's columns: every expression a typed node, every rule between the parts of a spec checked.

What the network and the trainer rely on is settled here, before anything runs: ids are integers in a known range, dense
features are numbers without gaps, the label and the weight are numbers, the filter is a yes or no. All mistakes of all
models come in one error. How expressions become nodes is `transforms.scopes`, which rows are held out is
`transforms.splits`, and the merged graph is `transforms.graph`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from transforms import operators
from transforms.nodes import Node
from transforms.places import Place, nearest
from transforms.problems import Problems
from transforms.scopes import Bound, Columns, Scope
from transforms.specs import DatasetSpec, DenseFeature, Expression, IdFeature, ModelSpec
from transforms.splits import bind_split
from transforms.types import ColumnType, DType, Shape


@dataclass(frozen=True)
class BoundModel:
    """A model whose expressions are nodes.

    Attributes:
      spec: the model.
      features: the node of each feature, in the spec's order: ids are int64, one a row or a list; dense features
        float32, one a row or a vector; none is nullable.
      label: float32; may be nullable, and then the data decides whether a label is missing.
      weight: float32, or None for 1.
      filter: bool, or None where all rows are read; a row whose filter is null is not read.
      split: bool, never null: whether a row is held out for evaluation. None where no column decides that.
    """

    spec: ModelSpec
    features: Mapping[str, Node]
    label: Node
    weight: Node | None = None
    filter: Node | None = None
    split: Node | None = None

    @property
    def name(self) -> str:
        """The model's name."""
        return self.spec.model

    def outputs(self) -> dict[str, Node]:
        """The nodes by role: ``feature.NAME``, ``label``, ``weight``, ``filter``, ``split``."""
        others = {"label": self.label, "weight": self.weight, "filter": self.filter, "split": self.split}
        return {
            **{f"feature.{name}": node for name, node in self.features.items()},
            **{role: node for role, node in others.items() if node is not None},
        }


def bind(spec: ModelSpec, schema: Mapping[str, ColumnType], dataset: DatasetSpec | None = None) -> BoundModel:
    """Binds one model; see `bind_all`."""
    return bind_all([spec], schema, dataset)[0]


def bind_all(
    specs: Iterable[ModelSpec], schema: Mapping[str, ColumnType], dataset: DatasetSpec | None = None
) -> tuple[BoundModel, ...]:
    """Binds models to a log.

    Args:
      specs: the models.
      schema: type of each raw column, by name.
      dataset: the log; needed by models that evaluate by time.

    Raises:
      SpecError: where a model is wrong; tells all mistakes of all models.
    """
    problems = Problems()
    columns = Columns(schema)
    places: dict[str, Place | None] = {}
    models = []
    for spec in specs:
        if spec.model in places:
            first = places[spec.model] or "a spec made in Python"
            problems.add(spec.place, f"the model {spec.model!r} is given twice; first in {first}")
        places.setdefault(spec.model, spec.place)
        models.append(_Binder(spec, columns, dataset, problems).bind())
    problems.raise_if_any()
    return tuple(model for model in models if model is not None)


class _Binder:
    """Binds one model; what is wrong goes to the problems."""

    def __init__(self, spec: ModelSpec, columns: Columns, dataset: DatasetSpec | None, problems: Problems) -> None:
        self._spec = spec
        self._columns = columns
        self._dataset = dataset
        self._problems = problems
        self._scope = Scope(columns, spec.let, problems, spec.model)

    def bind(self) -> BoundModel | None:
        before = len(self._problems)
        spec = self._spec
        if not spec.features:
            self._refuse(spec.place, "the model has no features")
        features = {name: self._feature(name, feature) for name, feature in spec.features.items()}
        self._check_unused_tables()
        label = self._number("label", spec.label, allow_bool=True)
        weight = self._number("weight", spec.weight, allow_bool=False) if spec.weight else None
        row_filter = self._filter(spec.filter) if spec.filter else None
        split = bind_split(spec, self._scope, self._columns, self._dataset, self._problems)
        whole = {name: node for name, node in features.items() if node is not None}
        if label is None or len(self._problems) > before or len(whole) < len(features):
            return None
        return BoundModel(spec, whole, label, weight, row_filter, split)

    def _feature(self, name: str, feature: IdFeature | DenseFeature) -> Node | None:
        role = f"feature {name!r}"
        if isinstance(feature, DenseFeature):
            return self._dense(role, feature.dense)
        bound = self._ids(role, feature.ids)
        table = self._spec.tables.get(feature.table)
        if table is None:
            tables = self._spec.tables
            hint = nearest(feature.table, tables) or f"; there are {', '.join(sorted(tables)) or 'none'}"
            self._refuse(feature.place or feature.ids.place, f"{role}: unknown table {feature.table!r}{hint}")
        elif bound is not None:
            self._check_id_space(role, feature, bound)
        return None if bound is None else bound.node

    def _ids(self, role: str, expression: Expression) -> Bound | None:
        bound = self._column(role, expression)
        if bound is None:
            return None
        found = bound.node.type
        if found.dtype is not DType.INT64 or found.shape is Shape.VECTOR:
            advice = "" if found.shape is Shape.VECTOR else _ID_ADVICE.get(found.dtype, "")
            self._scope.refuse(expression, role, f"ids are int64, one a row or a list, found {found}{advice}")
            return None
        if found.nullable:  # a missing id is an example without ids
            return self._scope.call("to_list", (bound,), expression, role)
        return bound

    def _check_id_space(self, role: str, feature: IdFeature, bound: Bound) -> None:
        rows = self._spec.tables[feature.table].rows
        space = operators.id_space(bound.node)
        if space is None and not bound.learned:
            message = "ids without an upper bound need a table without end; use ids(x, n), hash(x, buckets) or vocab(x)"
            self._scope.refuse(feature.ids, role, message)
        elif space is not None and rows is not None and space > rows:
            message = f"ids go up to {space - 1}, so table {feature.table!r} needs {space} rows, found {rows}"
            self._scope.refuse(feature.ids, role, message)

    def _dense(self, role: str, expression: Expression) -> Node | None:
        bound = self._column(role, expression)
        if bound is None:
            return None
        found, advice = bound.node.type, ""
        if found.shape is Shape.RAGGED:
            advice = "a list has no fixed size, use size(x), or make it a feature of ids"
        elif not (found.is_number or found.dtype is DType.BOOL):
            advice = _DENSE_ADVICE[found.dtype]
        elif found.nullable:
            advice = "say what stands for a missing value with fill(x, 0), or use is_missing(x)"
        if advice:
            message = f"a dense feature is a number or a vector that is never null, found {found}; {advice}"
            self._scope.refuse(expression, role, message)
            return None
        return self._float32(bound, expression, role)

    def _number(self, role: str, expression: Expression, allow_bool: bool) -> Node | None:
        bound = self._column(role, expression)
        if bound is None:
            return None
        found = bound.node.type
        right = found.is_number or (allow_bool and found.dtype is DType.BOOL)
        if not right or found.shape is not Shape.SCALAR:
            expected = "a number or a bool" if allow_bool else "a number"
            self._scope.refuse(expression, role, f"expected {expected}, one a row, found {found}")
            return None
        return self._float32(bound, expression, role)

    def _filter(self, expression: Expression) -> Node | None:
        bound = self._column("filter", expression)
        if bound is None:
            return None
        found = bound.node.type
        if found.dtype is not DType.BOOL or found.shape is not Shape.SCALAR:
            advice = "; a number is compared: x != 0" if found.is_number and found.shape is Shape.SCALAR else ""
            self._scope.refuse(expression, "filter", f"expected a bool, one a row, found {found}{advice}")
            return None
        return bound.node

    def _column(self, role: str, expression: Expression) -> Bound | None:
        """What an expression means that has to be a column."""
        bound = self._scope.bind(expression, role)
        if bound is not None and not bound.varies:
            message = "expected something that depends on a column of the log, found the same value in all rows"
            self._scope.refuse(expression, role, message)
            return None
        return bound

    def _float32(self, bound: Bound, expression: Expression, role: str) -> Node | None:
        if bound.node.type.dtype is DType.FLOAT32:
            return bound.node
        rounded = self._scope.call("float32", (bound,), expression, role)
        return None if rounded is None else rounded.node

    def _check_unused_tables(self) -> None:
        """A table that no feature uses is a slip where the model itself wrote it; what was included may be too much."""
        used = {feature.table for feature in self._spec.features.values() if isinstance(feature, IdFeature)}
        for name, table in self._spec.tables.items():
            if name not in used and _file(table.place) == _file(self._spec.place):
                self._refuse(table.place, f"table {name!r} is used by no feature")

    def _refuse(self, place: Place | None, message: str) -> None:
        self._problems.add(place, message if place is not None else f"model {self._spec.model!r}, {message}")


_ID_ADVICE = {
    DType.STRING: "; use hash(x, buckets) or vocab(x)",
    DType.UINT64: "; use hash(x, buckets) or vocab(x)",
    DType.BOOL: "; use where(x, 1, 0)",
    DType.FLOAT32: "; use quantiles(x, n) or bucketize(x, [boundaries])",
    DType.FLOAT64: "; use quantiles(x, n) or bucketize(x, [boundaries])",
}

_DENSE_ADVICE = {
    DType.STRING: "make it a feature of ids with hash(x, buckets) or vocab(x)",
    DType.UINT64: "make it a feature of ids with hash(x, buckets), or a number with cast(x, 'float64')",
}


def _file(place: Place | None) -> str | None:
    return None if place is None else place.file
