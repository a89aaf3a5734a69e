"""Rows of boxes with their images and classes, and the checks on them. No Django.

Every reader returns BoxRows; errors name the row's position in its file. Corners are image pixels
with x1 and y1 exclusive.
"""

import math
from array import array
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from evaluation.metrics.detection.precision import ClassBoxes
from labeling.csv_rows import nfc
from labeling.files import BadInput
from labeling.formats.reading import EDGE_PX, FARTHEST_PX

# More than the objects of any photograph and the useful detections of any detector.
MAX_OBJECTS = 1_000
MAX_DETECTIONS = 10_000
EDGES = ("x0", "y0", "x1", "y1")
Fail = Callable[[str, str], BadInput]


class Classes(Protocol):
    """Numbers the labels of a file from 0. Raises BadInput for an unknown class."""

    @property
    def names(self) -> list[str]: ...

    def __call__(self, label: str, path: Path, line: int | None) -> int: ...


class NamedClasses:
    """Classes numbered in the order in which they come."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    @property
    def names(self) -> list[str]:
        return list(self._numbers)

    def __call__(self, label: str, path: Path, line: int | None) -> int:
        return self._numbers.setdefault(label, len(self._numbers))


class ListedClasses:
    """The classes that a file lists; any other class is refused."""

    def __init__(self, names: Sequence[str], source: Path) -> None:
        self.names = list(names)
        self.source = source
        self._numbers = {name: i for i, name in enumerate(self.names)}

    def __call__(self, label: str, path: Path, line: int | None) -> int:
        number = self._numbers.get(label)
        if number is None:
            cure = f"name a class of {self.source}, or remove the row"
            raise BadInput(f"unknown class {label[:80]!r}", path, line, cure)
        return number


class ImageNumbers:
    """Names of images → numbers from 0, with sizes where they are known.

    listed: the file that lists all images; no others are allowed. by_id: numbers by the ids that
    other files use. loose: a name may lack, or wrongly have, the folder or extension of the only
    image that it can mean, as names in XML files do.
    """

    def __init__(self) -> None:
        self.places: dict[str, int] = {}
        self.sizes: dict[int, tuple[float, float]] = {}
        self.by_id: dict[Any, int] = {}
        self.listed: Path | None = None
        self.loose = False
        self._short: dict[str, list[str]] | None = None
        # (file, image) → the name that matched it.
        self._meant: dict[tuple[Path | None, str], str] = {}

    def add(self, name: str, path: Path, line: int | None = None) -> int:
        """Return the index of a new image. Raises BadInput for a known one."""
        if self.find(name) is not None:
            raise BadInput(f"image {name[:200]!r} is repeated", path, line, "keep one of them")
        return self(name, path, line)

    def __call__(self, name: str, path: Path, line: int | None) -> int:
        """Return the index of an image; a list of images takes no new one. Raises BadInput."""
        number = self.find(name, path, line)
        if number is not None:
            return number
        if not name:
            raise BadInput("the image is empty", path, line, "name the image")
        if self.listed is not None:
            cure = f"remove the row, or add the image to {self.listed}"
            raise BadInput(f"unknown image {name[:200]!r}", path, line, cure)
        return self.places.setdefault(nfc(name), len(self.places))

    def find(self, name: str, path: Path | None = None, line: int | None = None) -> int | None:
        """Return the index of an image, None where it is unknown. Raises BadInput where
        two match.
        """
        number = self.places.get(nfc(name))
        if number is not None or not self.loose:
            return number
        if self._short is None:
            self._short = defaultdict(list)
            for known in self.places:
                self._short[PurePosixPath(known).stem].append(known)
        names = self._short.get(PurePosixPath(nfc(name)).stem, [])
        cure = "write the whole name"
        if len(names) > 1:
            raise BadInput(f"image {name[:200]!r} may be {', '.join(names[:5])}", path, line, cure)
        if not names:
            return None
        earlier = self._meant.setdefault((path, names[0]), name)
        if earlier != name:
            fault = f"images {earlier[:200]!r} and {name[:200]!r} both mean {names[0]!r}"
            raise BadInput(fault, path, line, cure)
        return self.places[names[0]]

    def number(self) -> None:
        """Number the images from 1 in their order, where no file gave them ids."""
        if not self.by_id:
            self.by_id = dict(enumerate(self.places.values(), 1))

    def resize(self, number: int, width: Any, height: Any) -> bool:
        """Set the size of an image. Returns False for a size that is not positive and finite."""
        try:
            size = (float(width), float(height))
        except (TypeError, ValueError, OverflowError):
            return False
        good = all(math.isfinite(side) and side > 0 for side in size)
        if good:
            self.sizes[number] = size
        return good

    def renumbered(self, numbers: Sequence[int]) -> "ImageNumbers":
        """Return the images with new numbers; images with −1 are left out."""
        images = ImageNumbers()
        kept = {at: number for at, number in enumerate(numbers) if number >= 0}
        images.places = {name: kept[at] for name, at in self.places.items() if at in kept}
        images.sizes = {kept[at]: size for at, size in self.sizes.items() if at in kept}
        images.by_id = {id_: kept[at] for id_, at in self.by_id.items() if at in kept}
        images.listed = self.listed
        return images

    def size_table(self) -> NDArray[np.float64]:
        """Return (N, 2) widths and heights, infinite where they are unknown."""
        table = np.full((len(self.places), 2), np.inf)
        if self.sizes:
            table[list(self.sizes)] = list(self.sizes.values())
        return table


@dataclass(frozen=True)
class BoxRows:
    """M boxes of a file. places: (M,) line numbers, or numbers of the `unit`, from 1; in a folder,
    within each of its files.
    """

    path: Path
    unit: str
    boxes: ClassBoxes
    confidences: NDArray[np.float64]
    places: NDArray[np.int64]
    files: Sequence[Path] | None = None

    def __len__(self) -> int:
        return len(self.places)

    def renumbered(self, numbers: NDArray[np.int64]) -> "BoxRows":
        """Return the rows with new numbers of their images; those with −1 are left out."""
        kept = numbers[self.boxes.images] >= 0
        boxes = self.boxes.of(kept)
        files = self.files
        if files is not None:
            files = [file for file, keep in zip(files, kept.tolist(), strict=True) if keep]
        return replace(
            self,
            boxes=replace(boxes, images=numbers[boxes.images]),
            confidences=self.confidences[kept],
            places=self.places[kept],
            files=files,
        )

    def bad(self, row: int, message: str, cure: str) -> BadInput:
        """Return BadInput for a row, counted from 0."""
        path = self.files[row] if self.files is not None else self.path
        return fault(path, self.unit, int(self.places[row]), message, cure)


def fault(path: Path, unit: str, position: int, message: str, cure: str) -> BadInput:
    """Return a fault at a position: `line N`, or `<unit> N` where there is a unit."""
    if unit:
        return BadInput(f"{unit} {position}: {message}", path, None, cure)
    return BadInput(message, path, position, cure)


class Gathered:
    """Collects rows while a file is read."""

    def __init__(self) -> None:
        self._whole = array("q")
        self._real = array("d")

    def add(
        self, image: int, class_: int, confidence: float, corners: Sequence[float], position: int
    ) -> None:
        self._whole.extend((image, class_, position))
        self._real.append(confidence)
        self._real.extend(corners)

    def rows(self, path: Path, unit: str = "", inclusive: bool = False, first: int = 0) -> BoxRows:
        """Return the rows. inclusive: x1 and y1 of the corners are inside the box.

        first: the coordinate of the upper left pixel.
        """
        whole = np.array(self._whole, np.int64).reshape(-1, 3)
        real = np.array(self._real, np.float64).reshape(-1, 5)
        corners = np.ascontiguousarray(real[:, 1:])
        corners[:, 2:] += float(inclusive)
        corners -= first
        boxes = ClassBoxes(whole[:, 0].copy(), whole[:, 1].copy(), corners)
        return BoxRows(path, unit, boxes, real[:, 0].copy(), whole[:, 2].copy())


def check(rows: BoxRows, images: ImageNumbers, most: int) -> None:
    """Raise BadInput for the first row that is not a box of its image, or that is one too many.

    A box must have an area, and may leave an image of known size by EDGE_PX. most: boxes per image.
    """
    corners = rows.boxes.corners
    _refuse(rows, ~np.isfinite(corners).all(axis=1), "a corner is not finite", "give numbers")
    _refuse(
        rows, ~np.isfinite(rows.confidences), "the confidence is not finite", "give a finite number"
    )
    far = (np.abs(corners) > FARTHEST_PX).any(axis=1)
    _refuse(rows, far, f"a corner is over {FARTHEST_PX:,.0f} pixels away", "give pixels")
    empty = (corners[:, 2:] <= corners[:, :2]).any(axis=1)
    cure = "write x0 < x1 and y0 < y1; take out a box without area"
    _refuse(rows, empty, "the box is inverted or empty", cure)
    size = images.size_table()[rows.boxes.images]
    outside = (corners[:, :2] < -EDGE_PX).any(axis=1) & np.isfinite(size[:, 0])
    outside |= (corners[:, 2:] > size + EDGE_PX).any(axis=1)
    _refuse(rows, outside, "the box leaves its image", "cut it at the edges of the image")
    counts = np.bincount(rows.boxes.images, minlength=1)
    if counts.max() > most:
        image = int(np.argmax(counts > most))
        row = np.flatnonzero(rows.boxes.images == image)[most]
        cure = "keep the most confident ones" if most == MAX_DETECTIONS else "is it one image?"
        raise rows.bad(int(row), f"its image has more than {most:,} boxes", cure)


def _refuse(rows: BoxRows, wrong: Any, message: str, cure: str) -> None:
    if wrong.any():
        raise rows.bad(int(np.argmax(wrong)), message, cure)


def numbers(cells: Sequence[Any], names: Sequence[str], fail: Fail) -> list[float]:
    """Return the cells as floats. Raises `fail(message, cure)` for a cell that is not a number."""
    try:
        return [float(cell) for cell in cells]
    except (TypeError, ValueError, OverflowError):
        at = next(i for i, cell in enumerate(cells) if not _is_number(cell))
        raise fail(f"{names[at]} is {str(cells[at])[:80]!r}", "give a number") from None


def _is_number(cell: Any) -> bool:
    try:
        float(cell)
    except (TypeError, ValueError, OverflowError):
        return False
    return True
