"""The scores of a CDS benchmark as arrays, and averages of them weighted by objects.

Axes: O objects, G categories, P part schemes, K content schemes, C classifiers, R rounds. An array
of scores is (O, P, K, C), with NaN where there is no sequence. A round is one bootstrap resample;
rounds are (R, O), the number of times that each object was drawn. The averages that are reported
use the round that draws each object once.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Counts = NDArray[np.int32]
# How the paper's text averages, and how the authors' script does.
AVERAGINGS = ("text", "script")
# Maximum number of values in memory per batch of rounds, some tens of MB.
_MAX_IN_MEMORY = 1_000_000


@dataclass(frozen=True)
class ScoreArrays:
    """Every classifier's scores on every sequence.

    categories, part_schemes, content_schemes, classifiers: their names, in the order of the axes.
    images, objects: (O,) ids; category: (O,) indices, ascending; cluster: (O,) the image's index
    within its category. cds, b_cds: (O, P, K, C). frames, wrong: (O, P, K, C), the number of frames
    seen, and of frames named wrongly. last_wrong: 1 if the last frame was named wrongly. b_cds,
    wrong and last_wrong are None without a mapping. machines: indices of the classifiers to
    compare.
    """

    categories: tuple[str, ...]
    part_schemes: tuple[str, ...]
    content_schemes: tuple[str, ...]
    classifiers: tuple[str, ...]
    images: tuple[str, ...]
    objects: tuple[str, ...]
    category: Ints
    cluster: Ints
    machines: tuple[int, ...]
    cds: Floats
    frames: Ints
    b_cds: Floats | None = None
    wrong: Ints | None = None
    last_wrong: Ints | None = None

    @property
    def measures(self) -> dict[str, Floats]:
        return {"cds": self.cds} | ({"b_cds": self.b_cds} if self.b_cds is not None else {})

    def members(self) -> Iterator[slice]:
        """Return the slice of objects of each category."""
        ends = np.searchsorted(self.category, np.arange(len(self.categories) + 1)).tolist()
        return (slice(*pair) for pair in itertools.pairwise(ends))

    def batch(self) -> int:
        """Return the number of rounds to hold in memory at once."""
        _, parts, contents, classifiers = self.cds.shape
        cells = len(self.categories) * parts * contents * classifiers * len(self.measures)
        return max(1, _MAX_IN_MEMORY // max(cells, len(self.images)))


def draws(
    scores: ScoreArrays, rounds: int, seed: int, batch: int | None = None
) -> Iterator[Counts]:
    """Yield batches of rounds, (batch, O): images drawn with replacement within each category.

    Every round draws as many images of a category as it has; all objects of an image in that
    category, with all their sequences, are drawn together. Each category has its own random
    numbers, so the rounds do not depend on the batch size.
    """
    seeds = np.random.SeedSequence(seed).spawn(len(scores.categories))
    generators = [np.random.default_rng(child_seed) for child_seed in seeds]
    batch = batch or scores.batch()
    for start in range(0, rounds, batch):
        size = min(batch, rounds - start)
        drawn_counts = np.empty((size, len(scores.images)), np.int32)
        for generator, members in zip(generators, scores.members(), strict=True):
            cluster = scores.cluster[members]
            count = int(cluster.max()) + 1
            drawn = generator.integers(0, count, (size, count))
            drawn += np.arange(size)[:, None] * count
            times = np.bincount(drawn.ravel(), minlength=size * count).reshape(size, count)
            drawn_counts[:, members] = times[:, cluster]
        yield drawn_counts


def once(scores: ScoreArrays) -> Counts:
    """Return (1, O): the round that draws every object once."""
    return np.ones((1, len(scores.images)), np.int32)


def weighted_medians(values: Floats, owner: Ints, weights: Counts) -> Floats:
    """Return the (R, J) medians of the columns of values (n, J) under weights (R, O).

    owner: (n,) the object of each row; its values count as often as it was drawn. An even number of
    values gives the mean of the middle two. NaN is ignored; a column without drawn values gives
    NaN.
    """
    from evaluation.metrics.cds.kernels import medians

    order = np.argsort(values, axis=0)
    known = len(values) - np.isnan(values).sum(axis=0)
    column_medians = np.full((len(weights), values.shape[1]), np.nan)
    ordered = np.ascontiguousarray(np.take_along_axis(values, order, 0).T)
    medians(ordered, np.ascontiguousarray(owner[order].T), known, weights, column_medians)
    return column_medians


def cells(scores: ScoreArrays, values: Floats, weights: Counts) -> Floats:
    """Return (R, G, P, K, C): the median over a category's objects, in each scheme."""
    return _by_category(scores, values[:, None], weights)


def pooled(scores: ScoreArrays, values: Floats, weights: Counts, axis: int) -> Floats:
    """Return (R, G, X, C): the median over a category's objects and the schemes of one axis,
    pooled.

    axis 1: over part schemes, X is K; axis 2: over content schemes, X is P.
    """
    return _by_category(scores, np.moveaxis(values, axis, 1), weights)


def _by_category(scores: ScoreArrays, values: Floats, weights: Counts) -> Floats:
    """Return (R, G, …): medians over a category's objects and axis 1 of values (O, S, …)."""
    schemes, rest = values.shape[1], values.shape[2:]
    category_medians = []
    for members in scores.members():
        count = members.stop - members.start
        flat = values[members].reshape(count * schemes, -1)
        owner = np.repeat(np.arange(count), schemes)
        category_medians.append(
            weighted_medians(flat, owner, np.ascontiguousarray(weights[:, members]))
        )
    return np.stack(category_medians, axis=1).reshape(len(weights), len(category_medians), *rest)


def mean(values: Floats, axis: int) -> Floats:
    """Return the mean along an axis, ignoring NaN; NaN if there is no number."""
    known = ~np.isnan(values)
    count = known.sum(axis=axis)
    total: Floats = np.where(known, values, 0).sum(axis=axis)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def median(values: Floats, axis: int) -> Floats:
    """Return the median along an axis, ignoring NaN; NaN if there is no number."""
    ordered = np.sort(values, axis=axis)
    count = np.expand_dims((~np.isnan(values)).sum(axis=axis), axis)
    low = np.take_along_axis(ordered, np.maximum(count - 1, 0) // 2, axis)
    high = np.take_along_axis(ordered, np.minimum(count // 2, ordered.shape[axis] - 1), axis)
    middle: Floats = np.squeeze((low + high) / 2, axis)
    return middle


def averages(
    scores: ScoreArrays, values: Floats, weights: Counts, by_cell: Floats
) -> dict[tuple[str, ...], Floats]:
    """Return both averages of a measure: ("content", rule) is (R, K, C), ("part", rule) (R, P, C).

    text: the median over images, then the mean over the schemes of the other kind, then the mean
    over categories. script: the median over images and those schemes together, then the median over
    categories. by_cell: `cells` of the same scores.
    """
    return {
        ("content", "text"): mean(mean(by_cell, 2), 1),
        ("part", "text"): mean(mean(by_cell, 3), 1),
        ("content", "script"): median(pooled(scores, values, weights, 1), 1),
        ("part", "script"): median(pooled(scores, values, weights, 2), 1),
    }


def shares(scores: ScoreArrays, part: Ints, whole: Ints, weights: Counts) -> Floats:
    """Return (R, G, …): Σ part / Σ whole over the drawn objects of each category; part, whole (O,
    …).
    """
    both = np.stack([part, whole], axis=1).reshape(len(part), -1).astype(float)
    sums = np.stack([weights[:, members] @ both[members] for members in scores.members()], axis=1)
    top, bottom = np.moveaxis(sums.reshape(*sums.shape[:2], 2, *part.shape[1:]), 2, 0)
    with np.errstate(invalid="ignore"):
        share: Floats = top / bottom
    return share
