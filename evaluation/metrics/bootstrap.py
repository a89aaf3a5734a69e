"""Bootstrap draws that respect what pairs share."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

# Random numbers held at once: a bound on memory, 32 MB.
_HELD = 8_000_000


def joint_draws(
    images: Sequence[NDArray[np.int64]], rounds: int, generator: np.random.Generator
) -> Iterator[list[NDArray[np.int64]]]:
    """Batches of bootstrap draws: per pair (batch, n) places among its n images.

    images: per pair (n,) numbers of its images from 0, the same number for the same image.
    Each pair draws n of its n images with replacement, every draw uniform and independent; across
    pairs a shared image is drawn jointly: for draw s every image holds one random number, and each
    pair takes its image with the least. Equal pairs draw the same, disjoint ones independently.
    """
    count = max(
        (int(pair_images.max()) + 1 for pair_images in images if len(pair_images)), default=0
    )
    draws = max((len(pair_images) for pair_images in images), default=0)
    batch = max(1, _HELD // max(1, count * draws))
    for start in range(0, rounds, batch):
        size = min(batch, rounds - start)
        numbers = generator.random((size, draws, count), np.float32)
        yield [_least(numbers, pair_images) for pair_images in images]


def _least(numbers: NDArray[np.float32], pair_images: NDArray[np.int64]) -> NDArray[np.int64]:
    if len(pair_images) == 0:
        return np.zeros((len(numbers), 0), np.int64)
    return numbers[:, : len(pair_images), pair_images].argmin(axis=-1)
