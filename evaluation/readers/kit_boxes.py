"""Read texts of ILSVRC's kit: predictions, and lists of images. No Django.

Its pixels are inclusive and, like those of its XML files, assumed to count from 1.
"""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from evaluation.readers.box_rows import BoxRows, Gathered, ImageNumbers, fault, numbers
from labeling.files import BadInput
from labeling.plurals import count_of

# A line of five boxes has under 300 characters.
MAX_LINE_BYTES = 1 << 16
RANKS = 5
ClassOf = Callable[[int, Path, int], int]


def read_ranked(path: Path, images: ImageNumbers, class_of: ClassOf) -> BoxRows:
    """Return boxes for localization: line i is image i, up to five `id x0 y0 x1 y1`, best first."""
    gathered = Gathered()
    line = 0
    for line, words in _lines(path, blank=True):
        if len(words) % 5 or len(words) > 5 * RANKS:
            cure = "write up to five groups of id x0 y0 x1 y1"
            raise BadInput(f"the line has {len(words)} numbers", path, line, cure)
        image = images.by_id.get(line)
        if image is None and words:
            raise BadInput(f"there is no image {line}", path, line, "give a line for each image")
        for rank in range(len(words) // 5):
            id_, *corners = _numbers(words[5 * rank : 5 * rank + 5], path, line)
            if id_ > 0:
                assert image is not None
                class_ = class_of(_whole(id_, path, line), path, line)
                gathered.add(image, class_, RANKS - rank, corners, line)
    if line < len(images.by_id):
        problem = (
            f"has {count_of(line, 'line')} for {count_of(len(images.by_id), 'numbered image')}"
        )
        raise BadInput(problem, path, None, "give a line for each image; list them with --images")
    return gathered.rows(path, inclusive=True, first=1)


def read_detections(path: Path, images: ImageNumbers, class_of: ClassOf) -> BoxRows:
    """Return boxes for detection: `image_id class_id confidence x0 y0 x1 y1` rows."""
    gathered = Gathered()
    for line, words in _lines(path):
        if len(words) != 7:
            cure = "write image_id class_id confidence x0 y0 x1 y1"
            raise BadInput(f"the line has {len(words)} numbers", path, line, cure)
        image_id, class_id, confidence, *corners = _numbers(words, path, line)
        image = _image(image_id, images, path, line)
        class_ = class_of(_whole(class_id, path, line), path, line)
        gathered.add(image, class_, confidence, corners, line)
    return gathered.rows(path, inclusive=True, first=1)


def read_list(path: Path, images: ImageNumbers) -> None:
    """Add the images of the kit's list with their numbers, by default the line numbers."""
    for line, words in _lines(path):
        if len(words) > 2:
            raise BadInput("is not an image and its number", path, line, "write name and number")
        number = _whole(_numbers(words[1:], path, line)[0], path, line) if words[1:] else line
        if number in images.by_id:
            raise BadInput(f"the number {number} is repeated", path, line, "number them again")
        images.by_id[number] = images.add(words[0], path, line)


def read_excluded(
    path: Path, images: ImageNumbers, class_of: ClassOf
) -> Iterator[tuple[int | None, int]]:
    """Yield image and class of each line; class −1 means all classes."""
    for line, words in _lines(path):
        if len(words) > 2:
            raise BadInput("is not an image and class", path, line, "write image_id class_id")
        ids = [_whole(value, path, line) for value in _numbers(words, path, line)]
        yield images.by_id.get(ids[0]), class_of(ids[1], path, line) if ids[1:] else -1


def _lines(path: Path, blank: bool = False) -> Iterator[tuple[int, list[str]]]:
    """Yield the line number and words of every line; blank: also of empty lines."""
    with open(path, "rb") as file:
        number = 0
        while line := file.readline(MAX_LINE_BYTES):
            number += 1
            if len(line) == MAX_LINE_BYTES:
                raise BadInput("the line is too long", path, number, "is it a text of the kit?")
            try:
                words = line.decode("utf-8-sig" if number == 1 else "utf-8").split()
            except UnicodeDecodeError:
                raise BadInput("is not UTF-8", path, number, "save it as plain text") from None
            if words or blank:
                yield number, words


def _numbers(words: list[str], path: Path, line: int) -> list[float]:
    names = [f"number {i}" for i in range(1, len(words) + 1)]
    return numbers(words, names, partial(fault, path, "", line))


def _whole(value: float, path: Path, line: int) -> int:
    if value != value // 1 or abs(value) > 1e9:
        raise BadInput(f"{value} is not an id", path, line, "write whole numbers from 1")
    return int(value)


def _image(value: float, images: ImageNumbers, path: Path, line: int) -> int:
    image = images.by_id.get(_whole(value, path, line))
    if image is None:
        cure = "list the images with their numbers with --images"
        raise BadInput(f"there is no image {value:g}", path, line, cure)
    return image
