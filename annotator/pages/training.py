"""Training and test on gold questions, before the first real question or again later.

Training shows after every answer whether it was right, with the known answer and the explanation;
the test shows nothing until its end. Both use ordinary forms and ordinary answers.
"""

from collections.abc import Sequence
from dataclasses import replace

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from annotator.accounts import person
from annotator.kinds import page_of
from annotator.kinds.base import Context, SeatPage
from annotator.pages import seats
from annotator.pages.worded import campaign_for
from labeling.answers.submitted_answers import new_id
from labeling.errors import Conflict, NotYours
from labeling.models import Campaign, Decision, Membership, Seat
from labeling.quality import qualifying

Stage = Membership.Stage


@never_cache
@require_http_methods(["GET", "POST"])
def training(request: HttpRequest, name: str) -> HttpResponse:
    """Return the next question of training or test, the result of the previous one, or the final
    result.
    """
    campaign = campaign_for(person(request), name)
    try:
        membership = qualifying.member_of(person(request), campaign)
    except NotYours:
        # Staff may see every campaign and need no training.
        return redirect("label", campaign.name)
    if request.method == "POST":
        return _answered(request, campaign, membership)
    if "over" in request.GET and (outcome := _outcome(membership)):
        return _over(request, campaign, membership, outcome)
    try:
        return _ask(request, campaign, membership)
    except Conflict as refusal:
        context = {"campaign": campaign, "refusal": refusal, "membership": membership}
        return render(request, "annotator/label_closed.html", context, status=refusal.status)


def _ask(request: HttpRequest, campaign: Campaign, membership: Membership) -> HttpResponse:
    kind_page = page_of(campaign)
    page = qualifying.next_gold(person(request), campaign, kind_page.training_size)
    membership.refresh_from_db()
    if not page.seats:
        # Finished or stopped: the labeling page shows the reason.
        return redirect("label", campaign.name)
    seat_page = SeatPage(request, campaign, seats.describe(page.seats, person(request), campaign))
    first, progress = seat_page.seats[0], qualifying.progress(membership)
    context = kind_page.context(campaign) | {
        "first": first,
        "topic": seat_page.payload["topics"].get(first["topic"]),
        "answer_id": new_id(),
        "progress": progress,
        "in_test": membership.stage == Stage.TEST,
        "begins": not progress.done,
        "training": True,
    }
    context |= kind_page.training_context(seat_page)
    return render(request, kind_page.training_template, context)


def _answered(request: HttpRequest, campaign: Campaign, membership: Membership) -> HttpResponse:
    """Submit the answers. In training, show the result; in the test, redirect to the next page."""
    before, attempts = membership.stage, membership.attempts
    if before not in qualifying.NEWCOMER_STAGES:
        return redirect("training", campaign.name)
    sent = page_of(campaign).read(request.POST, campaign)
    progress = qualifying.progress(membership)
    feedback = qualifying.feedback(person(request), campaign, sent)
    membership.refresh_from_db()
    if before == Stage.TEST:
        _show_refusals(request, feedback)
        over = membership.stage != before or membership.attempts != attempts
        return redirect(f"{reverse('training', args=[campaign.name])}{'?over=1' if over else ''}")
    seats_by_token = {
        seat.token: seat
        for seat, _ in seats.seats_of(person(request), campaign, [answer.seat for answer in sent])
    }
    rows = [
        _result(request, answer.value, row, seats_by_token[str(row.seat)], campaign)
        for answer, row in zip(sent, feedback, strict=True)
        if row.seat in seats_by_token
    ]
    if not rows:
        _show_refusals(request, feedback)
        return redirect("training", campaign.name)
    topic = next(iter(seats_by_token.values())).question.topic
    done = min(progress.of, progress.done + len(rows))
    context = page_of(campaign).context(campaign) | {
        "progress": replace(progress, done=done),
        "in_test": False,
        "training": True,
        "goes_on_to": membership.stage if membership.stage != before else "",
        "results": rows,
        "topic": seats.topics_of(campaign, {topic})[topic],
        "by_page": page_of(campaign).kind.topic_pages,
        "right": sum(bool(row["right"]) for row in rows),
    }
    return render(request, "annotator/training_feedback.html", context)


def _show_refusals(request: HttpRequest, feedback: Sequence[qualifying.Feedback]) -> None:
    """Add a message for each distinct reason of refused answers."""
    for message in dict.fromkeys(row.message for row in feedback if row.message):
        messages.error(request, message)


def _result(
    request: HttpRequest, value: object, row: qualifying.Feedback, seat: Seat, campaign: Campaign
) -> Context:
    """Return one answer's result for the page."""
    kind_page = page_of(campaign)
    known = row.right is not None
    return vars(row) | {
        "compared": kind_page.compared(value, row.answer, seat, campaign) if known else None,
        "topic": seat.question.topic,
        "image": seats.image_url(seat, person(request)),
        "given": kind_page.words_of(value, campaign),
        "known": kind_page.words_of(row.answer, campaign) if known else None,
    }


def _outcome(membership: Membership) -> Context | None:
    """Return the result of the last test: right, of, their share, passed; None before any."""
    decision = (
        Decision.objects.filter(
            campaign_id=membership.campaign_id,
            kind=Decision.Kind.STAGE,
            content__annotator=membership.user_id,
            content__from=Stage.TEST,
            actor=None,
        )
        .order_by("-pk")
        .first()
    )
    content = decision.content if decision else {}
    if not content.get("of"):
        return None
    return {
        "right": content["right"],
        "of": content["of"],
        "share": content["right"] / content["of"],
        "passed": content["stage"] == Stage.WORKING,
    }


def _over(
    request: HttpRequest, campaign: Campaign, membership: Membership, outcome: Context
) -> HttpResponse:
    """Return the page with the test's result and the next link."""
    context = {
        "campaign": campaign,
        "outcome": outcome,
        "progress": qualifying.progress(membership),
        "again": membership.stage == Stage.TEST,
    }
    return render(request, "annotator/training_over.html", context)
