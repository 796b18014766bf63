from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from materialized import layout
from materialized.chunks import ChunkEntry, Manifest, read_manifest, rows_of_part, write_manifest
from materialized.errors import MismatchError, SliceError
from materialized.pins import Window, current_window, next_generation, pin, pinned_window, proposed_window
from materialized.store import Store
from transforms.specs import DatasetSpec


def _manifest(count: int) -> Manifest:
    entries = [
        ChunkEntry(f"{index:064x}", f"/log/{index}.csv", "ab" * 32, 0, 1, 10 * index, None, (index, index + 0.5))
        for index in range(count)
    ]
    return Manifest("clicks", tuple(entries))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.create(tmp_path / "store")


class TestSlices:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            (":", [0, 1, 2, 3]),
            ("2:", [2, 3]),
            (":-1", [0, 1, 2]),
            ("-1:", [3]),
            ("1:3", [1, 2]),
            (" 1:2 ", [1]),
            ("9:", []),
        ],
    )
    def test_they_are_pythons(self, text: str, expected: list[int]) -> None:
        manifest = _manifest(4)
        assert manifest.slice(text) == tuple(manifest.entries[index] for index in expected)

    @pytest.mark.parametrize("text", ["", "1", "a:b", "1:2:3", "-:", ":-"])
    def test_others_are_refused(self, text: str) -> None:
        with pytest.raises(SliceError, match="expected a slice of chunks"):
            _manifest(4).slice(text)


@given(st.integers(1, 50), st.integers(0, 10_000))
def test_parts_of_a_text_file_are_even_and_complete(parts: int, rows: int) -> None:
    ranges = [rows_of_part(ordinal, parts, rows) for ordinal in range(parts)]
    assert [row for part in ranges for row in part] == list(range(rows))
    assert max(map(len, ranges)) - min(map(len, ranges)) <= 1


def test_equal_chunks_are_distinct_entries() -> None:
    (entry,) = _manifest(1).entries
    manifest = Manifest("clicks", (entry, replace(entry, source="/log/copy.csv")))
    assert len(manifest) == 2
    assert manifest.chunks == (entry.chunk,)
    assert len({entry.key for entry in manifest}) == 2


class TestManifestsInAStore:
    def test_they_come_back_as_they_were(self, store: Store) -> None:
        entry = replace(_manifest(2).entries[1], row_groups=(3, 4), rows=None, time_range=("a", "b"))
        manifest = Manifest("clicks", (*_manifest(2).entries, entry))
        write_manifest(store, manifest)
        assert read_manifest(store, "clicks") == manifest

    def test_a_number_is_taken_only_when_entries_change(self, store: Store) -> None:
        numbers = [write_manifest(store, _manifest(count)) for count in (1, 1, 2, 2, 1)]
        assert numbers == [1, 1, 2, 2, 3]
        assert read_manifest(store, "clicks") == _manifest(1)
        assert read_manifest(store, "other") is None

    def test_names_become_no_paths(self, store: Store) -> None:
        write_manifest(store, replace(_manifest(1), dataset="../../evil"))
        (folder,) = store.list("datasets")
        assert len(folder) == len("datasets/") + 64

    def test_damage_is_named(self, store: Store) -> None:
        store.write_once(layout.manifest("clicks", 1), b'{"entries": [{}]}')
        with pytest.raises(MismatchError, match=r"datasets/.*00000001.json: expected a manifest"):
            read_manifest(store, "clicks")


class TestWindows:
    dataset = DatasetSpec(name="clicks", path="x", format="csv", statistics=":-1")

    def test_without_a_pin_it_is_what_would_be_pinned(self, store: Store) -> None:
        window = current_window(store, self.dataset, _manifest(3))
        assert window == proposed_window(self.dataset, _manifest(3)) == Window(1, (f"{0:064x}", f"{1:064x}"))
        assert current_window(None, self.dataset, _manifest(3)) == window
        assert pinned_window(store, self.dataset) is None

    def test_a_pin_holds_when_chunks_arrive(self, store: Store) -> None:
        window = pin(store, self.dataset, current_window(store, self.dataset, _manifest(3)))
        assert current_window(store, self.dataset, _manifest(9)) == window

    def test_the_first_to_pin_wins(self, store: Store) -> None:
        first = pin(store, self.dataset, Window(1, ("a" * 64,)))
        assert pin(store, self.dataset, Window(1, ("b" * 64,))) == first

    def test_refreshing_makes_a_generation_only_when_chunks_differ(self, store: Store) -> None:
        generations = [next_generation(store, self.dataset, _manifest(count)).generation for count in (3, 3, 4, 4, 3)]
        assert generations == [1, 1, 2, 2, 3]

    def test_identity_is_of_the_chunks_in_order(self) -> None:
        assert Window(1, ("a", "b")).identity == Window(7, ("a", "b")).identity
        assert Window(1, ("a", "b")).identity != Window(1, ("b", "a")).identity
        assert Window(1, ("a", "a")).identity != Window(1, ("a",)).identity
