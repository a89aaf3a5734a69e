"""Checks shared by all readers of label files, with repair on request."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypedDict, TypeGuard

from labeling.csv_rows import nfc
from labeling.errors import Refusal
from labeling.files import NO_TEXT, BadInput, StrPath
from labeling.formats import label as labels
from labeling.formats.label import Instance, Label, bounds
from labeling.geometry.alpha_shapes import METHODS
from labeling.geometry.polygons import Polygons, Ring, as_json, clean, from_json, from_shapely
from labeling.geometry.regions import box_of
from labeling.parts.model import ORIGINS, STATES, Box, Merge, Part, PartedObject, merge_fields
from labeling.plurals import count_of

# Larger images are not photographs, and their masks would fill the memory.
MAX_PIXELS = 200_000_000
# Limit of corners; the pixel edges of a ragged mask have thousands.
MAX_VERTICES = 200_000
MAX_NAME_LENGTH = 64

# Files count pixels from 0 or from 1 and round: shapes may leave the image by this much.
EDGE_PX = 1.0
# Limit of coordinates; areas of larger boxes would overflow.
FARTHEST_PX = 1e9
Size = tuple[int, int]
Tell = Callable[[str], None]
# Receives the skipped entry ("annotation"), the reason and the position.
Skip = Callable[[str, str, str], None]
OnFault = Callable[[BadInput], None]


def ignore_sentence(*_: str) -> None:
    """Ignore sentences."""


# Skipped entries of a file. first: position of the first.
Skipped = TypedDict(  # noqa: UP013 - reports have the key "what"
    "Skipped", {"what": str, "count": int, "why": str, "first": str}
)


def add_skipped(rows: list[Skipped], entry: str, why: str, example: str) -> None:
    """Count an entry that was skipped."""
    for row in rows:
        if (row["what"], row["why"]) == (entry, why):
            row["count"] += 1
            return
    rows.append({"what": entry, "count": 1, "why": why, "first": example})


def skipped_sentence(row: Skipped) -> str:
    """Return a sentence about the skipped entries.

    >>> skipped_sentence({"what": "mask", "count": 2, "why": "it is empty", "first": "a.png"})
    '2 masks skipped, the first in a.png: it is empty'
    """
    entries = count_of(row["count"], row["what"])
    first = f", the first in {row['first']}" if row["count"] > 1 else f" in {row['first']}"
    return f"{entries} skipped{first}: {row['why']}"


@dataclass
class LabelReading:
    """The settings and position of reading a file.

    repair: clip and fix shapes that cross themselves or leave the image. tell: receives a sentence
    per repair. skip: receives each skipped entry. on_fault: receives the fault of one object, or of
    one of several files, and reading continues; without it faults are raised. inclusive: x1 and y1
    of CSV rows are the last pixels. exact: keep corners of outlines; else round to tenths. line:
    the current one.
    """

    file: StrPath
    repair: bool = False
    tell: Tell = ignore_sentence
    skip: Skip = ignore_sentence
    on_fault: OnFault | None = None
    inclusive: bool = False
    exact: bool = False
    line: int | None = None

    def of(self, file: StrPath) -> "LabelReading":
        """Return the same settings for another file."""
        return replace(self, file=file)

    def at(self, line: int) -> "LabelReading":
        """Set the current line and return self."""
        self.line = line
        return self

    @contextmanager
    def collecting_faults(self) -> Iterator[None]:
        """Pass a BadInput of the block to on_fault; raise it if on_fault is None."""
        try:
            yield
        except BadInput as bad:
            if self.on_fault is None:
                raise
            self.on_fault(bad)

    def bad(self, message: str, cure: str) -> BadInput:
        return BadInput(message, file=self.file, line=self.line, cure=cure)

    def checked(self, label: Label) -> Label:
        """Return the label if all its values are valid. Raises BadInput."""
        self._key(label.key)
        self._key(label.source, "the source", least=0, most=500)
        for word, words, attribute in (
            (label.value, labels.VALUES, "value"),
            (label.origin, labels.ORIGINS, "origin"),
        ):
            if word not in words:
                raise self.bad(f"has the {attribute} {word!r}", f"use {', '.join(words)}")
        if label.probability is not None and not 0 <= label.probability <= 1:
            raise self.bad(f"has the probability {label.probability}", "write a number from 0 to 1")
        return label

    def _key(self, text: str, entry: str = "the class", least: int = 1, most: int = 64) -> None:
        if not least <= len(text) <= most:
            raise self.bad(
                f"has {entry} {_short(text)}",
                f"give {least} to {most} characters, such as a wnid" if least else "shorten it",
            )
        if NO_TEXT.search(text):
            raise self.bad(
                "contains a NUL or a lone surrogate, which is not valid text", "remove it"
            )

    def polygons(self, value: Any, size: Size | None, entry: str, made: bool = False) -> Polygons:
        """Return the polygons of nested lists, validated. size: of the image, if known.

        Corners may leave the image by EDGE_PX and are clipped. made: a computed outline, whose
        exact corners may not fit tenths; returns what tenths can express, maybe nothing. Raises
        BadInput; with repair, only for irreparable shapes.
        """
        try:
            polygons = self._clean(value, size, entry)
        except Refusal as refusal:
            if not (self.repair or made):
                raise self._refused(refusal) from None
            mended = _mend(value, size)
            if made:
                return mended
            if not mended:
                raise self._refused(refusal) from None
            self.tell(f"{refusal.message} Repaired.")
        else:
            if size is None or is_inside(polygons, size):
                return from_json(value) if self.exact else polygons
            mended = _mend(value, size)
        try:
            return self._clean(mended, size, entry)
        except Refusal as refusal:
            raise self._refused(refusal) from None

    def _clean(self, value: Any, size: Size | None, entry: str) -> Polygons:
        width, height = size or (math.inf, math.inf)
        return clean(value, width, height, entry, MAX_VERTICES, EDGE_PX if size else math.inf)

    def _refused(self, refusal: Refusal) -> BadInput:
        cure = "correct it" if self.repair else "correct it, or import with --repair"
        return BadInput(refusal.message.rstrip("."), file=self.file, line=self.line, cure=cure)

    def size(self, width: object, height: object, entry: str) -> Size:
        """Return (width, height) of an image in pixels. Raises BadInput."""
        if not (_is_whole(width) and _is_whole(height) and 0 < width * height <= MAX_PIXELS):
            raise self.bad(
                f"{entry} is {_short(width)} × {_short(height)} pixels",
                "write its width and height as whole numbers",
            )
        return int(width), int(height)

    def box(self, value: object, entry: str) -> Box:
        """Return x0, y0, x1, y1. Raises BadInput."""
        if isinstance(value, list | tuple) and len(value) == 4 and all(map(is_number, value)):
            x0, y0, x1, y1 = map(float, value)
            # Written so that NaN fails too.
            if -math.inf < x0 < x1 < math.inf and -math.inf < y0 < y1 < math.inf:
                return (x0, y0, x1, y1)
            if all(map(math.isfinite, (x0, y0, x1, y1))):
                cure = "write x0 < x1 and y0 < y1, and remove boxes without area"
                raise self.bad(f"{entry}: the box is inverted or empty", cure)
        raise self.bad(
            f"{entry} has the box {_short(value)}", "write four numbers with x0 < x1 and y0 < y1"
        )

    def instance(
        self,
        box: Box | None,
        polygons: Polygons,
        flags: tuple[str, ...] | None,
        size: Size | None,
        entry: str,
        number: int,
    ) -> Instance | None:
        """Return an instance inside its image; None if repair leaves nothing.

        box: None for the bounds of its polygons. Boxes may leave the image by EDGE_PX. Raises
        BadInput.
        """
        box = bounds(polygons) if box is None else box
        if max(map(abs, box)) > FARTHEST_PX:
            raise self.bad(
                f"{entry}: a corner is more than {FARTHEST_PX:,.0f} pixels from the origin",
                "give pixels",
            )
        if size is not None and not is_box_inside(box, size, EDGE_PX):
            if not self.repair:
                raise self.bad(
                    f"{entry}: the box leaves its image of {size[0]} × {size[1]} pixels",
                    "correct it, or cut it at the edges of the image with --repair",
                )
            cut = cut_box(box, size)
            if cut is None:
                self.skip("object", "it is outside its image", entry)
                return None
            self.tell(f"{entry[0].upper()}{entry[1:]}: the box was cut at the edges of its image.")
            box = cut
        return Instance(box, polygons, flags, number)

    def inside(self, instance: Instance, size: Size, entry: str) -> Instance | None:
        """Return an instance clipped to its image; None if nothing is left.

        For instances whose file does not state the image's size. Raises BadInput.
        """
        polygons = instance.polygons
        if not is_inside(polygons, size):
            polygons = self.polygons(as_json(polygons), size, f"{entry}: the polygon")
        box = bounds(polygons) if polygons else instance.box
        fitting = self.instance(box, polygons, instance.flags, size, entry, instance.number)
        cut = fitting and cut_box(fitting.box, size)
        return replace(fitting, box=cut) if fitting and cut else None

    def part(
        self, row: Mapping[str, object], polygons: Polygons, size: Size | None, entry: str
    ) -> Part:
        """Return the part of a row by part_details(), with its polygons. Raises BadInput."""
        merges = [self._merge(merge, size, entry) for merge in self._list(row, "merges", entry)]
        fields = merge_fields(merges)
        if "radius" in row:
            fields["radius"] = self._length(row["radius"], f"{entry}'s radius")
        if "pieces" in row:
            fields["pieces"] = self._pieces(row, size, entry)
        if "apart" in row:
            fields["apart"] = row["apart"] is True
        part = Part(
            key=self.text(row.get("part"), f"{entry}'s part"),
            polygons=polygons,
            state=self.one_of(row.get("state", "drawn"), STATES, f"{entry}'s state"),
            origin=self.one_of(row.get("origin", "given"), ORIGINS, f"{entry}'s origin"),
            name=self.text(row.get("name", ""), f"{entry}'s name", empty=True, most=200),
            names=self._names(row, entry),
            **fields,
        )
        if polygons and part.state == "not_visible":
            raise self.bad(f"{entry} is not visible and has an outline", "remove one of them")
        return part

    def _merge(self, row: object, size: Size | None, entry: str) -> Merge:
        if not isinstance(row, dict):
            raise self.bad(f"{entry} has an invalid merge", "export it again")
        return Merge(
            pieces=self._pieces(row, size, entry),
            radius=self._length(row.get("radius"), f"{entry}'s radius"),
            cap=self._length(row.get("cap"), f"{entry}'s cap"),
            holes=row.get("holes", True) is True,
            instance=self.text(row.get("instance", ""), f"{entry}'s instance", empty=True),
            names=self._names(row, entry),
            apart=row.get("apart") is True,
            chosen=row.get("chosen") is True,
            method=self.one_of(row.get("method", "radius"), METHODS, f"{entry}'s method"),
        )

    def _pieces(
        self, row: Mapping[str, object], size: Size | None, entry: str
    ) -> tuple[Polygons, ...]:
        pieces = self._list(row, "pieces", entry)
        return tuple(self.polygons(piece, size, f"A piece of {entry}") for piece in pieces)

    def _names(self, row: Mapping[str, object], entry: str) -> tuple[str, ...]:
        return tuple(
            self.text(name, f"a name of {entry}", most=200)
            for name in self._list(row, "names", entry)
        )

    def _list(self, row: Mapping[str, object], key: str, entry: str) -> list[Any]:
        items = row.get(key, [])
        if not isinstance(items, list):
            raise self.bad(f"the {key} of {entry} are not a list", "write a list")
        return items

    def _length(self, value: object, entry: str) -> float | None:
        if value is None:
            return None
        if not (is_number(value) and 0 <= value < math.inf):
            raise self.bad(f"{entry} is {_short(value)}", "write pixels, 0 or more")
        return float(value)

    def parted(
        self,
        row: Mapping[str, object],
        image: str,
        category: str,
        parts: Sequence[Part],
        outline: Polygons | None,
        size: Size | None,
        entry: str,
    ) -> PartedObject:
        """Return the object of a row by object_details(), with its parts. Raises BadInput.

        Files of others have no such row: it is {}, and the box encloses the outline or the parts.
        """
        regions = [part.polygons for part in parts if part.polygons]
        known = [box_of(region) for region in ([outline] if outline else regions)]
        if row.get("box") is None and not known:
            raise self.bad(f"{entry} has neither a box nor an outline", "write its box")
        return PartedObject(
            image=image,
            category=category,
            box=box_around(known) if row.get("box") is None else self.box(row["box"], entry),
            parts=tuple(parts),
            outline=outline or None,
            crop=None if row.get("crop") is None else self.box(row["crop"], f"{entry}'s crop"),
            name=self.text(row.get("name", ""), f"{entry}'s name", empty=True, most=200),
            source=self.text(row.get("source", ""), f"{entry}'s source", empty=True, most=500),
            # Capitalize a phrase, but not a path within the file, such as anno.objects(1).
            entry=f"{entry[0].upper()}{entry[1:]}" if " " in entry else entry,
            size=size,
        )

    def one_of(self, word: object, words: Sequence[str], entry: str) -> str:
        if word in words and isinstance(word, str):
            return word
        raise self.bad(f"{entry} is {_short(word)}", f"use {', '.join(words)}")

    def text(
        self, value: object, entry: str, *, empty: bool = False, most: int = MAX_NAME_LENGTH
    ) -> str:
        """Return a name in a file. Raises BadInput for other types, NUL, and too long a text."""
        if not isinstance(value, str) or len(value) > most or not (value.strip() or empty):
            cure = f"write a text of 1 to {most} characters"
            raise self.bad(f"{entry} is {_short(value)}", cure)
        if NO_TEXT.search(value):
            raise self.bad(
                f"{entry} contains a NUL or a lone surrogate, which is not valid text", "remove it"
            )
        return value

    def name(self, value: object, entry: str, most: int = MAX_NAME_LENGTH) -> str:
        """Return the name of a class or a part in NFC, stripped."""
        return nfc(self.text(value, entry, most=most).strip())

    def image(self, value: object, entry: str) -> str:
        """Return an image's name in a file. Raises BadInput, also if it leaves its folder."""
        name = nfc(self.text(value, f"{entry}'s name", most=400))
        if ".." in name.replace("\\", "/").split("/"):
            raise self.bad(f"{entry}'s name leaves its folder: {name!r}", "remove the ..")
        return name


def box_around(boxes: Iterable[Box]) -> Box:
    """Return the smallest box that contains these; there must be at least one."""
    x0, y0, x1, y1 = zip(*boxes, strict=True)
    return (min(x0), min(y0), max(x1), max(y1))


def shared_area(a: Box, b: Box) -> float:
    """Return the area that two boxes share."""
    width, height = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    return max(width, 0.0) * max(height, 0.0)


def is_number(value: object) -> TypeGuard[float]:
    """Return whether the value is a JSON number in the range of floats."""
    if isinstance(value, int):
        return not isinstance(value, bool) and abs(value) < 2**63
    return isinstance(value, float)


def _is_whole(value: object) -> TypeGuard[float]:
    return is_number(value) and math.isfinite(value) and value == int(value) and value > 0


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"


def _mend(value: Any, size: Size | None) -> Polygons:
    """Return the valid area of polygons inside the image; () if nothing is left.

    Rings of one piece are combined by the even-odd rule, pieces by union.
    """
    from shapely import Polygon, box, make_valid, union_all
    from shapely.geometry.base import BaseGeometry

    regions = []
    for rings in _finite_pieces(value):
        region: BaseGeometry = Polygon()
        for ring in rings:
            if len(set(ring)) >= 3:
                region = region.symmetric_difference(make_valid(Polygon(ring)))
        regions.append(region.buffer(0))
    whole = union_all(regions)
    return from_shapely(whole if size is None else whole.intersection(box(0, 0, *size)))


def is_inside(polygons: Polygons, size: Size) -> bool:
    return not polygons or is_box_inside(bounds(polygons), size)


def is_box_inside(box: Box, size: Size, margin: float = 0.0) -> bool:
    x0, y0, x1, y1 = box
    return min(x0, y0) >= -margin and x1 <= size[0] + margin and y1 <= size[1] + margin


def cut_box(box: Box, size: Size) -> Box | None:
    """Return the box clipped to an image; None if it lies outside.

    >>> cut_box((-30, -5, 10, 35), (100, 60)), cut_box((120, 0, 130, 9), (100, 60))
    ((0.0, 0.0, 10, 35), None)
    """
    x0, y0, x1, y1 = box
    x0, y0, x1, y1 = max(x0, 0.0), max(y0, 0.0), min(x1, size[0]), min(y1, size[1])
    return (x0, y0, x1, y1) if x0 < x1 and y0 < y1 else None


def _finite_pieces(value: Any) -> list[list[Ring]]:
    """Return the rings of every piece if all are finite numbers and not too many; else none."""
    pieces: list[list[Ring]] = []
    count = 0
    try:
        for piece in value:
            pieces.append([])
            for ring in piece:
                count += len(ring)
                if count > MAX_VERTICES:
                    return []
                pieces[-1].append(tuple((float(x), float(y)) for x, y in ring))
    except (TypeError, ValueError, OverflowError):
        return []
    corners = (edge for piece in pieces for ring in piece for point in ring for edge in point)
    return pieces if all(map(math.isfinite, corners)) else []
