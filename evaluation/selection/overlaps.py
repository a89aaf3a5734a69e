"""Count the images of each pair in a selection, and what two selections share. No Django."""

from collections import Counter
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from evaluation.metrics.mad.ranking import SelectedImage
from evaluation.metrics.mad.selection import PoolPredictions, SelectionRule
from evaluation.readers.selections import RankedSelection
from labeling.records import Record

# Images per step of counting.
STRETCH = 1 << 20


@dataclass(kw_only=True)
class PairCount(Record):
    """The number of images of a pair of classifiers."""

    pair: tuple[str, str]
    images: int


@dataclass(frozen=True)
class PairOverlap:
    """Images of a pair in a selection, in another one, and in both."""

    pair: tuple[str, str]
    first: int
    second: int
    both: int


@dataclass(frozen=True)
class SelectionOverlap:
    """What two selections share. images: distinct images. lines: (image, pair) combinations."""

    images_first: int
    images_second: int
    images_both: int
    lines_first: int
    lines_second: int
    lines_both: int
    pairs: list[PairOverlap]


def most_images(
    first: PoolPredictions, second: PoolPredictions, rule: SelectionRule, classes: int
) -> int:
    """Return the most images, up to top_k, that a pair can yield.

    Counts confident disagreements, each label at most max_per_label times; the rule may choose
    fewer, since an image has two labels. Reads no further than needed.
    """
    counts = np.zeros((2, classes), np.int64)
    most = 0
    for start in range(0, len(first.labels), STRETCH):
        part = slice(start, start + STRETCH)
        labels = [each.labels[part] for each in (first, second)]
        # Widened, as the selection compares them.
        sure = [each.confidences[part].astype(np.float64) for each in (first, second)]
        differ = (np.minimum(*sure) >= rule.min_confidence) & (labels[0] != labels[1])
        counts += [np.bincount(each[differ], minlength=classes) for each in labels]
        most = min(rule.top_k, *np.minimum(counts, rule.max_per_label).sum(axis=1).tolist())
        if most == rule.top_k:
            break
    return most


def chosen_of(selection: RankedSelection) -> list[SelectedImage]:
    """Return the lines without the reserve."""
    return [line for line in selection.images if line.rank <= selection.meta.top_k]


def pair_counts(selection: RankedSelection) -> list[PairCount]:
    """Return the number of chosen images of each pair; 0 for a pair without any."""
    counts = {frozenset(pair): 0 for pair in combinations(selection.classifiers, 2)}
    for line in chosen_of(selection):
        counts[frozenset(line.pair)] += 1
    return [
        PairCount(pair=pair, images=counts[frozenset(pair)])
        for pair in combinations(selection.classifiers, 2)
    ]


def overlap(first: RankedSelection, second: RankedSelection) -> SelectionOverlap:
    """Return what the chosen images of two selections share; reserves are left out."""
    lines = [
        {(frozenset(line.pair), line.image) for line in chosen_of(each)} for each in (first, second)
    ]
    lines.append(lines[0] & lines[1])
    images = [{image for _, image in each} for each in lines[:2]]
    names = list(dict.fromkeys([*first.classifiers, *second.classifiers]))
    counts = [Counter(pair for pair, _ in each) for each in lines]
    pairs = []
    for pair in combinations(names, 2):
        numbers = [count[frozenset(pair)] for count in counts]
        if any(numbers):
            pairs.append(PairOverlap(pair, *numbers))
    return SelectionOverlap(
        len(images[0]),
        len(images[1]),
        len(images[0] & images[1]),
        len(lines[0]),
        len(lines[1]),
        len(lines[2]),
        pairs,
    )
