# mypy: disable-error-code="assignment,return-value"
# numba infers the types of these loops; type hints cannot express them all.
"""Loops over the noun graph and over predictions, compiled. Import this only inside functions."""

import numpy as np
from numpy.typing import NDArray

# Sets the cache folder of machine code before numba is imported.
from labeling.numba_cache import njit


@njit(nogil=True, cache=True)
def widen(
    start: NDArray[np.int32],
    near: NDArray[np.int32],
    label: NDArray[np.int32],
    sources: NDArray[np.int64],
    ks: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int8]]:
    """Search outwards from every source until as many labels are found as the last k requires.

    start, near: neighbours of every node. label: (nodes,) index of the valid label there, or −1.
    Returns begins (S + 1,), the labels found from each source, nearest first, and for each the
    index of the lowest k whose set has it.
    """
    begins = np.zeros(len(sources) + 1, np.int64)
    members = np.empty(64 * len(sources) + 64, np.int32)
    levels = np.empty(len(members), np.int8)
    seen = np.full(len(label), -1, np.int64)
    queue = np.empty(len(label), np.int64)
    count = 0
    for s in range(len(sources)):
        first = count
        queue[0] = sources[s]
        seen[sources[s]] = s
        head, tail = 0, 1
        while head < tail and count - first < ks[-1]:
            # Everything within this radius enters the set of every k that is not full yet.
            level = 0
            while count - first >= ks[level]:
                level += 1
            ring = tail
            if count + ring - head > len(members):
                larger = np.empty(2 * (count + ring - head), np.int32)
                larger[:count] = members[:count]
                members = larger
                more = np.empty(len(larger), np.int8)
                more[:count] = levels[:count]
                levels = more
            while head < ring:
                node = queue[head]
                head += 1
                if label[node] >= 0:
                    members[count] = label[node]
                    levels[count] = level
                    count += 1
                for edge in range(start[node], start[node + 1]):
                    neighbour = near[edge]
                    if seen[neighbour] != s:
                        seen[neighbour] = s
                        queue[tail] = neighbour
                        tail += 1
        begins[s + 1] = count
    return begins, members[:count].copy(), levels[:count].copy()


@njit(nogil=True, cache=True)
def count_in_sets(
    begins: NDArray[np.int64],
    members: NDArray[np.int32],
    levels: NDArray[np.int8],
    labels: int,
    truth: NDArray[np.int64],
    predicted: NDArray[np.int32],
    ks: NDArray[np.int64],
) -> NDArray[np.int32]:
    """Return (N, len(ks)): how many of the first k predictions are in the true label's set of k."""
    images, ranks = predicted.shape
    sources = len(begins) - 1
    places = np.zeros(sources + 1, np.int64)
    for i in range(images):
        places[truth[i] + 1] += 1
    for s in range(sources):
        places[s + 1] += places[s]
    order = np.empty(images, np.int64)
    free = places.copy()
    for i in range(images):
        order[free[truth[i]]] = i
        free[truth[i]] += 1
    # The lowest k that includes a rank.
    reach = np.zeros(ranks, np.int64)
    for rank in range(ranks):
        while reach[rank] < len(ks) and ks[reach[rank]] <= rank:
            reach[rank] += 1
    counts = np.zeros((images, len(ks)), np.int32)
    never = len(ks)
    level = np.full(labels, never, np.int8)
    for s in range(sources):
        if places[s] == places[s + 1]:
            continue
        for m in range(begins[s], begins[s + 1]):
            level[members[m]] = levels[m]
        for at in range(places[s], places[s + 1]):
            i = order[at]
            for rank in range(ranks):
                if predicted[i, rank] >= 0:
                    # It counts for this k and all larger ones: the sums are accumulated below.
                    least = max(level[predicted[i, rank]], reach[rank])
                    if least < never:
                        counts[i, least] += 1
            for k in range(1, never):
                counts[i, k] += counts[i, k - 1]
        for m in range(begins[s], begins[s + 1]):
            level[members[m]] = never
    return counts
