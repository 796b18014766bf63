"""Chunks of a dataset and the manifest that orders them.

A chunk is named by its content, so two entries of a manifest may be the same chunk: two equal files are two entries
whose rows are both read, and whose columns are computed and stored once. Finding the files and naming their chunks is
`materialized.sources`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from materialized import layout
from materialized.errors import MismatchError, SliceError
from materialized.store import Store
from transforms.canonical import Value, digest

_SLICE = re.compile(r"(-?\d*):(-?\d*)")

Time = int | float | str


@dataclass(frozen=True)
class RowGroups:
    """Where raw rows lie: row groups of a Parquet file."""

    path: str
    row_groups: tuple[int, ...]


@dataclass(frozen=True)
class ChunkEntry:
    """One place in a manifest: a run of rows of one source file.

    Attributes:
      chunk: the chunk's identity, 64 hexadecimal digits; it stands for the content alone.
      source: path of the file as it was found, for messages.
      source_digest: SHA-256 of the file's bytes.
      ordinal: which of the file's chunks this is, from 0.
      parts: number of the file's chunks.
      rows: number of rows, or None while a text file has not been ingested.
      row_groups: which row groups of a Parquet source these rows are; None for text, whose rows lie in the store once
        ingested.
      time_range: smallest and largest value of the dataset's time column where the file says so, else None.
    """

    chunk: str
    source: str
    source_digest: str
    ordinal: int
    parts: int
    rows: int | None
    row_groups: tuple[int, ...] | None = None
    time_range: tuple[Time, Time] | None = None

    @property
    def location(self) -> RowGroups | None:
        """Where the raw rows lie outside the store, or None: in the store, at ``layout.raw_chunk(entry.chunk)``."""
        return None if self.row_groups is None else RowGroups(self.source, self.row_groups)

    @property
    def key(self) -> tuple[str, int]:
        """What tells this entry from all others of its manifest, equal chunks included."""
        return self.source, self.ordinal

    def __str__(self) -> str:
        part = f" (part {self.ordinal + 1} of {self.parts})" if self.parts > 1 else ""
        return f"{self.source}{part}"


@dataclass(frozen=True)
class Manifest:
    """A dataset's chunks in order.

    Attributes:
      dataset: the dataset's name.
      entries: its chunks; the order is the log's.
    """

    dataset: str
    entries: tuple[ChunkEntry, ...]

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[ChunkEntry]:
        return iter(self.entries)

    @property
    def chunks(self) -> tuple[str, ...]:
        """The distinct chunks, in order of first appearance."""
        return tuple(dict.fromkeys(entry.chunk for entry in self.entries))

    def slice(self, text: str) -> tuple[ChunkEntry, ...]:
        """The entries of a slice in Python's notation: ``"6:"`` is the seventh and all after it.

        Raises:
          SliceError: ``text`` is not such a slice.
        """
        match = _SLICE.fullmatch(text.strip())
        bounds = match.groups() if match else ("-",)
        if "-" in bounds:
            raise SliceError(f"expected a slice of chunks such as '6:' or ':-1', found {text!r}")
        start, stop = (int(bound) if bound else None for bound in bounds)
        return self.entries[start:stop]


def rows_of_part(ordinal: int, parts: int, rows: int) -> range:
    """Rows of a text file of ``rows`` rows that its chunk ``ordinal`` of ``parts`` holds; even, and none left out."""
    return range(ordinal * rows // parts, (ordinal + 1) * rows // parts)


def chunk_identity(source_digest: str, options: Mapping[str, Value]) -> str:
    """Name of the chunk that ``options`` (format, schema, which part) make of a file with ``source_digest``."""
    return digest({"source": source_digest, **options})


def write_manifest(store: Store, manifest: Manifest) -> int:
    """Keeps ``manifest`` under the next number, unless the newest one has the same entries.

    Returns:
      The number under which it is kept.
    """
    data = _encode(manifest)
    while True:
        number, newest = _newest(store, manifest.dataset)
        if newest == data:
            return number
        if store.write_once(layout.manifest(manifest.dataset, number + 1), data):
            return number + 1


def read_manifest(store: Store, dataset: str) -> Manifest | None:
    """The newest manifest of ``dataset`` that was kept, or None."""
    number, data = _newest(store, dataset)
    return None if data is None else _decode(data, f"{store.path}/{layout.manifest(dataset, number)}")


def _newest(store: Store, dataset: str) -> tuple[int, bytes | None]:
    keys = store.list(layout.manifests(dataset))
    if not keys:
        return 0, None
    return int(keys[-1].rpartition("/")[2].removesuffix(".json")), store.read(keys[-1])


def _encode(manifest: Manifest) -> bytes:
    entries = [
        {
            "chunk": entry.chunk,
            "source": entry.source,
            "source_digest": entry.source_digest,
            "ordinal": entry.ordinal,
            "parts": entry.parts,
            "rows": entry.rows,
            "row_groups": entry.row_groups,
            "time_range": entry.time_range,
        }
        for entry in manifest.entries
    ]
    return json.dumps({"dataset": manifest.dataset, "entries": entries}, indent=1).encode()


def _decode(data: bytes, key: str) -> Manifest:
    try:
        content = json.loads(data)
        entries = tuple(
            ChunkEntry(
                **{
                    **entry,
                    "row_groups": None if entry["row_groups"] is None else tuple(entry["row_groups"]),
                    "time_range": None if entry["time_range"] is None else tuple(entry["time_range"]),
                }
            )
            for entry in content["entries"]
        )
        return Manifest(content["dataset"], entries)
    except (ValueError, KeyError, TypeError) as error:
        raise MismatchError(f"{key}: expected a manifest, found {data[:80]!r}") from error
