"""A raw file as a stream of bytes: decompressed, with a digest of what was read.

What the bytes mean is left to `pipelines.csv_rows` and `pipelines.json_rows`.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from pipelines.errors import LogError

_COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".lz4": "lz4"}

_SIGNATURES = {
    b"\x1f\x8b": "gzip, whose names end in .gz",
    b"BZh9": "bzip2, whose names end in .bz2",
    b"\x28\xb5\x2f\xfd": "zstd, whose names end in .zst",
    b"\x04\x22\x4d\x18": "lz4, whose names end in .lz4",
    b"PAR1\x15": "Parquet",
    b"PK\x03\x04": "zip",
    b"\x89PNG": "PNG",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}
"""How files that are no text begin, and what they are."""

_LOOKED_AT_BYTES = 4096

Open = Callable[[], "RawStream"]
"""Opens a file from its beginning; a parser calls it again to find the line of a mistake."""


class RawStream(io.RawIOBase):
    """Bytes of a raw file, decompressed if its name says so.

    Attributes:
      source: the file's path.
    """

    def __init__(self, source: str) -> None:
        """Opens ``source``, a local path.

        Raises:
          LogError: there is no such file, or it cannot be read.
        """
        super().__init__()
        self.source = source
        self._hash = hashlib.sha256()
        try:
            self._file = _Hashed(pa.OSFile(source), self._hash)
        except OSError as error:
            raise LogError(f"{source}: cannot be read: {error}") from error
        compression = _COMPRESSIONS.get("." + source.rpartition(".")[2].lower())
        self._stream: Any = pa.PythonFile(self._file, mode="r")
        if compression:
            self._stream = pa.CompressedInputStream(self._stream, compression)

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        """Up to ``size`` bytes, or all that are left.

        Raises:
          LogError: the file cannot be read, or is compressed and damaged or truncated.
        """
        try:
            return bytes(self._stream.read(size if size >= 0 else None))
        except OSError as error:
            raise LogError(f"{self.source}: cannot be read: {error}") from error

    def readinto(self, buffer: Any) -> int:
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._stream.close()
            self._file.close()
        super().close()

    @property
    def digest(self) -> str:
        """SHA-256 of the file's bytes as they lie, once it was read to its end, as 64 hexadecimal digits."""
        while self._file.read(1 << 20):
            pass
        return self._hash.hexdigest()


class _Hashed(io.RawIOBase):
    """A stream that feeds what is read from it to a hash."""

    def __init__(self, file: Any, digest: Any) -> None:
        super().__init__()
        self._inner = file
        self._digest = digest

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        data = bytes(self._inner.read(size if size is not None and size >= 0 else None))
        self._digest.update(data)
        return data

    def close(self) -> None:
        if not self.closed:
            self._inner.close()
        super().close()


def check_text(open_source: Open, format: str) -> None:
    """Looks at a file's first bytes.

    Raises:
      LogError: they are no text, so the file is not of ``format``; says what they are like.
    """
    with opened(open_source) as stream:
        data = stream.read(_LOOKED_AT_BYTES)
    kind = next((kind for begin, kind in _SIGNATURES.items() if data.startswith(begin)), None)
    if kind is not None or b"\0" in data.partition(b"\n")[0]:
        found = f"a file that begins as {kind}" if kind else "NUL bytes in its first line"
        raise LogError(f"{stream.source}: expected a {format} file, found {found}")


@contextmanager
def opened(open_source: Open) -> Iterator[RawStream]:
    """The stream that ``open_source`` opens, closed at the end."""
    stream = open_source()
    try:
        yield stream
    finally:
        stream.close()
