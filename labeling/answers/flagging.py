"""Flags: annotators report an image to the researchers, who reply.

A person may flag any image on which they hold or held a seat; gold gets the same response.
"""

from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext

from labeling.errors import Conflict, NotYours, Refusal
from labeling.models import Campaign, Flag, Membership, Seat, User

MAX_TEXT = 500
# Most flags without a reply, per person and campaign: people must be able to read the list.
MAX_WAITING = 50


def flag(user: User, campaign: Campaign, key: UUID, token: str, note: str) -> Flag:
    """Create the person's flag on the image of their seat and return it.

    Repeating it returns the same flag.

    Raises NotYours, Conflict for another flag with that id, or Refusal.
    """
    note = _text(note, "note", gettext("Say what the researchers should know about this image"))
    seat = Seat.objects.filter(token=token, annotator=user, question__campaign=campaign).first()
    members = Membership.objects.active().exclude(stage=Membership.Stage.BLOCKED)
    if seat is None or not members.filter(user=user, campaign=campaign).exists():
        raise NotYours(gettext("This image is not assigned to you."), field="seat")
    waiting_flags = campaign.flags.filter(annotator=user, replied_at=None)
    if waiting_flags.exclude(pk=key)[MAX_WAITING - 1 : MAX_WAITING].exists():
        raise Refusal(
            gettext("%(count)s of your flags have no reply yet. Wait for the researchers.")
            % {"count": MAX_WAITING},
            field="note",
            code="too_many",
        )
    try:
        with transaction.atomic():
            return Flag.objects.create(
                pk=key, campaign=campaign, assignment=seat, annotator=user, note=note
            )
    except IntegrityError:
        kept = Flag.objects.get(pk=key)
        if (kept.assignment_id, kept.note) != (seat.pk, note):
            raise Conflict(
                gettext("Another flag has this id. Reload the page."), field="id"
            ) from None
        return kept


def reply(campaign: Campaign, key: UUID, user: User, text: str) -> Flag:
    """Set the researcher's reply, replacing an earlier one, and return the flag.

    Raises NotYours or Refusal.
    """
    text = _text(text, "reply", "Write a reply")
    changed = campaign.flags.filter(pk=key).update(
        reply=text, replied_by=user, replied_at=timezone.now(), read_at=None
    )
    if not changed:
        raise NotYours("There is no such flag in this campaign.")
    return campaign.flags.get(pk=key)


def own_flags(user: User, campaign: Campaign) -> QuerySet[Flag]:
    """Return the person's flags in the campaign, newest first."""
    flags = campaign.flags.filter(annotator=user)
    return flags.order_by("-created_at", "-pk")


def read_replies(user: User, campaign: Campaign) -> None:
    """Mark all replies to the person as read."""
    unread = own_flags(user, campaign).filter(read_at=None).exclude(replied_at=None)
    unread.order_by().update(read_at=timezone.now())


def campaigns_with_replies(user: User) -> frozenset[int]:
    """Return ids of campaigns with unread replies to this person. One query."""
    unread = user.flags.filter(read_at=None)
    return frozenset(unread.exclude(replied_at=None).values_list("campaign", flat=True))


def _text(text: str, field: str, cure: str) -> str:
    text = text.strip()
    if not 0 < len(text) <= MAX_TEXT:
        raise Refusal(
            gettext("%(cure)s, in 1 to %(most)s characters.") % {"cure": cure, "most": MAX_TEXT},
            field=field,
        )
    return text
