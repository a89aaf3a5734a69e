"""What a calibration says of a campaign of boxes, learned from all its answers: how far off each
person's sides are, how often proposals of each class are accepted, and how long each step takes.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from statistics import median
from typing import Any, NamedTuple

from labeling.boxes.chain import CHECK, DRAW, GOOD, PROPOSED
from labeling.boxes.cleaning import as_box
from labeling.boxes.consensus import SAME_IOU, learn_sigmas, same_object
from labeling.consensus.calibrations import Content, Skill
from labeling.consensus.votes import sent_back_since
from labeling.geometry.boxes import Box, iou
from labeling.kinds.boxes import NONE, STEPS
from labeling.models import Answer, Campaign, Question, Settlement

CHUNK = 1_000
DIGITS = 6
State = Question.State


class _Row(NamedTuple):
    """A question, gold or not, with everybody's latest answer that counts: {person: (value,
    duration)}."""

    pk: int
    topic: str
    step: str
    state: str
    came: str | None
    gold: Any
    answers: dict[int, tuple[Any, int | None]]


@dataclass
class _Learned:
    drawings: list[list[tuple[int, Box]]] = field(default_factory=list)
    known: list[Box | None] = field(default_factory=list)
    answers: Counter[int] = field(default_factory=Counter)
    gold: Counter[int] = field(default_factory=Counter)
    durations: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    shown: Counter[str] = field(default_factory=Counter)
    good: Counter[str] = field(default_factory=Counter)


def learn(campaign: Campaign, voided: frozenset[int] = frozenset()) -> Content:
    """The content of a calibration but for `voided` and when it was made. Equal answers give equal
    content, on either database."""
    found = _Learned()
    for chunk in _chunks(campaign, voided):
        for row in chunk:
            _keep(found, row)
        _count_proposals(found, chunk)
    sigmas = learn_sigmas(found.drawings, found.known)
    sides = Counter(person for drawn in found.drawings for person, _ in drawn for _ in range(4))
    return Content(
        annotators={
            str(person): Skill(
                sigma=round(sigmas[person], DIGITS) if person in sigmas else None,
                sides=sides[person] if person in sigmas else None,
                answers=count,
                gold=found.gold[person],
            )
            for person, count in sorted(found.answers.items())
        },
        acceptance={
            topic: [found.good[topic], found.shown[topic]] for topic in sorted(found.shown)
        },
        seconds={step: median(found.durations[step]) / 1000 for step in sorted(found.durations)},
    )


def _chunks(campaign: Campaign, voided: frozenset[int]) -> Iterator[list[_Row]]:
    """By id, many at a time; retired gold and withdrawn questions are left out."""
    last = 0
    while True:
        rows = list(
            Question.objects.filter(campaign=campaign, pk__gt=last, gold__retired_at=None)
            .exclude(state=State.WITHDRAWN)
            .order_by("pk")
            .values_list("pk", "topic", "step", "state", "content__came", "gold__answer")[:CHUNK]
        )
        if not rows:
            return
        answers: dict[int, dict[int, tuple[Any, int | None]]] = defaultdict(dict)
        for question, person, value, duration in (
            Answer.objects.filter(assignment__question__in=[row[0] for row in rows], late=False)
            .exclude(sent_back_since())
            .exclude(assignment__annotator__in=voided)
            .order_by("assignment__question_id", "assignment__annotator_id", "revision")
            .values_list(
                *("assignment__question_id", "assignment__annotator_id", "value", "duration_ms")
            )
        ):
            answers[question][person] = value, duration
        yield [_Row(*row, answers[row[0]]) for row in rows]
        last = rows[-1][0]


def _keep(found: _Learned, row: _Row) -> None:
    for person, (_, duration) in row.answers.items():
        found.answers[person] += 1
        found.gold[person] += row.gold is not None
        if duration:
            found.durations[row.step].append(duration)
    if row.step != DRAW:
        return
    drawn = [
        (who, as_box(value["box"])) for who, (value, _) in row.answers.items() if value != NONE
    ]
    if row.gold is not None:
        boxes = [as_box(box) for box in row.gold["boxes"]] if row.gold != NONE else []
        for person, box in drawn:
            best = max(boxes, key=lambda known: iou(known, box), default=None)
            if best is not None and iou(best, box) >= SAME_IOU:
                found.drawings.append([(person, box)])
                found.known.append(best)
    elif len(drawn) > 1:
        for group in same_object([box for _, box in drawn]):
            found.drawings.append([drawn[place] for place in group])
            found.known.append(None)


def _count_proposals(found: _Learned, chunk: list[_Row]) -> None:
    """How checks of proposed boxes were settled."""
    topics = {
        row.pk: row.topic
        for row in chunk
        if row.step == CHECK and row.came == PROPOSED and row.state == State.SETTLED
    }
    if not topics:
        return
    rows = Settlement.objects.filter(question__in=topics).order_by("pk")
    for pk, value in dict(rows.values_list("question_id", "value")).items():
        found.shown[topics[pk]] += 1
        found.good[topics[pk]] += STEPS[CHECK].tally_name(value) == GOOD
