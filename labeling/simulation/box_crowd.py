"""Simulated images, instances and people who draw, check and look for more boxes.

Pure; for simulating_boxes.py. BoxCrowd has the behaviour of people (docs/explanation/boxes.md).
Sizes and shapes of instances are our choice: the square root of an instance's share of the image is
uniform, 0.1 to 0.8, or 0.02 to 0.1 for small ones; the aspect ratio is lognormal.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeVar

import numpy as np
from scipy.stats import beta

from labeling.boxes.chain import COVER, DRAW, Point
from labeling.boxes.rules import GOOD, LIMITS, BoxRules
from labeling.errors import Refusal
from labeling.geometry.boxes import Box, area, iou
from labeling.kinds.policies import checked_number

# A step of some people who check a proposal: they correct its edges.
CORRECTION = "mend"
WIDTH, HEIGHT = 500.0, 375.0
LARGE, SMALL = (0.1, 0.8), (0.02, 0.1)
SHAPE = 0.4
GOOD_PROPOSAL, BAD_PROPOSAL = (0.7, 0.95), (0.0, 0.6)


@dataclass(frozen=True)
class BoxCrowd:
    """The people and images of a simulation of boxes.

    Lengths are shares of a box's longer side, times are seconds. sigma_good, sigma_hasty: deviation
    of a side; hasty: share of people with sigma_hasty. more: mean of the Poisson number of
    instances beyond the first. small: share of small instances, with at most 1 % of the image.
    elsewhere: probability that a drawing is wrong: half of these are around nothing of the class,
    half around an instance that has a box. accepts, careless: the probability that a check accepts
    a box rises with its IoU from `careless` to almost accepts + careless; strictness: how steeply;
    tight: IoU in the middle of the rise. careless_wrong: the same probability for wrong objects and
    duplicates. notices, notices_small: probability that a look for more finds an instance;
    false_alarm: that it reports one where none is. planted: share of the pairs with two boxes or
    more from which one is taken away, to see whether people report it. proposal_a, proposal_b: Beta
    distribution, over classes, of the probability that a proposal is good. mends: share of the
    people accepting a proposal who correct its edges, as exactly as they draw.
    """

    classes: int = 20
    people: int = 20
    hasty: float = 0.3
    sigma_good: float = 0.02
    sigma_hasty: float = 0.05
    more: float = 0.61
    small: float = 0.1
    elsewhere: float = 0.03
    accepts: float = 0.95
    strictness: float = 30.0
    tight: float = 0.7
    careless: float = 0.025
    careless_wrong: float = 0.05
    notices: float = 0.95
    notices_small: float = 0.85
    false_alarm: float = 0.03
    draw_seconds: float = 7.0
    draw_spread: float = 1.17
    check_seconds: float = 1.8
    check_seconds_slow: float = 3.5
    check_spread: float = 1.33
    cover_seconds: float = 7.8
    cover_spread: float = 1.16
    planted: float = 0.1
    proposal_a: float = 0.2
    proposal_b: float = 0.5
    mends: float = 0.0
    mend_seconds: float = 3.0
    mend_spread: float = 1.17

    def time_of(self, step: str, slow: bool = False) -> tuple[float, float]:
        """Return the median seconds of a step, and the deviation of their logarithm.

        slow: checks at the upper end of the known range.
        """
        if step == DRAW:
            return self.draw_seconds, self.draw_spread
        if step == COVER:
            return self.cover_seconds, self.cover_spread
        if step == CORRECTION:
            return self.mend_seconds, self.mend_spread
        return self.check_seconds_slow if slow else self.check_seconds, self.check_spread


CROWD_LIMITS: dict[str, tuple[float, float]] = {
    "classes": (1, 100_000),
    "people": (1, 100_000),
    "sigma_good": (0, 1),
    "sigma_hasty": (0, 1),
    "more": (0, 100),
    "strictness": (0, 10_000),
    "proposal_a": (0.001, 1_000),
    "proposal_b": (0.001, 1_000),
    **{f"{step}_seconds": (0.01, 3600) for step in ("draw", "check", "cover", "mend")},
    "check_seconds_slow": (0.01, 3600),
    **{f"{step}_spread": (0, 5) for step in ("draw", "check", "cover", "mend")},
}
Made = TypeVar("Made", BoxCrowd, BoxRules)


def clean(content: Mapping[str, object]) -> BoxCrowd:
    """Return the crowd of these keys, with defaults. Raises Refusal, which names the key."""
    return _clean(BoxCrowd, "A crowd", content, CROWD_LIMITS)


def clean_rules(content: Mapping[str, object]) -> BoxRules:
    """Return the rules of these keys, with defaults. Raises Refusal, which names the key."""
    return _clean(BoxRules, "A policy of boxes", content, LIMITS)


def _clean(
    made: type[Made],
    subject: str,
    content: Mapping[str, object],
    limits: Mapping[str, tuple[float, float]],
) -> Made:
    known = {item.name: item for item in fields(made)}
    values: dict[str, Any] = {}
    for key, value in content.items():
        if key not in known:
            raise Refusal(
                f"{subject} has no key {key!r}. It has: {', '.join(known)}.", field=str(key)
            )
        whole = isinstance(known[key].default, int)
        # Keys without limits are shares.
        values[key] = checked_number(key, value, *limits.get(key, (0, 1)), whole=whole)
    return made(**values)


@dataclass(frozen=True)
class SimulatedPair:
    """An image and a class in it. instances: their true boxes. proposals: one for each."""

    topic: int
    instances: tuple[Box, ...]
    proposals: tuple[Box, ...]


class World:
    """Simulated pairs and people of a seed; answers are drawn on request."""

    def __init__(self, crowd: BoxCrowd, pairs: int, seed: int) -> None:
        self.crowd = crowd
        self.chance = np.random.default_rng(seed)
        self.sigma = np.full(crowd.people, crowd.sigma_good)
        self.sigma[: round(crowd.people * crowd.hasty)] = crowd.sigma_hasty
        # Quantiles of the distribution, so that the classes' probabilities do not depend on the
        # seed.
        shares = (np.arange(crowd.classes) + 0.5) / crowd.classes
        self.proposed = self.chance.permutation(
            beta.ppf(shares, crowd.proposal_a, crowd.proposal_b)
        )
        self.pairs = [self._pair(number % crowd.classes) for number in range(pairs)]

    def _pair(self, topic: int) -> SimulatedPair:
        count = 1 + self.chance.poisson(self.crowd.more)
        instances = tuple(self._instance() for _ in range(count))
        good = self.chance.random(count) < self.proposed[topic]
        return SimulatedPair(topic, instances, tuple(map(self._proposal, instances, good.tolist())))

    def _instance(self) -> Box:
        low, high = SMALL if self.chance.random() < self.crowd.small else LARGE
        side = self.chance.uniform(low, high)
        shape = np.exp(self.chance.normal(0, SHAPE) / 2)
        width = min(side * shape, 0.98) * WIDTH
        height = min(side / shape, 0.98) * HEIGHT
        x0, y0 = self.chance.uniform(0, WIDTH - width), self.chance.uniform(0, HEIGHT - height)
        return x0, y0, x0 + width, y0 + height

    def _proposal(self, instance: Box, good: bool) -> Box:
        """Return the instance shifted until its IoU is as requested."""
        target_iou = self.chance.uniform(*(GOOD_PROPOSAL if good else BAD_PROPOSAL))
        # Moved by a share s of its width it has an IoU of (1 - s) / (1 + s).
        moved = (instance[2] - instance[0]) * (1 - target_iou) / (1 + target_iou)
        return instance[0] + moved, instance[1], instance[2] + moved, instance[3]

    def drawn(
        self, pair: SimulatedPair, boxes: list[Box], person: int, aim: Point | None
    ) -> Box | None:
        """Return a person's drawing of the instance at `aim`, or of any without a box."""
        crowd, chance = self.crowd, self.chance
        left = without_box(pair, boxes)
        if chance.random() < crowd.elsewhere:
            if boxes and chance.random() < 0.5:
                return self._around(boxes[int(chance.integers(len(boxes)))], person)
            return self._around(self._instance(), person)
        if not left:
            return None
        aimed = [instance for instance in left if aim is not None and _holds(instance, aim)]
        return self._around((aimed or left)[0], person)

    def _around(self, box: Box, person: int) -> Box:
        longer = max(box[2] - box[0], box[3] - box[1])
        x0, y0, x1, y1 = np.asarray(box) + self.chance.normal(0, self.sigma[person] * longer, 4)
        return min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1)

    def checked(self, pair: SimulatedPair, boxes: list[Box], box: Box) -> str:
        """Return a person's verdict on a box: GOOD, or a fault."""
        crowd = self.crowd
        best, of_boxed = fit(pair, boxes, box)
        if not best or of_boxed:
            accepted = self.chance.random() < crowd.careless_wrong
            return GOOD if accepted else "duplicate" if of_boxed else "wrong"
        steep = crowd.strictness * (best - crowd.tight)
        chance = crowd.accepts / (1 + np.exp(-steep)) + crowd.careless
        return GOOD if self.chance.random() < chance else "shifted"

    def corrected(self, pair: SimulatedPair, boxes: list[Box], box: Box) -> Box | None:
        """Return the box as corrected by a person who accepted it; None if unchanged."""
        if self.chance.random() >= self.crowd.mends:
            return None
        left = without_box(pair, boxes) or list(pair.instances)
        meant = max(left, key=lambda instance: iou(instance, box))
        if not iou(meant, box):
            return None
        return self._around(meant, int(self.chance.integers(self.crowd.people)))

    def missing(self, pair: SimulatedPair, boxes: list[Box]) -> tuple[Point, ...]:
        """Return the points where a person sees instances without a box."""
        crowd, seen = self.crowd, []
        for instance in without_box(pair, boxes):
            small = area(instance) < 0.01 * WIDTH * HEIGHT
            if self.chance.random() < (crowd.notices_small if small else crowd.notices):
                seen.append(middle(instance))
        if not seen and self.chance.random() < crowd.false_alarm:
            seen.append((self.chance.uniform(0, WIDTH), self.chance.uniform(0, HEIGHT)))
        return tuple(seen)


def matched(pair: SimulatedPair, boxes: Sequence[Box]) -> list[tuple[int | None, float]]:
    """Return for each box the best remaining instance and their IoU; none below an IoU of 0.5."""
    left, matches = dict(enumerate(pair.instances)), []
    for box in boxes:
        value, best = max(
            ((iou(instance, box), number) for number, instance in left.items()), default=(0, 0)
        )
        best_instance = best if value >= 0.5 else None
        if best_instance is not None:
            del left[best_instance]
        matches.append((best_instance, value))
    return matches


def without_box(pair: SimulatedPair, boxes: Sequence[Box]) -> list[Box]:
    """Return the instances without one of these boxes."""
    has = {number for number, _ in matched(pair, boxes)}
    return [box for number, box in enumerate(pair.instances) if number not in has]


def fit(pair: SimulatedPair, boxes: list[Box], box: Box) -> tuple[float, bool]:
    """Return the box's best IoU with an instance without a box, and whether it fits an instance
    with a box better.
    """
    left = without_box(pair, boxes)
    best = max((iou(instance, box) for instance in left), default=0.0)
    others = max(
        (iou(instance, box) for instance in pair.instances if instance not in left), default=0.0
    )
    return best, others > best


def middle(box: Box) -> Point:
    return (box[0] + box[2]) / 2, (box[1] + box[3]) / 2


def _holds(box: Box, point: Point) -> bool:
    return box[0] <= point[0] <= box[2] and box[1] <= point[1] <= box[3]
