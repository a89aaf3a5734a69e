# mypy: disable-error-code="assignment,return-value"
# numba infers the types of these loops; type hints cannot express them all.
"""Average precisions of many bootstrap rounds at once, compiled. Import this only inside functions.

A block of rounds goes through the detections together: a detection's weights in all of them are
adjacent in memory, so that vector instructions add them.
"""

import numpy as np
from numpy.typing import NDArray

from evaluation.metrics.kernels_random import HALF, LOW, STEP, random_bits

# Sets the cache folder of machine code before numba is imported.
from labeling.numba_cache import njit

# Rounds per block: their weights fill one cache line.
BLOCK = 64


@njit(nogil=True, cache=True)
def draw_images(seeds: NDArray[np.uint64], weights: NDArray[np.uint8]) -> None:
    """Draw N of N images with replacement for BLOCK rounds, counting each image.

    seeds: (BLOCK,) one per round; draws follow by SplitMix64 (Steele et al. 2014). weights: (N,
    BLOCK), overwritten. Numbers under N by Lemire's method (2019), which is unbiased. An image
    drawn over 255 times would wrap; that has a chance under 1e-500 with many images.
    """
    images = np.uint64(len(weights))
    # 2^32 modulo N: draws with a smaller lower half are repeated.
    uneven = (np.uint64(1) << HALF) % images
    counts = np.zeros(len(weights), np.uint8)
    for r in range(BLOCK):
        state = seeds[r]
        counts[:] = 0
        drawn = np.uint64(0)
        while drawn < images:
            state += STEP
            bits = random_bits(state)
            for half in (bits & LOW, bits >> HALF):
                product = half * images
                if drawn < images and (product & LOW) >= uneven:
                    counts[product >> HALF] += np.uint8(1)
                    drawn += np.uint64(1)
        for i in range(len(weights)):
            weights[i, r] = counts[i]


@njit(nogil=True, cache=True, error_model="numpy")
def weighted_precisions(
    weights: NDArray[np.uint8],
    detection_images: NDArray[np.int32],
    hit: NDArray[np.bool_],
    ends: NDArray[np.int64],
    objects: NDArray[np.int32],
    object_ends: NDArray[np.int64],
    ap: NDArray[np.float64],
) -> None:
    """Compute the AP of C classes in BLOCK rounds; NaN if no object of the class was drawn.

    weights: (N, BLOCK). detection_images: (D,) image of each detection, by class, then by falling
    confidence; hit: whether each matched an object; ends: (C,) where each class ends. objects: the
    image of each object, by class. ap: (C, BLOCK), overwritten. A detection of weight w counts w
    times.
    """
    positives = np.empty(BLOCK, np.int32)
    true = np.empty(BLOCK, np.int32)
    every = np.empty(BLOCK, np.int32)
    best = np.empty(BLOCK, np.float64)
    area = np.empty(BLOCK, np.float64)
    start, object_start = 0, 0
    for c in range(len(ends)):
        positives[:], true[:], every[:], best[:], area[:] = 0, 0, 0, 0, 0
        for k in range(object_start, object_ends[c]):
            image_weights = weights[objects[k]]
            for r in range(BLOCK):
                positives[r] += image_weights[r]
        for d in range(start, ends[c]):
            image_weights = weights[detection_images[d]]
            for r in range(BLOCK):
                every[r] += image_weights[r]
            if hit[d]:
                for r in range(BLOCK):
                    true[r] += image_weights[r]
        # Backwards, so that every hit knows the highest precision from there on.
        for d in range(ends[c] - 1, start - 1, -1):
            image_weights = weights[detection_images[d]]
            if hit[d]:
                for r in range(BLOCK):
                    precision = np.float64(true[r]) / np.float64(max(every[r], 1))
                    best[r] = max(best[r], precision)
                    area[r] += image_weights[r] * best[r]
                    true[r] -= image_weights[r]
            for r in range(BLOCK):
                every[r] -= image_weights[r]
        for r in range(BLOCK):
            ap[c, r] = area[r] / positives[r] if positives[r] else np.nan
        start, object_start = ends[c], object_ends[c]
