"""Computes the accuracy of annotators on gold, and agreement by language."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import combinations
from typing import Any

from django.conf import settings
from django.db.models import BigIntegerField, F, Q
from django.db.models.functions import Coalesce

from labeling.estimators.intervals import wilson_interval
from labeling.kinds import KINDS, policies
from labeling.models import Answer, Campaign, Membership, Question, Seat, User
from labeling.quality.gold import latest_answered


@dataclass(frozen=True)
class Accuracy:
    """The share of right answers to gold, with its 95 % interval. accuracy: None if total is 0."""

    right: int
    total: int
    accuracy: float | None
    interval: tuple[float, float]


def accuracy_of(right: int, total: int) -> Accuracy:
    return Accuracy(right, total, right / total if total else None, wilson_interval(right, total))


NO_GOLD = accuracy_of(0, 0)
# Limit of the seats read for a page, so that the page of a large campaign is not slower.
LATEST = 5_000


@dataclass(frozen=True)
class GroupError:
    """The share of wrong answers to gold in one group, with its 95 % interval.

    group: an input method or a language; "" for answers without one.
    """

    group: str
    wrong: int
    total: int
    error: float
    interval: tuple[float, float]


def errors_by_method(campaign: Campaign) -> list[GroupError]:
    """Return the errors on gold by input method, in the order of Answer.InputMethod. One query."""
    return _errors_by(campaign, "input_method", Answer.InputMethod.values)


def errors_by_language(campaign: Campaign) -> list[GroupError]:
    """Return the errors on gold by the page's language, in the order of LANGUAGES. One query."""
    return _errors_by(campaign, "language", [code for code, _ in settings.LANGUAGES])


def _errors_by(campaign: Campaign, column: str, order: Sequence[str]) -> list[GroupError]:
    """Return the errors on gold, grouped by a column of Answer.

    Reads the LATEST newest answered seats on active gold, including training and tests, and counts
    the last revision of each. Empty if no answer has a value in the column.
    """
    rows = (
        Answer.objects.filter(assignment__in=latest_answered(campaign, LATEST))
        .order_by("assignment_id", "revision")
        .values_list("assignment_id", column, "value", "assignment__question__gold__answer")
    )
    # The rows of a seat are in order of revision, so the last one remains.
    latest = {seat: answer_row for seat, *answer_row in rows}
    kind, policy = KINDS[campaign.kind], policies.for_campaign(campaign)
    total, wrong = Counter[str](), Counter[str]()
    for group, value, answer in latest.values():
        total[group or ""] += 1
        wrong[group or ""] += not kind.is_right(value, answer, policy)
    if not set(total) - {""}:
        return []
    return [
        GroupError(
            group,
            wrong[group],
            total[group],
            wrong[group] / total[group],
            wilson_interval(wrong[group], total[group]),
        )
        for group in [*order, ""]
        if total[group]
    ]


@dataclass(frozen=True)
class LanguageAgreement:
    """The share of agreeing pairs of answers, with its 95 % interval.

    Both answers of a pair are to one question. first, second: languages of the two answers, in the
    order of LANGUAGES; they may be the same.
    """

    first: str
    second: str
    agreed: int
    total: int
    share: float
    interval: tuple[float, float]


def agreement_by_language(campaign: Campaign) -> list[LanguageAgreement]:
    """Return the agreement within each language and between each two, in the order of LANGUAGES.

    Reads the LATEST newest answered seats on ordinary questions and counts the last revision of
    each. Empty unless a question has answers in two languages. The pairs of one question are not
    independent, so the intervals are too narrow. One query.
    """
    seats = Seat.objects.filter(question__campaign=campaign, state=Seat.State.ANSWERED).exclude(
        question__state=Question.State.GOLD
    )
    rows = (
        Answer.objects.filter(assignment__in=seats.order_by("-pk").values("pk")[:LATEST])
        .order_by("assignment_id", "revision")
        .values_list("assignment_id", "assignment__question_id", "language", "value")
    )
    latest = {seat: answer_row for seat, *answer_row in rows}
    by_question: dict[int, list[tuple[str, Any]]] = defaultdict(list)
    for question, language, value in latest.values():
        if language:
            by_question[question].append((language, value))
    order = [code for code, _ in settings.LANGUAGES]
    kind = KINDS[campaign.kind]
    total, agreed = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for answers in by_question.values():
        for (first_language, value), (second_language, second_value) in combinations(answers, 2):
            first, second = sorted((first_language, second_language), key=_position_in(order))
            pair = first, second
            total[pair] += 1
            agreed[pair] += kind.agrees(value, second_value)
    if all(first == second for first, second in total):
        return []
    return [
        LanguageAgreement(
            *pair,
            agreed[pair],
            total[pair],
            agreed[pair] / total[pair],
            wilson_interval(agreed[pair], total[pair]),
        )
        for pair in sorted(total, key=lambda pair: [_position_in(order)(code) for code in pair])
    ]


def _position_in(order: Sequence[str]) -> Callable[[str], tuple[int, str]]:
    # Put languages that the site no longer offers last, by their codes.
    return lambda code: (order.index(code) if code in order else len(order), code)


def accuracies(campaign: Campaign, people: Collection[int] | None = None) -> dict[int, Accuracy]:
    """Return user id → accuracy on gold, as `rights` counts it.

    people: ids of the users; None for all.
    """
    return {
        annotator: accuracy_of(sum(results), len(results))
        for annotator, results in rights(campaign, people).items()
    }


def rights(
    campaign: Campaign,
    people: Collection[int] | None = None,
    since: Mapping[int, datetime] | None = None,
) -> dict[int, list[bool]]:
    """Return user id → whether each of their answers to gold is right, in the order of answering.

    people: ids of the users; None for all. since: user id → time. Counts active gold that the user
    first answered at this time or later, and grades the last revision. The default is the end of
    training and test, or a later pardon. Two queries; one with `since`.
    """
    if people is not None and not people:
        return {}
    since = _working_since(campaign, people) if since is None else since
    rows = (
        Answer.objects.filter(_on_gold(campaign, people), assignment__state=Seat.State.ANSWERED)
        .order_by("assignment__ordinal", "assignment_id", "revision")
        .values_list(
            "assignment_id",
            "assignment__annotator_id",
            "created_at",
            "value",
            "assignment__question__gold__answer",
        )
    )
    latest: dict[int, tuple[int, datetime, Any, Any]] = {}
    for seat, annotator, at, value, answer in rows:
        # The time of the first revision decides whether a seat counts. The last revision is graded.
        first_at = latest[seat][1] if seat in latest else at
        latest[seat] = (annotator, first_at, value, answer)
    kind, policy = KINDS[campaign.kind], policies.for_campaign(campaign)
    rights_by_user: dict[int, list[bool]] = {}
    for annotator, first_at, value, answer in latest.values():
        if annotator in since and first_at >= since[annotator]:
            rights_by_user.setdefault(annotator, []).append(kind.is_right(value, answer, policy))
    return rights_by_user


def _on_gold(campaign: Campaign, people: Collection[int] | None) -> Q:
    """Return the condition for answers to active gold.

    It lets the database start from the gold questions, which are few, instead of from all answers
    in the campaign or of these people.
    """
    gold = Question.objects.filter(
        campaign=campaign, state=Question.State.GOLD, gold__retired_at=None
    )
    if people is None:
        return Q(assignment__question__in=gold.values("pk"))
    # Filter by annotator and subject, which are indexed together: this skips the seats of others on
    # the same gold. The original of a gold copy has the same subject, so filter by state too.
    subject = Coalesce("subject", F("id"), output_field=BigIntegerField())
    return Q(
        assignment__annotator__in=people,
        assignment__subject__in=gold.annotate(gold_subject=subject).values("gold_subject"),
        assignment__question__campaign=campaign,
        assignment__question__state=Question.State.GOLD,
        assignment__question__gold__retired_at=None,
    )


def _working_since(campaign: Campaign, people: Collection[int] | None) -> dict[int, datetime]:
    members = Membership.objects.filter(campaign=campaign)
    if people is not None:
        members = members.filter(user__in=people)
    return dict(members.values_list("user", "working_since"))


def accuracy(user: User, campaign: Campaign) -> Accuracy:
    """Return one annotator's accuracy on gold."""
    return accuracies(campaign, [user.pk]).get(user.pk, NO_GOLD)
