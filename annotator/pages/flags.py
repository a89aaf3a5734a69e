"""Annotators' flags: sending one, and reading the researchers' replies."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from annotator.accounts import person
from annotator.pages import bodies
from annotator.pages.worded import campaign_for
from labeling.answers import flagging
from labeling.answers.submitted_answers import new_id, read_id, read_token
from labeling.errors import Refusal

MOST = 100


@never_cache
@require_http_methods(["GET", "POST"])
def label_flags(request: HttpRequest, name: str) -> HttpResponse:
    """Return the person's latest flags with replies and, with `?seat=`, the form for flagging its
    image.
    """
    user = person(request)
    campaign = campaign_for(user, name)
    token = request.POST.get("seat", request.GET.get("seat", ""))
    note = request.POST.get("note", "").replace("\0", "")
    if request.method == "POST":
        try:
            key = read_id(request.POST.get("id"))
            flagging.flag(user, campaign, key, read_token(token), note)
        except Refusal as refusal:
            messages.error(request, refusal.message)
        else:
            messages.success(
                request, gettext("The researchers see your note. Their reply appears here.")
            )
            return redirect("label", campaign.name)
    rows = list(flagging.own_flags(user, campaign)[:MOST])
    flagging.read_replies(user, campaign)
    context = {"campaign": campaign, "rows": rows, "seat": token, "note": note, "id": new_id()}
    return render(request, "annotator/flags.html", context)


@require_POST
@bodies.script_only
def label_flag(request: HttpRequest, name: str) -> HttpResponse:
    """Return {"flag": id} of the saved flag. Body: {"user", "id", "seat", "note"}."""
    campaign = campaign_for(person(request), name)
    body = bodies.read_object(request)
    bodies.check_user(request, body)
    note = body.get("note")
    if not isinstance(note, str) or "\0" in note:
        raise Refusal('"note" must be text.', field="note")
    token = read_token(body.get("seat"))
    kept = flagging.flag(person(request), campaign, read_id(body.get("id")), token, note)
    return JsonResponse({"flag": str(kept.pk)})
