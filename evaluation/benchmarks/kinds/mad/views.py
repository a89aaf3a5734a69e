"""Pages and files of a MAD competition's result, after the checks of benchmarks/views.py."""

import json

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from evaluation.benchmarks import downloads, figures, pages, runs, tables
from evaluation.models import Benchmark, Run


def benchmark(request: HttpRequest, row: Benchmark) -> HttpResponse:
    """The benchmark's page with its newest result; to htmx only what moved."""
    context = pages.benchmark(row, runs.latest(row))
    is_htmx = request.headers.get("HX-Request") == "true"
    if is_htmx and request.GET.get("seen") == context["seen"]:
        # Nothing moved: htmx leaves the page as it is.
        return HttpResponse(status=204)
    part = "evaluation/_benchmark.html" if is_htmx else "evaluation/benchmark.html"
    return render(request, part, context | {"fresh": is_htmx})


def run(request: HttpRequest, row: Benchmark, chosen: Run) -> HttpResponse:
    return render(request, "evaluation/run.html", pages.benchmark(row, chosen))


def result_json(row: Benchmark, chosen: Run) -> HttpResponse:
    text = json.dumps(chosen.result, ensure_ascii=False, indent=1) + "\n"
    return downloads.text(text, "application/json", downloads.name_of(row, chosen, ".json"))


def result_csv(row: Benchmark, chosen: Run, table: str) -> HttpResponse:
    if table not in tables.TABLES or chosen.result is None:
        raise Http404
    return downloads.csv(row, chosen, table, *tables.table(table, chosen.result))


def figure(request: HttpRequest, row: Benchmark, chosen: Run, name: str, form: str) -> HttpResponse:
    theme = request.GET.get("theme", "light")
    known = name in figures.FIGURES and form in figures.FORMS and theme in figures.THEMES
    if not known or chosen.result is None:
        raise Http404
    content = figures.draw(name, chosen.result, form, theme)
    return downloads.figure(request, row, chosen, name, form, content)
