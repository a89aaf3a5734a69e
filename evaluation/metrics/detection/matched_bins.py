"""Bins of classes matched to one mean scale, and a submission's values in them.

Source: Russakovsky et al. (2015), §6.3.4 and Figure 14.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evaluation.metrics.significance import ROUNDS, Interval, settled_interval

# A bin with fewer classes is left out, and does not set the target.
MIN_CLASSES = 5
# Most random numbers in memory at once, 16 MB.
_MAX_IN_MEMORY = 4_000_000


@dataclass(frozen=True)
class Bin:
    """The values of a bin.

    classes, scale, value: number, mean scale and value before; kept, kept_scale, kept_value: after
    matching. NaN for none. interval: of kept_value; None if the bin is left out.
    """

    classes: int
    scale: float
    value: float
    kept: int
    kept_scale: float
    kept_value: float
    interval: Interval | None


def match(
    bins: NDArray[np.integer],
    count: int,
    scales: NDArray[np.floating],
    values: NDArray[np.floating],
    level: float,
    generator: np.random.Generator,
) -> tuple[float, list[Bin]]:
    """Return the target and all bins, after dropping the largest classes of each.

    bins: (C,) the bin of each class, from 0 to count − 1; scales, values: (C,), finite. The target
    is the lowest mean scale of a bin of MIN_CLASSES or more classes; NaN if there is none. Every
    other bin loses its largest class (the later in a tie) until its mean is as close to the target
    as possible, and all its classes if even the smallest is above it. The bounds come from ROUNDS
    rounds: the classes of each such bin are drawn with replacement and matched again, with the
    target of the round. Bins with fewer than MIN_CLASSES classes left have no interval.
    """
    order = [np.flatnonzero(bins == b) for b in range(count)]
    order = [members[np.argsort(scales[members], kind="stable")] for members in order]
    large = [b for b, members in enumerate(order) if len(members) >= MIN_CLASSES]
    target = min((float(scales[order[b]].sum() / len(order[b])) for b in large), default=np.nan)
    kept = [_kept(scales[members], target) for members in order]
    with_interval = [b for b in large if kept[b] >= MIN_CLASSES]
    bounds = (
        _bounds([order[b] for b in large], scales, values, level, generator)
        if with_interval
        else []
    )
    intervals = dict(zip(large, bounds, strict=False))
    results = []
    for b, members in enumerate(order):
        stays = members[: kept[b]]
        before = len(members), _mean(scales[members]), _mean(values[members])
        after = len(stays), _mean(scales[stays]), _mean(values[stays])
        results.append(Bin(*before, *after, intervals[b] if b in with_interval else None))
    return target, results


def _kept(scales: NDArray[np.floating], target: float) -> int:
    from evaluation.metrics.detection.kernels_scales import keep

    once = np.ones(len(scales), np.int64)
    return 0 if np.isnan(target) else int(keep(np.asarray(scales, np.float64), once, target))


def _bounds(
    order: list[NDArray[np.int64]],
    scales: NDArray[np.floating],
    values: NDArray[np.floating],
    level: float,
    generator: np.random.Generator,
) -> list[Interval]:
    """Return the interval of each bin; all bins use the same rounds."""
    from evaluation.metrics.detection.kernels_scales import matched_rounds

    begins = np.concatenate([[0], np.cumsum([len(members) for members in order])]).astype(np.int64)
    joined = np.concatenate(order)
    own_scales, own_values = (np.asarray(x, float)[joined] for x in (scales, values))
    batch = max(1, _MAX_IN_MEMORY // len(joined))
    parts = []
    for start in range(0, ROUNDS, batch):
        size = min(batch, ROUNDS - start), len(joined)
        drawn = generator.integers(0, 1 << 32, size, np.uint32)
        parts.append(matched_rounds(drawn, begins, own_scales, own_values))
    means = np.concatenate(parts)

    def bounds_of(b: int) -> Interval:
        return settled_interval(lambda size: means[:size, b], level, ROUNDS, ROUNDS)

    return [bounds_of(b) for b in range(len(order))]


def _mean(values: NDArray[np.floating]) -> float:
    return float(values.mean()) if len(values) else float("nan")
