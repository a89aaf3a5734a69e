# mypy: disable-error-code="assignment,return-value"
"""Phrases that glosses share, in loops compiled by numba. Import this only inside functions."""

import numpy as np
from numpy.typing import NDArray

# Imported through this module, which sets numba's cache folder.
from labeling.numba_cache import njit


@njit(nogil=True, cache=True)
def overlap(x: NDArray[np.int32], y: NDArray[np.int32], function: int) -> int:
    """Return the sum of squared lengths of the phrases that two texts share, longest first.

    A phrase neither begins nor ends with a word below `function`; negative numbers match nothing;
    each word is used once. Of equally long phrases the first in x, then in y.
    """
    starts, longest = 0, 0
    for i in range(x.shape[0]):
        if x[i] >= function:
            for j in range(y.shape[0]):
                starts += x[i] == y[j]
    if starts == 0:
        return 0
    at = np.empty((starts, 3), np.int32)
    starts = 0
    for i in range(x.shape[0]):
        if x[i] < function:
            continue
        for j in range(y.shape[0]):
            if x[i] != y[j]:
                continue
            size = 1
            last = 1
            while i + size < x.shape[0] and j + size < y.shape[0]:
                if x[i + size] != y[j + size] or x[i + size] < 0:
                    break
                size += 1
                if x[i + size - 1] >= function:
                    last = size
            at[starts, 0], at[starts, 1], at[starts, 2] = i, j, last
            starts += 1
            longest = max(longest, last)
    free_x = np.ones(x.shape[0], np.bool_)
    free_y = np.ones(y.shape[0], np.bool_)
    total = 0
    # Used words stay used: once no phrase of a length is free, none becomes free again.
    for size in range(longest, 0, -1):
        for start in range(starts):
            i, j, last = at[start, 0], at[start, 1], at[start, 2]
            if last < size or x[i + size - 1] < function:
                continue
            free = True
            for k in range(size):
                free &= free_x[i + k] and free_y[j + k]
            if free:
                for k in range(size):
                    free_x[i + k] = free_y[j + k] = False
                total += size * size
    return total


@njit(nogil=True, cache=True)
def overlaps(
    numbers: NDArray[np.int32],
    bounds: NDArray[np.int64],
    rows: NDArray[np.int64],
    columns: NDArray[np.int64],
    function: int,
) -> NDArray[np.int64]:
    """Return (R, C) sums of overlap() over all pairs of texts of two things, the smaller as x.

    numbers: all texts concatenated; text k of thing t is `numbers[bounds[t, k]:bounds[t, k + 1]]`.
    rows, columns: indices of things.
    """
    result = np.zeros((rows.shape[0], columns.shape[0]), np.int64)
    kinds = bounds.shape[1] - 1
    for i in range(rows.shape[0]):
        for j in range(columns.shape[0]):
            a, b = min(rows[i], columns[j]), max(rows[i], columns[j])
            for k in range(kinds):
                x = numbers[bounds[a, k] : bounds[a, k + 1]]
                if x.shape[0] == 0:
                    continue
                for m in range(kinds):
                    y = numbers[bounds[b, m] : bounds[b, m + 1]]
                    if y.shape[0] > 0:
                        result[i, j] += overlap(x, y, function)
    return result
