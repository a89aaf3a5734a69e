"""Imports of objects with parts: upload, progress and report."""

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from labeling.campaigns.access import dataset_for
from labeling.datasets import vocabulary_store
from labeling.datasets.datasets import check_may_add, may_add
from labeling.exchange import part_imports
from labeling.models import Dataset, Job
from labeling.reports.objects_page import name_of
from labeling.web.forms.common import refusals_shown, respond_if_valid
from labeling.web.forms.parts import PartsImportForm
from labeling.web.views.shared import SignedIn, page_of, query_of, report_page

PAGE_SIZE = 25


@require_http_methods(["GET", "POST"])
def parts_import(request: SignedIn, name: str) -> HttpResponse:
    """Upload a file of objects with parts; show earlier imports."""
    dataset = dataset_for(request.user, name)
    if request.method == "GET":
        return _imports_page(request, dataset, PartsImportForm(user=request.user))
    check_may_add(request.user, dataset)
    form = PartsImportForm(request.POST, request.FILES, user=request.user)

    def start_import() -> HttpResponse:
        file, format_name = form.cleaned_data["file"], form.cleaned_data["format"]
        job = part_imports.import_upload(
            dataset, request.user, file, format_name=format_name, how=form.how()
        )
        return redirect("labeling:parts_report", dataset.name, job.pk)

    return respond_if_valid(form, start_import) or _imports_page(request, dataset, form)


@require_GET
def parts_report(request: SignedIn, name: str, pk: int) -> HttpResponse:
    """Show one import of parts: progress, failure, or the result of its objects."""
    dataset = dataset_for(request.user, name)
    job = part_imports.job_for(dataset, pk)
    ended = job.state in Job.ENDED
    report = part_imports.report_of(job)
    may_import = may_add(request.user, dataset)
    vocabulary = vocabulary_store.current_vocabulary(dataset)
    context = {
        "dataset": dataset,
        "job": job,
        "ended": ended,
        "report": report,
        "unknown_parts": [
            row | {"of": name_of(vocabulary, row["category"])} for row in report.unknown_parts
        ],
        "may_import": may_import,
        "can_repeat": may_import and ended and part_imports.is_kept(job),
    }
    page, progress = "labeling/parts_report.html", "labeling/_parts_progress.html"
    return report_page(request, page, progress, ended, context)


@require_POST
def parts_again(request: SignedIn, name: str, pk: int) -> HttpResponse:
    """Continue a failed import or repeat a finished one."""
    dataset = dataset_for(request.user, name)
    check_may_add(request.user, dataset)
    job = part_imports.job_for(dataset, pk)
    with refusals_shown(request):
        job = part_imports.continue_import(job, dataset, request.user)
    return redirect("labeling:parts_report", dataset.name, job.pk)


def _imports_page(request: SignedIn, dataset: Dataset, form: PartsImportForm) -> HttpResponse:
    page = page_of(request, part_imports.jobs_of(dataset), PAGE_SIZE)
    context = {
        "dataset": dataset,
        "form": form,
        "page_obj": page,
        "query": query_of(request),
        "rows": [{"job": job, "report": part_imports.report_of(job)} for job in page.object_list],
        "busy": any(job.state not in Job.ENDED for job in page.object_list),
        "vocabulary": vocabulary_store.current(dataset),
        "may_import": may_add(request.user, dataset),
    }
    fragment = "fragment" in request.GET
    template = "labeling/_parts_imports.html" if fragment else "labeling/parts_import.html"
    return render(request, template, context)
