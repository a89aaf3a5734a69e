"""The pages and files of a CDS benchmark's result, for those who research in its campaign.

The addresses that every kind of benchmark has (its page, a run's, tables, figures) come here from
evaluation/benchmarks/views.py, past its checks; the others are in urls.py.
"""

import json
from collections.abc import Iterator
from typing import Any

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

from evaluation.benchmarks import access, downloads, folders, runs, under_way
from evaluation.benchmarks.figures import FORMS, THEMES
from evaluation.benchmarks.kinds.cds import figures, pages, sequence_pages
from evaluation.benchmarks.kinds.cds.running import SEQUENCES
from evaluation.models import Benchmark, Run
from evaluation.scoring.cds import tables
from evaluation.scoring.cds.tables import Result
from labeling.errors import Refusal
from labeling.web.views.shared import SignedIn, query_of


def benchmark(request: HttpRequest, row: Benchmark) -> HttpResponse:
    """The benchmark's page with its newest result; to htmx only what moved."""
    is_htmx = request.headers.get("HX-Request") == "true"
    if is_htmx and request.GET.get("seen") == under_way.seen(row):
        # Nothing moved: htmx leaves the page as it is.
        return HttpResponse(status=204)
    context = pages.benchmark(row, runs.latest(row), request.GET)
    part = "evaluation/cds/_benchmark.html" if is_htmx else "evaluation/cds/benchmark.html"
    return render(request, part, context)


def run(request: HttpRequest, row: Benchmark, chosen: Run) -> HttpResponse:
    return render(request, "evaluation/cds/run.html", pages.benchmark(row, chosen, request.GET))


def result_json(row: Benchmark, chosen: Run) -> HttpResponseBase:
    """The whole result as FORMATS has it. Its sequences are streamed from the run's file."""
    path = folders.run_folder(row, chosen.pk) / SEQUENCES
    if not path.is_file():
        raise _gone()
    result = chosen.result or {}
    head = {key: value for key, value in result.items() if key != "tables"}

    def text() -> Iterator[str]:
        yield json.dumps(head, ensure_ascii=False)[:-1] + (", " if head else "") + '"sequences": ['
        with open(path, encoding="utf-8") as file:
            for at, line in enumerate(file):
                yield (",\n" if at else "\n") + line.rstrip("\n")
        yield '\n], "tables": ' + json.dumps(result["tables"], ensure_ascii=False) + "}\n"

    response = StreamingHttpResponse(text(), content_type="application/json")
    return downloads.attached(response, downloads.name_of(row, chosen, ".json"))


def result_csv(row: Benchmark, chosen: Run, table: str) -> HttpResponse:
    if table not in tables.TABLES or chosen.result is None:
        raise Http404
    return downloads.csv(row, chosen, table, *tables.table(table, chosen.result))


def figure(request: HttpRequest, row: Benchmark, chosen: Run, name: str, form: str) -> HttpResponse:
    theme = request.GET.get("theme", "light")
    result = pages.result_of(row, chosen)
    if result is None or form not in FORMS or theme not in THEMES:
        raise Http404
    if name not in figures.drawn(result):
        raise Http404
    content = figures.draw(name, result, form, theme, pages.chosen_in(request.GET, result))
    return downloads.figure(request, row, chosen, name, form, content)


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


@login_required
@require_GET
def sequences(request: SignedIn, name: str, pk: int) -> HttpResponseBase:
    """CDS and B-CDS of every sequence and classifier, a line each."""
    row, chosen, _ = _scored(request, name, pk)
    path = folders.run_folder(row, chosen.pk) / SEQUENCES
    if not path.is_file():
        raise _gone()
    return downloads.lines(path, downloads.name_of(row, chosen, "-sequences.jsonl"))


def _scored(request: SignedIn, name: str, pk: int) -> tuple[Benchmark, Run, Result]:
    """The benchmark, its run and the result. Raises NotYours, or Http404 where there is none."""
    row = access.benchmark_for(request.user, name, Benchmark.Kind.CDS)
    chosen = get_object_or_404(row.runs.select_related("release"), pk=pk, state=Run.State.DONE)
    result: Any = pages.result_of(row, chosen)
    if result is None:
        raise Http404
    return row, chosen, result


def _gone() -> Refusal:
    return Refusal(
        "The sequences of this run are not on this server any more. Score the benchmark again."
    )
