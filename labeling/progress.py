"""What a researcher watches: how far a campaign is, who answered how much, what it cost."""

from collections.abc import Collection
from datetime import timedelta
from typing import Any

from django.db.models import Count, QuerySet, Sum
from django.utils import timezone

from labeling import campaign_figures, campaigns, judging, policies, quality
from labeling.models import Campaign, Membership, Question
from labeling.seats import fetch

# Somebody who answered this recently counts as working now.
ACTIVE = timedelta(minutes=15)


def progress(campaign: Campaign) -> dict[str, Any]:
    """Counts by state, answers given and still wanted, cost so far and to come, time left.

    Gold counts as work done and paid, never as a question. Answers are not read: the work of each
    person is kept with their membership.
    """
    policy = policies.of(campaign)
    by_state = dict.fromkeys(Question.State.values, 0) | dict(
        campaign.questions.order_by().values_list("state").annotate(Count("pk"))
    )
    asked = sum(count for state, count in by_state.items() if state not in ("gold", "withdrawn"))
    finished = by_state["settled"] + by_state["dropped"]
    work = campaign.memberships.aggregate(answers=Sum("answered"), worked_ms=Sum("worked_ms"))
    hours = (work["worked_ms"] or 0) / 3_600_000
    left = _answers_left(campaign) + _answers_to_come(campaign, policy, by_state)
    return {
        "questions": asked,
        "by_state": by_state,
        "finished": finished,
        "share": finished / asked if asked else None,
        "answers": work["answers"] or 0,
        "answers_left": left,
        "hours": hours,
        "cost": hours * policy["cost_per_hour"],
        "cost_left": left * policy["seconds_per_answer"] / 3600 * policy["cost_per_hour"],
        "currency": policy["currency"],
        "minutes_left": _minutes_left(campaign, left, hours, work["answers"] or 0),
    }


# Literal states and lanes, so that both databases use their partial indexes: what is free and what
# is leased is read, never all that was ever asked.
FREE_SEATS = """
SELECT COALESCE(SUM(seats_free), 0) FROM labeling_question
WHERE campaign_id = %s AND lane IN (0, 1) AND seats_free > 0
"""
LEASED_SEATS = """
SELECT COUNT(*) FROM (SELECT question_id FROM labeling_assignment WHERE state = 'leased') a
JOIN labeling_question q ON q.id = a.question_id
WHERE q.campaign_id = %s AND q.state = 'open'
"""


def _answers_left(campaign: Campaign) -> int:
    """Free seats of open questions and seats under lease."""
    [(free,)] = fetch(FREE_SEATS, [campaign.pk])
    [(leased,)] = fetch(LEASED_SEATS, [campaign.pk])
    return int(free) + int(leased)


def _answers_to_come(campaign: Campaign, policy: dict[str, Any], by_state: dict[str, int]) -> int:
    """What open questions will still ask for beyond the seats that they have now: votes are asked
    for one at a time until a question is sure. Nothing by majority, whose seats are all there."""
    if policy["method"] == "majority" or not by_state["open"]:
        return 0
    each = None
    if decided := by_state["settled"] + by_state["dropped"] + by_state["review"]:
        each = campaign_figures.mean_votes(campaign, decided)
    if each is None:
        each = judging.expected_votes(policy)
    return round(by_state["open"] * max(0.0, each - policies.first_votes(policy)))


def _minutes_left(campaign: Campaign, left: int, hours: float, answers: int) -> float | None:
    """At the campaign's own pace with the people who work now; None when nobody does."""
    active = campaign.memberships.filter(last_answered_at__gte=timezone.now() - ACTIVE).count()
    if not active or not answers:
        return None
    return left * hours * 60 / answers / active


def kept_standing(membership: Membership) -> dict[str, Any] | None:
    """Gold as watching.py last counted it; None where nobody looked since the stage began.

    Of somebody who is paused, as it stood when they left work: what is counted now begins anew
    with every stage.
    """
    test = membership.standing.get("test")
    return quality.standing_from(test["right"], test["total"]) if test else None


def members(campaign: Campaign) -> QuerySet[Membership]:
    """Everybody who belongs or belonged to the campaign, whoever answered most first."""
    return campaign.memberships.select_related("user").order_by("-answered", "pk")


def annotators(campaign: Campaign, found: Collection[Membership]) -> list[dict[str, Any]]:
    """A row for each of these members: role, answers, seconds an answer, standing on gold, last
    seen. The standing is the one that was kept; only where there is none are answers read."""
    standings = standings_of(campaign, found)
    return [
        {
            "membership": row,
            "user": row.user,
            "pseudonym": row.user.pseudonym,
            "role": row.role,
            "left_at": row.left_at,
            "answered": row.answered,
            "seconds_per_answer": row.worked_ms / 1000 / row.answered if row.answered else None,
            "last_at": row.last_answered_at,
            "standing": standings.get(row.user_id, quality.NO_STANDING),
        }
        for row in found
    ]


def standings_of(campaign: Campaign, found: Collection[Membership]) -> dict[int, dict[str, Any]]:
    """The standing of each of these members who met gold, by the user's id."""
    kept = {row.user_id: standing for row in found if (standing := kept_standing(row))}
    unseen = [row.user_id for row in found if row.user_id not in kept and row.answered]
    return quality.standings(campaign, unseen) | kept


def estimate_of(campaign: Campaign) -> dict[str, Any]:
    """What the campaign's questions cost as a whole, by its policy."""
    return campaigns.estimate(campaign.questions.asked().count(), policies.of(campaign))
