"""What a store has of a chunk: one listing a chunk, and each distinct group descriptor read once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from materialized import layout
from materialized.errors import MismatchError
from materialized.groups import GroupDescriptor, read_group
from materialized.store import Store


@dataclass(frozen=True)
class StoredFile:
    """A materialized file: the columns of ``group`` for one chunk, at ``key``, in the format that the suffix says."""

    key: str
    group: str
    suffix: str


class Inventory:
    """Answers what a chunk has, and remembers group descriptors (which never change) but not listings (which do)."""

    def __init__(self, store: Store, formats: tuple[str, ...] = ("parquet", "tfrecord")):
        """Looks at ``store``; of a group that a chunk has in several ``formats``, the first one named here counts."""
        self._store = store
        self._formats = formats
        self._descriptors: dict[str, GroupDescriptor] = {}

    def descriptor(self, group: str) -> GroupDescriptor:
        """The descriptor of ``group``. Raises MismatchError where there is none, or what is there is another's."""
        if group not in self._descriptors:
            try:
                self._descriptors[group] = read_group(self._store, group)
            except FileNotFoundError as error:  # descriptors are committed before files, so it was there
                key = layout.group(group)
                raise MismatchError(f"{self._store.path}/{key}: expected a group descriptor, found nothing") from error
        return self._descriptors[group]

    def stored(self, chunk: str) -> Mapping[str, StoredFile]:
        """The file in which each column of ``chunk`` is found, by column identity.

        A column may lie in several files, where runs with different groups overlapped: the choice depends on names
        alone.
        """
        found: dict[str, StoredFile] = {}
        files = []
        for key in self._store.list(layout.chunk_files(chunk)):
            group, _, suffix = key.rpartition("/")[2].partition(".")
            if suffix in self._formats:
                files.append((group, self._formats.index(suffix), StoredFile(key, group, suffix)))
        for group, _, file in sorted(files, key=lambda item: item[:2]):
            for column in self.descriptor(group).columns:
                found.setdefault(column.identity, file)
        return found

    def files(self, chunk: str) -> Mapping[str, str]:
        """The group in which each column of ``chunk`` is found, by column identity."""
        return {identity: file.group for identity, file in self.stored(chunk).items()}
