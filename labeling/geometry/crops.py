"""Crops of objects, tight or with context. Pure.

A box is x0, y0, x1, y1 in pixels of the image, x1 and y1 exclusive. Crops are whole pixels.
"""

import math
from collections.abc import Sequence
from fractions import Fraction

Crop = tuple[int, int, int, int]
# Context as a share of width and height, as in Sarvadevabhatla et al. 2016, Supplement A §1.
SHARE = 0.18


def tight(box: Sequence[float], width: int, height: int) -> Crop:
    """Return the smallest box of whole pixels around the box, in an image of width x height.

    >>> tight((2.5, 3, 7.1, 9), 20, 20)
    (2, 3, 8, 9)
    """
    x0, y0, x1, y1 = box
    return (
        max(0, math.floor(x0)),
        max(0, math.floor(y0)),
        min(width, math.ceil(x1)),
        min(height, math.ceil(y1)),
    )


def widened(
    box: Sequence[float], width: int, height: int, share: float = SHARE
) -> tuple[Crop, bool]:
    """Return the box with context, and whether the image has room for it.

    The crop is `share` wider and higher than the box, half of it on each side, rounded outward and
    clipped to the image. There is room if the crop reaches 1 + share times the box's width or
    height; the paper keeps only such objects.

    >>> widened((100, 100, 200, 300), 500, 500)
    ((91, 82, 209, 318), True)
    >>> widened((0, 0, 200, 300), 200, 500)
    ((0, 0, 200, 327), False)
    """
    # Exact: 0.18 * 50 / 2 in floating point is a little above 4.5, which would cost a pixel.
    half = Fraction(str(share)) / 2
    x0, y0, x1, y1 = (Fraction(value) for value in box)
    aside, above = (x1 - x0) * half, (y1 - y0) * half
    crop = tight((x0 - aside, y0 - above, x1 + aside, y1 + above), width, height)  # type: ignore[arg-type]
    whole = 1 + 2 * half
    wide = crop[2] - crop[0] >= whole * (x1 - x0)
    high = crop[3] - crop[1] >= whole * (y1 - y0)
    return crop, wide or high
