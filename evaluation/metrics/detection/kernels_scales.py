# mypy: disable-error-code="assignment,return-value"
# numba infers the types of these loops; type hints cannot express them all.
"""Loops over pairs of boxes and over bins of classes, compiled. Import this only inside
functions.
"""

import numpy as np
from numpy.typing import NDArray

# Sets the cache folder of machine code before numba is imported.
from labeling.numba_cache import njit


@njit(nogil=True, cache=True)
def count_alike(edges: NDArray[np.float64], areas: NDArray[np.float64]) -> int:
    """Return the number of pairs of boxes with IoU ≥ 0.5. edges: (N, 4), exclusive; areas
    ascend.
    """
    count = 0
    for i in range(len(areas)):
        for j in range(i + 1, len(areas)):
            # IoU ≥ 0.5 requires areas within a factor of two; slightly more for rounding.
            if areas[j] > 2.000001 * areas[i]:
                break
            wide = min(edges[i, 2], edges[j, 2]) - max(edges[i, 0], edges[j, 0])
            high = min(edges[i, 3], edges[j, 3]) - max(edges[i, 1], edges[j, 1])
            if wide > 0 and high > 0:
                shared = wide * high
                # Rounding by half a unit in the last place must not exclude an IoU of exactly one
                # half.
                if shared / (areas[i] + areas[j] - shared) >= 0.5 - 1e-12:
                    count += 1
    return count


@njit(nogil=True, cache=True)
def count_touching(groups: NDArray[np.int64], edges: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return (N,) how many others of its group each box overlaps or touches. groups ascend."""
    touching = np.zeros(len(groups), np.int64)
    for i in range(len(groups)):
        j = i + 1
        while j < len(groups) and groups[j] == groups[i]:
            if (
                edges[i, 0] <= edges[j, 2]
                and edges[j, 0] <= edges[i, 2]
                and edges[i, 1] <= edges[j, 3]
                and edges[j, 1] <= edges[i, 3]
            ):
                touching[i] += 1
                touching[j] += 1
            j += 1
    return touching


@njit(nogil=True, cache=True)
def keep(scales: NDArray[np.float64], often: NDArray[np.int64], target: float) -> int:
    """Return how many of the smallest to keep so that their mean is closest to the target.

    scales ascend; scale i occurs often[i] times. 0 if even the smallest is above the target.
    """
    kept = 0
    total = 0.0
    # Rounding may put a mean of equal numbers slightly above them.
    most = target * (1 + 1e-12)
    for i in range(len(scales)):
        if total + often[i] * scales[i] <= most * (kept + often[i]):
            total += often[i] * scales[i]
            kept += often[i]
            continue
        while total + scales[i] <= most * (kept + 1):
            total += scales[i]
            kept += 1
        mean = (total + scales[i]) / (kept + 1)
        closer = kept > 0 and mean - target <= target - total / kept
        return kept + 1 if closer else kept
    return kept


@njit(nogil=True, cache=True)
def matched_rounds(
    drawn: NDArray[np.uint32],
    begins: NDArray[np.int64],
    scales: NDArray[np.float64],
    values: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the (R, B) mean value of each bin after drawing its classes and matching by scale.

    drawn: (R, C) any 32 random bits. Bin b has the classes from begins[b] to begins[b + 1], by
    ascending scale. NaN: none remained.
    """
    rounds, bins = len(drawn), len(begins) - 1
    means = np.full((rounds, bins), np.nan)
    often = np.zeros(len(scales), np.int64)
    for r in range(rounds):
        often[:] = 0
        target = np.inf
        for b in range(bins):
            first, last = begins[b], begins[b + 1]
            for i in range(first, last):
                # Scale 32 random bits to the bin: each class gets the same share of them, up to one
                # number.
                often[first + ((np.int64(drawn[r, i]) * (last - first)) >> 32)] += 1
            total = 0.0
            for i in range(first, last):
                total += often[i] * scales[i]
            target = min(target, total / (last - first))
        for b in range(bins):
            first, last = begins[b], begins[b + 1]
            kept = keep(scales[first:last], often[first:last], target)
            left = kept
            total = 0.0
            for i in range(first, last):
                taken = min(often[i], left)
                total += taken * values[i]
                left -= taken
            if kept > 0:
                means[r, b] = total / kept
    return means
