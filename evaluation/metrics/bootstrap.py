"""Bootstrap draws of pairs that share images."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

# Most random numbers in memory at once, 32 MB.
_HELD = 8_000_000


def joint_draws(
    images: Sequence[NDArray[np.int64]], rounds: int, generator: np.random.Generator
) -> Iterator[list[NDArray[np.int64]]]:
    """Yield batches of bootstrap draws: per pair (batch, n) indices among its n images.

    images: per pair (n,) ids of its images from 0; the same id means the same image. Each pair
    draws n of its n images with replacement, every draw uniform and independent; a shared image is
    drawn jointly across pairs: in draw s every image has one random number, and each pair takes its
    image with the smallest. Equal pairs draw the same images, disjoint pairs independently.
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
