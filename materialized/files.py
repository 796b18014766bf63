"""Files under one root, written once: on a local file system, or on anything that `pyarrow.fs` speaks to.

Both classes have the same five methods. A file that can be seen is whole, and no file is ever changed:

* `LocalFiles` writes a temporary file, flushes it to disk and links it into place; the link fails when the name is
  taken. A process that dies leaves at most a file in the temporary folder, which nothing reads.
* `RemoteFiles` puts one object whose bytes are all in memory. It never streams into the final key: a stream that is
  left by an exception commits what it has. Object stores have no link, so two writers that race may both put; they
  write equal things, and the last put stands.
"""

from __future__ import annotations

import errno
import os
import secrets
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.fs

from materialized import layout

_NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)


@dataclass(frozen=True)
class LocalFiles:
    """Files in the local directory ``root``."""

    root: Path

    def write_once(self, key: str, data: bytes) -> bool:
        """Puts ``data`` at ``key`` unless something is there; says whether it did. Raises OSError."""
        target = self.root / key
        if target.exists():
            return False
        temporary = self._temporary(data)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            os.link(temporary, target)
        except FileExistsError:
            return False
        except OSError as error:
            if error.errno in _NO_LINKS:
                message = f"the file system of {self.root} has no hard links, by which files are committed"
                raise OSError(error.errno, f"{message} ({error.strerror})") from error
            raise
        finally:
            temporary.unlink()
        return True

    def _temporary(self, data: bytes) -> Path:
        folder = self.root / layout.TEMPORARY
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / secrets.token_hex(16)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o444)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        except BaseException:
            path.unlink()
            raise
        return path

    def probe(self) -> None:
        """Raises OSError unless a file can be written, which is tried: permissions alone do not tell."""
        self._temporary(b"").unlink()

    def open(self, key: str) -> pa.NativeFile:
        """The file at ``key`` for reading at random. Raises FileNotFoundError."""
        return pa.memory_map(str(self.root / key)) if os.path.getsize(self.root / key) else pa.BufferReader(b"")

    def exists(self, key: str) -> bool:
        """Whether a file is at ``key``."""
        return (self.root / key).is_file()

    def list(self, folder: str) -> tuple[str, ...]:
        """Names of the entries directly in ``folder``, sorted; none where there is no such folder."""
        try:
            return tuple(sorted(os.listdir(self.root / folder)))
        except (FileNotFoundError, NotADirectoryError):
            return ()


@dataclass(frozen=True)
class RemoteFiles:
    """Files below ``root`` on ``filesystem``: an object store, as a rule."""

    filesystem: pyarrow.fs.FileSystem
    root: str

    def _path(self, key: str) -> str:
        return f"{self.root.rstrip('/')}/{key}" if self.root else key

    def write_once(self, key: str, data: bytes) -> bool:
        """Puts ``data`` at ``key`` unless something is there; says whether it did. Raises OSError."""
        if self.exists(key):
            return False
        self._put(self._path(key), data)
        return True

    def _put(self, path: str, data: bytes) -> None:
        folder = path.rpartition("/")[0]
        if folder and not isinstance(self.filesystem, _WITHOUT_FOLDERS):
            self.filesystem.create_dir(folder, recursive=True)
        stream = self.filesystem.open_output_stream(path)
        stream.write(data)  # not in a `with` block: closing is what commits
        stream.close()

    def probe(self) -> None:
        """Raises OSError unless an object can be put, which is tried."""
        path = self._path(f"{layout.TEMPORARY}/{secrets.token_hex(16)}")
        self._put(path, b"")
        self.filesystem.delete_file(path)

    def open(self, key: str) -> pa.NativeFile:
        """The file at ``key`` for reading at random. Raises FileNotFoundError."""
        return self.filesystem.open_input_file(self._path(key))

    def exists(self, key: str) -> bool:
        """Whether a file is at ``key``."""
        return self.filesystem.get_file_info(self._path(key)).type == pyarrow.fs.FileType.File

    def list(self, folder: str) -> tuple[str, ...]:
        """Names of the entries directly in ``folder``, sorted; none where there is no such folder."""
        selector = pyarrow.fs.FileSelector(self._path(folder) if folder else self.root, allow_not_found=True)
        return tuple(sorted(info.base_name for info in self.filesystem.get_file_info(selector)))


_WITHOUT_FOLDERS = tuple(
    getattr(pyarrow.fs, name) for name in ("S3FileSystem", "GcsFileSystem") if hasattr(pyarrow.fs, name)
)
"""File systems on which a folder is only a common beginning of keys; making one would put an object of its own."""
