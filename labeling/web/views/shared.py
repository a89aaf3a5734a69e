"""Shared by researchers' pages: frame, paginated lists, images."""

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.core.paginator import Page, Paginator
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.module_loading import import_string

from labeling.campaigns.access import ANNOTATOR, RESEARCHER, campaign_for
from labeling.campaigns.names import VisibleNames
from labeling.datasets import images
from labeling.db import question_counts
from labeling.errors import NotYours
from labeling.kinds import KINDS
from labeling.models import Campaign, Image, Membership, Question, User


class SignedIn(HttpRequest):
    """A request of a logged-in user, for mypy."""

    user: User


# Roles that may view the pages. Reviewers may only review; researchers may do the rest.
WATCHERS = (RESEARCHER, Membership.Role.REVIEWER)


def role_in(campaign: Campaign, user: User) -> str:
    """Return the user's role; staff without membership count as researchers."""
    if user.is_staff:
        return RESEARCHER
    held = campaign.memberships.active().filter(user=user).values_list("role", flat=True)
    return held.first() or ANNOTATOR


def render_campaign(
    request: SignedIn, template: str, campaign: Campaign, tab: str, **context: Any
) -> HttpResponse:
    """Render a page inside a campaign's frame: name, state and tabs."""
    in_review = question_counts.of_campaign(campaign.pk).review
    role = role_in(campaign, request.user)
    frame = {
        "campaign": campaign,
        "kind": KINDS[campaign.kind],
        "tab": tab,
        "role": role,
        "is_researcher": role == RESEARCHER,
        "names": VisibleNames(campaign),
        "in_review": in_review,
        # Reviewers answer questions too; these pages could influence their answers.
        "links": links_of(campaign) if role == RESEARCHER else [],
    }
    return render(request, template, frame | context)


def links_of(campaign: Campaign) -> list[dict[str, str]]:
    """Return {"title", "url"} of pages that other apps have for this campaign.

    The setting ASSAY_CAMPAIGN_LINKS names their functions, so this app need not know them.
    """
    links: list[dict[str, str]] = []
    for path in getattr(settings, "ASSAY_CAMPAIGN_LINKS", []):
        links += import_string(path)(campaign)
    return links


def page_of(request: SignedIn, rows: QuerySet[Any], size: int, name: str = "page") -> Page:
    """Return the list's page from the URL, or the nearest existing one.

    name: query parameter of a second list on the same page.
    """
    return Paginator(rows, size).get_page(request.GET.get(name))


def done(request: SignedIn, message: str, goal: str, *arguments: object) -> HttpResponse:
    """Redirect to the page `goal` of this app and show the message there."""
    messages.success(request, message)
    return redirect(f"labeling:{goal}", *arguments)


def report_page(
    request: SignedIn, page: str, progress: str, ended: bool, context: dict[str, object]
) -> HttpResponse:
    """Show the page of a background job, or its progress as a fragment."""
    if "fragment" not in request.GET:
        return render(request, page, context)
    response = render(request, progress, context)
    if ended:
        # htmx then loads the page again, which now has the report.
        response["HX-Refresh"] = "true"
    return response


def query_of(request: SignedIn, *names: str) -> str:
    """Return the URL's query without the page or the given names, for links."""
    query = request.GET.copy()
    for name in names or ("page",):
        query.pop(name, None)
    return query.urlencode()


def key_of(text: str) -> int | None:
    """Return the primary key that a form sent; None if invalid."""
    # Longer numbers fit no column, and Python refuses to parse very long ones.
    return int(text) if text.isdecimal() and len(text) <= 18 else None


def sent(request: SignedIn, name: str) -> str:
    """Return a posted value without NUL, which PostgreSQL rejects; for posts without a form."""
    return request.POST.get(name, "").replace("\0", "")


def question_in(campaign: Campaign, pk: int) -> Question:
    """Return the campaign's question by id. Raises NotYours."""
    question = (
        campaign.questions.select_related("item__image", "policy")
        .exclude(state=Question.State.GOLD)
        .filter(pk=pk)
        .first()
    )
    if question is None:
        raise NotYours("There is no such question in this campaign.")
    return question


def watched_campaign(request: SignedIn, name: str) -> Campaign:
    return campaign_for(request.user, name, *WATCHERS)


def own_campaign(request: SignedIn, name: str) -> Campaign:
    return campaign_for(request.user, name, RESEARCHER)


def thumbnail_response(image: Image) -> HttpResponse:
    return _picture(images.open_thumbnail(image))


def display_response(image: Image) -> HttpResponse:
    return _picture(images.open_display(image))


def _picture(picture: images.OpenPicture) -> HttpResponse:
    with picture:
        response = HttpResponse(picture.read(), content_type=picture.media_type)
    response["Cache-Control"] = "private, max-age=3600"
    response["Cross-Origin-Resource-Policy"] = "same-origin"
    return response
