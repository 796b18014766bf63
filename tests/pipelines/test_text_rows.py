import bz2
import gzip
import json
import math
from functools import partial

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines import csv_rows, json_rows
from pipelines.errors import LogError
from pipelines.raw_stream import RawStream
from transforms.types import ColumnType, DType, Shape

CSV = {"a": ColumnType(DType.INT64, nullable=True), "s": ColumnType(DType.STRING, nullable=True)}
JSON = {
    **CSV,
    "u": ColumnType(DType.UINT64, nullable=True),
    "f": ColumnType(DType.FLOAT64, nullable=True),
    "b": ColumnType(DType.BOOL, nullable=True),
    "l": ColumnType(DType.STRING, Shape.RAGGED),
    "n": ColumnType(DType.INT64, Shape.RAGGED),
}


@pytest.fixture
def read(tmp_path):
    def read(module, data, schema, name="log"):
        path = tmp_path / name
        path.write_bytes(data)
        batches = list(module.batches(partial(RawStream, str(path)), schema))
        columns = {key: [value for batch in batches for value in batch.columns[key].to_pylist()] for key in schema}
        bad = {key: sum(batch.bad[key] for batch in batches) for key in schema}
        assert [batch.digest is None for batch in batches] == [True] * (len(batches) - 1) + [False]
        assert all(len(column) == sum(batch.rows for batch in batches) for column in columns.values())
        return columns, {key: count for key, count in bad.items() if count}

    return read


@pytest.mark.parametrize(
    ("data", "a", "s"),
    [
        (b"a,s\n1,x\n2,y\n", [1, 2], ["x", "y"]),
        (b"a,s\n1,x\n2,y", [1, 2], ["x", "y"]),
        (b"\xef\xbb\xbfa,s\r\n1,x\r\n", [1], ["x"]),
        (b"s,other,a\nx,9,1\n", [1], ["x"]),
        (b'a,s\n1,"x\n,\r\ny ""z"""\n2,\n', [1, 2], ['x\n,\r\ny "z"', None]),
        (b'"a","s"\n"","" \n', [None], [" "]),
        (b'a,s\n"",""\n', [None], [None]),
        (b"a,s\n\n1,x\n\r\n2,y\n\n", [1, 2], ["x", "y"]),
        (b'a,s\n1,5" pipe\n2,6"\n', [1, 2], ['5" pipe', '6"']),
        (b"a,s\n", [], []),
        (b"a,s", [], []),
    ],
)
def test_csv(read, data, a, s):
    assert read(csv_rows, data, CSV) == ({"a": a, "s": s}, {})


def test_csv_counts_bad_values(read):
    assert read(csv_rows, b"a,s\nx,\xff\n1,ok\n,\n", CSV) == (
        {"a": [None, 1, None], "s": [None, "ok", None]},
        {"a": 1, "s": 1},
    )


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", r"log:1: expected a header that names the columns, found an empty file"),
        (b"\n\n", r"log:1: expected a header"),
        (b"a,a,s\n1,2,3\n", r"log:1: expected each column once, found 'a' more than once"),
        (b"a,T\n1,2\n", r"log:1: the header lacks 's'; it has 'a', 'T'"),
        (b"a,ss\n1,2\n", r"log:1: the header lacks 's' \(did you mean 'ss'\?\)"),
        (b"a,s\n1,2\n\n3\n", r"log:4: expected 2 fields as in the header, found 1"),
        (b'a,s\n1,"q\nr"\n1,2,3\n', r"log:4: expected 2 fields as in the header, found 3"),
        (b'a,s\n1,x\n2,"y\n3,z\n', r"log:3: found a quote that is never closed"),
        (b'a,s\n1,"x', r"log:2: found a quote that is never closed"),
        (b'a,s\n1,"', r"log:2: found a quote that is never closed"),
        (b'a,s\n1,x\n"1,x\n2,y\n', r"log:3: found a quote that is never closed"),
        (b'a,s\n1,x\n"1,x\n2,y"\n3,z\n', r"log:3: expected 2 fields as in the header, found 1"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", r"log: expected a CSV file, found a file that begins as PNG"),
        (b"a\0,s\n1,2\n", r"log: expected a CSV file, found NUL bytes in its first line"),
        (b",".join(b"%d" % name for name in range(99)) + b"\n", r"lacks 'a', 's'; it has '0', .*'49' and 49 more"),
    ],
)
def test_csv_mistakes_name_the_line(read, data, message):
    with pytest.raises(LogError, match=message):
        read(csv_rows, data, CSV)


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (gzip.compress(b'{"a": 1}\n'), "gzip, whose names end in .gz"),
        (bz2.compress(b'{"a": 1}\n'), "bzip2, whose names end in .bz2"),
        (pa.compress(b'{"a": 1}\n', "zstd", asbytes=True), "zstd, whose names end in .zst"),
        ("{}\n".encode("utf-16"), "UTF-16"),
    ],
    ids=["gzip", "bzip2", "zstd", "UTF-16"],  # compressed data holds the time, and names must not
)
def test_what_is_no_text_is_named(read, data, kind):
    with pytest.raises(LogError, match=f"log: expected a JSON lines file, found a file that begins as {kind}"):
        read(json_rows, data, JSON)
    with pytest.raises(LogError, match=f"log: expected a CSV file, found a file that begins as {kind}"):
        read(csv_rows, data, CSV)


def test_csv_has_no_lists(read):
    with pytest.raises(LogError, match=r"log:1: column 'n' is declared list<int64>.*tokens\(x, separator\)"):
        read(csv_rows, b"n\n1\n", {"n": JSON["n"]})


def test_mistakes_far_behind_the_first_block(read, monkeypatch):
    monkeypatch.setattr(csv_rows, "_BLOCK_BYTES", 1000)
    monkeypatch.setattr(json_rows, "_BLOCK_BYTES", 1000)
    lines = b"".join(b"%d,text %d\n" % (row, row) for row in range(1000))
    assert read(csv_rows, b"a,s\n" + lines, CSV)[0]["a"] == list(range(1000))
    with pytest.raises(LogError, match=r"log:1002: expected 2 fields as in the header, found 1"):
        read(csv_rows, b"a,s\n" + lines + b"7\n", CSV)
    lines = b"".join(b'{"a": %d}\n' % row for row in range(1000))
    assert read(json_rows, lines, CSV)[0]["a"] == list(range(1000))
    with pytest.raises(LogError, match=r"log:1001: expected a JSON object, found '7'"):
        read(json_rows, lines + b"7\n", CSV)


@pytest.mark.parametrize("module", [csv_rows, json_rows])
def test_line_of_a_row(tmp_path, module):
    log = tmp_path / "log"
    log.write_bytes(b'a,s\n1,"x\ny"\n\n2,z\n' if module is csv_rows else b'{"a": 1}\n\n\n\n{"a": 2}\n')
    assert module.line_of(partial(RawStream, str(log)), 1) == 5


def test_json_as_declared(read):
    line = {"a": -1, "u": 2**64 - 1, "f": 0.5, "s": "", "b": True, "l": ["p", "q"], "n": [1, 2], "more": {"x": [1]}}
    data = json.dumps(line).encode() + b'\r\n{}\n\n{"a": null, "l": null, "f": 3}'
    assert read(json_rows, b"\xef\xbb\xbf" + data, JSON) == (
        {
            "a": [-1, None, None],
            "s": ["", None, None],
            "u": [2**64 - 1, None, None],
            "f": [0.5, None, 3.0],
            "b": [True, None, None],
            "l": [["p", "q"], [], []],
            "n": [[1, 2], [], []],
        },
        {},
    )


@pytest.mark.parametrize(
    ("column", "text", "value", "bad"),
    [
        ("a", '"12"', 12, 0),
        ("a", "12.0", 12, 0),
        ("a", "12.5", None, 1),
        ("a", "9223372036854775808", None, 1),
        ("a", "true", None, 1),
        ("a", "[1]", None, 1),
        ("u", '"18446744073709551615"', 2**64 - 1, 0),
        ("u", "-1", None, 1),
        ("f", "1e400", None, 1),
        ("f", "Infinity", math.inf, 0),
        ("f", '"-inf"', -math.inf, 0),
        ("s", "5", None, 1),
        ("s", "{}", None, 1),
        ("s", r'"\ud800"', None, 1),
        ("s", r'"\u0000\ud83d\ude00"', "\0😀", 0),
        ("b", '"yes"', True, 0),
        ("b", "0", False, 0),
        ("b", "2", None, 1),
        ("l", '["x", null, 3, "y"]', ["x", "y"], 1),
        ("l", '"x"', [], 1),
        ("l", '{"x": 1}', [], 1),
        ("n", '[1, "2", 3.5, [4], null]', [1, 2], 2),
    ],
)
def test_json_values_of_other_kinds(read, column, text, value, bad):
    columns, counts = read(json_rows, f'{{"{column}": {text}}}\n'.encode(), JSON)
    assert columns[column] == [value]
    assert counts == ({column: bad} if bad else {})


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'{"a": 1}\n\n[1]\n', r"log:3: expected a JSON object, found '\[1\]'"),
        (b'{"a": 1}\n{"a": ', r"log:2: expected a JSON object, found '{\"a\":'"),
        (b'{"a": 1} {"a": 2}\n', r"log:1: expected a JSON object, found .*Extra data"),
        (b'{"a":\n1}\n', r"log:1: expected a JSON object"),
        (b'{"a": 1, "a": 2}\n', r"log:1: expected each key once, found 'a' more than once"),
        (b'{"s": "\xff"}\n', r"log:1: expected a JSON object.*utf-8"),
        (b"a,s\n1,2\n", r"log:1: expected a JSON object, found 'a,s'"),
        (b'{"n":' + b"[" * 100_000 + b"\n", r"log:1: expected a JSON object"),
    ],
)
def test_json_mistakes_name_the_line(read, data, message):
    with pytest.raises(LogError, match=message):
        read(json_rows, data, JSON)


def test_json_without_rows(read):
    for data in (b"", b"\n \n"):
        assert read(json_rows, data, JSON)[0]["a"] == []


_VALUES = {
    "a": st.integers(-(2**63), 2**63 - 1),
    "u": st.integers(0, 2**64 - 1),
    "f": st.floats(allow_nan=False, allow_infinity=False),
    "s": st.text(st.characters(codec="utf-8"), max_size=5),
    "b": st.booleans(),
    "l": st.lists(st.text(st.characters(codec="utf-8"), max_size=3), max_size=3),
    "n": st.lists(st.integers(-(2**63), 2**63 - 1), max_size=3),
}


@given(st.lists(st.fixed_dictionaries({}, optional=_VALUES), max_size=8))
def test_both_ways_of_reading_json_agree(rows):
    block = "".join(json.dumps(row, ensure_ascii=len(row) % 2 == 0) + "\n" for row in rows).encode()
    careful = json_rows._careful(block, JSON, "log", 1)
    quick = json_rows._quick(block, JSON)
    assert (quick is None) == (not rows)
    for batch in filter(None, (quick, careful)):
        assert not any(batch.bad.values())
        for name in JSON:
            empty = [] if name in ("l", "n") else None
            assert batch.columns[name].to_pylist() == [row.get(name, empty) for row in rows]


@pytest.mark.parametrize("name", ["log.csv.gz", "LOG.GZ"])
def test_compressed_files(read, name):
    data = gzip.compress(b"a,s\n" + b"1,x\n" * 1000)
    assert read(csv_rows, data, CSV, name)[0]["a"] == [1] * 1000
    with pytest.raises(LogError, match=rf"{name}: cannot be read"):
        read(csv_rows, data[:-12], CSV, name)
    with pytest.raises(LogError, match=rf"{name}: cannot be read"):
        read(csv_rows, b"a,s\n1,x\n", CSV, name)


def test_an_absent_file(tmp_path):
    with pytest.raises(LogError, match="cannot be read"):
        RawStream(str(tmp_path / "none.csv"))
