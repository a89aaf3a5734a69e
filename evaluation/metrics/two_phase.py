"""Shares of a population of which one part was examined completely and the other sampled.

Source: double sampling for stratification, Cochran (1977), §12.2; intervals by the bootstrap.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evaluation.metrics.significance import MIN_SIDE, Interval, settled_interval
from labeling.estimators.intervals import clopper_pearson

FOR, AGAINST, LEFT_OUT = 1, 0, -1


class SampledShare(NamedTuple):
    """A share with its interval. units: number in the whole part and the sample."""

    value: float
    interval: Interval
    units: int


def sampled_share(
    whole: ArrayLike,
    sample: ArrayLike,
    others: int,
    level: float,
    generator: np.random.Generator,
) -> SampledShare:
    """Return the share FOR among FOR and AGAINST; each sampled unit represents others / m units.

    whole: (n,) outcomes of the part that was examined completely: FOR, AGAINST or LEFT_OUT. sample:
    (m,) those of a random sample of the other part, which has `others` units. NaN if nothing
    counts. Each bootstrap round redraws the population (whole part and `others`), then the sample.
    If either part has fewer than MIN_SIDE units for or against, the interval is widened to the
    bounds that follow from the Clopper-Pearson intervals of both parts. Raises ValueError if
    `others` is above 0 and the sample is empty.

    >>> share = sampled_share([1, 0], [1, 0], 10, 0.95, np.random.default_rng(0))
    >>> share.value, share.units
    (0.5, 4)
    """
    whole_counts, sample_counts = (_counts(outcomes) for outcomes in (whole, sample))
    n, m = int(whole_counts.sum()), int(sample_counts.sum())
    if others and not m:
        raise ValueError(f"there is no sample of {others} units")
    units = n + others

    def share(whole_counts: NDArray[np.float64], rest: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the share. whole_counts, rest: (…, 3) numbers of units with each outcome."""
        total = whole_counts + rest
        counted = total[..., 0] + total[..., 1]
        with np.errstate(invalid="ignore"):
            return np.asarray(total[..., 1] / counted)

    def draw(size: int) -> NDArray[np.float64]:
        population = generator.multinomial(units, [*whole_counts / units, others / units], size)
        sample_shares = (
            generator.multinomial(m, sample_counts / m, size) / m if m else np.zeros((size, 3))
        )
        return share(population[:, :3].astype(float), population[:, 3:] * sample_shares)

    weight = others / m if m else 0.0
    value = float(share(whole_counts, weight * sample_counts))
    if math.isnan(value):
        return SampledShare(value, Interval(math.nan, math.nan, 0, True), n + m)
    interval = settled_interval(draw, level)
    against, in_favour = int(sample_counts[0]), int(sample_counts[1])
    whole_against, whole_for = int(whole_counts[0]), int(whole_counts[1])
    parts = [(whole_for, whole_against, 1.0), (in_favour, against, weight)]
    if any(min(yes, no) < MIN_SIDE for yes, no, _ in parts if yes + no):
        low, high = (_mixed(parts, level, side) for side in (0, 1))
        interval = interval._replace(low=min(interval.low, low), high=max(interval.high, high))
    return SampledShare(value, interval, n + m)


def _mixed(parts: list[tuple[int, int, float]], level: float, side: int) -> float:
    """Return a bound of the share from the exact bounds of both parts.

    parts: for, against, weight. side: 0 lower, 1 upper.
    """
    weights = [(yes + no) * weight for yes, no, weight in parts]
    bounds = [clopper_pearson(yes, yes + no, level)[side] for yes, no, _ in parts]
    return float(np.average(bounds, weights=weights))


def _counts(outcomes: ArrayLike) -> NDArray[np.float64]:
    """Return how many are against, for and left out."""
    values = np.asarray(outcomes, dtype=int)
    return np.array([(values == outcome).sum() for outcome in (AGAINST, FOR, LEFT_OUT)], float)
