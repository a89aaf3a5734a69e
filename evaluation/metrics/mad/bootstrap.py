"""Bootstrap counts for pairs of classifiers that share images."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

# Most counts in memory at once: 8 MB, so that the matrices made of them stay in the cache.
_BATCH_NUMBERS = 1_000_000


def joint_counts(
    right: Sequence[NDArray[np.bool_]],
    images: Sequence[NDArray[np.int64]],
    rounds: int,
    generator: np.random.Generator,
) -> Iterator[NDArray[np.int64]]:
    """Yield, for batches of rounds, (batch, pairs, 2) counts of images on which each of the two is
    right.

    right: (n, 2) per pair. images: (n,) different ids per pair, from 0; the same id means the same
    image. Each pair draws n of its n images with replacement. An image of several pairs has one
    random number, which decides in each of them how often it is drawn. So equal pairs draw the same
    images, and disjoint pairs draw independently.
    """
    from evaluation.metrics.mad.kernels_bootstrap import count_draws

    pairs = np.repeat(np.arange(len(images)), [len(pair_images) for pair_images in images])
    ids = np.concatenate([np.zeros(0, np.int64), *images])
    outcomes = np.concatenate([np.zeros((0, 2), bool), *right]) @ np.array([1, 1 << 32], np.uint64)
    _, numbers, uses = np.unique(ids, return_inverse=True, return_counts=True)
    several = uses > 1
    shared = np.where(several, np.cumsum(several) - 1, -1)[numbers]
    order = np.lexsort((ids, shared < 0, pairs))
    ends = np.cumsum([len(pair_images) for pair_images in images], dtype=np.int64)
    seeds = generator.integers(0, 2**64, rounds, dtype=np.uint64)
    batch = max(1, _BATCH_NUMBERS // (2 * len(images) + 1))
    for start in range(0, rounds, batch):
        counts = np.empty((min(batch, rounds - start), len(images), 2), np.int64)
        count_draws(seeds[start : start + batch], ends, outcomes[order], shared[order], counts)
        yield counts
