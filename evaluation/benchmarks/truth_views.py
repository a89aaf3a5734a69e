"""The pages of a benchmark's truth over time, and of what the last night did."""

import tempfile
from typing import IO

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods

from evaluation.benchmarks import access, downloads, folders, night_report, truth_versions
from evaluation.benchmarks.forms import FollowingForm
from evaluation.benchmarks.kind import kind_of
from evaluation.benchmarks.truth_versions import Following, VersionReport
from evaluation.models import Benchmark
from labeling.campaigns.access import RESEARCHER, campaigns_for
from labeling.disk_full import converting_disk_full
from labeling.errors import NotYours
from labeling.web.views.shared import SignedIn

# The text before each list of a VersionReport.
NOTES = {
    "reviewed_again": "Corrected by a review, then answered again; the newer answer counts",
    "left_out": "Reviewed, but the label changed after the review was opened; the newer one counts",
    "masks_changed": "New masks; add predictions for the new frames",
    "waiting": "Categories without a part order or a class; their objects are left out until then",
}
# Most images of a report that the page lists.
MAX_LISTED = 50


@require_http_methods(["GET", "POST"])
def versions(request: SignedIn, name: str) -> HttpResponse:
    """Show every version of the truth with its changes, and the form of how it follows the
    campaign.
    """
    row = access.benchmark_for(request.user, name)
    made = list(row.truth_versions.select_related("release", "review__campaign"))
    if not made:
        raise NotYours(truth_versions.NO_VERSIONS)
    form = FollowingForm(request.POST or None, initial=Following.settings_of(row))
    if form.is_valid():
        truth_versions.change_following(row, form.cleaned_data)
        messages.success(request, "Saved. Existing versions stay as they are.")
        return redirect("evaluation:truth", row.name)
    context = {
        "benchmark": row,
        "campaign": row.campaign,
        "kind": kind_of(row),
        "form": form,
        "newest": made[-1],
        "every": row.get_every_display(),
        "hides": row.hides_images,
        "most": MAX_LISTED,
        **NOTES,
        "versions": [
            (version, VersionReport.from_json(version.report)) for version in reversed(made)
        ],
    }
    status = 422 if form.errors else 200
    return render(request, "evaluation/truth.html", context, status=status)


@require_GET
def version_zip(request: SignedIn, name: str, version: int) -> HttpResponseBase:
    row = access.benchmark_for(request.user, name)
    return downloads.file(*open_version(row, version))


@require_GET
def night(request: SignedIn) -> HttpResponse:
    """Show what the last night did to the benchmarks of this researcher."""
    started = night_report.last_night()
    mine = access.benchmarks_for(request.user).select_related("campaign").order_by("title", "pk")
    rows = night_report.rows(started.name, mine) if started else []
    known = {benchmark.name: benchmark for benchmark in mine}
    campaigns = campaigns_for(request.user, RESEARCHER)
    context = {
        "night": started,
        "rows": [(row, known[row.name].title, kind_of(known[row.name]).counted) for row in rows],
        "failed": night_report.failed_steps(started.name, campaigns) if started else [],
    }
    return render(request, "evaluation/night.html", context)


def open_version(benchmark: Benchmark, number: int) -> tuple[IO[bytes], str]:
    """Return the files of a version in an open zip, deleted when it is closed, and its name.

    Raises NotYours for a version that does not exist, NotAllowed for a sealed part.
    """
    if not benchmark.truth_versions.filter(number=number).exists():
        raise NotYours(f"The truth has no version {number}.")
    access.check_images(benchmark)
    name = f"{benchmark.name}-truth-{number}"
    file = tempfile.TemporaryFile()  # noqa: SIM115
    with converting_disk_full(), folders.scratch() as folder:
        goal = folder / "truth"
        goal.mkdir()
        kind_of(benchmark).write_truth(benchmark, number, goal)
        folders.zip_into(goal, file, name)
    file.seek(0)
    return file, f"{name}.zip"
