"""The TFRecord codec: for native ``tf.data`` consumers.

A record is a ``tf.train.Example`` that holds a block of `BLOCK_ROWS` rows (the last one fewer). Its features are:

* ``forebay``: one bytes value, the file's header as JSON, the same in every record;
* ``rows``: one int64, the block's number of rows;
* one bytes feature a column, named by the column's identity. Its values are the arrays of
  `materialized.buffers.Buffers` that the column's type has, in that order, each as little-endian bytes: for a float32
  column one value that ``tf.io.decode_raw`` reads; for a list of int64 the values, then the row lengths as int64; for
  strings the bytes, then the value lengths as int64; for a nullable column a last value with a byte a row, 1 where
  there is a value.

A chunk without rows has one record with a block of zero rows, so that the header is always there. TensorFlow is
imported when a file is written or read, not before; its own reader verifies the masked CRC-32C of every record.
"""

from __future__ import annotations

import struct
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from materialized.buffers import Buffers, parts_of, to_arrow, to_buffers
from materialized.chunk_header import BLOCK_ROWS, ChunkHeader
from materialized.errors import MismatchError
from materialized.store import Store
from transforms.types import ColumnType, DType, Shape

HEADER = "forebay"
ROWS = "rows"

_FRAME = struct.Struct("<QI")
"""Before a record: its length and a checksum of that. After it: a checksum of its bytes, four bytes."""
_TRAILER_BYTES = 4


class TFRecordCodec:
    """TFRecord: an Example per block of rows."""

    suffix = "tfrecord"

    def encode(self, table: pa.Table, header: ChunkHeader) -> bytes:
        """The bytes of a TFRecord file with ``table`` and ``header``."""
        import tensorflow as tf

        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder) / "block")
            with tf.io.TFRecordWriter(path) as writer:
                for start in range(0, max(table.num_rows, 1), BLOCK_ROWS):
                    writer.write(_example(tf, table.slice(start, BLOCK_ROWS), header))
            return Path(path).read_bytes()

    def open(self, store: Store, key: str) -> TFRecordColumnFile:
        """The TFRecord file at ``key``. Raises MismatchError."""
        return TFRecordColumnFile(store, key)


def _example(tf: Any, block: pa.Table, header: ChunkHeader) -> bytes:
    features = {
        HEADER: tf.train.Feature(bytes_list=tf.train.BytesList(value=[header.to_json()])),
        ROWS: tf.train.Feature(int64_list=tf.train.Int64List(value=[block.num_rows])),
    }
    for identity, column_type in header.types.items():
        parts = [part.tobytes() for part in to_buffers(block.column(identity), column_type).parts()]
        features[identity] = tf.train.Feature(bytes_list=tf.train.BytesList(value=parts))
    return bytes(tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString())


class TFRecordColumnFile:
    """An open TFRecord file. Blocks are found by their frames, read whole, and the last one is kept."""

    def __init__(self, store: Store, key: str):
        self._place = f"{store.path}/{key}"
        self._file = store.open_file(key)
        self._frames = self._find_frames()
        self._last: tuple[int, Any] | None = None
        self.header = ChunkHeader.from_json(self._bytes_of(self._example(0), HEADER, 1)[0], self._place)
        expected = max(1, -(-self.header.rows // BLOCK_ROWS))
        if len(self._frames) != expected:
            raise MismatchError(
                f"{self._place}: expected {expected} records for {self.header.rows} rows, found {len(self._frames)}"
            )

    def _find_frames(self) -> list[tuple[int, int]]:
        size = self._file.size()
        frames: list[tuple[int, int]] = []
        start = 0
        while start < size:
            self._file.seek(start)
            prefix = self._file.read(_FRAME.size)
            length = _FRAME.unpack(prefix)[0] if len(prefix) == _FRAME.size else size
            end = start + _FRAME.size + length + _TRAILER_BYTES
            if end > size:
                raise MismatchError(
                    f"{self._place}: expected a TFRecord file, found one cut short in record {len(frames)}"
                )
            frames.append((start, end - start))
            start = end
        if not frames:
            raise MismatchError(f"{self._place}: expected a TFRecord file, found no records")
        return frames

    def _example(self, block: int) -> Any:
        if self._last is None or self._last[0] != block:
            self._last = block, self._parsed(block)
        return self._last[1]

    def _parsed(self, block: int) -> Any:
        import tensorflow as tf

        start, length = self._frames[block]
        self._file.seek(start)
        with tempfile.NamedTemporaryFile() as framed:  # a record in its frame is a TFRecord file
            framed.write(self._file.read(length))
            framed.flush()
            try:
                records = list(tf.data.TFRecordDataset(framed.name).as_numpy_iterator())
                return tf.train.Example.FromString(records[0])
            except (tf.errors.OpError, ValueError, IndexError) as error:
                raise MismatchError(f"{self._place}: record {block} is damaged: {error}") from error

    def _bytes_of(self, example: Any, name: str, count: int) -> list[bytes]:
        found = list(example.features.feature[name].bytes_list.value)
        if len(found) != count:
            raise MismatchError(f"{self._place}: expected {count} bytes values in feature {name}, found {len(found)}")
        return found

    def read(self, identities: Sequence[str], rows: range) -> pa.Table:
        """Columns of a run of rows, as `ColumnFile.read`."""
        first, last = rows.start // BLOCK_ROWS, -(-rows.stop // BLOCK_ROWS)
        tables = [self._block(block, identities) for block in range(first, last)] if len(rows) else []
        schema = pa.schema([(identity, self.header.types[identity].to_arrow()) for identity in identities])
        table = pa.concat_tables(tables) if tables else schema.empty_table()
        return table.slice(rows.start - first * BLOCK_ROWS, len(rows))

    def _block(self, block: int, identities: Sequence[str]) -> pa.Table:
        example = self._example(block)
        found = list(example.features.feature[ROWS].int64_list.value)
        expected = min(BLOCK_ROWS, self.header.rows - block * BLOCK_ROWS)
        if found != [expected]:
            raise MismatchError(f"{self._place}: expected {expected} rows in record {block}, found {found}")
        columns = []
        for identity in identities:
            column_type = self.header.types[identity]
            dtypes = parts_of(column_type)
            data = self._bytes_of(example, identity, len(dtypes))
            try:
                parts = [np.frombuffer(part, dtype) for part, dtype in zip(data, dtypes, strict=True)]
                columns.append(to_arrow(_buffers(parts, column_type, expected), column_type))
            except ValueError as error:  # what Arrow and NumPy raise for lengths that do not fit
                raise MismatchError(
                    f"{self._place}: column {identity} of record {block} is damaged: {error}"
                ) from error
        return pa.table(columns, names=list(identities))


def _buffers(parts: list[Any], column_type: ColumnType, rows: int) -> Buffers:
    rest = iter(parts)
    values = next(rest)
    value_lengths = next(rest) if column_type.dtype is DType.STRING else None
    row_lengths = next(rest) if column_type.shape is Shape.RAGGED else None
    present = next(rest) if column_type.nullable else None
    count = len(values) if value_lengths is None else len(value_lengths)
    expected = int(row_lengths.sum()) if row_lengths is not None else rows * (column_type.width or 1)
    lengths = [len(array) for array in (row_lengths, present) if array is not None]
    if count != expected or any(length != rows for length in lengths):
        raise ValueError(f"expected {expected} values in {rows} rows, found {count} (lengths {lengths})")
    if value_lengths is not None and int(value_lengths.sum()) != len(values):
        raise ValueError(f"expected {int(value_lengths.sum())} bytes of text, found {len(values)}")
    return Buffers(values, value_lengths, row_lengths, present)
