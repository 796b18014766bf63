"""Accumulators: what analyzers keep of a chunk, and how the chunks' results become an asset's content.

An accumulator counts the values of one column. Its partial result over a chunk is bytes that later versions of Beam,
Python or the machine can still read; partial results are folded in the window's order, always from the first to the
last, so that the same window gives the same content however the work was cut. What the analyzers' own parameters
choose (`top_k`, `min_count`, the number of quantiles) is applied at the end, so that analyzers which differ in these
share their counts.

Definitions are tensorflow-transform's:

* vocabulary: `tft.vocabulary` sorts by count, then by token, both from large to small, tokens as bytes. Empty strings
  and strings with line breaks are no tokens there: its file has one token a line. Integers count as their decimal
  text.
* moments: NaN and infinities do not enter count, mean and variance (`tft.mean`, `tft.var`); the smallest and the
  largest value are those of all values but NaN (with NaN, what `tft.min` gives depends on its batches).
* quantiles: the sketch of `tft.quantiles`, made with the same parameters. NaN is left out.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from tfx_bsl.sketches import QuantilesSketch

from pipelines.errors import PartialResultError
from transforms.assets import Asset, Boundaries, Moments, Vocabulary
from transforms.canonical import Value


class Accumulator(Protocol):
    """Counts the values of a column; see the module."""

    def partial(self, values: pa.Array | pa.ChunkedArray) -> bytes:
        """The partial result over a chunk's values; lists count as their elements, nulls not at all."""

    def fold(self, partials: Iterable[bytes]) -> Any:
        """The partial results of a window's chunks, in its order, in one. Raises PartialResultError."""

    def asset(self, folded: Any, parameters: Mapping[str, Value]) -> Asset:
        """What an analyzer with these parameters (its node's) makes of what was folded, which stays usable."""


def accumulator(kind: str, version: int, parameters: Mapping[str, Value]) -> Accumulator:
    """The accumulator that an analyzer's operator names.

    Raises:
      KeyError: there is none of this kind and version.
    """
    return _KINDS[kind, version](**parameters)


def flat_values(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    """The values that count: elements of lists, without nulls, dictionaries decoded, in one array."""
    array = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    if isinstance(array, pa.ChunkedArray):  # what is left where one array cannot hold it all
        array = pa.concat_arrays(array.chunks)
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    while pa.types.is_nested(array.type):
        array = array.flatten()
    return array.drop_null()


_COUNTS = pa.schema([("token", pa.large_binary()), ("count", pa.int64())])

_FOLD_TOGETHER = 16
"""Partial results of vocabularies that are added in one step: more need more memory, fewer more time."""


@dataclass(frozen=True)
class VocabularyCounts:
    """How often each token occurs. A partial result is an Arrow stream of tokens and counts."""

    def partial(self, values: pa.Array | pa.ChunkedArray) -> bytes:
        array = flat_values(values)
        is_text = pa.types.is_string(array.type) or pa.types.is_large_string(array.type)
        counted = pc.value_counts(array)
        tokens, counts = counted.field("values"), counted.field("counts").cast(pa.int64())
        table = pa.table([_bytes(tokens), counts], schema=_COUNTS)
        if is_text:
            table = table.filter(_is_token(table.column("token")))
        table = table.sort_by("token")
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, _COUNTS, options=pa.ipc.IpcWriteOptions(compression="zstd")) as stream:
            stream.write_table(table)
        return sink.getvalue().to_pybytes()

    def fold(self, partials: Iterable[bytes]) -> pa.Table:
        """All tokens with their counts, most frequent first, in the order of `tft.vocabulary`."""
        tables = [_COUNTS.empty_table()]
        for data in partials:
            tables.append(_read_counts(data))
            if len(tables) > _FOLD_TOGETHER:
                tables = [_added(tables)]
        return _added(tables).sort_by([("count", "descending"), ("token", "descending")])

    def asset(self, folded: pa.Table, parameters: Mapping[str, Value]) -> Vocabulary:
        """The tokens that occur at least ``min_count`` times, of these the first ``top_k``."""
        kept = folded.filter(pc.greater_equal(folded.column("count"), parameters["min_count"]))
        if parameters["top_k"] is not None:
            kept = kept.slice(0, parameters["top_k"])
        return Vocabulary(tuple(kept.column("token").to_pylist()), tuple(kept.column("count").to_pylist()))


def _bytes(tokens: pa.Array) -> pa.Array:
    if pa.types.is_integer(tokens.type):
        tokens = tokens.cast(pa.string())
    return tokens.cast(pa.binary()).cast(pa.large_binary())


def _is_token(tokens: Any) -> Any:
    has_break = pc.match_substring_regex(tokens, r"[\n\r]")
    return pc.and_(pc.greater(pc.binary_length(tokens), 0), pc.invert(has_break))


def _read_counts(data: bytes) -> pa.Table:
    try:
        with pa.ipc.open_stream(pa.BufferReader(data)) as stream:
            table = stream.read_all()
    except (pa.ArrowInvalid, OSError) as error:
        raise PartialResultError(f"expected counts of tokens, found {data[:40]!r}: {error}") from error
    if table.schema != _COUNTS:
        raise PartialResultError(f"expected counts of tokens, found columns {table.schema.names}")
    return table


def _added(tables: Sequence[pa.Table]) -> pa.Table:
    added = pa.concat_tables(tables).group_by("token").aggregate([("count", "sum")])
    return added.rename_columns({"count_sum": "count"}).select(_COUNTS.names).cast(_COUNTS)


@dataclass(frozen=True)
class MomentSums:
    """Count, mean, sum of squared differences from the mean, smallest and largest value.

    Attributes:
      count: how many finite values there are.
      mean: their mean; 0 where there are none.
      squares: sum of squared differences from the mean.
      smallest: of all values but NaN; +inf where there are none.
      largest: of all values but NaN; -inf where there are none.
    """

    count: int = 0
    mean: float = 0.0
    squares: float = 0.0
    smallest: float = float("inf")
    largest: float = float("-inf")

    @classmethod
    def of(cls, values: np.ndarray[Any, np.dtype[np.float64]]) -> MomentSums:
        """The moments of float64 values."""
        finite = values[np.isfinite(values)]
        ordered = values[~np.isnan(values)]
        smallest = float(ordered.min(initial=np.inf))
        largest = float(ordered.max(initial=-np.inf))
        if not finite.size:
            return cls(smallest=smallest, largest=largest)
        mean = float(finite.mean())
        return cls(int(finite.size), mean, float(np.square(finite - mean).sum()), smallest, largest)

    def then(self, other: MomentSums) -> MomentSums:
        """The moments of both (Chan, Golub and LeVeque 1979, formula 2.1); bit for bit the same for the same order."""
        smallest, largest = min(self.smallest, other.smallest), max(self.largest, other.largest)
        count = self.count + other.count
        if not other.count or not self.count:
            more = self if self.count else other
            return MomentSums(count, more.mean, more.squares, smallest, largest)
        difference = other.mean - self.mean
        share = other.count / count
        mean = self.mean + difference * share
        squares = self.squares + other.squares + difference * difference * self.count * share
        return MomentSums(count, mean, squares, smallest, largest)


_MOMENTS = struct.Struct("<8sqdddd")
_MOMENTS_MARK = b"moments1"


@dataclass(frozen=True)
class MomentsAccumulator:
    """Moments. A partial result is a `MomentSums` as a fixed record."""

    def partial(self, values: pa.Array | pa.ChunkedArray) -> bytes:
        with np.errstate(over="ignore"):  # finite values whose square is not: infinity is then the right answer
            found = MomentSums.of(_float64(flat_values(values)).to_numpy(zero_copy_only=False))
        return _MOMENTS.pack(_MOMENTS_MARK, found.count, found.mean, found.squares, found.smallest, found.largest)

    def fold(self, partials: Iterable[bytes]) -> MomentSums:
        """The moments of all chunks."""
        total = MomentSums()
        for data in partials:
            if len(data) != _MOMENTS.size or not data.startswith(_MOMENTS_MARK):
                raise PartialResultError(f"expected moments, found {data[:40]!r}")
            total = total.then(MomentSums(*_MOMENTS.unpack(data)[1:]))
        return total

    def asset(self, folded: MomentSums, parameters: Mapping[str, Value]) -> Moments:
        any_value = folded.smallest <= folded.largest
        return Moments(
            count=folded.count,
            mean=folded.mean,
            variance=folded.squares / folded.count if folded.count else 0.0,
            minimum=folded.smallest if any_value else 0.0,
            maximum=folded.largest if any_value else 0.0,
        )


def _float64(array: pa.Array) -> pa.Array:
    return array.cast(pa.float64(), safe=False)


_MOST_VALUES = 1 << 32
"""Values that a sketch is made for, as in tensorflow-transform: its error bound holds up to there."""


@dataclass(frozen=True)
class QuantileSketches:
    """Quantiles. A partial result is a sketch in the serialization of its own library.

    Attributes:
      epsilon: how far off a boundary may be, as a share of the ranks.
    """

    epsilon: float

    def partial(self, values: pa.Array | pa.ChunkedArray) -> bytes:
        sketch = self._empty()
        array = _float64(flat_values(values))
        sketch.AddValues(array.filter(pc.invert(pc.is_nan(array))))
        sketch.Compact()
        return bytes(sketch.__getstate__())

    def fold(self, partials: Iterable[bytes]) -> QuantilesSketch:
        """The sketch of all chunks."""
        total = self._empty()
        for data in partials:
            try:
                total.Merge(_restored(data))
            except RuntimeError as error:
                raise PartialResultError(f"expected a sketch of quantiles, found {data[:40]!r}: {error}") from error
        return total

    def asset(self, folded: QuantilesSketch, parameters: Mapping[str, Value]) -> Boundaries:
        """The ``n - 1`` boundaries between ``n`` quantiles; none where there were no values."""
        sketch = _restored(folded.__getstate__())  # asking for quantiles finalizes a sketch
        found = sketch.GetQuantiles(parameters["n"]).to_pylist()
        return Boundaries(tuple(found[0][1:-1]) if found else ())

    def _empty(self) -> QuantilesSketch:
        return QuantilesSketch(self.epsilon, _MOST_VALUES, 1)


def _restored(data: bytes) -> QuantilesSketch:
    sketch = QuantilesSketch.__new__(QuantilesSketch)
    sketch.__setstate__(data)  # the library's own bytes, not a pickle
    return sketch


_KINDS: Mapping[tuple[str, int], Any] = {
    ("value_counts", 1): VocabularyCounts,
    ("moments", 1): MomentsAccumulator,
    ("quantiles", 1): QuantileSketches,
}
