"""HTTP view for the model's outline of a part."""

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from annotator.accounts import person
from annotator.pages import bodies, seats
from annotator.pages.worded import campaign_for
from labeling.answers.submitted_answers import read_token
from labeling.assistance import asking
from labeling.errors import Refusal


@never_cache
@require_POST
@bodies.script_only
def label_propose(request: HttpRequest, name: str) -> HttpResponse:
    """Return {"proposal", "polygons"} for the prompts in the body, on a part of the person's own
    seat.
    """
    campaign = campaign_for(person(request), name)
    body = bodies.read_object(request)
    bodies.check_user(request, body)
    seat = seats.seat_of(person(request), read_token(body.get("seat")), campaign)
    part = body.get("part")
    if not isinstance(part, str):
        raise Refusal("part is the key of a part.", field="part")
    proposal = asking.propose(seat, part, body.get("prompts"))
    return JsonResponse({"proposal": proposal.token, "polygons": proposal.polygons})
