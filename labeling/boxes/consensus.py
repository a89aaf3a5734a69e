"""Merging several drawings of a box, and estimating the error of the result.

Each person's error on each side is normal, with a personal deviation proportional to the longer
side of the box. Deviations are learned by expectation maximisation, under an inverse-gamma prior,
from boxes that several people drew or whose truth is known. The merged side is the
precision-weighted mean; its posterior gives the expected IoU error. docs/explanation/boxes.md.
"""

import functools
import math
from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from labeling.geometry.boxes import Box, iou

# Prior deviation of an unknown person, as a share of the longer side, and its weight in sides.
PRIOR_SIGMA = 0.03
PRIOR_SIDES = 2.0
SAME_IOU = 0.5
SAMPLES = 2_000
ROUNDS, TOLERANCE = 500, 1e-7
# Lower limit of a deviation: a person who hit a side by chance must not outweigh all others.
MIN_SIGMA = 0.001

Person = TypeVar("Person", bound=Hashable)


class MergedBox(NamedTuple):
    """A box merged from several drawings. sigma: deviation of each side, in pixels."""

    box: Box
    sigma: float

    def error(self) -> "BoxError":
        """Return the expected distance from the true box; see expected_error."""
        return expected_error(self.box, self.sigma)


class BoxError(NamedTuple):
    """Mean and deviation of 1 − IoU with the true box."""

    mean: float
    deviation: float


def same_object(boxes: Sequence[Box]) -> list[list[int]]:
    """Group boxes of one class by object; return indices into the list.

    Greedy by IoU: pairs are joined from the highest overlap down to SAME_IOU. Groups and their
    members keep the order of the list.
    """
    pairs = sorted(
        (-iou(boxes[i], boxes[j]), i, j)
        for i in range(len(boxes))
        for j in range(i + 1, len(boxes))
    )
    group = list(range(len(boxes)))
    for overlap, i, j in pairs:
        if -overlap < SAME_IOU:
            break
        low, high = sorted((group[i], group[j]))
        group = [low if number == high else number for number in group]
    members: dict[int, list[int]] = {}
    for index, group_number in enumerate(group):
        members.setdefault(group_number, []).append(index)
    return list(members.values())


def learn_sigmas(
    drawings: Sequence[Sequence[tuple[Person, Box]]], known: Sequence[Box | None]
) -> dict[Person, float]:
    """Return each person's deviation of a side, as a share of the longer side of the box.

    drawings: for each object, who drew which box. known: its true box or None; same length. Objects
    with one drawing and no known box are ignored. E-step: the posterior of each true side given the
    deviations; M-step: the mean of each variance's posterior under an inverse-gamma prior with mean
    PRIOR_SIGMA² that weighs as much as PRIOR_SIDES sides.
    """
    useful = [
        (drawn, box)
        for drawn, box in zip(drawings, known, strict=True)
        if box is not None or len(drawn) > 1
    ]
    people = list(dict.fromkeys(person for drawn, _ in useful for person, _ in drawn))
    sigmas = dict.fromkeys(people, PRIOR_SIGMA)
    counts = dict.fromkeys(people, 0)
    for drawn, _ in useful:
        for person, _ in drawn:
            counts[person] += 4
    for _ in range(ROUNDS):
        squares = dict.fromkeys(people, 0.0)
        for drawn, box in useful:
            scale = _longer(box or drawn[0][1])
            truth, variance = (box, 0.0) if box is not None else _posterior(drawn, sigmas)
            for person, drawn_box in drawn:
                off = math.fsum((a - b) ** 2 for a, b in zip(drawn_box, truth, strict=True))
                squares[person] += off / scale**2 + 4 * variance
        before = sigmas
        sigmas = {
            person: max(
                MIN_SIGMA,
                math.sqrt(
                    (squares[person] + PRIOR_SIDES * PRIOR_SIGMA**2)
                    / (counts[person] + PRIOR_SIDES)
                ),
            )
            for person in people
        }
        if max((abs(sigmas[person] - before[person]) for person in people), default=0) < TOLERANCE:
            break
    return sigmas


def merge(drawn: Sequence[tuple[Person, Box]], sigmas: Mapping[Person, float]) -> MergedBox:
    """Return the box merged from one or more drawings of one object."""
    box, variance = _posterior(drawn, sigmas)
    if len(drawn) == 1:
        box = drawn[0][1]
    return MergedBox(box, math.sqrt(variance) * _longer(box))


def expected_error(box: Box, sigma: float) -> BoxError:
    """Return mean and deviation of 1 − IoU of a box with a normal error of each side.

    sigma: deviation of the errors in pixels; they are independent. Computed over SAMPLES samples
    that are the same for every box.
    To first order the mean is the four sides' mean distances over the area: σ √(2/π) (2/w + 2/h).

    >>> [round(one, 3) for one in expected_error((0, 0, 100, 100), 1)]
    [0.031, 0.011]
    """
    width, height = box[2] - box[0], box[3] - box[1]
    x0, y0, x1, y1 = _samples() * sigma + np.array([[0.0], [0.0], [width], [height]])
    # If a side crosses the opposite one, the intersection is empty.
    shared = np.clip(np.minimum(x1, width) - np.maximum(x0, 0), 0, None) * np.clip(
        np.minimum(y1, height) - np.maximum(y0, 0), 0, None
    )
    areas = np.clip(x1 - x0, 0, None) * np.clip(y1 - y0, 0, None)
    errors = 1 - shared / (width * height + areas - shared)
    return BoxError(float(errors.mean()), float(errors.std()))


@functools.cache
def _samples() -> NDArray[np.float64]:
    """Return (4, SAMPLES) standard normal errors of the sides, each with its negative."""
    half = np.random.default_rng(0).standard_normal((4, SAMPLES // 2))
    return np.concatenate([half, -half], axis=1)


def _posterior(
    drawn: Sequence[tuple[Person, Box]], sigmas: Mapping[Person, float]
) -> tuple[Box, float]:
    """Return the precision-weighted mean of each side, and the variance as a squared share of the
    longer side.
    """
    weights = [1 / sigmas.get(person, PRIOR_SIGMA) ** 2 for person, _ in drawn]
    total = math.fsum(weights)
    x0, y0, x1, y1 = (
        math.fsum(weight * box[side] for weight, (_, box) in zip(weights, drawn, strict=True))
        / total
        for side in range(4)
    )
    return (x0, y0, x1, y1), 1 / total


def _longer(box: Box) -> float:
    return max(box[2] - box[0], box[3] - box[1])
