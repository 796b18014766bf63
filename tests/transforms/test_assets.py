"""Assets come back from their files as they were."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.assets import Asset, Boundaries, Moments, Vocabulary, read_asset
from transforms.errors import ForebayError

FLOATS = st.floats(allow_nan=False)
ASSETS: st.SearchStrategy[Asset] = st.one_of(
    st.dictionaries(st.binary(max_size=8), st.integers(1, 2**63 - 1), max_size=8).map(
        lambda counts: Vocabulary(tuple(counts), tuple(counts.values()))
    ),
    st.builds(Moments, st.integers(0, 2**63), FLOATS, FLOATS, FLOATS, FLOATS),
    st.lists(FLOATS, max_size=8).map(lambda values: Boundaries(tuple(sorted(values)))),
)


@given(ASSETS)
def test_files_hold_all_of_it(asset: Asset) -> None:
    files = asset.to_files()
    assert read_asset(asset.kind, files) == asset
    assert files == read_asset(asset.kind, files).to_files()


def test_files_stay() -> None:
    assert Moments(2, 0.1, 1.0, -0.0, math.inf).to_files() == {
        "moments.json": b'{"count":2,"maximum":"inf","mean":"0x1.999999999999ap-4","minimum":"-0x0.0p+0",'
        b'"variance":"0x1.0000000000000p+0"}'
    }
    assert Boundaries((0.5, 2.0)).to_files() == {"boundaries.json": b'["0x1.0000000000000p-1","0x1.0000000000000p+1"]'}


@pytest.mark.parametrize(
    ("kind", "files", "message"),
    [
        ("median", {}, "no asset is of the kind 'median'; there are boundaries, moments, vocabulary"),
        ("moments", {"other": b""}, "lacks its file moments.json; found other"),
        ("moments", {"moments.json": b"{}"}, "moments.json holds no moments"),
        ("boundaries", {"boundaries.json": b"[1"}, "boundaries.json holds no boundaries"),
        ("boundaries", {"boundaries.json": b'["0x1p1", "0x1p0"]'}, "boundaries ascend"),
        ("vocabulary", {"vocabulary.arrow": b"cut"}, "vocabulary.arrow holds no vocabulary"),
    ],
)
def test_other_files_are_refused(kind: str, files: dict[str, bytes], message: str) -> None:
    with pytest.raises(ForebayError, match=message):
        read_asset(kind, files)


def test_values_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ValueError, match="1 values and 2 counts"):
        Vocabulary((b"a",), (1, 2))
    with pytest.raises(ValueError, match="ascend"):
        Boundaries((1.0, math.nan))
