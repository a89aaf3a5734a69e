"""Pages of single sequences in a CDS result, and their frames."""

from django.http import FileResponse, Http404, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_http_methods

from evaluation.benchmarks import access
from evaluation.benchmarks.kind import kind_of
from evaluation.benchmarks.kinds.cds import sequence_pages, viewing
from evaluation.models import Benchmark, Run
from evaluation.scoring.cds.result import CdsResult
from labeling.web.views.shared import SignedIn, query_of

CDS = "cds"


@require_GET
def objects(request: SignedIn, name: str, pk: int) -> HttpResponse:
    """Show the objects of the run, searchable, with scores at one part and content scheme."""
    row, chosen, result = _scored(request, name, pk)
    context = sequence_pages.objects(row, chosen, result, request.GET)
    context |= {"benchmark": row, "run": chosen, "query": query_of(request)}
    return render(request, "evaluation/cds/objects.html", context)


@require_GET
def viewer(request: SignedIn, name: str, pk: int, number: int) -> HttpResponse:
    """Show one sequence frame by frame, with every classifier's answers."""
    row, chosen, result = _scored(request, name, pk)
    context = sequence_pages.viewer(row, chosen, result, number, request.GET)
    if context is None:
        raise Http404
    context |= {"benchmark": row, "run": chosen, "number": number}
    return render(request, "evaluation/cds/viewer.html", context)


@require_GET
def galleries(request: SignedIn, name: str, pk: int) -> HttpResponse:
    """Show the easiest, median and hardest objects, and CAPTCHA candidates."""
    row, chosen, result = _scored(request, name, pk)
    context = sequence_pages.galleries(row, chosen, result, request.GET)
    context |= {"benchmark": row, "run": chosen, "query": query_of(request)}
    return render(request, "evaluation/cds/galleries.html", context)


@require_http_methods(["GET", "POST"])
def frames(request: SignedIn, name: str, pk: int, number: int) -> HttpResponse:
    """Return the state of a sequence's frames; POST starts drawing them. A form redirects back."""
    row = _of_run(request, name, pk)
    if request.method == "GET":
        state = viewing.state(row, number)
    else:
        state = viewing.ask(row, number, request.user)
        if _is_form(request):
            return redirect("evaluation:cds_viewer", row.name, pk, number)
    return JsonResponse(state.as_payload(), status=200 if state.is_done else 202)


@require_GET
def frame(request: SignedIn, name: str, pk: int, number: int, frame: int) -> HttpResponseBase:
    """Return one drawn frame, numbered from 1."""
    row = _of_run(request, name, pk)
    try:
        file = viewing.open_frame(row, number, frame)
    except FileNotFoundError:
        raise Http404 from None
    response = FileResponse(file, content_type="image/webp")
    # A benchmark's release, orders and frames never change.
    response["Cache-Control"] = "private, max-age=3600"
    return response


def _of_run(request: SignedIn, name: str, pk: int) -> Benchmark:
    """Return the benchmark that has this run. Raises NotYours, or Http404 for another's run."""
    row = access.benchmark_for(request.user, name, CDS)
    get_object_or_404(row.runs.only("pk"), pk=pk)
    return row


def _is_form(request: SignedIn) -> bool:
    """Return whether a browser sent this without the viewer's script, which asks for JSON."""
    return request.get_preferred_type(["application/json", "text/html"]) == "text/html"


def _scored(request: SignedIn, name: str, pk: int) -> tuple[Benchmark, Run, CdsResult]:
    """Return the benchmark, its run and the result. Raises NotYours, or Http404 without a
    result.
    """
    row = access.benchmark_for(request.user, name, CDS)
    chosen = get_object_or_404(row.runs.select_related("release"), pk=pk, state=Run.State.DONE)
    result: CdsResult | None = kind_of(row).result_of(row, chosen)
    if result is None:
        raise Http404
    return row, chosen, result
