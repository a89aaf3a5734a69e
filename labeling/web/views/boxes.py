"""Figures of a box campaign, and overlapping boxes (Russakovsky et al. 2015, App. E)."""

from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from labeling.campaigns.access import RESEARCHER
from labeling.kinds import KINDS
from labeling.kinds.base import CHAINS
from labeling.quality import box_overlaps
from labeling.reports import boxes_page, overlaps_page
from labeling.web import attachments
from labeling.web.forms.common import refusals_shown
from labeling.web.views.shared import (
    SignedIn,
    key_of,
    render_campaign,
    role_in,
    sent,
    watched_campaign,
)


@require_GET
def boxes(request: SignedIn, name: str) -> HttpResponse:
    """Show figures of pairs, boxes, steps, gold, proposals and classes; classes also as CSV."""
    campaign = watched_campaign(request, name)
    figures = boxes_page.figures(campaign)
    if "csv" in request.GET and figures is not None:
        return attachments.csv(boxes_page.csv_rows(figures), f"{campaign.name}-classes.csv")
    is_researcher = role_in(campaign, request.user) == RESEARCHER
    waiting = (
        is_researcher
        and campaign.jobs.filter(kind="calibrate", state__in=["queued", "running"]).exists()
    )
    return render_campaign(
        request, "labeling/boxes.html", campaign, "boxes", found=figures, calibrating=waiting
    )


@require_GET
def overlaps(request: SignedIn, name: str) -> HttpResponse:
    """Show overlapping boxes of the next images with the possible actions."""
    campaign = watched_campaign(request, name)
    after = key_of(request.GET.get("after", "")) or 0
    page = box_overlaps.FindingsPage([], None)
    if KINDS[campaign.kind].asks == CHAINS:
        page = box_overlaps.find(campaign, after)
    return render_campaign(
        request,
        "labeling/overlaps.html",
        campaign,
        "overlaps",
        rows=overlaps_page.rows(campaign, page.findings),
        after=after,
        next_after=page.after,
    )


@require_POST
def overlap_decide(request: SignedIn, name: str) -> HttpResponse:
    """Save a reviewer's decision on an overlap and go to the next."""
    campaign = watched_campaign(request, name)
    with refusals_shown(request):
        box_overlaps.decide(
            campaign,
            request.user,
            key_of(sent(request, "item")) or 0,
            sent(request, "finding"),
            sent(request, "action"),
            sent(request, "reason"),
        )
    after = key_of(sent(request, "after")) or 0
    return redirect(f"{reverse('labeling:overlaps', args=[campaign.name])}?after={after}")
