"""The files of a log: which there are, in what order, and the digest of each one's bytes.

A dataset's path is a file, a directory or a glob; what exists under that very name goes before a glob. A directory is
searched through, and every file in it is data. Files and directories whose names begin with ``.`` or ``_`` are ignored,
as are symbolic links to directories met on the way; links to files are followed. The order is that of the paths as text
(``10.csv`` before ``9.csv``), whatever the file system's order.
"""

from __future__ import annotations

import glob
import hashlib
import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from materialized import layout
from materialized.errors import SourceError
from materialized.store import Store
from transforms.canonical import digest
from transforms.specs import DatasetSpec

_READ_BYTES = 4 * 2**20

SETTLED_SECONDS = 2.0
"""How long ago a file must have changed last for its digest to be remembered: a change within the file system's clock
tick would leave the same times."""


@dataclass(frozen=True)
class LogFile:
    """A file of a log as it is now.

    Attributes:
      path: absolute, symbolic links not resolved.
      bytes: its size.
      version: (inode, size, mtime_ns, ctime_ns); with the path it remembers a digest, and is never part of an identity.
    """

    path: str
    bytes: int
    version: tuple[int, int, int, int]


def find_files(dataset: DatasetSpec) -> tuple[LogFile, ...]:
    """The dataset's files, sorted by path.

    Raises:
      SourceError: there are none, or the path is not local.
    """
    place = f"dataset {dataset.name!r}" + (f" ({dataset.place})" if dataset.place else "")
    if "://" in dataset.path:
        raise SourceError(f"{place}: expected a local path to the log, found {dataset.path!r}")
    base = Path(dataset.place.file).parent if dataset.place else Path()
    path = os.path.abspath(base / dataset.path)
    if os.path.isdir(path):
        paths = sorted(_walk(path))
        if not paths:
            raise SourceError(
                f"{place}: expected files in {path}, found an empty directory (. and _ names are ignored)"
            )
    elif os.path.exists(path):
        paths = [path]
    else:
        paths = sorted(_matches(path))
        if not paths:
            expected = "files that match" if glob.has_magic(path) else "a file or directory at"
            raise SourceError(f"{place}: expected {expected} {path}, found nothing")
    return tuple(_look_at(path) for path in paths)


def _ignored(name: str) -> bool:
    return name.startswith((".", "_"))


def _walk(folder: str) -> Iterator[str]:
    for root, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not _ignored(name)]
        paths = (os.path.join(root, name) for name in names if not _ignored(name))
        yield from (path for path in paths if os.path.isfile(path))


def _matches(pattern: str) -> Iterator[str]:
    parts = Path(pattern).parts
    fixed = next((index for index, part in enumerate(parts) if glob.has_magic(part)), len(parts))
    for path in glob.glob(pattern, recursive=True):
        if os.path.isfile(path) and not any(_ignored(part) for part in Path(path).parts[fixed:]):
            yield path


def _look_at(path: str) -> LogFile:
    try:
        status = os.stat(path)
    except OSError as error:
        raise SourceError(f"{path}: expected a file of the log: {error.strerror}") from error
    return LogFile(path, status.st_size, (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns))


def file_digest(file: LogFile, store: Store | None) -> str:
    """SHA-256 of the file's bytes, from memory where ``store`` remembers it for this path and version.

    What was read is remembered if the store can be written and the file has been still for `SETTLED_SECONDS`.

    Raises:
      SourceError: the file cannot be read, or changed since it was found.
    """
    key = layout.source_digest(digest({"path": file.path, "version": list(file.version)}))
    if store is not None and (remembered := _remembered(store, key)):
        return remembered
    found = _read_digest(file)
    settled = time.time() - max(file.version[2:]) / 1e9 > SETTLED_SECONDS
    if store is not None and settled and store.writable:
        store.write_once(key, json.dumps({"sha256": found}).encode())
    return found


def require_unchanged(path: str, expected: str, store: Store | None) -> None:
    """Refuses a file whose bytes are no longer those that its chunks are named after.

    To be asked after the file has been read: what was read is then known to be what the names say.

    Args:
      path: the file.
      expected: SHA-256 of its bytes when it was found.
      store: what remembers digests; with it, a file that did not change is not read again.

    Raises:
      SourceError: the file changed.
    """
    found = file_digest(_look_at(path), store)
    if found != expected:
        raise SourceError(
            f"{path}: expected the file with SHA-256 {expected}, as when it was found, found {found}; "
            "the files of a log must be complete"
        )


def _remembered(store: Store, key: str) -> str | None:
    try:
        found = json.loads(store.read(key))["sha256"]
    except (FileNotFoundError, ValueError, KeyError, TypeError):  # a memory only: what it lacks is read again
        return None
    return found if isinstance(found, str) else None


def _read_digest(file: LogFile) -> str:
    state = hashlib.sha256()
    try:
        with open(file.path, "rb") as stream:
            while block := stream.read(_READ_BYTES):
                state.update(block)
    except OSError as error:
        raise SourceError(f"{file.path}: the file cannot be read: {error.strerror}") from error
    if _look_at(file.path) != file:
        raise SourceError(f"{file.path}: the file changed while it was read; the files of a log must be complete")
    return state.hexdigest()
