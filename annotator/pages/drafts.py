"""HTTP views that save unsent drawings and load them again."""

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from annotator.accounts import person
from annotator.kinds.parts import draft_of
from annotator.pages import bodies, seats
from annotator.pages.worded import campaign_for
from labeling.answers import drafts
from labeling.answers.submitted_answers import read_token


@require_POST
@bodies.script_only
def label_draft(request: HttpRequest, name: str) -> HttpResponse:
    """Return {"version"} of the saved draft, or 409 with the draft that another device saved
    meanwhile.
    """
    campaign = campaign_for(person(request), name)
    body = bodies.read_drawing(request)
    bodies.check_user(request, body)
    seat = seats.seat_to_save(person(request), read_token(body.get("seat")), campaign)
    base = bodies.read_version(body.get("base", 0))
    device = bodies.read_device(body.get("device", ""))
    try:
        version = drafts.save(seat, body.get("content"), base, device)
    except drafts.Outdated as refusal:
        kept_draft = {} if refusal.draft is None else draft_of(refusal.draft)
        return JsonResponse(
            {"version": 0, "content": None, "device": "", "saved_at": None}
            | kept_draft
            | {"code": refusal.code, "message": refusal.message, "field": refusal.field},
            status=refusal.status,
        )
    return JsonResponse({"version": version})


@never_cache
@require_POST
@bodies.script_only
def label_seat(request: HttpRequest, name: str) -> HttpResponse:
    """Return one seat as JSON, as in the page response, with its answer and draft."""
    campaign = campaign_for(person(request), name)
    body = bodies.read_object(request)
    bodies.check_user(request, body)
    # Raises NotYours, also for a seat of another campaign.
    seat = seats.seat_of(person(request), read_token(body.get("seat")), campaign)
    return JsonResponse(seats.describe([seat], person(request), campaign))
