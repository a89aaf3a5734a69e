"""The chain of questions after which every instance of a class in an image has one box.

One person **draws** a box that is not there yet, others **check** it, then somebody says whether
every instance is **covered**, and points at what is missing: the next is drawn, or the pair is
complete (Su, Deng and Fei-Fei 2012; Russakovsky et al. 2015, §3.2.1). A box that checks reject is
drawn again, with the reason. Boxes that were proposed are checked before anything is drawn.

Pure: where a pair of image and class stands is replayed from what was settled, step by step:

    chain = begin(pair, rules, proposals)
    for answer in settled:
        chain = after(chain, answer, rules)
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from labeling.geometry.boxes import Box

DRAW, CHECK, COVER = STEPS = ("draw", "check", "cover")
# No question is open any more: every instance has its box, or a reviewer has to look.
COMPLETE, REVIEW = ("complete", "review")
GOOD = "good"
DRAWN, PROPOSED = ("drawn", "proposed")
Point = tuple[float, float]


@dataclass(frozen=True)
class Rules:
    """What of a policy the chain follows.

    checks: as many must agree on a box, for it or against it. second_looks: in this share of pairs
    a second person looks for more, where one box stands and the first found nothing missing: that
    is where most is missed. most_draws: attempts at one object, and most_in_vain: times that
    something is missing and nobody can draw it, after which a reviewer looks.
    """

    checks: int = 2
    second_looks: float = 0.7
    most_draws: int = 5
    most_in_vain: int = 3


@dataclass(frozen=True)
class Drawn:
    """What whoever drew said. box: None where nothing is left to draw."""

    box: Box | None


@dataclass(frozen=True)
class Checked:
    """What the checks came to: GOOD, or the reason why not."""

    verdict: str


@dataclass(frozen=True)
class Covered:
    """What whoever looked for more said. missing: a point in each instance without a box."""

    missing: tuple[Point, ...] = ()


@dataclass(frozen=True)
class Standing:
    """A box that was found good. came: DRAWN or PROPOSED."""

    box: Box
    came: str


@dataclass(frozen=True)
class Chain:
    """Where a pair stands. step: what is asked next, COMPLETE or REVIEW.

    boxes: those found good. box: the one to check. came: how it came. proposals: those not looked
    at yet. missing: where somebody saw an instance without a box. attempt: at the present object,
    from 1. rejected: why the last attempt was. second_look: whether a second person looks for more
    where one box stands. found_complete: how many in turn found nothing missing. in_vain: how often
    something was missing and nobody could draw it.
    """

    step: str = DRAW
    boxes: tuple[Standing, ...] = ()
    box: Box | None = None
    came: str = DRAWN
    proposals: tuple[Box, ...] = ()
    missing: tuple[Point, ...] = ()
    attempt: int = 1
    rejected: str = ""
    second_look: bool = False
    found_complete: int = 0
    in_vain: int = 0


def begin(pair: str, rules: Rules, proposals: Sequence[Box] = ()) -> Chain:
    """The chain of a pair that nobody has looked at; proposals are checked in their order. pair:
    what names it, by whose hash it is one of those that are looked at twice."""
    second = share_of(pair) < rules.second_looks
    return _propose(Chain(proposals=tuple(proposals), second_look=second))


def share_of(pair: str) -> float:
    """The place in [0, 1) that the hash of its name gives a pair."""
    return int.from_bytes(hashlib.sha256(pair.encode()).digest()[:4]) / 2**32


def after(chain: Chain, answer: Drawn | Checked | Covered, rules: Rules) -> Chain:
    """The chain once its step was settled so."""
    if isinstance(answer, Drawn):
        assert chain.step == DRAW
        return _after_drawing(chain, answer, rules)
    if isinstance(answer, Checked):
        assert chain.step == CHECK
        return _after_checks(chain, answer, rules)
    assert chain.step == COVER
    return _after_cover(chain, answer, rules)


def verdict(votes: Sequence[str], rules: Rules) -> str | None:
    """What these checks of one box come to, in the order in which they came; None while too few
    agree. Reasons against it count together, and the first one given most often is the reason."""
    good = sum(vote == GOOD for vote in votes)
    if good >= rules.checks:
        return GOOD
    against = [vote for vote in votes if vote != GOOD]
    return max(against, key=against.count) if len(against) >= rules.checks else None


def _propose(chain: Chain) -> Chain:
    """The next proposal is checked; where none is left, an instance is drawn or looked for."""
    if chain.proposals:
        box, *rest = chain.proposals
        return replace(chain, step=CHECK, box=box, came=PROPOSED, proposals=tuple(rest))
    return replace(chain, step=COVER if chain.boxes else DRAW, box=None, came=DRAWN)


def _after_drawing(chain: Chain, answer: Drawn, rules: Rules) -> Chain:
    if answer.box is not None:
        return replace(chain, step=CHECK, box=answer.box, came=DRAWN)
    # Two contradict each other: that something is there and that it is not.
    in_vain = chain.in_vain + 1
    step = REVIEW if in_vain >= rules.most_in_vain else COVER if chain.boxes else DRAW
    return replace(chain, step=step, missing=(), attempt=1, rejected="", in_vain=in_vain)


def _after_checks(chain: Chain, answer: Checked, rules: Rules) -> Chain:
    assert chain.box is not None
    if answer.verdict == GOOD:
        boxes = (*chain.boxes, Standing(chain.box, chain.came))
        chain = replace(chain, boxes=boxes, box=None, attempt=1, rejected="", found_complete=0)
        if chain.came == PROPOSED:
            return _propose(chain)
        missing = chain.missing[1:]
        return replace(chain, step=DRAW if missing else COVER, missing=missing, in_vain=0)
    if chain.came == PROPOSED:
        return _propose(chain)
    if chain.attempt >= rules.most_draws:
        return replace(chain, step=REVIEW, box=None)
    return replace(chain, step=DRAW, box=None, attempt=chain.attempt + 1, rejected=answer.verdict)


def _after_cover(chain: Chain, answer: Covered, rules: Rules) -> Chain:
    if answer.missing:
        return replace(chain, step=DRAW, missing=answer.missing, found_complete=0)
    found = chain.found_complete + 1
    done = found >= looks(chain)
    return replace(chain, step=COMPLETE if done else COVER, found_complete=found)


def looks(chain: Chain) -> int:
    """How many people in turn must find nothing missing."""
    return 2 if chain.second_look and len(chain.boxes) == 1 else 1
