"""Questions with their answers, settlements and decisions; answers in words."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from django.db.models import QuerySet

from labeling.consensus import settling
from labeling.consensus.votes import votes_on_page
from labeling.db.sql import in_runs
from labeling.kinds import KINDS
from labeling.kinds.votes import most_probable
from labeling.models import Answer, Campaign, Decision, Image, Membership, Question, Settlement
from labeling.quality import stated_errors
from labeling.reports.campaign_page import DecisionWords, in_words


@dataclass(frozen=True)
class AnswerValue:
    """An answer: its tally name and its label."""

    value: str
    words: str


@dataclass(frozen=True)
class AnswerTally(AnswerValue):
    count: int


@dataclass(frozen=True)
class SettledValue(AnswerValue):
    """A settled answer. error: the stated error of the label; None where it was not measured."""

    error: float | None
    support: settling.Support | None


@dataclass(frozen=True)
class QuestionRow:
    """A question with its topic's name, the votes by answer, and its settled value."""

    question: Question
    image: Image
    topic: str
    votes: list[AnswerTally]
    value: SettledValue | None


def question_rows(campaign: Campaign, questions: Sequence[Question]) -> list[QuestionRow]:
    """Return a row for each question, in a constant number of queries."""
    pks = [question.pk for question in questions]
    words = value_words(campaign)
    page_votes = votes_on_page(pks)
    votes = settling.tally_votes(campaign, page_votes)
    current = {
        settlement.question_id: settlement
        for settlement in Settlement.objects.filter(in_runs("question_id", pks)).order_by("pk")
    }
    names = topic_names(campaign, {question.topic for question in questions})
    support = settling.support(campaign, current.values(), page_votes)
    measured = stated_errors.measure(campaign)
    return [
        QuestionRow(
            question=question,
            image=question.item.image,
            topic=names.get(question.topic, question.topic),
            votes=[
                AnswerTally(value, words.get(value, value), count)
                for value, count in votes.get(question.pk, Counter()).most_common()
            ],
            value=_settled(question, current.get(question.pk), campaign, words, support, measured),
        )
        for question in questions
    ]


def _settled(
    question: Question,
    settlement: Settlement | None,
    campaign: Campaign,
    words: dict[str, str],
    support: dict[int, settling.Support],
    measured: stated_errors.MeasuredError | None,
) -> SettledValue | None:
    if question.state != Question.State.SETTLED or settlement is None:
        return None
    name = KINDS[campaign.kind].tally_name(settlement.value)
    error = measured.error_of(settlement.probability, len(settlement.answers)) if measured else None
    return SettledValue(name, words.get(name, name), error, support.get(question.pk))


@dataclass(frozen=True)
class SettlementRow:
    """A settlement, in words."""

    settlement: Settlement
    words: str


def proposal(campaign: Campaign, question: Question) -> SettlementRow | None:
    """Return the settlement that accepting a question in review would confirm; None if its
    answers decide nothing.
    """
    latest = question.settlements.order_by("-pk").first()
    if latest is None or latest.value is None:
        return None
    return SettlementRow(latest, settled_words(latest, campaign))


@dataclass(frozen=True)
class QuestionAnswerRow(AnswerValue):
    """An answer with its author.

    counted: in the last settlement. void: the author is blocked. replaced: by a later answer of
    the same seat.
    """

    answer: Answer
    pseudonym: str
    seconds: float | None
    counted: bool
    void: bool
    replaced: bool


@dataclass(frozen=True)
class QuestionHistory:
    """Answers, settlements and reviewers' decisions of a question."""

    answers: list[QuestionAnswerRow]
    settlements: list[SettlementRow]
    decisions: list[DecisionWords]


def question_history(campaign: Campaign, question: Question) -> QuestionHistory:
    answers = list(answers_to([question.pk]))
    settlements = list(question.settlements.select_related("policy").order_by("pk"))
    counted = set(settlements[-1].answers) if settlements else set()
    decisions = campaign.decisions.filter(
        kind=Decision.Kind.REVIEW, content__question=question.pk
    ).select_related("actor")
    return QuestionHistory(
        answers=answer_rows(campaign, answers, counted),
        settlements=[SettlementRow(row, settled_words(row, campaign)) for row in settlements],
        decisions=in_words(decisions),
    )


def answers_to(question_ids: Sequence[int]) -> QuerySet[Answer]:
    """Return every answer to these questions in order."""
    rows = Answer.objects.filter(assignment__question__in=question_ids)
    return rows.select_related("assignment__annotator").order_by("created_at", "revision", "pk")


def answer_rows(
    campaign: Campaign,
    answers: Sequence[Answer],
    counted: Collection[str],
    void: Collection[int] | None = None,
) -> list[QuestionAnswerRow]:
    """Return a row for each answer. counted: ids of the answers that settled their question. void:
    ids of blocked people; None to read them.
    """
    kind = KINDS[campaign.kind]
    latest = {answer.assignment_id: answer.pk for answer in answers if not answer.late}
    if void is None:
        blocked = campaign.memberships.filter(stage=Membership.Stage.BLOCKED)
        void = set(blocked.values_list("user", flat=True))
    return [
        QuestionAnswerRow(
            value=kind.tally_name(answer.value),
            words=kind.in_words(answer.value, campaign.settings),
            answer=answer,
            pseudonym=answer.assignment.annotator.pseudonym,
            seconds=None if answer.duration_ms is None else answer.duration_ms / 1000,
            counted=str(answer.pk) in counted,
            void=answer.assignment.annotator_id in void,
            replaced=not answer.late and latest[answer.assignment_id] != answer.pk,
        )
        for answer in answers
    ]


def settled_words(settlement: Settlement, campaign: Campaign) -> str:
    """Return the value of a settlement in words."""
    words = value_words(campaign)
    if settlement.value is None:
        return "no majority; sent to a reviewer"
    if settlement.value == "dropped":
        return "dropped"
    if (word := most_probable(settlement.value)) is not None:
        return f"undecided; most probable: {words.get(word, word)}"
    name = KINDS[campaign.kind].tally_name(settlement.value)
    return words.get(name, name)


def value_words(campaign: Campaign) -> dict[str, str]:
    """Return the label of each tally name, the short form in which answers are counted."""
    return KINDS[campaign.kind].words(campaign.settings)


def asked_words(campaign: Campaign, topic: str) -> str:
    """Return the question about the topic as a heading."""
    return KINDS[campaign.kind].question(topic, campaign.settings)


def answer_keys(campaign: Campaign) -> list[str]:
    """Return the keyboard key of each answer in the order of forms.answer_choices; "" for
    a class.
    """
    return [key for _, _, key in KINDS[campaign.kind].answers(campaign.settings)]


def topic_names(campaign: Campaign, keys: Iterable[str]) -> dict[str, str]:
    return dict(campaign.topics.filter(key__in=set(keys)).values_list("key", "name"))
