from __future__ import annotations

from pathlib import Path

import pytest

from materialized import layout
from materialized.assets import StoredAsset, has_asset, load_asset, save_asset
from materialized.errors import MismatchError, NotMaterializedError
from materialized.partials import partial_chunks, read_partial, write_partial
from materialized.pins import Window
from materialized.store import Store
from tests.materialized.columns import identity
from transforms.assets import Asset, Boundaries, Moments, Vocabulary

ANALYZER = identity("analyzer")
WINDOW = Window(2, (identity("a"), identity("b"), identity("a")))
VOCABULARY = Vocabulary((b"\xffx", b"a"), (3, 1))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.create(tmp_path / "store")


@pytest.mark.parametrize(
    "asset", [VOCABULARY, Vocabulary((), ()), Moments(3, 0.1, 2.0, -1.0, 1e300), Boundaries((0.1, 0.5))]
)
def test_assets_come_back_as_they_were(asset: Asset, store: Store) -> None:
    assert not has_asset(store, ANALYZER)
    assert save_asset(store, ANALYZER, asset, WINDOW, {"rows": 4})
    assert has_asset(store, ANALYZER)
    assert load_asset(store, ANALYZER) == StoredAsset(asset, WINDOW, {"rows": 4})


def test_the_first_stays(store: Store) -> None:
    save_asset(store, ANALYZER, VOCABULARY, WINDOW)
    assert not save_asset(store, ANALYZER, Vocabulary((b"z",), (1,)), WINDOW)
    assert load_asset(store, ANALYZER).asset == VOCABULARY


def test_one_that_a_writer_left_half_done_is_not_there_and_can_be_finished(store: Store) -> None:
    other = Vocabulary((b"z",), (1,))
    scratch = Store.create(Path(store.path).parent / "scratch")
    save_asset(scratch, ANALYZER, other, WINDOW)
    for key in scratch.list(f"assets/{ANALYZER}"):
        if not key.endswith("asset.json"):
            store.write_once(key, scratch.read(key))  # what a writer of other values did before it died
    assert not has_asset(store, ANALYZER)
    with pytest.raises(NotMaterializedError, match=f"analyzer {ANALYZER} have not been computed"):
        load_asset(store, ANALYZER)
    assert save_asset(store, ANALYZER, VOCABULARY, WINDOW)
    assert load_asset(store, ANALYZER).asset == VOCABULARY


def test_damage_is_refused_and_named(store: Store) -> None:
    save_asset(store, ANALYZER, VOCABULARY, WINDOW)
    (key,) = [key for key in store.list(f"assets/{ANALYZER}") if not key.endswith("asset.json")]
    path = Path(store.path) / key
    data = path.read_bytes()
    path.chmod(0o644)
    path.write_bytes(data + b"x")
    with pytest.raises(MismatchError, match=r"vocabulary.arrow: expected content \w{64}, found \w{64}"):
        load_asset(store, ANALYZER)
    path.unlink()
    with pytest.raises(MismatchError, match=r"vocabulary.arrow: expected a file of an asset, found nothing"):
        load_asset(store, ANALYZER)


def test_a_marker_that_is_none(store: Store) -> None:
    store.write_once(layout.asset_file(ANALYZER, "asset.json"), b"{}")
    with pytest.raises(MismatchError, match=r"asset.json: expected the marker of an asset"):
        load_asset(store, ANALYZER)


def test_partial_results_are_kept_by_accumulator_and_chunk(store: Store) -> None:
    accumulator, chunk = identity("accumulator"), identity("a")
    assert read_partial(store, accumulator, chunk) is None
    assert partial_chunks(store, accumulator) == frozenset()
    assert write_partial(store, accumulator, chunk, b"1")
    assert not write_partial(store, accumulator, chunk, b"2")
    assert read_partial(store, accumulator, chunk) == b"1"
    assert partial_chunks(store, accumulator) == {chunk}
    assert partial_chunks(store, identity("another")) == frozenset()
