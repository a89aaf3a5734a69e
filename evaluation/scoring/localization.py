"""Every figure of `score localization`. No Django."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evaluation.metrics.detection.precision import ClassBoxes, best_overlaps, localized
from evaluation.metrics.ilsvrc.errors import ABSENT
from evaluation.metrics.significance import ROUNDS, mean_interval
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
from evaluation.scoring.comparing import IntervalEstimate, SubmissionComparison, compare
from evaluation.scoring.image_lines import ImageOutcome
from labeling.files import BadInput
from labeling.plurals import count_of
from labeling.records import Record

K = 5


@dataclass(kw_only=True)
class LocalizationResult(Record):
    """The scores of a submission.

    name, submissions, comparison: set if several are scored. analysis, objects: see explaining.py.
    class_error: of the class alone.
    """

    name: str | None = None
    error: IntervalEstimate
    class_error: float
    convention: str
    images: int
    classes: int
    boxes: int
    excluded: int
    confidence: float
    seed: int
    notes: list[str]
    submissions: list["LocalizationResult"] | None = None
    comparison: SubmissionComparison | None = None
    analysis: Analysis | None = None
    objects: Difficulty | None = None


@dataclass(frozen=True)
class Localized:
    """N images that count, and up to K predictions of each, most confident first.

    names: of the images; classes: the wnid of each. truth: (N,) its index in `labels`. objects:
    their boxes, images indexed as here. predicted: (N, K) indices of labels, ABSENT if a rank
    is missing; boxes: (N, K, 4), overlaps: (N, K) the best IoU with a box of the image if the class
    is right, else 0. strict: an IoU of 0.5 is not enough. notes: what reading left out.
    """

    names: list[str]
    classes: list[str]
    labels: list[str]
    truth: NDArray[np.int64]
    objects: ClassBoxes
    predicted: NDArray[np.int64]
    boxes: NDArray[np.float64]
    overlaps: NDArray[np.float64]
    excluded: int
    strict: bool
    notes: list[str]

    @property
    def is_right(self) -> NDArray[np.bool_]:
        """Return (N, K) whether each prediction has both the class and a box of the image."""
        return localized(self.overlaps, self.strict)


def read(truth: Path, predictions: Path, options: BoxReading) -> Localized:
    """Return the predictions of a file against the truth. Raises BadInput with the position."""
    [predicted] = read_all(truth, {predictions.stem: predictions}, options).values()
    return predicted


def read_all(
    truth: Path, predictions: Mapping[str, Path], options: BoxReading
) -> dict[str, Localized]:
    """Return several submissions by name on the same images; the truth is read once."""
    known = read_truth(truth, options)
    if options.part is None:
        known.images.listed = known.images.listed or known.path
    rows = {
        name: read_found(path, known, options, ranked=True) for name, path in predictions.items()
    }
    known, rows = on_part(known, rows, options)
    counted = _Counted.of(known, options)
    return {name: counted.localized(of_file) for name, of_file in rows.items()}


def score(predicted: Localized, options: BoxReading) -> LocalizationResult:
    """Return the localization error with its interval."""
    errors = wrong(predicted)
    low, high, rounds, stable = mean_interval(
        errors,
        options.confidence,
        np.random.default_rng(options.seed),
        most_rounds=max(options.most_rounds, ROUNDS),
        bounds=(0, 1),
    )
    class_right = (predicted.predicted == predicted.truth[:, None]).any(axis=1)
    notes = list(predicted.notes)
    if not stable:
        notes.append(f"the interval of the error had not settled after {rounds} rounds")
    return LocalizationResult(
        error=IntervalEstimate(value=float(errors.mean()), interval=[low, high], rounds=rounds),
        class_error=float(1 - class_right.mean()),
        convention="IoU above 0.5" if predicted.strict else "IoU of 0.5 or more",
        images=len(predicted.names),
        classes=len(np.unique(predicted.truth)),
        boxes=len(predicted.objects),
        excluded=predicted.excluded,
        confidence=options.confidence,
        seed=options.seed,
        notes=notes,
    )


def score_all(submissions: Mapping[str, Localized], options: BoxReading) -> LocalizationResult:
    """Return the figures of the first submission; for several, those of each and their
    comparison.
    """
    scored = {name: score(predicted, options) for name, predicted in submissions.items()}
    result = next(iter(scored.values()))
    if len(submissions) < 2:
        return result
    errors = {name: wrong(predicted) for name, predicted in submissions.items()}
    classes = next(iter(submissions.values())).classes
    return replace(
        result,
        submissions=[replace(scored_result, name=name) for name, scored_result in scored.items()],
        comparison=compare(errors, classes, options.confidence, options.seed),
    )


def wrong(predicted: Localized) -> NDArray[np.bool_]:
    """Return (N,) whether none of the K predictions of an image is right."""
    return np.logical_not(predicted.is_right.any(axis=1))


def outcomes(predicted: Localized) -> Iterator[ImageOutcome]:
    """Yield per image, in the order of names, the true boxes and the predictions."""
    right = predicted.is_right
    ends = np.searchsorted(predicted.objects.images, np.arange(len(predicted.names) + 1))
    for i, name in enumerate(predicted.names):
        there = predicted.predicted[i] != ABSENT
        boxes = predicted.objects.corners[ends[i] : ends[i + 1]].tolist()
        yield {
            "image": name,
            "classes": [predicted.classes[i]],
            "truth": [[*box, predicted.classes[i]] for box in boxes],
            "outcome": {
                "labels": [predicted.labels[c] for c in predicted.predicted[i][there].tolist()],
                "boxes": predicted.boxes[i][there].tolist(),
                "iou": float(predicted.overlaps[i].max()),
                "class_right": bool((predicted.predicted[i] == predicted.truth[i]).any()),
                "right": bool(right[i].any()),
            },
        }


@dataclass(frozen=True)
class _Counted:
    """The images that count. index_of: (I,) their new indices by those in `known`, ABSENT for those
    left out; kept: (N,) the inverse; class_of: (I,).
    """

    known: BoxTruth
    class_of: NDArray[np.int64]
    index_of: NDArray[np.int64]
    kept: NDArray[np.int64]
    objects: ClassBoxes
    excluded: int
    strict: bool
    notes: list[str]

    @classmethod
    def of(cls, known: BoxTruth, options: BoxReading) -> "_Counted":
        """Return the images that count. Raises BadInput if none is left, and for an image with two
        classes.
        """
        class_of = _classes(known)
        excluded, unknown = read_excluded(known, options)
        drawn = class_of != ABSENT
        out = np.zeros(len(class_of), bool)
        out[excluded[:, 0]] = True
        out[known.crowds.images] = True
        kept = np.flatnonzero(drawn & ~out)
        if not len(kept):
            raise BadInput("every image is excluded", options.exclude, None, "leave some")
        index_of = np.full(len(class_of), ABSENT, np.int64)
        index_of[kept] = np.arange(len(kept))
        objects = _by_image(_renumbered(known.objects.boxes, index_of))
        notes = list(_notes(known, int((~drawn).sum()), unknown))
        return cls(
            known,
            class_of,
            index_of,
            kept,
            objects,
            int((drawn & out).sum()),
            options.strict,
            notes,
        )

    def localized(self, rows: BoxRows) -> Localized:
        """Return the predictions by rank: by confidence, then by their order in the file."""
        predictions = _renumbered(rows.boxes, self.index_of)
        counts = self.index_of[rows.boxes.images] != ABSENT
        order = np.lexsort((-rows.confidences[counts], predictions.images))
        predictions = predictions.of(order)
        rank = np.arange(len(predictions)) - np.searchsorted(predictions.images, predictions.images)
        notes = [*self.notes, *_not_counted(rank, predictions, len(self.kept))]
        predictions, rank = predictions.of(rank < K), rank[rank < K]
        shape = (len(self.kept), K)
        predicted, overlaps = np.full(shape, ABSENT, np.int64), np.zeros(shape)
        boxes = np.zeros((*shape, 4))
        at = (predictions.images, rank)
        predicted[at], boxes[at] = predictions.classes, predictions.corners
        overlaps[at] = best_overlaps(self.objects, predictions, inclusive=False)
        names, labels = list(self.known.images.places), self.known.classes.names
        truth = self.class_of[self.kept]
        return Localized(
            [names[i] for i in self.kept.tolist()],
            [labels[c] for c in truth.tolist()],
            labels,
            truth,
            self.objects,
            predicted,
            boxes,
            overlaps,
            self.excluded,
            self.strict,
            notes,
        )


def _renumbered(boxes: ClassBoxes, index_of: NDArray[np.int64]) -> ClassBoxes:
    """Return the boxes of images that count, by their new indices."""
    kept = boxes.of(index_of[boxes.images] != ABSENT)
    return ClassBoxes(index_of[kept.images], kept.classes, kept.corners)


def _by_image(boxes: ClassBoxes) -> ClassBoxes:
    return boxes.of(np.argsort(boxes.images, kind="stable"))


def _classes(truth: BoxTruth) -> NDArray[np.int64]:
    """Return the (I,) class of every image, ABSENT without boxes. Raises BadInput for a second
    class.
    """
    boxes = truth.objects.boxes
    class_of = np.full(len(truth.images.places), ABSENT, np.int64)
    # Backwards, so that the first row of an image wins.
    class_of[boxes.images[::-1]] = boxes.classes[::-1]
    differs = class_of[boxes.images] != boxes.classes
    if differs.any():
        row = int(np.argmax(differs))
        names = truth.classes.names
        first, second = names[class_of[boxes.images[row]]], names[boxes.classes[row]]
        fault = f"its image has the class {first}, here {second}"
        raise truth.objects.bad(row, fault, "give each image one class, or score detection")
    return class_of


def _notes(truth: BoxTruth, undrawn: int, missing: int) -> Iterator[str]:
    if undrawn:
        yield f"{count_of(undrawn, 'image has', 'images have')} no true box: left out"
    yield from notes_of(truth, missing)
    if len(truth.crowds):
        images = len(np.unique(truth.crowds.images))
        yield f"{count_of(images, 'image')} with crowd regions left out"


def _not_counted(rank: NDArray[np.int64], predictions: ClassBoxes, images: int) -> Iterator[str]:
    beyond = int((rank >= K).sum())
    silent = images - len(np.unique(predictions.images))
    if beyond:
        yield f"{count_of(beyond, 'prediction')} beyond the five surest of their image do not count"
    if silent:
        yield f"{count_of(silent, 'image has', 'images have')} no prediction: wrong"
