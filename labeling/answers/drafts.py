"""Drafts: unsent work on a seat, which survives a crash and a change of machine.

The holder of the seat saves a draft and names the version it is based on, so that two devices never
overwrite each other unnoticed. It is deleted when the answer is accepted.
"""

import json
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext

from labeling.db.sql import writing
from labeling.errors import Conflict, Refusal, TooLarge
from labeling.kinds import policies
from labeling.models import Draft, Seat

MAX_BYTES = 1024 * 1024
# Versions of a new draft start at the seconds since this time. A draft that is started again after
# deletion thus never reuses a version that a device still holds, since nobody saves more than once
# a second for long.
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
# Upper limit of the version's database column.
MAX_VERSION = 2**31 - 1


class Outdated(Conflict):
    """Another device saved meanwhile. draft: its draft, or None if the draft is gone."""

    code = "draft_conflict"

    def __init__(self, draft: Draft | None) -> None:
        super().__init__(
            "This was changed on another device. Choose the version to continue with; both are "
            "kept.",
            field="base",
        )
        self.draft = draft


def save(seat: Seat, content: object, base: int, device: str = "") -> int:
    """Save the draft, renew the seat's lease, and return the new version.

    base: the version that this draft is based on, 0 for none. Raises Outdated if the current
    version differs, TooLarge, and Refusal for content that is no JSON object that a database takes.
    """
    content = check(content)
    now = timezone.now()
    with writing():
        version = _put(seat, content, base, device, now)
        until = now + timedelta(
            minutes=policies.for_campaign(seat.question.campaign)["lease_minutes"]
        )
        # Do not shorten the longer lease of work that was sent back.
        Seat.objects.filter(pk=seat.pk, state=Seat.State.LEASED, leased_until__lt=until).update(
            leased_until=until
        )
    return version


def _put(seat: Seat, content: dict[str, object], base: int, device: str, now: datetime) -> int:
    fields = {"content": content, "device": device, "saved_at": now}
    drafts = Draft.objects.filter(assignment=seat)
    if base:
        if drafts.filter(version=base).update(version=base + 1, **fields):
            return base + 1
        raise Outdated(drafts.first())
    version = max(1, int((now - EPOCH).total_seconds()))
    try:
        with transaction.atomic():
            Draft.objects.create(assignment=seat, version=version, **fields)
    except IntegrityError:
        raise Outdated(drafts.first()) from None
    return version


def check(content: object) -> dict[str, object]:
    """Return the content if it can be saved. Raises TooLarge or Refusal."""
    if not isinstance(content, dict):
        raise Refusal("A draft must be a JSON object.", field="content")
    try:
        # PostgreSQL's JSON takes neither NUL nor lone surrogates nor infinite numbers.
        text = json.dumps(content, ensure_ascii=False, allow_nan=False)
        size = len(text.encode())
    except (ValueError, RecursionError) as error:
        raise Refusal(
            "The draft has a number or text that no JSON has.", field="content"
        ) from error
    if "\\u0000" in text:
        raise Refusal("The draft has a NUL character.", field="content")
    if size > MAX_BYTES:
        raise TooLarge(
            gettext(
                "This drawing has %(size)s KiB; the server saves at most %(most)s. It is kept in "
                "your browser. Remove corners where the outline is smooth."
            )
            % {"size": f"{size // 1024:,}", "most": f"{MAX_BYTES // 1024:,}"},
            field="content",
        )
    return content


def by_seat(seats: Iterable[Seat]) -> dict[int, Draft]:
    """Return the drafts of these seats, by the seat's primary key. One query."""
    return {draft.assignment_id: draft for draft in Draft.objects.filter(assignment__in=seats)}


def forget(seats: Iterable[int]) -> None:
    """Delete the drafts of these seats (primary keys) once their answers are accepted."""
    Draft.objects.filter(assignment_id__in=list(seats)).delete()
