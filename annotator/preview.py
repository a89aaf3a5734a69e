"""The labeling page as an annotator would see it, for researchers: the same template, inert."""

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_GET

from annotator import seats
from labeling.access import RESEARCHER, REVIEWER, campaign_for
from labeling.kinds import KINDS
from labeling.models import Campaign, Question
from labeling.views.shared import SignedIn


@login_required
@require_GET
def preview(request: SignedIn, name: str) -> HttpResponse:
    """One question of the campaign on the annotators' page; `after` in the address turns over."""
    campaign = campaign_for(request.user, name, RESEARCHER, REVIEWER)
    question = _question(campaign, request.GET.get("after", ""))
    topic = question and seats.topics_of(campaign, {question.topic})[question.topic]
    return render(
        request,
        "annotator/preview.html",
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


def _question(campaign: Campaign, after: str) -> Question | None:
    found = campaign.questions.asked().order_by("pk")
    if after.isdecimal():
        return found.filter(pk__gt=int(after[:18])).first() or found.first()
    return found.first()


def _seat(campaign: Campaign, question: Question | None) -> dict[str, Any] | None:
    """What stands in a seat's place: nothing is claimed."""
    if question is None:
        return None
    image = reverse("labeling:question_image", args=[campaign.name, question.pk])
    return {"seat": "", "topic": question.topic, "image": image}
