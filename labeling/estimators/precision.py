"""Precision of a class's verified images, from its vote table and an audit of all classes.

A table states a precision for each class. An audit finds what the table cannot know, such as a
lookalike that most people take for the class. No audit has enough images of one class, so all
classes share theirs: the overall error of the tables and the variation between classes are learned
from every audited image and correct each class. docs/explanation/candidates-and-naming.md has the
model and its trials. Source: the tables and the audit are those of Russakovsky et al. 2015, section
3.1.3, who state no interval; the model is ours. Pure: numpy.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from labeling.estimators.aggregation import Floats
from labeling.estimators.intervals import clopper_pearson

# Factors between the true and the stated number of wrong images, equally likely.
FACTORS = np.exp(np.linspace(-1.5, 6.5, 33))
# How far differences between classes in the tables are believed: not, half, fully.
SLOPES = (0.0, 0.5, 1.0)
# Likeness of classes with the same expectation: the standard deviation of their shares of wrong
# images is 1 / sqrt(this) times the expectation.
LIKENESSES = (0.1, 0.2, 0.5, 1.2, 3.0, 8.0)
# Lowest and highest expected share of wrong images.
SUREST, WORST = 1e-5, 0.5
# Grid cells less likely than this, relative to the likeliest, are left out.
NEGLIGIBLE = 1e-6
# Larger numbers of images are capped: beyond this, chance moves the share of wrong ones far less
# than the model's uncertainty.
MAX_IMAGES = 2_000
CHUNK = 250


@dataclass(frozen=True)
class VerifiedClass:
    """A class. yes: images settled as it. doubt: how many of these its table expects to be wrong,
    the sum of 1 − P(good) over their votes. audited: how many of them a trusted person answered
    again; wrong: how many of those with no.
    """

    yes: int
    doubt: float
    audited: int = 0
    wrong: int = 0


@dataclass(frozen=True)
class Precision:
    """by_table: the table's expectation. stated: the same corrected by the audit; its interval is
    for the share among these very images. None without images, and before the first audit.
    """

    by_table: float | None
    stated: float | None
    interval: tuple[float, float] | None


def precisions(classes: Sequence[VerifiedClass], level: float = 0.95) -> list[Precision]:
    """Return the precision of each class. Raises ValueError for impossible counts.

    The share of wrong images of class s is Beta-distributed with the mean f · d^b · D^(1 − b) and
    the shape k: d is the class's doubt per yes, D that of all classes; f, b and k are in FACTORS,
    SLOPES and LIKENESSES. Each combination is weighted by its likelihood on the audited images of
    all classes; then the class's own audited images update its share. `stated` is the median of the
    combinations' expectations; the interval is of the number wrong among all its images, including
    those not audited.
    """
    for verified in classes:
        _check(verified)
    everything = sum(verified.yes for verified in classes)
    audited = sum(verified.audited for verified in classes)
    if not everything or not audited:
        return [Precision(_by_table(verified), None, None) for verified in classes]
    pooled = max(sum(verified.doubt for verified in classes) / everything, SUREST)
    weights = _weights([verified for verified in classes if verified.audited], pooled)
    kept = np.flatnonzero(weights > NEGLIGIBLE * weights.max())
    weights = weights[kept] / weights[kept].sum()
    precisions_of_classes: list[Precision] = []
    for part in _chunks(classes):
        shapes = _shapes(part, pooled)
        precisions_of_classes += _stated(part, [shape[:, kept] for shape in shapes], weights, level)
    return precisions_of_classes


def pooled(classes: Sequence[VerifiedClass], level: float = 0.95) -> Precision:
    """Return the precision of all images together.

    The audited ones are a random sample, so the audit alone gives `stated` and its interval
    (Clopper and Pearson's).
    """
    whole = VerifiedClass(
        sum(verified.yes for verified in classes),
        sum(verified.doubt for verified in classes),
        sum(verified.audited for verified in classes),
        sum(verified.wrong for verified in classes),
    )
    _check(whole)
    if not whole.audited:
        return Precision(_by_table(whole), None, None)
    right = whole.audited - whole.wrong
    interval = clopper_pearson(right, whole.audited, level)
    return Precision(_by_table(whole), right / whole.audited, interval)


def _check(verified: VerifiedClass) -> None:
    if (
        not 0 <= verified.wrong <= verified.audited <= verified.yes
        or not 0 <= verified.doubt <= verified.yes
    ):
        raise ValueError(f"{verified}: wrong, audited and yes must not fall, nor doubt exceed yes")


def _by_table(verified: VerifiedClass) -> float | None:
    return 1 - verified.doubt / verified.yes if verified.yes else None


def _chunks(classes: Sequence[VerifiedClass]) -> Iterator[Sequence[VerifiedClass]]:
    for start in range(0, len(classes), CHUNK):
        yield classes[start : start + CHUNK]


@lru_cache(maxsize=1)
def _grid() -> tuple[Floats, Floats, Floats]:
    """Return (G,) log factor, slope and likeness of every combination."""
    axes = np.meshgrid(np.log(FACTORS), SLOPES, LIKENESSES, indexing="ij")
    factor, slope, likeness = (axis.ravel() for axis in axes)
    return factor, slope, likeness


def _shapes(classes: Sequence[VerifiedClass], pooled: float) -> list[Floats]:
    """Return (S, G): both parameters of each class's Beta distribution before the audit."""
    factor, slope, likeness = _grid()
    doubt = np.array(
        [verified.doubt / verified.yes if verified.yes else pooled for verified in classes]
    )
    against = np.log(np.maximum(doubt, SUREST) / pooled)
    mean = np.exp(np.minimum(np.log(pooled) + factor + slope * against[:, None], np.log(WORST)))
    shape = np.broadcast_to(likeness, mean.shape)
    return [shape, shape * (1 - mean) / mean]


def _weights(classes: Sequence[VerifiedClass], pooled: float) -> Floats:
    """Return (G,): likelihood of the audit, relative to the most likely combination."""
    from scipy.special import betaln

    total = np.zeros(len(_grid()[0]))
    for part in _chunks(classes):
        wrong, right = _audited(part)
        bad, good = _shapes(part, pooled)
        total += (betaln(bad + wrong, good + right) - betaln(bad, good)).sum(axis=0)
    return np.asarray(np.exp(total - total.max()))


def _audited(classes: Sequence[VerifiedClass]) -> tuple[Floats, Floats]:
    """Return (S, 1): how many audited images were wrong, and right."""
    wrong = np.array([float(verified.wrong) for verified in classes])[:, None]
    right = np.array([float(verified.audited - verified.wrong) for verified in classes])[:, None]
    return wrong, right


def _stated(
    classes: Sequence[VerifiedClass], shapes: Sequence[Floats], weights: Floats, level: float
) -> list[Precision]:
    wrong, right = _audited(classes)
    bad, good = shapes[0] + wrong, shapes[1] + right
    left = np.array([verified.yes - verified.audited for verified in classes])
    share = _median(bad / (bad + good), weights)
    low, high = _bounds(np.minimum(left, MAX_IMAGES), bad, good, weights, level)
    rows = []
    for index, row in enumerate(classes):
        if not row.yes:
            rows.append(Precision(None, None, None))
            continue
        scale = left[index] / max(min(left[index], MAX_IMAGES), 1)
        fewest, most = (row.wrong + count[index] * scale for count in (low, high))
        stated = row.wrong + left[index] * share[index]
        interval = (1 - float(most) / row.yes, 1 - float(fewest) / row.yes)
        rows.append(Precision(_by_table(row), 1 - float(stated) / row.yes, interval))
    return rows


def _median(values: Floats, weights: Floats) -> Floats:
    """Return (S,): the weighted median of each row, the lowest value that reaches half of the
    weight.
    """
    order = np.argsort(values, axis=1)
    reached = np.cumsum(weights[order], axis=1) >= weights.sum() / 2
    middle = np.take_along_axis(order, reached.argmax(axis=1)[:, None], axis=1)
    return np.asarray(np.take_along_axis(values, middle, axis=1)[:, 0])


def _bounds(
    left: NDArray[np.int64], bad: Floats, good: Floats, weights: Floats, level: float
) -> tuple[Floats, Floats]:
    """Return (S,) lower and upper bounds of the number of wrong images among those left.

    The number has a mixture of beta-binomial distributions, with these weights; it is between the
    bounds with probability `level`. left: (S,). bad, good: (S, G).
    """
    from scipy.special import betaln

    tail = (1 - level) / 2
    low, high = np.zeros(len(left)), left.astype(float)
    # Classes whose upper bound is not reached yet: rows, log P(count wrong), P(fewer).
    rows = np.flatnonzero(left > 0)
    bad, good, size = bad[rows], good[rows], left[rows][:, None].astype(float)
    log_p = betaln(bad, good + size) - betaln(bad, good)
    fewer = np.zeros(len(rows))
    count = 0
    while len(rows):
        reached = fewer + np.exp(log_p) @ weights
        low[rows[(fewer <= tail) & (reached > tail)]] = count
        # The last sum is 1 except for rounding.
        done = (reached >= 1 - tail) | (size[:, 0] <= count)
        high[rows[done]] = count
        rows, bad, good, size = rows[~done], bad[~done], good[~done], size[~done]
        log_p, fewer = log_p[~done], reached[~done]
        log_p = log_p + np.log(
            (size - count) * (bad + count) / ((count + 1) * (good + size - count - 1))
        )
        count += 1
    return low, high
