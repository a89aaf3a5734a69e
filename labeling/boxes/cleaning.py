"""Validation of submitted boxes, points and flags: upright pixels, rounded to tenths."""

from collections.abc import Sequence

from labeling.boxes.chain import FLAGS
from labeling.errors import Refusal
from labeling.geometry.boxes import Box, area

# Boxes that differ by less on every side are duplicates (Russakovsky et al., App. E).
APART_PX = 5
# Objects below this share of the image are small.
SMALL = 0.01


def refusal(message: str) -> Refusal:
    return Refusal(message, field="value", code="bad_value")


def clean_box(value: object, width: int, height: int) -> Box:
    """Return the box rounded to tenths. width, height: of the upright image.

    Raises Refusal unless it lies in the image and has an area.
    """
    if not isinstance(value, list) or len(value) != 4:
        raise refusal("The box is a list of four numbers: left, top, right, bottom.")
    x0, y0, x1, y1 = (_number(side, "The box") for side in value)
    if min(x0, y0) < 0 or x1 > width or y1 > height:
        raise refusal(f"The box extends beyond the upright image of {width} × {height} pixels.")
    # Round first: 12.1 − 11.1 is less than 1 in binary.
    if round(x1 - x0, 1) < 1 or round(y1 - y0, 1) < 1:
        raise refusal(
            "The box has no area of a pixel: its right side must lie right of the left one, and"
            " the bottom below the top."
        )
    return x0, y0, x1, y1


def clean_point(value: object, width: int, height: int) -> tuple[float, float]:
    """Return the point rounded to tenths. Raises Refusal unless it lies in the image."""
    if not isinstance(value, list) or len(value) != 2:
        raise refusal("A point is a list of two numbers.")
    x, y = _number(value[0], "A point"), _number(value[1], "A point")
    if not (0 <= x <= width and 0 <= y <= height):
        raise refusal("A point is outside the image.")
    return x, y


def clean_flags(value: object) -> list[str]:
    """Return the flags in their order. Raises Refusal."""
    if not isinstance(value, list) or any(flag not in FLAGS for flag in value):
        raise refusal(f"flags are a list of: {', '.join(FLAGS)}.")
    return [flag for flag in FLAGS if flag in value]


def _number(value: object, subject: str) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e9:
        return round(float(value), 1)
    # NaN and infinity fail, too.
    raise refusal(f"{subject} has {str(value)[:60]!r} where a number of pixels is wanted.")


def as_box(sides: Sequence[float]) -> Box:
    """Return a validated list of four sides as a Box."""
    x0, y0, x1, y1 = sides
    return x0, y0, x1, y1


def is_same(box: Sequence[float], second_box: Sequence[float]) -> bool:
    """Return whether two boxes differ by less than APART_PX on every side."""
    return all(abs(a - b) < APART_PX for a, b in zip(box, second_box, strict=True))


def holds(box: Sequence[float], point: Sequence[float]) -> bool:
    """Return whether the point lies in the box."""
    x, y = point
    return box[0] <= x <= box[2] and box[1] <= y <= box[3]


def is_small(box: Sequence[float], width: int, height: int) -> bool:
    """Return whether a box covers under SMALL of its image."""
    return area(as_box(box)) < SMALL * width * height


def clean_extremes(value: object, box: Box, width: int, height: int) -> list[list[float]]:
    """Return the four clicked points of a box.

    Raises Refusal unless the box is their bounding box.
    """
    if not isinstance(value, list) or len(value) != 4:
        raise refusal("A clicked box has four points: leftmost, topmost, rightmost, lowest.")
    points = [clean_point(point, width, height) for point in value]
    columns, rows = zip(*points, strict=True)
    if (min(columns), min(rows), max(columns), max(rows)) != box:
        raise refusal("The box is not the one around its four points.")
    return [list(point) for point in points]
