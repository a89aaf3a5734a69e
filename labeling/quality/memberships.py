"""Memberships of a campaign: invitations, roles, leaving. Only this module changes a role."""

import hashlib
import secrets
from collections.abc import Sequence
from datetime import timedelta

from django.db import transaction
from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext, gettext_noop

from labeling.assignment import claiming
from labeling.campaigns import lifecycle
from labeling.errors import Conflict, NotYours, Refusal
from labeling.models import Campaign, Decision, Invitation, Membership, User

MAX_DAYS = 90
MAX_USES = 1000
REMOVED = gettext_noop(
    "You were removed from this campaign after this invitation was created. Ask the person who "
    "sent it for a new one."
)


def digest_of(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def invite(
    campaign: Campaign,
    actor: User,
    role: str = Membership.Role.ANNOTATOR,
    *,
    days: int = 7,
    max_uses: int = 1,
    note: str = "",
) -> tuple[Invitation, str]:
    """Return a new invitation and its secret, of which only a digest is stored.

    Raises Refusal, Conflict for an archived campaign.
    """
    lifecycle.check_campaign_active(campaign)
    _check_role(role)
    if not 1 <= days <= MAX_DAYS:
        raise Refusal(f"The invitation is for {days} days; expected 1 to {MAX_DAYS}.", field="days")
    if not 1 <= max_uses <= MAX_USES:
        raise Refusal(
            f"The invitation is for {max_uses} people; expected 1 to {MAX_USES}.", field="max_uses"
        )
    secret = secrets.token_urlsafe(24)
    now = timezone.now()
    with transaction.atomic():
        invitation = Invitation.objects.create(
            campaign=campaign,
            role=role,
            digest=digest_of(secret),
            note=note[:200],
            max_uses=max_uses,
            created_by=actor,
            created_at=now,
            expires_at=now + timedelta(days=days),
        )
        _record(campaign, actor, "invited", role=role, invitation=invitation.pk)
    return invitation, secret


def invite_each(
    campaign: Campaign, actor: User, people: Sequence[str], role: str, *, days: int
) -> list[tuple[str, str]]:
    """Create an invitation for each person, or none at all; return (name, secret) of each."""
    if not people:
        raise Refusal("Give at least one name.", field="people")
    if len(people) > MAX_USES:
        raise Refusal(
            f"The list has {len(people):,} names; at most {MAX_USES:,} are allowed. Split it.",
            field="people",
        )
    with transaction.atomic():
        return [(name, invite(campaign, actor, role, days=days, note=name)[1]) for name in people]


def find_invitation(secret: str) -> Invitation | None:
    """Return the invitation with this secret if it is valid."""
    if not secret:
        return None
    return (
        Invitation.objects.usable()
        .filter(digest=digest_of(secret))
        .select_related("campaign")
        .first()
    )


def explain(secret: str) -> str:
    """Return a sentence that tells the person why the invitation with this secret is not valid."""
    invitation = Invitation.objects.filter(digest=digest_of(secret)).first()
    if invitation is None:
        return gettext("This invitation does not exist. Check that the whole link was copied.")
    if invitation.revoked_at:
        return gettext("This invitation was revoked. Ask the person who sent it for a new one.")
    if invitation.expires_at <= timezone.now():
        return gettext("This invitation has expired. Ask the person who sent it for a new one.")
    return gettext("This invitation has been used up. Ask the person who sent it for a new one.")


def accept(secret: str, user: User) -> Membership:
    """Make the person a member by the invitation and return the membership.

    An existing member costs no use.

    Raises Refusal with the reason if the invitation is used up, expired or revoked, or older than
    the person's removal.
    """
    invitation = find_invitation(secret)
    if invitation is None:
        held = Invitation.objects.filter(digest=digest_of(secret)).first()
        member = held and held.campaign.memberships.active().filter(user=user).first()
        if member:
            return member
        raise Refusal(explain(secret), code="invitation_unusable")
    with transaction.atomic():
        membership, created = Membership.objects.select_for_update().get_or_create(
            user=user,
            campaign=invitation.campaign,
            defaults={
                "role": invitation.role,
                "settled_before": invitation.campaign.settled_nightly,
            },
        )
        if not created and membership.left_at is None:
            return membership
        # A removed member may still have a link for many people; it must not bring them back.
        if membership.left_at and invitation.created_at <= membership.left_at:
            raise Refusal(gettext(REMOVED), code="invitation_unusable")
        # Concurrent users of the link compete for its last use: the count decides.
        taken = Invitation.objects.usable().filter(pk=invitation.pk).update(uses=F("uses") + 1)
        if not taken:
            raise Refusal(explain(secret), code="invitation_unusable")
        if not created:
            membership.role = invitation.role
            membership.left_at = None
            membership.save(update_fields=["role", "left_at"])
        _record(
            invitation.campaign,
            user,
            "joined",
            role=membership.role,
            member=user.pk,
            invitation=invitation.pk,
        )
    return membership


def revoke(invitation: Invitation, actor: User) -> Invitation:
    """Revoke the invitation and return it. Idempotent."""
    with transaction.atomic():
        changed = Invitation.objects.filter(pk=invitation.pk, revoked_at=None).update(
            revoked_at=timezone.now()
        )
        if changed:
            _record(invitation.campaign, actor, "revoked", invitation=invitation.pk)
    invitation.refresh_from_db()
    return invitation


def change_role(membership: Membership, actor: User, role: str) -> Membership:
    """Change the member's role and return the membership. The last researcher cannot step down."""
    _check_role(role)
    with transaction.atomic():
        membership = _lock(membership)
        if role != membership.role:
            if membership.role == Membership.Role.RESEARCHER:
                _check_not_last_researcher(membership)
            membership.role = role
            membership.save(update_fields=["role"])
            _record(membership.campaign, actor, "role", role=role, member=membership.user_id)
    return membership


def remove(membership: Membership, actor: User) -> Membership:
    """End the membership and return it. Answers stay; open seats return to others."""
    with transaction.atomic():
        membership = _lock(membership)
        if membership.left_at is None:
            if membership.role == Membership.Role.RESEARCHER:
                _check_not_last_researcher(membership)
            membership.left_at = timezone.now()
            membership.save(update_fields=["left_at"])
            _record(membership.campaign, actor, "removed", member=membership.user_id)
    claiming.return_seats_of(membership.user, membership.campaign)
    return membership


def _check_role(role: str) -> None:
    if role not in Membership.Role.values:
        roles = ", ".join(Membership.Role.values)
        raise Refusal(f"There is no role {role!r}. Choose one of: {roles}.", field="role")


def _lock(membership: Membership) -> Membership:
    locked = Membership.objects.select_for_update().filter(pk=membership.pk).first()
    if locked is None:
        raise NotYours("This person is no longer a member of the campaign.")
    # Lock the campaign's row too, so that two researchers cannot remove each other at the same
    # time. Members are locked before it, as everywhere (sql.py).
    Campaign.objects.select_for_update().get(pk=membership.campaign_id)
    return locked


def _check_not_last_researcher(membership: Membership) -> None:
    others = (
        Membership.objects.active()
        .filter(campaign_id=membership.campaign_id, role=Membership.Role.RESEARCHER)
        .exclude(pk=membership.pk)
    )
    if not others.exists():
        raise Conflict(
            "This is the campaign's last researcher. Make somebody else a researcher first."
        )


def _record(campaign: Campaign, actor: User, action: str, **content) -> None:
    Decision.objects.record(campaign, Decision.Kind.MEMBER, actor, {"deed": action, **content})
