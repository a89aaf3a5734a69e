"""Reads COCO files of objects and parts, ours and those of others, without loading them whole.

In files of others, the object of a part is the first of:

1. `part_of`, `parent_id` or `parent` of its annotation: the id of the object's annotation;
   `object_id`, if it is another annotation's.
2. A category whose `supercategory` names an object: the part belongs to the object of that category
   whose box it fills most; without any, the parts of an image and supercategory are one object.
   COCO's own supercategories ("animal", "vehicle", …) name no objects.
3. Else every annotation is an object without parts.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from labeling.formats import coco_rows
from labeling.formats.coco_rows import AnnotationRow, ImageRow
from labeling.formats.reading import LabelReading, shared_area
from labeling.formats.sidecar import single_file
from labeling.geometry.regions import box_of
from labeling.parts.background import with_rest
from labeling.parts.model import Box, Part, PartedObject

FILE = "parts.json"
LINKS = ("part_of", "parent_id", "parent")


def read(reading: LabelReading) -> Iterator[PartedObject]:
    """Yield the objects in a COCO file, or in the parts.json of a folder, image by image.

    RLE becomes polygons along pixel edges. Crowds (iscrowd) and empty regions are skipped. Raises
    BadInput, which names the annotation.
    """
    with coco_rows.opened(reading.of(single_file(reading.file, FILE))) as file:
        for key, image in file.images.items():
            yield from _CocoImage(file.reading, image, file.rows(key)).objects()


@dataclass
class _ObjectRows:
    """An object and the annotations of its parts; row is None if only parts refer to it."""

    category: str
    row: AnnotationRow | None
    parts: list[AnnotationRow] = field(default_factory=list)


class _CocoImage:
    """The objects of one image's annotations."""

    def __init__(self, reading: LabelReading, image: ImageRow, rows: list[AnnotationRow]) -> None:
        self.reading = reading
        self.name, self.size = image.name, image.size
        self.rows = rows
        self.by_id = {row.raw["id"]: row for row in rows if "id" in row.raw}

    def objects(self) -> Iterator[PartedObject]:
        for annotated in self._found().values():
            made = None
            with self.reading.collecting_faults():
                made = self._made(annotated)
            if made is not None:
                yield made

    def _found(self) -> dict[str | int, _ObjectRows]:
        """Return the objects in order, by annotation number; those without one, by category."""
        objects: dict[str | int, _ObjectRows] = {}
        parts = []
        for row in self.rows:
            with self.reading.collecting_faults():
                root = self._root(row)
                if root.raw.get("iscrowd"):
                    self.reading.skip("annotation", "it is a crowd (iscrowd)", row.entry)
                elif root is row and not row.category.whole:
                    objects[row.number] = _ObjectRows(row.category.key, row)
                else:
                    parts.append((row, root))
        for row, root in parts:
            with self.reading.collecting_faults():
                whole = objects.get(root.number) or self._containing_object(row, objects)
                whole.parts.append(row)
        return objects

    def _root(self, row: AnnotationRow) -> AnnotationRow:
        """Return the annotation of a part's object; for an object, the same annotation."""
        seen = {row.number}
        while (link := self._link(row)) is not None:
            above = self.by_id.get(link) if isinstance(link, str | int | float) else None
            if above is None:
                raise self.reading.bad(
                    f"{row.entry} is part of annotation {link!r}, which is not in its image",
                    "name the id of the object's annotation",
                )
            if above.number in seen:
                raise self.reading.bad(f"{row.entry} is part of itself", "name its object")
            seen.add(above.number)
            row = above
        return row

    def _link(self, row: AnnotationRow) -> object:
        for name in LINKS:
            if row.raw.get(name) is not None:
                return row.raw[name]
        link = row.raw.get("object_id")
        return None if link == row.raw.get("id") else link

    def _containing_object(
        self, row: AnnotationRow, objects: dict[str | int, _ObjectRows]
    ) -> _ObjectRows:
        """Return the object of the part's supercategory that contains most of it, or a new one."""
        whole = row.category.whole or row.category.key
        kind = [candidates for candidates in objects.values() if candidates.category == whole]
        if not kind:
            return objects.setdefault(whole, _ObjectRows(whole, None))
        if len(kind) == 1:
            return kind[0]
        box = self._box(row)
        shared = [
            shared_area(box, self._box(candidate.row)) if candidate.row else 0.0
            for candidate in kind
        ]
        if max(shared) == 0:
            raise self.reading.bad(
                f"{row.entry} is not inside a {whole!r} of its image",
                "set part_of to the id of its object",
            )
        return kind[shared.index(max(shared))]

    def _box(self, row: AnnotationRow) -> Box:
        box = row.box
        return box_of(row.polygons) if box is None else box

    def _made(self, annotated: _ObjectRows) -> PartedObject | None:
        if annotated.row is None:
            parts = self._parts(annotated)
            entry = f"image {self.name!r}"
            return self.reading.parted(
                {}, self.name, annotated.category, parts, None, self.size, entry
            )
        raw, entry = annotated.row.raw, annotated.row.entry
        if "unseen" in raw:
            # Only our own exports state unseen parts.
            row, outline = raw, annotated.row.polygons
        else:
            shape = annotated.row.instance()
            if shape is None and not annotated.parts:
                return None
            outline = shape.polygons if shape else ()
            row = {"box": shape.box} if shape and not outline else {}
        parts = self._with_unseen(self._parts(annotated), row.get("unseen", []), entry)
        whole = self.reading.parted(
            row, self.name, annotated.category, parts, outline or None, self.size, entry
        )
        return with_rest(whole) if any(map(_follows, annotated.parts)) else whole

    def _parts(self, annotated: _ObjectRows) -> list[Part]:
        rows = (row for row in annotated.parts if not _follows(row))
        return [part for row in rows if (part := self._part(row))]

    def _part(self, row: AnnotationRow) -> Part | None:
        shape = None if row.raw.get("origin") == "made" else row.instance()
        polygons = shape.polygons if shape else row.polygons
        if not polygons:
            if shape:
                self.reading.skip("annotation", "a part needs an outline", row.entry)
            return None
        if "part" in row.raw:
            return self.reading.part(row.raw, polygons, self.size, row.entry)
        return Part(row.category.key, polygons)

    def _with_unseen(self, parts: list[Part], unseen: object, entry: str) -> list[Part]:
        """Return the parts, with parts without polygons reinserted in order."""
        all_parts = list(parts)
        for row in unseen if isinstance(unseen, list) else [None]:
            at = row.get("at") if isinstance(row, dict) and "part" in row else None
            if not isinstance(row, dict) or type(at) is not int or at < 0:
                raise self.reading.bad(
                    f"{entry} has an odd list of unseen parts", "export it again"
                )
            all_parts.insert(min(at, len(all_parts)), self.reading.part(row, (), self.size, entry))
        return all_parts


def _follows(row: AnnotationRow) -> bool:
    """Return whether this is the rest of one of our objects, which is derived from the
    other parts.
    """
    return row.raw.get("origin") == "made" and "polygons" not in row.raw
