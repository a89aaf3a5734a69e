"""Finds near-duplicates among many fingerprints in linear time.

Hashes of 64 bits have four bands of 16. Two hashes that differ in at most seven bits differ in at
most one bit of some band, so it suffices to search, in each band, the buckets with the same 16 bits
or with one bit changed: 17 of 65,536. Source: multi-index hashing, Norouzi et al. (2012).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from labeling.near_duplicates.fingerprints import BITS

BANDS = 4
WIDTH = BITS // BANDS
BUCKETS = 1 << WIDTH
# The largest distance at which all pairs are found.
MAX_DISTANCE = 2 * BANDS - 1
DISTANCE = 6
PROBES = np.array([0, *(1 << bit for bit in range(WIDTH))], np.int64)
# Hashes compared at once: about 100 MB.
CHUNK = 1 << 22
# In `pairs`: images per batch, and initial room for pairs.
BATCH, ROOM = 50_000, 1 << 20
# Number of new hashes searched linearly before they are indexed.
TAIL = 4096

Places = NDArray[np.int64]
Hashes = NDArray[np.uint64]


@dataclass(frozen=True)
class Hits:
    """(H,) pairs of a query and an entry, with their Hamming distances."""

    query: Places
    entry: Places
    distance: Places


class Buckets:
    """(N,) hashes, indexed for near search."""

    def __init__(self, hashes: Hashes) -> None:
        self.hashes = hashes
        self._bands = [_sorted(_band(hashes, band)) for band in range(BANDS)]

    def near(self, queries: Hashes, distance: int) -> Iterator[Hits]:
        """Yield the entries within the distance of each query, in parts; a pair may repeat.

        distance: at most MAX_DISTANCE.
        """
        assert 0 <= distance <= MAX_DISTANCE
        for band, (order, starts) in enumerate(self._bands):
            keys = _band(queries, band)[:, None] ^ PROBES
            first, counts = starts[keys], starts[keys + 1] - starts[keys]
            totals = counts.sum(axis=1).cumsum()
            done = 0
            while done < len(queries):
                before = totals[done - 1] if done else 0
                end = max(done + 1, int(np.searchsorted(totals, before + CHUNK, "right")))
                yield self._compared(
                    queries, done, first[done:end], counts[done:end], order, distance
                )
                done = end

    def _compared(
        self,
        queries: Hashes,
        start: int,
        first: Places,
        counts: Places,
        order: NDArray[np.int32],
        distance: int,
    ) -> Hits:
        sizes = counts.ravel()
        ends = sizes.cumsum()
        inside = np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - sizes, sizes)
        entry = order[inside + np.repeat(first.ravel(), sizes)]
        query = start + np.repeat(np.arange(counts.size) // len(PROBES), sizes)
        apart = np.bitwise_count(self.hashes[entry] ^ queries[query])
        within = np.flatnonzero(apart <= distance)
        return Hits(query[within], entry[within].astype(np.int64), apart[within].astype(np.int64))


@dataclass
class GrowingIndex:
    """A growing index of hashes with owners; the newest hashes are searched linearly.

    owners: any number per hash.
    """

    hashes: Hashes = field(default_factory=lambda: np.zeros(0, np.uint64))
    owners: Places = field(default_factory=lambda: np.zeros(0, np.int64))
    _sorted: Buckets | None = None
    _tail: list[tuple[int, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._sorted = Buckets(self.hashes)

    def add(self, hashes: Sequence[int] | Hashes, owner: int) -> None:
        self._tail += [(int(fingerprint), owner) for fingerprint in hashes]
        if len(self._tail) >= TAIL:
            self.hashes = np.concatenate([self.hashes, self._last()])
            self.owners = np.concatenate(
                [
                    self.owners,
                    np.array([owner_of_entry for _, owner_of_entry in self._tail], np.int64),
                ]
            )
            self._sorted, self._tail = Buckets(self.hashes), []

    def nearest(self, queries: Hashes, distance: int) -> tuple[int, int] | None:
        """Return (distance, owner) of the nearest hash; None if none is within the distance.

        Ties go to the least owner.
        """
        assert self._sorted is not None
        hits_with_owners = [
            (int(apart), int(self.owners[entry]))
            for hits in self._sorted.near(queries, distance)
            for entry, apart in zip(hits.entry.tolist(), hits.distance.tolist(), strict=True)
        ]
        if self._tail:
            apart = np.bitwise_count(self._last()[:, None] ^ queries).min(axis=1)
            near = np.flatnonzero(apart <= distance).tolist()
            hits_with_owners += [(int(apart[at]), self._tail[at][1]) for at in near]
        return min(hits_with_owners, default=None)

    def _last(self) -> Hashes:
        return np.array([fingerprint for fingerprint, _ in self._tail], np.uint64)


def pairs(
    fingerprints: NDArray[np.uint64],
    distance: int = DISTANCE,
    watch: Callable[[int], object] | None = None,
) -> Hits:
    """Return each near pair once with its distance; query < entry, ordered by both.

    fingerprints: (N, VIEWS), all wholes different: group images with equal wholes first, or white
    images would give millions of pairs. watch: receives the number of further entries searched.
    """
    from labeling.near_duplicates.kernels import near

    assert 0 <= distance <= MAX_DISTANCE
    count = len(fingerprints)
    hashes = np.ascontiguousarray(fingerprints[:, 0])
    bands = [_sorted(_band(hashes, band)) for band in range(BANDS)]
    orders, starts = (np.stack(part) for part in zip(*bands, strict=True))
    sorted_hashes = hashes[orders]
    room = [np.empty(ROOM, np.int64) for _ in range(3)]
    keys, apart = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for first in range(0, count, BATCH):
        views = np.ascontiguousarray(fingerprints[first : first + BATCH])
        sorted_views = np.stack([_sorted(_band(views.ravel(), band))[0] for band in range(BANDS)])
        parameters = sorted_hashes, views, sorted_views, first, orders, starts, WIDTH, distance
        while (count_of_pairs := near(*parameters, *room)) > len(room[0]):
            room = [np.empty(count_of_pairs, np.int64) for _ in range(3)]
        low, high, bits = (part[:count_of_pairs] for part in room)
        key, least = _least(low * count + high, bits)
        keys.append(key)
        apart.append(least)
        if watch:
            watch(len(views))
    key, least = _least(np.concatenate(keys), np.concatenate(apart))
    return Hits(key // max(1, count), key % max(1, count), least)


def _least(keys: Places, values: Places) -> tuple[Places, Places]:
    """Return each key once, ascending, with its least value."""
    order = np.lexsort((values, keys))
    keys, values = keys[order], values[order]
    first = np.flatnonzero(np.diff(keys, prepend=-1))
    return keys[first], values[first]


def _band(hashes: Hashes, band: int) -> Places:
    shifted = np.right_shift(hashes, np.uint64(band * WIDTH))
    return np.bitwise_and(shifted, np.uint64(BUCKETS - 1)).astype(np.int64)


def _sorted(keys: Places) -> tuple[NDArray[np.int32], Places]:
    """Return the entries in bucket order and the offset of each bucket."""
    order = np.argsort(keys, kind="stable").astype(np.int32)
    starts = np.searchsorted(keys[order], np.arange(BUCKETS + 1))
    return order, starts.astype(np.int64)
