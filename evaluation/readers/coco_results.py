"""Read COCO's list of results: predicted boxes. No Django.

A bbox is [x, y, width, height]. image_id and category_id are the truth's ids where that is COCO
too, or names.
"""

from functools import partial
from pathlib import Path
from typing import Any

from evaluation.readers.box_rows import BoxRows, Classes, Gathered, ImageNumbers, fault, numbers
from labeling.files import BadInput
from labeling.formats.json_stream import elements

SIDES = ("x", "y", "width", "height")
Ids = dict[Any, int]


def read(path: Path, images: ImageNumbers, classes: Classes, class_of_id: Ids) -> BoxRows:
    """Return the predicted boxes. Raises BadInput naming the result."""
    gathered, unit = Gathered(), "result"
    for position, row in enumerate(elements(path), 1):
        at = (path, unit, position)
        if not isinstance(row, dict):
            raise fault(
                *at, "is not an object", 'write {"image_id", "category_id", "bbox", "score"}'
            )
        image = _named(row.get("image_id"), images, images.by_id, "image_id", at)
        class_ = _named(row.get("category_id"), classes, class_of_id, "category_id", at)
        [score] = numbers([row.get("score")], ["score"], partial(fault, *at))
        gathered.add(image, class_, score, _corners(row.get("bbox"), *at), position)
    return gathered.rows(path, unit)


def _known(ids: Ids, id_: Any, name: str, at: tuple[Path, str, int]) -> int:
    number = ids.get(id_) if isinstance(id_, int | str) else None
    if number is None:
        raise fault(*at, f"unknown {name} {str(id_)[:80]!r}", "give an id that the truth has")
    return number


def _named(id_: Any, lookup: Any, ids: Ids, name: str, at: tuple[Path, str, int]) -> int:
    """Return the index of an image or class, by its id or name."""
    if isinstance(id_, str) and id_ not in ids:
        try:
            return int(lookup(id_, at[0], at[2]))
        except BadInput as bad:
            raise fault(*at, bad.message, bad.cure or "") from None
    return _known(ids, id_, name, at)


def _corners(bbox: Any, path: Path, unit: str, position: int) -> list[float]:
    fail = partial(fault, path, unit, position)
    if not isinstance(bbox, list) or len(bbox) != len(SIDES):
        raise fail(f"bbox is {str(bbox)[:80]}", "write it as [x, y, width, height]")
    x, y, width, height = numbers(bbox, SIDES, fail)
    return [x, y, x + width, y + height]
