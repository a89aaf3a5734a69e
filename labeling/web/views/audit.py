"""The audit: a random sample of settled questions, answered again blind by trusted people."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_POST

from labeling.boxes.chain import DRAW
from labeling.db.lookups import get_or_404
from labeling.errors import NotAllowed, NotYours
from labeling.kinds import KINDS
from labeling.kinds.base import CHAINS
from labeling.models import Audit, Campaign
from labeling.quality import auditing, box_audit
from labeling.reports import boxes_picture, question_page
from labeling.web.forms.common import refusals_shown, respond_if_valid
from labeling.web.forms.questions import AuditAnswerForm, AuditForm, answer_choices
from labeling.web.views.shared import SignedIn, done, render_campaign, watched_campaign


@require_http_methods(["GET", "POST"])
def audit(request: SignedIn, name: str) -> HttpResponse:
    """Show the next question of the audit and its progress; a post draws a sample."""
    campaign = watched_campaign(request, name)
    form = AuditForm(request.POST if request.method == "POST" else None)
    return respond_if_valid(form, lambda: _draw(request, campaign, form)) or _page(
        request, campaign, form
    )


def _draw(request: SignedIn, campaign: Campaign, form: AuditForm) -> HttpResponse:
    n = form.cleaned_data["n"]
    auditing.draw(campaign, request.user, n, form.cleaned_data["seed"])
    message = f"{n} settled questions were drawn. Answer them as you see them."
    return done(request, message, "audit", campaign.name)


@require_POST
def audit_answer(request: SignedIn, name: str, pk: int) -> HttpResponse:
    """Save an audit answer and go to the next question."""
    campaign = watched_campaign(request, name)
    row = _audit(campaign, pk)
    form = AuditAnswerForm(request.POST)
    if not form.is_valid():
        messages.error(request, "Choose one of the answers.")
        return redirect("labeling:audit", campaign.name)
    with refusals_shown(request):
        auditing.answer(row, request.user, form.cleaned_data["value"])
    return redirect("labeling:audit", campaign.name)


def _page(request: SignedIn, campaign: Campaign, form: AuditForm) -> HttpResponse:
    estimate = auditing.estimate(campaign)
    upcoming, topic = _upcoming(request, campaign), None
    if upcoming is not None:
        topic = campaign.topics.filter(key=upcoming.question.topic).first()
    choices = [
        (value, label, key)
        for (value, label), key in zip(
            answer_choices(campaign), question_page.answer_keys(campaign), strict=True
        )
    ]
    drawn = upcoming is not None and KINDS[campaign.kind].asks == CHAINS
    return render_campaign(
        request,
        "labeling/audit.html",
        campaign,
        "quality",
        **(_drawing(upcoming) if upcoming is not None and drawn else {}),
        form=form,
        upcoming=upcoming,
        topic=topic,
        asked=question_page.asked_words(campaign, topic.name if topic else ""),
        choices=choices,
        audit=estimate,
        left=auditing.unanswered(campaign),
        gold_left=auditing.gold_waiting(campaign),
    )


def _drawing(audit: Audit) -> dict[str, object]:
    """Return the template context for an auditor who draws a box."""
    context = box_audit.question_context(audit)
    shows = {"width": context.width, "height": context.height, **context.content}
    setup = {
        "mode": DRAW,
        "shows": shows,
        "value": None,
        "reasons": {},
        "keep": f"audit:{audit.pk}",
    }
    return {"setup": setup, "mode": DRAW, "flags": boxes_picture.flag_rows()}


def _upcoming(request: SignedIn, campaign: Campaign) -> Audit | None:
    try:
        return auditing.next_for(request.user, campaign)
    except (NotAllowed, NotYours):
        # Staff without membership may view every page but not answer.
        return None


def _audit(campaign: Campaign, pk: int) -> Audit:
    return get_or_404(
        campaign.audits.select_related("campaign", "question", "settlement"),
        "There is no such question in the campaign's audit.",
        pk=pk,
    )
