"""Intervals of proportions and means: pure, no Django."""

import math
from collections.abc import Sequence
from statistics import fmean, stdev

# Two-sided 95 % quantile of the normal distribution.
Z95 = 1.959963984540054


def wilson_interval(right: int, total: int) -> tuple[float, float]:
    """Return the 95 % interval of a proportion by Wilson's score; (0, 1) without observations.

    >>> [round(bound, 4) for bound in wilson_interval(8, 10)]
    [0.4902, 0.9433]
    """
    if not total:
        return 0.0, 1.0
    share = right / total
    scale = 1 + Z95**2 / total
    center = (share + Z95**2 / (2 * total)) / scale
    half = Z95 / scale * math.sqrt(share * (1 - share) / total + Z95**2 / (4 * total**2))
    return max(0.0, center - half), min(1.0, center + half)


def clopper_pearson(right: float, total: int, level: float = 0.95) -> tuple[float, float]:
    """Return the exact interval of a proportion, with coverage of at least `level`; (0, 1) without
    observations.

    right: a whole number; for a mean of shares, such as hits among k, their sum.

    >>> [round(bound, 4) for bound in clopper_pearson(8, 10)]
    [0.4439, 0.9748]
    """
    if not total:
        return 0.0, 1.0
    # scipy.special instead of scipy.stats: it imports in a tenth of the time.
    from scipy.special import betaincinv

    tail = (1 - level) / 2
    low = float(betaincinv(right, total - right + 1, tail)) if right else 0.0
    high = float(betaincinv(right + 1, total - right, 1 - tail)) if right < total else 1.0
    return low, high


def mean_interval(values: Sequence[float]) -> tuple[float, float] | None:
    """Return the 95 % interval of a mean by Student's t; None for fewer than two values.

    >>> [round(bound, 3) for bound in mean_interval([1.0, 2.0, 3.0])]
    [-0.484, 4.484]
    """
    count = len(values)
    if count < 2:
        return None
    from scipy.special import stdtrit

    half = float(stdtrit(count - 1, 0.975)) * stdev(values) / math.sqrt(count)
    return fmean(values) - half, fmean(values) + half


def share_interval(
    agreed: int, votes: int, probability: float | None
) -> tuple[float, float] | None:
    """Return the interval of a probability that is a share of votes; None for other probabilities.

    >>> [round(bound, 4) for bound in share_interval(1, 1, 1.0)]
    [0.2065, 1.0]
    """
    if probability is None or not votes or abs(probability - agreed / votes) > 1e-9:
        return None
    return wilson_interval(agreed, votes)
