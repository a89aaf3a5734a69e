"""Questions taken along: the page that answers them without a connection, and its actions.

What the page keeps in the browser, and when that is erased: static/js/along/. docs/labeling.md.
"""

from pathlib import Path

from django.contrib.auth.decorators import login_required
from django.contrib.staticfiles import finders
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.templatetags.static import static
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from annotator.accounts import person
from annotator.kinds import page_of
from annotator.kinds.base import Context, SeatsPayload
from annotator.pages import bodies, seats, tutorial
from annotator.pages.views import stopped_page, urls_of
from annotator.pages.worded import campaign_for
from labeling.answers.sent import new_id, read_id
from labeling.assignment import candidates, claiming, taking_along
from labeling.errors import Conflict, InTraining, NotWorking, Refusal
from labeling.kinds import policies
from labeling.models import Campaign, Membership, TakenAlong, User

WORKER = "js/along/worker.js"


@login_required
@never_cache
@require_GET
def along(request: HttpRequest, name: str) -> HttpResponse:
    """The page of what is taken along: the same for everybody and at any time, since the browser
    keeps it. It holds no seats; what there is to take, and what is there, its script asks for."""
    user = person(request)
    campaign = campaign_for(user, name)
    if tutorial.is_due(user, campaign):
        return redirect("tutorial", campaign.name)
    membership = Membership.objects.active().filter(user=user, campaign=campaign).first()
    has_set = taking_along.current(user, campaign) is not None
    if not has_set:
        try:
            _check_may_take(user, campaign)
        except InTraining:
            return redirect("training", campaign.name)
        except Refusal as refusal:
            return stopped_page(request, campaign, membership, refusal)
    return render(request, "annotator/along.html", _context(request, campaign))


def _check_may_take(user: User, campaign: Campaign) -> None:
    """Raises Refusal where the person can take nothing of the campaign along, and its reason."""
    reader = candidates.reader(user, campaign)
    if reader.state != Campaign.State.OPEN:
        raise Conflict(
            gettext(claiming.CLOSED[Campaign.State(reader.state)]), code="campaign_closed"
        )
    claiming.check_stage(reader)
    if not campaign.take_along:
        raise NotWorking(str(taking_along.NOT_ALLOWED), code="not_taken_along")


def _context(request: HttpRequest, campaign: Campaign) -> Context:
    shown_by, policy = page_of(campaign), policies.of(campaign)
    names = ("set", "take", "back", "worker")
    urls = {name: reverse(f"along_{name}", args=[campaign.name]) for name in names}
    here = reverse("along", args=[campaign.name])
    setup: Context = {
        "seats": [],
        "topics": {},
        "done": 0,
        "left": 0,
        "user": request.user.pk,
        "campaign": campaign.name,
        **{key: policy[key] for key in ("page_size", "revise_minutes", "revise_answers")},
        "urls": urls_of(campaign)
        | {"page": None, "login": f"{reverse('account_login')}?next={here}"},
        "along": {"here": here, "script": static(shown_by.script), "urls": urls},
    }
    return shown_by.context(campaign) | {
        "setup": setup | shown_by.setup(campaign),
        "hours": range(1, taking_along.MOST_HOURS + 1),
        "answer_id": new_id(),
        "first": None,
        "topic": None,
        "done": 0,
        "left": 0,
        "last_seat": "",
        "is_along": True,
    }


@login_required
@require_GET
def along_worker(request: HttpRequest, name: str) -> HttpResponse:
    """The service worker, at an address from which it reaches the page `along` and no other."""
    campaign_for(person(request), name)
    path = finders.find(WORKER)
    script = Path(str(path)).read_bytes()
    response = HttpResponse(script, content_type="text/javascript; charset=utf-8")
    response["Cache-Control"] = "no-cache"
    return response


@never_cache
@require_GET
@bodies.script_only
def along_set(request: HttpRequest, name: str) -> HttpResponse:
    """What the person has with them, and how many they may take: {"user", "most", "set"}."""
    user = person(request)
    campaign = campaign_for(user, name)
    row = taking_along.current(user, campaign)
    most = 0
    if row is None and campaign.take_along:
        most = taking_along.most(campaign)
    found = None if row is None else _describe(row, _open(user, campaign, row))
    return JsonResponse({"user": user.pk, "most": most, "set": found})


@never_cache
@require_POST
@bodies.script_only
def along_take(request: HttpRequest, name: str) -> HttpResponse:
    """Takes questions along: {"user", "id", "questions", "hours"} → the set with its seats as a
    page has them. The same id gives the same set again, with what is still to be answered."""
    user = person(request)
    campaign = campaign_for(user, name)
    body = bodies.read_object(request)
    bodies.check_user(request, body)
    key = read_id(body.get("id"))
    questions = _whole(body, "questions", taking_along.MOST)
    row = taking_along.take(
        user, campaign, key, questions, _whole(body, "hours", taking_along.MOST_HOURS)
    )
    open_seats = _open(user, campaign, row)
    payload: SeatsPayload = seats.describe(open_seats, user, campaign)
    return JsonResponse({**_describe(row, open_seats), **payload})


def _open(user: User, campaign: Campaign, row: TakenAlong) -> list[claiming.Seat]:
    return taking_along.open_seats(user, campaign, row) if row.is_open else []


@never_cache
@require_POST
@bodies.script_only
def along_back(request: HttpRequest, name: str) -> HttpResponse:
    """Gives back what is not answered: {"user", "id"} → {"returned"}."""
    user = person(request)
    campaign = campaign_for(user, name)
    body = bodies.read_object(request)
    bodies.check_user(request, body)
    returned = taking_along.give_back(user, campaign, read_id(body.get("id")))
    return JsonResponse({"returned": returned})


def _describe(row: TakenAlong, open_seats: list[claiming.Seat]) -> dict[str, object]:
    """seconds: until the lease ends, by the server's clock; the browser's may be wrong."""
    seconds = max(0, round((row.until - timezone.now()).total_seconds()))
    return {"id": str(row.key), "questions": row.seats, "open": len(open_seats), "seconds": seconds}


def _whole(body: bodies.Body, key: str, most: int) -> int:
    """A whole number from 1 to `most`. Raises Refusal."""
    value = body.get(key)
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        raise Refusal(
            f"{key} is {str(value)[:60]!r}; send a whole number from 1 to {most}.", field=key
        )
    return value
