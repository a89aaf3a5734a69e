"""Hardness of an object, the median CDS of its sequences, and galleries of easy and hard ones.

Source: Sarvadevabhatla et al. (2016), Supplement C, 1.5.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from evaluation.metrics.cds import arrays as cs
from evaluation.metrics.cds.arrays import Floats, Ints, ScoreArrays
from evaluation.metrics.cds.rows import CdsRow
from evaluation.metrics.cds.statistics import plain

EASIEST, MIDDLE, HARDEST = 3, 4, 3
# Most numbers in memory at once, 32 MB.
_MAX_IN_MEMORY = 4_000_000


@dataclass(frozen=True)
class FormHardness:
    """The (O,) hardness of every object at one content scheme, or for one classifier.

    form: "content_scheme" or "classifier"; of: its name. low, high: (O,) intervals, NaN without
    rounds.
    """

    form: str
    of: str
    values: Floats
    low: Floats
    high: Floats


@dataclass(kw_only=True)
class HardnessRow(CdsRow):
    """An object's hardness at the content scheme or for the classifier `of`, and its gallery."""

    form: str
    of: str
    image: str
    object: str
    category: str
    hardness: float
    low: float | None
    high: float | None
    rank: int
    gallery: str


def hardness(scores: ScoreArrays, rounds: int, seed: int, level: float) -> list[FormHardness]:
    """Return both forms: per content scheme over machines and part schemes, then per machine over
    content and part schemes.

    The interval shows how far the median depends on the object's sequences, which are drawn with
    replacement: drawing images would not change the hardness of an image.
    """
    results = []
    machines = list(scores.machines)
    forms = [
        ("content_scheme", name, scores.cds[:, :, k, :][..., machines])
        for k, name in enumerate(scores.content_schemes)
    ]
    forms += [("classifier", scores.classifiers[c], scores.cds[..., c]) for c in machines]
    for form, name, values in forms:
        flat = values.reshape(len(values), -1)
        low, high = _intervals(flat, rounds, seed, level)
        results.append(FormHardness(form, name, cs.median(flat, 1), low, high))
    return results


def _intervals(values: Floats, rounds: int, seed: int, level: float) -> tuple[Floats, Floats]:
    """Return the interval of each row's median when its values (O, S) are drawn with
    replacement.
    """
    both = np.full((2, len(values)), np.nan)
    if not rounds:
        return both[0], both[1]
    ordered, known = np.sort(values, axis=1), (~np.isnan(values)).sum(axis=1)
    ends = [(1 - level) / 2, (1 + level) / 2]
    for count in np.unique(known[known > 0]).tolist():
        # All values of a row are equally likely, so ranks are drawn instead of values. Rows with
        # the same number of values share the draws.
        drawn = np.random.default_rng([seed, count]).integers(0, count, (rounds, count))
        middle = np.sort(drawn, axis=1)[:, [(count - 1) // 2, count // 2]]
        row_numbers = np.flatnonzero(known == count)
        for start in range(0, len(row_numbers), max(1, _MAX_IN_MEMORY // rounds)):
            some = row_numbers[start : start + max(1, _MAX_IN_MEMORY // rounds)]
            medians = ordered[some][:, middle].mean(axis=2)
            both[:, some] = np.quantile(medians, ends, axis=1)
    return both[0], both[1]


def order(scores: ScoreArrays, values: Floats) -> Ints:
    """Return the objects from easiest to hardest; ties by category, image and name; without NaN."""
    # Objects are already in that order and the sort is stable. Rounding: sums may differ in their
    # last bits.
    ranked = np.argsort(values.round(12), kind="stable")
    return ranked[~np.isnan(values[ranked])]


def galleries(count: int) -> list[str]:
    """Return the gallery of each rank from 0: "easiest" 3, "median" 4, "hardest" 3, or "".

    With fewer than ten, the easiest are filled first, then the hardest, then the middle of the
    rest.

    >>> galleries(5)
    ['easiest', 'easiest', 'easiest', 'hardest', 'hardest']
    """
    names = [""] * count
    easiest = min(EASIEST, count)
    hardest = min(HARDEST, count - easiest)
    rest = count - easiest - hardest
    middle = min(MIDDLE, rest)
    start = easiest + (rest - middle) // 2
    names[:easiest] = ["easiest"] * easiest
    names[count - hardest :] = ["hardest"] * hardest
    names[start : start + middle] = ["median"] * middle
    return names


def rows(scores: ScoreArrays, forms: list[FormHardness]) -> Iterator[HardnessRow]:
    """Yield one row per form and object, easiest first (rank 1)."""
    for form in forms:
        ranked = order(scores, form.values)
        names = galleries(len(ranked))
        for rank, (index, gallery) in enumerate(zip(ranked.tolist(), names, strict=True), start=1):
            yield HardnessRow(
                form=form.form,
                of=form.of,
                image=scores.images[index],
                object=scores.objects[index],
                category=scores.categories[scores.category[index]],
                hardness=float(form.values[index]),
                low=plain(form.low[index]),
                high=plain(form.high[index]),
                rank=rank,
                gallery=gallery,
            )
