"""Read true and predicted boxes. No Django.

Truths are read by the readers of labels (labeling/formats): CSV, JSON Lines, COCO JSON, Label
Studio JSON, or a folder of PASCAL VOC's XML files, as ILSVRC's kit has them. Predictions are CSV,
COCO's list of results, or ILSVRC's texts. The first line of a file tells its format.
"""

import json
from array import array
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.metrics.detection.precision import ClassBoxes
from evaluation.readers import box_rows, class_files, coco_results, kit_boxes
from evaluation.readers.box_rows import (
    EDGES,
    BoxRows,
    Classes,
    Gathered,
    ImageNumbers,
    ListedClasses,
    NamedClasses,
)
from labeling.csv_rows import rows as csv_rows
from labeling.files import BadInput, require_file
from labeling.formats import coco, coco_rows, label_studio, lines, table, voc
from labeling.formats.label import Label
from labeling.formats.reading import LabelReading, Skipped, add_skipped, skipped_sentence
from labeling.parts.model import Photograph
from labeling.plurals import count_of

COLUMNS = ("image", "wnid", "confidence", *EDGES)


class Layout(StrEnum):
    """The format of a file of boxes."""

    CSV = "CSV"
    JSONL = "JSON Lines"
    COCO = "COCO JSON"
    LIST = "a JSON list"
    KIT = "ILSVRC's texts"
    FOLDER = "XML"


READERS = {
    Layout.CSV: table.read,
    Layout.JSONL: lines.read,
    Layout.LIST: label_studio.read,
    Layout.FOLDER: voc.read,
}
# The unit that a position in a truth counts, by format; lines in the other formats.
UNITS = {Layout.COCO: "annotation", Layout.LIST: "region", Layout.FOLDER: "object"}


@dataclass(frozen=True)
class BoxReading:
    """Options for reading and scoring boxes.

    repair: in a truth, cut outlines that cross themselves and shapes that leave their image.
    inclusive: x1 and y1 of CSV rows are the last pixels of their box. images: a file that lists all
    images, as `image[,width,height]` rows or the kit's names and numbers. exclude: `image,wnid`
    rows, or the kit's list. devkit: meaning of the kit's ids, its meta.mat or a list of wnids.
    strict: localization needs an IoU above 0.5. part: the only images that count. ious: thresholds
    of detection, empty for ILSVRC's thr(B). most_rounds: maximum number of bootstrap rounds; 0 for
    no intervals.
    """

    repair: bool = False
    inclusive: bool = False
    images: Path | None = None
    exclude: Path | None = None
    devkit: Path | None = None
    strict: bool = False
    part: frozenset[str] | None = None
    ious: tuple[float, ...] = ()
    confidence: float = 0.999
    seed: int = 0
    most_rounds: int = 2_560_000


@dataclass(frozen=True)
class BoxTruth:
    """The true boxes of the images.

    objects: every object with a box of its own. difficult: (N,) whether PASCAL VOC marks it as
    difficult. crowds: boxes around groups of objects. unknown: (E, 2) pairs of image and class for
    which an object has no box or presence is unknown. class_of_id: class number of each id that
    predictions may use. notes: on rows that the reader left out.
    """

    path: Path
    images: ImageNumbers
    classes: Classes
    objects: BoxRows
    difficult: NDArray[np.bool_]
    crowds: ClassBoxes
    unknown: NDArray[np.int64]
    class_of_id: dict[Any, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def read_truth(path: Path, options: BoxReading) -> BoxTruth:
    """Return the true boxes of a file or folder. Raises BadInput with the position of the error."""
    layout = layout_of(path)
    if layout == Layout.KIT:
        cure = "give image,wnid,x0,y0,x1,y1 rows, COCO JSON, or the folder of the kit's XML files"
        raise BadInput("is not a list of true boxes", path, None, cure)
    if layout == Layout.COCO and options.devkit is not None:
        cure = "leave --devkit out"
        raise BadInput("is not needed: a COCO file has ids of its own", options.devkit, None, cure)
    images = ImageNumbers()
    if options.images is not None:
        _list_images(options.images, images)
    truth = _read_truth(path, layout, images, options)
    if not len(truth.objects):
        raise BadInput("there are no true boxes", path, None, "add the boxes of the objects")
    box_rows.check(truth.objects, truth.images, box_rows.MAX_OBJECTS)
    return truth


def _read_truth(path: Path, layout: Layout, images: ImageNumbers, options: BoxReading) -> BoxTruth:
    skipped: list[Skipped] = []
    mended: list[str] = []
    reading = LabelReading(
        path,
        repair=options.repair,
        tell=mended.append,
        skip=partial(add_skipped, skipped),
        inclusive=options.inclusive,
    )
    classes, class_of_id = _classes(path, layout, options)
    builder = _Builder(path, layout, images, classes)
    images.loose = layout == Layout.FOLDER and images.listed is not None
    with ExitStack() as stack:
        if layout == Layout.COCO:
            file = stack.enter_context(coco_rows.opened(reading))
            coco.check_names(file)
            keys = [category.key for category in file.categories.values()]
            builder.classes = ListedClasses(keys, path)
            class_of_id = {id_: number for number, id_ in enumerate(file.categories)}
            for id_ in file.images:
                builder.add(*coco.page(file, id_))
                images.by_id[id_] = images.places[file.images[id_].name]
        else:
            for photo, labels in READERS[layout](reading):
                builder.add(photo, labels)
    if layout in {Layout.COCO, Layout.FOLDER}:
        # These formats list every image, including images without objects.
        images.listed = images.listed or path
    images.loose = layout == Layout.FOLDER
    truth = builder.truth(class_of_id)
    notes = [*map(skipped_sentence, skipped), *mended]
    return replace(truth, notes=tuple(notes))


def _classes(path: Path, layout: Layout, options: BoxReading) -> tuple[Classes, dict[Any, int]]:
    """Return the classes that a truth may name, and the class number of each id of the kit."""
    classes: Classes = (
        class_files.Labels(class_files.load_wordnet()) if layout == Layout.CSV else NamedClasses()
    )
    if options.devkit is None or layout == Layout.COCO:
        return classes, {}
    meaning = class_files.read_ids(options.devkit)
    if layout != Layout.CSV:
        classes = ListedClasses(
            list(dict.fromkeys(wnid for wnid, _ in meaning.values())), options.devkit
        )
    return classes, {
        id_: classes(wnid, options.devkit, line) for id_, (wnid, line) in meaning.items()
    }


class _Builder:
    """Builds a BoxTruth, image by image."""

    def __init__(self, path: Path, layout: Layout, images: ImageNumbers, classes: Classes) -> None:
        self.path, self.unit, self.images, self.classes = (
            path,
            UNITS.get(layout, ""),
            images,
            classes,
        )
        self.is_folder = layout == Layout.FOLDER and path.is_dir()
        self.objects, self.crowds = Gathered(), Gathered()
        self.difficult = array("b")
        self.unknown: set[tuple[int, int]] = set()
        self.files: list[Path] = []

    def add(self, photo: Photograph, labels: list[Label]) -> None:
        first = next((instance.number for label in labels for instance in label.instances), None)
        image_number = self.images(photo.name, self.path, None if self.unit else first)
        if photo.width:
            self.images.resize(image_number, photo.width, photo.height)
        for label in labels:
            if label.value != "no":
                self._add(image_number, label)

    def _add(self, image: int, label: Label) -> None:
        file = self.path / label.entry if self.is_folder else self.path
        class_ = self._class(label, file)
        if label.value == "unknown" or not label.instances:
            self.unknown.add((image, class_))
        for instance in label.instances:
            flags = instance.flags or ()
            if "group" in flags:
                self.crowds.add(image, class_, 1.0, instance.box, instance.number)
                continue
            self.objects.add(image, class_, 1.0, instance.box, instance.number)
            self.difficult.append("difficult" in flags)
            self.files.append(file)

    def _class(self, label: Label, file: Path) -> int:
        try:
            return self.classes(label.key, file, None)
        except BadInput as bad:
            if not label.instances:
                raise
            position = label.instances[0].number
            raise box_rows.fault(file, self.unit, position, bad.message, bad.cure or "") from None

    def truth(self, class_of_id: dict[Any, int]) -> BoxTruth:
        objects = self.objects.rows(self.path, self.unit)
        if self.is_folder:
            objects = replace(objects, files=self.files)
        return BoxTruth(
            self.path,
            self.images,
            self.classes,
            objects,
            np.array(self.difficult, np.bool_),
            self.crowds.rows(self.path, self.unit).boxes,
            np.array(sorted(self.unknown), np.int64).reshape(-1, 2),
            class_of_id,
        )


def read_found(path: Path, truth: BoxTruth, options: BoxReading, ranked: bool = False) -> BoxRows:
    """Return the predicted boxes of a file, in its order, checked.

    Images that are not in the truth get numbers after those of the truth, unless the truth lists
    all images. ranked: the kit's text has one line per image with up to five boxes, best first,
    which get the confidences 5 to 1. Raises BadInput with the position of the error, or if no image
    of the predictions is in the truth.
    """
    layout = layout_of(path)
    if layout == Layout.FOLDER:
        raise BadInput("is a folder", path, None, "give a file of predictions")
    known = len(truth.images.places)
    if layout == Layout.CSV:
        predictions = _csv_rows(path, truth.images, truth.classes, options.inclusive)
    elif layout in {Layout.LIST, Layout.COCO}:
        predictions = coco_results.read(path, truth.images, truth.classes, truth.class_of_id)
    else:
        truth.images.number()
        class_of = partial(_class_of_id, truth)
        read = kit_boxes.read_ranked if ranked else kit_boxes.read_detections
        predictions = read(path, truth.images, class_of)
    if not len(predictions):
        raise BadInput("there are no predictions", path, None, "add rows")
    if predictions.boxes.images.min() >= known:
        names = list(truth.images.places)
        theirs, ours = names[int(predictions.boxes.images[0])], names[0]
        fault = (
            f"no image of the predictions, such as {theirs!r}, is in the truth, such as {ours!r}"
        )
        cure = "call images as the truth does, with folder and extension"
        raise BadInput(fault, path, None, cure)
    box_rows.check(predictions, truth.images, box_rows.MAX_DETECTIONS)
    return predictions


def on_part(
    truth: BoxTruth, predictions: Mapping[str, BoxRows], options: BoxReading
) -> tuple[BoxTruth, dict[str, BoxRows]]:
    """Return the truth and its submissions, by name, on the images of options.part alone.

    Images of the predictions that are not in the part are left out, whether the truth has them or
    not. Raises BadInput if no image is left.
    """
    if options.part is None:
        return truth, dict(predictions)
    kept = np.array([name in options.part for name in truth.images.places], np.bool_)
    numbers = np.where(kept, np.cumsum(kept) - 1, -1)
    images = truth.images.renumbered(numbers.tolist())
    class_files.refuse_no_image(images.places, truth.path)
    objects = truth.objects.renumbered(numbers)
    crowds = truth.crowds.of(kept[truth.crowds.images])
    unknown = truth.unknown[kept[truth.unknown[:, 0]]]
    unknown[:, 0] = numbers[unknown[:, 0]]
    whole = replace(
        truth,
        images=images,
        objects=objects,
        difficult=truth.difficult[kept[truth.objects.boxes.images]],
        crowds=replace(crowds, images=numbers[crowds.images]),
        unknown=unknown,
    )
    return whole, {name: rows.renumbered(numbers) for name, rows in predictions.items()}


def read_excluded(truth: BoxTruth, options: BoxReading) -> tuple[NDArray[np.int64], int]:
    """Return the (E, 2) pairs of image and class that do not count, and the number of rows with an
    unknown image.

    Class −1 excludes the whole image. Pairs that the truth leaves unknown are included.
    """
    pairs = list(map(tuple, truth.unknown.tolist()))
    missing = 0
    for image, class_ in _excluded(truth, options) if options.exclude else ():
        missing += image is None
        if image is not None:
            pairs.append((image, class_))
    return np.array(sorted(set(pairs)), np.int64).reshape(-1, 2), missing


def notes_of(truth: BoxTruth, missing: int) -> Iterator[str]:
    """Yield the notes on a truth, for its results. missing: the count that read_excluded()
    returned.
    """
    yield from truth.notes
    if len(truth.unknown):
        pairs = count_of(len(truth.unknown), "image and class", "pairs of image and class")
        yield f"{pairs} left out: not every object has a box, or nobody knows whether there is one"
    if missing:
        yield f"{missing} excluded rows name images that are not there"


def layout_of(path: Path) -> Layout:
    """Return the format of a file or folder. Raises BadInput if there is no file."""
    if path.is_dir() or path.suffix.lower() == ".xml":
        return Layout.FOLDER
    require_file(path, "check the path")
    with open(path, "rb") as file:
        start = file.read(1 << 16).removeprefix(b"\xef\xbb\xbf")
    first = start.split(b"\n", 1)[0]
    mark = start.lstrip()[:1]
    if mark == b"{":
        return (
            Layout.JSONL
            if path.suffix.lower() in {".jsonl", ".ndjson"} or _is_label(first)
            else Layout.COCO
        )
    if mark == b"[":
        return Layout.LIST
    is_csv = any(mark in first for mark in (b",", b";", b"image\t"))
    return Layout.CSV if is_csv or not start or first.strip() == b"image" else Layout.KIT


def _is_label(line: bytes) -> bool:
    try:
        return {"image", "class"} <= set(json.loads(line))
    except (ValueError, RecursionError, TypeError):
        return False


def _csv_rows(path: Path, images: ImageNumbers, classes: Classes, inclusive: bool) -> BoxRows:
    gathered = Gathered()
    for line, (image, wnid, *cells) in csv_rows(path, COLUMNS):
        confidence, *values = box_rows.numbers(
            cells, COLUMNS[2:], partial(box_rows.fault, path, "", line)
        )
        gathered.add(images(image, path, line), classes(wnid, path, line), confidence, values, line)
    return gathered.rows(path, inclusive=inclusive)


def _list_images(path: Path, images: ImageNumbers) -> None:
    """Add the images of a list to `images`, with their sizes or with the kit's numbers."""
    if layout_of(path) == Layout.KIT:
        kit_boxes.read_list(path, images)
    else:
        for line, (name, width, height) in csv_rows(
            path, ("image", "width", "height"), ("width", "height")
        ):
            image_number = images.add(name, path, line)
            if (width or height) and not images.resize(image_number, width, height):
                problem = f"the size is {width[:20]!r} by {height[:20]!r}"
                raise BadInput(problem, path, line, "give width and height in pixels")
    if not images.places:
        raise BadInput("there are no images", path, None, "list an image a line")
    images.listed = path


def _excluded(truth: BoxTruth, options: BoxReading) -> Iterator[tuple[int | None, int]]:
    """Yield the image (None if unknown) and the class (−1 for all) of each row."""
    path = options.exclude
    assert path is not None
    if layout_of(path) == Layout.KIT:
        truth.images.number()
        class_of = partial(_class_of_id, truth)
        yield from kit_boxes.read_excluded(path, truth.images, class_of)
        return
    for line, (image, wnid) in csv_rows(path, ("image", "wnid"), ("wnid",)):
        yield truth.images.find(image), truth.classes(wnid, path, line) if wnid else -1


def _class_of_id(truth: BoxTruth, value: int, path: Path, line: int) -> int:
    number = truth.class_of_id.get(value)
    if number is None:
        cure = "name the kit's meta.mat, or a list of wnids by id, with --devkit"
        raise BadInput(f"the id {value} has no class", path, line, cure)
    return number
