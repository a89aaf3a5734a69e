"""The second pass of naming: what models name beside one's own answer, as an ordinary form."""

import json

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from annotator.accounts import person
from annotator.kinds import page_of
from annotator.kinds.base import Context
from annotator.pages import seats
from annotator.pages.worded import campaign_for
from labeling.answers import second_pass as passes
from labeling.answers.sent import new_id
from labeling.errors import NotYours
from labeling.kinds import KINDS
from labeling.models import Campaign, SecondAnswer, User


@login_required
@never_cache
@require_http_methods(["GET", "POST"])
def second_pass(request: HttpRequest, name: str) -> HttpResponse:
    """The next of the person's answered images with what models name, and the answer to it."""
    user, campaign = person(request), campaign_for(person(request), name)
    if not passes.has_proposals(campaign):
        raise NotYours(gettext("This campaign has no second pass."))
    if request.method == "POST":
        [sent] = page_of(campaign).read(request.POST, campaign)
        passes.submit(user, campaign, sent.seat, sent.value, sent.duration_ms, sent.looks)
        return redirect("label_second", campaign.name)
    row = passes.next_of(user, campaign)
    shown = _shown(user, campaign, row) if row else {}
    context = page_of(campaign).context(campaign) | {"second": row, **shown}
    return render(request, "annotator/second.html", context)


def _shown(user: User, campaign: Campaign, row: SecondAnswer) -> Context:
    """What the page shows of it: the first answer is filled in."""
    kind, first = KINDS[campaign.kind], passes.first_answer(row)
    names = kind.class_names(campaign.settings)
    keys = first["keys"] if isinstance(first, dict) else []
    slots = [names.get(key, key) for key in keys]
    slots += [""] * (campaign.settings["most"] - len(keys))
    return {
        "first": {
            "seat": row.assignment.token,
            "image": seats.image_url(row.assignment, user),
        },
        "answer_id": new_id(),
        "before": kind.in_words(first, campaign.settings),
        "proposed": [{"key": key, "name": names.get(key, key)} for key in row.shown],
        "picked": json.dumps(keys),
        "slots": [{"number": number, "name": name} for number, name in enumerate(slots, 1)],
    }
