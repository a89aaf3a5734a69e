"""Progress, people and cost of a campaign."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta
from typing import NamedTuple

from django.db.models import QuerySet, Sum
from django.utils import timezone

from labeling.db import question_counts
from labeling.db.question_counts import StateCounts
from labeling.db.sql import fetch
from labeling.kinds import KINDS, policies
from labeling.kinds.base import CHAINS
from labeling.models import Campaign, Membership
from labeling.quality import gold_results
from labeling.records import Record
from labeling.reports import forecasts, quality_page
from labeling.simulation.expected_votes import expected_votes

# Below this number, open questions are checked one by one for people who may answer.
FEW = 50
# A person who answered this recently counts as active.
ACTIVE = timedelta(minutes=15)


class CountedQuestions(NamedTuple):
    """The current questions of a campaign, and the forecast of all."""

    counts: StateCounts
    forecast: forecasts.Forecast


def count(campaign: Campaign) -> CountedQuestions:
    counts = question_counts.of_campaign(campaign.pk)
    return CountedQuestions(counts, forecasts.of_campaign(campaign, counts))


@dataclass(kw_only=True)
class CampaignProgress(Record):
    """Questions by state, answers given and still needed, cost so far and to come, time left.

    With a graph, the needed answers include those to questions that are likely to follow; the
    ranges (low, high) are those of forecasts.py, else equal numbers. Gold counts as work and cost,
    never as a question.
    """

    questions: int
    by_state: dict[str, int]
    finished: int
    share: float | None
    answers: int
    questions_range: tuple[int, int]
    answers_left: int
    answers_left_range: tuple[int, int]
    hours: float
    cost: float
    cost_left: float
    cost_left_range: tuple[float, float]
    currency: str
    minutes_left: float | None


def progress(campaign: Campaign, counted: CountedQuestions | None = None) -> CampaignProgress:
    """Return the progress of the campaign from counters of memberships, without reading answers.

    counted: if it is known.
    """
    policy = policies.for_campaign(campaign)
    counts, forecast = counted or count(campaign)
    total, finished = counts.questions, counts.settled + counts.dropped
    work = campaign.memberships.aggregate(answers=Sum("answered"), worked_ms=Sum("worked_ms"))
    hours = (work["worked_ms"] or 0) / 3_600_000
    left = counts.seats_free + _leased(campaign) + _answers_to_come(campaign, policy, counts)
    more = forecast.minus(total)
    each = forecasts.answers_each(policy)
    low, likely, high = (left + round(number * each) for number in more)
    cost = policy["seconds_per_answer"] / 3600 * policy["cost_per_hour"]
    return CampaignProgress(
        questions=total,
        by_state=counts.by_state,
        finished=finished,
        share=finished / total if total else None,
        answers=work["answers"] or 0,
        questions_range=(forecast.low, forecast.high),
        answers_left=likely,
        answers_left_range=(low, high),
        hours=hours,
        cost=hours * policy["cost_per_hour"],
        cost_left=likely * cost,
        cost_left_range=(low * cost, high * cost),
        currency=policy["currency"],
        minutes_left=_minutes_left(campaign, likely, hours, work["answers"] or 0),
    )


# The state is a literal, so that both databases use their partial index: the query reads only the
# leased seats.
LEASED_SEATS = """
SELECT COUNT(*) FROM (SELECT question_id FROM labeling_assignment WHERE state = 'leased') a
JOIN labeling_question q ON q.id = a.question_id
WHERE q.campaign_id = %s AND q.state = 'open'
"""


def _leased(campaign: Campaign) -> int:
    """Count the leased seats of open questions."""
    [(leased,)] = fetch(LEASED_SEATS, [campaign.pk])
    return int(leased)


EXHAUSTED_QUESTIONS = """
SELECT COUNT(*) FROM labeling_question q
WHERE q.campaign_id = %s AND q.state = 'open' AND q.seats_free > 0 AND EXISTS (
    SELECT 1 FROM labeling_assignment a WHERE a.question_id = q.id AND a.state = 'answered'
) AND NOT EXISTS (
    SELECT 1 FROM labeling_membership m
    WHERE m.campaign_id = q.campaign_id AND m.left_at IS NULL AND m.role = 'annotator'
    AND m.stage IN ('training', 'test', 'working') AND NOT EXISTS (
        SELECT 1 FROM labeling_assignment a
        WHERE a.question_id = q.id AND a.annotator_id = m.user_id AND a.state = 'answered'
    )
)
"""


def without_anybody(campaign: Campaign, counts: StateCounts) -> int:
    """Count open questions that every annotator has answered, as in a tie among all.

    Counted only near the end, when few questions have a free seat.
    """
    if not 0 < counts.free <= FEW or campaign.state != Campaign.State.OPEN:
        return 0
    [(count,)] = fetch(EXHAUSTED_QUESTIONS, [campaign.pk])
    return int(count)


def _answers_to_come(campaign: Campaign, policy: policies.WholePolicy, counts: StateCounts) -> int:
    """Return the expected answers beyond the current seats.

    Votes are requested one at a time until a question is decided; 0 if all are requested at once,
    as in the steps of boxes.
    """
    if policies.asks_all(policy) or not counts.open or KINDS[campaign.kind].asks == CHAINS:
        return 0
    each = quality_page.mean_votes(campaign, counts.decided) if counts.decided else None
    if each is None:
        each = expected_votes(policy)
    return round(counts.open * max(0.0, each - policies.first_votes(policy)))


def _minutes_left(campaign: Campaign, left: int, hours: float, answers: int) -> float | None:
    """Return the time left at the current pace; None if nobody works."""
    active = campaign.memberships.filter(last_answered_at__gte=timezone.now() - ACTIVE).count()
    if not active or not answers:
        return None
    return left * hours * 60 / answers / active


def stored_accuracy(membership: Membership) -> gold_results.Accuracy | None:
    """Return the accuracy on gold that monitoring.py last stored; None if none in this stage.

    For a paused person: the accuracy before the pause, since each stage starts a new count.
    """
    test = membership.standing.get("test")
    if not test or not 0 <= test["right"] <= test["total"]:
        # Recount impossible figures from the answers.
        return None
    return gold_results.accuracy_of(test["right"], test["total"])


def tone_of(membership: Membership) -> str:
    """Return the badge style of a member.

    "suspect" if a check failed, "accepted" if the gold test passed, else the stage.
    """
    if membership.stage != Membership.Stage.WORKING:
        return membership.stage
    if membership.standing.get("reasons"):
        return "suspect"
    tested = membership.standing.get("test", {})
    return "accepted" if tested.get("verdict") == "accepted" else membership.stage


def members(campaign: Campaign) -> QuerySet[Membership]:
    """Return all current and former members, those with the most answers first."""
    return campaign.memberships.select_related("user").order_by("-answered", "pk")


@dataclass(frozen=True)
class Annotator:
    """A member in a list."""

    membership: Membership
    tone: str
    seconds_per_answer: float | None
    accuracy: gold_results.Accuracy


def annotators(campaign: Campaign, members: Collection[Membership]) -> list[Annotator]:
    """Return a row for each member, with the stored accuracy; reads answers if none is stored."""
    accuracies = accuracies_of(campaign, members)
    return [
        Annotator(
            membership=row,
            tone=tone_of(row),
            seconds_per_answer=row.worked_ms / 1000 / row.answered if row.answered else None,
            accuracy=accuracies.get(row.user_id, gold_results.NO_GOLD),
        )
        for row in members
    ]


def accuracies_of(
    campaign: Campaign, members: Collection[Membership]
) -> dict[int, gold_results.Accuracy]:
    """Return user id → accuracy of the members who answered gold."""
    kept = {row.user_id: share for row in members if (share := stored_accuracy(row))}
    unseen = [row.user_id for row in members if row.user_id not in kept and row.answered]
    return gold_results.accuracies(campaign, unseen) | kept


def estimate_of(
    campaign: Campaign, counted: CountedQuestions | None = None
) -> forecasts.CostEstimate:
    """Return the cost of all the campaign's questions under its policy."""
    return forecasts.estimate(
        (counted or count(campaign)).forecast, policies.for_campaign(campaign)
    )
