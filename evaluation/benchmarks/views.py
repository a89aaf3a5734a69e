"""The researcher's pages about benchmarks: read, call one action, render."""

from typing import Protocol

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db.models import Count, Prefetch
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from evaluation.benchmarks import access, downloads, forms, pages, runs, truth_campaigns
from evaluation.benchmarks.kinds.cds import result_views as cds_results
from evaluation.benchmarks.kinds.labeled import result_views as released_results
from evaluation.benchmarks.kinds.labeled import wording as released
from evaluation.benchmarks.kinds.mad import competitions, views
from evaluation.benchmarks.kinds.mad import gallery as galleries
from evaluation.metrics.wordnet import nouns
from evaluation.models import Benchmark, Run
from evaluation.readers import selections
from labeling.campaigns import access as campaign_access
from labeling.errors import Refusal
from labeling.files import BadInput
from labeling.plurals import count_of
from labeling.releases import freezing
from labeling.web.views.shared import SignedIn, key_of

GALLERY_PAGE = 60
MAD = Benchmark.Kind.MAD


class ResultPages(Protocol):
    """The pages and files of a result; a module for each kind of benchmark."""

    def benchmark(self, request: HttpRequest, row: Benchmark, /) -> HttpResponse:
        """The benchmark's page with its newest result; to htmx only what moved."""

    def run(self, request: HttpRequest, row: Benchmark, chosen: Run, /) -> HttpResponse:
        """The page of one run, whatever its state."""

    def result_json(self, row: Benchmark, chosen: Run, /) -> HttpResponseBase:
        """The whole result of a run that is done."""

    def result_csv(self, row: Benchmark, chosen: Run, table: str, /) -> HttpResponse:
        """One of its tables. Raises Http404 for a name that there is none of."""

    def figure(
        self, request: HttpRequest, row: Benchmark, chosen: Run, name: str, form: str, /
    ) -> HttpResponse:
        """One of its figures as SVG or PNG. Raises Http404 for a name that there is none of."""


RESULT_PAGES: dict[str, ResultPages] = {
    Benchmark.Kind.MAD: views,
    Benchmark.Kind.CDS: cds_results,
    **dict.fromkeys(released.KINDS, released_results),
}


@login_required
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
    page = Paginator(rows, 24).get_page(request.GET.get("page"))
    return render(request, "evaluation/benchmarks.html", {"page_obj": page})


@login_required
@require_http_methods(["GET", "POST"])
def benchmark_new(request: SignedIn) -> HttpResponse:
    campaign_access.check_may_open(request.user)
    data = (request.POST, request.FILES) if request.method == "POST" else ()
    # Filled in by New campaign, when it is given a selection.
    words = {key: request.GET[key] for key in forms.HANDED_OVER if key in request.GET}
    form = forms.BenchmarkForm(*data, user=request.user, initial=words)
    if not form.is_bound:
        form.offer_files(request.GET)
    plan = None
    if form.is_valid():
        try:
            plan, made = _planned_or_made(request, form)
        except (Refusal, BadInput, nouns.WordNetMissing) as error:
            forms.add_fault(form, error, "selection")
        else:
            if made is not None:
                form.forget_files()
                messages.success(
                    request, "The benchmark is made. Nobody is asked until you open its campaign."
                )
                return redirect("evaluation:benchmark", made.name)
    if form.is_bound:
        # The second step needs them again.
        form.keep_files()
    status = 200 if not form.errors else 422
    return render(
        request, "evaluation/benchmark_new.html", {"form": form, "plan": plan}, status=status
    )


def _planned_or_made(
    request: SignedIn, form: forms.BenchmarkForm
) -> tuple[competitions.Plan, Benchmark | None]:
    net = nouns.load()
    data = form.cleaned_data
    lines = selections.read(form.path("selection"), net, data["selection"].name)
    plan = competitions.plan(lines, data["dataset"], form.policy())
    if "create" not in request.POST:
        return plan, None
    made = competitions.create(
        request.user,
        name=data["name"],
        title=data["title"],
        dataset=data["dataset"],
        lines=lines,
        wordnet=net,
        policy=form.policy(),
        instructions=data["instructions"],
        vocabulary=data["vocabulary"],
        settings=form.settings(),
    )
    return plan, made


@login_required
@require_GET
def benchmark(request: SignedIn, name: str) -> HttpResponse:
    row = access.benchmark_for(request.user, name)
    return RESULT_PAGES[row.kind].benchmark(request, row)


@login_required
@require_GET
def run(request: SignedIn, name: str, pk: int) -> HttpResponse:
    row = access.benchmark_for(request.user, name)
    chosen = get_object_or_404(row.runs.select_related("release", "requested_by"), pk=pk)
    return RESULT_PAGES[row.kind].run(request, row, chosen)


@login_required
@require_POST
def score(request: SignedIn, name: str) -> HttpResponse:
    row = access.benchmark_for(request.user, name)
    try:
        runs.score_now(row, request.user)
    except Refusal as refusal:
        messages.error(request, refusal.message)
    else:
        messages.info(request, "Scoring: this page shows the result as soon as it is there.")
    return redirect("evaluation:benchmark", row.name)


@login_required
@require_http_methods(["GET", "POST"])
def add_classifier(request: SignedIn, name: str) -> HttpResponse:
    row = access.benchmark_for(request.user, name, MAD)
    data = (request.POST, request.FILES) if request.method == "POST" else ()
    form = forms.JoinForm(*data, user=request.user)
    if form.is_valid():
        try:
            net = nouns.load()
            name = form.cleaned_data["selection"].name
            lines = selections.read(form.path("selection"), net, name)
            joined = competitions.add_classifier(row, request.user, lines, net)
        except (Refusal, BadInput, nouns.WordNetMissing) as error:
            forms.add_fault(form, error, "selection")
        else:
            form.forget_files()
            said = f"Joined: {', '.join(joined)}. Only the new pairs are asked."
            messages.success(request, said if joined else "Everything in the file is here already.")
            return redirect("evaluation:benchmark", row.name)
    form.keep_files()
    status = 200 if not form.errors else 422
    context = {"form": form, "benchmark": row}
    return render(request, "evaluation/add_classifier.html", context, status=status)


@login_required
@require_http_methods(["GET", "POST"])
def accuracies(request: SignedIn, name: str) -> HttpResponse:
    row = access.benchmark_for(request.user, name, MAD)
    data = (request.POST, request.FILES) if request.method == "POST" else ()
    form = forms.AccuracyForm(*data, user=request.user, benchmark=row)
    if form.is_valid():
        try:
            changed = competitions.set_accuracies(row, form.accuracies())
        except Refusal as error:
            forms.add_fault(form, error, "file")
        else:
            form.forget_files()
            if changed:
                if not runs.obstacle(row):
                    runs.request(row, request.user)
                messages.success(request, "Kept. The comparison comes with the next score.")
            return redirect("evaluation:benchmark", row.name)
    form.keep_files()
    status = 200 if not form.errors else 422
    context = {"form": form, "benchmark": row}
    return render(request, "evaluation/accuracies.html", context, status=status)


@login_required
@require_GET
def gallery(request: SignedIn, name: str, first: int, second: int) -> HttpResponse:
    row = access.benchmark_for(request.user, name, MAD)
    a = get_object_or_404(row.submissions, position=first)
    b = get_object_or_404(row.submissions, position=second)
    found = galleries.entries(row, a, b)
    if not found and galleries.entries(row, b, a):
        return redirect("evaluation:gallery", row.name, second, first)
    case = request.GET.get("case", "")
    shown = [entry for entry in found if entry.case == case] if case else found
    context = {
        "benchmark": row,
        "first": a,
        "second": b,
        "case": case,
        "counts": galleries.counts(found),
        "total": len(found),
        "page_obj": Paginator(shown, GALLERY_PAGE).get_page(request.GET.get("page")),
        "query": f"case={case}" if case in galleries.CASES else "",
        "unasked": sum(e.case == "III" and not e.asked_for_truth for e in found),
        "neighbours": pages.neighbours(row, a, b),
    }
    return render(request, "evaluation/gallery.html", context)


@login_required
@require_POST
def true_labels(request: SignedIn, name: str) -> HttpResponse:
    """Asks for the true label of one line's image, or of a whole pair's."""
    row = access.benchmark_for(request.user, name, MAD)
    wanted = row.selections.filter(state="chosen").select_related("first", "second")
    if (selection := key_of(request.POST.get("selection", ""))) is not None:
        lines = list(wanted.filter(pk=selection))
    else:
        first, second = (key_of(request.POST.get(key, "")) for key in ("first", "second"))
        if first is None or second is None:
            raise Refusal("Name the image or the pair to ask about.", field="selection")
        lines = list(wanted.filter(first__position=first, second__position=second))
        lines = truth_campaigns.both_wrong(row, lines)
    if not lines:
        raise Refusal("There is no such image here on which both classifiers were wrong.")
    naming = truth_campaigns.ask_true_label(row, request.user, lines, nouns.load())
    messages.success(
        request,
        f"{count_of(len(lines), 'image')}: people are asked for the true label "
        f"in “{naming.title}”.",
    )
    return redirect(
        "evaluation:gallery", row.name, lines[0].first.position, lines[0].second.position
    )


@login_required
@require_GET
def selection(request: SignedIn, name: str) -> HttpResponse:
    row = access.benchmark_for(request.user, name, MAD)
    text = "".join(competitions.selection_of(row).text_lines())
    return downloads.text(text, "application/jsonl", f"{row.name}-selection.jsonl")


@login_required
@require_GET
def result_json(request: SignedIn, name: str, pk: int) -> HttpResponseBase:
    row = access.benchmark_for(request.user, name)
    return RESULT_PAGES[row.kind].result_json(row, _run_with_result(row, pk))


@login_required
@require_GET
def result_csv(request: SignedIn, name: str, pk: int, table: str) -> HttpResponse:
    row = access.benchmark_for(request.user, name)
    return RESULT_PAGES[row.kind].result_csv(row, _run_with_result(row, pk), table)


@login_required
@require_GET
def answers(request: SignedIn, name: str, pk: int) -> HttpResponseBase:
    chosen = _run_with_result(access.benchmark_for(request.user, name, MAD), pk)
    if chosen.release is None:
        raise Http404
    path = freezing.folder_of(chosen.release) / "answers.jsonl"
    if not path.is_file():
        raise Http404
    return downloads.lines(path, f"{name}-release-{chosen.release.number}-answers.jsonl")


@login_required
@require_GET
def figure(request: SignedIn, name: str, pk: int, figure: str, form: str) -> HttpResponse:
    row = access.benchmark_for(request.user, name)
    chosen = _run_with_result(row, pk)
    return RESULT_PAGES[row.kind].figure(request, row, chosen, figure, form)


def _run_with_result(row: Benchmark, pk: int) -> Run:
    return get_object_or_404(row.runs.select_related("release"), pk=pk, state=Run.State.DONE)
