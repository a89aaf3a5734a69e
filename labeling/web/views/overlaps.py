"""Boxes that overlap: the reviews of Russakovsky et al. (2015, App. E)."""

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from labeling.kinds import KINDS
from labeling.kinds.base import CHAINS
from labeling.quality import box_overlaps
from labeling.reports import overlap_rows
from labeling.web.forms.common import refusals_shown
from labeling.web.views.shared import SignedIn, key_of, render_campaign, sent, watched_campaign


@login_required
@require_GET
def overlaps(request: SignedIn, name: str) -> HttpResponse:
    """Boxes that overlap in the next images, and what may be done about them."""
    campaign = watched_campaign(request, name)
    after = key_of(request.GET.get("after", "")) or 0
    page = box_overlaps.Page([], None)
    if KINDS[campaign.kind].asks == CHAINS:
        page = box_overlaps.find(campaign, after)
    return render_campaign(
        request,
        "labeling/overlaps.html",
        campaign,
        "overlaps",
        rows=overlap_rows.rows(campaign, page.findings),
        after=after,
        next_after=page.after,
    )


@login_required
@require_POST
def overlap_decide(request: SignedIn, name: str) -> HttpResponse:
    """What a reviewer decides of one, then the others."""
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
