# mypy: disable-error-code="assignment,return-value"
# numba infers the types of these loops; type hints cannot express them all.
"""Greedy matching of detections to objects, compiled. Import this only inside functions."""

import numpy as np
from numpy.typing import NDArray

# Sets the cache folder of machine code before numba is imported.
from labeling.numba_cache import njit


@njit(nogil=True, cache=True)
def match_greedily(
    first: NDArray[np.int64],
    end: NDArray[np.int64],
    boxes: NDArray[np.float64],
    objects: NDArray[np.float64],
    needed: NDArray[np.float64],
    extra: float,
) -> NDArray[np.int64]:
    """Return (D,) the object that each detection, most confident first, takes; −1 if none is left.

    Its candidates are objects[first:end] of its class and image; needed: the IoU that each
    requires. extra: is added to every width and height.
    """
    matches = np.full(len(boxes), -1)
    taken = np.zeros(len(objects), np.bool_)
    for d in range(len(boxes)):
        x0, y0, x1, y1 = boxes[d, 0], boxes[d, 1], boxes[d, 2], boxes[d, 3]
        area = (x1 - x0 + extra) * (y1 - y0 + extra)
        best, chosen = -1.0, -1
        for k in range(first[d], end[d]):
            if taken[k]:
                continue
            width = min(x1, objects[k, 2]) - max(x0, objects[k, 0]) + extra
            height = min(y1, objects[k, 3]) - max(y0, objects[k, 1]) + extra
            if width <= 0 or height <= 0:
                continue
            shared = width * height
            object_area = (objects[k, 2] - objects[k, 0] + extra) * (
                objects[k, 3] - objects[k, 1] + extra
            )
            overlap = shared / (area + object_area - shared)
            if overlap >= needed[k] and overlap > best:
                best, chosen = overlap, k
        if chosen >= 0:
            taken[chosen] = True
            matches[d] = chosen
    return matches
