"""Computes the results of `score detection`. No Django."""

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.metrics.detection.bootstrap import (
    PrecisionIntervals,
    Resampled,
    difference_interval,
    precision_intervals,
)
from evaluation.metrics.detection.coco import precisions as coco_precisions
from evaluation.metrics.detection.precision import (
    SLACK_PX,
    ClassBoxes,
    IgnoredObjects,
    Precisions,
    average_precisions,
    best_overlaps,
    pair_iou,
)
from evaluation.metrics.significance import MIN_SIDE, ROUNDS, Interval, widened
from evaluation.readers.box_files import (
    BoxReading,
    BoxTruth,
    notes_of,
    on_part,
    read_excluded,
    read_found,
    read_truth,
)
from evaluation.readers.box_rows import BoxRows
from evaluation.scoring.analysis import Analysis, Difficulty
from evaluation.scoring.comparing import (
    BY_CLASS,
    BestByClass,
    IntervalEstimate,
    Optimistic,
    SubmissionComparison,
    SubmissionPair,
    best_by_class,
    classes_won,
    mean_of,
    sure,
)
from evaluation.scoring.image_lines import ImageOutcome
from labeling.plurals import count_of
from labeling.records import Record

# Maximum number of detections per image in `outcomes`.
MAX_PER_IMAGE = 100
# Maximum number of classes that a note lists.
MAX_LISTED = 10
THRESHOLD = f"IoU of min(0.5, wh / ((w + {SLACK_PX})(h + {SLACK_PX}))) or more"
RANGE = "COCO: mean over 101 recalls of the highest precision, 100 detections of an image and class"
AVERAGE = "area under the highest precision at this recall or more (PASCAL VOC)"


@dataclass(kw_only=True)
class ClassPrecision(Record):
    """The AP of a class, None without objects. positives: its objects."""

    ap: float | None
    positives: int
    detections: int
    interval: list[float | None] | None
    rounds: int


@dataclass(kw_only=True)
class DetectionResult(Record):
    """The scores of a submission.

    name, submissions, comparison, classes_won: set if several are scored. analysis, objects: see
    explaining.py. excluded: number of (image, class) pairs. by_iou: mean AP at each IoU of a range.
    """

    name: str | None = None
    mean_ap: IntervalEstimate
    per_class: dict[str, ClassPrecision]
    images: int
    classes: int
    boxes: int
    detections: int
    excluded: int
    matching: str
    averaging: str
    confidence: float
    seed: int
    notes: list[str]
    submissions: list["DetectionResult"] | None = None
    comparison: SubmissionComparison | None = None
    classes_won: dict[str, int] | None = None
    analysis: Analysis | None = None
    objects: Difficulty | None = None
    by_iou: dict[str, float | None] | None = None


@dataclass(frozen=True)
class Detected:
    """A submission matched with the truth.

    names: N image names. labels: C class names. truth: the objects that count. boxes, confidences:
    the detections that count, in file order. by_iou: (T, C) AP at each IoU of a range.
    """

    names: list[str]
    labels: list[str]
    truth: ClassBoxes
    boxes: ClassBoxes
    confidences: NDArray[np.float64]
    measured: Precisions
    excluded: int
    notes: list[str]
    by_iou: NDArray[np.float64] | None = None

    @property
    def ap(self) -> NDArray[np.float64]:
        """Return the (C,) AP of each class, averaged over IoUs if there are several; NaN without
        objects.
        """
        return self.measured.ap if self.by_iou is None else self.by_iou.mean(axis=0)

    @property
    def mean_ap(self) -> float:
        return _mean(self.ap)


def _mean(values: NDArray[np.float64]) -> float:
    """Return the mean over classes that have objects; NaN if none has."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else math.nan


def read(truth: Path, predictions: Path, options: BoxReading) -> Detected:
    """Return the detections of a file against the truth. Raises BadInput with the position."""
    [detected] = read_all(truth, {predictions.stem: predictions}, options).values()
    return detected


def read_all(
    truth: Path, predictions: Mapping[str, Path], options: BoxReading
) -> dict[str, Detected]:
    """Return several submissions by name on the same images; the truth is read once."""
    known = read_truth(truth, options)
    true_images = len(known.images.places)
    rows = {name: read_found(path, known, options) for name, path in predictions.items()}
    if options.part is not None:
        known, rows = on_part(known, rows, options)
        true_images = len(known.images.places)
    excluded, unknown = read_excluded(known, options)
    shared = list(_notes(known, true_images, unknown))
    matching = _Matching.of(known, excluded, options)
    return {
        name: matching.detected(submission_rows, shared) for name, submission_rows in rows.items()
    }


def score(detected: Detected, options: BoxReading) -> DetectionResult:
    """Return the mean AP and the AP of every class with intervals."""
    return _scored(detected, _bootstrapped(detected, options), options)


def score_all(submissions: Mapping[str, Detected], options: BoxReading) -> DetectionResult:
    """Return the result of the first submission; with several, also the results of all, the classes
    won and the comparison of pairs.
    """
    drawn = {name: _bootstrapped(detected, options) for name, detected in submissions.items()}
    scored = {
        name: _scored(detected, drawn[name], options) for name, detected in submissions.items()
    }
    result = next(iter(scored.values()))
    if len(submissions) < 2:
        return result
    best = _best_by_class(submissions)
    return replace(
        result,
        submissions=[replace(scored_result, name=name) for name, scored_result in scored.items()],
        comparison=_comparison(submissions, drawn, best, options),
        classes_won=best.classes_won,
    )


def precisions_of(detected: Detected) -> dict[str, float]:
    """Return class → AP for the classes that have objects."""
    known = np.flatnonzero(detected.measured.positives).tolist()
    return {detected.labels[c]: float(detected.ap[c]) for c in known}


def images_of(detected: Detected) -> dict[str, int]:
    """Return class → number of its images."""
    pairs = np.unique(np.stack([detected.truth.classes, detected.truth.images]), axis=1)
    counts = np.bincount(pairs[0], minlength=len(detected.labels))
    return {detected.labels[c]: int(counts[c]) for c in np.flatnonzero(counts).tolist()}


def outcomes(detected: Detected) -> Iterator[ImageOutcome]:
    """Yield per image the true boxes, the most confident detections with what they hit,
    and misses.
    """
    counts = np.arange(len(detected.names) + 1)
    matched = _Matched.of(detected)
    objects = np.argsort(detected.truth.images, kind="stable")
    object_ends = np.searchsorted(detected.truth.images[objects], counts)
    ends = np.searchsorted(detected.boxes.images[matched.order], counts)
    for i, name in enumerate(detected.names):
        object_numbers = objects[object_ends[i] : object_ends[i + 1]].tolist()
        boxes = [detected.truth.corners[k].tolist() for k in object_numbers]
        labels = [detected.labels[detected.truth.classes[k]] for k in object_numbers]
        true = list(zip(object_numbers, boxes, labels, strict=True))
        yield {
            "image": name,
            "classes": sorted(set(labels)),
            "truth": [[*box, label] for _, box, label in true],
            "outcome": {
                "found": matched.rows(ends[i], min(ends[i + 1], ends[i] + MAX_PER_IMAGE)),
                "missed": [[label, *box] for k, box, label in true if not matched.taken[k]],
            },
        }


@dataclass(frozen=True)
class _Matched:
    """Detections by image, most confident first (order).

    By detection: hit, and iou with the matched object, else the best with an object of its class.
    taken: (K,) whether objects were matched.
    """

    of_: Detected
    order: NDArray[np.int64]
    hit: NDArray[np.bool_]
    iou: NDArray[np.float64]
    taken: NDArray[np.bool_]

    @classmethod
    def of(cls, detected: Detected) -> "_Matched":
        measured, boxes = detected.measured, detected.boxes
        hit, taken = np.zeros(len(boxes), bool), np.zeros(len(detected.truth), bool)
        hit_boxes = measured.order[measured.hits]
        objects = measured.taken[measured.hits]
        hit[hit_boxes], taken[objects] = True, True
        iou = best_overlaps(detected.truth, boxes, inclusive=False)
        iou[hit_boxes] = pair_iou(
            boxes.corners[hit_boxes], detected.truth.corners[objects], inclusive=False
        )
        order = np.lexsort((-detected.confidences, boxes.images))
        return cls(detected, order, hit, iou, taken)

    def rows(self, start: int, end: int) -> list[list[Any]]:
        """Return wnid, confidence, x0, y0, x1, y1, whether it is a hit, and IoU of each."""
        selected, detected = self.order[start:end], self.of_
        columns = zip(
            detected.boxes.classes[selected].tolist(),
            detected.confidences[selected].tolist(),
            detected.boxes.corners[selected].tolist(),
            self.hit[selected].tolist(),
            self.iou[selected].tolist(),
            strict=True,
        )
        return [[detected.labels[c], score, *box, hit, iou] for c, score, box, hit, iou in columns]


@dataclass(frozen=True)
class _Matching:
    """The objects to match detections with. rank: of images in COCO's order."""

    truth: BoxTruth
    objects: ClassBoxes
    left_out: IgnoredObjects
    excluded: NDArray[np.int64]
    ious: tuple[float, ...]
    rank: NDArray[np.int64]

    @classmethod
    def of(cls, truth: BoxTruth, excluded: NDArray[np.int64], options: BoxReading) -> "_Matching":
        objects, crowds = truth.objects.boxes, truth.crowds
        known = objects.outside(excluded)
        crowds = crowds.of(crowds.outside(excluded))
        difficult = objects.of(known & truth.difficult)
        is_crowd = np.arange(len(difficult) + len(crowds)) >= len(difficult)
        left_out = IgnoredObjects(difficult.with_(crowds), is_crowd)
        rank = np.arange(len(truth.images.places))
        by_id = [index for _, index in sorted(truth.images.by_id.items(), key=_id_order)]
        rank[by_id] = np.arange(len(by_id))
        counted = objects.of(known & ~truth.difficult)
        return cls(truth, counted, left_out, excluded, options.ious, rank)

    def detected(self, rows: BoxRows, notes: list[str]) -> Detected:
        counts = rows.boxes.outside(self.excluded)
        boxes, confidences = rows.boxes.of(counts), rows.confidences[counts]
        labels = self.truth.classes.names
        iou = self.ious[0] if self.ious else None
        by_iou = None
        if len(self.ious) > 1:
            by_iou = coco_precisions(
                self._ranked(self.objects),
                self._ranked(boxes),
                confidences,
                len(labels),
                np.array(self.ious),
                IgnoredObjects(self._ranked(self.left_out.objects), self.left_out.is_crowd),
            )
        measured = average_precisions(
            self.objects, boxes, confidences, len(labels), inclusive=False, iou=iou
        )
        if len(self.left_out.objects):
            free = np.zeros(len(boxes), bool)
            free[measured.order[~measured.hits]] = True
            free &= self.left_out.holds(boxes, iou)
            boxes, confidences = boxes.of(~free), confidences[~free]
            measured = average_precisions(
                self.objects, boxes, confidences, len(labels), inclusive=False, iou=iou
            )
            objects = count_of(len(self.left_out.objects), "object")
            notes = [
                *notes,
                f"{objects} marked difficult or crowd left out, "
                f"with {count_of(int(free.sum()), 'detection')} on them",
            ]
        names = list(self.truth.images.places)
        return Detected(
            names,
            labels,
            self.objects,
            boxes,
            confidences,
            measured,
            len(self.excluded),
            list(notes),
            by_iou,
        )

    def _ranked(self, boxes: ClassBoxes) -> ClassBoxes:
        return ClassBoxes(self.rank[boxes.images], boxes.classes, boxes.corners)


def _id_order(item: tuple[Any, int]) -> tuple[bool, Any]:
    """Return a sort key that puts numeric ids before text."""
    return isinstance(item[0], str), item[0]


def _bootstrapped(detected: Detected, options: BoxReading) -> PrecisionIntervals | None:
    if not options.most_rounds or len(options.ious) > 1:
        return None
    drawn = Resampled.of(detected.measured, detected.truth, detected.boxes, len(detected.names))
    most = max(options.most_rounds, ROUNDS)
    generator = np.random.default_rng(options.seed)
    return precision_intervals(drawn, options.confidence, generator, most_rounds=most)


def _scored(
    detected: Detected, drawn: PrecisionIntervals | None, options: BoxReading
) -> DetectionResult:
    measured = detected.measured
    classes = np.flatnonzero((measured.positives > 0) | (measured.detections > 0)).tolist()
    by_class = drawn.by_class if drawn else {}
    bare = int((measured.positives[classes] == 0).sum())
    return DetectionResult(
        mean_ap=_estimate(detected.mean_ap, _mean_interval(detected, drawn, options)),
        per_class={
            detected.labels[c]: _class_precision(detected, c, by_class.get(c), options)
            for c in classes
        },
        images=len(detected.names),
        classes=len(classes) - bare,
        boxes=len(detected.truth),
        detections=len(detected.boxes),
        excluded=detected.excluded,
        matching=_matching_words(options.ious),
        averaging=AVERAGE if detected.by_iou is None else RANGE,
        confidence=options.confidence,
        seed=options.seed,
        notes=[*detected.notes, *_doubts(detected, bare, drawn)],
        by_iou=None
        if detected.by_iou is None
        else {
            f"{iou:g}": _number(_mean(ap))
            for iou, ap in zip(options.ious, detected.by_iou, strict=True)
        },
    )


def _matching_words(ious: tuple[float, ...]) -> str:
    if not ious:
        return THRESHOLD
    words = f"IoU of {ious[0]:g} or more"
    return words if len(ious) == 1 else f"{words}, to {ious[-1]:g} in {len(ious)} steps"


def _class_precision(
    detected: Detected, c: int, drawn: Interval | None, options: BoxReading
) -> ClassPrecision:
    ap, positives = float(detected.ap[c]), int(detected.measured.positives[c])
    estimate = _estimate(ap, _widened(drawn, ap, positives, options))
    return ClassPrecision(
        ap=estimate.value,
        positives=positives,
        detections=int(detected.measured.detections[c]),
        interval=estimate.interval,
        rounds=estimate.rounds or 0,
    )


def _doubts(detected: Detected, bare: int, drawn: PrecisionIntervals | None) -> Iterator[str]:
    if bare:
        classes = count_of(bare, "class has", "classes have")
        yield f"{classes} detections and no objects: no AP, not in the mean"
    if detected.by_iou is not None:
        yield "no interval is computed for a range of IoUs"
    if drawn is None:
        return
    if not drawn.mean.stable:
        yield f"the interval of the mean AP had not settled after {drawn.mean.rounds} rounds"
    loose = [detected.labels[c] for c, interval in drawn.by_class.items() if not interval.stable]
    if loose:
        more = f" and {len(loose) - MAX_LISTED} more" if len(loose) > MAX_LISTED else ""
        yield (
            f"the intervals of {count_of(len(loose), 'class', 'classes')} had not settled after "
            f"their rounds: {', '.join(loose[:MAX_LISTED])}{more}"
        )


def _comparison(
    submissions: Mapping[str, Detected],
    drawn: Mapping[str, PrecisionIntervals | None],
    best: BestByClass,
    options: BoxReading,
) -> SubmissionComparison:
    """Return the differences in mean AP of all pairs, and the best of all."""
    pairs = []
    means = {name: detected.mean_ap for name, detected in submissions.items()}
    for first, second in itertools.combinations(submissions, 2):
        interval = _difference(first, second, submissions, drawn, options)
        difference = _estimate(means[first] - means[second], interval)
        pairs.append(SubmissionPair(first=first, second=second, difference=difference))
    order = sure(means, pairs, options.confidence, less_is_better=False)
    return SubmissionComparison(
        confidence=options.confidence,
        sure=order.as_record(),
        pairs=pairs,
        optimistic=Optimistic(by_class=best),
    )


def _best_by_class(submissions: Mapping[str, Detected]) -> BestByClass:
    values = {name: precisions_of(detected) for name, detected in submissions.items()}
    mean = mean_of(best_by_class(values))
    return BestByClass(mean_ap=mean, classes_won=classes_won(values), convention=BY_CLASS)


def _difference(
    first: str,
    second: str,
    submissions: Mapping[str, Detected],
    drawn: Mapping[str, PrecisionIntervals | None],
    options: BoxReading,
) -> Interval | None:
    """Return the interval of the difference, from bootstrap rounds that share their images.

    With few images it is widened to the range that both submissions' intervals allow.
    """
    a, b = drawn[first], drawn[second]
    if not (a and b):
        return None
    paired = difference_interval(a, b, options.confidence)
    if _units(submissions[first]) >= 2 * MIN_SIDE:
        return paired
    first_interval, second_interval = (
        _mean_interval(submissions[name], drawn[name], options) for name in (first, second)
    )
    assert first_interval, "a was drawn"
    assert second_interval, "b was drawn"
    low, high = (
        min(paired.low, first_interval.low - second_interval.high),
        max(paired.high, first_interval.high - second_interval.low),
    )
    return paired._replace(low=low, high=high)


def _estimate(value: float, interval: Interval | None) -> IntervalEstimate:
    bounds = None if interval is None else [_number(interval.low), _number(interval.high)]
    return IntervalEstimate(
        value=_number(value), interval=bounds, rounds=interval.rounds if interval else 0
    )


def _units(detected: Detected) -> int:
    """Return the number of images with objects; others do not affect precision."""
    return len(np.unique(detected.truth.images))


def _mean_interval(
    detected: Detected, drawn: PrecisionIntervals | None, options: BoxReading
) -> Interval | None:
    mean = drawn.mean if drawn else None
    return _widened(mean, detected.mean_ap, _units(detected), options)


def _widened(
    interval: Interval | None, value: float, units: int, options: BoxReading
) -> Interval | None:
    """Return a wider interval for few objects (or images).

    Resampling alone would call an AP of 1 certain.
    """
    return interval and widened(interval, float(value), units, options.confidence)


def _number(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def _notes(truth: BoxTruth, true_images: int, missing: int) -> Iterator[str]:
    more = len(truth.images.places) - true_images
    if more:
        images = count_of(more, "image of the predictions is", "images of the predictions are")
        yield f"{images} not in the truth: treated as images without objects"
    yield from notes_of(truth, missing)
