"""Prompts for a part: points on it and beside it, a box around it, a stroke along it."""

from collections.abc import Sequence
from dataclasses import dataclass

from labeling.errors import Refusal
from labeling.geometry.polygons import TENTHS

# Labels of points, as exports of SAM have them.
OFF_PART, ON_PART, BOX_START, BOX_END, PADDING = 0, 1, 2, 3, -1
MAX_POINTS = 32
MAX_STROKE = 1_000
# Number of points that represent a stroke.
STROKE_POINTS = 8
KEYS = ("points", "box", "stroke")
Point = tuple[float, float]


@dataclass(frozen=True)
class Prompts:
    """points: (x, y, ON_PART or OFF_PART). box: x0, y0, x1, y1. stroke: its corners in order.

    In pixels of the upright image, on tenths; at least one point on the part, a box or a stroke.
    """

    points: tuple[tuple[float, float, int], ...] = ()
    box: tuple[float, float, float, float] | None = None
    stroke: tuple[Point, ...] = ()

    def as_json(self) -> dict[str, object]:
        return {
            "points": [list(point) for point in self.points],
            "box": None if self.box is None else list(self.box),
            "stroke": [list(point) for point in self.stroke],
        }

    def labelled(self) -> list[tuple[float, float, int]]:
        """Return points for the decoder: the box as two corners, the stroke as points on it; a
        padding point if there is no box.
        """
        labelled_points = list(self.points) + [
            (x, y, ON_PART) for x, y in spread(self.stroke, STROKE_POINTS)
        ]
        if self.box is None:
            return [*labelled_points, (0.0, 0.0, PADDING)]
        x0, y0, x1, y1 = self.box
        return [*labelled_points, (x0, y0, BOX_START), (x1, y1, BOX_END)]

    def points_on_part(self) -> list[Point]:
        """Return the points on the part."""
        return [(x, y) for x, y, label in self.labelled() if label == ON_PART]


def clean(value: object, width: int, height: int) -> Prompts:
    """Return the prompts in JSON. width, height: of the image, in pixels. Raises Refusal."""
    if not isinstance(value, dict) or not set(value) <= set(KEYS):
        raise _refused("Prompts are an object with points, box and stroke.")
    points, stroke = value.get("points") or [], value.get("stroke") or []
    if not isinstance(points, list) or len(points) > MAX_POINTS:
        raise _refused(
            f"points must be a list of at most {MAX_POINTS} points [x, y, 1 on the part or 0 off "
            "it]."
        )
    if not isinstance(stroke, list) or len(stroke) > MAX_STROKE:
        raise _refused(f"stroke is a list of at most {MAX_STROKE} [x, y].")
    prompts = Prompts(
        tuple(_point(point, width, height) for point in points),
        _box(value.get("box"), width, height),
        tuple(_place(point, width, height) for point in stroke),
    )
    if prompts.box is None and not prompts.points_on_part():
        raise _refused("Show something of the part: a point on it, a box or a stroke.")
    return prompts


def spread(line: Sequence[Point], count: int) -> list[Point]:
    """Return at most `count` points evenly along a line, including its ends.

    >>> spread([(0.0, 0.0), (10.0, 0.0)], 3)
    [(0.0, 0.0), (5.0, 0.0), (10.0, 0.0)]
    """
    import numpy as np

    if len(line) < 2:
        return list(line)
    corners = np.asarray(line, float)
    steps = np.hypot(*np.diff(corners, axis=0).T)
    along = np.concatenate([[0.0], np.cumsum(steps)])
    if along[-1] == 0:
        return [line[0]]
    at = np.linspace(0, along[-1], count)
    xs, ys = (np.interp(at, along, corners[:, axis]) for axis in (0, 1))
    return [(round(float(x), 1), round(float(y), 1)) for x, y in zip(xs, ys, strict=True)]


def _point(value: object, width: int, height: int) -> tuple[float, float, int]:
    if not isinstance(value, list) or len(value) != 3 or value[2] not in (OFF_PART, ON_PART):
        raise _refused("A point must be [x, y, 1 on the part or 0 off it].")
    return (*_place(value[:2], width, height), int(value[2]))


def _place(value: object, width: int, height: int) -> Point:
    if not isinstance(value, list) or len(value) != 2 or not all(map(_is_number, value)):
        raise _refused("A place is [x, y] in pixels of the image.")
    x, y = value
    # The comparison also fails for NaN.
    if not (0 <= x <= width and 0 <= y <= height):
        raise _refused(f"{x}, {y} is outside the image of {width} × {height} pixels.")
    return round(x * TENTHS) / TENTHS, round(y * TENTHS) / TENTHS


def _box(value: object, width: int, height: int) -> tuple[float, float, float, float] | None:
    if value is None:
        return None
    if not isinstance(value, list) or len(value) != 4:
        raise _refused("box is [x0, y0, x1, y1], or left out.")
    x0, y0 = _place(value[:2], width, height)
    x1, y1 = _place(value[2:], width, height)
    if x0 >= x1 or y0 >= y1:
        raise _refused("The box has no area: give its upper left corner, then the lower right one.")
    return x0, y0, x1, y1


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _refused(message: str) -> Refusal:
    return Refusal(message, field="prompts", code="bad_prompts")
