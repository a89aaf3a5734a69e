"""The standing that gold gives to annotators."""

from typing import Any

from labeling.intervals import wilson_interval
from labeling.kinds import KINDS
from labeling.models import Answer, Assignment, Campaign, Question, User


def standings(campaign: Campaign, user: User | None = None) -> dict[int, dict[str, Any]]:
    """For every annotator who met gold (or one of them): right, total, accuracy and its interval.

    The latest revision of each gold answer counts. The key is the user's id.
    """
    # From the gold, which is little, to its answers; never through all that the campaign has.
    gold = Question.objects.filter(campaign=campaign, state=Question.State.GOLD).values("pk")
    rows = (
        Answer.objects.filter(
            assignment__question__in=gold, assignment__state=Assignment.State.ANSWERED
        )
        .order_by("assignment_id", "revision")
        .values_list(
            "assignment_id",
            "assignment__annotator_id",
            "value",
            "assignment__question__gold__answer",
        )
    )
    if user is not None:
        rows = rows.filter(assignment__annotator=user)
    latest = {seat: (annotator, value, gold) for seat, annotator, value, gold in rows}
    kind = KINDS[campaign.kind]
    tally: dict[int, list[float]] = {}
    for annotator, value, gold in latest.values():
        right_total = tally.setdefault(annotator, [0, 0])
        right_total[0] += kind.grade(value, gold)
        right_total[1] += 1
    return {
        annotator: _standing(int(right), int(total)) for annotator, (right, total) in tally.items()
    }


def standing(user: User, campaign: Campaign) -> dict[str, Any]:
    """One annotator's accuracy on gold with its 95 % interval; accuracy None before any gold."""
    return standings(campaign, user).get(user.pk) or NO_STANDING


def _standing(right: int, total: int) -> dict[str, Any]:
    return {
        "right": right,
        "total": total,
        "accuracy": right / total if total else None,
        "interval": list(wilson_interval(right, total)),
    }


NO_STANDING = _standing(0, 0)
