import enum
import math
from collections import OrderedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.canonical import canonical_json, digest, from_tagged, tagged
from transforms.errors import NotCanonicalError

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary()
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3).map(tuple) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def exact(value):
    """A value's own text, in which equal means the same."""
    if isinstance(value, dict):
        return {key: exact(item) for key, item in value.items()}
    return [exact(item) for item in value] if isinstance(value, tuple) else (type(value).__name__, repr(value))


def test_values_that_are_easily_taken_for_each_other_differ():
    alike = [1, "1", 1.0, True, b"1", None, math.nan, "None", "nan", 0, 0.0, -0.0, False, "", b"", (), {}, ((),), (1,)]
    assert len({digest(value) for value in alike}) == len(alike)
    assert len({digest({"x": value}) for value in alike}) == len(alike)


@given(values, values)
def test_the_same_form_is_the_same_value(a, b):
    assert (canonical_json(a) == canonical_json(b)) == (exact(a) == exact(b))


@given(values)
def test_a_form_can_be_read_back(value):
    assert exact(from_tagged(tagged(value))) == exact(value)


@given(st.dictionaries(st.text(), values, max_size=5), st.randoms())
def test_the_order_of_a_mapping_does_not_matter(mapping, random):
    items = list(mapping.items())
    random.shuffle(items)
    assert digest(OrderedDict(items)) == digest(mapping)


def test_golden_digests():
    assert canonical_json({"b": (1, "é"), "a": 0.1}) == (
        '{"map":{"a":{"float":"0x1.999999999999ap-4"},"b":{"list":[{"int":"1"},{"str":"\\u00e9"}]}}}'
    )
    assert digest({"b": (1, "é"), "a": 0.1}) == "268658f251f6f4d2c1fc15b97b8c3c699058893db23d1444dd8b74c768174628"


class Color(enum.Enum):
    RED = 1


# Named by type: what a repr says of an object differs between the processes that run tests beside each other.
@pytest.mark.parametrize(
    "value", [{1: 2}, {1, 2}, object(), 1j, Color.RED, lambda: 1, [range(3)]], ids=lambda value: type(value).__name__
)
def test_what_has_no_form_raises(value):
    with pytest.raises(NotCanonicalError, match="no canonical form"):
        digest(value)


@pytest.mark.parametrize("value", [1, {}, {"int": 1}, {"int": "1", "str": "1"}, {"set": []}, {"none": 0}], ids=repr)
def test_what_was_never_written_is_not_read(value):
    with pytest.raises(NotCanonicalError):
        from_tagged(value)
