"""Bootstrap counts for pairs of classifiers that share images."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

# Most random numbers in memory at once: 64 MB in double precision.
_BATCH_NUMBERS = 8_000_000
# Whether the two of a pair are right on an image, by outcome: neither is, the second, the first,
# both.
_CORRECT = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])


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
    random number, which decides in each of them how often it is drawn. Images of a single pair are
    counted by a multinomial draw over the four outcomes. So equal pairs
    draw the same images, and disjoint pairs draw independently.
    """
    pairs = np.repeat(np.arange(len(images)), [len(pair_images) for pair_images in images])
    ids = np.concatenate([np.zeros(0, np.int64), *images])
    outcomes = np.concatenate([np.zeros((0, 2), bool), *right]) @ (2, 1)
    single = np.bincount(ids, minlength=1)[ids] == 1
    by_outcome = np.zeros((len(images), 4))
    np.add.at(by_outcome, (pairs[single], outcomes[single]), 1)
    rest = by_outcome.sum(axis=1)
    shares = np.where(rest[:, None] > 0, by_outcome / np.maximum(rest, 1)[:, None], (1, 0, 0, 0))
    totals = np.bincount(pairs, minlength=len(images))
    # Take the shared images in turns: the first of each pair by id, then the second, and so on.
    order = np.lexsort((ids, pairs))[~single[np.lexsort((ids, pairs))]]
    turns = np.arange(len(order)) - np.searchsorted(pairs[order], pairs[order])
    columns, numbers = np.unique(ids[order], return_inverse=True)
    batch = max(1, _BATCH_NUMBERS // (len(columns) + 16 * len(images) + 1))
    for start in range(0, rounds, batch):
        size = min(batch, rounds - start)
        left, counts = np.tile(totals, (size, 1)), np.zeros((size, len(images), 4), np.int64)
        uniform = generator.random((size, len(columns)))
        for turn in range(int(turns.max(initial=-1)) + 1):
            now = order[turns == turn]
            drawn = _binomial(
                uniform[:, numbers[turns == turn]], left[:, pairs[now]], totals[pairs[now]] - turn
            )
            counts[:, pairs[now], outcomes[now]] += drawn
            left[:, pairs[now]] -= drawn
        counts += generator.multinomial(left, shares)
        yield counts @ _CORRECT


def _binomial(
    uniform: NDArray[np.float64], draws: NDArray[np.int64], images: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return (batch, N) how often one image is drawn: the binomial quantile at `uniform`.

    draws: (batch, N), draws that are left. images: (N,), images to draw from.
    """
    others = np.maximum(images - 1, 1)
    mass = (others / (others + 1)) ** draws
    total, counts = mass.copy(), np.zeros(draws.shape, np.int64)
    for count in range(int(draws.max(initial=0))):
        above = uniform > total
        if not above.any():
            break
        counts += above
        mass *= (draws - count) / ((count + 1) * others)
        total += mass
    return np.where(images == 1, draws, np.minimum(counts, draws))
