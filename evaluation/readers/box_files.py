"""True boxes and predicted ones from files: CSV, COCO JSON, or ILSVRC's own. No Django.

Which of them a file is, its first line says: `{` or `[` is JSON, a comma CSV, else it is one of the
kit's texts; a folder holds the kit's XML files.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.metrics.wordnet import nouns
from evaluation.readers import box_rows, class_files, coco_boxes, kit_boxes
from evaluation.readers.answers import require_file
from evaluation.readers.box_rows import EDGES, Classes, Gathered, Images, Listed, Rows
from labeling.csv_rows import rows as csv_rows
from labeling.files import BadInput

COLUMNS = ("image", "wnid", "confidence", *EDGES)
CSV, COCO, KIT, FOLDER = "CSV", "COCO JSON", "ILSVRC's texts", "ILSVRC's XML"


# One pair of them, and several, as notes count them.
CROWDS = (
    "image and class with crowd regions is",
    "pairs of image and class with crowd regions are",
)


@dataclass(frozen=True)
class Options:
    """How files are read and scored.

    inclusive: x1 and y1 of CSV rows are the last pixels of their box. images: a list of images,
    `image[,width,height]` rows or the kit's names and numbers; there are no others then. exclude:
    `image,wnid` rows, or the kit's list. devkit: what the kit's ids mean, its meta.mat or a list of
    wnids. strict: localization asks for an IoU above 0.5. most_rounds: of the bootstrap; 0: none.
    """

    inclusive: bool = False
    images: Path | None = None
    exclude: Path | None = None
    devkit: Path | None = None
    strict: bool = False
    confidence: float = 0.999
    seed: int = 0
    most_rounds: int = 2_560_000


@dataclass(frozen=True)
class Truth:
    """What is known of the images. objects: as they were read; crowds: (E, 2) images and classes
    with objects that nobody could draw one by one. class_of_id: numbers of classes by the ids that
    predictions may call them by."""

    path: Path
    images: Images
    classes: Classes
    objects: Rows
    class_of_id: dict[Any, int] = field(default_factory=dict)
    crowds: NDArray[np.int64] = field(default_factory=lambda: np.zeros((0, 2), np.int64))


def read_truth(path: Path, options: Options) -> Truth:
    """The true boxes of a file or folder. Raises BadInput with the place of what is wrong."""
    layout = layout_of(path)
    images = Images()
    if options.images is not None:
        _list_images(options.images, images)
    read = {CSV: _csv_truth, COCO: _coco_truth, FOLDER: _kit_truth}.get(layout)
    if read is None:
        cure = "give image,wnid,x0,y0,x1,y1 rows, COCO JSON, or the folder of the kit's XML files"
        raise BadInput("is no list of true boxes", path, None, cure)
    truth = read(path, images, options)
    if not len(truth.objects):
        raise BadInput("there are no true boxes", path, None, "add the boxes of the objects")
    box_rows.check(truth.objects, truth.images, box_rows.MOST_OBJECTS)
    return truth


def read_found(path: Path, truth: Truth, options: Options, ranked: bool = False) -> Rows:
    """The predicted boxes of a file, in its order, checked.

    Images that the truth does not know are numbered after its own, unless it lists them all.
    ranked: the kit's text has a line an image, up to five boxes, the best first; their confidences
    are 5 to 1 then. Raises BadInput with the place of what is wrong.
    """
    layout = layout_of(path)
    if layout == FOLDER:
        raise BadInput("is a folder", path, None, "give a file of predictions")
    if layout == CSV:
        found = _csv_rows(path, COLUMNS, truth.images, truth.classes, options.inclusive)
    elif layout == COCO:
        found = coco_boxes.read_results(path, truth.images, truth.classes, truth.class_of_id)
    else:
        truth.images.number()
        class_of = partial(_class_of_id, truth)
        read = kit_boxes.read_ranked if ranked else kit_boxes.read_detections
        found = read(path, truth.images, class_of)
    if not len(found):
        raise BadInput("there are no predictions", path, None, "add rows")
    box_rows.check(found, truth.images, box_rows.MOST_DETECTIONS)
    return found


def read_excluded(truth: Truth, options: Options) -> tuple[NDArray[np.int64], int]:
    """(E, 2) images and classes that do not count, class −1 for all of an image; crowds are among
    them. How many rows named an image that nobody else names, and so did nothing."""
    pairs = list(map(tuple, truth.crowds.tolist()))
    unknown = 0
    for image, class_ in _excluded(truth, options) if options.exclude else ():
        unknown += image is None
        if image is not None:
            pairs.append((image, class_))
    return np.array(sorted(set(pairs)), np.int64).reshape(-1, 2), unknown


def layout_of(path: Path) -> str:
    """CSV, COCO, KIT or FOLDER. Raises BadInput where there is nothing."""
    if path.is_dir():
        return FOLDER
    require_file(path, "check the path")
    with open(path, "rb") as file:
        start = file.read(1 << 16).removeprefix(b"\xef\xbb\xbf")
    first = start.split(b"\n", 1)[0]
    if start.lstrip()[:1] in (b"{", b"["):
        return COCO
    return CSV if b"," in first or not start or first.strip() == b"image" else KIT


def _csv_truth(path: Path, images: Images, options: Options) -> Truth:
    classes = class_files.Labels(_wordnet())
    columns = tuple(name for name in COLUMNS if name != "confidence")
    objects = _csv_rows(path, columns, images, classes, options.inclusive)
    ids = {}
    if options.devkit is not None:
        meaning = class_files.read_ids(options.devkit)
        ids = {id_: classes(wnid, options.devkit, line) for id_, (wnid, line) in meaning.items()}
    return Truth(path, images, classes, objects, ids)


def _coco_truth(path: Path, images: Images, options: Options) -> Truth:
    if options.devkit is not None:
        cure = "leave --devkit out"
        raise BadInput("is not needed: a COCO file has ids of its own", options.devkit, None, cure)
    found = coco_boxes.read_truth(path, images)
    classes = Listed(found.classes, path)
    return Truth(path, images, classes, found.objects, found.class_of_id, found.crowds)


def _kit_truth(path: Path, images: Images, options: Options) -> Truth:
    if options.devkit is None:
        objects, names = kit_boxes.read_folder(path, images)
        return Truth(path, images, Listed(names, path), objects)
    meaning = class_files.read_ids(options.devkit)
    known = Listed(list(dict.fromkeys(wnid for wnid, _ in meaning.values())), options.devkit)
    objects, _ = kit_boxes.read_folder(path, images, known)
    ids = {id_: known(wnid, options.devkit, line) for id_, (wnid, line) in meaning.items()}
    return Truth(path, images, known, objects, ids)


def _csv_rows(
    path: Path, columns: tuple[str, ...], images: Images, classes: Classes, inclusive: bool
) -> Rows:
    gathered = Gathered()
    sure = len(columns) == len(COLUMNS)
    for line, (image, wnid, *cells) in csv_rows(path, columns):
        values = box_rows.numbers(cells, columns[2:], partial(box_rows.fault, path, "", line))
        confidence = values.pop(0) if sure else 1.0
        gathered.add(images(image, path, line), classes(wnid, path, line), confidence, values, line)
    return gathered.rows(path, inclusive=inclusive)


def _list_images(path: Path, images: Images) -> None:
    """The images of a list, with their sizes or with the kit's numbers."""
    if layout_of(path) == KIT:
        kit_boxes.read_list(path, images)
    else:
        for line, (name, width, height) in csv_rows(
            path, ("image", "width", "height"), ("width", "height")
        ):
            place = images.add(name, path, line)
            if (width or height) and not images.resize(place, width, height):
                said = f"the size is {width[:20]!r} by {height[:20]!r}"
                raise BadInput(said, path, line, "give width and height in pixels")
    if not images.places:
        raise BadInput("there are no images", path, None, "list an image a line")
    images.listed = path


def _excluded(truth: Truth, options: Options) -> Iterator[tuple[int | None, int]]:
    """Images, None where it is unknown, and classes, −1 where none is named."""
    path = options.exclude
    assert path is not None
    if layout_of(path) == KIT:
        truth.images.number()
        class_of = partial(_class_of_id, truth)
        yield from kit_boxes.read_excluded(path, truth.images, class_of)
        return
    for line, (image, wnid) in csv_rows(path, ("image", "wnid"), ("wnid",)):
        yield truth.images.places.get(image), truth.classes(wnid, path, line) if wnid else -1


def _class_of_id(truth: Truth, value: int, path: Path, line: int) -> int:
    number = truth.class_of_id.get(value)
    if number is None:
        cure = "name the kit's meta.mat, or a list of wnids by id, with --devkit"
        raise BadInput(f"the id {value} has no class", path, line, cure)
    return number


def _wordnet() -> nouns.WordNet:
    try:
        return nouns.load()
    except nouns.WordNetMissing as error:
        raise BadInput(error.message, cure=error.cure) from error
