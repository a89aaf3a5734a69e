"""Intervals of scores, and tests whether two submissions differ.

Source: Russakovsky et al. (2015), §6.2 and Table 9.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from labeling.estimators.intervals import clopper_pearson

ROUNDS = 20_000
# Limit of 128 times ROUNDS: a bound between two values may alternate between them forever.
MAX_ROUNDS = 2_560_000
# A bound is stable if chance moves it by at most this share of the interval's width.
TOLERANCE = 0.01
# With fewer units on either side of a share, resampling underestimates: 4 of 4 right would give 1
# to 1.
MIN_SIDE = 10
# Most counts drawn at once, 32 MB.
_MAX_IN_MEMORY = 4_000_000


class Interval(NamedTuple):
    """Bounds of a score, the rounds drawn, and whether the bounds had settled."""

    low: float
    high: float
    rounds: int
    stable: bool


class ZTest(NamedTuple):
    """Two proportions compared: z > 0 if the first is larger."""

    z: float
    one_sided: float
    two_sided: float


def mean_interval(
    values: ArrayLike,
    level: float,
    generator: np.random.Generator,
    rounds: int = ROUNDS,
    most_rounds: int = MAX_ROUNDS,
    bounds: tuple[float, float] | None = None,
) -> Interval:
    """Return the bootstrap interval of a mean over images, drawn with replacement.

    values: (N,), one per image, with few distinct values (an error, a height, hits among k). A
    round only needs how often each value is drawn, which is multinomial and, for an error of 0 or
    1, binomial: this is exact, and takes as long for a million images as for ten. bounds: the range
    of an image's value; with them the interval of few images is widened, see widened(). NaN for
    none.

    >>> wrong = np.arange(100_000) < 6660
    >>> low, high, *_ = mean_interval(wrong, 0.999, np.random.default_rng(0))
    >>> round(100 * low, 1), round(100 * high, 1)
    (6.4, 6.9)
    """
    distinct, counts = np.unique(np.asarray(values), return_counts=True)
    if not len(distinct):
        return Interval(math.nan, math.nan, 0, True)
    worth = distinct.astype(float)
    drawn = _interval_of_counts(worth, counts, level, generator, rounds, most_rounds)
    images = int(counts.sum())
    return (
        widened(drawn, float(counts @ worth) / images, images, level, bounds) if bounds else drawn
    )


def _interval_of_counts(
    worth: NDArray[np.float64],
    counts: NDArray[np.int64],
    level: float,
    generator: np.random.Generator,
    rounds: int,
    most_rounds: int,
) -> Interval:
    """Return the bootstrap interval of the mean of values worth[i], each counts[i] times."""
    images, shares = int(counts.sum()), counts / counts.sum()

    def draw(size: int) -> NDArray[np.float64]:
        if len(worth) == 1:
            return np.full(size, worth[0])
        if len(worth) == 2:
            often = generator.binomial(images, shares[1], size) / images
            return worth[0] + (worth[1] - worth[0]) * often
        batch = max(1, _MAX_IN_MEMORY // len(worth))
        parts = [
            generator.multinomial(images, shares, min(batch, size - start)) @ worth
            for start in range(0, size, batch)
        ]
        return np.concatenate(parts) / images

    return settled_interval(draw, level, rounds, most_rounds)


def difference_of_errors(
    only_first: int,
    only_second: int,
    images: int,
    level: float,
    generator: np.random.Generator,
) -> Interval:
    """Return the interval of the first's error minus the second's, on the same images.

    only_first, only_second: numbers of images on which only one is wrong. Bootstrap; if fewer than
    2 · MIN_SIDE images separate them, widened to what the exact intervals of both shares allow.
    """
    differ = np.repeat((1, -1, 0), (only_first, only_second, images - only_first - only_second))
    interval = mean_interval(differ, level, generator)
    if not images or only_first + only_second >= 2 * MIN_SIDE:
        return interval
    first, second = (clopper_pearson(n, images, level) for n in (only_first, only_second))
    low, high = min(interval.low, first[0] - second[1]), max(interval.high, first[1] - second[0])
    return interval._replace(low=low, high=high)


def widened(
    interval: Interval, mean: float, units: int, level: float, bounds: tuple[float, float] = (0, 1)
) -> Interval:
    """Return the interval of a mean over units, widened if resampling underestimates it.

    bounds: the range of a unit's value. As a share of this range, the mean has some units for it
    and some against it; with fewer than MIN_SIDE of either, the interval is extended to
    Clopper-Pearson's, which is exact for values 0 and 1 and conservative for values in between.
    """
    low, high = bounds
    width = high - low
    if not units or math.isnan(mean):
        return interval
    right = min(max((mean - low) / width, 0.0), 1.0) * units
    if min(right, units - right) >= MIN_SIDE:
        return interval
    a, b = (low + width * share for share in clopper_pearson(right, units, level))
    return interval._replace(low=_least(interval.low, a), high=-_least(-interval.high, -b))


def _least(a: float, b: float) -> float:
    """Return the smaller number; b if a is NaN."""
    return b if math.isnan(a) else min(a, b)


def settled_interval(
    draw: Callable[[int], NDArray[np.float64]],
    level: float,
    rounds: int = ROUNDS,
    most_rounds: int = MAX_ROUNDS,
) -> Interval:
    """Return bounds of `draw(size)` from at least `rounds` rounds, doubled until they settle.

    Each bound leaves out a tail of (1 − level) / 2 of the rounds, rounded down; NaN rounds are not
    counted. Stable: each bound would change by at most TOLERANCE of the interval's width if it came
    from the order statistics two standard errors away. Two equal halves of the rounds are no
    evidence: they can be equal by chance.
    """
    if not 0 < level < 1:
        raise ValueError(f"level is {level}, expected a number between 0 and 1")
    drawn = draw(rounds)
    while True:
        low, high, doubt = _bounds(drawn, level)
        stable = not doubt > TOLERANCE * (high - low)
        if stable or 2 * len(drawn) > most_rounds:
            return Interval(low, high, len(drawn), stable)
        drawn = np.concatenate([drawn, draw(len(drawn))])


def _bounds(drawn: NDArray[np.float64], level: float) -> tuple[float, float, float]:
    """Return both bounds, and half of the range of the less certain one."""
    known = drawn[~np.isnan(drawn)]
    if not len(known):
        return math.nan, math.nan, 0.0
    # 1 − 0.9 is slightly below 0.1 in floats; a tail must not lose a round because of it.
    tail = int(len(known) * (1 - level) / 2 + 1e-9)
    tail = min(tail, (len(known) - 1) // 2)
    far = math.ceil(2 * math.sqrt(tail + 1))
    places = np.clip([tail, tail - far, tail + far], 0, len(known) - 1)
    mirrored = len(known) - 1 - places
    ordered = np.partition(known, np.concatenate([places, mirrored]))
    low, high = ordered[places], ordered[mirrored]
    doubt = max(low[2] - low[1], high[1] - high[2]) / 2
    return float(low[0]), float(high[0]), float(doubt)


def two_proportion_z(errors_a: int, images_a: int, errors_b: int, images_b: int) -> ZTest:
    """Return the pooled two-proportion z test; one_sided tests whether a has more errors than b.

    NaN if none or all images are wrong. For two submissions on the same images McNemar's test has
    more power, since it only uses images on which they differ.

    >>> round(two_proportion_z(102, 1500, 76, 1500).one_sided, 5)
    0.02225
    """
    pooled = (errors_a + errors_b) / (images_a + images_b)
    spread = math.sqrt(pooled * (1 - pooled) * (1 / images_a + 1 / images_b))
    if spread == 0:
        return ZTest(math.nan, math.nan, math.nan)
    z = (errors_a / images_a - errors_b / images_b) / spread
    return ZTest(z, math.erfc(z / math.sqrt(2)) / 2, math.erfc(abs(z) / math.sqrt(2)))


def mcnemar(only_a_wrong: int, only_b_wrong: int) -> float:
    """Return McNemar's exact two-sided p-value that two submissions are wrong equally often.

    Arguments: numbers of images that only one has wrong. 1 if they never differ.

    >>> mcnemar(5, 0)
    0.0625
    """
    from scipy.special import bdtr

    differ = only_a_wrong + only_b_wrong
    return min(1.0, 2 * float(bdtr(min(only_a_wrong, only_b_wrong), differ, 0.5)))


def holm(p_values: Sequence[float]) -> list[float]:
    """Return the p-values adjusted for multiple tests by Holm's step-down method, in the same
    order.

    Each at or below a level is significant at that level, and the chance of any false one is at
    most the level, however the tests depend on each other.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = largest
    return adjusted
