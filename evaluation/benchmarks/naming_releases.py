"""Releases of naming campaigns as submissions, to compare people with classifiers."""

from pathlib import Path

from django.db.models import QuerySet

from evaluation.readers import release_predictions
from labeling.campaigns.access import RESEARCHER, campaign_for, campaigns_for
from labeling.errors import Refusal
from labeling.kinds import KINDS
from labeling.kinds.base import CLASS
from labeling.models import Release, User
from labeling.releases import freezing
from labeling.web.forms.common import ReleaseField


def releases_for(user: User) -> QuerySet[Release]:
    """Return the releases of naming campaigns in which this user researches, newest first."""
    kinds = [kind.name for kind in KINDS.values() if kind.release == CLASS and kind.has_vocabulary]
    mine = campaigns_for(user, RESEARCHER).filter(kind__in=kinds)
    return (
        Release.objects.filter(campaign__in=mine)
        .select_related("campaign")
        .order_by("campaign__name", "-number")
    )


def release_field(user: User) -> ReleaseField:
    return ReleaseField(
        releases_for(user),
        label="… or a release of a naming campaign",
        required=False,
        empty_label="No release",
        help_text="Its images are scored like a classifier’s.",
    )


def release_of(user: User, campaign: str, number: int | None) -> Release:
    """Return the release of that number, else the newest. Raises NotYours, and Refusal if there is
    none.
    """
    row = campaign_for(user, campaign, RESEARCHER)
    if number is not None:
        return freezing.release_for(row, number)
    release = freezing.latest_kept(row)
    if release is None:
        raise Refusal(f"{row.name} has no release yet. Freeze one first.", field="campaign")
    return release


def sent(release: Release, annotator: str = "") -> tuple[Path, str]:
    """Return the release's folder and its name for people.

    annotator: a pseudonym in its votes; then the path stands for this person's answers. Raises
    Refusal for another word.
    """
    folder, title = freezing.folder_of(release), str(release)
    if not annotator:
        return folder, title
    if not release_predictions.PSEUDONYM.fullmatch(annotator):
        raise Refusal(
            f"{annotator[:40]!r} is not a pseudonym. "
            "Copy one from the release’s votes.jsonl, such as annotator-0123abcd.",
            field="annotator",
        )
    return folder / annotator, title
