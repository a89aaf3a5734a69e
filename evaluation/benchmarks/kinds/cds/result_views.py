"""The pages of single sequences in a CDS result, for those who research in its campaign."""

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_GET

from evaluation.benchmarks import access
from evaluation.benchmarks.kinds.cds import pages, sequence_pages
from evaluation.models import Benchmark, Run
from evaluation.scoring.cds.tables import Result
from labeling.web.views.shared import SignedIn, query_of

CDS = "cds"


@login_required
@require_GET
def objects(request: SignedIn, name: str, pk: int) -> HttpResponse:
    """Every object of the run: searchable, with its scores at one part and content scheme."""
    row, chosen, result = _scored(request, name, pk)
    context = sequence_pages.objects(row, chosen, result, request.GET)
    context |= {"benchmark": row, "run": chosen, "query": query_of(request)}
    return render(request, "evaluation/cds/objects.html", context)


@login_required
@require_GET
def viewer(request: SignedIn, name: str, pk: int, number: int) -> HttpResponse:
    """One sequence, frame by frame, with every classifier's answer under each."""
    row, chosen, result = _scored(request, name, pk)
    context = sequence_pages.viewer(row, chosen, result, number, request.GET)
    if context is None:
        raise Http404
    context |= {"benchmark": row, "run": chosen, "number": number}
    return render(request, "evaluation/cds/viewer.html", context)


@login_required
@require_GET
def galleries(request: SignedIn, name: str, pk: int) -> HttpResponse:
    """The easiest, median and hardest objects, and CAPTCHA candidates."""
    row, chosen, result = _scored(request, name, pk)
    context = sequence_pages.galleries(row, chosen, result, request.GET)
    context |= {"benchmark": row, "run": chosen, "query": query_of(request)}
    return render(request, "evaluation/cds/galleries.html", context)


def _scored(request: SignedIn, name: str, pk: int) -> tuple[Benchmark, Run, Result]:
    """The benchmark, its run and the result. Raises NotYours, or Http404 where there is none."""
    row = access.benchmark_for(request.user, name, CDS)
    chosen = get_object_or_404(row.runs.select_related("release"), pk=pk, state=Run.State.DONE)
    result: Any = pages.result_of(row, chosen)
    if result is None:
        raise Http404
    return row, chosen, result
