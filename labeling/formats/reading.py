"""What every reader of parts does with what it finds: checks, mends when told to, says where."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeGuard

from labeling.errors import Refusal
from labeling.files import NO_TEXT, BadInput, StrPath
from labeling.geometry.alpha_shapes import METHODS
from labeling.geometry.polygons import Polygons, Ring, clean, from_shapely, tenths
from labeling.geometry.regions import box_of
from labeling.parts.model import ORIGINS, STATES, Box, Merge, Part, PartedObject, of_merges

# A photograph of more is no photograph; and masks of it would fill the memory.
MOST_PIXELS = 200_000_000
# The pixel edges of a ragged mask have thousands; more than this has no photograph's.
MOST_VERTICES = 200_000
MOST_NAME = 64

Tell = Callable[[str], None]
OnFault = Callable[[BadInput], None]


def say_nothing(_: str) -> None:
    """Where nobody wants to know."""


@dataclass(frozen=True)
class Reading:
    """How a file is read. repair: polygons that cross themselves or leave the image are mended.

    tell: is called with a sentence for everything mended or passed over. on_fault: is called with
    the fault of one object, or of one file of several, and the others are read; else it is raised.
    """

    file: StrPath
    repair: bool = False
    tell: Tell = say_nothing
    on_fault: OnFault | None = None

    def of(self, file: StrPath) -> "Reading":
        """The same, of another file."""
        return replace(self, file=file)

    @contextmanager
    def sparing(self) -> Iterator[None]:
        """What is read inside may fail alone, where somebody takes faults."""
        try:
            yield
        except BadInput as bad:
            if self.on_fault is None:
                raise
            self.on_fault(bad)

    def bad(self, message: str, cure: str) -> BadInput:
        return BadInput(message, file=self.file, cure=cure)

    def polygons(
        self, value: Any, size: tuple[int, int], what: str, made: bool = False
    ) -> Polygons:
        """The polygons in a file's nested lists, checked. size: of the image, (width, height).

        made: the rest, which nobody drew. Its exact corners need not fit tenths; then what tenths
        can hold of it comes back, which may be nothing. Raises BadInput; with repair, only for what
        cannot be mended.
        """
        try:
            return clean(value, *size, what, MOST_VERTICES)
        except Refusal as refusal:
            if not (self.repair or made):
                raise self._refused(refusal) from None
            mended = _mend(value, size)
            if made:
                return mended
            if not mended:
                raise self._refused(refusal) from None
            self.tell(f"{refusal.message} Mended.")
        try:
            return clean(mended, *size, what, MOST_VERTICES)
        except Refusal as refusal:
            raise self._refused(refusal) from None

    def _refused(self, refusal: Refusal) -> BadInput:
        return BadInput(refusal.message.rstrip("."), file=self.file)

    def size(self, width: object, height: object, what: str) -> tuple[int, int]:
        """(width, height) of an image, in pixels. Raises BadInput."""
        if not (_is_whole(width) and _is_whole(height) and 0 < width * height <= MOST_PIXELS):
            raise self.bad(
                f"{what} is {_short(width)} × {_short(height)} pixels",
                "write its width and height as whole numbers",
            )
        return int(width), int(height)

    def box(self, value: object, what: str) -> Box:
        """x0, y0, x1, y1. Raises BadInput."""
        if isinstance(value, list | tuple) and len(value) == 4 and all(map(is_number, value)):
            x0, y0, x1, y1 = map(float, value)
            # Written so that NaN fails too.
            if -math.inf < x0 < x1 < math.inf and -math.inf < y0 < y1 < math.inf:
                return (x0, y0, x1, y1)
        raise self.bad(
            f"{what} has the box {_short(value)}", "write four numbers with x0 < x1 and y0 < y1"
        )

    def part(
        self, row: Mapping[str, object], polygons: Polygons, size: tuple[int, int], what: str
    ) -> Part:
        """The part that part_details() wrote, with its polygons. Raises BadInput."""
        merges = [self._merge(one, size, what) for one in self._list(row, "merges", what)]
        said = of_merges(merges)
        if "radius" in row:
            said["radius"] = self._length(row["radius"], f"{what}'s radius")
        if "pieces" in row:
            said["pieces"] = self._pieces(row, size, what)
        if "apart" in row:
            said["apart"] = row["apart"] is True
        found = Part(
            key=self.text(row.get("part"), f"{what}'s part"),
            polygons=polygons,
            state=self.one_of(row.get("state", "drawn"), STATES, f"{what}'s state"),
            origin=self.one_of(row.get("origin", "given"), ORIGINS, f"{what}'s origin"),
            name=self.text(row.get("name", ""), f"{what}'s name", empty=True, most=200),
            names=self._names(row, what),
            **said,
        )
        if polygons and found.state == "not_visible":
            raise self.bad(f"{what} is not visible and has an outline", "take one of them out")
        return found

    def _merge(self, row: object, size: tuple[int, int], what: str) -> Merge:
        if not isinstance(row, dict):
            raise self.bad(f"{what} has an odd merge", "export it again")
        return Merge(
            pieces=self._pieces(row, size, what),
            radius=self._length(row.get("radius"), f"{what}'s radius"),
            cap=self._length(row.get("cap"), f"{what}'s cap"),
            holes=row.get("holes", True) is True,
            instance=self.text(row.get("instance", ""), f"{what}'s instance", empty=True),
            names=self._names(row, what),
            apart=row.get("apart") is True,
            chosen=row.get("chosen") is True,
            method=self.one_of(row.get("method", "radius"), METHODS, f"{what}'s method"),
        )

    def _pieces(
        self, row: Mapping[str, object], size: tuple[int, int], what: str
    ) -> tuple[Polygons, ...]:
        pieces = self._list(row, "pieces", what)
        return tuple(self.polygons(one, size, f"A piece of {what}") for one in pieces)

    def _names(self, row: Mapping[str, object], what: str) -> tuple[str, ...]:
        return tuple(
            self.text(name, f"a name of {what}", most=200)
            for name in self._list(row, "names", what)
        )

    def _list(self, row: Mapping[str, object], key: str, what: str) -> list[Any]:
        found = row.get(key, [])
        if not isinstance(found, list):
            raise self.bad(f"{what} has {key} that are no list", "write a list")
        return found

    def _length(self, value: object, what: str) -> float | None:
        if value is None:
            return None
        if not (is_number(value) and 0 <= value < math.inf):
            raise self.bad(f"{what} is {_short(value)}", "write pixels, 0 or more")
        return float(value)

    def parted(
        self,
        row: Mapping[str, object],
        image: str,
        category: str,
        parts: Sequence[Part],
        outline: Polygons | None,
        size: tuple[int, int],
        what: str,
    ) -> PartedObject:
        """The object that object_details() wrote, with what lies in it. Raises BadInput.

        Of a file of others the row is {}: the box is then the least around outline and parts.
        """
        regions = [part.polygons for part in parts if part.polygons]
        known = [box_of(region) for region in ([outline] if outline else regions)]
        if row.get("box") is None and not known:
            raise self.bad(f"{what} has neither a box nor an outline", "write its box")
        return PartedObject(
            image=image,
            category=category,
            box=box_around(known) if row.get("box") is None else self.box(row["box"], what),
            parts=tuple(parts),
            outline=outline or None,
            crop=None if row.get("crop") is None else self.box(row["crop"], f"{what}'s crop"),
            name=self.text(row.get("name", ""), f"{what}'s name", empty=True, most=200),
            source=self.text(row.get("source", ""), f"{what}'s source", empty=True, most=500),
            # Not so of a path into the file, such as anno.objects(1).
            place=f"{what[0].upper()}{what[1:]}" if " " in what else what,
            size=size,
        )

    def one_of(self, word: object, words: Sequence[str], what: str) -> str:
        if word in words and isinstance(word, str):
            return word
        raise self.bad(f"{what} is {_short(word)}", f"use {', '.join(words)}")

    def text(self, value: object, what: str, *, empty: bool = False, most: int = MOST_NAME) -> str:
        """A name out of a file. Raises BadInput for another thing, NUL, and too much of it."""
        if not isinstance(value, str) or len(value) > most or not (value.strip() or empty):
            cure = f"write a text of 1 to {most} characters"
            raise self.bad(f"{what} is {_short(value)}", cure)
        if NO_TEXT.search(value):
            raise self.bad(f"{what} has a NUL or half a surrogate pair, which is no text", "cut it")
        return value

    def image(self, value: object, what: str) -> str:
        """An image's name out of a file. Raises BadInput where it leaves its folder, too."""
        name = self.text(value, f"{what}'s name", most=400)
        if ".." in name.replace("\\", "/").split("/"):
            raise self.bad(f"{what}'s name leaves its folder: {name!r}", "take the .. out")
        return name


def box_around(boxes: Iterable[Box]) -> Box:
    """The least box around them; at least one."""
    x0, y0, x1, y1 = zip(*boxes, strict=True)
    return (min(x0), min(y0), max(x1), max(y1))


def shared_area(a: Box, b: Box) -> float:
    """The area that two boxes share."""
    width, height = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    return max(width, 0.0) * max(height, 0.0)


def is_number(value: object) -> TypeGuard[float]:
    """Whether it is a number of JSON, of a size that floats have."""
    if isinstance(value, int):
        return not isinstance(value, bool) and abs(value) < 2**63
    return isinstance(value, float)


def _is_whole(value: object) -> TypeGuard[float]:
    return is_number(value) and math.isfinite(value) and value == int(value) and value > 0


def _short(value: object) -> str:
    said = repr(value)
    return said if len(said) <= 60 else f"{said[:60]}…"


def _mend(value: Any, size: tuple[int, int]) -> Polygons:
    """The polygons by even-odd, inside the image; () where they are beyond mending.

    Rings of one piece are taken together by even-odd, pieces as their union.
    """
    from shapely import Polygon, make_valid, union_all
    from shapely.geometry.base import BaseGeometry

    pieces = _finite_pieces(value)
    if not pieces:
        return ()
    regions = []
    for rings in pieces:
        region: BaseGeometry = Polygon()
        for ring in rings:
            inside = [(min(max(x, 0), size[0]), min(max(y, 0), size[1])) for x, y in ring]
            if len(set(inside)) >= 3:
                region = region.symmetric_difference(make_valid(Polygon(inside)))
        regions.append(region.buffer(0))
    return tenths(from_shapely(union_all(regions)))


def _finite_pieces(value: Any) -> list[list[Ring]]:
    """The rings of every piece, where all of it is finite numbers and not too many; else none."""
    found: list[list[Ring]] = []
    count = 0
    try:
        for piece in value:
            found.append([])
            for ring in piece:
                count += len(ring)
                if count > MOST_VERTICES:
                    return []
                found[-1].append(tuple((float(x), float(y)) for x, y in ring))
    except (TypeError, ValueError, OverflowError):
        return []
    corners = (edge for piece in found for ring in piece for point in ring for edge in point)
    return found if all(map(math.isfinite, corners)) else []
