# mypy: disable-error-code="assignment,return-value"
# numba infers the types of these loops; type hints cannot express them all.
"""Bootstrap counts of pairs of classifiers, compiled. Import this only inside functions."""

import numpy as np
from numpy.typing import NDArray

from evaluation.metrics.kernels_random import HALF, LOW, STEP, random_bits

# Sets the cache folder of machine code before numba is imported.
from labeling.numba_cache import njit


@njit(nogil=True, cache=True, error_model="numpy")
def count_draws(
    seeds: NDArray[np.uint64],
    ends: NDArray[np.int64],
    right: NDArray[np.uint64],
    shared: NDArray[np.int64],
    counts: NDArray[np.int64],
) -> None:
    """Count in each round on how many drawn images the first and the second of each pair are right.

    seeds: (R,) one per round; random numbers follow by SplitMix64 (Steele et al. 2014). The images
    of the pairs are one after the other, each pair up to its entry of `ends`: first those of
    several pairs, by their numbers from 0 in `shared`, then its own, with -1. right: 1 where the
    first is right, plus 2^32 where the second is. counts: (R, pairs, 2), overwritten.
    """
    first_own = np.uint64(shared.max() + 1) if len(shared) else np.uint64(0)
    for r in range(len(seeds)):
        state = seeds[r] + first_own * STEP
        at = 0
        for pair in range(len(ends)):
            left, total = ends[pair] - at, np.uint64(0)
            while at < ends[pair] and shared[at] >= 0:
                # One random number of the round for this image, in all of its pairs.
                bits = random_bits(seeds[r] + np.uint64(shared[at] + 1) * STEP)
                drawn = _binomial((bits >> np.uint64(11)) * 2.0**-53, left, ends[pair] - at)
                total += np.uint64(drawn) * right[at]
                left -= drawn
                at += 1
            images = np.uint64(ends[pair] - at)
            for _ in range(left):
                state += STEP
                # 32 random bits scaled to the images: equal shares up to images / 2^32.
                total += right[at + np.int64(((random_bits(state) >> HALF) * images) >> HALF)]
            at = ends[pair]
            counts[r, pair, 0] = total & LOW
            counts[r, pair, 1] = total >> HALF


@njit(nogil=True, cache=True, error_model="numpy")
def _binomial(uniform: float, draws: int, images: int) -> int:
    """Return how often one of the images is in the draws: the binomial quantile at `uniform`."""
    if images == 1:
        return draws
    mass = (1 - 1 / images) ** draws
    total, count = mass, 0
    while uniform > total and count < draws:
        mass *= (draws - count) / ((count + 1) * (images - 1))
        total += mass
        count += 1
    return count
