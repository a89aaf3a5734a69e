"""Frames that people may recognize and machines do not: candidates for CAPTCHAs.

Source: Sarvadevabhatla et al. (2016), Supplement C, 1.5.1.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from evaluation.metrics.cds.arrays import Floats, ScoreArrays
from evaluation.metrics.cds.hardness import FormHardness, order
from evaluation.metrics.cds.rows import CdsRow

# Hard images are paired with this many easy ones in rotation.
EASY_PER_HARD = 10


@dataclass(frozen=True)
class Sequence:
    """A sequence. owner: index of its object."""

    owner: int
    part_scheme: str
    content_scheme: str
    frames: tuple[str, ...]


@dataclass(kw_only=True)
class CaptchaRow(CdsRow):
    """A sequence with frames i, 1 < i < ⌊s · N⌋; first, last: the smallest and largest such i.

    threshold: s, the object's lowest hardness over both forms; of: its classifier or content scheme
    (the first in a tie). The pair is an easy image of another category.
    """

    image: str
    object: str
    category: str
    part_scheme: str
    content_scheme: str
    frames: int
    threshold: float
    of: str
    first: int
    last: int
    frame_ids: list[str]
    pair_image: str | None
    pair_object: str | None


def candidates(
    scores: ScoreArrays, forms: list[FormHardness], sequences: Iterable[Sequence]
) -> list[CaptchaRow]:
    """Return the sequences with such frames, those of the hardest objects first."""
    threshold, of = thresholds(forms)
    partner = _partners(scores, threshold)
    rows = []
    for sequence in sequences:
        s, count = float(threshold[sequence.owner]), len(sequence.frames)
        # Allow for rounding of a product that should be an integer.
        last = int(np.floor(s * count + 1e-9)) - 1 if s == s else 0
        if last < 2:
            continue
        pair = partner[sequence.owner]
        rows.append(
            CaptchaRow(
                image=scores.images[sequence.owner],
                object=scores.objects[sequence.owner],
                category=scores.categories[scores.category[sequence.owner]],
                part_scheme=sequence.part_scheme,
                content_scheme=sequence.content_scheme,
                frames=count,
                threshold=s,
                of=of[sequence.owner],
                first=2,
                last=last,
                frame_ids=list(sequence.frames[1:last]),
                pair_image=scores.images[pair] if pair is not None else None,
                pair_object=scores.objects[pair] if pair is not None else None,
            )
        )
    return sorted(rows, key=_hardest_first)


def thresholds(forms: list[FormHardness]) -> tuple[Floats, list[str]]:
    """Return the (O,) lowest hardness of each object over all forms, and whose hardness it is."""
    values = np.stack([form.values for form in forms])
    least = np.where(np.isnan(values), np.inf, values)
    first = least.argmin(axis=0)
    low = least[first, np.arange(values.shape[1])]
    return np.where(np.isinf(low), np.nan, low), [forms[i].of for i in first.tolist()]


def _partners(scores: ScoreArrays, threshold: Floats) -> list[int | None]:
    """Return for each object one of the ten easiest of other categories, in rotation."""
    ranked = order(scores, threshold)
    easy: dict[int, list[int]] = {}
    partners: list[int | None] = []
    for index, category in enumerate(scores.category.tolist()):
        if category not in easy:
            easy[category] = ranked[scores.category[ranked] != category][:EASY_PER_HARD].tolist()
        mine = easy[category]
        partners.append(mine[index % len(mine)] if mine else None)
    return partners


def _hardest_first(row: CaptchaRow) -> tuple[float, str, str, str, str, str]:
    names = row.category, row.image, row.object, row.part_scheme, row.content_scheme
    return (-row.threshold, *names)
