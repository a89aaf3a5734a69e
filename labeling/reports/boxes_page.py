"""The figures of a box campaign, from its latest calibration."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from labeling.boxes.acceptance import SECONDS, least_chance
from labeling.boxes.chain import (
    ABSENT,
    CHECK,
    CLICKED,
    COMPLETE,
    COVER,
    DRAW,
    DRAWN,
    PARTIAL,
    PROPOSED,
    REVIEW,
    UNKNOWN,
)
from labeling.consensus.calibration_store import Assisted, BoxFigures, CalibrationContent
from labeling.estimators.intervals import wilson_interval
from labeling.kinds import policies
from labeling.models import Calibration, Campaign

STEPS = ((DRAW, "Draw"), (CHECK, "Check"), (COVER, "Look for more"))
STATES = (
    (COMPLETE, "Every instance has a box"),
    (ABSENT, "No instance"),
    (PARTIAL, "Some have a box"),
    (UNKNOWN, "None has a box yet"),
    (REVIEW, "Needs review"),
)
ORIGIN_LABELS = ((CLICKED, "By four clicks"), (DRAWN, "By dragging"), (PROPOSED, "Proposed"))


@dataclass(frozen=True)
class CountShare:
    """A count and its share with the 95 % interval (Wilson); both None for a total of 0."""

    words: str
    count: int
    total: int

    @property
    def share(self) -> float | None:
        return self.count / self.total if self.total else None

    @property
    def interval(self) -> tuple[float, float] | None:
        return wilson_interval(self.count, self.total) if self.total else None


@dataclass(frozen=True)
class BoxStepRow:
    """A step: answers, answers per finished box, median seconds, and gold."""

    words: str
    answers: int
    each: float | None
    seconds: float | None
    gold: CountShare


@dataclass(frozen=True)
class BoxClassRow:
    """A class: pairs, finished pairs, boxes, and accepted proposals.

    uses_proposals: whether its proposals are expected to save time; None without any.
    """

    name: str
    pairs: int
    done: int
    boxes: int
    accepted: CountShare
    uses_proposals: bool | None


@dataclass(frozen=True)
class AssistedRow:
    """Pairs that began with proposals, or without."""

    words: str
    pairs: int
    boxes: int
    seconds_per_box: float | None


@dataclass(frozen=True)
class BoxCampaignFigures:
    """seconds_per_box: see BoxFigures. least: the acceptance rate above which a proposal saves
    time.
    """

    at: datetime
    pairs: list[CountShare]
    boxes: int
    origins: list[CountShare]
    steps: list[BoxStepRow]
    draws: list[tuple[str, float]]
    seconds_per_box: float | None
    planted: CountShare
    assisted: list[AssistedRow]
    least: float
    classes: list[BoxClassRow]


def figures(campaign: Campaign, limit: int = 200) -> BoxCampaignFigures | None:
    """Return the figures with the `limit` largest classes, the largest first.

    None before the first calibration. Three queries.
    """
    row = Calibration.objects.filter(pk=campaign.calibration_id or 0).first()
    content = CalibrationContent.from_json(row.content) if row else CalibrationContent()
    measured = content.boxes
    if row is None or measured is None:
        return None
    seconds = SECONDS | (content.seconds or {})
    least = least_chance(seconds[DRAW], seconds[CHECK], policies.for_campaign(campaign)["checks"])
    pairs, boxes = sum(measured.pairs.values()), sum(measured.boxes.values())
    return BoxCampaignFigures(
        at=row.created_at,
        pairs=[CountShare(words, measured.pairs.get(state, 0), pairs) for state, words in STATES],
        boxes=boxes,
        origins=[
            CountShare(words, measured.boxes.get(origin, 0), boxes)
            for origin, words in ORIGIN_LABELS
        ],
        steps=[_step(measured, step, words, boxes) for step, words in STEPS],
        draws=[
            (words, measured.draws[how])
            for how, words in (("clicks", "four clicks"), ("drag", "dragging"))
            if how in measured.draws
        ],
        seconds_per_box=measured.seconds_per_box,
        planted=CountShare("found", *measured.planted),
        assisted=[
            _assisted("With proposals", measured.assisted),
            _assisted("Without", measured.unassisted),
        ]
        if measured.assisted.pairs
        else [],
        least=least,
        classes=_classes(campaign, measured, content.acceptance or {}, least, limit),
    )


def _step(measured: BoxFigures, step: str, words: str, boxes: int) -> BoxStepRow:
    row = measured.steps[step]
    return BoxStepRow(
        words,
        row.answers,
        row.answers / boxes if boxes else None,
        row.seconds,
        CountShare("right", row.right, row.gold),
    )


def _assisted(words: str, row: Assisted) -> AssistedRow:
    return AssistedRow(words, row.pairs, row.boxes, row.seconds / row.boxes if row.boxes else None)


def _classes(
    campaign: Campaign,
    measured: BoxFigures,
    acceptance: dict[str, list[int]],
    least: float,
    limit: int,
) -> list[BoxClassRow]:
    largest = sorted(measured.classes, key=lambda topic: (-measured.classes[topic][0], topic))[
        :limit
    ]
    names = dict(campaign.topics.filter(key__in=largest).values_list("key", "name"))
    rows = []
    for topic in largest:
        pairs, done, boxes = measured.classes[topic]
        good, tried = acceptance.get(topic, (0, 0))
        accepted = CountShare("accepted", good, tried)
        pays = accepted.share is not None and accepted.share > least
        name = names.get(topic, topic)
        rows.append(BoxClassRow(name, pairs, done, boxes, accepted, pays if tried else None))
    return rows


def csv_rows(content: BoxCampaignFigures) -> Iterator[Sequence[object]]:
    """Yield a header, then a row for each class."""
    yield "class", "pairs", "done", "boxes", "proposals", "accepted", "low", "high"
    for row in content.classes:
        accepted = row.accepted
        interval = accepted.interval or ("", "")
        counts = (row.pairs, row.done, row.boxes, accepted.total, accepted.count)
        yield row.name, *counts, *interval
