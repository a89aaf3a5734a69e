"""Pages of benchmarks of every kind, for researchers."""

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import Count, Prefetch
from django.http import (
    Http404,
    HttpResponse,
    HttpResponseBase,
    HttpResponsePermanentRedirect,
    StreamingHttpResponse,
)
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.module_loading import import_string
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from evaluation.benchmarks import access, downloads, pages, runs
from evaluation.benchmarks.forms import NamedForm, SubmissionForm, add_fault
from evaluation.benchmarks.kind import BenchmarkKind, families, kind_of
from evaluation.benchmarks.submissions import missing_frames, missing_notes
from evaluation.benchmarks.undo import BenchmarkUndo
from evaluation.figures import DRAWING, FORMS, THEMES
from evaluation.metrics.wordnet.nouns import WordNetMissing
from evaluation.models import Benchmark, Run
from labeling.campaigns import access as campaign_access
from labeling.errors import Refusal
from labeling.files import BadInput
from labeling.web import attachments
from labeling.web.undo_views import undo_page
from labeling.web.views.shared import SignedIn, query_of

FAULTS = (BadInput, Refusal, WordNetMissing)
FILE_GONE = "This file is no longer on this server. Score the benchmark again."


@require_GET
def benchmarks(request: SignedIn) -> HttpResponse:
    done = Run.objects.filter(state=Run.State.DONE).defer("result")
    rows = (
        access.benchmarks_for(request.user)
        .select_related("campaign__dataset")
        .prefetch_related(Prefetch("runs", done, to_attr="done"), "submissions")
        .annotate(images=Count("selections__image", distinct=True))
        .order_by("-created_at", "-pk")
    )
    is_archive = "archived" in request.GET
    kept = rows.filter(archived_at__isnull=not is_archive)
    page = Paginator(kept, 24).get_page(request.GET.get("page"))
    cards = [(row, kind_of(row), kind_of(row).template("_card")) for row in page]
    archived = access.benchmarks_for(request.user).exclude(archived_at=None)
    context = {
        "page_obj": page,
        "cards": cards,
        "families": families().values(),
        "archived": is_archive,
        "archived_count": archived.count(),
        "query": query_of(request),
    }
    return render(request, "evaluation/benchmarks.html", context)


@require_http_methods(["GET", "POST"])
def new(request: SignedIn, family: str) -> HttpResponse:
    campaign_access.check_may_open(request.user)
    kind = families().get(family)
    if kind is None:
        raise Http404
    data = (request.POST, request.FILES) if request.method == "POST" else ()
    form: NamedForm = import_string(kind.form)(*data, user=request.user, query=request.GET)
    plan, is_checked = None, False
    if form.is_valid():
        try:
            if "create" in request.POST or not kind.has_plan:
                return create_and_redirect(request, kind, form)
            plan, is_checked = kind.plan(**form.create_arguments()), True
        except FAULTS as error:
            add_fault(form, error, form.fault_field)
    if form.is_bound:
        # The second step needs the files again.
        form.keep_files()
    context = {
        "kind": kind,
        "others": [
            alternative for alternative in families().values() if alternative.family != family
        ],
        "form": form,
        "plan": plan,
        "is_checked": is_checked,
        **form.context(),
    }
    return render(request, kind.template("new"), context, status=_status(form))


def create_and_redirect(request: SignedIn, kind: BenchmarkKind, form: NamedForm) -> HttpResponse:
    """Create the benchmark of the form and redirect to it."""
    row = kind.create(request.user, **form.create_arguments())
    form.forget_files()
    messages.success(request, kind.made)
    page = "benchmark" if row.submissions.exists() else "submissions"
    return redirect(f"evaluation:{page}", row.name)


def _status(form: Any) -> int:
    return 422 if form.errors else 200


@require_GET
def benchmark(request: SignedIn, name: str) -> HttpResponse:
    """Show the benchmark with its newest result; to htmx only the part that changed."""
    row = access.benchmark_for(request.user, name)
    now = pages.under_way(row)
    is_htmx = request.headers.get("HX-Request") == "true"
    if is_htmx and request.GET.get("seen") == now.seen:
        # Nothing changed: htmx leaves the page unchanged.
        return HttpResponse(status=204)
    context = pages.benchmark(row, runs.latest(row), request.GET, now) | {"fresh": is_htmx}
    part = "evaluation/_benchmark.html" if is_htmx else "evaluation/benchmark.html"
    return render(request, part, context)


@require_http_methods(["GET", "POST"])
def benchmark_undo(request: SignedIn, name: str) -> HttpResponse:
    """Rename, archive or delete the benchmark."""
    row = access.benchmark_for(request.user, name)
    return undo_page(request, BenchmarkUndo(row, request.user), "evaluation:benchmark")


@require_GET
def run(request: SignedIn, name: str, pk: int) -> HttpResponse:
    row = access.benchmark_for(request.user, name)
    chosen = get_object_or_404(row.runs.select_related("release", "requested_by"), pk=pk)
    return render(request, "evaluation/run.html", pages.benchmark(row, chosen, request.GET))


@require_POST
def score(request: SignedIn, name: str) -> HttpResponse:
    row = access.benchmark_for(request.user, name)
    try:
        runs.score_now(row, request.user)
    except Refusal as refusal:
        messages.error(request, refusal.message)
    else:
        messages.info(request, "Scoring started. The result appears on this page.")
    return redirect("evaluation:benchmark", row.name)


@require_http_methods(["GET", "POST"])
def submissions(request: SignedIn, name: str) -> HttpResponse:
    """Show the submissions, an example file, and the form for a new one."""
    row = access.benchmark_for(request.user, name)
    kind = kind_of(row)
    data = (request.POST, request.FILES) if request.method == "POST" else ()
    form = import_string(kind.submission_form)(*data, user=request.user, benchmark=row)
    if form.is_valid():
        try:
            return _accepted(request, row, kind, form)
        except FAULTS as error:
            add_fault(form, error, form.file_field)
    form.keep_files()
    context = {
        "benchmark": row,
        "campaign": row.campaign,
        "kind": kind,
        "form": form,
        "submissions": list(row.submissions.select_related("submitted_by")),
        "how": kind.template("_submit"),
        **kind.submissions_page(row),
    }
    return render(request, "evaluation/submissions.html", context, status=_status(form))


def _accepted(
    request: SignedIn, row: Benchmark, kind: BenchmarkKind, form: SubmissionForm
) -> HttpResponse:
    path, file_name = form.sent()
    name = form.cleaned_data.get("name", "")
    changed = runs.submit(row, request.user, path, file_name, name)
    form.forget_files()
    if not changed:
        messages.info(request, "The file is already here; nothing changed.")
        return redirect("evaluation:submissions", row.name)
    messages.success(request, kind.accepted(changed))
    for text in missing_notes(missing_frames(row, changed)):
        messages.warning(request, text)
    return redirect("evaluation:benchmark", row.name)


@require_POST
def remove(request: SignedIn, name: str, position: int) -> HttpResponse:
    row = access.benchmark_for(request.user, name)
    text = f"{runs.remove(row, request.user, position)} was removed."
    text += " The others are being scored again." if row.submissions.exists() else ""
    messages.success(request, text)
    return redirect("evaluation:submissions", row.name)


@require_GET
def file(request: SignedIn, name: str, file: str) -> HttpResponseBase:
    """Return one of the files that the kind keeps of a benchmark."""
    row = access.benchmark_for(request.user, name)
    if file not in kind_of(row).files:
        raise Http404
    return downloads.file(kind_of(row).open_file(row, file), f"{row.name}-{file}")


@require_GET
def run_file(request: SignedIn, name: str, pk: int, file: str) -> HttpResponseBase:
    """Return one of the files that the kind keeps of a run."""
    row, chosen = _scored(request, name, pk)
    kind = kind_of(row)
    if file not in kind.run_files:
        raise Http404
    access.check_images(row)
    path = kind.run_path(chosen, file)
    if not path.is_file():
        raise kind.gone(FILE_GONE)
    return downloads.file(path.open("rb"), kind.run_file_name(chosen, file))


@require_GET
def result_json(request: SignedIn, name: str, pk: int) -> HttpResponseBase:
    row, chosen = _scored(request, name, pk)
    content = kind_of(row).result_json(row, chosen)
    file_name = downloads.name_of(row, chosen, ".json")
    if isinstance(content, str):
        return attachments.text(content, "application/json", file_name)
    return attachments.as_attachment(
        StreamingHttpResponse(content, content_type="application/json"), file_name
    )


@require_GET
def result_csv(request: SignedIn, name: str, pk: int, table: str) -> HttpResponse:
    row, chosen = _scored(request, name, pk)
    kind = kind_of(row)
    result_table, result = kind.table_of(table), kind.result_of(row, chosen)
    if result_table is None or result is None:
        raise Http404
    head, rows = result_table.content(result)
    return attachments.csv([head, *rows], downloads.name_of(row, chosen, f"-{table}.csv"))


@require_GET
def figure(request: SignedIn, name: str, pk: int, figure: str, form: str) -> HttpResponse:
    row, chosen = _scored(request, name, pk)
    kind, theme = kind_of(row), request.GET.get("theme", "light")
    result = kind.result_of(row, chosen)
    if result is None or form not in FORMS or theme not in THEMES:
        raise Http404
    if figure not in kind.figures(result):
        raise Http404
    with DRAWING:
        content = kind.draw(figure, result, form, theme, request.GET)
    return downloads.figure(request, row, chosen, figure, form, content)


def _scored(request: SignedIn, name: str, pk: int) -> tuple[Benchmark, Run]:
    """Return the benchmark and its finished run. Raises NotYours, or Http404."""
    row = access.benchmark_for(request.user, name)
    done = row.runs.filter(state=Run.State.DONE).select_related("release")
    chosen = get_object_or_404(done, pk=pk)
    # Already loaded for the access check, with its campaign and release.
    chosen.benchmark = row
    return row, chosen


def moved(name: str, *methods: str, **fixed: Any) -> Callable[..., HttpResponseBase]:
    """Return a view that redirects an address of an earlier version to the page `name`.

    The user must have access. GET gets 301; other methods get 308, so that the form is sent again.
    """

    @require_http_methods(list(methods or ("GET", "POST")))
    def old(request: SignedIn, **parts: Any) -> HttpResponse:
        if "name" in parts:
            access.benchmark_for(request.user, parts["name"])
        else:
            campaign_access.check_may_open(request.user)
        query = f"?{request.GET.urlencode()}" if request.GET else ""
        goal = reverse(f"evaluation:{name}", kwargs=fixed | parts) + query
        return HttpResponsePermanentRedirect(goal, preserve_request=request.method != "GET")

    return old
