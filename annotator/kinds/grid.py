"""One question about a page of images: an ordinary form, enhanced by scripts.

For kinds that hand out the images of one topic together (topic_pages). The form names every image
by its seat; a tick means yes or "too hard", no tick means no.
"""

from collections.abc import Mapping, Sequence

from django.contrib.sessions.backends.base import SessionBase
from django.http import HttpRequest, QueryDict
from django.utils.translation import get_language, gettext

from annotator.accounts import person
from annotator.kinds.base import Context, Page, SeatPage, SeatRow
from annotator.pages import seats
from labeling.answers.submitted_answers import (
    SubmittedAnswer,
    check_batch,
    new_id,
    read_duration,
    read_id,
    read_token,
)
from labeling.errors import NotYours, Refusal
from labeling.kinds import policies
from labeling.models import Campaign, Question, Seat, User

YES, NO, HARD = "yes", "no", "hard"


class Grid(Page):
    template = "annotator/label_grid.html"
    preview_template = "annotator/preview_grid.html"
    training_size = None

    def label_context(self, page: SeatPage) -> Context:
        kept = page.request.session.get(_key(page.campaign))
        return {
            "tiles": _tiles(page.seats, page.campaign, page.values),
            "going_back": page.values is not None,
            "has_last": page.values is None and bool(kept),
        }

    def describe_seats(self, rows: list[SeatRow], user: User, campaign: Campaign) -> list[SeatRow]:
        """Return the rows with image sizes, so that the page is laid out before images load."""
        seat_sizes = Seat.objects.filter(token__in=[row["seat"] for row in rows]).values_list(
            "token", "question__item__image__width", "question__item__image__height"
        )
        sizes = {token: [width, height] for token, width, height in seat_sizes}
        return [{**row, "size": sizes[row["seat"]]} for row in rows]

    def training_context(self, page: SeatPage) -> Context:
        tiles = _tiles(page.seats, page.campaign)
        return {"tiles": [tile | {"image": f"{tile['image']}&tile=1"} for tile in tiles]}

    def preview_context(self, campaign: Campaign, question: Question) -> Context:
        """Return a page of images with one question, beginning with this question."""
        questions = campaign.questions.for_consensus().filter(
            topic=question.topic, pk__gte=question.pk
        )
        size = policies.for_campaign(campaign)["page_size"]
        rows: list[SeatRow] = [
            {**self.preview_row(campaign, row), "seat": str(number)}
            for number, row in enumerate(questions.order_by("pk")[:size])
        ]
        follows = _next_topic(campaign, question)
        return {"first": rows[0], "question": follows, "tiles": _tiles(rows, campaign)}

    def read(self, post: QueryDict, campaign: Campaign) -> list[SubmittedAnswer]:
        tokens = [read_token(token) for token in post.getlist("seat")]
        if not tokens:
            raise Refusal(gettext("The form names no image. Reload the page."), field="seat")
        check_batch(tokens)
        duration_ms = read_duration(post.get("duration_ms"), images=len(tokens))
        hard, yes = set(post.getlist(HARD)), set(post.getlist(YES))
        return [
            SubmittedAnswer(
                id=read_id(post.get(f"id-{token}")),
                seat=token,
                # Ticked as both yes and "too hard" counts as too hard.
                value=HARD if token in hard else YES if token in yes else NO,
                duration_ms=duration_ms,
                language=get_language(),
            )
            for token in tokens
        ]

    def skipped(self, post: QueryDict) -> str | None:
        # Each image has a button that names its seat.
        return post.get("skip")

    def after(self, session: SessionBase, campaign: Campaign, seats: list[str]) -> str:
        # For going back without scripts.
        session[_key(campaign)] = seats
        return ""

    def last(self, request: HttpRequest, campaign: Campaign) -> SeatPage | None:
        user = person(request)
        seats_with_values = seats.seats_of(user, campaign, request.session.get(_key(campaign), []))
        if not seats_with_values:
            raise NotYours(
                gettext("The last page can no longer be changed. Continue with the next one.")
            )
        payload = seats.describe([seat for seat, _ in seats_with_values], user, campaign)
        values = {seat.token: answer for seat, answer in seats_with_values}
        return SeatPage(request, campaign, {**payload, "left": None}, values)


def _tiles(
    rows: Sequence[SeatRow], campaign: Campaign, values: Mapping[str, object] | None = None
) -> list[Context]:
    """Return the first page of the rows with the first row's topic.

    Each row gets a number and an id for its answer.
    """
    rows_of_topic = [row for row in rows if row["topic"] == rows[0]["topic"]]
    return [
        {**row, "number": number, "id": new_id(), "given": (values or {}).get(row["seat"])}
        for number, row in enumerate(
            rows_of_topic[: policies.for_campaign(campaign)["page_size"]], 1
        )
    ]


def _next_topic(campaign: Campaign, question: Question) -> Question:
    """Return the last question before the next topic, so that the preview turns to another page."""
    later = (
        campaign.questions.for_consensus().filter(pk__gt=question.pk).exclude(topic=question.topic)
    )
    follows = later.order_by("pk").first()
    if follows is None:
        return campaign.questions.for_consensus().order_by("-pk")[0]
    return campaign.questions.for_consensus().filter(pk__lt=follows.pk).order_by("-pk")[0]


def _key(campaign: Campaign) -> str:
    return f"page:{campaign.pk}"
