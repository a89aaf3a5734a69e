"""Researchers' preview of the labeling page: the same template without actions."""

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from annotator.kinds import page_of
from annotator.pages import seats
from annotator.pages.worded import campaign_for
from labeling.campaigns.access import RESEARCHER, REVIEWER
from labeling.db import question_counts
from labeling.models import Campaign, Question
from labeling.web.views.shared import SignedIn


@require_GET
def preview(request: SignedIn, name: str) -> HttpResponse:
    """Return one question of the campaign on the annotators' page; `?after=` shows the next."""
    campaign = campaign_for(request.user, name, RESEARCHER, REVIEWER)
    question = _question(campaign, request.GET.get("after", ""))
    shown_by = page_of(campaign)
    context = shown_by.context(campaign) | {
        "question": question,
        "first": None,
        "topic": {"name": "…", "article": "a"},
        "setup": {},
        "done": 0,
        "left": question_counts.of_campaign(campaign.pk).open,
    }
    if question is None:
        return render(request, "annotator/preview.html", context)
    context["topic"] = seats.topics_of(campaign, {question.topic})[question.topic]
    context |= shown_by.preview_context(campaign, question)
    return render(request, shown_by.preview_template, context)


def _question(campaign: Campaign, after: str) -> Question | None:
    questions = campaign.questions.for_consensus().order_by("pk")
    if after.isdecimal():
        return questions.filter(pk__gt=int(after[:18])).first() or questions.first()
    return questions.first()
