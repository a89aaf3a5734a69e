"""One question about a page of images: as an ordinary form, which scripts take over.

For kinds that hand out a topic's images together (TOPIC_PAGES). The form names every image by its
seat; a tick is a yes or "too hard", and what is not ticked is a no.
"""

from typing import Any

from django.http import HttpRequest, QueryDict

from annotator.accounts import person
from annotator.pages import seats
from labeling.answers.sent import Sent, check_batch, new_id, read_duration, read_id, read_token
from labeling.errors import NotYours, Refusal
from labeling.kinds import KINDS, policies
from labeling.models import Campaign

YES, NO, HARD = "yes", "no", "hard"


def asks_by_page(campaign: Campaign) -> bool:
    """Whether a page is one question about many images."""
    return getattr(KINDS[campaign.kind], "TOPIC_PAGES", False)


def page_of(rows: list[dict[str, Any]], campaign: Campaign) -> list[dict[str, Any]]:
    """The rows that the first page shows: those of the first one's topic, as many as fit."""
    size = KINDS[campaign.kind].page_size(policies.of(campaign))
    return [row for row in rows if row["topic"] == rows[0]["topic"]][:size]


def tiles(rows: list[dict[str, Any]], given: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    """The rows as the template draws them: numbered, each with an id for its answer."""
    return [
        row | {"number": number, "id": new_id(), "given": (given or {}).get(row["seat"])}
        for number, row in enumerate(rows, 1)
    ]


def read(post: QueryDict) -> list[Sent]:
    """The answers of a page sent as a form. Raises Refusal."""
    tokens = [read_token(token) for token in post.getlist("seat")]
    if not tokens:
        raise Refusal("The form names no image. Reload the page.", field="seat")
    check_batch(tokens)
    duration_ms = read_duration(post.get("duration_ms"), images=len(tokens))
    hard, yes = set(post.getlist(HARD)), set(post.getlist(YES))
    return [
        Sent(
            id=read_id(post.get(f"id-{token}")),
            seat=token,
            # Ticked as both: whoever finds it too hard has not said yes.
            value=HARD if token in hard else YES if token in yes else NO,
            duration_ms=duration_ms,
        )
        for token in tokens
    ]


def remember(request: HttpRequest, campaign: Campaign, sent: list[Sent]) -> None:
    """Keeps which page was answered last, for the way back without scripts."""
    request.session[_key(campaign)] = [answer.seat for answer in sent]


def has_last(request: HttpRequest, campaign: Campaign) -> bool:
    return bool(request.session.get(_key(campaign)))


def last(request: HttpRequest, campaign: Campaign) -> tuple[dict[str, Any], dict[str, Any]]:
    """The page answered last while it may be changed, and what was answered. Raises NotYours."""
    user = person(request)
    found = seats.seats_of(user, campaign, request.session.get(_key(campaign), []))
    if not found:
        raise NotYours("The last page can no longer be changed. Go on with the next one.")
    shown = [seats.Shown(seat.token, seat.question.topic) for seat, _ in found]
    given = {seat.token: answer for seat, answer in found}
    return seats.describe(shown, user, campaign) | {"left": None}, given


def _key(campaign: Campaign) -> str:
    return f"page:{campaign.pk}"
