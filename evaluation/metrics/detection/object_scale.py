"""How large, how crowded and how predictable the objects of a class are, from true boxes alone.

Source: Russakovsky et al. (2015), §3.2.2, §6.3.3 and Appendix B. Pixels are inclusive where a box
from 3 to 3 is one pixel wide; every function is told which.
"""

import math

import numpy as np
from numpy.typing import NDArray


def image_shares(
    corners: NDArray[np.floating], sizes: NDArray[np.floating], inclusive: bool
) -> NDArray[np.float64]:
    """(N,) the share of its image that each box takes.

    corners: (N, 4) x0 y0 x1 y1 in pixels; sizes: (N, 2) width and height of the image of each box.

    >>> image_shares(np.array([[0, 0, 9, 9]]), np.array([[20, 10]]), inclusive=True).tolist()
    [0.5]
    """
    edges = in_unit_square(corners, sizes, inclusive)
    shares: NDArray[np.float64] = (edges[:, 2:] - edges[:, :2]).prod(axis=1)
    return shares


def in_unit_square(
    corners: NDArray[np.floating], sizes: NDArray[np.floating], inclusive: bool
) -> NDArray[np.float64]:
    """(N, 4) the boxes after every image has been brought to 1 × 1; their right edges exclusive.

    What lies outside the image is cut off.
    """
    edges = np.array(corners, float).reshape(-1, 4)
    edges[:, 2:] += float(inclusive)
    edges /= np.tile(np.asarray(sizes, float).reshape(-1, 2), 2)
    return edges.clip(0, 1)


def chance_performance(
    corners: NDArray[np.floating], sizes: NDArray[np.floating], inclusive: bool
) -> float:
    """CPL of one class (Eq. 6): over ordered pairs of its instances, the share with IoU 0.5 or more
    after every image has been brought to one size. NaN for fewer than two instances.

    The formula counts pairs in one image too, which the text leaves out; ours is the formula.

    >>> boxes = np.array([[0, 0, 2, 2], [0, 0, 2, 1], [3, 3, 4, 4]])
    >>> round(chance_performance(boxes, np.full((3, 2), 10), inclusive=False), 4)
    0.3333
    """
    from evaluation.metrics.detection.kernels_scales import count_alike

    count = len(corners)
    if count < 2:
        return math.nan
    edges = in_unit_square(corners, sizes, inclusive)
    areas = (edges[:, 2:] - edges[:, :2]).prod(axis=1)
    order = np.argsort(areas, kind="stable")
    return 2 * int(count_alike(edges[order], areas[order])) / (count * (count - 1))


def neighbours(
    groups: NDArray[np.int64], corners: NDArray[np.floating], inclusive: bool
) -> NDArray[np.int64]:
    """(N,) with how many other boxes of its group each box overlaps or shares an edge or corner.

    groups: (N,) the same number for the boxes of one class in one image. The paper says adjacent
    and no more: that boxes touch is our reading.

    >>> boxes = np.array([[0, 0, 2, 2], [2, 1, 4, 3], [7, 7, 9, 9]])
    >>> neighbours(np.zeros(3, int), boxes, inclusive=False).tolist()
    [1, 1, 0]
    """
    from evaluation.metrics.detection.kernels_scales import count_touching

    order = np.argsort(groups, kind="stable")
    edges = np.array(corners, float).reshape(-1, 4)[order]
    edges[:, 2:] += float(inclusive)
    counts = np.zeros(len(groups), np.int64)
    counts[order] = count_touching(np.asarray(groups, np.int64)[order], edges)
    return counts
