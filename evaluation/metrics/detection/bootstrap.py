"""Bootstrap intervals of average precision: images drawn with replacement, exactly.

Source: Russakovsky et al. (2015), §6.2, for the mean AP. A round draws N of N images; an image
drawn w times has its objects and detections w times, with the copies of a detection adjacent. So a
hit counts w times, at the highest precision from its last copy on.
"""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evaluation.metrics.detection.precision import ClassBoxes, Precisions
from evaluation.metrics.significance import MAX_ROUNDS, ROUNDS, Interval, settled_interval

# Most average precisions in memory at once, 256 MB.
_MAX_IN_MEMORY = 32_000_000


@dataclass(frozen=True)
class Resampled:
    """Detections of C classes with objects, prepared for drawing.

    images: N of them. detection_images: (D,) image of each detection, by class, then by falling
    confidence; hit: whether each matched an object; ends: (C,) where each class ends. objects,
    object_ends: the same for the objects. Detections after a class's last hit change no precision
    and are dropped.
    """

    images: int
    classes: NDArray[np.int64]
    detection_images: NDArray[np.int32]
    hit: NDArray[np.bool_]
    ends: NDArray[np.int64]
    objects: NDArray[np.int32]
    object_ends: NDArray[np.int64]

    @classmethod
    def of(
        cls, measured: Precisions, truth: ClassBoxes, detected: ClassBoxes, images: int
    ) -> "Resampled":
        """Return the prepared detections.

        truth: the objects that counted; detected: all boxes passed to average_precisions().
        """
        classes = np.flatnonzero(measured.positives)
        ends = np.cumsum(measured.detections)
        starts = ends - measured.detections
        # One past the last hit before each end, 0 if there is none.
        over = np.append(0, np.flatnonzero(measured.hits) + 1)
        ends = np.maximum(starts, over[np.searchsorted(over, ends, "right") - 1])
        runs = [np.arange(starts[c], ends[c]) for c in classes]
        kept = np.concatenate([np.zeros(0, np.int64), *runs])
        by_class = np.argsort(truth.classes, kind="stable")
        return cls(
            images,
            classes,
            detected.images[measured.order[kept]].astype(np.int32),
            measured.hits[kept],
            np.cumsum((ends - starts)[classes]),
            truth.images[by_class].astype(np.int32),
            np.cumsum(measured.positives[classes]),
        )

    def rounds(
        self, seeds: NDArray[np.uint64], into: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """Return the (R,) mean AP in one round per seed, over classes with objects in it; NaN
        without any.

        into: (C, H), filled with the AP of each class in the first H rounds.
        """
        from evaluation.metrics.detection.kernels_precision import BLOCK

        means = np.empty(len(seeds))
        starts = range(0, len(seeds), BLOCK)
        threads = os.cpu_count() or 1

        def work(block_starts: range) -> None:
            weights = np.empty((self.images, BLOCK), np.uint8)
            for start in block_starts:
                ap = self._block(seeds[start : start + BLOCK], weights)
                means[start : start + BLOCK] = _means(ap)
                if into is not None:
                    kept = into[:, start : start + BLOCK]
                    kept[:] = ap[:, : kept.shape[1]]

        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(work, [starts[i::threads] for i in range(threads)]))
        return means

    def _block(self, seeds: NDArray[np.uint64], weights: NDArray[np.uint8]) -> NDArray[np.float64]:
        """Return the (C, R) AP of every class in up to BLOCK rounds; weights is overwritten."""
        from evaluation.metrics.detection.kernels_precision import (
            BLOCK,
            draw_images,
            weighted_precisions,
        )

        # Blocks have a fixed size; rounds beyond the last are discarded.
        padded = np.zeros(BLOCK, np.uint64)
        padded[: len(seeds)] = seeds
        ap = np.empty((len(self.classes), BLOCK))
        draw_images(padded, weights)
        weighted_precisions(
            weights, self.detection_images, self.hit, self.ends, self.objects, self.object_ends, ap
        )
        return ap[:, : len(seeds)]


@dataclass(frozen=True)
class PrecisionIntervals:
    """mean: of the mean AP. by_class: of the AP of each class with objects, by its index. drawn:
    (R,) the mean AP in every round.
    """

    mean: Interval
    by_class: dict[int, Interval]
    drawn: NDArray[np.float64]


def precision_intervals(
    drawn: Resampled,
    level: float,
    generator: np.random.Generator,
    rounds: int = ROUNDS,
    most_rounds: int = MAX_ROUNDS,
) -> PrecisionIntervals:
    """Return bounds of the mean AP, from rounds doubled until they settle, and of every class.

    Classes use the first of these rounds, as many as memory holds (see `rounds` of each). A round
    in which a class has no object gives it no AP. NaN if no class has objects.
    """
    held: list[NDArray[np.float64]] = []
    every: list[NDArray[np.float64]] = []

    def draw(size: int) -> NDArray[np.float64]:
        seeds = generator.integers(0, 2**64, size, dtype=np.uint64)
        room = _MAX_IN_MEMORY // max(len(drawn.classes), 1) - sum(part.shape[1] for part in held)
        held.append(np.empty((len(drawn.classes), min(size, room))))
        every.append(drawn.rounds(seeds, held[-1]))
        return every[-1]

    mean = settled_interval(draw, level, rounds, most_rounds)
    by_class = {
        class_: _settled(np.concatenate([part[row] for part in held]), level)
        for row, class_ in enumerate(drawn.classes.tolist())
    }
    return PrecisionIntervals(mean, by_class, np.concatenate(every))


def difference_interval(a: PrecisionIntervals, b: PrecisionIntervals, level: float) -> Interval:
    """Return bounds of the mean AP of a minus that of b, in the rounds that both have.

    Both were drawn from the same images by generators of the same seed, so that a round has the
    same images in both.
    """
    rounds = min(len(a.drawn), len(b.drawn))
    return _settled(a.drawn[:rounds] - b.drawn[:rounds], level)


def _settled(drawn: NDArray[np.float64], level: float) -> Interval:
    """Return the bounds of rounds that are already drawn."""
    return settled_interval(lambda _: drawn, level, len(drawn), len(drawn))


def _means(ap: NDArray[np.float64]) -> NDArray[np.float64]:
    known = ~np.isnan(ap)
    count = known.sum(axis=0)
    total = np.where(known, ap, 0.0).sum(axis=0)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)
