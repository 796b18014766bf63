"""Write groups: which columns lie together in a file, and what they mean.

A group is named by a digest of its column identities. Its descriptor is kept once for all chunks, so that finding what
a chunk has takes one listing and no more reads than there are distinct groups. It also keeps the part of the feature
graph that computes its columns, so that a column that is no longer asked for can be explained.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from materialized import layout
from materialized.errors import MismatchError
from materialized.store import Store
from transforms.canonical import digest
from transforms.types import ColumnType


@dataclass(frozen=True)
class GroupColumn:
    """A column of a group.

    Attributes:
      identity: the column's identity.
      type: its type.
      labels: ``model.role`` of those that asked for it when it was computed, for people.
    """

    identity: str
    type: ColumnType
    labels: tuple[str, ...] = ()


@dataclass(frozen=True)
class GroupDescriptor:
    """The columns of a write group.

    Attributes:
      columns: at least one, each identity once; kept sorted by identity, whatever the order given.
      subgraph: what computes them, as `materialized.missing.Lineage` writes it; may be empty.
    """

    columns: tuple[GroupColumn, ...]
    subgraph: str = ""

    def __post_init__(self) -> None:
        identities = [column.identity for column in self.columns]
        if not identities or len(set(identities)) != len(identities):
            raise ValueError(f"a group has at least one column and each of them once, got {identities}")
        object.__setattr__(self, "columns", tuple(sorted(self.columns, key=lambda column: column.identity)))

    @property
    def group(self) -> str:
        """The group's identity: a digest of its columns' identities."""
        return digest([column.identity for column in self.columns])

    @property
    def types(self) -> dict[str, ColumnType]:
        """Type of each column, by identity, in the order of `columns`."""
        return {column.identity: column.type for column in self.columns}


def write_group(store: Store, descriptor: GroupDescriptor) -> bool:
    """Keeps ``descriptor``; says whether it was not there before. Labels of whoever is first are the ones kept."""
    content = {
        "group": descriptor.group,
        "columns": [
            {"identity": column.identity, "type": column.type.to_json(), "labels": column.labels}
            for column in descriptor.columns
        ],
        "subgraph": descriptor.subgraph,
    }
    return store.write_once(layout.group(descriptor.group), json.dumps(content, indent=1).encode())


def read_group(store: Store, group: str) -> GroupDescriptor:
    """The descriptor of ``group``.

    Raises:
      FileNotFoundError: there is none.
      MismatchError: what is there is not the descriptor of this group.
    """
    key = layout.group(group)
    data = store.read(key)
    try:
        content = json.loads(data)
        columns = tuple(
            GroupColumn(column["identity"], ColumnType.from_json(column["type"]), tuple(column["labels"]))
            for column in content["columns"]
        )
        descriptor = GroupDescriptor(columns, content["subgraph"])
    except (ValueError, KeyError, TypeError) as error:
        raise MismatchError(f"{store.path}/{key}: expected a group descriptor, found {data[:80]!r}") from error
    if descriptor.group != group:
        raise MismatchError(
            f"{store.path}/{key}: expected the columns of group {group}, found those of {descriptor.group}"
        )
    return descriptor
