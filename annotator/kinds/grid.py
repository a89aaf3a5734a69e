"""One question about a page of images: as an ordinary form, which scripts take over.

For kinds that hand out a topic's images together (topic_pages). The form names every image by its
seat; a tick is a yes or "too hard", and what is not ticked is a no.
"""

from collections.abc import Sequence
from typing import Any

from django.http import HttpRequest, QueryDict

from annotator.accounts import person
from annotator.kinds.base import Page, Row
from annotator.pages import seats
from labeling.answers import submitting
from labeling.answers.sent import Sent, check_batch, new_id, read_duration, read_id, read_token
from labeling.errors import NotYours, Refusal
from labeling.kinds import policies
from labeling.models import Campaign, Question

YES, NO, HARD = "yes", "no", "hard"


class Grid(Page):
    template = "annotator/label_grid.html"
    preview_template = "annotator/preview_grid.html"
    training_size = None

    def label_context(
        self,
        request: HttpRequest,
        campaign: Campaign,
        rows: Sequence[Row],
        given: dict[str, Any] | None,
    ) -> dict[str, Any]:
        return {
            "tiles": _tiles(_one_page(rows, campaign), given),
            "going_back": given is not None,
            "has_last": given is None and bool(request.session.get(_key(campaign))),
        }

    def training_context(
        self, request: HttpRequest, campaign: Campaign, shown: dict[str, Any]
    ) -> dict[str, Any]:
        tiles = _tiles(_one_page(shown["seats"], campaign))
        return {"tiles": [tile | {"image": f"{tile['image']}&tile=1"} for tile in tiles]}

    def preview_context(self, campaign: Campaign, question: Question) -> dict[str, Any]:
        """A page of images under one question, from this one on."""
        shown = campaign.questions.asked().filter(topic=question.topic, pk__gte=question.pk)
        size = policies.of(campaign)["page_size"]
        rows = [
            self.preview_row(campaign, row) | {"seat": str(number)}
            for number, row in enumerate(shown.order_by("pk")[:size])
        ]
        follows = _next_topic(campaign, question)
        return {"first": rows[0], "question": follows, "tiles": _tiles(rows)}

    def read(self, post: QueryDict) -> list[Sent]:
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

    def skipped(self, post: QueryDict) -> str | None:
        # Each image has a button, which names it.
        return post.get("skip")

    def after(
        self,
        request: HttpRequest,
        campaign: Campaign,
        sent: Sequence[Sent],
        results: Sequence[submitting.Result],
    ) -> str:
        # For the way back without scripts.
        request.session[_key(campaign)] = [answer.seat for answer in sent]
        return ""

    def last(
        self, request: HttpRequest, campaign: Campaign
    ) -> tuple[dict[str, Any], dict[str, Any]] | None:
        user = person(request)
        found = seats.seats_of(user, campaign, request.session.get(_key(campaign), []))
        if not found:
            raise NotYours("The last page can no longer be changed. Go on with the next one.")
        shown = [seats.Shown(seat.token, seat.question.topic) for seat, _ in found]
        given = {seat.token: answer for seat, answer in found}
        return seats.describe(shown, user, campaign) | {"left": None}, given


def _one_page(rows: Sequence[Row], campaign: Campaign) -> list[Row]:
    """The rows that the first page shows: those of the first one's topic, as many as fit."""
    size = policies.of(campaign)["page_size"]
    return [row for row in rows if row["topic"] == rows[0]["topic"]][:size]


def _tiles(rows: Sequence[Row], given: dict[str, Any] | None = None) -> list[Row]:
    """The rows as the template draws them: numbered, each with an id for its answer."""
    return [
        row | {"number": number, "id": new_id(), "given": (given or {}).get(row["seat"])}
        for number, row in enumerate(rows, 1)
    ]


def _next_topic(campaign: Campaign, question: Question) -> Question:
    """The question after which another topic begins, so that turning over shows another page."""
    later = campaign.questions.asked().filter(pk__gt=question.pk).exclude(topic=question.topic)
    follows = later.order_by("pk").first()
    if follows is None:
        return campaign.questions.asked().order_by("-pk")[0]
    return campaign.questions.asked().filter(pk__lt=follows.pk).order_by("-pk")[0]


def _key(campaign: Campaign) -> str:
    return f"page:{campaign.pk}"
