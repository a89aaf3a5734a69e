"""The person's last answers in a campaign; those that may still be revised can be reopened."""

from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from annotator.accounts import person
from annotator.pages import seats
from annotator.pages.worded import campaign_for
from labeling.campaigns import texts
from labeling.kinds import KINDS
from labeling.models import Campaign, Seat, User
from labeling.reports import question_page

MAX_LISTED_ANSWERS = 24


@dataclass(frozen=True)
class LastAnswer:
    """An answer on this page. number: its position among the person's answers, from 1. image: None
    if the answer cannot be revised any more, since the person may no longer see the image.
    """

    number: int
    topic: str
    words: str
    token: str
    image: str | None


@never_cache
@require_GET
def label_last(request: HttpRequest, name: str) -> HttpResponse:
    """Return the strip of the person's last answers, newest first."""
    user = person(request)
    campaign = campaign_for(user, name)
    context = {
        "campaign": campaign,
        "rows": last_answers(user, campaign),
        "shown": MAX_LISTED_ANSWERS,
    }
    return render(request, "annotator/last.html", context)


def last_answers(user: User, campaign: Campaign) -> list[LastAnswer]:
    """Return the last answers; gold and settled questions look like all others. Six queries."""
    rows = list(
        Seat.objects.filter(annotator=user, question__campaign=campaign, state=Seat.State.ANSWERED)
        .select_related("question")
        .order_by("-ordinal", "-pk")[:MAX_LISTED_ANSWERS]
    )
    open_seats = {
        seat.pk for seat, _ in seats.seats_of(user, campaign, [row.token for row in rows])
    }
    values = seats.latest_values([row.pk for row in rows])
    kind, words = KINDS[campaign.kind], question_page.value_words(campaign)
    names = question_page.topic_names(campaign, {row.question.topic for row in rows})
    answers = []
    for row in rows:
        topic = row.question.topic
        value = kind.tally_name(values.get(row.pk))
        answers.append(
            LastAnswer(
                row.ordinal or 0,
                texts.name_of(campaign.words, topic, names.get(topic, topic)),
                words.get(value, value),
                row.token,
                seats.image_url(row, user) if row.pk in open_seats else None,
            )
        )
    return answers
