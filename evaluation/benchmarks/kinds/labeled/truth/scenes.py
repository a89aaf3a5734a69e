"""Reads each image of a frozen release with the boxes and classes for ground truth. No database.

"unknown" is never treated as "no". Images are read one by one, so memory use is constant.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import repeat

from labeling.formats import Label
from labeling.parts.model import PartedObject, Photograph
from labeling.release_files import exporting
from labeling.release_files.frozen import Frozen
from labeling.release_files.groups import Groups

Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class LabeledScene:
    """An image with its labels.

    boxes: class → boxes of its objects, for the classes in the image; x0 y0 x1 y1 in pixels, x1 and
    y1 exclusive, clipped to the image. The list is empty if the class has no box. undecided:
    classes of the release that are neither "yes" nor "no". objects: objects with settled parts, if
    the campaign asked for parts. unsettled: class → boxes of objects whose parts are not settled.
    partial: classes with an instance that may have no box of its own. unboxed: number of objects
    that were imported without a box.
    """

    photo: Photograph
    boxes: dict[str, list[Box]]
    undecided: frozenset[str]
    objects: list[PartedObject] = field(default_factory=list)
    unsettled: dict[str, list[Box]] = field(default_factory=dict)
    partial: frozenset[str] = frozenset()
    unboxed: int = 0


def has_parts(frozen: Frozen) -> bool:
    """Return whether the campaign asked for the parts of objects."""
    return "objects.jsonl" in frozen.meta["files"]


def scenes(frozen: Frozen, with_objects: bool = False) -> Iterator[LabeledScene]:
    """Yield every image of the release in the order of images.jsonl.

    with_objects: also read `objects`; their polygons take ten times as long to read.
    """
    all_classes = frozenset(exporting.classes_of(frozen))
    asks_parts = has_parts(frozen)
    objects: Iterable[list[PartedObject]] = repeat([])
    if asks_parts and with_objects:
        objects = (image_objects for _, image_objects in frozen.objects(rest=False))
    lines_by_image = Groups(frozen.answers() if asks_parts else ())
    # Not strict: `objects` never ends if no objects are read.
    for (photo, labels), image_objects in zip(exporting.pages(frozen), objects, strict=False):
        unsettled: dict[str, list[Box]] = {}
        boxes, undecided = _boxes_by_class(labels, all_classes, photo)
        partial, unboxed = set(_partially_boxed(labels)), 0
        for line in lines_by_image.of(photo.name):
            key, image_box = str(line["wnid"]), [0, 0, photo.width, photo.height]
            # Older releases lack `boxed`: an object without a box has the box of the whole image.
            is_boxed = line.get("boxed", list(line["box"] or ()) != image_box)
            if line["contains"] is None and line["box"] is not None:
                unsettled.setdefault(key, []).extend(inside([line["box"]], photo))
            elif line["contains"] and not is_boxed:
                partial.add(key)
                unboxed += 1
                # In older releases, the label contains that box too.
                if "boxed" not in line:
                    boxes[key].remove((0.0, 0.0, float(photo.width), float(photo.height)))
        yield LabeledScene(
            photo, boxes, undecided, image_objects, unsettled, frozenset(partial), unboxed
        )


def _boxes_by_class(
    labels: Sequence[Label], all_classes: frozenset[str], photo: Photograph
) -> tuple[dict[str, list[Box]], frozenset[str]]:
    """Return class → boxes for classes in the image, and the undecided classes."""
    boxes: dict[str, list[Box]] = {}
    absent = set()
    for label in labels:
        if label.value == "yes":
            boxes.setdefault(label.key, []).extend(
                inside([instance.box for instance in label.instances], photo)
            )
        elif label.value == "no":
            absent.add(label.key)
    return boxes, all_classes - boxes.keys() - absent


def _partially_boxed(labels: Sequence[Label]) -> frozenset[str]:
    """Return the classes with an instance that may have no box, or only the box of a group."""
    return frozenset(
        label.key
        for label in labels
        if label.is_covered is False
        or any("group" in (instance.flags or ()) for instance in label.instances)
    )


def inside(boxes: Sequence[Sequence[float]], photo: Photograph) -> list[Box]:
    """Return the boxes clipped to the image, without those outside it.

    >>> inside([(-2, 0, 4.5, 9), (9, 9, 12, 12)], Photograph("a.png", 8, 8))
    [(0.0, 0.0, 4.5, 8.0)]
    """
    clipped = [
        (max(0.0, x0), max(0.0, y0), min(float(photo.width), x1), min(float(photo.height), y1))
        for x0, y0, x1, y1 in boxes
    ]
    return [box for box in clipped if box[0] < box[2] and box[1] < box[3]]
