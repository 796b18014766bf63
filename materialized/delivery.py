"""The order in which rows are delivered, and the position that says how far: every row exactly once an epoch.

Rows are read in blocks, runs of rows of one manifest entry. With a seed, an epoch's blocks come in a permutation and
the rows inside each block in another; both depend on the seed, the epoch and the block alone. So a position needs three
numbers to continue exactly, whatever was filtered and however batches fell. Nothing here knows TensorFlow.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from materialized.chunk_files import ChunkColumns
from materialized.chunks import ChunkEntry
from materialized.errors import LabelError, MismatchError
from materialized.inventory import Inventory
from materialized.orders import permutation
from materialized.packing import PackedRows, Packing, join
from materialized.splits import Split
from materialized.store import Store
from transforms.types import ColumnType

FILTER, LABEL, SPLIT, WEIGHT = "filter", "label", "split", "weight"
"""Roles of columns that are not features."""

_OPEN_CHUNKS = 32


class Position(NamedTuple):
    """How far rows have been delivered.

    Attributes:
      epoch: the epoch, from 0.
      block: index of the block in that epoch's order.
      rows: rows of that block that are done, in the block's order of that epoch and before filtering.
    """

    epoch: int
    block: int
    rows: int


@dataclass(frozen=True)
class Block:
    """A run of rows of a manifest entry."""

    entry: ChunkEntry
    rows: range


@dataclass(frozen=True)
class Source:
    """Where delivered rows come from.

    Attributes:
      store: where the columns are.
      columns: column identity and type of each role.
      split: which rows are held out.
      part: "all", "train" or "evaluate".
    """

    store: Store
    columns: Mapping[str, tuple[str, ColumnType]]
    split: Split
    part: str


class BlockReader:
    """Reads blocks: decodes only the columns asked for, and says which rows are delivered."""

    def __init__(self, source: Source, roles: Sequence[str]):
        """Reads ``roles`` of ``source``, and the filter and split columns where rows depend on them."""
        used = set(roles)
        if FILTER in source.columns:
            used.add(FILTER)
        if source.split.needs_column and source.part != "all":
            used.add(SPLIT)
        self._source = source
        self._roles = {role: source.columns[role] for role in sorted(used)}
        self._inventory = Inventory(source.store)
        self._opened: OrderedDict[str, ChunkColumns] = OrderedDict()

    def rows(self, entry: ChunkEntry) -> int:
        """Number of rows of ``entry``. Raises what opening its files raises."""
        if not self._roles:
            if entry.rows is None:
                raise MismatchError(f"{entry}: its number of rows is not known, and no column is asked for")
            return entry.rows
        found = self._open(entry).rows
        if entry.rows is not None and found != entry.rows:
            raise MismatchError(
                f"{self._source.store.path}: expected {entry.rows} rows of chunk {entry.chunk} ({entry}), found {found}"
            )
        return found

    def _open(self, entry: ChunkEntry) -> ChunkColumns:
        if entry.chunk in self._opened:
            self._opened.move_to_end(entry.chunk)
        else:
            types = {identity: column_type for identity, column_type in self._roles.values()}
            self._opened[entry.chunk] = ChunkColumns(self._source.store, entry.chunk, types, self._inventory)
            if len(self._opened) > _OPEN_CHUNKS:
                self._opened.popitem(last=False)
        return self._opened[entry.chunk]

    def read(self, block: Block) -> tuple[pa.Table, npt.NDArray[np.bool_]]:
        """The block's rows, columns named by role, and which of them the filter and the split keep."""
        if not self._roles:
            table, column = pa.table({}), None
        else:
            columns = self._open(block.entry).read(block.rows)
            table = pa.table(
                [columns.column(identity) for identity, _ in self._roles.values()], names=list(self._roles)
            )
            column = _true(table, SPLIT) if SPLIT in self._roles else None
        keep = self._source.split.keep(block.entry, block.rows, self._source.part, column)
        if FILTER in self._roles:
            keep = keep & _true(table, FILTER)
        return table, keep


def _true(table: pa.Table, role: str) -> npt.NDArray[np.bool_]:
    return table.column(role).fill_null(False).to_numpy()


def blocks_of(reader: BlockReader, entries: Sequence[ChunkEntry], block_rows: int) -> tuple[Block, ...]:
    """The blocks of ``entries`` in order: ``block_rows`` rows each, an entry's last one fewer."""
    return tuple(
        Block(entry, range(start, min(start + block_rows, rows)))
        for entry in entries
        for rows in [reader.rows(entry)]
        for start in range(0, rows, block_rows)
    )


@dataclass(frozen=True)
class Delivery:
    """A way through some blocks.

    Attributes:
      blocks: all of them, in the log's order.
      batch_size: rows per batch.
      shuffle_seed: of the order; None delivers in the log's order.
      epochs: how many; None goes on without end.
      drop_remainder: whether an epoch's last, smaller batch is left out.
    """

    blocks: tuple[Block, ...]
    batch_size: int
    shuffle_seed: int | None = None
    epochs: int | None = 1
    drop_remainder: bool = False

    def batches(
        self, reader: BlockReader, packing: Packing, start: Position | None = None
    ) -> Iterator[tuple[PackedRows, Position]]:
        """Batches of ``packing``'s columns from ``start`` on, each with the position after it.

        A batch does not reach over the end of an epoch. While one block is delivered, a thread decodes the next.
        """
        position = start or Position(0, 0, 0)
        with ThreadPoolExecutor(1, thread_name_prefix="forebay-blocks") as threads:
            while self.epochs is None or position.epoch < self.epochs:
                delivered = False
                for batch in self._epoch(threads, reader, packing, position):
                    delivered = True
                    yield batch
                if not delivered and position.block == position.rows == 0:
                    return  # no epoch will deliver anything
                position = Position(position.epoch + 1, 0, 0)

    def _epoch(
        self, threads: ThreadPoolExecutor, reader: BlockReader, packing: Packing, start: Position
    ) -> Iterator[tuple[PackedRows, Position]]:
        pending: list[PackedRows] = []
        waiting = 0
        after = start
        for index, rows, ends in self._loaded(threads, reader, packing, start):
            at = 0
            while waiting + len(rows) - at >= self.batch_size:
                stop = at + self.batch_size - waiting
                yield join([*pending, rows.cut(at, stop)]), Position(start.epoch, index, int(ends[stop - 1]))
                pending, waiting, at = [], 0, stop
            if at < len(rows):
                pending.append(rows.cut(at, len(rows)))
                waiting += len(rows) - at
                after = Position(start.epoch, index, int(ends[-1]))
        if pending and not self.drop_remainder:
            yield join(pending), after

    def _loaded(
        self, threads: ThreadPoolExecutor, reader: BlockReader, packing: Packing, start: Position
    ) -> Iterator[tuple[int, PackedRows, npt.NDArray[np.int64]]]:
        order = np.arange(len(self.blocks))
        if self.shuffle_seed is not None:
            order = permutation((self.shuffle_seed, start.epoch), len(self.blocks))

        def load(index: int) -> Future[tuple[PackedRows, npt.NDArray[np.int64]]]:
            number = int(order[index])
            key = None if self.shuffle_seed is None else (self.shuffle_seed, start.epoch, number)
            skipped = start.rows if index == start.block else 0
            return threads.submit(_load, reader, packing, self.blocks[number], key, skipped)

        coming = load(start.block) if start.block < len(order) else None
        for index in range(start.block, len(order)):
            loaded = coming
            coming = load(index + 1) if index + 1 < len(order) else None
            assert loaded is not None
            rows, ends = loaded.result()
            if len(rows):
                yield index, rows, ends


def _load(
    reader: BlockReader, packing: Packing, block: Block, key: tuple[int, ...] | None, skipped: int
) -> tuple[PackedRows, npt.NDArray[np.int64]]:
    """The rows of a block that are delivered, in order, and for each of them how many of the block's rows it ends."""
    table, keep = reader.read(block)
    order = np.arange(len(block.rows)) if key is None else permutation(key, len(block.rows))
    ends = np.flatnonzero(keep[order][skipped:]) + skipped
    chosen = order[ends]
    _require_present(table, block, chosen)
    return packing.pack(table).take(chosen), ends + 1


def _require_present(table: pa.Table, block: Block, chosen: npt.NDArray[np.int64]) -> None:
    for role in (LABEL, WEIGHT):
        if role in table.column_names and (column := table.column(role)).null_count:
            missing = chosen[column.is_null().to_numpy()[chosen]]
            if len(missing):
                row = block.rows.start + int(missing.min())
                raise LabelError(
                    f"{block.entry}: the {role} of row {row} is null, which the filter keeps (rows count from 0)"
                )
