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
    counts. A bootstrap round redraws the numbers of units per outcome and of the other part, and
    the sample. If either part has fewer than MIN_SIDE units for or against, the interval is widened
    to the bounds that follow from the Clopper-Pearson intervals of both parts. Raises ValueError
    for other units without a sample.

    >>> share = sampled_share([1, 0], [1, 0], 10, 0.95, np.random.default_rng(0))
    >>> share.value, share.units
    (0.5, 4)
    """
    looked, drawn = (_counts(outcomes) for outcomes in (whole, sample))
    n, m = int(looked.sum()), int(drawn.sum())
    if others and not m:
        raise ValueError(f"there is no sample of {others} units")
    units = n + others

    def share(looked: NDArray[np.float64], rest: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the share. looked, rest: (…, 3) numbers of units with each outcome."""
        total = looked + rest
        counted = total[..., 0] + total[..., 1]
        with np.errstate(invalid="ignore"):
            return np.asarray(total[..., 1] / counted)

    def draw(size: int) -> NDArray[np.float64]:
        often = generator.multinomial(units, [*looked / units, others / units], size)
        again = generator.multinomial(m, drawn / m, size) / m if m else np.zeros((size, 3))
        return share(often[:, :3].astype(float), often[:, 3:] * again)

    weight = others / m if m else 0.0
    value = float(share(looked, weight * drawn))
    if math.isnan(value):
        return SampledShare(value, Interval(math.nan, math.nan, 0, True), n + m)
    interval = settled_interval(draw, level)
    against, in_favour = int(drawn[0]), int(drawn[1])
    looked_against, looked_for = int(looked[0]), int(looked[1])
    parts = [(looked_for, looked_against, 1.0), (in_favour, against, weight)]
    if any(min(yes, no) < MIN_SIDE for yes, no, _ in parts if yes + no):
        low, high = (_mixed(parts, level, side) for side in (0, 1))
        interval = interval._replace(low=min(interval.low, low), high=max(interval.high, high))
    return SampledShare(value, interval, n + m)


def _mixed(parts: list[tuple[int, int, float]], level: float, side: int) -> float:
    """Return a bound of the share from the exact ones of the parts. parts: for, against, weight."""
    weights = [(yes + no) * weight for yes, no, weight in parts]
    bounds = [clopper_pearson(yes, yes + no, level)[side] for yes, no, _ in parts]
    return float(np.average(bounds, weights=weights))


def _counts(outcomes: ArrayLike) -> NDArray[np.float64]:
    """Return how many are against, for and left out."""
    values = np.asarray(outcomes, dtype=int)
    return np.array([(values == outcome).sum() for outcome in (AGAINST, FOR, LEFT_OUT)], float)
