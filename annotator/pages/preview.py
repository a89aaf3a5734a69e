"""The labeling page as an annotator would see it, for researchers: the same template, inert."""

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_GET

from annotator.pages import grid, parts, seats
from labeling.campaigns.access import RESEARCHER, REVIEWER, campaign_for
from labeling.kinds import KINDS, policies
from labeling.models import Campaign, Question
from labeling.web.views.shared import SignedIn


@login_required
@require_GET
def preview(request: SignedIn, name: str) -> HttpResponse:
    """One question of the campaign on the annotators' page; `after` in the address turns over."""
    campaign = campaign_for(request.user, name, RESEARCHER, REVIEWER)
    question = _question(campaign, request.GET.get("after", ""))
    if question is not None and grid.asks_by_page(campaign):
        return _page(request, campaign, question)
    topic = question and seats.topics_of(campaign, {question.topic})[question.topic]
    draws = question is not None and parts.asks_for(campaign)
    return render(
        request,
        "annotator/preview_parts.html" if draws else "annotator/preview.html",
        {
            "campaign": campaign,
            "question": question,
            "kind_template": f"annotator/kinds/{campaign.kind}.html",
            "choices": KINDS[campaign.kind].choices(campaign.settings),
            "first": _seat(campaign, question),
            "topic": topic or {"name": "…", "article": "a"},
            "setup": {},
            "done": 0,
            "left": campaign.questions.filter(state=Question.State.OPEN).count(),
        },
    )


def _page(request: SignedIn, campaign: Campaign, question: Question) -> HttpResponse:
    """A page of images under one question, from this one on; the next one shows what follows."""
    size = KINDS[campaign.kind].page_size(policies.of(campaign))
    shown = campaign.questions.asked().filter(topic=question.topic, pk__gte=question.pk)
    rows = [
        {"seat": str(number), "topic": row.topic, "image": _image(campaign, row)}
        for number, row in enumerate(shown.order_by("pk")[:size])
    ]
    context = {
        "campaign": campaign,
        "question": _next_topic(campaign, question),
        "kind_template": f"annotator/kinds/{campaign.kind}.html",
        "choices": KINDS[campaign.kind].choices(campaign.settings),
        "first": rows[0],
        "topic": seats.topics_of(campaign, {question.topic})[question.topic],
        "tiles": grid.tiles(rows),
        "setup": {},
    }
    return render(request, "annotator/preview_grid.html", context)


def _next_topic(campaign: Campaign, question: Question) -> Question:
    """The question after which another topic begins, so that turning over shows another page."""
    later = campaign.questions.asked().filter(pk__gt=question.pk).exclude(topic=question.topic)
    follows = later.order_by("pk").first()
    if follows is None:
        return campaign.questions.asked().order_by("-pk")[0]
    return campaign.questions.asked().filter(pk__lt=follows.pk).order_by("-pk")[0]


def _image(campaign: Campaign, question: Question) -> str:
    return reverse("labeling:question_image", args=[campaign.name, question.pk])


def _question(campaign: Campaign, after: str) -> Question | None:
    found = campaign.questions.asked().order_by("pk")
    if after.isdecimal():
        return found.filter(pk__gt=int(after[:18])).first() or found.first()
    return found.first()


def _seat(campaign: Campaign, question: Question | None) -> dict[str, Any] | None:
    """What stands in a seat's place: nothing is claimed."""
    if question is None:
        return None
    row = {"seat": "", "topic": question.topic, "image": _image(campaign, question)}
    if not parts.asks_for(campaign):
        return row
    found = parts.object_in(question.item, campaign, question.topic)
    return parts.pictured(row | {"object": found}, campaign)
