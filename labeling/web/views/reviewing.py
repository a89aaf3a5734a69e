"""The review of undecided or all questions, and the agreement on parts."""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_POST

from labeling.consensus import reviewing
from labeling.errors import NotYours, Refusal
from labeling.kinds import KINDS
from labeling.kinds.base import CHAINS
from labeling.models import Campaign, Question
from labeling.quality import auditing
from labeling.reports import agreement_page, parts_picture, proposal_figures, question_page
from labeling.web.forms.questions import SendBackForm, VerdictForm, answer_choices
from labeling.web.views import box_review
from labeling.web.views.shared import (
    SignedIn,
    key_of,
    question_in,
    render_campaign,
    watched_campaign,
)


@require_GET
def review(request: SignedIn, name: str) -> HttpResponse:
    """Show the next question in review with the keys that decide it."""
    campaign = watched_campaign(request, name)
    return _review(request, campaign, VerdictForm(campaign), _next(request, campaign))


@require_POST
def question_decide(request: SignedIn, name: str, pk: int) -> HttpResponse:
    """Save a reviewer's verdict and go to the next question."""
    campaign = watched_campaign(request, name)
    question = question_in(campaign, pk)
    form = VerdictForm(campaign, request.POST, question=question)
    if not form.is_valid():
        return _review(request, campaign, form, question)
    data = form.cleaned_data
    return _done(
        request,
        campaign,
        f"Decided: {question.item.image.name}.",
        lambda: reviewing.decide(
            campaign, pk, request.user, data["value"], data["reason"], seen=data["seen"]
        ),
    )


@require_POST
def question_accept(request: SignedIn, name: str, pk: int) -> HttpResponse:
    """Accept the annotators' result and go to the next question."""
    campaign = watched_campaign(request, name)
    question = question_in(campaign, pk)
    seen = key_of(request.POST.get("seen", ""))
    return _done(
        request,
        campaign,
        f"Accepted: {question.item.image.name}.",
        lambda: reviewing.accept(campaign, pk, request.user, seen=seen),
    )


@require_POST
def question_send_back(request: SignedIn, name: str, pk: int) -> HttpResponse:
    """Send drawings back with a note and go to the next question."""
    campaign = watched_campaign(request, name)
    question = question_in(campaign, pk)
    form = SendBackForm(request.POST)
    if not form.is_valid():
        return _review(request, campaign, VerdictForm(campaign), question, form)
    data = form.cleaned_data
    return _done(
        request,
        campaign,
        f"Sent back: {question.item.image.name}.",
        lambda: reviewing.send_back(
            campaign,
            pk,
            request.user,
            data["note"],
            seen=data["seen"],
            answers=request.POST.getlist("answers") if "chosen" in request.POST else None,
        ),
    )


@require_GET
def agreement(request: SignedIn, name: str) -> HttpResponse:
    """Show the agreement on each part of each category, and the effect of a model."""
    campaign = watched_campaign(request, name)
    return render_campaign(
        request,
        "labeling/agreement.html",
        campaign,
        "agreement",
        found=agreement_page.agreement(campaign),
        model=proposal_figures.of_page(campaign),
    )


def _done(request: SignedIn, campaign: Campaign, message: str, action: Any) -> HttpResponse:
    """Redirect to the next question with a message about this one."""
    try:
        action()
    except NotYours:
        raise
    except Refusal as refusal:
        messages.error(request, refusal.message)
    else:
        messages.success(request, message)
    return redirect("labeling:review", campaign.name)


def _next(request: SignedIn, campaign: Campaign) -> Question | None:
    """Return the question in review that the URL names, or the one after the skipped one.

    Starts again at the end.
    """
    waiting = (
        campaign.questions.filter(state=Question.State.REVIEW)
        .select_related("item__image", "policy")
        .order_by("pk")
    )
    chosen, after = request.GET.get("question", ""), request.GET.get("after", "")
    if chosen.isdecimal():
        return waiting.filter(pk=int(chosen[:18])).first() or waiting.first()
    if after.isdecimal():
        return waiting.filter(pk__gt=int(after[:18])).first() or waiting.first()
    return waiting.first()


def _review(
    request: SignedIn,
    campaign: Campaign,
    form: VerdictForm,
    question: Question | None,
    note: SendBackForm | None = None,
) -> HttpResponse:
    rows = question_page.question_rows(campaign, [question] if question else [])
    topic = campaign.topics.filter(key=question.topic).first() if question else None
    context: dict[str, object] = {
        "form": form,
        "row": rows[0] if rows else None,
        "topic": topic,
        "history": question_page.question_history(campaign, question) if question else None,
    }
    if KINDS[campaign.kind].drawn:
        template = "labeling/review_parts.html"
        context["note"] = note or SendBackForm()
        if question:
            context |= _drawn(campaign, question, form)
    elif KINDS[campaign.kind].asks == CHAINS:
        template = "labeling/review_boxes.html"
        if question:
            context |= box_review.context(campaign, question, rows[0].topic, form.refused)
    else:
        template = "labeling/review.html"
        kind_choices = answer_choices(campaign, abstentions=False)
        keys = {row["value"]: row["key"] for row in KINDS[campaign.kind].choices(campaign.settings)}
        context |= {
            "asked": question_page.asked_words(campaign, rows[0].topic) if rows else "",
            "choices": [(value, label, keys.get(value, "")) for value, label in kind_choices],
            "proposal": question_page.proposal(campaign, question) if question else None,
            "unanswered": auditing.unanswered(campaign),
        }
    return render_campaign(request, template, campaign, "review", **context)


def _drawn(campaign: Campaign, question: Question, form: VerdictForm) -> dict[str, object]:
    picture = parts_picture.question_picture(campaign, question)
    current = picture.settlement.pk if picture.settlement else 0
    return {
        "picture": picture,
        "setup": parts_picture.editor_setup(
            campaign,
            question.item,
            question.topic,
            # The editor continues with a rejected drawing.
            form.refused or picture.value,
            f"correction:{question.pk}:{current}",
        )
        | {"begin": form.refused is not None},
    }
