"""The second pass of naming: what models name is shown once a person has answered, who may then
answer again. The first answer stands for whatever is counted; the second is kept beside it.

Gold or not, settled or not, it is the same: it depends on the person's seats and on the proposals.
"""

from datetime import datetime

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext

from labeling.answers.sent import Look
from labeling.assignment.claiming import CLOSED
from labeling.db.sql import writing
from labeling.errors import CampaignClosed, Conflict, NotYours
from labeling.kinds import KINDS
from labeling.models import (
    Answer,
    Assignment,
    Campaign,
    Membership,
    NamedProposal,
    SecondAnswer,
    User,
)


def has_proposals(campaign: Campaign) -> bool:
    """Whether the campaign has a second pass."""
    return NamedProposal.objects.filter(campaign=campaign).exists()


def next_of(user: User, campaign: Campaign) -> SecondAnswer | None:
    """The seat that this person has seen the proposal of and not answered again, else their next
    answered one, whose proposal is shown from now on; None where there is none.

    From then on the first answer may not be changed. Raises NotYours for those who do not work, and
    where the campaign has no proposals.
    """
    member = _member(user, campaign)
    if not has_proposals(campaign):
        raise NotYours(gettext("This campaign has no second pass."))
    begun = SecondAnswer.objects.filter(
        assignment__annotator=user, assignment__question__campaign=campaign, answered_at=None
    ).select_related("assignment__question")
    with writing():
        # What one person asks for in two tabs takes turns.
        Membership.objects.select_for_update().get(pk=member.pk)
        if existing := begun.order_by("pk").first():
            return existing
        if campaign.state != Campaign.State.OPEN:
            raise CampaignClosed(gettext(CLOSED[Campaign.State(campaign.state)]))
        seat = _waiting(member).order_by("ordinal").first()
        if seat is None:
            return None
        proposal = NamedProposal.objects.filter(
            campaign=campaign, image_id=seat.question.item.image_id
        ).first()
        # An image without one comes too: gold that was added later must not be told by that.
        return SecondAnswer.objects.create(assignment=seat, shown=proposal.keys if proposal else [])


def _waiting(member: Membership) -> QuerySet[Assignment]:
    """Seats answered at work that were not shown yet."""
    return Assignment.objects.filter(
        annotator_id=member.user_id,
        question__campaign_id=member.campaign_id,
        state=Assignment.State.ANSWERED,
        ordinal__isnull=False,
        created_at__gte=member.working_since,
        second_answer=None,
    ).select_related("question__item")


def first_answer(second: SecondAnswer) -> object:
    """What the person said before."""
    rows = Answer.objects.filter(assignment=second.assignment_id).order_by("-revision")
    return rows.values_list("value", flat=True)[0]


def submit(
    user: User,
    campaign: Campaign,
    seat: str,
    value: object,
    duration_ms: int | None = None,
    looks: list[Look] | None = None,
    now: datetime | None = None,
) -> SecondAnswer:
    """The second answer, kept. The same again changes nothing. Raises NotYours for a seat whose
    proposal was not shown, Conflict for another answer, Refusal for a bad one."""
    _member(user, campaign)
    row = SecondAnswer.objects.filter(
        assignment__token=seat, assignment__annotator=user, assignment__question__campaign=campaign
    ).first()
    if row is None:
        raise NotYours(gettext("This image is not with you, or no longer. Take the next one."))
    cleaned = KINDS[campaign.kind].clean(value, campaign.settings)
    changed = SecondAnswer.objects.filter(pk=row.pk, answered_at=None).update(
        value=cleaned, duration_ms=duration_ms, looks=looks, answered_at=now or timezone.now()
    )
    row.refresh_from_db()
    if not changed and row.value != cleaned:
        raise Conflict(gettext("You have answered this a second time already. That answer stands."))
    return row


def _member(user: User, campaign: Campaign) -> Membership:
    member = Membership.objects.active().filter(user=user, campaign=campaign).first()
    if member is None or member.stage != Membership.Stage.WORKING:
        raise NotYours(gettext("The second pass is for those who label here."))
    if campaign.state == Campaign.State.CLOSED:
        raise Conflict(gettext("The campaign is closed."))
    return member
