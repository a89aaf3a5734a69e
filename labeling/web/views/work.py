"""A campaign's background jobs and releases."""

import zipfile
from pathlib import Path
from tempfile import TemporaryFile

from django.contrib import messages
from django.db.models import Q
from django.http import FileResponse, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_POST

from labeling.campaigns import lifecycle
from labeling.db.lookups import get_or_404
from labeling.errors import Refusal
from labeling.exchange import label_files
from labeling.jobs import queue
from labeling.kinds import KINDS
from labeling.kinds.base import OBJECTS
from labeling.models import Job
from labeling.plurals import count_of
from labeling.quality import stated_errors
from labeling.release_files import exporting
from labeling.releases import freezing
from labeling.web.forms.common import refusals_shown
from labeling.web.views.shared import SignedIn, own_campaign, page_of, query_of, render_campaign

PAGE_SIZE = 50


@require_GET
def jobs(request: SignedIn, name: str) -> HttpResponse:
    """Show the campaign's jobs, with the reasons of failed ones."""
    campaign = own_campaign(request, name)
    # Hide finished routine jobs; they are so many that they would bury all others.
    routine = Q(kind__in=["watch", "nightly"], state=Job.State.DONE)
    # Hide the ranges of a freeze unless they failed; the freeze's own row has the progress.
    routine |= Q(kind="freeze range") & ~Q(state=Job.State.FAILED)
    rows = campaign.jobs.exclude(routine).order_by("-pk")
    state = request.GET.get("state", "")
    if state in Job.State.values:
        rows = rows.filter(state=state)
    busy = campaign.jobs.filter(state__in=[Job.State.QUEUED, Job.State.RUNNING]).exists()
    page = page_of(request, rows, PAGE_SIZE)
    template = "labeling/_jobs.html" if "fragment" in request.GET else "labeling/jobs.html"
    return render_campaign(
        request,
        template,
        campaign,
        "jobs",
        page_obj=page,
        query=query_of(request),
        states=Job.State.choices,
        state=state,
        busy=busy,
    )


@require_POST
def job_retry(request: SignedIn, name: str, pk: int) -> HttpResponse:
    """Retry a failed job."""
    campaign = own_campaign(request, name)
    job = get_or_404(campaign.jobs, "There is no such job in this campaign.", pk=pk)
    with refusals_shown(request):
        queue.retry(job, request.user)
        messages.success(request, "The job is queued again.")
    return redirect("labeling:jobs", campaign.name)


@require_GET
def releases(request: SignedIn, name: str) -> HttpResponse:
    """Show the campaign's releases."""
    campaign = own_campaign(request, name)
    page = page_of(request, campaign.releases.order_by("-number"), PAGE_SIZE)
    return render_campaign(
        request,
        "labeling/releases.html",
        campaign,
        "releases",
        page_obj=page,
        query=query_of(request),
        replaced=page_of(
            request, campaign.replaced_releases.order_by("-number"), PAGE_SIZE, "replaced"
        ),
        replaced_query=query_of(request, "replaced"),
        formats=[(name, label_files.WORDS[name]) for name in exporting.formats_of(campaign.kind)],
        has_objects=KINDS[campaign.kind].release == OBJECTS,
        is_measurable=stated_errors.is_measurable(campaign),
        being_made=freezing.is_being_made(campaign),
    )


@require_POST
def release_freeze(request: SignedIn, name: str) -> HttpResponse:
    """Freeze the campaign's current content; a job freezes large ones."""
    campaign = own_campaign(request, name)
    lifecycle.check_campaign_active(campaign)
    if freezing.takes_long(campaign):
        freezing.request(campaign, request.user)
        messages.info(request, "The release is being created. Releases lists it once it is ready.")
        return redirect("labeling:jobs", campaign.name)
    latest = campaign.releases.order_by("-number").first()
    release = freezing.freeze(campaign, request.user)
    if latest and latest.pk == release.pk:
        message = f"Nothing has changed since release {release.number}."
        messages.info(request, message)
    else:
        message = f"Release {release.number} is frozen."
        if release.unsettled:
            open_now = count_of(release.unsettled, "question is", "questions are")
            message += f" {open_now} not settled yet and therefore not included."
        messages.success(request, message)
    return redirect("labeling:releases", campaign.name)


@require_GET
def release_download(request: SignedIn, name: str, number: int) -> FileResponse:
    """Download the release's folder as a zip."""
    campaign = own_campaign(request, name)
    release = freezing.release_for(campaign, number)
    folder = f"{campaign.name}-{release.number}"
    # On disk, not in memory; gone when the response is closed.
    file = TemporaryFile()  # noqa: SIM115
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for path in _files(freezing.folder_of(release)):
            archive.write(path, f"{folder}/{path.name}")
    file.seek(0)
    return FileResponse(
        file, as_attachment=True, filename=f"{folder}.zip", content_type="application/zip"
    )


def _files(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise Refusal("The files of this release are not on this server. Freeze it again.")
    return sorted(path for path in folder.iterdir() if path.is_file())
