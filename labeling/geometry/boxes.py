"""Axis-parallel boxes: x0, y0, x1, y1 in pixels, x1 and y1 exclusive."""

Box = tuple[float, float, float, float]


def area(box: Box) -> float:
    """Return the area in square pixels; 0 for an inverted box."""
    x0, y0, x1, y1 = box
    return max(0.0, x1 - x0) * max(0.0, y1 - y0)


def iou(a: Box, b: Box) -> float:
    """Return the IoU of two boxes, in [0, 1].

    >>> iou((0, 0, 10, 10), (5, 0, 15, 10))
    0.3333333333333333
    """
    shared = area((max(a[0], b[0]), max(a[1], b[1]), min(a[2], b[2]), min(a[3], b[3])))
    return shared / (area(a) + area(b) - shared) if shared else 0.0
