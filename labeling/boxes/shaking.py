"""Boxes for gold: good ones as people draw them, and bad ones with a given overlap."""

import math
import random

from labeling.geometry.boxes import Box, area, iou

# Good boxes: mean error of a side as a share of the longer side (METHODS), and the lowest overlap,
# which is within human noise.
SIGMA = 0.02
MIN_GOOD = 0.85
# Half of the bad boxes have the first overlap, half the second.
BAD = ((0.3, 0.6), (0.6, 0.7))
# Distance of pointing from an object's middle, as a share of its sides.
AIM = 0.15
STEPS = 40
SIDES = ("left", "top", "right", "bottom")


def good(box: Box, width: int, height: int, chance: random.Random) -> Box:
    """Return the box as a careful person would draw it: on tenths, inside the image."""
    longer = max(box[2] - box[0], box[3] - box[1])
    for _ in range(STEPS):
        moved = [side + chance.gauss(0, SIGMA * longer) for side in box]
        shaken = _inside(moved, width, height)
        if iou(shaken, box) >= MIN_GOOD:
            return shaken
    return _inside(list(box), width, height)


def point(box: Box, chance: random.Random) -> list[float]:
    """Return where a person would point at the object: near the middle, on tenths."""
    x0, y0, x1, y1 = box
    inside = [min(max(chance.gauss(0.5, AIM), 0.1), 0.9) for _ in range(2)]
    return [round(x0 + inside[0] * (x1 - x0), 1), round(y0 + inside[1] * (y1 - y0), 1)]


def bad(box: Box, width: int, height: int, chance: random.Random) -> Box | None:
    """Return the box with sides moved in a random direction until its overlap with the original is
    a random number in BAD; None if the image has no room for that.
    """
    for _ in range(STEPS):
        overlap = chance.uniform(*BAD[chance.random() < 0.5])
        direction = [chance.gauss(0, 1) for _ in range(4)]
        shaken = _shaken(box, direction, overlap, width, height)
        if shaken is not None:
            return shaken
    return None


def _shaken(
    box: Box, direction: list[float], overlap: float, width: int, height: int
) -> Box | None:
    """Return the box with its sides moved in `direction` until only `overlap` is left."""
    near, far = 0.0, float(max(width, height))
    for _ in range(STEPS):
        middle = (near + far) / 2
        moved = _moved(box, direction, middle, width, height)
        if area(moved) and iou(moved, box) > overlap:
            near = middle
        else:
            far = middle
    moved = _moved(box, direction, near, width, height)
    fits = area(moved) and math.isclose(iou(moved, box), overlap, abs_tol=0.02)
    # At least one pixel, as for drawn boxes.
    return moved if fits and min(moved[2] - moved[0], moved[3] - moved[1]) >= 1 else None


def reason(off: Box, box: Box) -> str:
    """Return what a person would say is wrong with the box: too loose or cropping if every side is,
    else shifted.
    """
    outward = (box[0] - off[0], box[1] - off[1], off[2] - box[2], off[3] - box[3])
    if all(side >= 0 for side in outward):
        return "loose"
    return "cropping" if all(side <= 0 for side in outward) else "shifted"


def worst_side(off: Box, box: Box) -> str:
    """Return the side with the largest error."""
    distances = [abs(moved_side - side) for moved_side, side in zip(off, box, strict=True)]
    return SIDES[distances.index(max(distances))]


def _moved(box: Box, direction: list[float], far: float, width: int, height: int) -> Box:
    sides = [side + far * step for side, step in zip(box, direction, strict=True)]
    return _inside(sides, width, height)


def _inside(sides: list[float], width: int, height: int) -> Box:
    x0, y0, x1, y1 = sides
    return (
        round(min(max(min(x0, x1), 0), width), 1),
        round(min(max(min(y0, y1), 0), height), 1),
        round(max(min(max(x0, x1), width), 0), 1),
        round(max(min(max(y0, y1), height), 0), 1),
    )
