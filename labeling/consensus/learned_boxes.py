"""Learn a box campaign's calibration from all answers: each person's deviation, the acceptance rate
of proposals by class, the time of each step, and the figures on pages.

Questions are read image by image. Only counts, durations, and drawings of objects with several
drawings or a known box are kept in memory.
"""

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any, NamedTuple

from django.db.models import F

from labeling.boxes.chain import ABSENT, CHECK, COMPLETE, COVER, DRAW, PROPOSED, REVIEW
from labeling.boxes.cleaning import as_box
from labeling.boxes.consensus import SAME_IOU, learn_sigmas, same_object
from labeling.boxes.rules import GOOD, BoxRules
from labeling.consensus.calibration_store import (
    Assisted,
    BoxFigures,
    CalibrationContent,
    PersonSkill,
    StepFigures,
)
from labeling.consensus.votes import sent_back_since
from labeling.geometry.boxes import Box, iou
from labeling.kinds import KINDS, box_pairs, policies
from labeling.kinds.boxes import NONE, STEPS, KnownDrawing
from labeling.models import Answer, Campaign, Policy, Question, Settlement

# Images read at once.
CHUNK = 300
DIGITS = 6
State = Question.State


class _BoxQuestion(NamedTuple):
    """A question, gold or not."""

    pk: int
    item: int
    image: str
    topic: str
    step: str
    state: str
    content: Any
    policy: int
    gold: Any
    retired: Any


# Everybody's latest counting answer by question: {person: (value, milliseconds or None)}.
Answers = dict[int, dict[int, tuple[Any, int | None]]]


@dataclass
class _Learned:
    """Running totals. drawings, known: see learn_sigmas. durations: by step, and for drawings by
    input method.
    """

    drawings: list[list[tuple[int, Box]]] = field(default_factory=list)
    known: list[Box | None] = field(default_factory=list)
    answers: Counter[int] = field(default_factory=Counter)
    gold: Counter[int] = field(default_factory=Counter)
    durations: "dict[str, array[int]]" = field(default_factory=lambda: defaultdict(_whole))
    by_step: Counter[str] = field(default_factory=Counter)
    gold_by_step: Counter[str] = field(default_factory=Counter)
    right: Counter[str] = field(default_factory=Counter)
    planted: Counter[bool] = field(default_factory=Counter)
    with_proposals: Counter[str] = field(default_factory=Counter)
    good: Counter[str] = field(default_factory=Counter)
    pairs: Counter[str] = field(default_factory=Counter)
    boxes: Counter[str] = field(default_factory=Counter)
    classes: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    assisted: dict[bool, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))


def _whole() -> "array[int]":
    return array("q")


def learn(campaign: Campaign, voided: frozenset[int] = frozenset()) -> CalibrationContent:
    """Return the content of a calibration; its voided people and its time are not set.

    voided: people whose answers are left out. Equal answers give equal content in any database.
    """
    reader = _BoxReader(campaign, voided)
    for rows in _chunks(campaign):
        reader.read(rows)
    learned = reader.found
    sigmas = learn_sigmas(learned.drawings, learned.known)
    sides: Counter[int] = Counter()
    for drawn in learned.drawings:
        sides.update({person: 4 for person, _ in drawn})
    return CalibrationContent(
        annotators={
            str(person): PersonSkill(
                sigma=round(sigmas[person], DIGITS) if person in sigmas else None,
                sides=sides[person] if person in sigmas else None,
                answers=count,
                gold=learned.gold[person],
            )
            for person, count in sorted(learned.answers.items())
        },
        acceptance={
            topic: [learned.good[topic], learned.with_proposals[topic]]
            for topic in sorted(learned.with_proposals)
        },
        seconds=_medians(learned, (DRAW, CHECK, COVER)),
        boxes=_figures(learned),
    )


def _medians(learned: _Learned, keys: Sequence[str]) -> dict[str, float]:
    return {key: median(learned.durations[key]) / 1000 for key in keys if learned.durations[key]}


def _figures(learned: _Learned) -> BoxFigures:
    seconds, boxes = _medians(learned, (DRAW, CHECK, COVER)), learned.boxes.total()
    each = [learned.by_step[step] / boxes * seconds.get(step, 0.0) for step in seconds if boxes]
    return BoxFigures(
        pairs=dict(sorted(learned.pairs.items())),
        boxes=dict(sorted(learned.boxes.items())),
        steps={
            step: StepFigures(
                answers=learned.by_step[step],
                seconds=seconds.get(step),
                right=learned.right[step],
                gold=learned.gold_by_step[step],
            )
            for step in (DRAW, CHECK, COVER)
        },
        draws=_medians(learned, ("drag", "clicks")),
        seconds_per_box=sum(each) if each else None,
        planted=[learned.planted[True], learned.planted.total()],
        assisted=_assisted(learned.assisted[True]),
        unassisted=_assisted(learned.assisted[False]),
        classes={
            topic: [counts["pairs"], counts["complete"], counts["boxes"]]
            for topic, counts in sorted(learned.classes.items())
        },
    )


def _assisted(counts: Counter[str]) -> Assisted:
    return Assisted(
        pairs=counts["pairs"], boxes=counts["boxes"], seconds=counts["milliseconds"] / 1000
    )


def _chunks(campaign: Campaign) -> Iterator[list[_BoxQuestion]]:
    """Yield questions by image, many at a time, without withdrawn ones."""
    last = 0
    questions = Question.objects.filter(campaign=campaign).exclude(state=State.WITHDRAWN)
    while True:
        items = list(
            questions.filter(item__gt=last)
            .order_by("item_id")
            .values_list("item_id", flat=True)
            .distinct()[:CHUNK]
        )
        if not items:
            return
        rows = questions.filter(item__in=items).annotate(image=F("item__image__name"))
        yield [
            _BoxQuestion(*row)
            for row in rows.order_by("item_id", "topic", "pk").values_list(
                "pk",
                "item_id",
                "image",
                "topic",
                "step",
                "state",
                "content",
                "policy_id",
                "gold__answer",
                "gold__retired_at",
            )
        ]
        last = items[-1]


class _BoxReader:
    def __init__(self, campaign: Campaign, voided: frozenset[int]) -> None:
        self.voided, self.found = voided, _Learned()
        self.kind, self.policy = KINDS[campaign.kind], policies.for_campaign(campaign)
        self.rules = {
            pk: BoxRules.of(policies.whole(content))
            for pk, content in Policy.objects.filter(campaign=campaign).values_list("pk", "content")
        }

    def read(self, rows: Sequence[_BoxQuestion]) -> None:
        answers = self._answers([row.pk for row in rows])
        settled_ids = [row.pk for row in rows if row.state == State.SETTLED]
        latest = Settlement.objects.latest_of(settled_ids, "value")
        settled = {pk: value for pk, (value,) in latest.items()}
        by_pair: dict[tuple[int, str], list[_BoxQuestion]] = defaultdict(list)
        for row in rows:
            answers_of_row = answers[row.pk]
            if row.state == State.GOLD:
                if row.retired is None:
                    self._keep(row, answers_of_row)
                    self._grade(row, answers_of_row)
                continue
            self._keep(row, answers_of_row)
            by_pair[row.item, row.topic].append(row)
            if (row.content or {}).get("came") == PROPOSED and row.pk in settled:
                self.found.with_proposals[row.topic] += 1
                self.found.good[row.topic] += STEPS[CHECK].tally_name(settled[row.pk]) == GOOD
        for pair in by_pair.values():
            self._count(pair, settled, answers)

    def _answers(self, pks: Sequence[int]) -> Answers:
        answers: Answers = defaultdict(dict)
        for question, person, value, duration in (
            Answer.objects.filter(assignment__question__in=pks, late=False)
            .exclude(sent_back_since())
            .exclude(assignment__annotator__in=self.voided)
            .order_by("assignment__question_id", "assignment__annotator_id", "revision")
            .values_list(
                "assignment__question_id", "assignment__annotator_id", "value", "duration_ms"
            )
        ):
            answers[question][person] = value, duration
        return answers

    def _keep(self, row: _BoxQuestion, answers: dict[int, tuple[Any, int | None]]) -> None:
        learned = self.found
        for person, (value, duration) in answers.items():
            learned.answers[person] += 1
            learned.gold[person] += row.state == State.GOLD
            learned.by_step[row.step] += row.state != State.GOLD
            if duration:
                learned.durations[row.step].append(duration)
                if isinstance(value, dict) and "how" in value:
                    learned.durations[value["how"]].append(duration)
        if row.step != DRAW:
            return
        drawn = [
            (who, as_box(value["box"])) for who, (value, _) in answers.items() if value != NONE
        ]
        if row.state == State.GOLD:
            boxes = KnownDrawing.from_json(row.gold).boxes
            for person, box in drawn:
                best = max(boxes, key=lambda known: iou(known, box), default=None)
                if best is not None and iou(best, box) >= SAME_IOU:
                    learned.drawings.append([(person, box)])
                    learned.known.append(best)
        elif len(drawn) > 1:
            for group in same_object([box for _, box in drawn]):
                learned.drawings.append([drawn[index] for index in group])
                learned.known.append(None)

    def _grade(self, row: _BoxQuestion, answers: dict[int, tuple[Any, int | None]]) -> None:
        for value, _ in answers.values():
            is_right = self.kind.is_right(value, row.gold, self.policy)
            self.found.gold_by_step[row.step] += 1
            self.found.right[row.step] += is_right
            if row.step == COVER and isinstance(row.gold, dict):
                self.found.planted[is_right] += 1

    def _count(
        self, rows: Sequence[_BoxQuestion], settled: dict[int, Any], answers: Answers
    ) -> None:
        learned, first = self.found, rows[0]
        questions = []
        for row in rows:
            content: box_pairs.PairContent = row.content or {}  # type: ignore[assignment]
            rules, value = self.rules[row.policy], settled.get(row.pk)
            questions.append(
                box_pairs.PairQuestion(row.pk, row.step, row.state, content, rules, value)
            )
        if all(question.number for question in questions):
            return
        chain = box_pairs.replay(f"{first.image} {first.topic}", questions).chain
        learned.pairs[REVIEW if chain.step == REVIEW else chain.coverage] += 1
        learned.boxes.update(boxed.origin for boxed in chain.boxes)
        counts = Counter(
            pairs=1, boxes=len(chain.boxes), complete=int(chain.coverage in (COMPLETE, ABSENT))
        )
        learned.classes[first.topic].update(counts)
        spent = sum(ms or 0 for row in rows for _, ms in answers[row.pk].values())
        proposals = any("proposals" in (row.content or {}) for row in rows)
        learned.assisted[proposals].update(counts | Counter(milliseconds=spent))
