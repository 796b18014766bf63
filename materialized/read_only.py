"""A store that is looked at and not touched: what `forebay plan` opens, and what may not exist yet."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pyarrow.fs

from materialized import layout
from materialized.files import LocalFiles, RemoteFiles
from materialized.store import Store, check_folder


def look_at_store(path: str) -> Store | None:
    """The store at ``path``, refusing every write, or None where nothing is there yet.

    Raises:
      NotAStoreError: something else is there.
      FormatVersionError: a store of another format version is there.
    """
    return None if _nothing_at(path) else read_only(Store.open(path))


def read_only(store: Store) -> Store:
    """``store``, behaving like one that cannot be written: it remembers nothing and refuses to commit."""
    if isinstance(store.files, LocalFiles):
        return Store(store.path, _LocalReadOnly(**vars(store.files)))
    return Store(store.path, _RemoteReadOnly(**vars(store.files)))


class _Refuses:
    def write_once(self, key: str, data: bytes) -> bool:
        raise PermissionError(errno.EROFS, "the store was opened for reading only", key)

    def probe(self) -> None:
        raise PermissionError(errno.EROFS, "the store was opened for reading only")


class _LocalReadOnly(_Refuses, LocalFiles):
    pass


class _RemoteReadOnly(_Refuses, RemoteFiles):
    pass


def _nothing_at(path: str) -> bool:
    if "://" not in path:
        check_folder(Path(path).absolute(), path)
        return not os.path.exists(path) or (os.path.isdir(path) and set(os.listdir(path)) <= {layout.TEMPORARY})
    try:
        filesystem, root = pyarrow.fs.FileSystem.from_uri(path)
        return not filesystem.get_file_info(pyarrow.fs.FileSelector(root, allow_not_found=True))
    except (ValueError, OSError):  # what is wrong with the path, opening the store tells
        return False
