"""Figures of each class in a campaign of candidates. Read-only.

Reads a thousand questions at a time with three queries each, so memory is bounded.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from labeling.consensus import calibration_store
from labeling.estimators.precision import VerifiedClass
from labeling.estimators.vote_tables import VoteTable
from labeling.kinds import KINDS, Kind, policies
from labeling.models import Answer, Audit, Campaign, Question, Settlement

CHUNK = 1_000
State = Question.State
YES, NO = "yes", "no"
# The word of each answer by id; None for an abstention.
Words = dict[str, str | None]


class CurrentSettlement(NamedTuple):
    """A current settlement. answers: ids of those it counts; policy: its id."""

    value: object
    probability: float | None
    answers: list[str]
    reviewed: bool
    policy: int


@dataclass
class ClassFigures:
    """The figures of one class: see models.Verification.

    answered: questions with a vote; worked_ms: time spent on its answers; doubt: how many of its
    yes are expected to be wrong.
    """

    candidates: int = 0
    answered: int = 0
    open: int = 0
    yes: int = 0
    no: int = 0
    answers: int = 0
    worked_ms: int = 0
    doubt: float = 0.0
    audited: int = 0
    wrong: int = 0
    has_table: bool = False

    @property
    def verified(self) -> VerifiedClass:
        return VerifiedClass(self.yes, min(self.doubt, self.yes), self.audited, self.wrong)


def read(campaign: Campaign) -> dict[str, ClassFigures]:
    """Return the figures of each class with questions, by key."""
    reader = _FiguresReader(campaign)
    for chunk in _chunks(campaign):
        reader.add(chunk)
    for key, figures in reader.figures_by_class.items():
        figures.has_table = key in reader.tables
    return dict(sorted(reader.figures_by_class.items()))


def _chunks(campaign: Campaign) -> Iterator[list[tuple[int, str, str]]]:
    """Yield (id, topic, state) of all questions by id, gold included."""
    last = 0
    rows = Question.objects.filter(campaign=campaign).order_by("pk")
    while chunk := list(rows.filter(pk__gt=last).values_list("pk", "topic", "state")[:CHUNK]):
        yield chunk
        last = chunk[-1][0]


class _FiguresReader:
    def __init__(self, campaign: Campaign) -> None:
        self.kind: Kind = KINDS[campaign.kind]
        self.tables: Mapping[str, VoteTable] = calibration_store.in_force(campaign).tables
        # By policy id, whether settlements state only a share of votes.
        self.by_majority = {
            row.pk: policies.whole(row.content)["method"] == "majority"
            for row in campaign.policies.all()
        }
        self.audits = _audits(campaign, self.kind)
        self.figures_by_class: dict[str, ClassFigures] = defaultdict(ClassFigures)
        self.probabilities: dict[tuple[str, int, int], float] = {}

    def add(self, chunk: list[tuple[int, str, str]]) -> None:
        ids = [pk for pk, _, _ in chunk]
        settled = _settled([pk for pk, _, state in chunk if state == State.SETTLED])
        words = self._answers(ids, {pk: self.figures_by_class[topic] for pk, topic, _ in chunk})
        for pk, topic, state in chunk:
            if state == State.GOLD:
                continue
            figures = self.figures_by_class[topic]
            figures.candidates += 1
            figures.answered += bool(words[pk])
            figures.open += state == State.OPEN
            if (settlement := settled.get(pk)) is None:
                continue
            if settlement.value != YES:
                figures.no += settlement.value == NO
                continue
            figures.yes += 1
            counted = Counter(words[pk].get(str(answer)) for answer in settlement.answers)
            figures.doubt += 1 - self._probability(topic, settlement, counted)
            if (audited := self.audits.get(pk)) is not None:
                figures.audited += 1
                figures.wrong += audited == NO

    def _answers(
        self, ids: list[int], figures_by_question: Mapping[int, ClassFigures]
    ) -> dict[int, Words]:
        """Return question → answer id → word; add the answers and their times to the figures."""
        words: dict[int, Words] = defaultdict(dict)
        rows = Answer.objects.filter(assignment__question__in=ids)
        for question, pk, value, revision, ms in rows.values_list(
            "assignment__question_id", "pk", "value", "revision", "duration_ms"
        ):
            words[question][str(pk)] = self.kind.vote(value)
            figures = figures_by_question[question]
            figures.answers += not revision
            figures.worked_ms += min(ms or 0, self.kind.longest_work_ms)
        return words

    def _probability(
        self, topic: str, settlement: CurrentSettlement, counted: Counter[str | None]
    ) -> float:
        """Return the probability that a settled yes is right.

        A reviewer's decision has 1. Else it is from the class's table. Without a table it is the
        settlement's own probability, or by majority the share of yes votes.
        """
        if settlement.reviewed:
            return 1.0
        yes, no = counted[YES], counted[NO]
        if (table := self.tables.get(topic)) is not None:
            key = topic, yes, no
            if key not in self.probabilities:
                self.probabilities[key] = table.expected(yes, no)
            return self.probabilities[key]
        if self.by_majority[settlement.policy] or settlement.probability is None:
            return yes / (yes + no) if yes else 0.0
        return settlement.probability


def _settled(ids: list[int]) -> dict[int, CurrentSettlement]:
    """Return the current settlement by question."""
    columns = ("value", "probability", "answers", "reviewed", "policy_id")
    latest = Settlement.objects.latest_of(ids, *columns)
    return {pk: CurrentSettlement(*row) for pk, row in latest.items()}


def _audits(campaign: Campaign, kind: Kind) -> dict[int, str]:
    """Return an auditor's latest answer by question, over all samples, without "too hard"."""
    rows = Audit.objects.filter(campaign=campaign, answered_at__isnull=False).order_by("pk")
    words = {pk: kind.vote(value) for pk, value in rows.values_list("question_id", "value")}
    return {pk: word for pk, word in words.items() if word is not None}
