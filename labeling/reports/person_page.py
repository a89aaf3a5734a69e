"""One member for researchers: latest answers beside the consensus, checks and decisions."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Q

from labeling.kinds import KINDS, policies
from labeling.kinds.policies import ACTIONS
from labeling.kinds.votes import most_probable
from labeling.models import (
    Answer,
    Campaign,
    Decision,
    Gold,
    Image,
    Membership,
    Question,
    Seat,
    Settlement,
)
from labeling.quality import gold_results
from labeling.reports import campaign_page, progress, question_page

MAX_LISTED_ANSWERS = 40


@dataclass(frozen=True)
class PersonAnswerRow:
    """A person's answer, and the question's gold or settled one (current), "" without one.

    agrees: None without a current answer, and for an abstention.
    """

    question: Question
    image: Image
    topic: str
    gold: bool
    answer: Answer
    value: str
    words: str
    seconds: float | None
    current: str
    stands_words: str
    agrees: bool | None


def recent_answers(membership: Membership) -> list[PersonAnswerRow]:
    """Return the person's latest answers, newest first. Five queries."""
    campaign = membership.campaign
    seats = list(
        Seat.objects.filter(
            annotator_id=membership.user_id, question__campaign=campaign, state=Seat.State.ANSWERED
        )
        .select_related("question__item__image")
        .order_by("-ordinal", "-pk")[:MAX_LISTED_ANSWERS]
    )
    questions = [seat.question for seat in seats]
    answers = _latest([seat.pk for seat in seats])
    current_values = _current_values(questions)
    words = question_page.value_words(campaign)
    names = question_page.topic_names(campaign, {question.topic for question in questions})
    return [
        _row(
            campaign,
            seat.question,
            answers[seat.pk],
            current_values.get(seat.question_id),
            words,
            names,
        )
        for seat in seats
        if seat.pk in answers
    ]


def _row(
    campaign: Campaign,
    question: Question,
    answer: Answer,
    current: Any,
    words: dict[str, str],
    names: dict[str, str],
) -> PersonAnswerRow:
    kind = KINDS[campaign.kind]
    value, name, agrees = kind.tally_name(answer.value), "", None
    gold = question.state == Question.State.GOLD
    # Nobody can agree with a question without a label.
    if current not in (None, "dropped") and most_probable(current) is None:
        name = kind.tally_name(current)
        if gold or kind.vote(answer.value) is not None:
            compare = kind.is_right if gold else kind.fits
            agrees = compare(answer.value, current, policies.for_campaign(campaign))
    return PersonAnswerRow(
        question=question,
        image=question.item.image,
        topic=names.get(question.topic, question.topic),
        gold=gold,
        answer=answer,
        value=value,
        words=words.get(value, value),
        seconds=None if answer.duration_ms is None else answer.duration_ms / 1000,
        current=name,
        stands_words=words.get(name, name),
        agrees=agrees,
    )


def _latest(seats: list[int]) -> dict[int, Answer]:
    rows = Answer.objects.filter(assignment__in=seats).order_by("revision")
    return {answer.assignment_id: answer for answer in rows}


def _current_values(questions: list[Question]) -> dict[int, Any]:
    """Return the gold answer or the latest settled value of each question that has one."""
    golden = [q.pk for q in questions if q.state == Question.State.GOLD]
    settled = [q.pk for q in questions if q.state == Question.State.SETTLED]
    rows = Settlement.objects.filter(question__in=settled).order_by("pk")
    gold = Gold.objects.filter(question__in=golden)
    return dict(rows.values_list("question", "value")) | dict(
        gold.values_list("question", "answer")
    )


def decisions_on(membership: Membership, limit: int = 20) -> list[campaign_page.DecisionWords]:
    """Return the decisions on this person, the newest first."""
    person = membership.user_id
    decisions = (
        membership.campaign.decisions.filter(
            Q(content__annotator=person) | Q(content__member=person),
            kind__in=[
                Decision.Kind.MEMBER,
                Decision.Kind.BLOCK,
                Decision.Kind.UNBLOCK,
                Decision.Kind.STAGE,
                Decision.Kind.QUOTA,
            ],
        )
        .select_related("actor")
        .order_by("-pk")[:limit]
    )
    return campaign_page.in_words(decisions)


@dataclass(frozen=True)
class PersonCheck:
    """A check of a person in words: last value, threshold and consequence.

    is_reason: whether the threshold was exceeded.
    """

    signal: str
    title: str
    result: str
    threshold: str
    action: str
    is_reason: bool
    accuracy: gold_results.Accuracy | None


def signals_of(membership: Membership, policy: policies.WholePolicy) -> list[PersonCheck]:
    kept = membership.standing
    reasons = {row["signal"] for row in kept.get("reasons", [])}
    gold = accuracy_of(membership)
    rows = (
        ("test", _test(kept), _test_threshold(policy), policy["gold_action"]),
        ("speed", _speed(kept), _speed_threshold(policy), policy["speed_action"]),
        ("runs", _runs(kept), _runs_threshold(policy), policy["run_action"]),
        ("chance", _chance(kept), _least(policy), policy["chance_action"]),
    )
    return [
        PersonCheck(
            name,
            SIGNAL_TITLES[name],
            result,
            least,
            ACTIONS[action],
            name in reasons,
            gold if not index else None,
        )
        for index, (name, result, least, action) in enumerate(rows)
    ]


SIGNAL_TITLES = {
    "test": "Gold questions",
    "speed": "Speed",
    "runs": "Runs of the same answer",
    "chance": "Agreement beyond chance",
}
NOT_YET = "Not checked yet."


def accuracy_of(membership: Membership) -> gold_results.Accuracy:
    at_work = membership.stage == Membership.Stage.WORKING
    kept = None if at_work else progress.stored_accuracy(membership)
    return kept or gold_results.accuracy(membership.user, membership.campaign)


def _test(kept: Mapping[str, Any]) -> str:
    test = kept.get("test")
    if not test:
        return NOT_YET
    right, total = test["now"]
    summary = f"Accepted {test['accepted']} times, rejected {test['rejected']}."
    return summary + (f" Current test: {right} of {total} right." if total else "")


def _test_threshold(policy: policies.WholePolicy) -> str:
    return (
        f"answers fit an accuracy of {policy['bad_accuracy']:.0%} better than one of "
        f"{policy['good_accuracy']:.0%}"
    )


def _speed(kept: Mapping[str, Any]) -> str:
    speed = kept.get("speed") or {}
    if speed.get("share") is None:
        return NOT_YET
    return (
        f"The median of {speed['answers']} answers is {speed['seconds']:g} s, {speed['share']:.0%} "
        f"of the median of others ({speed['pool_seconds']:g} s)."
    )


def _speed_threshold(policy: policies.WholePolicy) -> str:
    return f"below {policy['speed_share']:.0%}, after {policy['signal_answers']} answers"


def _runs(kept: Mapping[str, Any]) -> str:
    runs = kept.get("runs") or {}
    if not runs.get("length"):
        return NOT_YET
    odds = runs.get("odds")
    sentence = f"“{runs['word']}” {runs['length']} times in a row"
    if odds is None:
        return f"{sentence}."
    # Smaller probabilities are shown as this bound.
    people = "a million or more" if odds < 1e-6 else f"{1 / odds:,.0f}"
    would = "not unusual" if odds > 0.5 else f"expected from 1 person in {people}"
    return f"{sentence}; {would}, given the answers of others."


def _runs_threshold(policy: policies.WholePolicy) -> str:
    return f"{policy['run_length']} or more, unless the answers of others make that likely"


def _chance(kept: Mapping[str, Any]) -> str:
    chance = kept.get("chance") or {}
    if chance.get("kappa") is None:
        return NOT_YET
    return (
        f"{chance['kappa']:.2f} on {chance['answers']} answers, at most {chance['upper']:.2f} "
        f"({chance['agreed']} agreed)."
    )


def _least(policy: policies.WholePolicy) -> str:
    return f"upper bound below {policy['chance_agreement']:g}"
