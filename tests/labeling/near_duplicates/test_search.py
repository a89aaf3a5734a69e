"""Like hashes among many, against every two compared."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labeling.near_duplicates import search
from labeling.near_duplicates.fingerprints import VIEWS

ONE = np.uint64(1)


def family(rng: np.random.Generator, count: int, kin: int = 3) -> np.ndarray:
    """(count × kin, VIEWS) hashes of which those of a family differ in a few bits."""
    first = rng.integers(0, 2**64, (count, 1, VIEWS), dtype=np.uint64)
    flips = np.zeros((count, kin, VIEWS), np.uint64)
    for _ in range(7):
        bits = rng.integers(0, 64, flips.shape).astype(np.uint64)
        flips ^= np.where(rng.random(flips.shape) < 0.7, ONE << bits, np.uint64(0))
    return (first ^ flips).reshape(count * kin, VIEWS)


def plainly(prints: np.ndarray, distance: int) -> dict[tuple[int, int], int]:
    """Every two whose wholes, or a view and a whole, differ in at most so many bits."""
    pairs = {}
    for low in range(len(prints)):
        for high in range(low + 1, len(prints)):
            ways = (prints[low] ^ prints[high, 0], prints[high] ^ prints[low, 0])
            apart = min(int(np.bitwise_count(way).min()) for way in ways)
            if apart <= distance:
                pairs[low, high] = apart
    return pairs


def distances_of(hits: search.Hits) -> dict[tuple[int, int], int]:
    pairs = zip(hits.query.tolist(), hits.entry.tolist(), strict=True)
    return dict(zip(pairs, hits.distance.tolist(), strict=True))


@pytest.mark.parametrize("distance", [0, 3, 4, 5, 6, 7])
def test_pairs_are_those_that_every_two_compared_give(distance):
    prints = family(np.random.default_rng(distance), 40)

    pairs = distances_of(search.pairs(prints, distance))

    assert pairs == plainly(prints, distance)
    assert [*pairs] == sorted(pairs)
    assert len(pairs) or distance < 7


def test_the_order_and_the_batches_change_nothing(monkeypatch):
    prints = family(np.random.default_rng(1), 60)
    whole = distances_of(search.pairs(prints, 7))
    monkeypatch.setattr(search, "BATCH", 17)
    monkeypatch.setattr(search, "ROOM", 2)

    assert distances_of(search.pairs(prints, 7)) == whole


@given(st.integers(0, 2**64 - 1), st.sets(st.integers(0, 63), max_size=7))
def test_seven_bits_anywhere_are_found(value, bits):
    near = value ^ sum(1 << bit for bit in bits)
    entries = search.Buckets(np.array([value], np.uint64))

    hits = list(entries.near(np.array([near], np.uint64), 7))

    assert {int(apart) for hit in hits for apart in hit.distance} == {len(bits)}


def test_the_compiled_loop_finds_what_its_plain_twin_does():
    prints = family(np.random.default_rng(2), 80)
    buckets = search.Buckets(np.ascontiguousarray(prints[:, 0]))
    twin = {}
    for hits in buckets.near(np.ascontiguousarray(prints).ravel(), 6):
        for query, entry, apart in zip(hits.query, hits.entry, hits.distance, strict=True):
            first, second = int(query) // VIEWS, int(entry)
            if first != second:
                key = min(first, second), max(first, second)
                twin[key] = min(int(apart), twin.get(key, 64))

    assert distances_of(search.pairs(prints, 6)) == twin


def test_hashes_that_come_later_are_found_whether_sorted_or_not(monkeypatch):
    monkeypatch.setattr(search, "TAIL", 5)
    hashes = np.random.default_rng(3).integers(0, 2**64, 23, dtype=np.uint64)
    growing = search.GrowingIndex(hashes[:3], np.arange(3))
    for owner, own_hash in enumerate(hashes[3:], 3):
        growing.add([own_hash], owner)

    hits = [growing.nearest(np.array([own_hash ^ ONE]), 6) for own_hash in hashes]

    assert hits == [(1, owner) for owner in range(23)]
    assert growing.nearest(np.array([~hashes[0]]), 6) is None


def test_nothing_is_like_nothing():
    hits = search.pairs(np.zeros((0, VIEWS), np.uint64))

    assert len(hits.query) == 0
    assert search.GrowingIndex().nearest(np.zeros(1, np.uint64), 6) is None
