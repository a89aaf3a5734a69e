"""Simulates the cost and quality of boxes by draw, check and cover.

Each pair of image and class goes through the chain of real campaigns (boxes/chain.py). The time of
a finished box follows Su et al.: summed over the steps, the number of answers per box times their
median time. Pure; the seed determines everything.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from labeling.boxes import chain as chains
from labeling.boxes.acceptance import Acceptance, is_unassisted, least_chance
from labeling.boxes.chain import CHECK, COMPLETE, COVER, DRAW, PROPOSED, Chain
from labeling.boxes.rules import GOOD, BoxRules
from labeling.errors import Refusal
from labeling.geometry.boxes import Box
from labeling.simulation.box_crowd import (
    CORRECTION,
    BoxCrowd,
    SimulatedPair,
    World,
    matched,
    without_box,
)

# When proposals are shown: never, always, or for classes whose acceptance rate saves time.
NEVER, ALWAYS, LEARNED = ("never", "always", "learned")


@dataclass
class BoxRun:
    """The results of simulated pairs.

    ious: IoU of each finished box with its best remaining instance; proposed: of those that were
    proposals. complete: pairs in which every instance has a box. reviewed: pairs that went to a
    reviewer. planted: boxes that were taken away at the end; noticed: those that people then
    reported missing. steps: number of answers by step. seconds: random time of each box; the boxes
    of a pair share the pair's time equally.
    """

    pairs: int = 0
    ious: list[float] = field(default_factory=list)
    proposed: list[float] = field(default_factory=list)
    complete: int = 0
    reviewed: int = 0
    planted: int = 0
    noticed: int = 0
    steps: Counter[str] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)


class Pairs:
    """Takes pairs through the chain.

    checks: False if every box is accepted as drawn. covers: False if nobody looks for more.
    """

    def __init__(
        self,
        crowd: BoxCrowd,
        rules: BoxRules,
        images: int,
        seed: int,
        *,
        checks: bool = True,
        covers: bool = True,
    ) -> None:
        self.crowd, self.rules, self.checks, self.covers = crowd, rules, checks, covers
        self.world = World(crowd, images, seed)
        topics = [pair.topic for pair in self.world.pairs]
        least = least_chance(crowd.draw_seconds, crowd.check_seconds, rules.checks)
        self.learned = Acceptance(topics, crowd.classes, least)
        self.found = BoxRun()

    def run(self, proposals: str = NEVER) -> BoxRun:
        """Take all pairs through the chain; return the results. proposals: NEVER, ALWAYS or
        LEARNED.
        """
        for number, pair in enumerate(self.world.pairs):
            shows_proposals = proposals != NEVER and not is_unassisted(str(number))
            if proposals == LEARNED:
                shows_proposals = self.learned.should_show_next(pair.topic) and shows_proposals
            self._pair(str(number), pair, pair.proposals if shows_proposals else ())
        return self.found

    def _pair(self, name: str, pair: SimulatedPair, proposals: Sequence[Box]) -> None:
        chain, seconds = chains.begin(name, self.rules, proposals), 0.0
        while chain.step in chains.STEPS:
            boxes = [boxed.box for boxed in chain.boxes]
            answer, times = self._answer(pair, chain, boxes)
            self.found.steps[chain.step] += times
            seconds += self._spent(chain.step, times)
            chain = chains.after(chain, answer, self.rules)
        boxes = [boxed.box for boxed in chain.boxes]
        self._look_for_planted(pair, chain)
        self.found.pairs += 1
        self.found.reviewed += chain.step != COMPLETE
        self.found.complete += not without_box(pair, boxes)
        for (_, value), final_box in zip(matched(pair, boxes), chain.boxes, strict=True):
            self.found.ious.append(value)
            self.found.seconds.append(seconds / len(boxes))
            if final_box.origin == PROPOSED:
                self.found.proposed.append(value)

    def _answer(
        self, pair: SimulatedPair, chain: Chain, boxes: list[Box]
    ) -> tuple[chains.DrawnBox | chains.CheckedBox | chains.CoverResult, int]:
        """Return the settled answer of the step, and how many people answered."""
        world = self.world
        if chain.step == DRAW:
            person = int(world.chance.integers(self.crowd.people))
            aim = chain.missing[0] if chain.missing else None
            return chains.DrawnBox(world.drawn(pair, boxes, person, aim)), 1
        if chain.step == COVER:
            if not self.covers:
                return chains.CoverResult(), 0
            return chains.CoverResult(world.missing(pair, boxes)), 1
        assert chain.box is not None
        if not self.checks:
            return chains.CheckedBox(GOOD), 0
        votes: list[str] = []
        while (verdict := self.rules.verdict(votes)) is None:
            votes.append(world.checked(pair, boxes, chain.box))
        if chain.origin != PROPOSED:
            return chains.CheckedBox(verdict), len(votes)
        self.learned.learn(pair.topic, verdict == GOOD)
        return chains.CheckedBox(
            verdict, box=self._mean_correction(pair, chain, boxes, votes, verdict)
        ), len(votes)

    def _mean_correction(
        self,
        pair: SimulatedPair,
        chain: Chain,
        boxes: list[Box],
        votes: Sequence[str],
        verdict: str,
    ) -> Box | None:
        """Return the mean of the corrections by people who accepted a proposal, as in a campaign;
        None without any.
        """
        assert chain.box is not None
        if verdict != GOOD:
            return None
        tried = [self.world.corrected(pair, boxes, chain.box) for _ in range(votes.count(GOOD))]
        corrected = [box for box in tried if box is not None]
        self.found.steps[CORRECTION] += len(corrected)
        if not corrected:
            return None
        x0, y0, x1, y1 = np.mean(corrected, axis=0).tolist()
        return x0, y0, x1, y1

    def _spent(self, step: str, times: int) -> float:
        median, spread = self.crowd.time_of(step)
        return float(np.exp(self.world.chance.normal(np.log(median), spread, times)).sum())

    def _look_for_planted(self, pair: SimulatedPair, chain: Chain) -> None:
        """Take a box away from some pairs with two or more, and let people look for more."""
        boxes = list(chain.boxes)
        if len(boxes) < 2 or self.world.chance.random() >= self.crowd.planted or not self.covers:
            return
        del boxes[int(self.world.chance.integers(len(boxes)))]
        left = [boxed.box for boxed in boxes]
        looks = self.rules.looks(chain.second_look, len(left))
        self.found.planted += 1
        seen = (self.world.missing(pair, left) for _ in range(looks))
        self.found.noticed += any(seen)


def simulate(crowd: BoxCrowd, rules: BoxRules, images: int, seed: int = 0) -> dict[str, object]:
    """Return the result of the pairs, as printed by `simulate boxes`. images: (image, class) pairs.

    Raises Refusal if the crowd accepts no box, so that nothing can be measured.
    """
    plain = Pairs(crowd, rules, images, seed).run()
    unchecked = Pairs(crowd, rules, images, seed, checks=False).run()
    assisted = {kind: Pairs(crowd, rules, images, seed).run(kind) for kind in (ALWAYS, LEARNED)}
    if not all(run.ious for run in (plain, *assisted.values())):
        raise Refusal("This crowd finds no box good. Let people draw or check better.")
    best = min(boxing(plain, crowd), boxing(assisted[ALWAYS], crowd))
    return figures(plain, crowd) | {
        "mean_iou_unchecked": float(np.mean(unchecked.ious)),
        "verify_or_draw": boxing(assisted[LEARNED], crowd) / best,
        "with_proposals": figures(assisted[LEARNED], crowd)
        | {"accepted": accepted(assisted[LEARNED])},
    }


def figures(run: BoxRun, crowd: BoxCrowd) -> dict[str, object]:
    ious = np.asarray(run.ious)
    return {
        "pairs": run.pairs,
        "boxes": len(ious),
        "covered": run.complete / run.pairs,
        "reviewed": run.reviewed / run.pairs,
        **quality(ious),
        "planted_found": run.noticed / run.planted if run.planted else None,
        "planted": run.planted,
        "seconds_per_box": {
            "fast": per_box(run, crowd),
            "slow": per_box(run, crowd, slow=True),
            "median": float(np.median(run.seconds)),
        },
        "steps_per_box": {step: run.steps[step] / len(ious) for step in chains.STEPS},
    }


def quality(ious: NDArray[np.float64]) -> dict[str, float]:
    return {
        "good_at_0.5": float(np.mean(ious >= 0.5)),
        "good_at_0.7": float(np.mean(ious >= 0.7)),
        "mean_iou": float(np.mean(ious)),
    }


def accepted(run: BoxRun) -> dict[str, object]:
    """Return the figures of boxes that were proposals."""
    return {
        "boxes": len(run.proposed),
        **(quality(np.asarray(run.proposed)) if run.proposed else {}),
    }


def per_box(
    run: BoxRun,
    crowd: BoxCrowd,
    slow: bool = False,
    steps: Sequence[str] = (*chains.STEPS, CORRECTION),
) -> float:
    """Return the seconds per finished box: for each step, answers per box times their
    median time.
    """
    spent = sum(run.steps[step] * crowd.time_of(step, slow)[0] for step in steps)
    return spent / len(run.ious)


def boxing(run: BoxRun, crowd: BoxCrowd) -> float:
    """Return the seconds per finished box without the looks for more, which always cost
    the same.
    """
    return per_box(run, crowd, steps=(DRAW, CHECK, CORRECTION))
