"""CL-ratios by index, and the parts that objects have: counts in ten bins, also per round.

Source: Sarvadevabhatla et al. (2016), Supplements E (CL-ratio) and A (part presence).
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evaluation.metrics.cds.arrays import Counts, Floats, Ints, ScoreArrays
from evaluation.metrics.cds.formulas import BINS
from evaluation.metrics.cds.rows import CdsRow
from evaluation.metrics.cds.statistics import Found, interval, plain


@dataclass(kw_only=True)
class RatioRow(CdsRow):
    """A bin of a classifier's CL-ratios at one index; classifier is "" for all machines together.

    low, high: the bin's edges; the upper one belongs to the next bin, except 1. total: the number
    of CL-ratios at this index; share: of them. share_low, share_high: the interval.
    """

    LATE_COLUMNS = ("share_low", "share_high", "total")

    classifier: str
    index: int
    bin: int
    low: float
    high: float
    count: int
    share: float | None
    share_low: float | None
    share_high: float | None
    total: int | None


@dataclass(kw_only=True)
class PresenceRow(CdsRow):
    """The number of a category's objects with m of M parts, m / M in the bin."""

    LATE_COLUMNS = ("share_low", "share_high")

    category: str
    bin: int
    low: float
    high: float
    count: int
    share: float | None
    share_low: float | None
    share_high: float | None
    objects: int


@dataclass(frozen=True)
class Histograms:
    """The events to count.

    owner, classifier, index, bin: (E,) of each CL-ratio, index from 1. presence: (O,) the bin of
    m / M of each object, −1 if its number of parts is unknown.
    """

    owner: Ints
    classifier: Ints
    index: Ints
    bin: Ints
    presence: Ints

    def counts(self, scores: ScoreArrays, weights: Counts) -> Found:
        """Return the counts. "cl": (R, C + 1, M, 10) CL-ratios by classifier, index and bin, all
        machines together last; "presence": (R, G, 10) objects by category and bin.
        """
        count, longest = len(scores.classifiers), int(self.index.max(initial=0))
        flat_index = (self.classifier * longest + self.index - 1) * BINS + self.bin
        each = _weighted(flat_index, self.owner, count * longest * BINS, weights)
        each = each.reshape(len(weights), count, longest, BINS)
        together = each[:, list(scores.machines)].sum(axis=1, keepdims=True)
        known = np.flatnonzero(self.presence >= 0)
        flat_index = scores.category[known] * BINS + self.presence[known]
        presence = _weighted(flat_index, known, len(scores.categories) * BINS, weights)
        return {
            "cl": np.concatenate([each, together], axis=1),
            "presence": presence.reshape(len(weights), len(scores.categories), BINS),
        }


def _weighted(places: Ints, owners: Ints, size: int, weights: Counts) -> NDArray[np.float32]:
    """Return (R, size): the number of events per index, each weighted by its owner's draws."""
    from scipy.sparse import coo_array

    ones = np.ones(len(places), np.int32)
    events = coo_array((ones, (places, owners)), shape=(size, weights.shape[1])).tocsr()
    # Integers below 2^24 are exact in float32.
    return (events @ weights.T).T.astype(np.float32)


def cl_rows(
    scores: ScoreArrays, point: Found, rounds: Found | None, level: float
) -> Iterator[RatioRow]:
    """Yield ten rows per index that has CL-ratios, for every classifier and for "", the
    machines.
    """
    names = [*scores.classifiers, ""]
    for (of, index), total, histogram in _bins("cl", point, rounds, level):
        yield RatioRow(classifier=names[of], index=index + 1, total=total, **vars(histogram))


def presence_rows(
    scores: ScoreArrays, point: Found, rounds: Found | None, level: float
) -> Iterator[PresenceRow]:
    """Yield ten rows per category with objects whose number of parts is known."""
    for (category,), total, histogram in _bins("presence", point, rounds, level):
        name = scores.categories[category]
        yield PresenceRow(category=name, objects=total, **vars(histogram))


@dataclass(frozen=True)
class _Bin:
    bin: int
    low: float
    high: float
    count: int
    share: float | None
    share_low: float | None
    share_high: float | None


def _bins(
    key: str, point: Found, rounds: Found | None, level: float
) -> Iterator[tuple[tuple[int, ...], int, _Bin]]:
    """Yield the index in the counts, their total, and each of the ten bins."""
    counts = point[key][0]
    share, totals = _share(counts), counts.sum(axis=-1)
    low = high = np.full_like(share, np.nan)
    if rounds is not None:
        low, high = interval(_share(rounds[key]), level)
    for at in zip(*(axis.tolist() for axis in np.nonzero(totals)), strict=True):
        for number in range(BINS):
            cell = (*at, number)
            yield (
                at,
                int(totals[at]),
                _Bin(
                    bin=number,
                    low=number / BINS,
                    high=(number + 1) / BINS,
                    count=int(counts[cell]),
                    share=plain(share[cell]),
                    share_low=plain(low[cell]),
                    share_high=plain(high[cell]),
                ),
            )


def _share(counts: Floats) -> Floats:
    totals = counts.sum(axis=-1, keepdims=True, dtype=float)
    with np.errstate(invalid="ignore"):
        shares: Floats = counts / totals
    return shares
