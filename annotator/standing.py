"""What a person is told of their own work: as a whole, rounded and late, so that no single answer
is judged here and nothing says which questions have a known answer."""

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import add_never_cache_headers
from django.views.decorators.http import require_GET

from annotator.accounts import person
from labeling.access import campaign_for
from labeling.models import Membership

# Fewer known questions than this say little, and would say much about each.
FEWEST = 20
# From the best down: the share of right answers from which on, and its words.
BANDS = (
    (0.95, "more than 95 % right"),
    (0.9, "90 to 95 % right"),
    (0.8, "80 to 90 % right"),
    (0.7, "70 to 80 % right"),
    (0.0, "less than 70 % right"),
)


@login_required
@require_GET
def my_standing(request: HttpRequest, name: str) -> HttpResponse:
    """One's own figures in a campaign: answers, time, how often right, and what was decided."""
    campaign = campaign_for(person(request), name)
    membership = Membership.objects.active().filter(user=person(request), campaign=campaign).first()
    context = {"campaign": campaign, "membership": membership} | figures(membership)
    response = render(request, "annotator/standing.html", context)
    add_never_cache_headers(response)
    return response


def figures(membership: Membership | None) -> dict[str, Any]:
    """The figures of the page; what is not known yet is None."""
    if membership is None:
        return {"answered": 0, "seconds": None, "right": None, "agreement": None}
    return {
        "answered": membership.answered,
        "seconds": _seconds(membership),
    }


def _seconds(membership: Membership) -> float | None:
    """Mean seconds an answer, to the half second."""
    if not membership.answered or not membership.worked_ms:
        return None
    return round(membership.worked_ms / membership.answered / 500) / 2


def band(right: int, total: int) -> str | None:
    """How often right, in coarse words; None while too few known questions were met.

    >>> band(19, 19), band(18, 20), band(10, 25)
    (None, '90 to 95 % right', 'less than 70 % right')
    """
    if total < FEWEST:
        return None
    return next(words for least, words in BANDS if right / total >= least)
