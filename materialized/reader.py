"""The in-process reader: a model's materialized columns as a ``tf.data.Dataset``.

What rows come in what order is `materialized.delivery`; this module makes tensors of them. A batch crosses from NumPy
to TensorFlow as a few packed arrays, and is cut into one tensor per feature by TensorFlow itself, so that the cost of a
batch hardly grows with its columns. This is the only module of the room that imports TensorFlow when it is imported.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from materialized.chunk_header import BLOCK_ROWS
from materialized.chunks import ChunkEntry, Manifest
from materialized.delivery import FILTER, LABEL, SPLIT, WEIGHT, BlockReader, Delivery, Position, Source, blocks_of
from materialized.errors import NotMaterializedError
from materialized.packing import PackedRows, Packing
from materialized.plan import Plan
from materialized.splits import Split
from materialized.store import Store
from transforms.errors import ForebayError
from transforms.specs import Evaluate
from transforms.types import ColumnType, DType
from transforms.values import TF_DTYPES

FEATURE = "feature."
"""How the roles of features begin; what follows is the feature's name."""

PARTS = ("all", "train", "evaluate")


class Batch(NamedTuple):
    """Some rows of a model's data.

    Attributes:
      features: by name; ``[batch]``, ``[batch, width]`` or ragged ``[batch, None]``.
      label: ``[batch]`` float32.
      weight: ``[batch]`` float32; ones where the model has no weight.
      position: ``[3]`` int64, a `Position`: how far rows are delivered after this batch.
    """

    features: dict[str, Any]
    label: Any
    weight: Any
    position: Any


class Reader:
    """Reads a model's rows from a store.

    Two passes with the same arguments give the same batches, bit by bit; a pass from a batch's position gives exactly
    the batches that followed it. Each row that the filter and the part keep is delivered exactly once an epoch.
    """

    def __init__(
        self,
        store: Store,
        entries: Sequence[ChunkEntry],
        columns: Mapping[str, tuple[str, ColumnType]],
        evaluate: Evaluate | None = None,
        part: str = "all",
        manifest: Manifest | None = None,
        block_rows: int = BLOCK_ROWS,
    ):
        """Reads ``columns`` of ``entries``.

        Args:
          store: where the columns are.
          entries: which manifest entries, in the log's order.
          columns: identity and type of each column by role: ``feature.NAME``, ``label``, and where the model has them
            ``weight``, ``filter`` and ``split``. Features are not nullable; a label or weight may be, and must then
            have a value in all rows that are delivered.
          evaluate: which rows are held out; None holds out none.
          part: "all" rows, those to "train" on, or those to "evaluate" on.
          manifest: what a slice of chunks in ``evaluate`` counts in; None takes ``entries``.
          block_rows: rows that are decoded and shuffled together.

        Raises:
          SliceError: the slice of chunks is none.
          ValueError: an argument is not what is said above.
        """
        if part not in PARTS:
            raise ValueError(f"expected one of {PARTS} as part, got {part!r}")
        if block_rows < 1:
            raise ValueError(f"expected at least one row per block, got {block_rows}")
        if LABEL not in columns:
            raise ValueError(f"expected a column for the label, got columns for {sorted(columns)}")
        split = Split.of(evaluate, manifest or Manifest("", tuple(entries)))
        if split.needs_column and part != "all" and SPLIT not in columns:
            raise ValueError(f"expected a column for the split by {evaluate}, got columns for {sorted(columns)}")
        self._features = {role: kind for role, (_, kind) in columns.items() if role.startswith(FEATURE)}
        nullable = [role for role, kind in self._features.items() if kind.nullable]
        if nullable:
            raise ValueError(f"expected features that are not nullable, got {nullable}")
        self._delivered = {**self._features, **{role: columns[role][1] for role in (LABEL, WEIGHT) if role in columns}}
        self._source = Source(store, dict(columns), split, part)
        self._entries = split.entries(entries, part)
        self._block_rows = block_rows
        self._packing = Packing.of(self._delivered)
        self._failure: ForebayError | None = None

    @classmethod
    def of(cls, plan: Plan, model: str, store: Store, part: str = "all") -> Reader:
        """A reader of the rows that ``model`` trains on ("train"), is evaluated on ("evaluate"), or both ("all").

        Args:
          plan: has the model.
          model: its name.
          store: where its columns are.
          part: which rows.

        Raises:
          NotMaterializedError: the store lacks some of the model's columns.
          KeyError: the plan has no such model.
        """
        bound = {each.name: each for each in plan.models}[model]
        if missing := plan.missing_of(model):
            raise NotMaterializedError(
                f"{store.path}: {missing} (column, chunk) of model {model} are missing; `forebay materialize` computes "
                "them"
            )
        planned = {role: plan.column(model, role) for role in bound.outputs()}
        columns = {role: (column.identity, column.type) for role, column in planned.items()}
        return cls(store, plan.manifest.entries, columns, bound.spec.train.evaluate, part, plan.manifest)

    @property
    def store(self) -> Store:
        """The store that is read."""
        return self._source.store

    def examples(self) -> int:
        """Number of rows that an epoch delivers, remainder included; reads only the columns that this depends on."""
        reader = BlockReader(self._source, ())
        blocks = blocks_of(BlockReader(self._source, (LABEL,)), self._entries, self._block_rows)
        if FILTER not in self._source.columns and self._source.part == "all":
            return sum(len(block.rows) for block in blocks)
        return sum(int(np.count_nonzero(reader.read(block)[1])) for block in blocks)

    def packed_batches(
        self,
        *,
        batch_size: int,
        shuffle_seed: int | None = None,
        epochs: int | None = 1,
        drop_remainder: bool = False,
        start: Position | None = None,
    ) -> Iterator[tuple[PackedRows, Position]]:
        """What `dataset` delivers, as packed NumPy arrays with the position after each batch; same arguments."""
        delivery = self._delivery(batch_size, shuffle_seed, epochs, drop_remainder)
        return delivery.batches(self._block_reader(), self._packing, start)

    def _delivery(
        self, batch_size: int, shuffle_seed: int | None, epochs: int | None, drop_remainder: bool
    ) -> Delivery:
        if batch_size < 1:
            raise ValueError(f"expected at least one row per batch, got {batch_size}")
        blocks = blocks_of(self._block_reader(), self._entries, self._block_rows)
        return Delivery(blocks, batch_size, shuffle_seed, epochs, drop_remainder)

    def _block_reader(self) -> BlockReader:
        return BlockReader(self._source, tuple(self._delivered))

    def dataset(
        self,
        *,
        batch_size: int,
        shuffle_seed: int | None = None,
        epochs: int | None = 1,
        drop_remainder: bool = False,
        start: Position | None = None,
    ) -> tf.data.Dataset:
        """Batches of the rows, as `Batch`.

        Args:
          batch_size: rows per batch.
          shuffle_seed: of the order of rows, another one each epoch; None delivers them in the log's order.
          epochs: passes over the rows; None goes on without end. No batch reaches over the end of an epoch.
          drop_remainder: whether an epoch's last, smaller batch is left out; the batch dimension is then static.
          start: a batch's position, to go on after it.

        Returns:
          A dataset whose element_spec does not depend on the data.

        Raises:
          NotMaterializedError: a column is not there for some chunk.
          MismatchError: a file is damaged, or is not what it should be. What is found while batches are taken is an
            error of TensorFlow's, except inside of `telling`.
        """
        # Here and not in the generator, where it would need `telling`.
        delivery = self._delivery(batch_size, shuffle_seed, epochs, drop_remainder)

        def generate() -> Iterator[tuple[Any, ...]]:
            try:
                for rows, position in delivery.batches(self._block_reader(), self._packing, start):
                    yield self._arrays(rows, position)
            except ForebayError as error:
                self._failure = error
                raise

        packed = tf.data.Dataset.from_generator(generate, output_signature=self._signature())
        static = batch_size if drop_remainder else None
        return packed.map(lambda *arrays: self._batch(arrays, static)).prefetch(2)

    @contextmanager
    def telling(self) -> Iterator[None]:
        """Around taking batches: what goes wrong when rows are read is raised as itself.

        TensorFlow makes errors of its own of what a dataset raises, in which the message stands amid others.
        """
        try:
            yield
        except tf.errors.OpError as error:
            failure, self._failure = self._failure, None
            if failure is None:
                raise
            raise failure from error

    def _ragged_dtypes(self) -> list[DType]:
        return [dtype for dtype in DType if any(kind.dtype is dtype for _, kind in self._packing.ragged)]

    def _signature(self) -> tuple[tf.TensorSpec, ...]:
        scalars = [
            tf.TensorSpec([len(names), None], TF_DTYPES[dtype]) for dtype, names in self._packing.scalars.items()
        ]
        vectors = [tf.TensorSpec([None, kind.width], TF_DTYPES[kind.dtype]) for _, kind in self._packing.vectors]
        ends = tf.TensorSpec([len(self._packing.ragged), None], tf.int64)
        ragged = [tf.TensorSpec([None], TF_DTYPES[dtype]) for dtype in self._ragged_dtypes()]
        return (tf.TensorSpec([3], tf.int64), *scalars, *vectors, ends, *ragged)

    def _arrays(self, rows: PackedRows, position: Position) -> tuple[npt.NDArray[Any], ...]:
        """What crosses to TensorFlow, in the order of `_signature`; ragged columns of one dtype end to end."""
        ragged: dict[DType, list[npt.NDArray[Any]]] = {dtype: [] for dtype in self._ragged_dtypes()}
        for (_, kind), values in zip(self._packing.ragged, rows.values, strict=True):
            ragged[kind.dtype].append(values)
        flat = [np.concatenate(values) for values in ragged.values()]
        arrays = [*rows.scalars.values(), *rows.vectors, rows.ends, *flat]
        signed = [array.view(np.int64) if array.dtype == np.uint64 else array for array in arrays]
        return (np.array(position, np.int64), *signed)

    def _batch(self, arrays: Sequence[Any], static: int | None) -> Batch:
        """The inverse of `_arrays`, in TensorFlow."""
        position, *rest = arrays
        remaining = iter(rest)
        columns: dict[str, Any] = {}
        for names in self._packing.scalars.values():
            matrix = tf.ensure_shape(next(remaining), [len(names), static])
            columns |= zip(names, tf.unstack(matrix), strict=True)
        for name, kind in self._packing.vectors:
            columns[name] = tf.ensure_shape(next(remaining), [static, kind.width])
        ends = next(remaining)
        splits = tf.unstack(tf.ensure_shape(ends, [len(self._packing.ragged), None if static is None else static + 1]))
        for dtype, flat in zip(self._ragged_dtypes(), remaining, strict=True):
            own = [at for at, (_, kind) in enumerate(self._packing.ragged) if kind.dtype is dtype]
            parts = tf.split(flat, tf.gather(ends[:, -1], own), num=len(own))
            for at, part in zip(own, parts, strict=True):
                name = self._packing.ragged[at][0]
                columns[name] = tf.RaggedTensor.from_row_splits(part, splits[at], validate=False)
        label = tf.cast(columns[LABEL], tf.float32)
        weight = tf.cast(columns[WEIGHT], tf.float32) if WEIGHT in columns else tf.ones_like(label)
        features = {role.removeprefix(FEATURE): columns[role] for role in self._features}
        return Batch(features, label, weight, position)
