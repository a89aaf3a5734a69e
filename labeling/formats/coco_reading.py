"""COCO files of objects and parts, ours and those of others, read without holding them.

How parts find their object in files of others, the first that is there:

1. `part_of`, `parent_id` or `parent` of an annotation: the id of the object's annotation;
   `object_id`, where it is another annotation's.
2. A category whose `supercategory` names an object: the part lies in the object of that category
   whose box it fills most; without any, the parts of an image and supercategory are one object.
   COCO's own supercategories ("animal", "vehicle", …) name no objects.
3. Else every annotation is an object without parts.
"""

import json
from array import array
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from tempfile import TemporaryFile
from typing import IO, NamedTuple

from labeling.files import StrPath
from labeling.formats.coco_masks import counts_in, mask_in
from labeling.formats.json_stream import members
from labeling.formats.reading import OnFault, Reading, Tell, is_number, say_nothing, shared_area
from labeling.formats.sidecar import the_file
from labeling.geometry.polygons import Polygons
from labeling.geometry.regions import box_of, polygons_of
from labeling.parts.background import with_rest
from labeling.parts.model import Box, Part, PartedObject

FILE = "parts.json"
# COCO's own groups of objects, less `person`, which is an object too.
GROUPS = {
    *("vehicle", "outdoor", "animal", "accessory", "sports", "kitchen", "food", "furniture"),
    *("electronic", "appliance", "indoor", "object", "thing", "stuff", "none", ""),
}
LINKS = ("part_of", "parent_id", "parent")
LISTS = ("images", "annotations", "categories")
Id = str | float


class Category(NamedTuple):
    """key: of the class or the part. whole: of the class that it is a part of, "" for an object."""

    key: str
    name: str
    whole: str


class ImageRow(NamedTuple):
    name: str
    size: tuple[int, int]


@dataclass
class _Index:
    """What of a file is held while it is read: its images and categories, and where annotations
    lie in a copy of them."""

    images: dict[Id, ImageRow] = field(default_factory=dict)
    categories: dict[Id, Category] = field(default_factory=dict)
    # Of every image: the place, the length and the number of each of its annotations.
    places: "dict[Id, array[int]]" = field(default_factory=lambda: defaultdict(_places))
    ids: set[Id] = field(default_factory=set)


def _places() -> "array[int]":
    return array("q")


@dataclass
class _Row:
    """An annotation of the image at hand. number: in the file, from 1."""

    number: int
    raw: dict[str, object]
    category: Category
    what: str


def read(
    path: StrPath,
    *,
    repair: bool = False,
    tell: Tell = say_nothing,
    on_fault: OnFault | None = None,
) -> Iterator[PartedObject]:
    """The objects in a COCO file, or in the parts.json of a folder, image by image.

    Annotations are copied to disk first, so memory holds the images' names and one image's
    annotations. RLE becomes polygons along the edges of pixels. Crowds (iscrowd) are passed over.
    Raises BadInput naming the annotation; what repair mends and what is passed over is told. With
    on_fault, what is wrong with one object or annotation is told to it instead.
    """
    reading = Reading(the_file(path, FILE), repair, tell, on_fault)
    with TemporaryFile() as copy:
        index = _index(reading, copy)
        for key, image in index.images.items():
            yield from _Image(reading, image, _rows(index, key, copy, reading)).objects()


def _index(reading: Reading, copy: IO[bytes]) -> _Index:
    index = _Index()
    count = dict.fromkeys(LISTS, 0)
    listed = set()
    categories: list[tuple[Id, dict[str, object]]] = []
    for key, text, value in members(reading.file):
        if key not in LISTS:
            continue
        if not text:
            listed.add(key)
            continue
        count[key] += 1
        what = f"{key.removesuffix('s').replace('ie', 'y')} {count[key]}"
        if key not in listed or not isinstance(value, dict):
            raise reading.bad(f"{what} is no object", f"write {key} as a list of objects")
        if key == "images":
            _add_image(index, value, what, reading)
        elif key == "categories":
            categories.append((_id(value.get("id"), what, reading), value))
        else:
            _add_annotation(index, value, text, count[key], reading, copy)
    if not {"images", "categories"} <= listed:
        cure = "it needs images (id, file_name, width, height) and categories (id, name)"
        raise reading.bad("is no COCO file", cure)
    _add_categories(index, categories, reading)
    for image, places in index.places.items():
        if image not in index.images:
            raise reading.bad(
                f"annotation {places[2]} names the image {image!r}, which is not in the file",
                "add it to images, or take the annotation out",
            )
    return index


def _id(value: object, what: str, reading: Reading) -> Id:
    if isinstance(value, str) or (is_number(value) and value == value):
        return value
    raise reading.bad(f"{what} has no id", "write a number or a text")


def _add_image(index: _Index, row: dict[str, object], what: str, reading: Reading) -> None:
    key = _id(row.get("id"), what, reading)
    if key in index.images:
        raise reading.bad(f"{what} has the id {key!r} of one above", "number the images again")
    index.images[key] = ImageRow(
        reading.image(row.get("file_name"), what),
        reading.size(row.get("width"), row.get("height"), what),
    )


def _add_annotation(
    index: _Index, row: dict[str, object], text: str, number: int, reading: Reading, copy: IO[bytes]
) -> None:
    what = f"annotation {number}"
    if "id" in row:
        key = _id(row["id"], what, reading)
        if key in index.ids:
            raise reading.bad(
                f"{what} has the id {key!r} of one above", "number the annotations again"
            )
        index.ids.add(key)
    image = _id(row.get("image_id"), f"{what}'s image", reading)
    raw = text.encode("utf-8", "surrogatepass")
    index.places[image].extend((copy.tell(), len(raw), number))
    copy.write(raw)


def _add_categories(
    index: _Index, rows: list[tuple[Id, dict[str, object]]], reading: Reading
) -> None:
    keys: dict[str, str] = {}
    for number, (key, row) in enumerate(rows, 1):
        what = f"category {number}"
        if key in index.categories:
            raise reading.bad(f"{what} has the id {key!r} of one above", "number them again")
        name = reading.text(row.get("name"), f"{what}'s name", most=200)
        wnid = reading.text(row.get("wnid") or name, f"{what}'s wnid")
        keys.setdefault(name, wnid)
        index.categories[key] = _category(row, name, wnid, what, reading)
    for key, found in index.categories.items():
        # A supercategory is a name; objects go by their class.
        if found.whole:
            index.categories[key] = found._replace(whole=keys.get(found.whole, found.whole))


def _category(
    row: dict[str, object], name: str, wnid: str, what: str, reading: Reading
) -> Category:
    if "part" in row:
        return Category(reading.text(row["part"], f"{what}'s part"), name, wnid)
    above = row.get("supercategory") or ""
    if not isinstance(above, str):
        raise reading.bad(f"{what}'s supercategory is no text", "write a name")
    if above.lower() in GROUPS or above == name or "wnid" in row:
        return Category(wnid, name, "")
    return Category(wnid, name, reading.text(above, f"{what}'s supercategory"))


def _rows(index: _Index, image: Id, copy: IO[bytes], reading: Reading) -> list[_Row]:
    found: list[_Row] = []
    places = index.places.pop(image, ())
    for at in range(0, len(places), 3):
        copy.seek(places[at])
        raw = json.loads(copy.read(places[at + 1]).decode("utf-8", "surrogatepass"))
        what = f"annotation {places[at + 2]}"
        with reading.sparing():
            key = _id(raw.get("category_id"), f"{what}'s category", reading)
            if key not in index.categories:
                raise reading.bad(
                    f"{what} names the category {key!r}, which is not in the file",
                    "add it to categories, or take the annotation out",
                )
            found.append(_Row(places[at + 2], raw, index.categories[key], what))
    return found


@dataclass
class _Found:
    """An object and its parts' annotations; row is None where only its parts tell of it."""

    category: str
    row: _Row | None
    parts: list[_Row] = field(default_factory=list)


class _Image:
    """The objects of one image, out of its annotations."""

    def __init__(self, reading: Reading, image: ImageRow, rows: list[_Row]) -> None:
        self.reading = reading
        self.name, self.size = image
        self.rows = rows
        self.by_id = {row.raw["id"]: row for row in rows if "id" in row.raw}

    def objects(self) -> Iterator[PartedObject]:
        for found in self._found().values():
            made = None
            with self.reading.sparing():
                made = self._made(found)
            if made is not None:
                yield made

    def _found(self) -> dict[str | int, _Found]:
        """The objects by the number of their annotation, in its order; the others by category."""
        found: dict[str | int, _Found] = {}
        parts = []
        for row in self.rows:
            with self.reading.sparing():
                root = self._root(row)
                if root.raw.get("iscrowd"):
                    self.reading.tell(f"{row.what} is a crowd and was passed over.")
                elif root is row and not row.category.whole:
                    found[row.number] = _Found(row.category.key, row)
                else:
                    parts.append((row, root))
        for row, root in parts:
            with self.reading.sparing():
                whole = found.get(root.number) or self._of_its_kind(row, found)
                whole.parts.append(row)
        return found

    def _root(self, row: _Row) -> _Row:
        """The annotation of the object that this one is a part of; itself where it is none."""
        seen = {row.number}
        while (link := self._link(row)) is not None:
            above = self.by_id.get(link) if isinstance(link, str | int | float) else None
            if above is None:
                raise self.reading.bad(
                    f"{row.what} is part of annotation {link!r}, which is not in its image",
                    "name the id of the object's annotation",
                )
            if above.number in seen:
                raise self.reading.bad(f"{row.what} is part of itself", "name its object")
            seen.add(above.number)
            row = above
        return row

    def _link(self, row: _Row) -> object:
        for name in LINKS:
            if row.raw.get(name) is not None:
                return row.raw[name]
        link = row.raw.get("object_id")
        return None if link == row.raw.get("id") else link

    def _of_its_kind(self, row: _Row, found: dict[str | int, _Found]) -> _Found:
        """The object of the part's supercategory that holds most of it, or a made one."""
        whole = row.category.whole or row.category.key
        kind = [one for one in found.values() if one.category == whole]
        if not kind:
            return found.setdefault(whole, _Found(whole, None))
        if len(kind) == 1:
            return kind[0]
        box = self._box(row)
        shared = [shared_area(box, self._box(one.row)) if one.row else 0.0 for one in kind]
        if max(shared) == 0:
            raise self.reading.bad(
                f"{row.what} lies in no {whole!r} of its image", "say part_of with an id"
            )
        return kind[shared.index(max(shared))]

    def _box(self, row: _Row) -> Box:
        if "bbox" in row.raw:
            return self.reading.box(_corners(row.raw["bbox"]), row.what)
        return box_of(self._polygons(row))

    def _made(self, found: _Found) -> PartedObject:
        if found.row is None:
            parts = self._parts(found)
            what = f"image {self.name!r}"
            return self.reading.parted({}, self.name, found.category, parts, None, self.size, what)
        raw, what = found.row.raw, found.row.what
        # Of ours, which alone tells of unseen parts.
        row = raw if "unseen" in raw else {}
        outline = self._polygons(found.row) if raw.get("polygons", True) else ()
        parts = self._with_unseen(self._parts(found), row.get("unseen", []), what)
        if not row and not outline and "bbox" in raw:
            row = {"box": _corners(raw["bbox"])}
        whole = self.reading.parted(
            row, self.name, found.category, parts, outline or None, self.size, what
        )
        return with_rest(whole) if any(map(_follows, found.parts)) else whole

    def _parts(self, found: _Found) -> list[Part]:
        rows = (row for row in found.parts if not _follows(row))
        return [part for row in rows if (part := self._part(row))]

    def _part(self, row: _Row) -> Part | None:
        polygons = self._polygons(row, row.raw.get("origin") == "made")
        if not polygons:
            self.reading.tell(f"{row.what} is empty and was passed over.")
            return None
        if "part" in row.raw:
            return self.reading.part(row.raw, polygons, self.size, row.what)
        return Part(row.category.key, polygons)

    def _polygons(self, row: _Row, made: bool = False) -> Polygons:
        what = f"{row.what[0].upper()}{row.what[1:]}"
        if "polygons" in row.raw:
            return self.reading.polygons(row.raw["polygons"], self.size, what, made)
        said = row.raw.get("segmentation")
        if isinstance(said, dict):
            return self._from_rle(said, row.what)
        if not said:
            return ()
        if not isinstance(said, list) or not all(map(_is_ring, said)):
            raise self.reading.bad(
                f"{row.what} has a segmentation that is neither rings nor RLE",
                "write [[x, y, x, y, …], …] or {size, counts}",
            )
        pieces = [[list(zip(ring[::2], ring[1::2], strict=True))] for ring in said]
        return self.reading.polygons(pieces, self.size, what)

    def _from_rle(self, said: dict[str, object], what: str) -> Polygons:
        width, height = self.size
        if said.get("size") != [height, width]:
            raise self.reading.bad(
                f"{what} has a mask of another size than its image's {width} × {height}",
                "write size as [height, width]",
            )
        counts = counts_in(said.get("counts"), self.size)
        if counts is None:
            raise self.reading.bad(
                f"{what} has run lengths that do not add up to {width} × {height} pixels",
                "export it again",
            )
        mask, origin = mask_in(counts, self.size)
        return polygons_of(mask, origin)

    def _with_unseen(self, parts: list[Part], unseen: object, what: str) -> list[Part]:
        """The parts with those that have no polygons back at their places."""
        found = list(parts)
        for row in unseen if isinstance(unseen, list) else [None]:
            at = row.get("at") if isinstance(row, dict) and "part" in row else None
            if not isinstance(row, dict) or type(at) is not int or at < 0:
                raise self.reading.bad(f"{what} has an odd list of unseen parts", "export it again")
            found.insert(min(at, len(found)), self.reading.part(row, (), self.size, what))
        return found


def _follows(row: _Row) -> bool:
    """Whether it is the rest of an object of ours, which follows from the other parts."""
    return row.raw.get("origin") == "made" and "polygons" not in row.raw


def _is_ring(value: object) -> bool:
    return isinstance(value, list) and len(value) % 2 == 0


def _corners(bbox: object) -> object:
    if not (isinstance(bbox, list) and len(bbox) == 4 and all(map(is_number, bbox))):
        return bbox
    x, y, width, height = bbox
    return [x, y, x + width, y + height]
