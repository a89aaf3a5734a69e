"""Polygons as SVG paths over a photograph. Pure."""

from collections.abc import Sequence

from labeling.geometry.polygons import Polygons


def path_data(polygons: Polygons) -> str:
    """Return the `d` of a path in image pixels, for fill-rule evenodd; "" for none.

    >>> path_data(((((0, 0), (2.5, 0), (2, 1)),),))
    'M0 0 2.5 0 2 1Z'
    """
    return "".join(
        "M" + " ".join(f"{x:g} {y:g}" for x, y in ring) + "Z"
        for piece in polygons
        for ring in piece
    )


def view_box(box: Sequence[float]) -> str:
    """Return the viewBox of an SVG that shows a box x0, y0, x1, y1 of the image.

    >>> view_box((10, 20, 30, 50.5))
    '10 20 20 30.5'
    """
    x0, y0, x1, y1 = box
    return f"{x0:g} {y0:g} {round(x1 - x0, 1):g} {round(y1 - y0, 1):g}"
