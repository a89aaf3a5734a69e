"""Scores a submission against the truth of its benchmark, as `score KIND` does. No Django."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evaluation import devices
from evaluation.benchmarks.kinds.labeled import scoremap_zips
from evaluation.benchmarks.kinds.labeled.results import KindCurves, KindResult
from evaluation.benchmarks.kinds.labeled.settings import LabeledSettings
from evaluation.benchmarks.kinds.labeled.truth.ground_truth import (
    CLASSIFICATION,
    DETECTION,
    EXCLUDED,
    IMAGES,
    LOCALIZATION,
    TRUTH,
    WSOL,
)
from evaluation.benchmarks.kinds.labeled.truth.wsol_truth import MASKS
from evaluation.metrics.wordnet.nouns import UnknownLabel, WordNetMissing, load
from evaluation.readers import box_files, class_files, release_predictions
from evaluation.readers import wsol_folders as wsol_files
from evaluation.scoring import classification, detection, localization
from evaluation.scoring.image_lines import ImageOutcome
from evaluation.scoring.wsol import outcomes as wsol_outcomes
from evaluation.scoring.wsol import scoring as wsol_scoring
from evaluation.scoring.wsol.results import WsolResult
from labeling.csv_rows import rows
from labeling.errors import Refusal
from labeling.files import BadInput

Part = frozenset[str] | None


@dataclass(frozen=True)
class SubmissionScores:
    """The scores of a submission.

    result: as printed by `score KIND`; for wsol, boxes and masks together, without curves.
    outcomes: each image's outcome in the order of the truth; can be called once. wrong, classes:
    (N,) whether each image is an error, and its class, for kinds with errors. having: class →
    number of its images, for detection. settled: for a submitted release, which images of the truth
    people settled; `wrong` and `classes` cover only these. curves: for wsol, of boxes and of masks.
    """

    result: KindResult
    outcomes: Callable[[], Iterator[ImageOutcome]]
    wrong: NDArray[np.bool_] | None = None
    classes: list[str] | None = None
    having: Mapping[str, int] = field(default_factory=dict)
    curves: KindCurves | None = None
    settled: NDArray[np.bool_] | None = None


def score(
    kind: str,
    truth: Path,
    path: Path,
    settings: LabeledSettings,
    device: str = devices.CPU,
    part: Part = None,
) -> SubmissionScores:
    """Return the scores.

    device: a usable one; a wsol result states the one that was used. part: the images of the truth
    that count, in NFC; None for all.
    Raises BadInput for predictions that do not fit the truth, and for missing files.
    """
    if kind == WSOL:
        return _wsol(truth, path, settings, device, part)
    return _SCORES[kind](truth, path, settings, part)


def check(kind: str, truth: Path, path: Path, settings: LabeledSettings, part: Part = None) -> None:
    """Raise BadInput unless all predictions can be scored."""
    _CHECKS[kind](truth, path, settings, part)


def check_truth(kind: str, truth: Path, settings: LabeledSettings) -> None:
    """Raise Refusal for a truth that the readers of `score KIND` do not accept."""
    if kind != WSOL:
        _check_classes(truth / TRUTH)
    try:
        if kind == WSOL:
            wsol_files.read_boxes(truth)
        elif kind != CLASSIFICATION:
            box_files.read_truth(truth / TRUTH, options_of(truth, settings))
    except BadInput as error:
        raise Refusal(
            f"The labels of this release cannot be the truth of a {kind}: {error.message}. Choose "
            "another kind of benchmark, or another campaign.",
            field="campaign",
        ) from error


def _check_classes(truth: Path) -> None:
    """Raise Refusal for a class that is not a noun of WordNet, which the readers require."""
    try:
        nouns = load()
    except WordNetMissing:
        raise Refusal(
            "This site has no WordNet 3.0. Ask its administrator to run deploy/wordnet.sh.",
            code="no_wordnet",
        ) from None
    seen: set[str] = set()
    for _, (wnid,) in rows(truth, ("wnid",), others=True):
        if wnid in seen:
            continue
        seen.add(wnid)
        try:
            nouns.find(wnid)
        except UnknownLabel:
            raise Refusal(
                f"The class {wnid[:64]!r} is not a noun of WordNet 3.0. Choose a campaign whose "
                "classes are wnids such as n02084071.",
                field="campaign",
            ) from None


def options_of(truth: Path, settings: LabeledSettings, part: Part = None) -> box_files.BoxReading:
    """Return the options for reading and scoring the boxes of a truth (localization, detection)."""
    excluded = truth / EXCLUDED
    return box_files.BoxReading(
        images=truth / IMAGES,
        exclude=excluded if excluded.exists() else None,
        inclusive=settings.inclusive or False,
        strict=settings.strict or False,
        confidence=settings.confidence or box_files.BoxReading.confidence,
        seed=settings.seed or 0,
        part=part,
    )


def read_classified(
    truth: Path, path: Path, settings: LabeledSettings, part: Part = None
) -> class_files.Classified:
    """Return the labels that a classification submission gives each image. Raises BadInput."""
    classified = release_predictions.read_submission(truth / TRUTH, path, load())
    return classified if part is None else class_files.on_part(classified, part)


def _classification(
    truth: Path, path: Path, settings: LabeledSettings, part: Part
) -> SubmissionScores:
    classified = read_classified(truth, path, settings, part)
    wordnet, options = load(), options_of(truth, settings)
    [restricted] = class_files.on_named_images({"": classified}).values()
    return SubmissionScores(
        classification.score(restricted, wordnet, confidence=options.confidence, seed=options.seed),
        partial(classification.outcomes, classified, wordnet),
        classification.wrong(restricted),
        classification.true_classes(restricted),
        settled=classified.people.images if classified.people else None,
    )


def _read_localized(
    truth: Path, path: Path, settings: LabeledSettings, part: Part
) -> localization.Localized:
    return localization.read(truth / TRUTH, path, options_of(truth, settings, part))


def _localization(
    truth: Path, path: Path, settings: LabeledSettings, part: Part
) -> SubmissionScores:
    localized = _read_localized(truth, path, settings, part)
    return SubmissionScores(
        localization.score(localized, options_of(truth, settings)),
        partial(localization.outcomes, localized),
        localization.wrong(localized),
        list(localized.classes),
    )


def _read_detected(
    truth: Path, path: Path, settings: LabeledSettings, part: Part
) -> detection.Detected:
    return detection.read(truth / TRUTH, path, options_of(truth, settings, part))


def _detection(truth: Path, path: Path, settings: LabeledSettings, part: Part) -> SubmissionScores:
    detected = _read_detected(truth, path, settings, part)
    return SubmissionScores(
        detection.score(detected, options_of(truth, settings)),
        partial(detection.outcomes, detected),
        having=detection.images_of(detected),
    )


def _wsol(
    truth: Path, path: Path, settings: LabeledSettings, device: str, part: Part
) -> SubmissionScores:
    protocol = settings.as_protocol()
    with_boxes = wsol_scoring.BoxScoring.read(truth, protocol, curves=True)
    with_boxes.keep(part)
    if (predictions := path / scoremap_zips.PREDICTIONS).is_file():
        with_boxes.class_right = wsol_files.class_rights(predictions, with_boxes.images)
    maps = None if is_baseline(path) else path
    boxes = with_boxes.score(maps, device)
    rights = with_boxes.class_right
    each = partial(wsol_outcomes.box_outcomes, truth, maps, protocol, boxes, rights, part)
    result = WsolResult(**vars(boxes) | {"curves": None})
    masks = truth / MASKS
    if not masks.is_dir():
        return SubmissionScores(result, each, curves=KindCurves(boxes=boxes.curves))
    with_masks = wsol_scoring.MaskScoring.read(masks, masks, protocol, curves=True)
    with_masks.keep(part)
    pixels = with_masks.score(maps, device)
    result.masks, result.pxap, result.mpxap = pixels.masks, pixels.pxap, pixels.mpxap
    result.per_class, result.px_acc = pixels.per_class, pixels.px_acc
    result.reason = pixels.reason
    too = partial(wsol_outcomes.mask_outcomes, masks, masks, maps, protocol, pixels, part)
    curves = KindCurves(boxes=boxes.curves, masks=pixels.curves)
    return SubmissionScores(result, partial(_both, each, too), curves=curves)


def _both(
    boxes: Callable[[], Iterator[ImageOutcome]], masks: Callable[[], Iterator[ImageOutcome]]
) -> Iterator[ImageOutcome]:
    """Yield the outcome of each image's boxes together with that of its pixels."""
    for box_outcome, mask_outcome in zip(boxes(), masks(), strict=True):
        assert box_outcome["outcome"] is not None, "every image has a map"
        assert mask_outcome["outcome"] is not None, "every image has a map"
        box_outcome["outcome"].update(mask_outcome["outcome"])
        yield box_outcome


def is_baseline(path: Path) -> bool:
    """Return whether the submission is the center-Gaussian baseline, which has no maps."""
    return (path / scoremap_zips.BASELINE).is_file()


def _check_maps(truth: Path, path: Path, settings: LabeledSettings, part: Part) -> None:
    if is_baseline(path):
        return
    scored = wsol_scoring.BoxScoring.read(truth, settings.as_protocol())
    scored.keep(part)
    if (predictions := path / scoremap_zips.PREDICTIONS).is_file():
        if predictions.stat().st_size > (most := scoremap_zips.MAX_PREDICTIONS):
            cure = "write an id,class row per image"
            raise BadInput(f"is larger than {most >> 20} MiB", predictions, None, cure)
        wsol_files.read_named(predictions, scored.images, scored.left_out)
    read = scored.reader(path)

    def read_all(images: list[wsol_files.WsolImage]) -> None:
        for image in images:
            read(image.name)

    for _ in wsol_scoring.in_parts(read_all, scored.images):
        pass


_SCORES: dict[str, Callable[[Path, Path, LabeledSettings, Part], SubmissionScores]] = {
    CLASSIFICATION: _classification,
    LOCALIZATION: _localization,
    DETECTION: _detection,
}
_CHECKS: dict[str, Callable[[Path, Path, LabeledSettings, Part], object]] = {
    CLASSIFICATION: read_classified,
    LOCALIZATION: _read_localized,
    DETECTION: _read_detected,
    WSOL: _check_maps,
}


@contextmanager
def naming_user_files(sent: Path, name: str, truth: Path) -> Iterator[None]:
    """Rename files in errors to the user's names, without paths on this server.

    sent: the file or folder that the user calls `name`.
    """
    try:
        yield
    except BadInput as error:
        cure = error.cure and _plain(error.cure, sent, name, truth)
        message = _plain(error.message, sent, name, truth)
        raise BadInput(message, _where(error.file, sent, name), error.line, cure) from error
    except FileNotFoundError as error:
        where = _where(os.fsdecode(error.filename or name), sent, name)
        raise BadInput("is missing", where, None, "restore it from a backup") from error


def _where(file: str | None, sent: Path, name: str) -> str:
    """Return the user's name for a file: its path in the upload, or its file name in the truth."""
    if file is None or Path(file) == sent:
        return name
    if Path(file).is_relative_to(sent):
        return f"{name}: {Path(file).relative_to(sent).as_posix()}"
    return Path(file).name


def _plain(text: str, sent: Path, name: str, truth: Path) -> str:
    return text.replace(f"{truth}/", "").replace(str(truth), "the truth").replace(str(sent), name)
