"""How far people agree, and whether stated probabilities are calibrated. Pure: numpy."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from labeling.estimators.aggregation import Floats, Ints, vote_counts
from labeling.estimators.intervals import wilson_interval


def krippendorff_alpha(counts: ArrayLike) -> float:
    """Return Krippendorff's alpha of nominal labels: 1 for full agreement, 0 for chance; NaN if
    undefined.

    counts: (I, K) how often each item got each label. Items with fewer than two answers are
    ignored. NaN if none are left or there is only one label, since chance could then make no
    disagreement. Memory is linear in the counts, where the krippendorff package takes K times as
    much; the tests compare both. Source: K. Krippendorff, Computing Krippendorff's
    alpha-reliability (2011).

    >>> round(krippendorff_alpha([[3, 0], [0, 2], [1, 1]]), 4)
    0.5
    """
    table = np.asarray(counts, np.int64)
    answers = table.sum(axis=1)
    table, answers = table[answers > 1], answers[answers > 1]
    # Ordered pairs of different answers within items, each item weighted by its answers.
    unlike = answers * answers - (table * table).sum(axis=1)
    return alpha_of_sums(float((unlike / (answers - 1)).sum()), table.sum(axis=0))


def alpha_of_sums(unlike: float, totals: ArrayLike) -> float:
    """Return Krippendorff's alpha from sums over items, for tables that do not fit into memory.

    unlike: the sum over items of (ordered pairs of different answers) / (answers − 1). totals:
    (K,), answers by label. Both only over items with two or more answers.

    >>> round(alpha_of_sums(2.0, [4, 3]), 4)
    0.5
    """
    by_label = np.asarray(totals, float)
    pairable = float(by_label.sum())
    expected = pairable**2 - float((by_label**2).sum())
    if not expected:
        return float("nan")
    return 1 - (pairable - 1) * unlike / expected


@dataclass(frozen=True)
class KappaAgreement:
    """Agreement by annotator (A,): kappa (NaN if undefined), the share that agreed, n judged."""

    kappa: Floats
    share: Floats
    n: NDArray[np.int64]


def agreement_beyond_chance(
    annotators: Ints, items: Ints, labels: Ints, *, n_annotators: int, n_items: int, n_classes: int
) -> KappaAgreement:
    """Return Cohen's kappa of each annotator with the majority of the others on the same items.

    An annotator's own vote is left out of the majority. Items where the others are tied or nobody
    else answered are ignored. kappa is NaN if chance alone would always agree, or without items.
    """
    rest = vote_counts(items, labels, n_items, n_classes)[items]
    rows = np.arange(len(labels))
    rest[rows, labels] -= 1
    reference = rest.argmax(axis=1) if n_classes else labels
    top = rest[rows, reference]
    judged = (top > 0) & ((rest == top[:, None]).sum(axis=1) == 1)
    people, labels_of_people, others = annotators[judged], labels[judged], reference[judged]
    n = np.bincount(people, minlength=n_annotators)
    right = np.bincount(people, weights=labels_of_people == others, minlength=n_annotators)
    label_counts = vote_counts(people, labels_of_people, n_annotators, n_classes)
    others_counts = vote_counts(people, others, n_annotators, n_classes)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = right / n
        chance = (label_counts * others_counts).sum(axis=1) / n.astype(float) ** 2
        kappa = (share - chance) / (1 - chance)
    kappa[(n == 0) | (chance == 1)] = np.nan
    return KappaAgreement(kappa, share, n)


def calibration_bins(
    probabilities: ArrayLike, correct: ArrayLike, bins: int = 10
) -> dict[str, Any]:
    """Return how often labels stated with probability p are right, in bins of p.

    probabilities: (N,) in [0, 1], stated for the chosen labels; correct: (N,) whether they were
    right. {"bins": [{"low", "high", "n", "stated": mean, "right": share, "interval": Wilson's 95
    %}], "error": expected calibration error, "n"}; bins of equal width, closed below (the last one
    on both sides), empty ones left out. The error is NaN for no labels.

    >>> calibration_bins([0.75, 0.75], [True, False])["error"]
    0.25
    """
    stated, right = np.asarray(probabilities, float), np.asarray(correct, bool)
    bin_index = np.minimum((stated * bins).astype(int), bins - 1)
    n = np.bincount(bin_index, minlength=bins)
    sums = np.bincount(bin_index, weights=stated, minlength=bins)
    hits = np.bincount(bin_index, weights=right, minlength=bins).astype(int)
    total = int(n.sum())
    return {
        "bins": [
            {
                "low": at / bins,
                "high": (at + 1) / bins,
                "n": int(n[at]),
                "stated": float(sums[at] / n[at]),
                "right": float(hits[at] / n[at]),
                "interval": list(wilson_interval(int(hits[at]), int(n[at]))),
            }
            for at in range(bins)
            if n[at]
        ],
        "error": float(np.abs(sums - hits).sum() / total) if total else float("nan"),
        "n": total,
    }
