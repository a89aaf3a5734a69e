"""A reviewer decides what the votes could not. The verdict is a Settlement and a Decision."""

from typing import Any

from django.db import transaction

from labeling import jobs
from labeling.errors import Conflict, NotYours, Refusal
from labeling.kinds import KINDS
from labeling.models import Campaign, Decision, Question, Settlement, User
from labeling.seats import lock_questions

State = Question.State
DROP = "drop"


@transaction.atomic
def decide(
    campaign: Campaign, question_id: int, actor: User, value: Any, reason: str = ""
) -> Settlement:
    """The settlement that a reviewer's verdict on a question in review makes.

    value: an answer that is no abstention, or "drop" to give the image up (its pair's next one
    follows, as after a dropping vote). The votes stay as they are and are named by the settlement,
    which stands whatever becomes of them.
    Raises Conflict when somebody has decided meanwhile.
    """
    value = clean_verdict(campaign, value)
    locked = lock_questions([question_id])
    if not locked or locked[0].campaign_id != campaign.pk:
        raise NotYours("There is no such question in this campaign.")
    if locked[0].state != State.REVIEW:
        raise Conflict("This question is not in review, or no longer. Take the next one.")
    state, stated = (State.DROPPED, "dropped") if value == DROP else (State.SETTLED, value)
    latest = Settlement.objects.filter(question_id=question_id).order_by("-pk").first()
    settlement = Settlement.objects.create(
        question_id=question_id,
        policy_id=locked[0].policy_id,
        value=stated,
        answers=latest.answers if latest else [],
        reviewed=True,
    )
    follows = locked[0].graph_id is not None
    Question.objects.filter(pk=question_id).update(state=state, follow_up=follows)
    Decision.objects.create(
        campaign=campaign,
        kind=Decision.Kind.REVIEW,
        actor=actor,
        content={"question": question_id, "state": state, "value": stated},
        reason=reason[:500],
    )
    if value == DROP:
        jobs.enqueue("question dropped", str(question_id), {"question": question_id}, campaign)
    if follows:
        jobs.enqueue("advance", str(campaign.pk), campaign=campaign)
    return settlement


def clean_verdict(campaign: Campaign, value: Any) -> Any:
    """The verdict, if it decides something. Raises Refusal."""
    if value == DROP:
        return DROP
    kind = KINDS[campaign.kind]
    cleaned = kind.clean(value, campaign.settings)
    if kind.vote(cleaned) is None:
        raise Refusal("A verdict decides: give an answer, or drop the image.", field="value")
    return cleaned
