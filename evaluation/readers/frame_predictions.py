"""Read predictions.csv: the class that each classifier names for every frame. No Django."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evaluation.readers.sequences import SequenceLine
from labeling.csv_rows import rows
from labeling.files import BadInput

COLUMNS = ("frame", "classifier", "wnid")
# The reserved name of the classifier that stands for people.
PEOPLE = "people"
# Class numbers that mean: no class named, frame not shown.
NOTHING, NOT_ASKED = -1, -2
_UNREAD = -3
# Characters of a name in a message.
MAX_SHOWN_LENGTH = 200


@dataclass(frozen=True)
class FramePredictions:
    """The class that each classifier named for every frame.

    wnids: for a classifier (F,) int32 indices into `classes`. NOTHING: it named no class, which is
    wrong and has no similarity. NOT_ASKED: it did not see the frame (people see few frames); a
    sequence with such a frame has no score for that classifier. classes: as the files write them.
    frames: id → index 0 … F − 1. places: file and line where a class first came, or None. missing:
    classifier → how many frames its file lacks and count as NOTHING; only those that lack some.
    """

    classifiers: tuple[str, ...]
    wnids: dict[str, NDArray[np.int32]]
    classes: tuple[str, ...]
    frames: dict[str, int]
    places: tuple[tuple[str, int] | None, ...] = ()
    missing: dict[str, int] = field(default_factory=dict)

    def origin(self, class_: int) -> tuple[str | None, int | None]:
        """Return the file and line where a class first came; None, None where it came from
        no file.
        """
        position = self.places[class_] if class_ < len(self.places) else None
        return position or (None, None)

    def joined(self, more: "FramePredictions") -> "FramePredictions":
        """Return these predictions with the classifiers of `more` appended.

        Both were read for the same lines. Raises BadInput for a classifier that both have.
        """
        twice = sorted(set(self.classifiers) & set(more.classifiers))
        if twice:
            raise BadInput(
                f"classifier {twice[0]!r} is in two files of predictions",
                cure="give each classifier a name of its own, or one of the files",
            )
        if self.frames != more.frames:
            raise ValueError("these predictions are of other sequences")
        classes = {name: number for number, name in enumerate(self.classes)}
        moved = [classes.setdefault(name, len(classes)) for name in more.classes]
        # The last two elements are for NOTHING and NOT_ASKED, which are −1 and −2.
        table = np.array([*moved, NOT_ASKED, NOTHING], np.int32)
        places = [
            self.places[i] if i < len(self.places) else None for i in range(len(self.classes))
        ]
        places += [None] * (len(classes) - len(places))
        for number, position in zip(moved, more.places, strict=False):
            places[number] = places[number] or position
        return FramePredictions(
            (*self.classifiers, *more.classifiers),
            self.wnids | {name: table[numbers] for name, numbers in more.wnids.items()},
            tuple(classes),
            self.frames,
            tuple(places),
            self.missing | more.missing,
        )


def frame_places(lines: Iterable[SequenceLine]) -> dict[str, int]:
    """Return a number for every distinct frame, in the order of the lines."""
    places: dict[str, int] = {}
    for line in lines:
        for frame in line.frames:
            places.setdefault(frame, len(places))
    return places


def read_predictions(
    path: Path,
    lines: Iterable[SequenceLine],
    frames: dict[str, int] | None = None,
    *,
    optional: Collection[str] = (),
    ignored: Collection[str] = (),
    missing_count_as_wrong: bool = False,
    check_classifiers: Callable[[Sequence[str]], object] | None = None,
    check_class: Callable[[str, int], object] | None = None,
) -> FramePredictions:
    """Return the predictions of a CSV with the columns frame, classifier and wnid.

    frames: `frame_places(lines)`, for callers that read several files. optional: frames that may be
    missing; the classifier was then not asked. ignored: further frames, whose rows are skipped. An
    empty wnid means that the classifier named nothing; with missing_count_as_wrong, so does a
    missing row. Raises BadInput with the line for a frame that is in no sequence or is repeated for
    a classifier, for an empty name, for other missing frames, and for no rows. Classes are checked
    against WordNet when they are scored. For files from untrusted users, check_classifiers is
    called with all names whenever a new one comes, and check_class with each new class and its
    line. Both may raise, which keeps endless names and classes from filling the memory.
    """
    frames = frame_places(lines) if frames is None else frames
    classes: dict[str, int] = {}
    places: list[tuple[str, int] | None] = []
    by_classifier: dict[str, NDArray[np.int32]] = {}
    for line, (frame, classifier, wnid) in rows(path, COLUMNS, others=True, as_nfc=False):
        frame_number = frames.get(frame)
        if frame_number is None and frame not in ignored:
            raise BadInput(
                f"no sequence has the frame {_short(frame)}",
                path,
                line,
                "remove the row, or give the sequences that the predictions were made for",
            )
        answers = by_classifier.get(classifier)
        if answers is None:
            if not classifier.strip():
                raise BadInput("the classifier is empty", path, line, "name the classifier")
            if check_classifiers is not None:
                check_classifiers([*by_classifier, classifier])
            answers = by_classifier[classifier] = np.full(len(frames), _UNREAD, np.int32)
        if frame_number is None:
            continue
        if answers[frame_number] != _UNREAD:
            raise BadInput(
                f"frame {_short(frame)} is repeated for {_short(classifier)}",
                path,
                line,
                "keep one row for each frame and classifier",
            )
        wnid = wnid.strip()
        number = classes.setdefault(wnid, len(classes)) if wnid else NOTHING
        if number == len(places):
            if check_class is not None:
                check_class(wnid, line)
            places.append((str(path), line))
        answers[frame_number] = number
    if not by_classifier:
        raise BadInput("there are no predictions below the header", path, None, "add rows")
    missing = _fill_missing(by_classifier, frames, optional)
    if missing and not missing_count_as_wrong:
        raise _missing(path, missing, frames)
    return FramePredictions(
        tuple(by_classifier),
        by_classifier,
        tuple(classes),
        frames,
        tuple(places),
        {classifier: len(numbers) for classifier, numbers in missing.items()},
    )


def _short(name: str) -> str:
    """Return a frame or classifier for a message, cut where its name is long.

    >>> _short("cats/0.png/01")
    "'cats/0.png/01'"
    """
    return repr(name) if len(name) <= MAX_SHOWN_LENGTH else f"{name[:MAX_SHOWN_LENGTH]!r}…"


def _fill_missing(
    by_classifier: dict[str, NDArray[np.int32]],
    frames: dict[str, int],
    optional: Collection[str],
) -> dict[str, list[int]]:
    """Mark missing frames as NOT_ASKED if optional, else as NOTHING; return the latter."""
    places = [frames[frame] for frame in optional if frame in frames]
    missing = {}
    for classifier, answers in by_classifier.items():
        unread = [number for number in places if answers[number] == _UNREAD]
        answers[unread] = NOT_ASKED
        if numbers := np.flatnonzero(answers == _UNREAD).tolist():
            answers[numbers] = NOTHING
            missing[classifier] = numbers
    return missing


def _missing(path: Path, missing: dict[str, list[int]], frames: dict[str, int]) -> BadInput:
    [classifier, numbers], ids = next(iter(missing.items())), list(frames)
    first = ", ".join(_short(ids[number]) for number in numbers[:5])
    return BadInput(
        f"{_short(classifier)} lacks {len(numbers)} of {len(frames)} frames: {first}"
        + (", …" if len(numbers) > 5 else ""),
        path,
        None,
        "classify these frames too; a frame without an answer gets an empty wnid",
    )
