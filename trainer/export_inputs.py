"""What an exported model takes: raw columns as plain tensors of a signature, and as features of `tf.train.Example`.

A SavedModel's signatures know named tensors only: no nulls and no lists. This module says which tensors stand for a
column, and turns them back into the values that the compiled function takes. Turning Arrow tables into such requests is
`trainer.export_requests`; what is computed from the values is `trainer.export`.

As tensors (signature ``serving_default``), a column ``x`` is

* not nullable: ``x`` [batch];
* nullable: ``x`` [batch] and ``x__present`` [batch], bool; what stands in ``x`` where it is not present is ignored;
* a list: ``x`` [batch, longest], padded at the end with anything, and ``x__lengths`` [batch], int64. All tensors have
  the batch first, so that a server may put requests together.

As features of an Example (signature ``examples``), a missing value and an empty list are a missing (or empty) feature.
``tf.train.Example`` has no double: a float list ``x`` is exact only for values that are float32. Beside it stands
``x__float64``, a bytes list whose every item is one little-endian IEEE 754 double; a row gives either the one or the
other. bool and uint64 travel as int64, uint64 with the same bits.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from transforms.types import ColumnType, DType, Shape
from transforms.values import TF_DTYPES, Nullable, Value, zero_where_missing

_EXAMPLE = {
    DType.STRING: tf.string,
    DType.BOOL: tf.int64,
    DType.INT64: tf.int64,
    DType.UINT64: tf.int64,
    DType.FLOAT32: tf.float32,
    DType.FLOAT64: tf.float32,
}
"""The dtype of a column's feature in an Example."""

_TENSOR_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


@dataclass(frozen=True)
class Input:
    """A raw column of an exported model, and the names under which a request gives it.

    Attributes:
      column: its name in the log, which is also its feature's name in an Example.
      type: its type; scalar or ragged.
      tensor: name of its tensor.
      companion: name of the tensor that says what is present (nullable) or how long lists are (ragged), or None.
      exact: name of the Example's bytes feature that carries doubles; float64 columns only.
    """

    column: str
    type: ColumnType
    tensor: str
    companion: str | None
    exact: str | None

    @property
    def is_list(self) -> bool:
        """Whether a row has any number of values."""
        return self.type.shape is Shape.RAGGED

    @property
    def tensor_dtype(self) -> Any:
        """The dtype of its tensor."""
        return TF_DTYPES[self.type.dtype]

    @property
    def example_dtype(self) -> Any:
        """The dtype of its feature in an Example."""
        return _EXAMPLE[self.type.dtype]

    def specs(self) -> dict[str, Any]:
        """Name and `tf.TensorSpec` of the tensors that stand for this column."""
        shape = [None, None] if self.is_list else [None]
        specs = {self.tensor: tf.TensorSpec(shape, self.tensor_dtype, name=self.tensor)}
        if self.companion is not None:
            dtype = tf.int64 if self.is_list else tf.bool
            specs[self.companion] = tf.TensorSpec([None], dtype, name=self.companion)
        return specs

    def from_tensors(self, tensors: Mapping[str, Any]) -> Value:
        """This column's values from the tensors of a request."""
        values = tensors[self.tensor]
        if self.companion is None:
            return values
        companion = tensors[self.companion]
        same_rows = tf.debugging.assert_equal(
            tf.shape(values, tf.int64)[0],
            tf.shape(companion, tf.int64)[0],
            message=f"inputs {self.tensor!r} and {self.companion!r} differ in their number of rows",
        )
        if not self.is_list:
            with tf.control_dependencies([same_rows]):
                return zero_where_missing(values, companion)
        longest = tf.shape(values, tf.int64)[1]
        in_range = tf.debugging.Assert(
            tf.reduce_all((companion >= 0) & (companion <= longest)),
            [f"input {self.companion!r} has a length that {self.tensor!r} is not wide enough for, or a negative one"],
        )
        with tf.control_dependencies([same_rows, in_range]):
            inside = tf.sequence_mask(companion, longest)
        return tf.RaggedTensor.from_row_lengths(tf.boolean_mask(values, inside), companion, validate=False)

    def example_features(self) -> dict[str, Any]:
        """What `tf.io.parse_example` has to parse for this column."""
        features = {self.column: tf.io.RaggedFeature(self.example_dtype, row_splits_dtype=tf.int64)}
        if self.exact is not None:
            features[self.exact] = tf.io.RaggedFeature(tf.string, row_splits_dtype=tf.int64)
        return features

    def from_parsed(self, parsed: Mapping[str, Any]) -> Value:
        """This column's values from parsed Examples."""
        lists = self._in_tensor_dtype(parsed[self.column])
        if self.exact is None:
            return lists if self.is_list else self._scalars(*_first(lists), lists.row_lengths())
        exact = _doubles(parsed[self.exact], self.exact)
        both = tf.reduce_any((lists.row_lengths() > 0) & (exact.row_lengths() > 0))
        message = f"features {self.column!r} and {self.exact!r} are both given in a row: one or the other is expected"
        with tf.control_dependencies([tf.debugging.Assert(tf.logical_not(both), [message])]):
            lengths = lists.row_lengths() + exact.row_lengths()
        if self.is_list:
            # Each row's values are in one of the two lists; which come first does not matter.
            return tf.RaggedTensor.from_row_lengths(tf.concat([lists, exact], axis=1).values, lengths, validate=False)
        (rounded, _), (doubles, given) = _first(lists), _first(exact)
        return self._scalars(tf.where(given, doubles, rounded), lengths > 0, lengths)

    def _in_tensor_dtype(self, lists: Any) -> Any:
        return (
            lists if lists.dtype == self.tensor_dtype else lists.with_values(tf.cast(lists.values, self.tensor_dtype))
        )

    def _scalars(self, values: Any, present: Any, lengths: Any) -> Value:
        """The values of a scalar column, where each row has as many as it may."""
        few = tf.debugging.Assert(
            tf.reduce_all(lengths <= 1), [f"feature {self.column!r} has more than one value in a row"]
        )
        if self.type.nullable:
            with tf.control_dependencies([few]):
                return Nullable(tf.identity(values), present)
        enough = tf.debugging.Assert(
            tf.reduce_all(present), [f"feature {self.column!r} is missing in a row and may not be"]
        )
        with tf.control_dependencies([few, enough]):
            return tf.identity(values)


def inputs_of(columns: Mapping[str, ColumnType]) -> tuple[Input, ...]:
    """The inputs that stand for ``columns``, in order of the columns' names.

    A column keeps its name where TensorFlow takes it as an argument's; another name becomes one that it takes (the
    names that differ only by case, are Python keywords, start with an underscore or are not ASCII do not pass).
    """
    tensors, features = _Names(fold=True), _Names(fold=False)
    ordered = sorted(columns, key=lambda column: (_tensor_name(column) != column, column))
    names = {column: tensors.claim(_tensor_name(column)) for column in ordered}
    for column in sorted(columns):
        features.claim(column)
    inputs = []
    for column in sorted(columns):
        kind, companion, exact = columns[column], None, None
        if kind.shape is Shape.RAGGED:
            companion = tensors.claim(names[column] + "__lengths")
        elif kind.nullable:
            companion = tensors.claim(names[column] + "__present")
        if kind.dtype is DType.FLOAT64:
            exact = features.claim(column + "__float64")
        inputs.append(Input(column, kind, names[column], companion, exact))
    return tuple(inputs)


def tensor_specs(inputs: Iterable[Input]) -> dict[str, Any]:
    """Name and `tf.TensorSpec` of every tensor that a request gives."""
    return {name: spec for entry in inputs for name, spec in entry.specs().items()}


def columns_from_tensors(inputs: Iterable[Input], tensors: Mapping[str, Any]) -> dict[str, Value]:
    """The raw columns that a request of tensors holds."""
    return {entry.column: entry.from_tensors(tensors) for entry in inputs}


def columns_from_examples(inputs: Iterable[Input], serialized: Any) -> dict[str, Value]:
    """The raw columns that serialized Examples [batch] hold."""
    entries = tuple(inputs)
    features = {name: feature for entry in entries for name, feature in entry.example_features().items()}
    parsed = tf.io.parse_example(serialized, features)
    return {entry.column: entry.from_parsed(parsed) for entry in entries}


def _first(lists: Any) -> tuple[Any, Any]:
    """Each row's first value, zero where it has none, and which rows have one."""
    starts, present = lists.row_splits[:-1], lists.row_lengths() > 0
    end = tf.size(lists.values, tf.int64)  # where the zero stands
    values = tf.concat([lists.values, tf.zeros([1], lists.values.dtype)], 0)
    return tf.gather(values, tf.where(present, starts, end)), present


def _doubles(items: Any, name: str) -> Any:
    sized = tf.debugging.Assert(
        tf.reduce_all(tf.equal(tf.strings.length(items.values), 8)),
        [f"feature {name!r} has an item that is not 8 bytes long: one little-endian double each is expected"],
    )
    with tf.control_dependencies([sized]):
        decoded = tf.io.decode_raw(items.values, tf.float64, little_endian=True)
    return items.with_values(tf.reshape(decoded, [-1]))


def _tensor_name(column: str) -> str:
    """The nearest name to ``column`` that TensorFlow takes as an argument of a signature."""
    name = re.sub(r"[^A-Za-z0-9_]", "_", column)
    if not _TENSOR_NAME.fullmatch(name) or keyword.iskeyword(name) or name == "self":
        return "column_" + name.lstrip("_")
    return name


class _Names:
    """Hands each name out once, numbered where it is taken."""

    def __init__(self, fold: bool):
        self._fold = fold  # TensorFlow tells the names of tensors apart without regard to case
        self._taken: set[str] = set()

    def claim(self, wanted: str) -> str:
        name, number = wanted, 2
        while self._key(name) in self._taken:
            name, number = f"{wanted}_{number}", number + 1
        self._taken.add(self._key(name))
        return name

    def _key(self, name: str) -> str:
        return name.lower() if self._fold else name
