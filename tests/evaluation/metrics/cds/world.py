"""Scores of CDS made by chance, and the same scores as plain dicts for plain loops."""

import itertools
from dataclasses import replace

import numpy as np

from evaluation.metrics.cds.arrays import ScoreArrays

CATEGORIES = ("bus", "cat", "dog")
CLASSIFIERS = ("B", "A", "C", "D")
PARTS = ("E_U", "random")
CONTENTS = ("intra-object", "intra-object-and-neighbourhood", "low", "higher")


def scores(seed: int = 0, sizes: tuple[int, ...] = (4, 5, 3), **changes: object) -> ScoreArrays:
    """Random scores; the first two objects of each category are of one image."""
    rng = np.random.default_rng(seed)
    count, shape = sum(sizes), (sum(sizes), len(PARTS), len(CONTENTS), len(CLASSIFIERS))
    frames = np.full(shape, 6)
    wrong = rng.integers(0, 7, shape)
    clusters = [max(0, i - 1) for size in sizes for i in range(size)]
    arrays = ScoreArrays(
        categories=CATEGORIES[: len(sizes)],
        part_schemes=PARTS,
        content_schemes=CONTENTS,
        classifiers=CLASSIFIERS,
        images=tuple(f"{i:03}.jpg" for i in range(count)),
        objects=("",) * count,
        category=np.repeat(np.arange(len(sizes)), sizes),
        cluster=np.array(clusters),
        machines=(0, 1, 2, 3),
        cds=rng.random(shape),
        frames=frames,
        # Few values: ties are frequent, as they are in B-CDS.
        b_cds=rng.integers(0, 5, shape) / 4,
        wrong=wrong,
        last_wrong=(rng.random(shape) < wrong / 6).astype(np.int64),
    )
    return replace(arrays, **changes)


def gaps(arrays: ScoreArrays, seed: int = 1) -> ScoreArrays:
    """The same without some of the sequences."""
    there = np.random.default_rng(seed).random(arrays.cds.shape[:3]) > 0.3
    there = np.broadcast_to(there[..., None], arrays.cds.shape)
    return replace(
        arrays,
        cds=np.where(there, arrays.cds, np.nan),
        b_cds=np.where(there, arrays.b_cds, np.nan),
        frames=arrays.frames * there,
        wrong=arrays.wrong * there,
        last_wrong=arrays.last_wrong * there,
    )


def loop_median(values: list[float]) -> float:
    known = sorted(x for x in values if x == x)
    if not known:
        return float("nan")
    half = len(known) // 2
    return known[half] if len(known) % 2 else (known[half - 1] + known[half]) / 2


def loop_mean(values: list[float]) -> float:
    known = [x for x in values if x == x]
    return sum(known) / len(known) if known else float("nan")


def loop_text(
    arrays: ScoreArrays, values: np.ndarray, c: int, *, k: int = -1, p: int = -1
) -> float:
    """The rule of the text, one number at a time: of content scheme k, or of part scheme p."""
    _, parts, contents, _ = values.shape
    cells = [(p, i) for i in range(contents)] if p >= 0 else [(i, k) for i in range(parts)]
    by_category = []
    for g in range(len(arrays.categories)):
        members = np.flatnonzero(arrays.category == g)
        by_category.append(
            loop_mean([loop_median([values[o, i, j, c] for o in members]) for i, j in cells])
        )
    return loop_mean(by_category)


def loop_script(
    arrays: ScoreArrays, values: np.ndarray, c: int, *, k: int = -1, p: int = -1
) -> float:
    """The authors' script: one median over images and schemes, the median over categories."""
    _, parts, contents, _ = values.shape
    cells = [(p, i) for i in range(contents)] if p >= 0 else [(i, k) for i in range(parts)]
    return loop_median(
        [
            loop_median(
                [
                    values[o, i, j, c]
                    for o, (i, j) in itertools.product(np.flatnonzero(arrays.category == g), cells)
                ]
            )
            for g in range(len(arrays.categories))
        ]
    )
