"""Model specs and dataset descriptions as values, for people who write YAML and for people who generate specs.

Validation of shape and range happens here, on construction (pydantic); what an expression means is settled in
`transforms.binding`, against a schema. Reading the files that people write is `transforms.spec_files`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Annotated, Literal, TypeAlias

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from transforms.places import Place

_CONFIG = ConfigDict(extra="forbid", strict=True, arbitrary_types_allowed=True)

Name: TypeAlias = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=128)]
Positive: TypeAlias = Annotated[int, Field(gt=0)]
Seed: TypeAlias = Annotated[int, Field(ge=0, lt=2**63)]
Slice: TypeAlias = Annotated[str, Field(pattern=r"^(-?[0-9]+)?:(-?[0-9]+)?$")]
Written: TypeAlias = "Place | None"
"""Where something was written: None for specs made in Python. Neither equality nor an object's text takes it in."""


@dataclass(frozen=True, config=_CONFIG)
class Expression:
    """The text of an expression and where it was written."""

    text: str
    place: Written = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, config=_CONFIG)
class IdFeature:
    """A feature of ids that index rows of an embedding table; several ids of a row are combined.

    Attributes:
      ids: an expression of integers in [0, rows of the table): scalar, or ragged.
      table: name of the table; features that name the same table share its rows.
      combiner: how the rows of one example's ids become one vector. An example without ids gets zeros.
    """

    ids: Expression
    table: Name
    combiner: Literal["sum", "mean", "sqrtn"] = "sum"
    place: Written = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, config=_CONFIG)
class DenseFeature:
    """A numeric feature that goes into the network as it is: a number or a vector, never null, rounded to float32."""

    dense: Expression
    place: Written = field(default=None, compare=False, repr=False)


Feature: TypeAlias = IdFeature | DenseFeature


@dataclass(frozen=True, config=_CONFIG)
class Sgd:
    """Plain stochastic gradient descent."""

    learning_rate: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 0.01


@dataclass(frozen=True, config=_CONFIG)
class Adagrad:
    """Duchi et al., JMLR 2011: each value's learning rate falls with the squares of its gradients so far."""

    learning_rate: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 0.05
    initial_accumulator: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.1


Optimizer: TypeAlias = Sgd | Adagrad


@dataclass(frozen=True, config=_CONFIG)
class TableSpec:
    """An embedding table.

    Attributes:
      dim: values per row.
      rows: number of rows; None takes it from the features that use the table (the largest id space).
      optimizer: how rows are updated; None takes Adagrad's defaults.
    """

    dim: Positive
    rows: Positive | None = None
    optimizer: Optimizer | None = None
    place: Written = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, config=_CONFIG)
class Mlp:
    """A multi-layer perceptron over all features side by side."""

    hidden: tuple[Positive, ...] = (256, 128)


@dataclass(frozen=True, config=_CONFIG)
class Dlrm:
    """Naumov et al., arXiv 1906.00091: a bottom MLP for dense features, pairwise dot products, a top MLP."""

    bottom: tuple[Positive, ...] = (128,)
    top: tuple[Positive, ...] = (256, 128)


@dataclass(frozen=True, config=_CONFIG)
class DcnV2:
    """Wang et al., arXiv 2008.13535: cross layers (low-rank where `rank` is given), then an MLP on top ("stacked")."""

    cross_layers: Positive = 2
    rank: Positive | None = None
    hidden: tuple[Positive, ...] = (256, 128)


Network: TypeAlias = Mlp | Dlrm | DcnV2


@dataclass(frozen=True, config=_CONFIG)
class EvaluateChunks:
    """Evaluate on a slice of the manifest's chunks, in Python's notation: ``"6:"`` is the seventh and all after it."""

    chunks: Slice


@dataclass(frozen=True, config=_CONFIG)
class EvaluateTime:
    """Evaluate on rows whose time (the dataset's `time` column) is at or after `since`; train on rows without a time.

    Attributes:
      since: in the column's own unit, or an ISO 8601 date or time (UTC where it names no zone) for a column in seconds.
    """

    since: int | Annotated[float, Field(allow_inf_nan=False)] | str
    place: Written = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, config=_CONFIG)
class EvaluateHash:
    """Evaluate on a random fraction of the rows.

    Attributes:
      fraction: of rows (or of distinct values of `by`), in (0, 1).
      by: an expression; rows with the same value are on the same side, rows without one are trained on. None draws by
        row position.
      seed: other seeds draw other rows.
    """

    fraction: Annotated[float, Field(gt=0, lt=1)]
    by: Expression | None = None
    seed: Seed = 0


Evaluate: TypeAlias = EvaluateChunks | EvaluateTime | EvaluateHash


@dataclass(frozen=True, config=_CONFIG)
class Train:
    """How a model is trained.

    Attributes:
      batch_size: examples per step.
      epochs: passes over the training part.
      seed: of initial values and of the order of rows.
      shuffle: whether rows come in a seeded random order or in the log's.
      drop_remainder: whether an epoch's last, smaller batch is dropped.
      optimizer: of the dense network; tables have their own.
      evaluate: which rows are held out; None holds out none.
    """

    batch_size: Positive = 1024
    epochs: Positive = 1
    seed: Seed = 0
    shuffle: bool = True
    drop_remainder: bool = False
    optimizer: Optimizer = field(default_factory=Adagrad)
    evaluate: Evaluate | None = None


@dataclass(frozen=True, config=_CONFIG)
class ModelSpec:
    """One model: what it reads, what it predicts and how it is trained.

    Attributes:
      model: the model's name.
      features: its features, by name.
      label: an expression of bool or of a number in [0, 1]; may not be null in any row that the filter keeps.
      let: named sub-expressions that other expressions of the spec may use.
      tables: embedding tables, by name.
      weight: an expression of a number ≥ 0, or None for 1.
      filter: an expression of bool; rows where it is false or null are not read. None keeps all.
      network: the dense network.
      train: how it is trained.
    """

    model: Name
    features: Mapping[Name, Feature]
    label: Expression
    let: Mapping[Name, Expression] = field(default_factory=dict)
    tables: Mapping[Name, TableSpec] = field(default_factory=dict)
    weight: Expression | None = None
    filter: Expression | None = None
    network: Network = field(default_factory=Mlp)
    train: Train = field(default_factory=Train)
    place: Written = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, config=_CONFIG)
class DatasetSpec:
    """A log, described once: where its files are, how they are read, what its columns are.

    Attributes:
      name: the dataset's name.
      path: a file, a directory, or a glob of files, absolute or relative to the dataset file.
      format: of every file.
      schema: type of each column that may be read, by name: ``int64``, ``float64``, ``string``, ``bool``, ``uint64``,
        ``list<string>`` …, followed by ``not null`` where a missing value is an error. Required for CSV and JSON lines;
        Parquet files bring their own.
      key: column that names what a row is about (a user, a query), for splits; or None.
      time: column of the event's time, for order and splits; or None.
      statistics: slice of the manifest's chunks over which statistics are computed when a window is pinned, in Python's
        notation; by default all chunks there are at that moment.
      chunk_bytes: text files and row groups are cut into chunks of about this many source bytes.
    """

    name: Name
    path: Annotated[str, Field(min_length=1)]
    format: Literal["csv", "jsonl", "parquet"]
    schema: Mapping[str, str] = field(default_factory=dict)
    key: str | None = None
    time: str | None = None
    statistics: Slice = ":"
    chunk_bytes: Positive = 256 * 2**20
    place: Written = field(default=None, compare=False, repr=False)
