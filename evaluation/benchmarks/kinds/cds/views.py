"""The researcher's pages that make a CDS benchmark and bring classifiers into it."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import FileResponse, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from evaluation.benchmarks import access, downloads, runs
from evaluation.benchmarks.forms import add_fault
from evaluation.benchmarks.kinds.cds import benchmarks, choosing
from evaluation.benchmarks.kinds.cds.forms import CDSForm, PredictionsForm
from evaluation.metrics.wordnet.nouns import WordNetMissing
from evaluation.models import Benchmark
from labeling.campaigns import access as campaign_access
from labeling.errors import Refusal
from labeling.files import BadInput
from labeling.web.views.shared import SignedIn

CDS = Benchmark.Kind.CDS


@login_required
@require_http_methods(["GET", "POST"])
def new(request: SignedIn) -> HttpResponse:
    campaign_access.check_may_open(request.user)
    if request.method == "GET":
        form = CDSForm(user=request.user)
        form.initial["campaign"] = request.GET.get("campaign", "")
        return render(request, "evaluation/cds/new.html", {"form": form})
    form = CDSForm(request.POST, request.FILES, user=request.user)
    plan: choosing.Plan | None = None
    is_checked = False
    if form.is_valid():
        try:
            if "create" in request.POST:
                return _made(request, form)
            plan = benchmarks.plan(form.cleaned_data["campaign"], form.choice())
            is_checked = True
        except (Refusal, BadInput) as error:
            add_fault(form, error, "orders" if form.cleaned_data["orders"] else "campaign")
    form.keep_files()
    status = 422 if form.errors else 200
    context = {"form": form, "plan": plan, "is_checked": is_checked}
    return render(request, "evaluation/cds/new.html", context, status=status)


def _made(request: SignedIn, form: CDSForm) -> HttpResponse:
    data = form.cleaned_data
    made = benchmarks.create(
        request.user,
        name=data["name"],
        title=data["title"],
        campaign=data["campaign"],
        **vars(form.choice()),
    )
    form.forget_files()
    messages.success(
        request, "The benchmark is made. Bring the predictions of classifiers for its frames."
    )
    return redirect("evaluation:cds_predictions", made.name)


@login_required
@require_http_methods(["GET", "POST"])
def predictions(request: SignedIn, name: str) -> HttpResponse:
    """Who takes part, how to classify the frames, and where the predictions come in."""
    row = access.benchmark_for(request.user, name, CDS)
    data = (request.POST, request.FILES) if request.method == "POST" else ()
    form = PredictionsForm(*data, user=request.user)
    if form.is_valid():
        try:
            path, file = form.path("file"), form.cleaned_data["file"].name
            changed = benchmarks.add_predictions(row, request.user, path, file)
        except (Refusal, BadInput, WordNetMissing) as error:
            add_fault(form, error, "file")
        else:
            form.forget_files()
            return _joined(request, row, changed)
    form.keep_files()
    context = {
        "benchmark": row,
        "campaign": row.campaign,
        "form": form,
        "classifiers": list(row.submissions.select_related("submitted_by")),
        "example": benchmarks.first_line_of(row).frames[0],
        "command": _command(row),
    }
    status = 200 if not form.errors else 422
    return render(request, "evaluation/cds/predictions.html", context, status=status)


def _command(row: Benchmark) -> str:
    """How a person classifies the benchmark's frames; orders.json lies beside them."""
    stated = row.settings
    schemes = [f"--part-scheme {name}" for name in stated["part_schemes"]]
    schemes += [f"--content-scheme {name}" for name in stated["content_schemes"]]
    schemes += ["--include-empty"] * stated["include_empty"]
    return " \\\n  ".join(
        [
            f"manage.py classify {row.campaign.name} --number {row.own_release.number}",
            "--orders orders.json",
            *schemes,
            "--model torchvision:resnet50 --classes wnids.txt --out predictions.csv",
        ]
    )


def _joined(request: SignedIn, row: Benchmark, changed: list[str]) -> HttpResponse:
    if not changed:
        messages.info(request, "Everything in the file is here already.")
        return redirect("evaluation:cds_predictions", row.name)
    runs.request(row, request.user)
    messages.success(request, f"{', '.join(changed)}: taken in. The scores are on their way.")
    return redirect("evaluation:benchmark", row.name)


@login_required
@require_POST
def remove(request: SignedIn, name: str, position: int) -> HttpResponse:
    row = access.benchmark_for(request.user, name, CDS)
    gone = benchmarks.remove_classifier(row, position)
    said = f"{gone} no longer takes part."
    if row.submissions.exists():
        runs.request(row, request.user)
        said += " The scores without it are on their way."
    messages.success(request, said)
    return redirect("evaluation:cds_predictions", row.name)


@login_required
@require_GET
def lines(request: SignedIn, name: str) -> HttpResponseBase:
    """Which frames there are, for classifiers."""
    row = access.benchmark_for(request.user, name, CDS)
    return FileResponse(
        benchmarks.open_lines(row),
        as_attachment=True,
        filename=f"{row.name}-sequences.jsonl",
        content_type="application/jsonl",
    )


@login_required
@require_GET
def orders(request: SignedIn, name: str) -> HttpResponse:
    """In which order the parts appear, for those who make the frames."""
    row = access.benchmark_for(request.user, name, CDS)
    return downloads.text(
        benchmarks.orders_text(row), "application/json", f"{row.name}-orders.json"
    )
