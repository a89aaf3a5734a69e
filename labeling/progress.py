"""What a researcher watches: how far a campaign is, who answered how much, what it cost."""

import statistics
from datetime import timedelta
from typing import Any

from django.db.models import Count, Max, Q, Sum
from django.utils import timezone

from labeling import campaigns, quality
from labeling.models import Answer, Assignment, Campaign, Question

# A person's pace is the median of this many latest answers: enough to be steady, few to read.
PACE_ANSWERS = 200
# An answer that took longer than this was a pause, not work.
PAUSE_MS = 120_000


def progress(campaign: Campaign) -> dict[str, Any]:
    """Counts by state, answers given and still wanted, cost so far and to come, time left.

    Gold counts as work done and paid, never as a question. Queries do not grow with the campaign.
    """
    policy = campaign.policy.content
    by_state = dict.fromkeys(Question.State.values, 0) | dict(
        campaign.questions.order_by().values_list("state").annotate(Count("pk"))
    )
    asked = sum(count for state, count in by_state.items() if state not in ("gold", "withdrawn"))
    finished = by_state["settled"] + by_state["dropped"]
    wanted = (
        campaign.questions.filter(state=Question.State.OPEN).aggregate(free=Sum("seats_free"))[
            "free"
        ]
        or 0
    )
    leased = Assignment.objects.filter(
        question__campaign=campaign,
        question__state=Question.State.OPEN,
        state=Assignment.State.LEASED,
    ).count()
    answered = Answer.objects.filter(assignment__question__campaign=campaign, revision=0).aggregate(
        count=Count("pk"), worked_ms=Sum("duration_ms", filter=_worked())
    )
    hours = (answered["worked_ms"] or 0) / 3_600_000
    left = wanted + leased
    return {
        "questions": asked,
        "by_state": by_state,
        "finished": finished,
        "share": finished / asked if asked else None,
        "answers": answered["count"],
        "answers_left": left,
        "hours": hours,
        "cost": hours * policy["cost_per_hour"],
        "cost_left": left * policy["seconds_per_answer"] / 3600 * policy["cost_per_hour"],
        "currency": policy["currency"],
        "minutes_left": _minutes_left(campaign, left),
    }


def _worked() -> Q:
    return Q(duration_ms__lte=PAUSE_MS)


def _minutes_left(campaign: Campaign, left: int) -> float | None:
    """At the pace of the last hour; None when nobody answered in it."""
    since = timezone.now() - timedelta(hours=1)
    recent = Answer.objects.filter(
        assignment__question__campaign=campaign, created_at__gte=since, revision=0
    ).count()
    return left * 60 / recent if recent else None


def annotators(campaign: Campaign) -> list[dict[str, Any]]:
    """A row for every member: role, answers, median seconds, standing on gold, last answer."""
    standings = quality.standings(campaign)
    rows = (
        campaign.memberships.select_related("user")
        .annotate(
            last_at=Max(
                "user__assignments__answers__created_at",
                filter=Q(user__assignments__question__campaign=campaign),
            )
        )
        .order_by("-answered", "pk")
    )
    paces = _paces(campaign)
    return [
        {
            "membership": row,
            "user": row.user,
            "pseudonym": row.user.pseudonym,
            "role": row.role,
            "left_at": row.left_at,
            "answered": row.answered,
            "median_seconds": paces.get(row.user_id),
            "last_at": row.last_at,
            "standing": standings.get(row.user_id) or quality.NO_STANDING,
        }
        for row in rows
    ]


def _paces(campaign: Campaign) -> dict[int, float]:
    """Median seconds of each annotator's answers among the campaign's latest."""
    members = campaign.memberships.count()
    latest = (
        Answer.objects.filter(_worked(), assignment__question__campaign=campaign, revision=0)
        .order_by("-created_at")
        .values_list("assignment__annotator_id", "duration_ms")[: PACE_ANSWERS * max(1, members)]
    )
    durations: dict[int, list[int]] = {}
    for annotator, duration in latest:
        durations.setdefault(annotator, []).append(duration)
    return {annotator: statistics.median(ms) / 1000 for annotator, ms in durations.items()}


def estimate_of(campaign: Campaign) -> dict[str, Any]:
    """What the campaign's questions cost as a whole, by its policy."""
    return campaigns.estimate(campaign.questions.asked().count(), campaign.policy.content)
