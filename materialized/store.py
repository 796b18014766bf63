"""A store: a folder of immutable files with a format version, on a local disk or in an object store.

A store knows keys and bytes and how they are committed. What keys there are is `materialized.layout`; what the bytes
mean is the business of the modules beside this one. A `Store` is a small value that can be sent to other processes.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.fs

from materialized import layout
from materialized.errors import FormatVersionError, NotAStoreError, ReadOnlyStoreError, WriteError
from materialized.files import LocalFiles, RemoteFiles

_STORE_FILE_BYTES = json.dumps({"format": layout.FORMAT}).encode() + b"\n"


@dataclass(frozen=True)
class Store:
    """An open store.

    Attributes:
      path: the path or URI it was opened by, for messages.
      files: where its files are.
    """

    path: str
    files: LocalFiles | RemoteFiles

    @classmethod
    def create(cls, path: str | os.PathLike[str], filesystem: pyarrow.fs.FileSystem | None = None) -> Store:
        """Makes an empty store at ``path``, or opens the one that is there.

        Args:
          path: a local path, or a URI that `pyarrow.fs` knows (``gs://…``, ``s3://…``).
          filesystem: where ``path`` is, if it says so itself neither by a scheme nor by being local.

        Raises:
          NotAStoreError: something else is at ``path``.
          FormatVersionError: a store of another format version is there.
          ReadOnlyStoreError: it cannot be written.
        """
        return cls.open(path, create=True, filesystem=filesystem)

    @classmethod
    def open(
        cls, path: str | os.PathLike[str], create: bool = False, filesystem: pyarrow.fs.FileSystem | None = None
    ) -> Store:
        """The store at ``path``; with ``create``, makes it where nothing is. Arguments and errors as in `create`."""
        store = cls(os.fspath(path), _files(os.fspath(path), filesystem))
        if isinstance(store.files, LocalFiles):
            check_folder(store.files.root, store.path)
        if not store.exists(layout.STORE_FILE):
            found = [name for name in store.files.list("") if name != layout.TEMPORARY]
            # Another process may be making this store, and have made it since the look above.
            if not store.exists(layout.STORE_FILE):
                if found:
                    raise NotAStoreError(
                        f"{store.path}: expected a store, found a folder without {layout.STORE_FILE},"
                        f" with {found[0]!r} in it"
                    )
                if not create:
                    raise NotAStoreError(f"{store.path}: expected a store, found nothing")
                store.write_once(layout.STORE_FILE, _STORE_FILE_BYTES)
        store._check_format()
        return store

    def _check_format(self) -> None:
        text = self.read(layout.STORE_FILE)
        try:
            version = json.loads(text)["format"]
        except (ValueError, KeyError, TypeError) as error:
            raise NotAStoreError(
                f"{self.path}/{layout.STORE_FILE}: found no format version in {text[:80]!r}"
            ) from error
        if version != layout.FORMAT:
            raise FormatVersionError(
                f"{self.path}: found a store of format version {version!r}, expected {layout.FORMAT},"
                " the one that this Forebay knows"
            )

    def require_writable(self) -> None:
        """Tries to write, so that what has to write fails before its work and not after.

        Raises:
          ReadOnlyStoreError: the store cannot be written.
        """
        try:
            self.files.probe()
        except OSError as error:
            raise self._read_only(error) from error

    @property
    def writable(self) -> bool:
        """Whether the store can be written, by trying."""
        try:
            self.files.probe()
        except OSError:
            return False
        return True

    def write_once(self, key: str, data: bytes) -> bool:
        """Commits ``data`` at ``key``, whole, unless something is there already.

        Returns:
          Whether this call committed; False means that the file was there, and it is unchanged.

        Raises:
          ReadOnlyStoreError: the store cannot be written.
          WriteError: the store can be written, and this file could not.
        """
        try:
            return self.files.write_once(key, data)
        except PermissionError as error:
            raise self._read_only(error) from error
        except OSError as error:
            if isinstance(self.files, LocalFiles) and self.files.root.exists() and self.writable:
                size = f"{key} of {len(data):,} bytes"
                raise WriteError(f"{self.path}: cannot write {size}: {error.strerror or error}") from error
            raise self._read_only(error) from error

    def _read_only(self, error: OSError) -> ReadOnlyStoreError:
        return ReadOnlyStoreError(f"{self.path}: the store cannot be written: {error}")

    def read(self, key: str) -> bytes:
        """The bytes at ``key``.

        Raises:
          FileNotFoundError: nothing is there.
        """
        with self.open_file(key) as file:
            return bytes(file.read())

    def open_file(self, key: str) -> pa.NativeFile:
        """The file at ``key``, for reading at random. Raises FileNotFoundError as `read` does."""
        return self.files.open(key)

    def exists(self, key: str) -> bool:
        """Whether a file is at ``key``."""
        return self.files.exists(key)

    def list(self, folder: str) -> tuple[str, ...]:
        """Keys of the files directly in ``folder``, sorted; none where there is no such folder."""
        return tuple(f"{folder}/{name}" for name in self.files.list(folder))


def check_folder(root: Path, path: str) -> None:
    """Refuses a local folder ``root`` that neither is there nor can be made; messages call it ``path``.

    Raises:
      NotAStoreError: a file, or a symbolic link to nothing, is there or on the way there.
    """
    for place in (root, *root.parents):
        if place.is_dir():
            return
        if place.exists() or place.is_symlink():
            found = "a file" if place.exists() else "a symbolic link to nothing"
            at = "" if place == root else f" at {place}"
            raise NotAStoreError(f"{path}: expected a store, found {found}{at}")


def _files(path: str, filesystem: pyarrow.fs.FileSystem | None) -> LocalFiles | RemoteFiles:
    if filesystem is not None:
        return RemoteFiles(filesystem, path)
    if "://" not in path:
        return LocalFiles(Path(path).absolute())
    try:
        found, root = pyarrow.fs.FileSystem.from_uri(path)
    except (ValueError, OSError) as error:  # Arrow's own errors derive from these two
        raise NotAStoreError(f"{path}: expected a local path, gs:// or s3://: {error}") from error
    if isinstance(found, pyarrow.fs.LocalFileSystem):
        return LocalFiles(Path(root).absolute())
    return RemoteFiles(found, root)
