"""Classifies frames into a predictions file; a stopped run can be resumed. No Django.

Finished batches are stored in a file beside the goal, `.<name>.work`: first a line with the
settings, then a line per batch. Torch is imported inside functions.
"""

import contextlib
import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from evaluation.classifiers import resuming
from evaluation.classifiers.likeliest_classes import TOP, Row, batch_rows
from labeling.files import BadInput, atomic_write
from labeling.image_files import FORMATS
from labeling.release_files.frozen import map_ahead

if TYPE_CHECKING:
    from torch import Tensor

    from evaluation.classifiers.opening import Classifier

BATCH = 32


@dataclass
class PredictionsWork:
    """A predictions file in progress. done_by: the finished frames of each classifier.

    Rows are strings: frame, classifier, then wnid and confidence, most likely first.
    """

    out: Path
    path: Path
    file: IO[bytes]
    done_by: dict[str, set[str]] = field(default_factory=dict)
    added: int = 0

    @property
    def done(self) -> set[str]:
        """Return the frames that any classifier has finished."""
        return set().union(*self.done_by.values())

    def add(self, rows: list[Row]) -> None:
        """Store a batch. If the process is killed meanwhile, all of the batch is missing."""
        self.file.write(_line(rows))
        self.file.flush()
        self.added += len(rows)

    def finish(self, classes: int = 0) -> int:
        """Write the predictions file and return its number of rows.

        classes: of the classifier with the most; 0: as many as the first row has.
        """
        count, width = 0, 2 + 2 * min(classes, TOP)
        with atomic_write(self.out) as file:
            writer = csv.writer(file, lineterminator="\n")
            for rows in _batches(self.path):
                if count == 0:
                    width = max(width, len(rows[0]))
                    writer.writerow(columns((width - 2) // 2))
                writer.writerows([*row, *[""] * (width - len(row))] for row in rows)
                count += len(rows)
            if count == 0:
                raise BadInput("there are no frames to classify", cure="give some that have parts")
        self.path.unlink()
        return count


@contextlib.contextmanager
def opened(
    out: Path, settings: Mapping[str, object], restart: bool = False
) -> Iterator[PredictionsWork]:
    """Yield the work on a predictions file: that of a stopped run with the same settings, else new.

    settings: everything that the predictions depend on, as JSON. restart: discard earlier work.
    Raises BadInput: the earlier work has other settings; another run holds the file; the folder
    does not exist.
    """
    if out.is_dir():
        raise BadInput("is a folder, expected a file name", file=out, cure="give a file name")
    if not out.parent.is_dir():
        raise BadInput("its folder does not exist", file=out, cure=f"create {out.parent}")
    path = out.parent / f".{out.name}.work"
    with open(path, "a+b") as file:
        resuming.lock(file, out)
        if restart:
            file.truncate(0)
        yield PredictionsWork(
            out, path, file, _resumed(file, path, json.loads(json.dumps(settings)))
        )


def classify(
    frames: Iterable[tuple[str, "Tensor"]],
    classifier: "Classifier",
    work: PredictionsWork,
    batch: int = BATCH,
    watch: Callable[[int], object] | None = None,
) -> int:
    """Classify the frames that are not finished yet; return how many.

    frames: id and (H, W, 3) uint8, of any size; only one batch is held at a time. The five
    likeliest classes are kept, or all if there are fewer; ties go to the first class. watch: called
    with how many more are done. If a GPU's memory runs out, the network gets fewer than `batch` at
    once. Raises BadInput if the network returns NaN, or if the GPU's memory does not hold one
    frame.
    """
    before, done = work.added, work.done_by.get(classifier.name, set())
    for rows in batch_rows((frame for frame in frames if frame[0] not in done), classifier, batch):
        work.add(rows)
        if watch is not None:
            watch(len(rows))
    return work.added - before


def read_frames(files: Iterable[tuple[str, Path]]) -> Iterator[tuple[str, "Tensor"]]:
    """Yield the frames in image files with their ids: (H, W, 3) uint8; a few are read ahead.

    Raises BadInput for a file that is missing or is not an image.
    """
    import torch

    for name, pixels in map_ahead(_read, files):
        yield name, torch.from_numpy(pixels)


def columns(classes: int) -> Row:
    """Return the header for this many classes per frame.

    >>> columns(2)
    ['frame', 'classifier', 'wnid', 'confidence', 'wnid_2', 'confidence_2']
    """
    further = (f"{name}_{at}" for at in range(2, classes + 1) for name in ("wnid", "confidence"))
    return ["frame", "classifier", "wnid", "confidence", *further]


def _read(file: tuple[str, Path]) -> tuple[str, NDArray[np.uint8]]:
    name, path = file
    cure = "run sequences again: it writes what is missing"
    try:
        with Image.open(path, formats=FORMATS) as image:
            return name, np.array(image.convert("RGB"))
    except FileNotFoundError:
        raise BadInput("the frame is missing", file=path, cure=cure) from None
    # Pillow raises these for broken chunks and for sizes that would fill the memory.
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        raise BadInput(
            "the frame cannot be read", file=path, cure=f"remove it and {cure}"
        ) from None


def _resumed(file: IO[bytes], path: Path, settings: dict[str, object]) -> dict[str, set[str]]:
    """Return the finished frames by classifier; a batch that was not fully written is cut off."""
    file.seek(0)
    head = file.readline()
    if not head.endswith(b"\n"):
        file.truncate(0)
        file.write(_line({"settings": settings}))
        file.flush()
        return {}
    _check_settings(head, settings, path)
    done: dict[str, set[str]] = {}
    whole = file.tell()
    for line in file:
        if not line.endswith(b"\n"):
            break
        for name, classifier, *_ in json.loads(line):
            done.setdefault(classifier, set()).add(name)
        whole += len(line)
    file.truncate(whole)
    return done


def _check_settings(head: bytes, settings: dict[str, object], path: Path) -> None:
    try:
        before = json.loads(head)["settings"]
    except (ValueError, KeyError, TypeError):
        raise BadInput("is not a work file", file=path, cure="begin again with --restart") from None
    resuming.refuse_other(before, settings, path, "--restart to begin again")


def _batches(path: Path) -> Iterator[list[Row]]:
    with open(path, "rb") as file:
        next(file)
        for line in file:
            yield json.loads(line)


def _line(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
