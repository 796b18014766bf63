import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.errors import SpecError
from transforms.places import Place
from transforms.problems import Problems
from transforms.yaml_tree import ListTree, MapTree, read_map, scalar_value


def read(tmp_path, text):
    path = tmp_path / "f.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    problems = Problems()
    tree = read_map(path, "f.yaml", problems)
    problems.raise_if_any()
    return tree


def plain(tree):
    if isinstance(tree, MapTree):
        return {key: plain(entry.value) for key, entry in tree.entries.items()}
    return [plain(item) for item in tree.items] if isinstance(tree, ListTree) else tree.value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("~", None),
        ("null", None),
        ("true", True),
        ("False", False),
        ("on", "on"),
        ("off", "off"),
        ("yes", "yes"),
        ("No", "No"),
        ("y", "y"),
        ("1", 1),
        ("-12", -12),
        ("1_000_000", 1_000_000),
        ("007", "007"),
        ("0x10", "0x10"),
        ("1:30", "1:30"),
        ("1.5", 1.5),
        ("1e-3", 1e-3),
        ("1e3", 1e3),
        (".5", 0.5),
        ("3.", 3.0),
        (".inf", math.inf),
        ("-.inf", -math.inf),
        ("1_", "1_"),
        ("2016-01-01", "2016-01-01"),
        ("1" * 5000, "1" * 5000),
    ],
)
def test_scalars_without_quotes(text, value):
    assert repr(scalar_value(text)) == repr(value)


@given(st.text("0123456789_.eE+-infaN~", max_size=12))
def test_any_scalar_has_a_value(text):
    assert type(scalar_value(text)) in (bool, int, float, str, type(None))


def test_maps_keep_their_places_and_quoted_text_stays_text(tmp_path):
    tree = read(tmp_path, "on: 1\n'2': '3'\nlist:\n  - {a: yes}\ntext: |\n  one\n  two\n")
    assert plain(tree) == {"on": 1, "2": "3", "list": [{"a": "yes"}], "text": "one\ntwo\n"}
    assert tree.entries["2"].place == Place("f.yaml", 2, 1)
    assert tree.entries["list"].value.items[0].place == Place("f.yaml", 4, 5)
    assert tree.entries["text"].value.place.line == 6  # where the text begins, not its indicator


def test_anchors_aliases_and_merges(tmp_path):
    tree = read(tmp_path, "a: &x {p: 1, q: 2}\nb: *x\nc: {<<: *x, q: 3}\nd: {<<: [{p: 4}, *x]}\n")
    assert plain(tree) == {"a": {"p": 1, "q": 2}, "b": {"p": 1, "q": 2}, "c": {"p": 1, "q": 3}, "d": {"p": 4, "q": 2}}


def test_a_byte_order_mark_is_no_part_of_the_first_key(tmp_path):
    assert plain(read(tmp_path, b"\xef\xbb\xbfa: 1\n")) == {"a": 1}


LAUGHS = "a: &a [x, x]\n" + "".join(
    f"{k}: &{k} [*{j}, *{j}, *{j}]\n" for j, k in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "f.yaml:1: expected a map of keys to values, found an empty file"),
        ("# only a comment\n", "f.yaml:1: expected a map of keys to values, found an empty file"),
        ("- a\n", "f.yaml:1: expected a map of keys to values, found a list"),
        ("abc\n", "f.yaml:1: expected a map of keys to values, found 'abc'"),
        ("a: 1\nb: 2\na: 3\n", "f.yaml:3: the key 'a' is given twice; first in line 1"),
        ("a:\n  b: 1\n  'b': 2\n", "f.yaml:3: the key 'b' is given twice; first in line 2"),
        ("a:\n\tb: 1\n", "f.yaml:2: not YAML: .*indented with spaces, not with tabs"),
        ("a: f(x): y\n", "f.yaml:1: not YAML: .*has to be quoted"),
        ("a: [1, 2\nb: 3\n", "f.yaml:2: not YAML: .*has to be quoted"),
        ("a: *b\n", "f.yaml:1: not YAML: .*undefined alias"),
        ("a: @b\n", "f.yaml:1: not YAML: .*has to be quoted"),
        ("a: 1\n---\nb: 2\n", "f.yaml:2: not YAML: .*a file holds one document"),
        ("[a]: 1\n", "f.yaml:1: expected a name before the colon"),
        ("a: !!python/object/apply:os.system ['true']\n", "f.yaml:1: YAML tags are not supported"),
        ("a: !mine 1\n", "f.yaml:1: YAML tags are not supported, found '!mine'"),
        ("a: {<<: 3}\n", "f.yaml:1: `<<` expects a map"),
        ("a: &a [*a]\n", "f.yaml:1: nested deeper than 20 levels"),
        ("a: " + "[" * 30 + "]" * 30, "f.yaml:1: nested deeper than 20 levels"),
        (b"a: 1\nb: \xff\n", "f.yaml:2: expected UTF-8 text, found the byte 0xff"),
        ("a: \x00\n", "f.yaml:1: not YAML"),
    ],
)
def test_what_is_wrong_has_its_place(tmp_path, text, message):
    with pytest.raises(SpecError, match=message):
        read(tmp_path, text)


def test_anchors_are_read_once_however_often_they_are_used(tmp_path):
    tree = read(tmp_path, LAUGHS)  # written out, it would have 2 x 3^8 values
    assert tree.entries["i"].value.items[0] is tree.entries["h"].value


def test_a_file_that_is_not_there(tmp_path):
    problems = Problems()
    assert read_map(tmp_path / "no.yaml", "no.yaml", problems) is None
    assert read_map(tmp_path, "dir", problems) is None
    with pytest.raises(SpecError, match=r"no.yaml: expected a YAML file: No such file[\s\S]*dir: .*directory"):
        problems.raise_if_any()
