"""Analysis of a mean over classes: by class, by the scale of objects, by property. No Django.

Source: Russakovsky et al. (2015), §6.3 and Appendix B. Values are accuracies (1 − error) or APs by
class, higher is better; NaN for a class without a value, which only PerClass.rows has.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from evaluation.metrics.detection import object_scale
from evaluation.metrics.detection.precision import ClassBoxes
from evaluation.metrics.statistics import pearson, spearman
from evaluation.scoring.class_properties import Codes, Properties, by_property
from labeling.records import Record

HISTOGRAM_BINS = 20
EDGES = [i / HISTOGRAM_BINS for i in range(HISTOGRAM_BINS + 1)]
MAX_LISTED = 10
SCALE = "mean share of the image that an instance takes, over all instances of the class"
CPL = "ordered pairs of a class's instances, in one image too, with IoU 0.5 or more in unit images"
NEIGHBOURS = "boxes of the same class and image that overlap or touch"


@dataclass(kw_only=True)
class ClassValue(Record):
    wnid: str
    value: float | None
    images: int | None


@dataclass(kw_only=True)
class Tied(Record):
    """The value of the last listed class: how many classes have it, and how many of them are
    listed.
    """

    value: float | None
    classes: int
    in_list: int = field(metadata={"key": "listed"})


@dataclass(kw_only=True)
class Extremes(Record):
    rows: list[ClassValue]
    tied: Tied


@dataclass(kw_only=True)
class PerClass(Record):
    """Values by class. classes: number with a value; rows: all classes. histogram: edges and
    counts; range: lowest, highest and difference.
    """

    classes: int
    mean: float | None
    histogram: dict[str, list[float]]
    range: dict[str, float | None]
    easiest: Extremes
    hardest: Extremes
    rows: list[ClassValue]


@dataclass(kw_only=True)
class ScaledValue(Record):
    wnid: str
    scale: float | None
    value: float | None


@dataclass(kw_only=True)
class ByScale(Record):
    """Values against the scale of objects."""

    classes: int
    without_scale: int
    correlation: float | None
    rank_correlation: float | None
    rows: list[ScaledValue]
    convention: str


@dataclass(kw_only=True)
class Analysis(Record):
    """The analysis of one value per class. measure: the name of the measure of the values."""

    measure: str
    per_class: PerClass
    by_scale: ByScale | None
    properties: Properties | None


@dataclass(kw_only=True)
class ClassDifficulty(Record):
    """How hard the objects of a class are to find. images: number with the class."""

    wnid: str
    images: int
    instances: int
    scale: float | None
    cpl: float | None
    instances_per_image: float
    neighbours_per_instance: float


@dataclass(kw_only=True)
class Difficulty(Record):
    """Means over the classes of `rows`; of cpl over those with two or more instances."""

    classes: int
    scale: float | None
    cpl: float | None
    instances_per_image: float | None
    neighbours_per_instance: float | None
    cpl_scale_correlation: float | None
    rows: list[ClassDifficulty]
    conventions: dict[str, str]


def analyse(
    values: Mapping[str, float],
    images: Mapping[str, int],
    measure: str,
    scales: Mapping[str, float] | None = None,
    properties: Mapping[str, Codes] | None = None,
    seed: int = 0,
) -> Analysis:
    """Return the analysis of one value per class: by class, by scale, by property.

    values, images (number per class), scales (share of the image) and properties by class. measure:
    the name of the values' measure, for the result. by_scale is None without scales; properties is
    None unless both scales and properties are given.
    """
    return Analysis(
        measure=measure,
        per_class=per_class(values, images),
        by_scale=by_scale(values, scales) if scales is not None else None,
        properties=by_properties(values, scales, properties, seed)
        if scales and properties
        else None,
    )


def accuracies(
    wrong: NDArray[np.bool_], classes: Sequence[str]
) -> tuple[dict[str, float], dict[str, int]]:
    """Return class → accuracy, and class → number of images, from (N,) errors; classes sorted.

    >>> accuracies(np.array([True, False, False]), ["n1", "n1", "n2"])
    ({'n1': 0.5, 'n2': 1.0}, {'n1': 2, 'n2': 1})
    """
    images = Counter(classes)
    right = Counter(wnid for wnid, error in zip(classes, wrong.tolist(), strict=True) if not error)
    ordered = sorted(images)
    return {c: right[c] / images[c] for c in ordered}, {c: images[c] for c in ordered}


def per_class(values: Mapping[str, float], images: Mapping[str, int]) -> PerClass:
    """Return a histogram in twenty bins, the range, and the ten easiest and hardest classes.

    The last bin includes 1. Equal classes are ordered by wnid in both lists; `tied` counts the
    classes equal to the last listed.
    """
    known = {wnid: value for wnid, value in values.items() if not math.isnan(value)}
    rows = [ClassValue(wnid=c, value=values[c], images=images.get(c)) for c in sorted(values)]
    # 0.6 belongs above its edge, even if rounded slightly below it; 1 belongs to the last bin.
    bins = np.floor(np.array([*known.values()]) * HISTOGRAM_BINS + 1e-9).astype(np.int64)
    counts = np.bincount(bins.clip(0, HISTOGRAM_BINS - 1), minlength=HISTOGRAM_BINS)
    low, high = min(known.values(), default=math.nan), max(known.values(), default=math.nan)
    return PerClass(
        classes=len(known),
        mean=float(np.mean([*known.values()])) if known else math.nan,
        histogram={"edges": EDGES, "counts": counts.tolist()},
        range={"lowest": low, "highest": high, "difference": high - low},
        easiest=_extremes(known, images, -1),
        hardest=_extremes(known, images, 1),
        rows=rows,
    )


def _extremes(values: Mapping[str, float], images: Mapping[str, int], sign: int) -> Extremes:
    order = sorted(values, key=lambda wnid: (sign * values[wnid], wnid))[:MAX_LISTED]
    last = values[order[-1]] if order else math.nan
    return Extremes(
        rows=[ClassValue(wnid=c, value=values[c], images=images.get(c)) for c in order],
        tied=Tied(
            value=last,
            classes=sum(value == last for value in values.values()),
            in_list=sum(values[wnid] == last for wnid in order),
        ),
    )


def by_scale(values: Mapping[str, float], scales: Mapping[str, float]) -> ByScale:
    """Return value against scale, one row per class with both, and their correlation."""
    both = [c for c in sorted(values) if c in scales and not math.isnan(values[c])]
    class_scales, class_values = [scales[c] for c in both], [values[c] for c in both]
    return ByScale(
        classes=len(both),
        without_scale=sum(c not in scales for c in values),
        correlation=pearson(class_scales, class_values),
        rank_correlation=spearman(class_scales, class_values),
        rows=[ScaledValue(wnid=c, scale=scales[c], value=values[c]) for c in both],
        convention=SCALE,
    )


def by_properties(
    values: Mapping[str, float],
    scales: Mapping[str, float],
    properties: Mapping[str, Codes],
    seed: int = 0,
) -> Properties:
    """Return the values of classes of each size, deformability, texture and kind at equal scale
    (§6.3.4).
    """
    classes = [c for c in sorted(values) if c in scales and c in properties]
    classes = [c for c in classes if not math.isnan(values[c])]
    return by_property(
        [properties[c] for c in classes],
        np.array([scales[c] for c in classes], float),
        np.array([values[c] for c in classes], float),
        np.random.default_rng(seed),
        left_out=len(values) - len(classes),
    )


def chance(
    boxes: ClassBoxes, sizes: NDArray[np.floating], names: Sequence[str], inclusive: bool
) -> Difficulty:
    """Return how hard the objects are to find: scale, CPL, instances and neighbours of every class.

    boxes: true ones; sizes: (I, 2) width and height by image index; names: of the classes. The
    result begins with the means over classes with boxes, as in the paper; CPL over those with two
    or more instances. `instances_per_image` counts images that have the class.
    """
    own_sizes = np.asarray(sizes, float)[boxes.images]
    shares = object_scale.image_shares(boxes.corners, own_sizes, inclusive)
    groups = boxes.images * len(names) + boxes.classes
    beside = object_scale.neighbours(groups, boxes.corners, inclusive)
    order = np.argsort(boxes.classes, kind="stable")
    ends = np.cumsum(np.bincount(boxes.classes, minlength=len(names))).tolist()
    rows = []
    for first, last, name in zip([0, *ends], ends, names, strict=False):
        if first == last:
            continue
        members = order[first:last]
        positive = len(np.unique(boxes.images[members]))
        rows.append(
            ClassDifficulty(
                wnid=name,
                images=positive,
                instances=len(members),
                scale=float(shares[members].mean()),
                cpl=object_scale.chance_performance(
                    boxes.corners[members], own_sizes[members], inclusive
                ),
                instances_per_image=len(members) / positive,
                neighbours_per_instance=float(beside[members].mean()),
            )
        )
    return _difficulty(sorted(rows, key=lambda row: row.wnid))


def _difficulty(rows: list[ClassDifficulty]) -> Difficulty:
    known = [row for row in rows if not math.isnan(row.cpl or 0)]

    def mean(name: str, among: list[ClassDifficulty]) -> float:
        return float(np.mean([getattr(row, name) for row in among])) if among else math.nan

    return Difficulty(
        classes=len(rows),
        scale=mean("scale", rows),
        cpl=mean("cpl", known),
        instances_per_image=mean("instances_per_image", rows),
        neighbours_per_instance=mean("neighbours_per_instance", rows),
        cpl_scale_correlation=pearson(
            [row.cpl or 0 for row in known], [row.scale or 0 for row in known]
        ),
        rows=rows,
        conventions={"scale": SCALE, "cpl": CPL, "neighbours": NEIGHBOURS},
    )


def scales_of(difficulty: Difficulty) -> dict[str, float]:
    """Return class → scale from the result of chance()."""
    return {row.wnid: row.scale for row in difficulty.rows if row.scale is not None}
