from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from materialized.chunks import ChunkEntry, Manifest
from materialized.orders import draws, permutation, splitmix64
from materialized.splits import Split, hashed
from tests.materialized.columns import identity
from transforms.specs import EvaluateChunks, EvaluateHash, EvaluateTime, Expression


def _entry(index: int, chunk: int | None = None) -> ChunkEntry:
    name = identity(str(index if chunk is None else chunk))
    return ChunkEntry(name, f"/log/{index}.csv", "ab" * 32, 0, 1, 100)


class TestOrders:
    def test_splitmix64_is_the_published_one(self) -> None:
        # The first outputs of the reference implementation from the seed 1234567.
        states = np.array([1234567 + step * 0x9E3779B97F4A7C15 for step in range(3)]) % 2**64
        found = splitmix64(states.astype(np.uint64))
        assert found.tolist() == [6457827717110365317, 3203168211198807973, 9817491932198370423]

    def test_permutations_stay(self) -> None:
        assert permutation((3, 1), 8).tolist() == GOLDEN_ORDER

    @given(st.lists(st.integers(-(2**70), 2**70), max_size=3), st.integers(0, 200))
    def test_a_permutation_has_each_once(self, key: list[int], count: int) -> None:
        assert sorted(permutation(tuple(key), count).tolist()) == list(range(count))

    def test_every_part_of_a_key_counts(self) -> None:
        keys = [(), (0,), (1,), (0, 0), (0, 1), (1, 0), (0, 0, 0)]
        assert len({tuple(permutation(key, 50).tolist()) for key in keys}) == len(keys)

    @given(st.integers(0, 99), st.integers(0, 99), st.integers(0, 99))
    def test_a_draw_depends_on_the_position_alone(self, key: int, start: int, count: int) -> None:
        whole = draws((key,), range(start + count))
        assert np.array_equal(draws((key,), range(start, start + count)), whole[start:])


GOLDEN_ORDER = [1, 5, 4, 2, 3, 7, 0, 6]


class TestChunks:
    manifest = Manifest("log", tuple(_entry(index, chunk) for index, chunk in enumerate([7, 8, 7, 8])))

    def test_entries_are_on_one_side_even_when_their_chunks_are_equal(self) -> None:
        split = Split.of(EvaluateChunks(chunks="2:"), self.manifest)
        assert split.entries(self.manifest, "train") == self.manifest.entries[:2]
        assert split.entries(self.manifest, "evaluate") == self.manifest.entries[2:]
        assert split.entries(self.manifest, "all") == self.manifest.entries
        assert split.keep(_entry(3), range(3), "evaluate", None).all()
        assert not split.keep(_entry(3), range(3), "train", None).any()

    def test_without_a_split_there_is_nothing_to_evaluate(self) -> None:
        split = Split.of(None, self.manifest)
        assert split.entries(self.manifest, "train") == self.manifest.entries
        assert split.entries(self.manifest, "evaluate") == ()


class TestHash:
    @given(st.floats(0.01, 0.99), st.integers(0, 5))
    def test_parts_make_the_whole(self, fraction: float, seed: int) -> None:
        split = Split.of(EvaluateHash(fraction=fraction, seed=seed), TestChunks.manifest)
        train = split.keep(_entry(1), range(10, 60), "train", None)
        assert np.array_equal(train, ~split.keep(_entry(1), range(10, 60), "evaluate", None))

    @pytest.mark.parametrize("fraction", [0.01, 0.2, 0.5])
    def test_the_fraction_is_held(self, fraction: float) -> None:
        count = 100_000
        held_out = np.count_nonzero(hashed(identity("x"), range(count), EvaluateHash(fraction=fraction)))
        deviation = np.sqrt(count * fraction * (1 - fraction))
        assert abs(held_out - count * fraction) < 4 * deviation

    def test_chunks_and_seeds_draw_other_rows(self) -> None:
        evaluate = [EvaluateHash(fraction=0.5, seed=seed) for seed in range(2)]
        drawn = [hashed(identity(name), range(64), one) for name in "xy" for one in evaluate]
        assert len({tuple(rows.tolist()) for rows in drawn}) == 4
        assert np.array_equal(hashed(identity("x"), range(9, 64), evaluate[0]), drawn[0][9:])


def test_columns_are_asked_for_only_where_they_decide() -> None:
    by = EvaluateHash(fraction=0.5, by=Expression("user"))
    assert Split(by).needs_column
    assert Split(EvaluateTime(since=5)).needs_column
    assert not Split(EvaluateHash(fraction=0.5)).needs_column
    assert not Split(EvaluateChunks(chunks=":")).needs_column
    assert not Split(None).needs_column
    column = np.array([True, False])
    assert Split(by).keep(_entry(0), range(2), "evaluate", column).tolist() == [True, False]
    assert Split(by).keep(_entry(0), range(2), "train", column).tolist() == [False, True]
    with pytest.raises(ValueError, match="needs the split column"):
        Split(by).keep(_entry(0), range(2), "train", None)
