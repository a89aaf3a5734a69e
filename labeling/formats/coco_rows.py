"""Reads and checks images, categories and annotations of a COCO file without loading it whole."""

import json
import math
from array import array
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from tempfile import TemporaryFile
from typing import IO, Any, NamedTuple

from labeling.formats.coco_masks import counts_in, mask_in
from labeling.formats.json_stream import members
from labeling.formats.label import FLAGS, Instance
from labeling.formats.reading import LabelReading, Size, is_number
from labeling.geometry.polygons import Polygons
from labeling.geometry.regions import polygons_of
from labeling.parts.model import Box

# COCO's own groups of objects, less `person`, which is an object too.
GROUPS = {
    "vehicle",
    "outdoor",
    "animal",
    "accessory",
    "sports",
    "kitchen",
    "food",
    "furniture",
    "electronic",
    "appliance",
    "indoor",
    "object",
    "thing",
    "stuff",
    "none",
    "",
}
LISTS = ("images", "annotations", "categories")
Id = str | float


class CocoCategory(NamedTuple):
    """A category. key: the class or part. whole: the class of a part, "" for an object."""

    key: str
    name: str
    whole: str


class ImageRow(NamedTuple):
    """An image. size: None if not stated. labels: (offset, length) of our exports' labels."""

    name: str
    size: Size | None
    labels: "tuple[int, int] | None"


class AnnotationRow(NamedTuple):
    """An annotation. number: in the file, from 1. size: of its image, if known."""

    number: int
    raw: dict[str, object]
    category: CocoCategory
    size: Size | None
    reading: LabelReading

    @property
    def entry(self) -> str:
        return f"annotation {self.number}"

    @property
    def is_crowd(self) -> bool:
        return bool(self.raw.get("iscrowd"))

    @property
    def box(self) -> Box | None:
        """Return the corners of its bbox, which may be empty; None without one. Raises BadInput."""
        bbox = self.raw.get("bbox")
        if bbox is None or bbox == []:
            return None
        if isinstance(bbox, list) and len(bbox) == 4 and all(map(is_number, bbox)):
            x, y, width, height = map(float, bbox)
            corners = (x, y, x + width, y + height)
            if all(map(math.isfinite, corners)) and min(width, height) >= 0:
                return corners
        raise self.reading.bad(
            f"{self.entry}: bbox is {str(bbox)[:80]}",
            "write it as [x, y, width, height] in pixels, width and height not negative",
        )

    @property
    def polygons(self) -> Polygons:
        """Return its outline, () without one. Raises BadInput."""
        name = f"{self.entry[0].upper()}{self.entry[1:]}"
        if "polygons" in self.raw:
            made = self.raw.get("origin") == "made"
            return self.reading.polygons(self.raw["polygons"] or [], self.size, name, made)
        value = self.raw.get("segmentation")
        if isinstance(value, dict):
            return self._from_rle(value)
        rings = [ring for ring in value if ring != []] if isinstance(value, list) else value
        if not rings:
            return ()
        if not isinstance(rings, list) or not all(map(_is_ring, rings)):
            raise self.reading.bad(
                f"{self.entry}: its segmentation is neither rings nor RLE",
                "write [[x, y, x, y, …], …] or {size, counts}, or leave it out: the bbox is enough",
            )
        pieces = [[list(zip(ring[::2], ring[1::2], strict=True))] for ring in rings]
        return self.reading.polygons(pieces, self.size, name)

    def _from_rle(self, value: dict[str, object]) -> Polygons:
        size, sides = self.size, value.get("size")
        if size is None and isinstance(sides, list) and len(sides) == 2:
            size = self.reading.size(sides[1], sides[0], f"the mask of {self.entry}")
        if size is None or sides != [size[1], size[0]]:
            expected = f" {size[0]} × {size[1]}" if size else ""
            raise self.reading.bad(
                f"{self.entry} has a mask of another size than its image's{expected}",
                "write size as [height, width]",
            )
        counts = counts_in(value.get("counts"), size)
        if counts is None:
            raise self.reading.bad(
                f"{self.entry} has run lengths that do not add up to {size[0]} × {size[1]} pixels",
                "export it again",
            )
        mask, origin = mask_in(counts, size)
        return polygons_of(mask, origin)

    @property
    def flags(self) -> tuple[str, ...] | None:
        """Return its flags, as named by COCO, PASCAL VOC or CVAT's `attributes`."""
        attributes = self.raw.get("attributes")
        stated = {**attributes, **self.raw} if isinstance(attributes, dict) else self.raw
        flags = {flag: bool(stated.get(flag)) for flag in FLAGS if flag in stated}
        if self.is_crowd:
            flags["group"] = True
        return tuple(flag for flag in FLAGS if flags.get(flag)) if flags else None

    def instance(self) -> Instance | None:
        """Return the annotation as an instance; None if it is empty. Raises BadInput."""
        box, polygons = self.box, self.polygons
        if box is None and not polygons and not self.raw.get("segmentation"):
            raise self.reading.bad(
                f"{self.entry} has neither a bbox nor a segmentation",
                "write bbox as [x, y, width, height]",
            )
        if box is not None and not (box[0] < box[2] and box[1] < box[3]):
            box = None
        if box is None and not polygons:
            self.reading.skip("annotation", "it has no area", self.entry)
            return None
        return self.reading.instance(box, polygons, self.flags, self.size, self.entry, self.number)


def _places() -> "array[int]":
    return array("q")


@dataclass
class CocoFile:
    """Images and categories by id, and the offsets of annotations in a copy of the file."""

    reading: LabelReading
    copy: IO[bytes]
    images: dict[Id, ImageRow] = field(default_factory=dict)
    categories: dict[Id, CocoCategory] = field(default_factory=dict)
    # Image → offset, length and number of each of its annotations, one after the other.
    places: "dict[Id, array[int]]" = field(default_factory=lambda: defaultdict(_places))
    ids: set[Id] = field(default_factory=set)
    names: set[str] = field(default_factory=set)

    def rows(self, image: Id) -> list[AnnotationRow]:
        """Return the annotations of an image; on_fault receives those without a category."""
        rows: list[AnnotationRow] = []
        places = self.places.pop(image, ())
        for at in range(0, len(places), 3):
            with self.reading.collecting_faults():
                rows.append(
                    self._row(self._kept(places[at], places[at + 1]), places[at + 2], image)
                )
        return rows

    def labels(self, image: Id) -> object:
        """Return the `labels` of an image in our own exports; None without."""
        position = self.images[image].labels
        return None if position is None else self._kept(*position)

    def _kept(self, offset: int, length: int) -> Any:
        self.copy.seek(offset)
        return json.loads(self.copy.read(length).decode("utf-8", "surrogatepass"))

    def keep(self, text: str) -> tuple[int, int]:
        """Append the text to the copy; return its offset and its length."""
        raw = text.encode("utf-8", "surrogatepass")
        offset = self.copy.tell()
        self.copy.write(raw)
        return offset, len(raw)

    def _row(self, raw: dict[str, object], number: int, image: Id) -> AnnotationRow:
        key = _id(raw.get("category_id"), f"annotation {number}'s category", self.reading)
        if key not in self.categories:
            raise self.reading.bad(
                f"annotation {number}: unknown category_id {key!r}",
                "add it to categories, or remove the annotation",
            )
        return AnnotationRow(
            number, raw, self.categories[key], self.images[image].size, self.reading
        )


@contextmanager
def opened(reading: LabelReading) -> Iterator[CocoFile]:
    """Open a COCO file. Raises BadInput, which names the faulty image, category or annotation.

    Annotations are copied to disk first, so memory holds the images and one image's annotations.
    """
    with TemporaryFile() as copy:
        yield _indexed(CocoFile(reading, copy))


def _indexed(file: CocoFile) -> CocoFile:
    reading = file.reading
    count = dict.fromkeys(LISTS, 0)
    lists = set()
    categories: list[tuple[Id, dict[str, object]]] = []
    for key, text, value in members(reading.file):
        if key not in LISTS:
            continue
        if not text:
            lists.add(key)
            continue
        count[key] += 1
        entry = f"{key.removesuffix('s').replace('ie', 'y')} {count[key]}"
        if key not in lists or not isinstance(value, dict):
            raise reading.bad(f"{entry} is not an object", f"write {key} as a list of objects")
        if key == "images":
            _add_image(file, value, entry)
        elif key == "categories":
            categories.append((_id(value.get("id"), entry, reading), value))
        else:
            _add_annotation(file, value, text, count[key])
    if not {"images", "categories"} <= lists:
        cure = "it needs images (id, file_name) and categories (id, name)"
        raise reading.bad("is not a COCO file", cure)
    _add_categories(file, categories)
    for image, places in file.places.items():
        if image not in file.images:
            raise reading.bad(
                f"annotation {places[2]}: unknown image_id {image!r}",
                "add it to images, or remove the annotation",
            )
    return file


def _id(value: object, entry: str, reading: LabelReading) -> Id:
    if isinstance(value, str) or (is_number(value) and value == value):
        return value
    raise reading.bad(f"{entry} has the id {str(value)[:80]}", "write a number or a text")


def _add_image(file: CocoFile, row: dict[str, object], entry: str) -> None:
    reading = file.reading
    key = _id(row.get("id"), entry, reading)
    if key in file.images:
        raise reading.bad(f"{entry}: the id {key!r} occurs twice", "number the images again")
    size = None
    if row.get("width") is not None or row.get("height") is not None:
        size = reading.size(row.get("width"), row.get("height"), entry)
    labels = file.keep(json.dumps(row["labels"])) if row.get("labels") else None
    name = reading.image(row.get("file_name"), entry)
    if name in file.names:
        raise reading.bad(f"{entry}: {name[:200]!r} occurs twice", "keep one of them")
    file.names.add(name)
    file.images[key] = ImageRow(name, size, labels)


def _add_annotation(file: CocoFile, row: dict[str, object], text: str, number: int) -> None:
    entry = f"annotation {number}"
    if "id" in row:
        key = _id(row["id"], entry, file.reading)
        if key in file.ids:
            raise file.reading.bad(
                f"{entry}: the id {key!r} occurs twice", "number the annotations again"
            )
        file.ids.add(key)
    image = _id(row.get("image_id"), f"{entry}'s image", file.reading)
    file.places[image].extend((*file.keep(text), number))


def _add_categories(file: CocoFile, rows: list[tuple[Id, dict[str, object]]]) -> None:
    reading = file.reading
    keys: dict[str, str] = {}
    for number, (key, row) in enumerate(rows, 1):
        entry = f"category {number}"
        if key in file.categories:
            raise reading.bad(f"{entry}: the id {key!r} occurs twice", "number them again")
        name = reading.name(row.get("name"), f"{entry}'s name", most=200)
        wnid = reading.name(row.get("wnid") or name, f"{entry}'s wnid")
        keys.setdefault(name, wnid)
        file.categories[key] = _category(row, name, wnid, entry, reading)
    for key, category in file.categories.items():
        # A supercategory is the name of a category; use its key.
        if category.whole:
            file.categories[key] = category._replace(whole=keys.get(category.whole, category.whole))


def _category(
    row: dict[str, object], name: str, wnid: str, entry: str, reading: LabelReading
) -> CocoCategory:
    if "part" in row:
        return CocoCategory(reading.name(row["part"], f"{entry}'s part"), name, wnid)
    above = row.get("supercategory") or ""
    if not isinstance(above, str):
        raise reading.bad(f"{entry}'s supercategory is not text", "write a name")
    if above.lower() in GROUPS or above == name or "wnid" in row:
        return CocoCategory(wnid, name, "")
    return CocoCategory(wnid, name, reading.name(above, f"{entry}'s supercategory"))


def _is_ring(value: object) -> bool:
    return isinstance(value, list) and len(value) % 2 == 0
