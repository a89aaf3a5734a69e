"""What outlines by a model do to time and quality, on made-up parts, people and a made-up network.

The same parts are drawn by the same people twice, without the model and with it. A part is a
star-shaped outline around its middle, so areas and IoU follow from radii. Pure; the seed decides
everything. Times and errors are assumptions, which a crowd may change; docs/benchmarks.md tells
where the defaults are from.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, fields

import numpy as np
from numpy.typing import NDArray

from labeling.errors import Refusal
from labeling.kinds.policies import checked_number

Floats = NDArray[np.float64]
# Directions in which an outline's radius is known.
ANGLES = 72
# Of the shapes: waves around the outline, and how far they go.
WAVES, WAVE = 5, 0.18
# The network errs in waves, a hand at its corners.
NETWORK_WAVES = 8
BAD_IOU = 0.5
TAKEN, MENDED, REFUSED = "taken", "mended", "refused"


@dataclass(frozen=True)
class ProposalCrowd:
    """Who draws, and the network. Errors are shares of a part's mean radius, times seconds.

    hand: error of a corner; hasty: share of people whose errors, and whose carelessness, are
    `hasty_factor` times as large. elsewhere: chance that a hand draws another thing. good: chance
    that a click gives a good outline, whose radius errs by `network`; a bad one has an IoU of
    bad_low to bad_high. again: chance that a further click makes a bad one good. clicks: at most.
    takes, mends: an outline is taken from that IoU on as a person sees it, mended from the second
    one on; sight: error of that look. careless: chance that whatever is proposed is taken.
    """

    people: int = 200
    hasty: float = 0.3
    hasty_factor: float = 2.0
    hand: float = 0.03
    elsewhere: float = 0.02
    good: float = 0.85
    network: float = 0.045
    bad_low: float = 0.05
    bad_high: float = 0.6
    again: float = 0.5
    clicks: int = 3
    takes: float = 0.88
    mends: float = 0.65
    sight: float = 0.04
    careless: float = 0.05
    draw_seconds: float = 25.0
    draw_spread: float = 0.5
    click_seconds: float = 3.0
    wait_seconds: float = 0.5
    look_seconds: float = 2.5
    take_seconds: float = 1.0
    mend_seconds: float = 12.0
    spread: float = 0.4


COUNTS = {"people": (1, 100_000), "clicks": (1, 32)}


def clean(content: Mapping[str, object]) -> ProposalCrowd:
    """The crowd that these keys describe, the rest by default. Raises Refusal naming the key."""
    known = {item.name: item for item in fields(ProposalCrowd)}
    values: dict[str, float] = {}
    for key, value in content.items():
        if key not in known:
            raise Refusal(
                f"A crowd has no key {key!r}. It has: {', '.join(known)}.", field=str(key)
            )
        low, high = COUNTS.get(key, (0.01, 3600) if key.endswith("_seconds") else (0, 1))
        high = 10 if key == "hasty_factor" else 5 if key.endswith("spread") else high
        values[key] = checked_number(key, value, low, high, whole=key in COUNTS)
    return ProposalCrowd(**values)  # type: ignore[arg-type]  # Counts were checked above.


@dataclass
class Run:
    """Of one arm: seconds and IoU of each part; what became of proposals; shown, accepted: bad
    proposals that were the last, and those of them that were sent like that."""

    seconds: list[float] = field(default_factory=list)
    ious: list[float] = field(default_factory=list)
    outcomes: Counter[str] = field(default_factory=Counter)
    shown: int = 0
    accepted: int = 0


def simulate(crowd: ProposalCrowd, parts: int, seed: int = 0) -> dict[str, object]:
    """Both arms, and what is between them."""
    world = _World(crowd, seed)
    alone, helped = Run(), Run()
    for _ in range(parts):
        truth, person = world.part(), world.person()
        seconds, iou = world.by_hand(truth, person)
        alone.seconds.append(seconds)
        alone.ious.append(iou)
        world.with_model(helped, truth, person)
    without, with_model = _figures(alone), _figures(helped)
    return {
        "parts": parts,
        "without": without,
        "with": with_model
        | {"outcomes": {word: helped.outcomes[word] / parts for word in (TAKEN, MENDED, REFUSED)}},
        "time_ratio": with_model["seconds"] / without["seconds"],
        "iou_difference": with_model["iou"] - without["iou"],
        "bad_difference": with_model["bad"] - without["bad"],
        "bad_proposals": {
            "shown": helped.shown,
            "accepted": helped.accepted,
            "share": helped.accepted / helped.shown if helped.shown else None,
        },
    }


def _figures(run: Run) -> dict[str, float]:
    ious = np.asarray(run.ious)
    return {
        "seconds": float(np.mean(run.seconds)),
        "median_seconds": float(np.median(run.seconds)),
        "iou": float(ious.mean()),
        "bad": float(np.mean(ious < BAD_IOU)),
    }


def iou(a: Floats, b: Floats) -> float:
    """Of two outlines around one middle, by their radii (ANGLES,).

    >>> iou(np.ones(4), np.full(4, 2.0))
    0.25
    """
    return float((np.minimum(a, b) ** 2).sum() / (np.maximum(a, b) ** 2).sum())


@dataclass(frozen=True)
class _Person:
    hand: float
    careless: float


class _World:
    def __init__(self, crowd: ProposalCrowd, seed: int) -> None:
        self.crowd, self.chance = crowd, np.random.default_rng(seed)
        hasty = self.chance.random(crowd.people) < crowd.hasty
        factors = np.where(hasty, crowd.hasty_factor, 1.0)
        self.people = [_Person(crowd.hand * f, min(1, crowd.careless * f)) for f in factors]
        self.angles = np.linspace(0, 2 * np.pi, ANGLES, endpoint=False)

    def part(self) -> Floats:
        return np.asarray(1 + self._waves(WAVES, WAVE))

    def person(self) -> _Person:
        return self.people[int(self.chance.integers(len(self.people)))]

    def by_hand(self, truth: Floats, person: _Person) -> tuple[float, float]:
        """Seconds and IoU."""
        crowd = self.crowd
        seconds = self._spent(crowd.draw_seconds, crowd.draw_spread)
        if self.chance.random() < crowd.elsewhere:
            return seconds, float(self.chance.uniform(crowd.bad_low, BAD_IOU))
        return seconds, iou(self._drawn(truth, person), truth)

    def with_model(self, run: Run, truth: Floats, person: _Person) -> None:
        crowd, seconds = self.crowd, 0.0
        good = self.chance.random() < crowd.good
        for click in range(crowd.clicks):
            seconds += self._spent(crowd.click_seconds, crowd.spread) + crowd.wait_seconds
            seconds += self._spent(crowd.look_seconds, crowd.spread)
            outline = truth * (1 + self._waves(NETWORK_WAVES, crowd.network)) if good else None
            quality = (
                float(self.chance.uniform(crowd.bad_low, crowd.bad_high))
                if outline is None
                else iou(outline, truth)
            )
            seen = quality + float(self.chance.normal(0, crowd.sight))
            careless = self.chance.random() < person.careless
            last = click == crowd.clicks - 1
            if careless or seen >= crowd.takes:
                seconds += self._spent(crowd.take_seconds, crowd.spread)
                self._done(run, TAKEN, seconds, quality, quality)
                return
            if outline is not None and seen >= crowd.mends:
                seconds += self._spent(crowd.mend_seconds, crowd.spread)
                mended = self._mended(outline, truth, person)
                self._done(run, MENDED, seconds, iou(mended, truth), quality)
                return
            if last:
                break
            good = good or self.chance.random() < crowd.again
        drawn_seconds, drawn = self.by_hand(truth, person)
        self._done(run, REFUSED, seconds + drawn_seconds, drawn, quality)

    def _done(self, run: Run, how: str, seconds: float, sent: float, proposed: float) -> None:
        run.seconds.append(seconds)
        run.ious.append(sent)
        run.outcomes[how] += 1
        if proposed < BAD_IOU:
            run.shown += 1
            run.accepted += how == TAKEN

    def _drawn(self, truth: Floats, person: _Person) -> Floats:
        return np.asarray(truth * (1 + self.chance.normal(0, person.hand, ANGLES)))

    def _mended(self, outline: Floats, truth: Floats, person: _Person) -> Floats:
        """By hand where it errs by more than a hand does."""
        off = np.abs(outline / truth - 1) > person.hand
        return np.where(off, self._drawn(truth, person), outline)

    def _waves(self, count: int, size: float) -> Floats:
        """A smooth error around the outline, of that standard deviation."""
        number = np.arange(1, count + 1)
        phases = self.chance.uniform(0, 2 * np.pi, count)
        weights = self.chance.normal(0, 1, count) / np.sqrt(number)
        # Cosines of mean square one half.
        scale = size / np.sqrt((1 / number).sum() / 2)
        return np.asarray(
            scale * (weights @ np.cos(np.outer(number, self.angles) + phases[:, None]))
        )

    def _spent(self, median: float, spread: float) -> float:
        return float(np.exp(self.chance.normal(np.log(median), spread)))
