"""Annotators' pages: joining, labeling and its images."""

import math
from dataclasses import asdict

from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.core.signing import BadSignature
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from annotator import accounts
from annotator.accounts import person
from annotator.kinds import page_of
from annotator.kinds.base import Context, SeatPage, SeatsPayload
from annotator.pages import bodies, seats, tutorial
from annotator.pages.worded import campaign_for, worded
from labeling.answers import submitting
from labeling.answers.submitted_answers import new_id, read_token
from labeling.assignment import claiming
from labeling.campaigns import instructions
from labeling.campaigns.markdown import signer_of
from labeling.errors import Conflict, InTraining, NotWorking, NotYours, Refusal
from labeling.kinds import KINDS, policies
from labeling.models import Campaign, Example, Image, Membership, Seat, User
from labeling.quality import memberships, monitoring, qualifying


def stopped_page(
    request: HttpRequest, campaign: Campaign, membership: Membership | None, refusal: Refusal
) -> HttpResponse:
    """Return the page that says why there is nothing to label: the campaign or this person is
    paused.
    """
    context = {"campaign": campaign, "refusal": refusal, "membership": membership}
    return render(request, "annotator/label_closed.html", context, status=refusal.status)


@login_not_required
@never_cache
@require_http_methods(["GET", "POST"])
def join(request: HttpRequest, secret: str) -> HttpResponse:
    """Return the invitation's page; once the person is logged in, they can join on it."""
    if request.method == "POST":
        if not request.user.is_authenticated:
            accounts.remember(request, secret)
            return redirect("account_login")
        return _accept(request, secret)
    invitation = memberships.find_invitation(secret)
    if invitation is None:
        return _unusable(request, secret)
    # Kept while the person signs up; memberships.accept validates the invitation again.
    accounts.remember(request, secret)
    context = {"invitation": invitation, "campaign": worded(invitation.campaign), "secret": secret}
    return render(request, "annotator/join.html", context)


def _accept(request: HttpRequest, secret: str) -> HttpResponse:
    accounts.join(request, secret)
    return redirect("home")


def _unusable(request: HttpRequest, secret: str) -> HttpResponse:
    """Redirect home those who have used the link already; refuse others with the reason."""
    accounts.forget(request)
    try:
        if request.user.is_authenticated:
            memberships.accept(secret, person(request))
            return redirect("home")
        raise Refusal(memberships.explain(secret), code="invitation_unusable")
    except Refusal as refusal:
        refusal.status = 410
        raise


@never_cache
@require_http_methods(["GET", "POST"])
def label(request: HttpRequest, name: str) -> HttpResponse:
    """Return the labeling page: without scripts a form for one seat or one page of seats; scripts
    load the rest.
    """
    campaign = campaign_for(person(request), name)
    if request.method == "POST":
        return _answer_by_form(request, campaign)
    if tutorial.is_due(person(request), campaign):
        return redirect("tutorial", campaign.name)
    membership = Membership.objects.active().filter(user=person(request), campaign=campaign).first()
    try:
        page = _seats_to_show(request, campaign)
    except InTraining:
        return redirect("training", campaign.name)
    except (Conflict, NotWorking) as refusal:
        return stopped_page(request, campaign, membership, refusal)
    _notify_of_instructions(request, campaign, membership)
    shown_by = page_of(campaign)
    context = _label_context(page, membership) | shown_by.label_context(page)
    return render(request, shown_by.template, context)


def _notify_of_instructions(
    request: HttpRequest, campaign: Campaign, membership: Membership | None
) -> None:
    if membership and (changed_at := instructions.pop_change_notice(membership, campaign)):
        date = date_format(changed_at, "DATETIME_FORMAT")
        sentence = gettext("The instructions changed on %(date)s (UTC). Read them again.")
        messages.info(request, sentence % {"date": date})


def _seats_to_show(request: HttpRequest, campaign: Campaign) -> SeatPage:
    """Return the seats to revise with their answers, if the URL asks for them, else new seats."""
    user, token = person(request), request.GET.get("seat")
    if token:
        seat = seats.seat_of(user, read_token(token), campaign)
        payload = seats.describe([seat], user, campaign)
        values = seats.latest_values([seat.pk]) if seat.state == Seat.State.ANSWERED else {}
        # A drawing's row has the answer already, in the form that annotators may see.
        drawn = any(row.get("answer") is not None for row in payload["seats"])
        values_by_token = {seat.token: True if drawn else values[seat.pk]} if values else {}
        return SeatPage(request, campaign, {**payload, "left": None}, values_by_token)
    if "last" in request.GET and (last := page_of(campaign).last(request, campaign)):
        return last
    return SeatPage(request, campaign, _next_seats(user, campaign, held=set(), known=set()))


def _next_seats(user: User, campaign: Campaign, held: set[str], known: set[str]) -> SeatsPayload:
    """Return a page of seats in addition to those that the person's open tabs hold."""
    # A drawing takes minutes, so hold one besides the one on screen, not a page of them.
    size = (1 if held else 2) if KINDS[campaign.kind].drawn else None
    page = qualifying.next_page(user, campaign, size, shown_tokens=held)
    fresh = [seat for seat in page.seats if seat.token not in held]
    described = seats.describe(fresh, user, campaign, known)
    now = math.ceil(timezone.now().timestamp() * 1000)
    return {**described, "left": page.left, "done": page.answered, "at": now}


def _label_context(page: SeatPage, membership: Membership | None) -> Context:
    request, campaign = page.request, page.campaign
    shown_by = page_of(campaign)
    policy = policies.for_campaign(campaign)
    done = membership.answered if membership else 0
    first = page.seats[0] if page.seats else None
    setup: Context = {
        **page.payload,
        "user": request.user.pk,
        "campaign": campaign.name,
        "done": done,
        "given": page.values,
        **{key: policy[key] for key in ("page_size", "revise_minutes", "revise_answers")},
        "urls": urls_of(campaign) | {"login": f"{reverse('account_login')}?next={request.path}"},
    }
    return shown_by.context(campaign) | {
        "setup": setup | shown_by.setup(campaign),
        "first": first,
        "topic": page.payload["topics"].get(first["topic"]) if first else None,
        "answer_id": new_id(),
        "done": done,
        "settled_since": _settled_since(campaign, membership),
        "left": page.payload["left"],
        "last_seat": request.GET.get("after", ""),
        "going_back": bool(request.GET.get("seat")),
    }


def urls_of(campaign: Campaign) -> dict[str, str]:
    """Return the URLs that the scripts of the campaign's labeling page use."""
    names = ("page", "answers", "skip", "leave", "flag")
    return {name: reverse(f"label_{name}", args=[campaign.name]) for name in names}


def _settled_since(campaign: Campaign, membership: Membership | None) -> int:
    """Return how many questions were settled from the person's joining until last night."""
    if membership is None or membership.settled_before is None:
        return 0
    return max(0, campaign.settled_nightly - membership.settled_before)


def _answer_by_form(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    shown_by = page_of(campaign)
    if "skip" in request.POST:
        token = read_token(shown_by.skipped(request.POST))
        claiming.return_seat(person(request), token)
        return redirect(reverse("label", args=[campaign.name]) + f"?after={token}")
    sent = shown_by.read(request.POST, campaign)
    results = submitting.submit(person(request), campaign, sent, monitoring.watch_now)
    for message in dict.fromkeys(result.message for result in results if result.message):
        messages.error(request, message)
    query = shown_by.after(request.session, campaign, [answer.seat for answer in sent])
    accepted = results[0].status == submitting.ACCEPTED
    return redirect(reverse("label", args=[campaign.name]) + (query if accepted else ""))


@never_cache
@require_POST
@bodies.script_only
def label_page(request: HttpRequest, name: str) -> HttpResponse:
    """Return the next seats as JSON: {"seats", "topics", "left", "done", "at"}; "left" is as of
    "done" answers, "at" is the server's clock in milliseconds.
    """
    campaign = campaign_for(person(request), name)
    body = bodies.read_object(request)
    bodies.check_user(request, body)
    known = body.get("known", [])
    if not isinstance(known, list) or not all(isinstance(key, str) for key in known):
        raise Refusal('"known" must be a list of topics.', field="known")
    page = _next_seats(person(request), campaign, bodies.read_held(body), set(known))
    return JsonResponse(page)


@require_POST
@bodies.script_only
def label_answers(request: HttpRequest, name: str) -> HttpResponse:
    """Return the result of each answer in order: id, status, code, message and revision."""
    campaign = campaign_for(person(request), name)
    body = page_of(campaign).read_body(request)
    bodies.check_user(request, body)
    answers = bodies.read_answers(body)
    results = submitting.submit(person(request), campaign, answers, monitoring.watch_now)
    return JsonResponse({"results": [asdict(result) for result in results]})


@require_POST
@bodies.script_only
def label_skip(request: HttpRequest, name: str) -> HttpResponse:
    """Return a seat unanswered, so that somebody else gets it."""
    campaign_for(person(request), name)
    body = bodies.read_object(request)
    bodies.check_user(request, body)
    claiming.return_seat(person(request), read_token(body.get("seat")))
    return JsonResponse({"status": "returned"})


@require_POST
@bodies.script_only
def label_leave(request: HttpRequest, name: str) -> HttpResponse:
    """Cut the leases of a closed page's seats to one minute, except those renewed since "at"."""
    campaign = campaign_for(person(request), name)
    body = bodies.read_object(request)
    bodies.check_user(request, body)
    claiming.leave(person(request), campaign, bodies.read_held(body), bodies.read_moment(body))
    return JsonResponse({"status": "left"})


@require_GET
def seat_image(request: HttpRequest, token: str) -> HttpResponse:
    """Return the image of the person's own seat by a URL signed for them.

    `tile` asks for it as one of many on a page, `detail` for a tile of a large image. Drawing pages
    get a preview of a large image and add the tiles.
    """
    request.speaks_json = True  # type: ignore[attr-defined]
    seats.check_signature(token, person(request), request.GET.get("s", ""))
    seat = seats.seat_of(person(request), token)
    image, max_age = seat.question.item.image, seats.cache_seconds(seat.question.campaign)
    if "tile" in request.GET:
        return seats.tile_response(image, max_age)
    is_drawn_on = KINDS[seat.question.campaign.kind].has_geometry
    return seats.seat_response(image, max_age, request.GET.get("detail"), is_drawn_on)


@require_GET
def example_image(request: HttpRequest, token: str) -> HttpResponse:
    """Return an example's image to members of its campaign."""
    example = Example.objects.filter(token=token).select_related("image", "topic__campaign").first()
    if example is None:
        raise NotYours(gettext("There is no such example."))
    campaign_for(person(request), example.topic.campaign.name)
    return seats.image_response(example.image)


@require_GET
def instructions_image(request: HttpRequest, name: str, signed: str) -> HttpResponse:
    """Return a picture of the instructions to members of the campaign."""
    campaign = campaign_for(person(request), name)
    try:
        image_name = signer_of(campaign).unsign(signed)
        image = campaign.dataset.images.get(name=image_name)
    except (BadSignature, Image.DoesNotExist):
        raise NotYours(gettext("The instructions have no such picture.")) from None
    return seats.image_response(image, seats.cache_seconds(campaign))
