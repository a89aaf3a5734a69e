"""The regions of a Label Studio task, with their labels and parents."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from labeling.formats.brush_masks import mask_of_brush
from labeling.formats.label import FLAGS, Instance
from labeling.formats.label_studio_project import HOLE, image_of
from labeling.formats.reading import LabelReading, Size, is_number, shared_area
from labeling.formats.sidecar import rows
from labeling.geometry.polygons import Polygons
from labeling.geometry.regions import box_of, polygons_of
from labeling.parts.model import OUTLINE, Box, Part, PartedObject

RECTANGLE, POLYGON, BRUSH, ELLIPSE = SHAPES = ("rectangle", "polygon", "brush", "ellipse")
# Result types of a shape with its labels, and of a shape alone. A result of the type LABELS has the
# labels of the shape with the same id.
KINDS = {f"{shape}labels": shape for shape in SHAPES} | {shape: shape for shape in SHAPES}
LABELS = "labels"
# Key of a value → its shape, for results that have only labels.
SHAPE_OF_KEY = {"points": POLYGON, "rle": BRUSH, "radiusX": ELLIPSE, "width": RECTANGLE}
ELLIPSE_CORNERS = 64
# Limit of nesting. A hole in a piece of a part of an object has depth four.
MAX_NESTING = 20
Points = list[tuple[float, float]]


@dataclass
class Region:
    """A shape and its labels. shape: one of SHAPES. above: its parent."""

    key: str
    shape: str
    labels: list[str]
    value: dict[str, object]
    size: Size
    entry: str
    number: int
    parent: str
    meta: dict[str, object]
    above: "Region | None" = None
    below: list["Region"] = field(default_factory=list)

    @property
    def label(self) -> str:
        return self.labels[0]

    @property
    def is_hole(self) -> bool:
        """Return whether this is a hole. A part may be named "hole" too; it lies in a rectangle."""
        return self.label == HOLE and self.above is not None and self.above.shape != RECTANGLE


class LabelStudioTask:
    """Shapes and choices of one image. choices: (name of the control, class), in order."""

    def __init__(self, reading: LabelReading, content: object, entry: str) -> None:
        self.reading = reading
        self.entry = entry
        content = content if isinstance(content, dict) else {}
        data = content.get("data")
        if not isinstance(data, dict) or "image" not in data:
            raise reading.bad(
                f"{entry} has no data.image", "export it again as JSON (not JSON-MIN)"
            )
        self.data = data
        self.image = reading.image(image_of(data), entry)
        self.regions: dict[str, Region] = {}
        self.relations: list[tuple[object, object]] = []
        self.choices: list[tuple[str, str]] = []
        results = self._results(content)
        self._take_regions(results)
        self._take_choices(results)
        self._join()

    def _results(self, content: Mapping[str, object]) -> list[dict[str, object]]:
        """Return the results of the first annotation that was not cancelled."""
        annotations = []
        if content.get("annotations"):
            annotations = rows(content, "annotations", self.reading, self.entry)
        current = [row for row in annotations if not row.get("was_cancelled")]
        if annotations and not current:
            self.reading.skip("annotation", "it was cancelled", self.entry)
        for _ in current[1:]:
            self.reading.skip("annotation", "its task has an earlier one", self.entry)
        if not current and content.get("predictions"):
            self.reading.skip("prediction", "only annotations are read", self.entry)
        return rows(current[0], "result", self.reading, self.entry) if current else []

    def _take_regions(self, results: list[dict[str, object]]) -> None:
        """Read the shapes. Results with the same id, such as a shape and its labels, form one
        region.
        """
        by_id: dict[str, list[tuple[int, dict[str, object]]]] = {}
        for number, result in enumerate(results, 1):
            kind = result.get("type")
            if kind == "relation":
                self.relations.append((result.get("from_id"), result.get("to_id")))
            elif kind in KINDS or kind == LABELS:
                key = result.get("id", f"#{number}")
                if not isinstance(key, str):
                    entry = f"region {number} of {self.entry}"
                    raise self.reading.bad(f"{entry} has the id {key!r}", "export it again")
                by_id.setdefault(key, []).append((number, result))
            elif kind != "choices":
                why = f"labels are not results of the type {str(kind)[:40]}"
                self.reading.skip("result", why, f"result {number} of {self.entry}")
        for key, parts in by_id.items():
            self._take(key, parts)

    def _take(self, key: str, results: list[tuple[int, dict[str, object]]]) -> None:
        number, first = results[0]
        entry = f"region {number} of {self.entry}"
        kinds = [str(result["type"]) for _, result in results]
        if len(kinds) != len(set(kinds)):
            raise self.reading.bad(f"{entry} has the id {key!r} of another", "export it again")
        values = [result.get("value") for _, result in results]
        value: dict[str, object] = {}
        for more in values:
            if not isinstance(more, dict):
                raise self.reading.bad(f"{entry} has no value", "export it again")
            value |= more
        labels = [
            self.reading.name(label, f"{entry}'s label")
            for kind in kinds
            for label in _list(value.get(kind))
        ]
        shapes = [KINDS[kind] for kind in kinds if kind in KINDS]
        shapes += [shape for name, shape in SHAPE_OF_KEY.items() if name in value]
        if not labels or not shapes:
            self.reading.skip("region", "it has no label" if shapes else "it has no shape", entry)
            return
        if first.get("image_rotation"):
            raise self.reading.bad(
                f"{entry} was drawn on a turned image", "reset its rotation and export it again"
            )
        size = (first.get("original_width"), first.get("original_height"))
        meta = first.get("meta")
        self.regions[key] = Region(
            key=key,
            shape=shapes[0],
            labels=list(dict.fromkeys(labels)),
            value=value,
            size=self.reading.size(*size, f"the image of {entry}"),
            entry=entry,
            number=number,
            parent=str(first.get("parentID") or ""),
            meta=meta if isinstance(meta, dict) else {},
        )

    def _take_choices(self, results: list[dict[str, object]]) -> None:
        """Read the choices about the whole image; those about a region are not classes."""
        for number, result in enumerate(results, 1):
            if result.get("type") != "choices":
                continue
            entry = f"result {number} of {self.entry}"
            if result.get("id") in self.regions:
                self.reading.skip("choice", "it is about a region", entry)
                continue
            value = result.get("value")
            chosen = value.get("choices") if isinstance(value, dict) else None
            if not isinstance(chosen, list):
                raise self.reading.bad(f"{entry} has no list of choices", "export it again")
            control = str(result.get("from_name", ""))
            names = [self.reading.name(choice, f"a choice of {entry}") for choice in chosen]
            self.choices += [(control, name) for name in names]

    def _join(self) -> None:
        """Join every region to its parent, by parentID, then by relations."""
        regions = self.regions
        for region in regions.values():
            region.above = regions.get(region.parent)
        for first, second in self.relations:
            pair = [
                regions[key] for key in (first, second) if isinstance(key, str) and key in regions
            ]
            if len(pair) == 2:
                part, whole = pair if pair[0].shape != RECTANGLE else pair[::-1]
                if part.above is None and part is not whole:
                    part.above = whole
        for region in regions.values():
            self._check_ends(region)
            if region.above is not None:
                region.above.below.append(region)

    def _attach(self) -> None:
        """Join the remaining regions to the rectangle around them."""
        regions = self.regions
        rectangles = [
            candidate
            for candidate in regions.values()
            if candidate.shape == RECTANGLE and not candidate.above
        ]
        for region in regions.values():
            alone = region.above is None and not region.below and region.shape != RECTANGLE
            if alone and rectangles:
                with self.reading.collecting_faults():
                    region.above = self._around(region, rectangles)
                    region.above.below.append(region)

    def _check_ends(self, region: Region) -> None:
        seen: set[str] = set()
        above: Region | None = region
        while above is not None:
            if above.key in seen or len(seen) > MAX_NESTING:
                raise self.reading.bad(f"{region.entry} is part of itself", "set another parent")
            seen.add(above.key)
            above = above.above

    def _around(self, region: Region, rectangles: list[Region]) -> Region:
        """Return the rectangle that contains most of the region; among equals the smallest."""
        box = self._bounds(region)
        ranks = [
            (-shared_area(box, around), shared_area(around, around), nth)
            for nth, around in enumerate(map(self._bounds, rectangles))
        ]
        share, _, nth = min(ranks)
        if share == 0:
            raise self.reading.bad(
                f"{region.entry}, {region.label!r}, is not inside the rectangle of an object",
                "draw one around its object, or set its parent",
            )
        return rectangles[nth]

    def objects(self) -> Iterator[PartedObject]:
        self._attach()
        object_rows = []
        if "objects" in self.data:
            object_rows = rows(self.data, "objects", self.reading, self.entry)
        rows_by_key = {key: row for row in object_rows if isinstance(key := row.get("id"), str)}
        for _, choice in self.choices:
            self.reading.skip("choice", "it has no shape", f"{choice} in {self.entry}")
        for key in rows_by_key:
            if key not in self.regions:
                self.reading.tell(f"Object {key} of {self.entry} was deleted in Label Studio.")
        for region in self.regions.values():
            if region.above is not None:
                continue
            made = None
            with self.reading.collecting_faults():
                made = self._object(region, rows_by_key.get(region.key, {}))
            if made is not None:
                yield made

    def instance(self, regions: list[Region]) -> Instance | None:
        """Return the pieces of one object as an instance; None if they are empty."""
        first = regions[0]
        polygons: Polygons = ()
        if not self._is_upright(first):
            polygons = self._polygons(regions, first.entry)
        box = None if polygons else self._bounds(first)
        if box is not None and not (box[0] < box[2] and box[1] < box[3]):
            self.reading.skip("region", "it has no area", first.entry)
            return None
        flags = tuple(flag for flag in FLAGS if flag in _list(first.meta.get("flags")))
        return self.reading.instance(
            box, polygons, flags or None, first.size, first.entry, first.number
        )

    def _object(self, region: Region, row: dict[str, object]) -> PartedObject | None:
        for labeled in (region, *_descendants(region)):
            if len(labeled.labels) > 1:
                raise self.reading.bad(f"{labeled.entry} has not one label", "use one label")
        shape = self.instance([region])
        if shape is None:
            return None
        inside = [inner for inner in _descendants(region) if not inner.is_hole]
        drawn = [inner for inner in inside if inner.label == OUTLINE]
        outline = shape.polygons if region.shape != RECTANGLE else None
        if outline is None and drawn:
            outline = self._polygons(drawn, region.entry)
        parts = [inner for inner in inside if inner.label != OUTLINE]
        listed_parts = self._listed_parts(row, parts, region) if row else list(self._drawn(parts))
        object_row = dict(row)
        if region.shape == RECTANGLE:
            object_row["box"] = self._moved(row.get("box"), shape.box)
        return self.reading.parted(
            object_row, self.image, region.label, listed_parts, outline, region.size, region.entry
        )

    def _listed_parts(
        self, row: dict[str, object], regions: list[Region], whole: Region
    ) -> list[Part]:
        """Return the parts in the task's data with their regions, then the parts drawn since."""
        parts = []
        left = {region.key: region for region in regions}
        for part_row in rows(row, "parts", self.reading, whole.entry):
            key = part_row.get("id")
            mine = [
                candidate for candidate in left.values() if candidate.key.rpartition(".")[0] == key
            ]
            for region in mine:
                del left[region.key]
            if not mine and part_row.get("unseen") is not True:
                self.reading.tell(f"{part_row.get('part')} of {whole.entry} was deleted.")
                continue
            entry = f"{part_row.get('part')} of {whole.entry}"
            polygons = self._polygons(mine, entry, part_row.get("origin") == "made")
            # Somebody may have changed its label.
            renamed = part_row | {"part": mine[0].label} if mine else part_row
            parts.append(self.reading.part(renamed, polygons, whole.size, entry))
        return [*parts, *self._drawn(left.values())]

    def _drawn(self, regions: Iterable[Region]) -> Iterator[Part]:
        for region in regions:
            polygons = self._polygons([region], region.entry)
            if polygons:
                yield Part(region.label, polygons)
            else:
                self.reading.skip("region", "it has no area", region.entry)

    def _moved(self, stored_box: object, drawn: Box) -> Box:
        """Return the exported box, unless its rectangle was moved since."""
        if stored_box is None:
            return drawn
        box = self.reading.box(stored_box, self.entry)
        near = all(abs(a - b) < 0.01 for a, b in zip(box, drawn, strict=True))
        return box if near else drawn

    def _polygons(self, regions: list[Region], entry: str, made: bool = False) -> Polygons:
        """Return the area of the regions: polygons with holes, or one painted mask."""
        if not regions:
            return ()
        if len(regions) == 1 and regions[0].shape == BRUSH:
            return self._painted(regions[0])
        pieces = []
        size = (0, 0)
        for region in regions:
            size = region.size
            holes = [self._points(hole) for hole in region.below if hole.is_hole]
            pieces.append([self._points(region), *holes])
        return self.reading.polygons(pieces, size, f"{entry[0].upper()}{entry[1:]}", made)

    def _painted(self, region: Region) -> Polygons:
        mask = mask_of_brush(region.value.get("rle"), region.size)
        if mask is None:
            raise self.reading.bad(
                f"{region.entry} has a painted mask that is not of {region.size[0]} × "
                f"{region.size[1]} pixels",
                "export it again",
            )
        return polygons_of(mask)

    def _points(self, region: Region) -> Points:
        """Return the corners of a polygon, a rectangle or an ellipse, in pixels."""
        width, height = region.size[0] / 100, region.size[1] / 100
        if region.shape != POLYGON:
            corners = self._corners if region.shape == RECTANGLE else self._around_ellipse
            return [(round(x, 2), round(y, 2)) for x, y in corners(region)]
        points = region.value.get("points")
        if not (
            isinstance(points, list)
            and all(isinstance(point, list) and len(point) == 2 for point in points)
            and all(map(is_number, (edge for point in points for edge in point)))
        ):
            raise self.reading.bad(
                f"{region.entry} has no list of points", "write [[x, y], …] in per cent"
            )
        return [(round(x * width, 2), round(y * height, 2)) for x, y in points]

    def _corners(self, region: Region) -> Points:
        """Return the corners of a rectangle, rotated about the first, as in Label Studio."""
        x, y, width, height, turned = self._numbers(region, "x", "y", "width", "height")
        cos, sin = _turn(turned)
        return [
            (x + a * cos - b * sin, y + a * sin + b * cos)
            for a, b in ((0, 0), (width, 0), (width, height), (0, height))
        ]

    def _around_ellipse(self, region: Region) -> Points:
        """Return corners along an ellipse, rotated about its centre."""
        x, y, across, down, turned = self._numbers(region, "x", "y", "radiusX", "radiusY")
        cos, sin = _turn(turned)
        angles = [math.tau * nth / ELLIPSE_CORNERS for nth in range(ELLIPSE_CORNERS)]
        ring = [(across * math.cos(angle), down * math.sin(angle)) for angle in angles]
        return [(x + a * cos - b * sin, y + a * sin + b * cos) for a, b in ring]

    def _numbers(self, region: Region, *keys: str) -> tuple[float, float, float, float, float]:
        """Return x, y and two lengths in pixels, and the rotation in degrees. Raises BadInput."""
        values = (region.value.get(key, 0) for key in (*keys, "rotation"))
        numbers = [value for value in values if is_number(value) and math.isfinite(value)]
        if len(numbers) != 5 or min(numbers[2:4]) < 0:
            raise self.reading.bad(
                f"{region.entry} is not a valid {region.shape}",
                f"write {', '.join(keys)} in per cent",
            )
        x, y, a, b, turned = numbers
        width, height = region.size[0] / 100, region.size[1] / 100
        return x * width, y * height, a * width, b * height, turned

    def _is_upright(self, region: Region) -> bool:
        """Return whether the region is an axis-parallel rectangle, which equals its box."""
        if region.shape != RECTANGLE:
            return False
        turned = region.value.get("rotation", 0)
        return not is_number(turned) or turned % 90 == 0

    def _bounds(self, region: Region) -> Box:
        """Return the box around a region, to the hundredth of a pixel."""
        if region.shape == BRUSH:
            return box_of(self._painted(region))
        points = self._points(region)
        if not points:
            raise self.reading.bad(f"{region.entry} has no points", "draw it again")
        xs, ys = zip(*points, strict=True)
        return (min(xs), min(ys), max(xs), max(ys))


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _turn(degrees: float) -> tuple[float, float]:
    """Return cosine and sine of an angle, exact for right angles."""
    if degrees % 90 == 0:
        return [(1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0)][int(degrees // 90) % 4]
    return math.cos(math.radians(degrees)), math.sin(math.radians(degrees))


def _descendants(region: Region) -> Iterator[Region]:
    for child in region.below:
        yield child
        yield from _descendants(child)
