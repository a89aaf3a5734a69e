"""COCO JSON: true boxes with their images and categories, and the list of results. No Django.

A bbox is [x, y, width, height]. An image is named by its file_name, a class by its category's
`wnid` where there is one, else by its name. A crowd region (iscrowd) stands for objects that nobody
drew one by one: it takes its image and class out, as ILSVRC takes such images out.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.readers.box_rows import Classes, Gathered, Images, Rows, fault, numbers
from labeling.files import BadInput
from labeling.formats.json_stream import elements, members

LISTS = ("images", "annotations", "categories")
SINGULAR = {"images": "image", "annotations": "annotation", "categories": "category"}
SIDES = ("x", "y", "width", "height")
Ids = dict[Any, int]


@dataclass(frozen=True)
class CocoTruth:
    """objects without crowds; crowds: (E, 2) images and classes. class_of_id: by category_id."""

    classes: list[str]
    class_of_id: Ids
    objects: Rows
    crowds: NDArray[np.int64]


def read_truth(path: Path, images: Images) -> CocoTruth:
    """The boxes of a COCO file; its images are added with their sizes, and there are no others.

    Where images were listed before, these are all of them. Raises BadInput naming the annotation,
    the image or the category.
    """
    lists = _lists(path)
    class_of_id, classes = _categories(lists["categories"], path)
    _images(lists["images"], images, path)
    gathered, crowds = Gathered(), set()
    for place, (image_id, category_id, bbox, crowd) in enumerate(lists["annotations"], 1):
        what = SINGULAR["annotations"]
        image = _known(images.by_id, image_id, "image_id", (path, what, place))
        class_ = _known(class_of_id, category_id, "category_id", (path, what, place))
        if crowd:
            crowds.add((image, class_))
        else:
            gathered.add(image, class_, 1.0, _corners(bbox, path, what, place), place)
    return CocoTruth(
        classes,
        class_of_id,
        gathered.rows(path, what),
        np.array(sorted(crowds), np.int64).reshape(-1, 2),
    )


def read_results(path: Path, images: Images, classes: Classes, class_of_id: Ids) -> Rows:
    """The list of results. image_id and category_id are ids of the truth where that is COCO too;
    a text is the name of an image or of a class. Raises BadInput naming the result."""
    gathered, what = Gathered(), "result"
    for place, row in enumerate(elements(path), 1):
        at = (path, what, place)
        if not isinstance(row, dict):
            raise fault(*at, "is no object", 'write {"image_id", "category_id", "bbox", "score"}')
        image = _named(row.get("image_id"), images, images.by_id, "image_id", at)
        class_ = _named(row.get("category_id"), classes, class_of_id, "category_id", at)
        [score] = numbers([row.get("score")], ["score"], partial(fault, *at))
        gathered.add(image, class_, score, _corners(row.get("bbox"), *at), place)
    return gathered.rows(path, what)


def _lists(path: Path) -> dict[str, list[Any]]:
    """Of every list what is needed of its elements, read one by one."""
    lists: dict[str, list[Any]] = {}
    take = {
        "images": lambda row: [row.get(key) for key in ("id", "file_name", "width", "height")],
        "categories": lambda row: [row.get(key) for key in ("id", "wnid", "name")],
        "annotations": lambda row: [
            row.get(key) for key in ("image_id", "category_id", "bbox", "iscrowd")
        ],
    }
    for key, text, value in members(path):
        if key not in LISTS:
            continue
        if not text:
            lists[key] = []
            continue
        place = len(lists.get(key, ())) + 1
        if key not in lists or not isinstance(value, dict):
            raise fault(path, SINGULAR[key], place, "is no object", f"list {key} as objects")
        lists[key].append(take[key](value))
    missing = [key for key in LISTS if key not in lists]
    if missing:
        cure = "it needs images, annotations and categories"
        raise BadInput(f"has no {missing[0]}", path, None, cure)
    return lists


def _categories(rows: Sequence[Any], path: Path) -> tuple[Ids, list[str]]:
    found: Ids = {}
    classes: dict[str, int] = {}
    for place, (id_, wnid, name) in enumerate(rows, 1):
        at = (path, SINGULAR["categories"], place)
        label = wnid or name
        if not isinstance(label, str):
            raise fault(*at, "has no name", "give it a name, or a wnid")
        if label in classes:
            raise fault(*at, f"{label[:80]!r} comes again", "give each class one category")
        _number(found, id_, len(classes), at)
        classes[label] = len(classes)
    return found, list(classes)


def _images(rows: Sequence[Any], images: Images, path: Path) -> None:
    listed = images.listed is not None
    for place, (id_, name, width, height) in enumerate(rows, 1):
        at = (path, SINGULAR["images"], place)
        if not isinstance(name, str) or not name:
            raise fault(*at, "has no file_name", "give it one")
        if listed and name not in images.places:
            raise fault(*at, f"{name[:200]!r} is not in {images.listed}", "add it, or remove it")
        if not listed and name in images.places:
            raise fault(*at, f"{name[:200]!r} comes again", "keep one of them")
        number = images(name, path, None)
        _number(images.by_id, id_, number, at)
        if (width, height) != (None, None) and not images.resize(number, width, height):
            said = f"its size is {str(width)[:80]} by {str(height)[:80]}"
            raise fault(*at, said, "give pixels")
    if not images.places:
        raise BadInput("has no images", path, None, "list the images")
    images.listed = images.listed or path


def _number(ids: Ids, id_: Any, number: int, at: tuple[Path, str, int]) -> None:
    if not isinstance(id_, int | str) or isinstance(id_, bool):
        raise fault(*at, f"its id is {str(id_)[:80]!r}", "give a whole number")
    if id_ in ids:
        raise fault(*at, f"the id {id_!r} comes again", "number them again")
    ids[id_] = number


def _known(ids: Ids, id_: Any, name: str, at: tuple[Path, str, int]) -> int:
    number = ids.get(id_) if isinstance(id_, int | str) else None
    if number is None:
        raise fault(*at, f"unknown {name} {str(id_)[:80]!r}", "give an id that the truth has")
    return number


def _named(id_: Any, named: Any, ids: Ids, name: str, at: tuple[Path, str, int]) -> int:
    """The number of an id, or of a name, of an image or a class."""
    if isinstance(id_, str) and id_ not in ids:
        try:
            return int(named(id_, at[0], at[2]))
        except BadInput as bad:
            raise fault(*at, bad.message, bad.cure or "") from None
    return _known(ids, id_, name, at)


def _corners(bbox: Any, path: Path, what: str, place: int) -> list[float]:
    fail = partial(fault, path, what, place)
    if not isinstance(bbox, list) or len(bbox) != len(SIDES):
        raise fail(f"bbox is {str(bbox)[:80]}", "write it as [x, y, width, height]")
    x, y, width, height = numbers(bbox, SIDES, fail)
    return [x, y, x + width, y + height]
