"""Read the folders of WSOL users: ids, classes, sizes and localization of images, and score maps.

Files are read line by line and checked fully. No Django. Ids are relative paths; they may hold
commas.
"""

import functools
import io
import struct
import threading
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.metrics.wsol.mask_scores import nearest, truth_of
from evaluation.readers.answers import NO_ARRAY
from labeling.files import BadInput, require_file
from labeling.geometry import mask_png

# A file with more is wrong; every box is compared with thousands.
MAX_BOXES = 1000
# Protocol `paper` resizes score maps to the size of their image.
MAX_PIXELS = 100_000_000


@dataclass(frozen=True)
class WsolImage:
    """An image of the folder. boxes: (G, 4) x0 y0 x1 y1 in pixels."""

    name: str
    label: str
    width: int
    height: int
    boxes: NDArray[np.float64]


def read_boxes(folder: Path) -> list[WsolImage]:
    """Return the images of a folder whose localization.txt has boxes, in the order of
    image_ids.txt.

    Raises BadInput with the line for an id that is unknown, missing or repeated, for a box that is
    inside out or leaves its image, and for more than MAX_BOXES in an image.
    """
    names = read_ids(folder)
    labels = _once(folder / "class_labels.txt", names, 1, "id,class")
    require_file(
        folder / "image_sizes.txt",
        "write it as id,width,height, or give --masks where localization.txt names masks",
    )
    sizes = {
        name: _size(folder / "image_sizes.txt", line, cells)
        for name, (line, cells) in _once(
            folder / "image_sizes.txt", names, 2, "id,width,height"
        ).items()
    }
    boxes: dict[str, list[list[float]]] = {}
    path = folder / "localization.txt"
    for line, name, cells in _rows(path, names, 4, "id,x0,y0,x1,y1"):
        mine = boxes.setdefault(name, [])
        if len(mine) == MAX_BOXES:
            raise BadInput(
                f"{name} has more than {MAX_BOXES:,} boxes", path, line, "keep its objects' boxes"
            )
        mine.append(_box(path, line, cells, *sizes[name]))
    _all_there(path, names, boxes)
    return [
        WsolImage(name, labels[name][1][0], *sizes[name], np.array(boxes[name])) for name in names
    ]


def read_labels(folder: Path) -> dict[str, str]:
    """Return id → class of every image, in the order of image_ids.txt."""
    names = read_ids(folder)
    labels = _once(folder / "class_labels.txt", names, 1, "id,class")
    return {name: labels[name][1][0] for name in names}


def read_sizes(folder: Path) -> dict[str, tuple[int, int]]:
    """Return id → width and height of every image, from image_sizes.txt."""
    path = folder / "image_sizes.txt"
    rows = _once(path, read_ids(folder), 2, "id,width,height")
    return {name: _size(path, line, cells) for name, (line, cells) in rows.items()}


@dataclass(frozen=True)
class MaskedImage:
    """An image whose object is drawn in masks; the files, and the line of each."""

    name: str
    label: str
    masks: list[tuple[Path, int]]
    ignore: list[tuple[Path, int]]


def read_masked(folder: Path, masks: Path) -> list[MaskedImage]:
    """Return the images of a folder whose localization.txt has `id,mask path,ignore path` rows.

    Paths are relative to masks; the ignore path may be empty. Raises BadInput with the line for an
    unknown or missing id, and for a missing file.
    """
    names = read_ids(folder)
    labels = _once(folder / "class_labels.txt", names, 1, "id,class")
    path = folder / "localization.txt"
    drawn: dict[str, list[tuple[Path, int]]] = {}
    ignore: dict[str, list[tuple[Path, int]]] = {name: [] for name in names}
    for line, name, (mask, region) in _rows(path, names, 2, "id,mask path,ignore path"):
        drawn.setdefault(name, []).append((_below(masks, mask, path, line), line))
        if region:
            ignore[name].append((_below(masks, region, path, line), line))
    _all_there(path, names, drawn)
    return [MaskedImage(name, labels[name][1][0], drawn[name], ignore[name]) for name in names]


def read_truth(image: MaskedImage, localization: Path, size: int | None) -> NDArray[np.uint8]:
    """Return the pixels of an image as truth_of codes them. size: resized to this square; else as
    drawn.

    Raises BadInput for a file that is not a mask and, without size, for masks of one image that
    differ in size.
    """
    read: list[list[NDArray[np.bool_]]] = [[], []]
    first: tuple[int, ...] | None = None
    for kind, files in enumerate((image.masks, image.ignore)):
        for file, line in files:
            mask = mask_png.read(file, MAX_PIXELS, empty=True)
            first = first or mask.shape
            if size is None and mask.shape != first:
                raise BadInput(
                    f"{file.name} is {mask.shape[1]} × {mask.shape[0]}, but the first mask of"
                    f" {image.name} is {first[1]} × {first[0]}",
                    localization,
                    line,
                    "draw them at one size",
                )
            read[kind].append(mask if size is None else nearest(mask, size))
    return truth_of(*read)


def _below(folder: Path, name: str, path: Path, line: int) -> Path:
    parts = PurePosixPath(name)
    if not name or "\0" in name or parts.is_absolute() or ".." in parts.parts:
        raise BadInput(
            f"{name!r} is not a relative path", path, line, "write id,mask path,ignore path"
        )
    file = folder / name
    if not file.is_file():
        raise BadInput(f"{name} is not in {folder}", path, line, "check --masks and the path")
    return file


def read_named(
    path: Path, images: list[WsolImage], besides: Collection[str] = ()
) -> dict[str, bool]:
    """Return whether a classifier named each image by its class, from `id,class` rows.

    A classifier may know classes that no image has. besides: further images that may have a row.
    Raises BadInput for images without a row and for unknown images.
    """
    names = dict.fromkeys(image.name for image in images)
    cells_by_image = _once(path, names, 1, "id,class", besides)
    known = {image.label for image in images}
    if known.isdisjoint(label for _, (label,) in cells_by_image.values()):
        line, (label,) = cells_by_image[images[0].name]
        raise BadInput(
            f"{label!r} is an unknown class, as all others are",
            path,
            line,
            "write classes as class_labels.txt does",
        )
    return {image.name: cells_by_image[image.name][1][0] == image.label for image in images}


def class_rights(path: Path, images: list[WsolImage]) -> dict[str, bool]:
    """Return what `read_named` does, for rows that it has checked against an earlier truth.

    Rows of other images are ignored; images without a row are wrong.
    """
    cells = (text.rpartition(",") for _, text in _lines(path))
    labels = {name: label.strip() for name, _, label in cells}
    return {image.name: labels.get(image.name) == image.label for image in images}


class ScoreMaps:
    """The score maps of a folder, `<id>.npy` each; the files of `names` are checked at the start.

    names: all ids; None where the caller has checked them. besides: ids whose maps are not needed.
    Raises BadInput for a missing map, and for one that belongs to no id.
    """

    def __init__(
        self, folder: Path, names: list[str] | None, besides: Collection[str] = ()
    ) -> None:
        if not folder.is_dir():
            raise BadInput("is not a folder", folder, None, "name the folder of the score maps")
        self.folder = folder
        if names is not None:
            self._look_for(names, besides)

    def _look_for(self, names: list[str], besides: Collection[str]) -> None:
        folder = self.folder
        there = {path.relative_to(folder).as_posix() for path in folder.rglob("*.npy")}
        expected = {f"{name}.npy" for name in names}
        for name in names:
            if f"{name}.npy" not in there:
                raise BadInput(
                    f"the score map of {name} is missing", folder / f"{name}.npy", None, "write it"
                )
        if extras := there - expected - {f"{name}.npy" for name in besides}:
            extra = min(extras)
            raise BadInput(
                "belongs to no id of image_ids.txt", folder / extra, None, "remove it, or list it"
            )

    def path(self, name: str) -> Path:
        """Return the file of an image's map."""
        return self.folder / f"{name}.npy"

    def read(self, name: str, normalize: str, size: int | None = None) -> NDArray[Any]:
        """Return (H, W) finite floats. size: the required side; by default any up to MAX_PIXELS.

        Under normalize `none` scores must lie in [0, 1]; under `max` one must be 0 or more.
        """
        path = self.path(name)
        scores = _array(path, size)
        lowest, highest = float(scores.min()), float(scores.max())
        if not np.isfinite(highest - lowest):
            _refuse_infinite(scores, path)
        if normalize == "none" and (lowest < 0 or highest > 1):
            raise BadInput(
                f"has scores from {lowest:g} to {highest:g}, expected 0 to 1",
                path,
                None,
                "give --normalize min-max",
            )
        if normalize == "max" and highest < 0:
            raise BadInput(
                f"has only negative scores, up to {highest:g}, which have no maximum to divide by",
                path,
                None,
                "give --normalize min-max, or write the map again",
            )
        return scores


def _array(path: Path, size: int | None) -> NDArray[Any]:
    """Return the array of a .npy file; only its head is read unless it is a map."""
    with open(path, "rb") as file:
        start = file.read(_HEAD)
        try:
            shape, by_columns, kind, begin = _head(start[: _head_size(start)])
        except NO_ARRAY:
            raise BadInput(
                "is not a NumPy array", path, None, "save it by numpy.save, as 2-D floats"
            ) from None
        if len(shape) != 2 or kind.kind not in "fiu":
            raise BadInput("is not a 2-D array of floats", path, None, "save the map as 2-D floats")
        _check_shape(shape, size, path)
        file.seek(begin)
        values = np.fromfile(file, kind, shape[0] * shape[1])
        if values.size < shape[0] * shape[1]:
            raise BadInput("ends too early", path, None, "write it again")
    if kind.kind != "f":
        values = values.astype(np.float32 if kind.itemsize <= 2 else np.float64)
    return values.reshape(shape, order="F" if by_columns else "C")


def _check_shape(shape: tuple[int, ...], size: int | None, path: Path) -> None:
    height, width = shape
    if size is not None and shape != (size, size):
        raise BadInput(
            f"is {width} × {height}, expected {size} × {size}",
            path,
            None,
            f"resize it, or give --size {height}" if height == width else "resize it",
        )
    if not 0 < height * width <= MAX_PIXELS:
        raise BadInput(
            f"has {height * width:,} pixels, expected 1 to {MAX_PIXELS:,}", path, None, "resize it"
        )


def _refuse_infinite(scores: NDArray[Any], path: Path) -> None:
    places = np.argwhere(~np.isfinite(scores))
    if len(places) == 0:
        raise BadInput(
            "has scores too far apart to be normalised", path, None, "divide them by the greatest"
        )
    y, x = places[0]
    raise BadInput(f"is {scores[y, x]} in row {y}, column {x}", path, None, "write finite scores")


# Heads of arrays are shorter than this, even with many field names.
_HEAD = 4096


def _head_size(start: bytes) -> int:
    """Return the length of the head of a .npy file, by its first bytes."""
    if start[:6] != b"\x93NUMPY":
        raise ValueError(start[:6])
    if start[6] == 1:
        return 10 + int(struct.unpack("<H", start[8:10])[0])
    return 12 + int(struct.unpack("<I", start[8:12])[0])


# Python 3.11 raises SystemError when two threads parse literals at once: it miscounts the depth.
_parsing = threading.Lock()


@functools.lru_cache(1000)
def _head(head: bytes) -> tuple[tuple[int, ...], bool, np.dtype[Any], int]:
    """Return shape, column order, type and length of a head; cached, since the heads of maps are
    alike.
    """
    file = io.BytesIO(head)
    version = np.lib.format.read_magic(file)
    with _parsing:
        if version == (1, 0):
            header = np.lib.format.read_array_header_1_0(file)
        else:
            header = np.lib.format.read_array_header_2_0(file)
    if not all(type(side) is int and side >= 0 for side in header[0]):
        raise ValueError(header[0])
    return *header, file.tell()


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield every line with its number, except empty ones."""
    try:
        with open(path, encoding="utf-8-sig") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield number, line.rstrip("\n")
    except UnicodeDecodeError:
        raise BadInput("is not UTF-8", path, None, "save it as UTF-8") from None


def read_ids(folder: Path) -> dict[str, None]:
    """Return the ids of a folder's image_ids.txt, in its order.

    Raises BadInput with the line for an id that is not a relative path or is repeated, and for no
    ids.
    """
    path = folder / "image_ids.txt"
    first: dict[str, int] = {}
    for line, name in _lines(path):
        parts = PurePosixPath(name)
        if parts.is_absolute() or ".." in parts.parts or "\0" in name or parts.as_posix() != name:
            raise BadInput(
                f"{name!r} is not a relative path", path, line, "write ids such as val/1.jpeg"
            )
        if name in first:
            raise BadInput(f"{name} is already in line {first[name]}", path, line, "keep one")
        first[name] = line
    if not first:
        raise BadInput("there are no ids", path, None, "write an id a line")
    return dict.fromkeys(first)


def _rows(
    path: Path, names: dict[str, None], cells: int, form: str
) -> Iterator[tuple[int, str, list[str]]]:
    """Yield line number, id and the rest of each row."""
    for line, text in _lines(path):
        name, *rest = text.rsplit(",", cells)
        if len(rest) != cells:
            raise BadInput(f"has {len(rest) + 1} cells", path, line, f"write {form}")
        if name not in names:
            cure = "list it there, or remove the line"
            if path.name == "localization.txt":
                cure += f"; lines are {form} " + ("with" if cells == 2 else "without") + " --masks"
            raise BadInput(f"{name!r} is not in image_ids.txt", path, line, cure)
        yield line, name, [cell.strip() for cell in rest]


def _once(
    path: Path, names: dict[str, None], cells: int, form: str, besides: Collection[str] = ()
) -> dict[str, tuple[int, list[str]]]:
    by_name: dict[str, tuple[int, list[str]]] = {}
    for line, name, rest in _rows(path, names | dict.fromkeys(besides), cells, form):
        if name in by_name:
            raise BadInput(f"{name} is already in line {by_name[name][0]}", path, line, "keep one")
        if not all(rest):
            raise BadInput("a cell is empty", path, line, f"write {form}")
        by_name[name] = (line, rest)
    _all_there(path, names, by_name)
    return by_name


def _all_there(path: Path, names: dict[str, None], present: Collection[str]) -> None:
    for name in names:
        if name not in present:
            raise BadInput(f"{name} is missing", path, None, "write a line for every image id")


def _size(path: Path, line: int, cells: list[str]) -> tuple[int, int]:
    try:
        width, height = int(cells[0]), int(cells[1])
    except ValueError:
        raise BadInput(
            "a size is not a whole number", path, line, "write id,width,height"
        ) from None
    if width < 1 or height < 1 or width * height > MAX_PIXELS:
        raise BadInput(
            f"the size is {width} × {height}, expected 1 to {MAX_PIXELS:,} pixels",
            path,
            line,
            "write the width and height of the image",
        )
    return width, height


def _box(path: Path, line: int, cells: list[str], width: int, height: int) -> list[float]:
    try:
        box = [float(cell) for cell in cells]
    except ValueError:
        raise BadInput("a corner is not a number", path, line, "write id,x0,y0,x1,y1") from None
    x0, y0, x1, y1 = box
    if not (x0 <= x1 and y0 <= y1):
        raise BadInput(f"the box {','.join(cells)} is inverted", path, line, "write x0,y0,x1,y1")
    if x0 < 0 or y0 < 0 or x1 > width or y1 > height:
        raise BadInput(
            f"the box {','.join(cells)} reaches out of the image of {width} × {height}",
            path,
            line,
            "give pixels of the image, or correct image_sizes.txt",
        )
    return box
