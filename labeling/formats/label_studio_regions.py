"""The regions of a Label Studio task, and which of them are parts of which."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from labeling.formats.brush_masks import mask_of_brush
from labeling.formats.label_studio_project import image_of
from labeling.formats.reading import Reading, is_number, shared_area
from labeling.formats.sidecar import rows
from labeling.geometry.polygons import Polygons
from labeling.geometry.regions import box_of, polygons_of
from labeling.parts.model import OUTLINE, Box, Part, PartedObject

# A label with a meaning of its own, as OUTLINE is.
HOLE = "hole"
RECTANGLE, POLYGON, BRUSH = KINDS = ("rectanglelabels", "polygonlabels", "brushlabels")
# A hole in a piece of a part of an object is four; this is no task that a person made.
DEEPEST = 20
Points = list[tuple[float, float]]


@dataclass
class Region:
    """A rectangle, a polygon or a painted mask. above: the region that it is a part of."""

    key: str
    kind: str
    label: str
    value: dict[str, object]
    size: tuple[int, int]
    what: str
    parent: str
    above: "Region | None" = None
    below: list["Region"] = field(default_factory=list)

    @property
    def is_hole(self) -> bool:
        """A part may be called so, too; it lies in a rectangle, not in a polygon."""
        return self.label == HOLE and self.above is not None and self.above.kind != RECTANGLE


class Task:
    """The objects of one image."""

    def __init__(self, reading: Reading, content: object, what: str) -> None:
        self.reading = reading
        self.what = what
        content = content if isinstance(content, dict) else {}
        data = content.get("data")
        if not isinstance(data, dict) or "image" not in data:
            raise reading.bad(f"{what} has no data.image", "export it again as JSON (not JSON-MIN)")
        self.image = reading.image(image_of(data), what)
        self.told = rows(data, "objects", reading, what) if "objects" in data else []
        self.regions: dict[str, Region] = {}
        self.relations: list[tuple[object, object]] = []
        for number, result in enumerate(self._results(content), 1):
            self._take(result, f"region {number} of {what}")
        self._join()

    def _results(self, content: Mapping[str, object]) -> list[dict[str, object]]:
        """Of the first annotation that was not cancelled."""
        if "annotations" not in content:
            return []
        for annotation in rows(content, "annotations", self.reading, self.what):
            if not annotation.get("was_cancelled"):
                return rows(annotation, "result", self.reading, self.what)
        return []

    def _take(self, result: dict[str, object], what: str) -> None:
        kind = result.get("type")
        if kind == "relation":
            self.relations.append((result.get("from_id"), result.get("to_id")))
        if kind not in KINDS:
            return
        value = result.get("value")
        labels = value.get(kind) if isinstance(value, dict) else None
        if not (isinstance(value, dict) and isinstance(labels, list) and len(labels) == 1):
            raise self.reading.bad(f"{what} has not one label", "give every region one label")
        if result.get("image_rotation"):
            raise self.reading.bad(
                f"{what} was drawn on a turned image", "turn it back and export it again"
            )
        size = (result.get("original_width"), result.get("original_height"))
        key = result.get("id", f"#{len(self.regions)}")
        if not isinstance(key, str) or key in self.regions:
            raise self.reading.bad(f"{what} has the id {key!r} twice or none", "export it again")
        self.regions[key] = Region(
            key=key,
            kind=kind,
            label=self.reading.text(labels[0], f"{what}'s label"),
            value=value,
            size=self.reading.size(*size, f"the image of {what}"),
            what=what,
            parent=str(result.get("parentID") or ""),
        )

    def _join(self) -> None:
        """Every region to the one above it: by parentID, by relations, by where it lies."""
        found = self.regions
        for region in found.values():
            region.above = found.get(region.parent)
        for one, other in self.relations:
            pair = [found[key] for key in (one, other) if isinstance(key, str) and key in found]
            if len(pair) == 2:
                part, whole = pair if pair[0].kind != RECTANGLE else pair[::-1]
                if part.above is None and part is not whole:
                    part.above = whole
        for region in found.values():
            self._check_ends(region)
            if region.above is not None:
                region.above.below.append(region)
        rectangles = [one for one in found.values() if one.kind == RECTANGLE and not one.above]
        for region in found.values():
            alone = region.above is None and not region.below and region.kind != RECTANGLE
            if alone and rectangles:
                with self.reading.sparing():
                    region.above = self._around(region, rectangles)
                    region.above.below.append(region)

    def _check_ends(self, region: Region) -> None:
        seen: set[str] = set()
        above: Region | None = region
        while above is not None:
            if above.key in seen or len(seen) > DEEPEST:
                raise self.reading.bad(f"{region.what} is part of itself", "set another parent")
            seen.add(above.key)
            above = above.above

    def _around(self, region: Region, rectangles: list[Region]) -> Region:
        """The rectangle that holds most of the region, of several the smallest."""
        box = self._bounds(region)
        ranks = [
            (-shared_area(box, around), shared_area(around, around), nth)
            for nth, around in enumerate(map(self._bounds, rectangles))
        ]
        share, _, nth = min(ranks)
        if share == 0:
            raise self.reading.bad(
                f"{region.what}, {region.label!r}, lies in no object's rectangle",
                "draw one around its object, or set its parent",
            )
        return rectangles[nth]

    def objects(self) -> Iterator[PartedObject]:
        ours = {key: row for row in self.told if isinstance(key := row.get("id"), str)}
        for key in ours:
            if key not in self.regions:
                self.reading.tell(f"Object {key} of {self.what} was deleted in Label Studio.")
        for region in self.regions.values():
            if region.above is not None:
                continue
            made = None
            with self.reading.sparing():
                made = self._object(region, ours.get(region.key, {}))
            if made is not None:
                yield made

    def _object(self, region: Region, row: dict[str, object]) -> PartedObject:
        inside = [one for one in _descendants(region) if not one.is_hole]
        drawn = [one for one in inside if one.label == OUTLINE]
        own = [] if region.kind == RECTANGLE else [region]
        outline = self._polygons(own or drawn, region.what) if own or drawn else None
        parts = [one for one in inside if one.label != OUTLINE]
        found = self._listed_parts(row, parts, region) if row else list(self._drawn(parts))
        said = dict(row)
        if region.kind == RECTANGLE:
            said["box"] = self._moved(row.get("box"), self._bounds(region))
        return self.reading.parted(
            said,
            self.image,
            region.label,
            found,
            outline,
            region.size,
            region.what,
        )

    def _listed_parts(
        self, row: dict[str, object], regions: list[Region], whole: Region
    ) -> list[Part]:
        """Parts as the task's data tells of them, each with the regions it still has."""
        found = []
        left = {region.key: region for region in regions}
        for told in rows(row, "parts", self.reading, whole.what):
            key = told.get("id")
            mine = [one for one in left.values() if one.key.rpartition(".")[0] == key]
            for region in mine:
                del left[region.key]
            if not mine and told.get("unseen") is not True:
                self.reading.tell(f"{told.get('part')} of {whole.what} was deleted.")
                continue
            what = f"{told.get('part')} of {whole.what}"
            polygons = self._polygons(mine, what, told.get("origin") == "made")
            # A person may have given it another label.
            renamed = told | {"part": mine[0].label} if mine else told
            found.append(self.reading.part(renamed, polygons, whole.size, what))
        return [*found, *self._drawn(left.values())]

    def _drawn(self, regions: Iterable[Region]) -> Iterator[Part]:
        for region in regions:
            polygons = self._polygons([region], region.what)
            if polygons:
                yield Part(region.label, polygons)
            else:
                self.reading.tell(f"{region.what} is empty and was passed over.")

    def _moved(self, said: object, drawn: Box) -> Box:
        """The box that was written, unless somebody moved its rectangle since."""
        if said is None:
            return drawn
        box = self.reading.box(said, self.what)
        near = all(abs(a - b) < 0.01 for a, b in zip(box, drawn, strict=True))
        return box if near else drawn

    def _polygons(self, regions: list[Region], what: str, made: bool = False) -> Polygons:
        """What the regions cover: polygons with their holes, or one painted mask."""
        if not regions:
            return ()
        if len(regions) == 1 and regions[0].kind == BRUSH:
            return self._painted(regions[0])
        pieces = []
        size = (0, 0)
        for region in regions:
            size = region.size
            holes = [self._points(one) for one in region.below if one.is_hole]
            pieces.append([self._points(region), *holes])
        return self.reading.polygons(pieces, size, f"{what[0].upper()}{what[1:]}", made)

    def _painted(self, region: Region) -> Polygons:
        mask = mask_of_brush(region.value.get("rle"), region.size)
        if mask is None:
            raise self.reading.bad(
                f"{region.what} has a painted mask that is not of {region.size[0]} × "
                f"{region.size[1]} pixels",
                "export it again",
            )
        return polygons_of(mask)

    def _points(self, region: Region) -> Points:
        """The corners of a polygon or rectangle, in pixels."""
        width, height = region.size[0] / 100, region.size[1] / 100
        if region.kind == RECTANGLE:
            return [(x * width, y * height) for x, y in self._corners(region)]
        points = region.value.get("points")
        if region.kind != POLYGON or not (
            isinstance(points, list)
            and all(isinstance(point, list) and len(point) == 2 for point in points)
            and all(map(is_number, (edge for point in points for edge in point)))
        ):
            raise self.reading.bad(
                f"{region.what} has no list of points", "write [[x, y], …] in per cent"
            )
        return [(x * width, y * height) for x, y in points]

    def _corners(self, region: Region) -> Points:
        """Of a rectangle, in per cent, turned about its first corner as Label Studio does."""
        value = region.value
        said = (value.get(key, 0) for key in ("x", "y", "width", "height", "rotation"))
        numbers = [one for one in said if is_number(one) and math.isfinite(one)]
        if len(numbers) != 5:
            raise self.reading.bad(
                f"{region.what} is no rectangle", "write x, y, width and height in per cent"
            )
        x, y, width, height, turned = numbers
        if not turned:
            return [(x, y), (x + width, y), (x + width, y + height), (x, y + height)]
        cos, sin = math.cos(math.radians(turned)), math.sin(math.radians(turned))
        # It turns on the screen, where per cent of the width are longer than of the height.
        tall = region.size[1] / region.size[0]
        return [
            (x + a * cos - b * tall * sin, y + (a * sin) / tall + b * cos)
            for a, b in ((0, 0), (width, 0), (width, height), (0, height))
        ]

    def _bounds(self, region: Region) -> Box:
        """To the hundredth of a pixel, and for rectangles inside the image."""
        if region.kind == BRUSH:
            return box_of(self._painted(region))
        points = self._points(region)
        if not points:
            raise self.reading.bad(f"{region.what} has no points", "draw it again")
        xs, ys = zip(*points, strict=True)
        sides = zip((min(xs), min(ys), max(xs), max(ys)), region.size * 2, strict=True)
        x0, y0, x1, y1 = (round(min(max(edge, 0.0), most), 2) for edge, most in sides)
        return (x0, y0, x1, y1)


def _descendants(region: Region) -> Iterator[Region]:
    for one in region.below:
        yield one
        yield from _descendants(one)
