"""Pages of a pool's selections."""

from django.http import FileResponse, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods

from evaluation.benchmarks.access import benchmarks_for
from evaluation.benchmarks.forms import add_fault
from evaluation.benchmarks.kind import families
from evaluation.benchmarks.views import FAULTS, create_and_redirect
from evaluation.models import Pool, PoolSelection
from evaluation.pools import choosing, making
from evaluation.pools.choosing import SelectionPlan
from evaluation.pools.forms import SelectedCompetitionForm, SelectionForm
from labeling.campaigns.access import check_may_open, dataset_for
from labeling.models import Job
from labeling.web.api.base import download
from labeling.web.forms.common import refusals_shown, respond_if_valid
from labeling.web.views.shared import SignedIn, key_of, page_of, query_of, report_page

PAGE_SIZE = 25


@require_http_methods(["GET", "POST"])
def selections(request: SignedIn, name: str, pk: int) -> HttpResponse:
    """Render the selections of a pool and the form of a new one, with its plan."""
    pool = making.pool_for(dataset_for(request.user, name), pk)
    data = (request.POST, request.FILES) if request.method == "POST" else ()
    form = SelectionForm(*data, user=request.user, pool=pool)
    plan = None

    def select() -> HttpResponse:
        row = choosing.request(choosing.settings_of(pool, form.cleaned_data), request.user)
        return redirect("evaluation:pool_selection", name, pk, row.pk)

    if form.is_bound:
        check_may_open(request.user)
        if "plan" in request.POST:
            plan = _plan(form, pool)
        elif response := respond_if_valid(form, select):
            return response
    context = {
        "dataset": pool.dataset,
        "pool": pool,
        "form": form,
        "plan": plan,
        "page_obj": page_of(
            request, pool.selections.select_related("job", "created_by"), PAGE_SIZE
        ),
        "query": query_of(request),
    }
    status = 400 if form.errors else 200
    return render(request, "evaluation/selections.html", context, status=status)


def _plan(form: SelectionForm, pool: Pool) -> SelectionPlan | None:
    plan = None
    if form.is_valid():
        with refusals_shown(form):
            plan = choosing.plan(choosing.settings_of(pool, form.cleaned_data))
    # The next step needs the file again.
    form.keep_files()
    return plan


@require_http_methods(["GET", "POST"])
def selection(request: SignedIn, name: str, pk: int, selection: int) -> HttpResponse:
    """Render a selection, what it shares with another one, and the form of a competition."""
    pool = making.pool_for(dataset_for(request.user, name), pk)
    row = choosing.selection_for(pool, selection)
    data = (request.POST, request.FILES) if request.method == "POST" else ()
    form = SelectedCompetitionForm(*data, user=request.user, row=row)
    if form.is_bound:
        check_may_open(request.user)
        if form.is_valid():
            try:
                return create_and_redirect(request, families()["mad"], form)
            except FAULTS as error:
                add_fault(form, error, form.fault_field)
        form.keep_files()
    context = {"dataset": pool.dataset, "pool": pool, "selection": row, "form": form}
    context["benchmarks"] = benchmarks_for(request.user).filter(pool_selection=row).order_by("name")
    if row.file:
        context |= _of_made(request, row)
    ended = row.job.state in Job.ENDED
    page, part = "evaluation/selection.html", "evaluation/_selection.html"
    response = report_page(request, page, part, ended, context)
    response.status_code = 400 if form.errors else 200
    return response


def _of_made(request: SignedIn, row: PoolSelection) -> dict[str, object]:
    """Return the summary, the cost and the comparison of a selection that is made."""
    summary = choosing.summary_of(row)
    others = row.pool.selections.exclude(pk=row.pk).exclude(file="")
    second = others.filter(pk=key_of(request.GET.get("with", "")) or 0).first()
    return {
        "summary": summary,
        "estimate": choosing.estimate(summary.questions),
        "others": others,
        "second": second,
        "overlap": choosing.compare(row, second) if second else None,
    }


@require_GET
def selection_file(request: SignedIn, name: str, pk: int, selection: int) -> FileResponse:
    """Return selection.jsonl."""
    pool = making.pool_for(dataset_for(request.user, name), pk)
    file = choosing.open_file(choosing.selection_for(pool, selection))
    return download(file, f"{name}-selection-{selection}.jsonl", "application/jsonl")
