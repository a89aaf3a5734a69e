"""The pages of models, of a dataset's pools, and of models run for a benchmark."""

from django.contrib import messages
from django.http import FileResponse, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from evaluation.benchmarks.access import benchmark_for
from evaluation.models import RegisteredModel
from evaluation.pools import making, registering, uploading
from evaluation.pools.forms import ModelForm, ModelRunForm, PoolForm, PredictionsForm
from labeling.campaigns.access import check_administrator, check_researches, dataset_for
from labeling.models import Job
from labeling.web.api.base import download
from labeling.web.forms.common import WordedForm, refusals_shown, respond_if_valid
from labeling.web.views.shared import SignedIn, page_of, query_of

PAGE_SIZE = 25


@require_http_methods(["GET", "POST"])
def models(request: SignedIn) -> HttpResponse:
    """Render the models of the site and, for administrators, the form of a new one."""
    check_researches(request.user)
    if request.method == "POST":
        check_administrator(request.user)
    data = (request.POST, request.FILES) if request.method == "POST" else ()
    form = ModelForm(*data, user=request.user)

    def make() -> HttpResponse:
        registering.upload(request.user, **form.cleaned_data)
        return redirect("evaluation:models")

    if form.is_bound and (response := respond_if_valid(form, make)):
        return response
    rows = list(RegisteredModel.objects.select_related("job", "uploaded_by"))
    context = {
        "form": form,
        "models": rows,
        "busy": any(row.job and row.job.state not in Job.ENDED for row in rows),
        "runtime_fault": registering.runtime_fault(),
    }
    return _rendered(request, "models", context, form)


@require_POST
def model_remove(request: SignedIn, model: str) -> HttpResponse:
    """Remove an uploaded model."""
    check_administrator(request.user)
    with refusals_shown(request):
        registering.remove_uploaded(request.user, model)
        messages.success(request, f"{model} was removed. Its predictions stay.")
    return redirect("evaluation:models")


@require_http_methods(["GET", "POST"])
def pools(request: SignedIn, name: str) -> HttpResponse:
    """Render the pools of a dataset and the forms of a new one."""
    dataset = dataset_for(request.user, name)
    is_upload = "upload" in request.POST
    form = PoolForm(request.POST if request.method == "POST" and not is_upload else None)
    files = (request.POST, request.FILES) if is_upload else ()
    upload = PredictionsForm(*files, user=request.user)

    def make() -> HttpResponse:
        if not is_upload:
            making.request(dataset, request.user, form.cleaned_data["models"])
        elif file := upload.cleaned_data["file"]:
            uploading.from_zip(dataset, request.user, file)
        else:
            uploading.from_bucket(dataset, request.user, upload.cleaned_data["address"])
        return redirect("evaluation:pools", dataset.name)

    sent = upload if is_upload else form
    if sent.is_bound and (response := respond_if_valid(sent, make)):
        return response
    page = page_of(request, dataset.pools.select_related("job", "created_by"), PAGE_SIZE)
    context = {
        "dataset": dataset,
        "form": form,
        "upload": upload,
        "page_obj": page,
        "query": query_of(request),
        "busy": any(pool.state not in Job.ENDED for pool in page.object_list),
        "has_models": registering.usable().exists(),
    }
    return _rendered(request, "pools", context, sent)


@require_GET
def pool_file(request: SignedIn, name: str, pk: int) -> FileResponse:
    """Return the zip of a pool."""
    pool = making.pool_for(dataset_for(request.user, name), pk)
    return download(making.open_file(pool), f"{name}-pool-{pk}.zip", "application/zip")


@require_http_methods(["GET", "POST"])
def benchmark_models(request: SignedIn, name: str) -> HttpResponse:
    """Render the form that runs a model for a benchmark, and such runs."""
    benchmark = benchmark_for(request.user, name)
    form = ModelRunForm(request.POST if request.method == "POST" else None, benchmark=benchmark)

    def make() -> HttpResponse:
        form.request(request.user)
        return redirect("evaluation:benchmark_models", name)

    if form.is_bound and (response := respond_if_valid(form, make)):
        return response
    rows = benchmark.model_runs.select_related("job", "pool", "created_by")
    page = page_of(request, rows, PAGE_SIZE)
    context = {
        "benchmark": benchmark,
        "campaign": benchmark.campaign,
        "form": form,
        "page_obj": page,
        "query": query_of(request),
        "busy": any(run.job.state not in Job.ENDED for run in page.object_list),
    }
    return _rendered(request, "benchmark_models", context, form)


def _rendered(
    request: SignedIn, name: str, context: dict[str, object], form: WordedForm
) -> HttpResponse:
    """Return the page, or its table alone while jobs run; status 400 for a form with errors."""
    part = "_" if "fragment" in request.GET else ""
    status = 400 if form.errors else 200
    return render(request, f"evaluation/{part}{name}.html", context, status=status)
