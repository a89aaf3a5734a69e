"""The researcher's pages that make a benchmark on released labels and bring classifiers into it."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import FileResponse, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from evaluation.benchmarks import access, runs
from evaluation.benchmarks.forms import add_fault
from evaluation.benchmarks.kinds.labeled import benchmarks, pages, wording
from evaluation.benchmarks.kinds.labeled.forms import CampaignForm, ReleasedForm, SubmissionForm
from evaluation.benchmarks.kinds.labeled.settings import TEST
from evaluation.metrics.wordnet.nouns import WordNetMissing
from evaluation.models import Benchmark
from labeling.campaigns import access as campaign_access
from labeling.errors import NotYours, Refusal
from labeling.files import BadInput
from labeling.models import Campaign
from labeling.web.views.shared import SignedIn

FAULTS = (BadInput, Refusal, WordNetMissing)


@login_required
@require_http_methods(["GET", "POST"])
def new(request: SignedIn) -> HttpResponse:
    """First whose labels, then what they can be the truth of, and how that is scored."""
    campaign_access.check_may_open(request.user)
    if request.method == "GET":
        choosing = CampaignForm(request.GET or None, user=request.user)
        campaign = _chosen(choosing)
        form = ReleasedForm(user=request.user, initial={"campaign": campaign})
        return _new_page(request, choosing, campaign, form)
    form = ReleasedForm(request.POST, user=request.user)
    choosing = CampaignForm({"campaign": form.data.get("campaign", "")}, user=request.user)
    if form.is_valid():
        try:
            return _made(request, form)
        except FAULTS as error:
            add_fault(form, error, "kind")
    return _new_page(request, choosing, _chosen(choosing), form)


def _chosen(form: CampaignForm) -> Campaign | None:
    """The campaign that is asked for, or the only one there is to choose."""
    if form.is_bound:
        return form.cleaned_data["campaign"] if form.is_valid() else None
    mine = list(form.fields["campaign"].queryset[:2])  # type: ignore[attr-defined]
    if len(mine) != 1:
        return None
    form.initial["campaign"] = mine[0]
    return mine[0]


def _new_page(
    request: SignedIn, choosing: CampaignForm, campaign: Campaign | None, form: ReleasedForm
) -> HttpResponse:
    kinds = pages.choices(campaign) if campaign is not None else []
    possible = [own["kind"] for own in kinds if not own["fault"]]
    wanted = form["kind"].value()
    context = {
        "choosing": choosing,
        "campaign": campaign,
        "form": form,
        "kinds": kinds,
        "is_possible": bool(possible),
        "has_release": any(own["release"] for own in kinds),
        "shown_kind": wanted if wanted in possible else next(iter(possible), ""),
    }
    status = 422 if form.is_bound and form.errors else 200
    return render(request, "evaluation/released/new.html", context, status=status)


def _made(request: SignedIn, form: ReleasedForm) -> HttpResponse:
    data = form.cleaned_data
    made = benchmarks.create(
        request.user,
        kind=data["kind"],
        name=data["name"],
        title=data["title"],
        campaign=data["campaign"],
        **form.settings(),
    )
    messages.success(request, "The benchmark is made. Bring what classifiers say to its images.")
    return redirect("evaluation:released_submissions", made.name)


@login_required
@require_http_methods(["GET", "POST"])
def submissions(request: SignedIn, name: str) -> HttpResponse:
    """Who takes part, how a file looks, and where it comes in."""
    row = _benchmark(request, name)
    data = (request.POST, request.FILES) if request.method == "POST" else ()
    form = SubmissionForm(*data, user=request.user, benchmark=row)
    if form.is_valid():
        name = form.cleaned_data["name"]
        try:
            path, file = form.path("file"), form.cleaned_data["file"].name
            known = set(row.submissions.values_list("name", "sha256"))
            made = benchmarks.add_submission(row, request.user, name, path, file)
        except FAULTS as error:
            add_fault(form, error, "file")
        else:
            form.forget_files()
            return _joined(request, row, made.name, is_new=(made.name, made.sha256) not in known)
    form.keep_files()
    context = {
        "benchmark": row,
        "kind": wording.KINDS[row.kind],
        "form": form,
        "submissions": list(row.submissions.select_related("submitted_by")),
        "is_test": row.settings["split"] == TEST,
        "example": pages.example(row),
        "truth": row.settings["truth"],
    }
    status = 200 if not form.errors else 422
    return render(request, "evaluation/released/submissions.html", context, status=status)


def _joined(request: SignedIn, row: Benchmark, name: str, *, is_new: bool) -> HttpResponse:
    if not is_new:
        messages.info(request, f"{name} is here with the very same file already.")
        return redirect("evaluation:released_submissions", row.name)
    runs.request(row, request.user)
    messages.success(request, f"{name}: taken in. The score is on its way.")
    return redirect("evaluation:benchmark", row.name)


@login_required
@require_POST
def remove(request: SignedIn, name: str, position: int) -> HttpResponse:
    row = _benchmark(request, name)
    gone = benchmarks.remove(row, position)
    said = f"{gone} no longer takes part."
    if row.submissions.exists():
        runs.request(row, request.user)
        said += " The score without it is on its way."
    messages.success(request, said)
    return redirect("evaluation:released_submissions", row.name)


@login_required
@require_GET
def truth(request: SignedIn, name: str) -> HttpResponseBase:
    """The ground truth, as `score KIND` reads it."""
    row = _benchmark(request, name)
    return FileResponse(
        benchmarks.open_truth(row),
        as_attachment=True,
        filename=f"{row.name}-truth.zip",
        content_type="application/zip",
    )


def _benchmark(request: SignedIn, name: str) -> Benchmark:
    row = access.benchmark_for(request.user, name)
    if row.kind not in wording.KINDS:
        raise NotYours("There is no such benchmark, or it is not yours.")
    return row
