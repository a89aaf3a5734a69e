"""The chain of questions after which every instance of a class in an image has one box.

One person **draws** a missing box, others **check** it, then somebody says whether every instance
is **covered**, or points at missing ones: then the next is drawn, or the pair is complete (Su, Deng
and Fei-Fei 2012; Russakovsky et al. 2015, §3.2.1). A rejected box is drawn again, with the reason.
Proposed boxes are checked before anything is drawn. A chain that does not converge ends at a
reviewer.

Pure: the state of a pair of image and class is replayed from the settled answers, step by step:

    chain = begin(pair, rules, proposals)
    for answer in settled:
        chain = after(chain, answer, rules)
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from labeling.boxes.rules import GOOD, BoxRules
from labeling.geometry.boxes import Box

DRAW, CHECK, COVER = STEPS = ("draw", "check", "cover")
# Ends of a chain: every instance has a box; a reviewer decides; the image was dropped.
COMPLETE, REVIEW, DROPPED = ("complete", "review", "dropped")
# Origin of a box: dragged, clicked by its four extreme points, or a detection.
DRAWN, CLICKED, PROPOSED = ("drawn", "clicked", "proposed")
# Flags of a box as in PASCAL VOC and COCO.
TRUNCATED = "truncated"
FLAGS = ("group", TRUNCATED, "occluded", "difficult")
# A reviewer's decision that people should look for more.
LOOK = "look"
# Coverage of a pair (LVIS) besides COMPLETE: no instance exists, some have a box, unknown.
ABSENT, PARTIAL, UNKNOWN = ("absent", "partial", "unknown")
Point = tuple[float, float]


@dataclass(frozen=True)
class DrawnBox:
    """A settled drawing. box: None if nothing is left to draw. origin: DRAWN or CLICKED."""

    box: Box | None
    origin: str = DRAWN
    flags: tuple[str, ...] = ()


@dataclass(frozen=True)
class CheckedBox:
    """A settled check: GOOD, or the reason against the box and the sides it concerns.

    box, flags: corrections of a proposed box; None and () if it is unchanged.
    """

    verdict: str
    sides: tuple[str, ...] = ()
    box: Box | None = None
    flags: tuple[str, ...] = ()


@dataclass(frozen=True)
class CoverResult:
    """A settled look for more. missing: a point in each instance without a box."""

    missing: tuple[Point, ...] = ()


@dataclass(frozen=True)
class AcceptedBox:
    """An accepted box. origin: DRAWN, CLICKED or PROPOSED. drawing: number of the step that drew
    it, None for a proposal.
    """

    box: Box
    origin: str
    flags: tuple[str, ...] = ()
    drawing: int | None = None


@dataclass(frozen=True)
class ReviewedPair:
    """A reviewer's decision: all boxes of the pair, and COMPLETE, ABSENT or PARTIAL.

    LOOK keeps the boxes and lets people look for more.
    """

    boxes: tuple[AcceptedBox, ...]
    state: str


@dataclass(frozen=True)
class DroppedImage:
    """The image was dropped."""


Answer = DrawnBox | CheckedBox | CoverResult | ReviewedPair | DroppedImage


@dataclass(frozen=True)
class BoxRejection:
    """A box that the checks rejected, with the reason and the wrong sides."""

    box: Box
    reason: str
    sides: tuple[str, ...] = ()


@dataclass(frozen=True)
class Chain:
    """The state of a pair. step: the next question, or COMPLETE, REVIEW or DROPPED.

    number: of the step, from 0. boxes: accepted boxes. box: the one to check. origin, flags: its
    origin and flags. proposals: not yet checked. missing: points at instances without a box.
    attempt: at the current object, from 1. rejected: the last attempt at it. second_look: whether a
    second person looks for more if there is one box. found_complete: how many people in a row found
    nothing missing. in_vain: how often something was reported missing that nobody could draw.
    state: set by a reviewer.
    """

    step: str = DRAW
    number: int = 0
    boxes: tuple[AcceptedBox, ...] = ()
    box: Box | None = None
    origin: str = DRAWN
    flags: tuple[str, ...] = ()
    proposals: tuple[Box, ...] = ()
    missing: tuple[Point, ...] = ()
    attempt: int = 1
    rejected: BoxRejection | None = None
    second_look: bool = False
    found_complete: int = 0
    in_vain: int = 0
    state: str = ""

    @property
    def coverage(self) -> str:
        """Return COMPLETE, ABSENT, PARTIAL or UNKNOWN: what is known of the pair's instances.

        While people are still asked, it is never ABSENT.
        """
        if self.state:
            return self.state
        if self.step == COMPLETE:
            return COMPLETE
        return PARTIAL if self.boxes else UNKNOWN


def begin(pair: str, rules: BoxRules, proposals: Sequence[Box] = ()) -> Chain:
    """Return the chain of a new pair; proposals are checked in order. pair: its name, whose hash
    decides whether two people look for more.
    """
    second = hash_share(pair) < rules.second_looks
    return _next_step(Chain(proposals=tuple(proposals), second_look=second))


def hash_share(pair: str) -> float:
    """Return a number in [0, 1) from the hash of the pair's name."""
    return int.from_bytes(hashlib.sha256(pair.encode()).digest()[:4]) / 2**32


def after(chain: Chain, answer: Answer, rules: BoxRules) -> Chain:
    """Return the chain after its step was settled with this answer."""
    return replace(_after(chain, answer, rules), number=chain.number + 1)


def _after(chain: Chain, answer: Answer, rules: BoxRules) -> Chain:
    if isinstance(answer, DroppedImage):
        return replace(chain, step=DROPPED, box=None)
    if isinstance(answer, DrawnBox):
        assert chain.step == DRAW
        return _after_drawing(chain, answer, rules)
    if isinstance(answer, CheckedBox):
        assert chain.step == CHECK
        return _after_checks(chain, answer, rules)
    if isinstance(answer, CoverResult):
        assert chain.step == COVER
        return _after_cover(chain, answer, rules)
    return _after_review(chain, answer)


def _next_step(chain: Chain) -> Chain:
    """Check the next proposal; without one, draw an instance or look for more."""
    if chain.proposals:
        box, *rest = chain.proposals
        return replace(chain, step=CHECK, box=box, origin=PROPOSED, proposals=tuple(rest))
    return replace(chain, step=COVER if chain.boxes else DRAW, box=None, origin=DRAWN)


def _after_drawing(chain: Chain, answer: DrawnBox, rules: BoxRules) -> Chain:
    if answer.box is not None:
        return replace(chain, step=CHECK, box=answer.box, origin=answer.origin, flags=answer.flags)
    # Two people contradict each other on whether something is missing.
    in_vain = chain.in_vain + 1
    step = REVIEW if in_vain >= rules.most_in_vain else COVER if chain.boxes else DRAW
    return replace(chain, step=step, missing=(), attempt=1, rejected=None, in_vain=in_vain)


def _after_checks(chain: Chain, answer: CheckedBox, rules: BoxRules) -> Chain:
    assert chain.box is not None
    proposed = chain.origin == PROPOSED
    if answer.verdict == GOOD:
        drawing = None if proposed else chain.number - 1
        flags = answer.flags or chain.flags
        accepted = AcceptedBox(answer.box or chain.box, chain.origin, flags, drawing)
        chain = replace(chain, boxes=(*chain.boxes, accepted), box=None, flags=())
        chain = replace(chain, attempt=1, rejected=None, found_complete=0)
        if proposed:
            return _next_step(chain)
        missing = chain.missing[1:]
        return replace(chain, step=DRAW if missing else COVER, missing=missing, in_vain=0)
    if proposed:
        return _next_step(chain)
    if chain.attempt >= rules.most_draws:
        return replace(chain, step=REVIEW, box=None, flags=())
    assert chain.box is not None
    rejected = BoxRejection(chain.box, answer.verdict, answer.sides)
    again = replace(chain, step=DRAW, box=None, flags=(), rejected=rejected)
    return replace(again, attempt=chain.attempt + 1)


def _after_review(chain: Chain, answer: ReviewedPair) -> Chain:
    """Apply a review, which is possible at any step and more than once.

    Boxes that were accepted before keep the number of their drawing.
    """
    drawing_of_box = {boxed.box: boxed.drawing for boxed in chain.boxes}
    boxes = tuple(
        replace(reviewed, drawing=drawing_of_box.get(reviewed.box)) for reviewed in answer.boxes
    )
    chain = replace(
        chain, boxes=boxes, box=None, flags=(), proposals=(), missing=(), rejected=None, attempt=1
    )
    if answer.state == LOOK:
        return replace(chain, step=COVER, state="", found_complete=0, in_vain=0)
    return replace(chain, step=COMPLETE, state=answer.state)


def _after_cover(chain: Chain, answer: CoverResult, rules: BoxRules) -> Chain:
    if answer.missing:
        return replace(chain, step=DRAW, missing=answer.missing, found_complete=0)
    looks_done = chain.found_complete + 1
    done = looks_done >= rules.looks(chain.second_look, len(chain.boxes))
    return replace(chain, step=COMPLETE if done else COVER, found_complete=looks_done)
