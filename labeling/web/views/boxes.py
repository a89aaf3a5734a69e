"""The figures of a campaign of boxes: how far it is, what a box costs, which proposals pay."""

import csv

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.views.decorators.http import require_GET

from labeling.campaigns.access import RESEARCHER
from labeling.reports import box_figures
from labeling.web.views.shared import SignedIn, render_campaign, role_in, watched_campaign


@login_required
@require_GET
def boxes(request: SignedIn, name: str) -> HttpResponse:
    """Pairs, boxes, steps, gold, proposals and classes; as CSV the classes."""
    campaign = watched_campaign(request, name)
    found = box_figures.figures(campaign)
    if "csv" in request.GET and found is not None:
        response = HttpResponse(content_type="text/csv; charset=utf-8")
        response["Content-Disposition"] = f'attachment; filename="{campaign.name}-classes.csv"'
        csv.writer(response, lineterminator="\n").writerows(box_figures.csv_rows(found))
        return response
    is_researcher = role_in(campaign, request.user) == RESEARCHER
    waiting = (
        is_researcher
        and campaign.jobs.filter(kind="calibrate", state__in=["queued", "running"]).exists()
    )
    return render_campaign(
        request, "labeling/boxes.html", campaign, "boxes", found=found, calibrating=waiting
    )
