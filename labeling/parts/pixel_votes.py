"""Merging drawings of one region: a weighted vote on every pixel, and each person's skill.

Pure: numpy and our geometry. Masks are bool arrays of one shape, one per drawing.
"""

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from labeling.geometry import regions
from labeling.geometry.polygons import Polygons
from labeling.geometry.regions import Mask, PixelBox

Floats = NDArray[np.float64]
# Weights are whole millionths, so that sums do not depend on the order of votes.
MILLIONTHS = 1_000_000
# Tolerance of simplifying pixel edges: removes steps, keeps corners.
SIMPLIFIED_PX = 0.5
# Distance at which boundaries match, as a share of the diagonal of the box around both drawings.
# (DAVIS takes 0.8 % of the image's, for objects that fill much of it.)
BOUNDARY_SHARE = 0.02
MIN_BOUNDARY_PX = 1.5
# Same values as in crowd-kit.
EM_ROUNDS, EM_TOLERANCE, EM_LEAST = 10, 1e-5, 1e-15


def pixel_vote(masks: Sequence[Mask], weights: Sequence[float] | None = None) -> Mask:
    """Return the pixels with more than half of the weight; exactly half is not enough.

    masks: (N, h, w), at least one. weights: (N,), above 0, 1 by default. The order does not matter.
    crowd-kit's SegmentationMajorityVote includes pixels with exactly half; otherwise the results
    are equal.
    """
    votes = np.asarray(masks, bool)
    whole = _whole(weights, len(votes))
    yes = np.tensordot(whole, votes.astype(np.int64), axes=1)
    return np.asarray(2 * yes > whole.sum())


def _whole(weights: Sequence[float] | None, count: int) -> NDArray[np.int64]:
    shares = np.ones(count) if weights is None else np.asarray(weights, float)
    return np.maximum(1, np.rint(shares * MILLIONTHS)).astype(np.int64)


def segmentation_em(masks: Sequence[Mask]) -> tuple[Mask, NDArray[np.float64]]:
    """Return the most probable region given everyone's skill, and the skills (N,): each person's
    accuracy on pixels that anybody included.

    masks: (N, h, w), at least one. One coin per person, as Dawid and Skene with one rate; starts at
    the majority, and each round's posteriors are the next one's priors. Pixels with the same voters
    are one case, so a round costs at most 2^N, however large the masks. Source: crowd-kit's
    SegmentationEM, after Jung-Lin Lee et al., Aggregating Crowdsourced Image Segmentations (2018);
    the tests compare both.
    """
    votes = np.asarray(masks, bool)
    flat = votes.reshape(len(votes), -1)
    cases, case_of_pixel, count = np.unique(flat, axis=1, return_inverse=True, return_counts=True)
    case_of_pixel = case_of_pixel.reshape(-1)
    drawn = int(flat.any(axis=0).sum())
    if not drawn:
        return np.zeros(votes.shape[1:], bool), np.ones(len(votes))
    yes = cases.astype(float)
    sizes = np.asarray(yes @ count, float)
    priors = yes.mean(axis=0)
    skills = _skills(yes, count, np.round(priors), drawn, sizes)
    loss = -math.inf
    for _ in range(EM_ROUNDS):
        posteriors = _posteriors(yes, skills, priors)
        posteriors[posteriors < EM_LEAST] = 0
        skills = _skills(yes, count, posteriors, drawn, sizes)
        bound = _lower_bound(yes, count, priors, posteriors, skills) / flat.size
        priors = posteriors
        if bound - loss < EM_TOLERANCE:
            break
        loss = bound
    return (priors > 0.5)[case_of_pixel].reshape(votes.shape[1:]), skills


def _skills(
    yes: Floats, count: NDArray[np.int64], truth: Floats, drawn: int, sizes: Floats
) -> Floats:
    wrong = (sizes + truth @ count - 2 * (yes * truth) @ count) / drawn
    return np.asarray(1 - wrong)


def _posteriors(yes: Floats, skills: Floats, priors: Floats) -> Floats:
    right = np.where(yes > 0, skills[:, None], 1 - skills[:, None])
    with np.errstate(divide="ignore", invalid="ignore"):
        log_yes = np.exp(np.log(priors) + np.log(right).sum(axis=0))
        log_no = np.exp(np.log(1 - priors) + np.log(1 - right).sum(axis=0))
        return np.asarray(np.nan_to_num(log_yes / (log_yes + log_no), nan=0))


def _lower_bound(
    yes: Floats, count: NDArray[np.int64], priors: Floats, posteriors: Floats, skills: Floats
) -> float:
    right = np.where(yes > 0, skills[:, None], 1 - skills[:, None])
    # A certain error has log 0, which crowd-kit lets overflow: then the rounds continue.
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        inside = np.nan_to_num((np.log(right) + np.log(priors)) * posteriors, nan=0)
        outside = np.nan_to_num((np.log(1 - right) + np.log(1 - priors)) * (1 - posteriors), nan=0)
        entropy = np.nan_to_num(np.log(posteriors) * posteriors, nan=0)
        return float(((inside + outside).sum(axis=0) - entropy) @ count)


def box_around(drawings: Sequence[Polygons]) -> PixelBox:
    """Return the bounding box, in pixels, of all these non-empty drawings."""
    return _joined([regions.box_of(drawing) for drawing in drawings])


def _joined(boxes: Sequence[PixelBox]) -> PixelBox:
    return (
        min(box[0] for box in boxes),
        min(box[1] for box in boxes),
        max(box[2] for box in boxes),
        max(box[3] for box in boxes),
    )


def region_vote(drawings: Sequence[Polygons], weights: Sequence[float]) -> Polygons:
    """Return the region drawn by more than half of the weight, as polygons; () if there is none.

    A drawing that covers exactly these pixels is returned as it is. Otherwise pixel edges are
    simplified to half a pixel. If everybody drew one piece, only the largest is kept; if nobody
    drew holes, they are filled.
    """
    if all(drawing == drawings[0] for drawing in drawings):
        return drawings[0]
    box = box_around(drawings)
    masks = [regions.mask_of(drawing, box) for drawing in drawings]
    voted = pixel_vote(masks, weights)
    if not voted.any():
        return ()
    pairs = zip(drawings, masks, strict=True)
    if same := [drawing for drawing, mask in pairs if (mask == voted).all()]:
        return min(same)
    polygons = regions.polygons_of(voted, (box[0], box[1]))
    drawn_holes = any(len(piece) > 1 for drawing in drawings for piece in drawing)
    if not drawn_holes and any(len(piece) > 1 for piece in polygons):
        polygons = regions.union([(piece[:1],) for piece in polygons])
    if all(len(drawing) == 1 for drawing in drawings):
        # A tie goes to the first in canonical order.
        polygons = (max(polygons, key=lambda piece: regions.area((piece,))),)
    return regions.simplify(polygons, SIMPLIFIED_PX)


def agreement(drawings: Sequence[Polygons]) -> list[tuple[float, float]]:
    """Return IoU and boundary F of every pair, in the order of combinations, each in [0, 1]."""
    if len(drawings) < 2:
        return []
    boxes = [regions.box_of(drawing) for drawing in drawings]
    x0, y0, x1, y1 = _joined(boxes)
    # One pixel of margin keeps all borders inside; rasterise once for all pairs.
    around = (x0 - 1, y0 - 1, x1 + 1, y1 + 1)
    masks = [regions.mask_of(drawing, around) for drawing in drawings]
    figures = []
    for a, b in combinations(range(len(drawings)), 2):
        if drawings[a] == drawings[b]:
            figures.append((1.0, 1.0))
            continue
        px0, py0, px1, py1 = _joined([boxes[a], boxes[b]])
        tolerance = max(MIN_BOUNDARY_PX, BOUNDARY_SHARE * math.hypot(px1 - px0, py1 - py0))
        iou = regions.iou(drawings[a], drawings[b])
        figures.append((iou, regions.mask_boundary_f(masks[a], masks[b], tolerance)))
    return figures
