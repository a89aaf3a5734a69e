"""CL-ratios by index, and the parts that objects have: counts in ten bins, also in rounds.

Source: Sarvadevabhatla et al. (2016), Supplements E (CL-ratio) and A (part presence).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.metrics.cds.arrays import Counts, Floats, Ints, Scores
from evaluation.metrics.cds.formulas import BINS
from evaluation.metrics.cds.statistics import Found, interval, plain

Row = dict[str, Any]


@dataclass(frozen=True)
class Histograms:
    """What is counted.

    owner, classifier, index, bin: (E,) of each CL-ratio, index from 1. presence: (O,) the bin of
    m / M of each object, −1 where nobody says how many parts it has.
    """

    owner: Ints
    classifier: Ints
    index: Ints
    bin: Ints
    presence: Ints

    def counts(self, scores: Scores, weights: Counts) -> Found:
        """ "cl": (R, C + 1, M, 10) CL-ratios by classifier, index and bin, the machines together
        last; "presence": (R, G, 10) objects by category and bin."""
        count, longest = len(scores.classifiers), int(self.index.max(initial=0))
        place = (self.classifier * longest + self.index - 1) * BINS + self.bin
        each = _weighted(place, self.owner, count * longest * BINS, weights)
        each = each.reshape(len(weights), count, longest, BINS)
        together = each[:, list(scores.machines)].sum(axis=1, keepdims=True)
        own = np.flatnonzero(self.presence >= 0)
        place = scores.category[own] * BINS + self.presence[own]
        presence = _weighted(place, own, len(scores.categories) * BINS, weights)
        return {
            "cl": np.concatenate([each, together], axis=1),
            "presence": presence.reshape(len(weights), len(scores.categories), BINS),
        }


def _weighted(places: Ints, owners: Ints, size: int, weights: Counts) -> NDArray[np.float32]:
    """(R, size): how often each place comes, an event as often as its owner was drawn."""
    from scipy.sparse import coo_array

    ones = np.ones(len(places), np.int32)
    events = coo_array((ones, (places, owners)), shape=(size, weights.shape[1])).tocsr()
    # Whole numbers below 2^24 are exact.
    return (events @ weights.T).T.astype(np.float32)


def cl_rows(scores: Scores, point: Found, rounds: Found | None, level: float) -> Iterator[Row]:
    """Ten rows for each index that has CL-ratios, of every classifier and of "", the machines.

    total: the CL-ratios at this index; share: of them. low, high: the bin's ends, the upper one
    belonging to the next bin but for 1. share_low, share_high: the interval.
    """
    counts = point["cl"][0]
    names: dict[str, list[Any]] = {
        "classifier": [*scores.classifiers, ""],
        "index": list(range(1, counts.shape[1] + 1)),
    }
    return _rows(names, counts, rounds["cl"] if rounds else None, level, "total")


def presence_rows(
    scores: Scores, point: Found, rounds: Found | None, level: float
) -> Iterator[Row]:
    """Ten rows for each category: how many of its objects have m of M parts, m / M in the bin."""
    names = {"category": list(scores.categories)}
    found = rounds["presence"] if rounds else None
    return _rows(names, point["presence"][0], found, level, "objects")


def _rows(
    names: dict[str, list[Any]], counts: Floats, rounds: Floats | None, level: float, total: str
) -> Iterator[Row]:
    share, totals = _share(counts), counts.sum(axis=-1)
    low = high = np.full_like(share, np.nan)
    if rounds is not None:
        low, high = interval(_share(rounds), level)
    for at in zip(*np.nonzero(totals), strict=True):
        for bin_ in range(BINS):
            cell = (*at, bin_)
            yield {
                **{name: known[i] for (name, known), i in zip(names.items(), at, strict=True)},
                "bin": bin_,
                "low": bin_ / BINS,
                "high": (bin_ + 1) / BINS,
                "count": int(counts[cell]),
                "share": plain(share[cell]),
                "share_low": plain(low[cell]),
                "share_high": plain(high[cell]),
                total: int(totals[at]),
            }


def _share(counts: Floats) -> Floats:
    totals = counts.sum(axis=-1, keepdims=True, dtype=float)
    with np.errstate(invalid="ignore"):
        found: Floats = counts / totals
    return found
