"""What a classifier sent in against the truth of its benchmark, as `score KIND`. No Django."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.benchmarks.kinds.labeled.settings import protocol_of
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
from evaluation.metrics.ilsvrc import errors
from evaluation.metrics.wordnet.nouns import load
from evaluation.readers import box_files, class_files
from evaluation.readers import wsol_folders as wsol_files
from evaluation.scoring import classification, detection, localization
from evaluation.scoring.wsol import outcomes as wsol_outcomes
from evaluation.scoring.wsol import scoring as wsol_scoring
from labeling.files import BadInput

Settings = Mapping[str, Any]
Result = dict[str, Any]


@dataclass(frozen=True)
class Scored:
    """What a classifier is worth. result: as `score KIND` prints it, of wsol what it prints of
    boxes and of masks together, without curves.

    outcomes: what became of each image, in the order of the truth; called once. wrong, classes:
    (N,) whether each image is an error, and its class, where the kind has errors. having: class →
    how many images have it, of detection. curves: of wsol, under "boxes" and "masks".
    """

    result: Result
    outcomes: Callable[[], Iterator[Result]]
    wrong: NDArray[np.bool_] | None = None
    classes: list[str] | None = None
    having: Mapping[str, int] = field(default_factory=dict)
    curves: Result | None = None


def score(kind: str, truth: Path, path: Path, settings: Settings) -> Scored:
    """Raises BadInput for predictions that do not fit the truth, and for files that are gone."""
    return _SCORES[kind](truth, path, settings)


def check(kind: str, truth: Path, path: Path, settings: Settings) -> None:
    """Passes for predictions that can be scored: they are read whole. Raises BadInput."""
    _CHECKS[kind](truth, path, settings)


def check_truth(kind: str, truth: Path, settings: Settings) -> None:
    """Passes for a truth that can be read back. Raises BadInput."""
    if kind in (LOCALIZATION, DETECTION):
        box_files.read_truth(truth / TRUTH, options_of(truth, settings))
    elif kind == WSOL:
        wsol_files.read_boxes(truth)


def options_of(truth: Path, settings: Settings) -> box_files.Options:
    """How the boxes of a truth are read and scored (localization, detection)."""
    excluded = truth / EXCLUDED
    return box_files.Options(
        images=truth / IMAGES,
        exclude=excluded if excluded.exists() else None,
        **{
            name: settings[name]
            for name in ("inclusive", "strict", "confidence", "seed")
            if name in settings
        },
    )


def _read_classified(truth: Path, path: Path, settings: Settings) -> class_files.Classified:
    return class_files.read_classified(truth / TRUTH, path, load())


def _classification(truth: Path, path: Path, settings: Settings) -> Scored:
    found = _read_classified(truth, path, settings)
    wordnet = load()
    return Scored(
        classification.score(
            found, wordnet, confidence=settings["confidence"], seed=settings["seed"]
        ),
        partial(classification.outcomes, found, wordnet),
        errors.wrong_at(found.truth, found.predicted, 5),
        [found.classes[number] for number in found.truth.tolist()],
    )


def _read_localized(truth: Path, path: Path, settings: Settings) -> localization.Localized:
    return localization.read(truth / TRUTH, path, options_of(truth, settings))


def _localization(truth: Path, path: Path, settings: Settings) -> Scored:
    found = _read_localized(truth, path, settings)
    return Scored(
        localization.score(found, options_of(truth, settings)),
        partial(localization.outcomes, found),
        localization.wrong(found),
        list(found.classes),
    )


def _read_detected(truth: Path, path: Path, settings: Settings) -> detection.Detected:
    return detection.read(truth / TRUTH, path, options_of(truth, settings))


def _detection(truth: Path, path: Path, settings: Settings) -> Scored:
    found = _read_detected(truth, path, settings)
    return Scored(
        detection.score(found, options_of(truth, settings)),
        partial(detection.outcomes, found),
        having=detection.images_of(found),
    )


def _wsol(truth: Path, path: Path, settings: Settings) -> Scored:
    protocol = protocol_of(settings)
    boxes = wsol_scoring.score_boxes(truth, path, protocol, curves=True)
    curves = {"boxes": boxes.pop("curves")}
    each = partial(wsol_outcomes.box_outcomes, truth, path, protocol, boxes)
    masks = truth / MASKS
    if not masks.is_dir():
        return Scored(boxes, each, curves=curves)
    pixels = wsol_scoring.score_masks(masks, masks, path, protocol, curves=True)
    curves["masks"] = pixels.pop("curves")
    too = partial(wsol_outcomes.mask_outcomes, masks, masks, path, protocol, pixels)
    return Scored(boxes | pixels, partial(_both, each, too), curves=curves)


def _both(
    boxes: Callable[[], Iterator[Result]], masks: Callable[[], Iterator[Result]]
) -> Iterator[Result]:
    """What became of each image's boxes, and of its pixels beside it."""
    for one, other in zip(boxes(), masks(), strict=True):
        yield one | {"outcome": one["outcome"] | other["outcome"]}


def _check_maps(truth: Path, path: Path, settings: Settings) -> None:
    protocol = protocol_of(settings)
    names = [image.name for image in wsol_files.read_boxes(truth)]
    read = wsol_scoring.reader(path, protocol, names)

    def read_all(part: list[str]) -> None:
        for name in part:
            read(name)

    for _ in wsol_scoring.in_parts(read_all, names):
        pass


_SCORES: dict[str, Callable[[Path, Path, Settings], Scored]] = {
    CLASSIFICATION: _classification,
    LOCALIZATION: _localization,
    DETECTION: _detection,
    WSOL: _wsol,
}
_CHECKS: dict[str, Callable[[Path, Path, Settings], Any]] = {
    CLASSIFICATION: _read_classified,
    LOCALIZATION: _read_localized,
    DETECTION: _read_detected,
    WSOL: _check_maps,
}


@contextmanager
def called(sent: Path, name: str, truth: Path) -> Iterator[None]:
    """Faults name files as the person does who sent them: never by where they lie on this server.

    sent: the file or folder that the person calls `name`.
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
    """A file of a folder that was sent stands behind the folder's name; one of the truth is known
    by its own."""
    if file is None or Path(file) == sent:
        return name
    if Path(file).is_relative_to(sent):
        return f"{name}: {Path(file).relative_to(sent).as_posix()}"
    return Path(file).name


def _plain(text: str, sent: Path, name: str, truth: Path) -> str:
    return text.replace(f"{truth}/", "").replace(str(truth), "the truth").replace(str(sent), name)
