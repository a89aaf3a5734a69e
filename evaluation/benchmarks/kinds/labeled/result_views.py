"""Pages and files of a result on released labels, after the checks of benchmarks/views.py."""

import json
from collections.abc import Iterator

from django.contrib.auth.decorators import login_required
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    StreamingHttpResponse,
)
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_GET

from evaluation.benchmarks import access, downloads, runs, under_way
from evaluation.benchmarks.figures import FORMS, THEMES
from evaluation.benchmarks.kinds.labeled import csv_tables, figures, pages, running, wording
from evaluation.models import Benchmark, Run
from labeling.errors import Refusal
from labeling.web.views.shared import SignedIn


def benchmark(request: HttpRequest, row: Benchmark) -> HttpResponse:
    """The benchmark's page with its newest result; to htmx only what moved."""
    is_htmx = request.headers.get("HX-Request") == "true"
    if is_htmx and request.GET.get("seen") == under_way.seen(row):
        # Nothing moved: htmx leaves the page as it is.
        return HttpResponse(status=204)
    context = pages.benchmark(row, runs.latest(row))
    part = (
        "evaluation/released/_benchmark.html" if is_htmx else "evaluation/released/benchmark.html"
    )
    return render(request, part, context)


def run(request: HttpRequest, row: Benchmark, chosen: Run) -> HttpResponse:
    return render(request, "evaluation/released/run.html", pages.benchmark(row, chosen))


def result_json(row: Benchmark, chosen: Run) -> HttpResponseBase:
    """The whole result, as the run keeps it, with the curves of WSOL."""
    result = (chosen.result or {}) | {"curves": running.curves_of(row, chosen.pk)}

    def text() -> Iterator[str]:
        yield from json.JSONEncoder(ensure_ascii=False, indent=1).iterencode(result)
        yield "\n"

    response = StreamingHttpResponse(text(), content_type="application/json")
    return downloads.attached(response, downloads.name_of(row, chosen, ".json"))


def result_csv(row: Benchmark, chosen: Run, table: str) -> HttpResponse:
    result = pages.result_of(row, chosen)
    if table not in csv_tables.TABLES or result is None:
        raise Http404
    return downloads.csv(row, chosen, table, *csv_tables.table(table, result))


def figure(request: HttpRequest, row: Benchmark, chosen: Run, name: str, form: str) -> HttpResponse:
    theme = request.GET.get("theme", "light")
    result = pages.result_of(row, chosen)
    if result is None or form not in FORMS or theme not in THEMES:
        raise Http404
    if name not in figures.drawn(result):
        raise Http404
    content = figures.draw(name, result, form, theme)
    return downloads.figure(request, row, chosen, name, form, content)


@login_required
@require_GET
def image_lines(request: SignedIn, name: str, pk: int) -> HttpResponseBase:
    """What every classifier said of every image, a line each."""
    row = access.benchmark_for(request.user, name)
    chosen = get_object_or_404(row.runs.defer("result"), pk=pk, state=Run.State.DONE)
    if row.kind not in wording.KINDS:
        raise Http404
    path = running.images_path(row, chosen.pk)
    if not path.is_file():
        raise Refusal(
            "The images of this run are not on this server any more. Score the benchmark again."
        )
    return downloads.lines(path, downloads.name_of(row, chosen, f"-{running.IMAGES}"))
