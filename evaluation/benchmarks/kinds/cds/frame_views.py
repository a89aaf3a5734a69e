"""The frames that the viewer shows: asked for, drawn by a job, given out."""

from django.contrib.auth.decorators import login_required
from django.http import FileResponse, Http404, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_GET, require_http_methods

from evaluation.benchmarks import access
from evaluation.benchmarks.kinds.cds import viewing
from evaluation.models import Benchmark
from labeling.web.views.shared import SignedIn


@login_required
@require_http_methods(["GET", "POST"])
def frames(request: SignedIn, name: str, pk: int, number: int) -> HttpResponse:
    """How far a sequence's frames are; POST has them drawn. A form goes back to its page."""
    row = _benchmark(request, name, pk)
    if request.method == "GET":
        found = viewing.state(row, number)
    else:
        found = viewing.ask(row, number, request.user)
        if _is_form(request):
            return redirect("evaluation:cds_viewer", row.name, pk, number)
    return JsonResponse(found.as_dict(), status=200 if found.is_done else 202)


@login_required
@require_GET
def frame(request: SignedIn, name: str, pk: int, number: int, frame: int) -> HttpResponseBase:
    """One frame, from 1, once it is drawn."""
    row = _benchmark(request, name, pk)
    try:
        file = viewing.open_frame(row, number, frame)
    except FileNotFoundError:
        raise Http404 from None
    response = FileResponse(file, content_type="image/webp")
    # A benchmark's release and orders never change, so neither does a frame.
    response["Cache-Control"] = "private, max-age=3600"
    return response


def _benchmark(request: SignedIn, name: str, pk: int) -> Benchmark:
    """The benchmark that has this run. Raises NotYours, or Http404 for another's run."""
    row = access.benchmark_for(request.user, name, "cds")
    get_object_or_404(row.runs.only("pk"), pk=pk)
    return row


def _is_form(request: SignedIn) -> bool:
    """Whether a browser sent it without the viewer's script, which asks for JSON."""
    return request.get_preferred_type(["application/json", "text/html"]) == "text/html"
