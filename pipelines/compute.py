"""Computing columns of a chunk: the nodes to compute, compiled once per process, over the raw columns that they need.

Reading raw columns is `materialized.raw_rows`, compiling `transforms.compiler`; here they meet. A chunk is read once,
and goes through the compiled function in blocks of rows, so that intermediate values stay small; a row's result does
not depend on the block that it is in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import pyarrow as pa

from materialized.assets import load_asset
from materialized.chunks import ChunkEntry
from materialized.raw_rows import read_raw
from materialized.store import Store
from transforms import startup_noise
from transforms.nodes import Node, walk

ROWS_PER_CALL = 65_536
"""Rows that go through the compiled function at a time; more need more memory, fewer more time."""


@dataclass(frozen=True)
class Program:
    """Columns to compute, and where their assets are; equal programs are compiled once per process.

    Attributes:
      store: where assets and ingested rows lie; programs are compared by its path, since file systems have no hash.
      path: the store's.
      columns: node of each column, by column identity, sorted.
      assets: column identity of each analyzer that the nodes need, by the analyzer's node identity, sorted.
    """

    store: Store = field(compare=False)
    path: str = field(init=False)
    columns: tuple[tuple[str, Node], ...]
    assets: tuple[tuple[str, str], ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", self.store.path)

    @classmethod
    def of(cls, store: Store, nodes: Mapping[str, Node], identities: Mapping[str, str]) -> Program:
        """The program that computes ``nodes``.

        Args:
          store: where assets and ingested rows lie.
          nodes: what to compute, by column identity.
          identities: the column identity of every node, by node identity, as a plan has it.
        """
        assets = {node.identity: identities[node.identity] for node in walk(list(nodes.values())) if node.analyzer}
        return cls(store, tuple(sorted(nodes.items())), tuple(sorted(assets.items())))

    def only(self, columns: frozenset[str]) -> Program:
        """The program that computes some of the columns."""
        nodes = {identity: node for identity, node in self.columns if identity in columns}
        return Program.of(self.store, nodes, dict(self.assets))

    def compute(self, entry: ChunkEntry) -> pa.Table:
        """The columns for all rows of a chunk, named by their identities; raw columns are read once.

        Raises:
          InputError: raw rows are not what they should be.
          ForebayError: an asset is not there, or damaged.
        """
        transform = _compiled(self)
        raw = read_raw(self.store, entry, transform.inputs) if transform.inputs else _rows_alone(entry)
        starts = range(0, max(raw.num_rows, 1), ROWS_PER_CALL)
        blocks = [transform.apply(raw.slice(start, ROWS_PER_CALL)) for start in starts]
        return pa.concat_tables(blocks)


def _rows_alone(entry: ChunkEntry) -> pa.Table:
    """As many rows as the chunk has, for columns that read none of the log's."""
    if entry.rows is None:
        raise ValueError(f"{entry} has not been ingested: its number of rows is not known")
    return pa.table({"row": pa.nulls(entry.rows)})


@lru_cache(maxsize=16)
def _compiled(program: Program) -> Any:
    startup_noise.install()
    from transforms.compiler import compile_nodes  # TensorFlow, which processes that only plan jobs do without

    assets = {node: load_asset(program.store, identity).asset for node, identity in program.assets}
    return compile_nodes(dict(program.columns), assets)
