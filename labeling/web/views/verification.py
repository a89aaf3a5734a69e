"""Classes of candidates: precision, cost, and whether they are still asked about."""

from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from labeling.campaigns import lifecycle
from labeling.errors import NotYours
from labeling.kinds.candidates import SETTINGS
from labeling.models import Campaign, Job
from labeling.quality import verifying
from labeling.reports import verification_page
from labeling.web import attachments
from labeling.web.forms.common import refusals_shown, respond_if_valid
from labeling.web.forms.verification import StopRulesForm
from labeling.web.views.shared import (
    SignedIn,
    done,
    own_campaign,
    page_of,
    query_of,
    render_campaign,
    sent,
    watched_campaign,
)

PAGE_SIZE = 50


@require_http_methods(["GET", "POST"])
def verification(request: SignedIn, name: str) -> HttpResponse:
    """Show every class with its figures; a post changes the stop rules."""
    campaign = _fitting(watched_campaign(request, name))
    if request.method == "POST":
        campaign = own_campaign(request, name)
        form = StopRulesForm(request.POST)
    else:
        form = StopRulesForm(initial={key: campaign.settings[key] for key in SETTINGS})

    def change() -> HttpResponse:
        lifecycle.change(campaign, request.user, settings=form.cleaned_data)
        verifying.enqueue_check(campaign)
        message = "Saved. Precision is being recomputed with these rules."
        return done(request, message, "verification", campaign.name)

    return respond_if_valid(form, change) or _page(request, campaign, form)


def _fitting(campaign: Campaign) -> Campaign:
    if not verifying.fits(campaign):
        raise NotYours(verifying.NO_CLASSES)
    return campaign


def _page(request: SignedIn, campaign: Campaign, form: StopRulesForm) -> HttpResponse:
    sort, search = request.GET.get("sort", "name"), request.GET.get("q", "").strip()[:200]
    search = search.replace("\0", "")
    page = page_of(request, verification_page.matching_classes(campaign, sort, search), PAGE_SIZE)
    rows, floor = verification_page.class_rows(campaign, list(page.object_list))
    waiting = campaign.jobs.filter(
        kind="verify", state__in=[Job.State.QUEUED, Job.State.RUNNING]
    ).exists()
    return render_campaign(
        request,
        "labeling/verification.html",
        campaign,
        "verification",
        form=form,
        rows=rows,
        floor=floor,
        page_obj=page,
        query=query_of(request),
        search=search,
        sort=sort,
        sorts=[(key, words) for key, (words, _) in verification_page.SORTS.items()],
        summary=verification_page.summary(campaign),
        waiting=waiting,
    )


@require_POST
def verification_look(request: SignedIn, name: str) -> HttpResponse:
    """Check the classes in the background."""
    campaign = _fitting(own_campaign(request, name))
    verifying.enqueue_check(campaign)
    message = "Precision is being computed. See Jobs for progress."
    return done(request, message, "verification", campaign.name)


@require_POST
def verification_state(request: SignedIn, name: str) -> HttpResponse:
    """Stop or resume a class."""
    campaign = _fitting(own_campaign(request, name))
    action = verifying.stop if "stop" in request.POST else verifying.resume
    key = sent(request, "stop" if "stop" in request.POST else "resume")
    with refusals_shown(request):
        row = action(campaign, key, request.user, sent(request, "reason")[:500])
        state = "stopped" if row.state == row.State.STOPPED else "asked about again"
        return done(request, f"{row.topic.name} is {state}.", "verification", campaign.name)
    return redirect("labeling:verification", campaign.name)


@require_GET
def verification_csv(request: SignedIn, name: str) -> HttpResponse:
    """Download every class as CSV."""
    campaign = _fitting(watched_campaign(request, name))
    response = attachments.csv(verification_page.csv_rows(campaign), f"{campaign.name}-classes.csv")
    response["Cache-Control"] = "private, no-store"
    return response
