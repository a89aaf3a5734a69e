# mypy: disable-error-code="assignment,call-overload,return-value"
# numba infers the types of these loops; a hint cannot say them all.
"""Compares many hashes with many, compiled by numba. Import this inside functions only.

The plain version is Buckets.near in search.py.
"""

import numpy as np
from numpy.typing import NDArray

from labeling.numba_cache import njit

ONES, PAIRS, FOURS = (
    np.uint64(0x5555555555555555),
    np.uint64(0x3333333333333333),
    np.uint64(0x0F0F0F0F0F0F0F0F),
)
ONE_PER_BYTE = np.uint64(0x0101010101010101)
ONE, TWO, FOUR, TOP = np.uint64(1), np.uint64(2), np.uint64(4), np.uint64(56)


@njit(nogil=True, cache=True)
def count_bits(value: np.uint64) -> np.uint64:
    value = value - ((value >> ONE) & ONES)
    value = (value & PAIRS) + ((value >> TWO) & PAIRS)
    value = (value + (value >> FOUR)) & FOURS
    return (value * ONE_PER_BYTE) >> TOP


@njit(nogil=True, cache=True)
def near(
    hashes: NDArray[np.uint64],
    views: NDArray[np.uint64],
    sorted_views: NDArray[np.int32],
    first: int,
    orders: NDArray[np.int32],
    starts: NDArray[np.int64],
    width: int,
    distance: int,
    low: NDArray[np.int64],
    high: NDArray[np.int64],
    apart: NDArray[np.int64],
) -> int:
    """Return the number of pairs: entries within the distance of another entry's view.

    Writes those that fit; a pair may repeat. views: (M, V) of the entries from `first` on.
    sorted_views: (B, M × V) numbers of these views in the order of each band's buckets, so that
    consecutive queries read the same bucket. orders: (B, N) entries in that order. hashes: (B, N)
    likewise, so that a bucket is contiguous. starts: (B, 2 ** width + 1) offsets of the buckets.

    If no band of two hashes is equal, at least 2 B - distance bands differ in exactly one bit. One
    of these bands is enough, so the last 2 B - distance - 1 bands are read without changed bits.
    """
    count = 0
    mask = np.uint64((1 << width) - 1)
    for band in range(orders.shape[0]):
        probes = width + 1 if band < distance - orders.shape[0] + 1 else 1
        for position in range(sorted_views.shape[1]):
            number = sorted_views[band, position]
            query_entry = first + number // views.shape[1]
            query = views[number // views.shape[1], number % views.shape[1]]
            key = np.int64((query >> np.uint64(band * width)) & mask)
            for probe in range(probes):
                bucket = key if probe == 0 else key ^ (1 << (probe - 1))
                for at in range(starts[band, bucket], starts[band, bucket + 1]):
                    bits = np.int64(count_bits(hashes[band, at] ^ query))
                    if bits <= distance and orders[band, at] != query_entry:
                        entry = np.int64(orders[band, at])
                        if count < low.shape[0]:
                            low[count] = min(query_entry, entry)
                            high[count] = max(query_entry, entry)
                            apart[count] = bits
                        count += 1
    return count
