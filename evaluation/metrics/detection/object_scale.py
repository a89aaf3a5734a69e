"""How large, how crowded and how predictable the objects of a class are, from true boxes alone.

Source: Russakovsky et al. (2015), §3.2.2, §6.3.3 and Appendix B. Pixels are inclusive if a box
from 3 to 3 is one pixel wide; every function has an argument for it.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from evaluation.metrics.wsol.box_scores import ious


def image_shares(
    corners: NDArray[np.floating], sizes: NDArray[np.floating], inclusive: bool
) -> NDArray[np.float64]:
    """Return (N,) the share of its image that each box covers.

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
    """Return (N, 4) boxes scaled to images of 1 × 1, with exclusive right edges.

    Boxes are clipped to the image.
    """
    edges = np.array(corners, float).reshape(-1, 4)
    edges[:, 2:] += float(inclusive)
    edges /= np.tile(np.asarray(sizes, float).reshape(-1, 2), 2)
    return edges.clip(0, 1)


def chance_performance(
    corners: NDArray[np.floating], sizes: NDArray[np.floating], inclusive: bool
) -> float:
    """Return the CPL of one class (Eq. 6): the share of ordered pairs of instances with IoU ≥ 0.5.

    Images are scaled to one size first. NaN for fewer than two instances. The formula also counts
    pairs in one image, which the text leaves out; this follows the formula.

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
    """Return (N,) how many other boxes of its group each box overlaps or shares an edge or corner
    with.

    groups: (N,) the same number for the boxes of one class in one image. The paper only says
    "adjacent"; that boxes touch is our reading.

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


# Windows per image that the paper samples.
MAX_WINDOWS = 1000


def windows_needed(windows: NDArray[np.floating], objects: NDArray[np.floating]) -> int:
    """Return OBJ(m): the rank, from 1, of the first window with IoU ≥ 0.5 with an object.

    windows: (K, 4) in the order of their ranks, of which the first 1,000 count; objects: (N, 4) of
    one class in the image, N > 0; exclusive corners. 1,001 if no window fits.

    >>> windows = np.array([[0, 0, 9, 9], [4, 4, 8, 8]])
    >>> windows_needed(windows, np.array([[4, 4, 8, 7]]))
    2
    """
    fits = ious(np.asarray(windows, float)[:MAX_WINDOWS], np.asarray(objects, float)).max(axis=1)
    ranks = np.flatnonzero(fits >= 0.5)
    return int(ranks[0]) + 1 if len(ranks) else MAX_WINDOWS + 1


def clutter(needed: Sequence[int]) -> float:
    """Return the clutter of a class (Eq. 7) from OBJ(m) of its images; NaN without images.

    >>> clutter([1, 7])
    2.0
    """
    return math.log2(sum(needed) / len(needed)) if needed else math.nan
