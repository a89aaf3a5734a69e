"""Versions of a campaign's instructions, and who must be notified of a change."""

from datetime import datetime

from django.db.models import QuerySet
from django.utils import timezone

from labeling.campaigns.markdown import check_pictures
from labeling.models import Campaign, InstructionsVersion, Membership, User

MAX_LISTED_VERSIONS = 20


def add_version(campaign: Campaign, actor: User, text: str) -> dict[str, datetime]:
    """Store the new text as a version, and before the first change the old text too.

    Return the campaign's changed fields: none if only outer white space or line endings differ.
    Call it in a transaction. Raises Refusal for an unknown picture.
    """
    current = Campaign.objects.select_for_update(of=("self",)).get(pk=campaign.pk)
    if text.strip().splitlines() == current.instructions.strip().splitlines():
        return {}
    check_pictures(text, current.dataset)
    last = current.instructions_versions.order_by("version").last()
    if last is None:
        last = InstructionsVersion.objects.create(
            campaign=current,
            version=1,
            text=current.instructions,
            created_by=current.created_by,
            created_at=current.created_at,
        )
    now = timezone.now()
    InstructionsVersion.objects.create(
        campaign=current, version=last.version + 1, text=text, created_by=actor, created_at=now
    )
    return {"instructions_changed_at": now}


def pop_change_notice(membership: Membership, campaign: Campaign) -> datetime | None:
    """Return when the instructions changed, once per change and member; None afterwards."""
    changed_at = campaign.instructions_changed_at
    if changed_at is None or changed_at <= (membership.instructions_seen or membership.joined_at):
        return None
    Membership.objects.filter(pk=membership.pk).update(instructions_seen=changed_at)
    return changed_at


def newest_versions(campaign: Campaign) -> QuerySet[InstructionsVersion]:
    """Return the last MAX_LISTED_VERSIONS versions with their authors, newest first."""
    versions = campaign.instructions_versions.select_related("created_by")
    return versions.order_by("-version")[:MAX_LISTED_VERSIONS]
