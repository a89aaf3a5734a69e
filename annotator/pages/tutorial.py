"""Three example questions before a person's first real one of a kind, each with answer and
explanation.

Only the fact that the person saw the kind's tutorial is saved; answers are not scored.
"""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from annotator.accounts import person
from annotator.kinds import page_of
from annotator.pages.worded import campaign_for
from labeling.kinds import KINDS
from labeling.models import Campaign, User


def is_due(user: User, campaign: Campaign) -> bool:
    """Return whether the campaign's kind has a tutorial that the person has not seen."""
    page = page_of(campaign)
    return page.tutorial is not None and page.kind.name not in user.tutorials


@never_cache
@require_http_methods(["GET", "POST"])
def tutorial(request: HttpRequest, name: str) -> HttpResponse:
    """Return the question `?item=` or, after an answer to it, the right answer and explanation.

    After the last question, redirect to labeling.
    """
    user = person(request)
    campaign = campaign_for(user, name)
    items = page_of(campaign).tutorial
    if items is None or "end" in request.POST:
        note_seen(user, campaign.kind)
        return redirect("label", campaign.name)
    item_number = request.POST.get("item", request.GET.get("item", "1"))
    number = int(item_number) if item_number in {"1", "2", "3"} else 1
    item = items[number - 1]
    words = {value: gettext(words) for value, words, _ in item.choices}
    answer = request.POST.get("answer", "")
    context = {
        "campaign": campaign,
        "kind": KINDS[campaign.kind],
        "item": item,
        "number": number,
        "of": len(items),
        "given": words.get(answer),
        "is_right": answer == item.right,
        "known": words[item.right],
        "is_last": number == len(items),
    }
    return render(request, "annotator/tutorial.html", context)


def note_seen(user: User, kind: str) -> None:
    """Save that the person saw the kind's tutorial. Idempotent."""
    if kind not in user.tutorials:
        user.tutorials = sorted({*user.tutorials, kind})
        user.save(update_fields=["tutorials"])
