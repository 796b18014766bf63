"""What analyzers find out: plain values, with the files that keep them.

A store keeps an asset as named files; `read_asset` makes it of them again. How assets are computed is
`pipelines.accumulators`' business, where they are kept `materialized.assets`'.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, TypeAlias

import pyarrow as pa

from transforms.errors import ForebayError


@dataclass(frozen=True)
class Vocabulary:
    """The values of a column, the most frequent first; a value's id is its place.

    Attributes:
      values: integers as decimal text, other values as their bytes.
      counts: how often each was seen, in the same order.
    """

    kind: ClassVar[str] = "vocabulary"

    values: tuple[bytes, ...]
    counts: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.values) != len(self.counts):
            raise ValueError(f"one count for each value, got {len(self.values)} values and {len(self.counts)} counts")

    def to_files(self) -> dict[str, bytes]:
        """The files that hold it: an Arrow IPC stream, because a value may hold any byte."""
        table = pa.table(
            {"value": pa.array(self.values, pa.large_binary()), "count": pa.array(self.counts, pa.int64())}
        ).combine_chunks()
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        return {"vocabulary.arrow": sink.getvalue().to_pybytes()}

    @classmethod
    def from_files(cls, files: Mapping[str, bytes]) -> Vocabulary:
        """The vocabulary that `to_files` wrote."""
        try:
            with pa.ipc.open_stream(_file(files, "vocabulary.arrow")) as reader:
                table = reader.read_all()
            return cls(tuple(table["value"].to_pylist()), tuple(table["count"].to_pylist()))
        except (pa.ArrowInvalid, KeyError, OSError) as error:
            raise ForebayError(f"vocabulary.arrow holds no vocabulary: {error}") from error


@dataclass(frozen=True)
class Moments:
    """Moments of a numeric column; nulls and NaN are left out.

    Attributes:
      count: how many values there were; the rest is 0 where there was none.
      mean: arithmetic mean.
      variance: of the population (divided by the count).
      minimum: the least value.
      maximum: the greatest value.
    """

    kind: ClassVar[str] = "moments"

    count: int
    mean: float
    variance: float
    minimum: float
    maximum: float

    def to_files(self) -> dict[str, bytes]:
        """The file that holds it, floats in hexadecimal: no bit is lost."""
        values = {name: getattr(self, name).hex() for name in _MOMENTS}
        return {"moments.json": _json({"count": self.count, **values})}

    @classmethod
    def from_files(cls, files: Mapping[str, bytes]) -> Moments:
        """The moments that `to_files` wrote."""
        try:
            found = json.loads(_file(files, "moments.json"))
            return cls(int(found["count"]), *(float.fromhex(found[name]) for name in _MOMENTS))
        except (ValueError, KeyError, TypeError) as error:
            raise ForebayError(f"moments.json holds no moments: {error}") from error


@dataclass(frozen=True)
class Boundaries:
    """Where a column's quantiles lie.

    Attributes:
      values: ascending; a value belongs to the bucket that counts how many boundaries are at or below it.
    """

    kind: ClassVar[str] = "boundaries"

    values: tuple[float, ...]

    def __post_init__(self) -> None:
        if any(not low <= high for low, high in pairwise(self.values)):
            raise ValueError(f"boundaries ascend, got {self.values}")

    def to_files(self) -> dict[str, bytes]:
        """The file that holds them, floats in hexadecimal: no bit is lost."""
        return {"boundaries.json": _json([value.hex() for value in self.values])}

    @classmethod
    def from_files(cls, files: Mapping[str, bytes]) -> Boundaries:
        """The boundaries that `to_files` wrote."""
        try:
            return cls(tuple(float.fromhex(value) for value in json.loads(_file(files, "boundaries.json"))))
        except (ValueError, TypeError) as error:
            raise ForebayError(f"boundaries.json holds no boundaries: {error}") from error


Asset: TypeAlias = Vocabulary | Moments | Boundaries

_MOMENTS = ("mean", "variance", "minimum", "maximum")
_KINDS: Mapping[str, type[Vocabulary] | type[Moments] | type[Boundaries]] = {
    asset.kind: asset for asset in (Vocabulary, Moments, Boundaries)
}


def read_asset(kind: str, files: Mapping[str, bytes]) -> Asset:
    """The asset of a kind that `to_files` wrote.

    Raises:
      ForebayError: where there is no such kind or the files are not what it writes.
    """
    if kind not in _KINDS:
        raise ForebayError(f"no asset is of the kind {kind!r}; there are {', '.join(sorted(_KINDS))}")
    return _KINDS[kind].from_files(files)


def _file(files: Mapping[str, bytes], name: str) -> bytes:
    if name not in files:
        raise ForebayError(f"the asset lacks its file {name}; found {', '.join(sorted(files)) or 'none'}")
    return files[name]


def _json(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode("ascii")
