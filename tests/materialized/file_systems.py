"""File systems for tests: one that counts what is read of it, and one that cannot be written."""

from __future__ import annotations

import io
from typing import Any

import pyarrow as pa
import pyarrow.fs


class Watched(pyarrow.fs.FileSystemHandler):
    """A local folder as a remote file system that notes which bytes of which file are read, and may refuse writes."""

    def __init__(self, folder: str, writable: bool = True):
        self.inner = pyarrow.fs.SubTreeFileSystem(folder, pyarrow.fs.LocalFileSystem())
        self.writable = writable
        self.bytes_read: dict[str, int] = {}
        self.listed: list[str] = []

    def _require_writable(self) -> None:
        if not self.writable:
            raise PermissionError(13, "this bucket is for reading")

    def open_input_file(self, path: str) -> pa.NativeFile:
        return pa.PythonFile(_Counting(self, path), mode="r")

    def open_input_stream(self, path: str) -> pa.NativeFile:
        return self.open_input_file(path)

    def open_output_stream(self, path: str, metadata: Any) -> pa.NativeFile:
        self._require_writable()
        return self.inner.open_output_stream(path)

    def open_append_stream(self, path: str, metadata: Any) -> pa.NativeFile:
        raise PermissionError(13, "no object is ever appended to")

    def get_file_info(self, paths: list[str]) -> Any:
        return self.inner.get_file_info(paths)

    def get_file_info_selector(self, selector: pyarrow.fs.FileSelector) -> Any:
        self.listed.append(selector.base_dir)
        return self.inner.get_file_info(selector)

    def create_dir(self, path: str, recursive: bool) -> None:
        self._require_writable()
        self.inner.create_dir(path, recursive=recursive)

    def delete_file(self, path: str) -> None:
        self._require_writable()
        self.inner.delete_file(path)

    def delete_dir(self, path: str) -> None:
        raise PermissionError(13, "no folder is ever deleted")

    def delete_dir_contents(self, path: str, missing_dir_ok: bool = False) -> None:
        raise PermissionError(13, "no folder is ever deleted")

    def delete_root_dir_contents(self) -> None:
        raise PermissionError(13, "no folder is ever deleted")

    def move(self, source: str, target: str) -> None:
        raise PermissionError(13, "nothing is ever moved")

    def copy_file(self, source: str, target: str) -> None:
        raise PermissionError(13, "nothing is ever copied")

    def normalize_path(self, path: str) -> str:
        return path

    def get_type_name(self) -> str:
        return "watched"


class _Counting(io.RawIOBase):
    def __init__(self, handler: Watched, path: str):
        self._handler = handler
        self._path = path
        self._data = handler.inner.open_input_stream(path).read()
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        end = len(self._data) if size < 0 else self._at + size
        data = self._data[self._at : end]
        self._at += len(data)
        self._handler.bytes_read[self._path] = self._handler.bytes_read.get(self._path, 0) + len(data)
        return data

    def seek(self, offset: int, whence: int = 0) -> int:
        self._at = offset + (0, self._at, len(self._data))[whence]
        return self._at

    def tell(self) -> int:
        return self._at


def watched(folder: str, writable: bool = True) -> tuple[pyarrow.fs.FileSystem, Watched]:
    """A file system on ``folder`` and the handler that notes what happens to it."""
    handler = Watched(folder, writable)
    return pyarrow.fs.PyFileSystem(handler), handler
