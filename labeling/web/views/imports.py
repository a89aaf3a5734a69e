"""Image imports: a few files immediately, many by a job with progress and report."""

from datetime import timedelta
from typing import TypeVar

from django.conf import settings
from django.db.models import Q, QuerySet
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from labeling.campaigns.access import dataset_for
from labeling.datasets import imports
from labeling.datasets.datasets import check_may_add, may_add
from labeling.errors import Refusal, TooLarge
from labeling.models import Dataset, Import, Job
from labeling.web.forms.common import refusals_shown, respond_if_valid
from labeling.web.forms.datasets import ImportForm, UploadForm
from labeling.web.views.shared import SignedIn, page_of, query_of, report_page

PAGE_SIZE = 25
RECENT = timedelta(days=1)
RECENT_SHOWN = 5
Form = TypeVar("Form", UploadForm, ImportForm)


@require_http_methods(["GET", "POST"])
def dataset_upload(request: SignedIn, name: str) -> HttpResponse:
    """Upload images: a few are added immediately, more by an import."""
    dataset = _own_dataset(request, name)
    if request.method == "GET":
        return _upload(request, dataset, _unbound_form(UploadForm, request, dataset), None)
    form = UploadForm(request.POST, request.FILES, user=request.user, dataset=dataset)
    try:
        _check_size(request)
        if form.is_valid():
            return _import_files(request, dataset, form)
    except Refusal as refusal:
        form.add_error("files" if "files" in form.fields else None, refusal.message)
    form.keep_files()
    return _upload(request, dataset, form, None)


@require_POST
def dataset_import(request: SignedIn, name: str) -> HttpResponse:
    """Import images from the server's import folder."""
    dataset = _own_dataset(request, name)
    form = ImportForm(request.POST, user=request.user, dataset=dataset)

    def start_import() -> HttpResponse:
        path = form.cleaned_data["path"]
        row = imports.of_path(dataset, request.user, path, **form.import_options())
        return redirect("labeling:import_report", dataset.name, row.pk)

    fresh = _unbound_form(UploadForm, request, dataset)
    return respond_if_valid(form, start_import) or _upload(request, dataset, fresh, form)


@require_GET
def dataset_imports(request: SignedIn, name: str) -> HttpResponse:
    """Show the dataset's imports, the newest first; as a fragment, those on the dataset page."""
    dataset = dataset_for(request.user, name)
    context = {"dataset": dataset, "may_add": may_add(request.user, dataset)}
    if "fragment" in request.GET:
        context |= {"imports": imports_shown(dataset)}
        return render(request, "labeling/_imports.html", context)
    page = page_of(request, _with_jobs(dataset), PAGE_SIZE)
    context |= {"page_obj": page, "imports": page.object_list, "query": query_of(request)}
    return render(request, "labeling/imports.html", context)


@require_GET
def import_report(request: SignedIn, name: str, pk: int) -> HttpResponse:
    """Show one import: progress, failure, or the result of each file."""
    dataset = dataset_for(request.user, name)
    row = imports.import_for(dataset, pk)
    ended = row.job.state in Job.ENDED
    context = {
        "dataset": dataset,
        "import": row,
        "job": row.job,
        "ended": ended,
        "report": imports.report_of(row),
        "may_add": may_add(request.user, dataset),
    }
    page, progress = "labeling/dataset_report.html", "labeling/_import_progress.html"
    return report_page(request, page, progress, ended, context)


@require_POST
def import_retry(request: SignedIn, name: str, pk: int) -> HttpResponse:
    """Retry a failed import."""
    row = imports.import_for(_own_dataset(request, name), pk)
    with refusals_shown(request):
        imports.retry(row, request.user)
    return redirect("labeling:import_report", name, pk)


def imports_shown(dataset: Dataset) -> list[Import]:
    """Return the imports for the dataset page: unfinished, failed, and of the last 24 hours."""
    since = timezone.now() - RECENT
    recent = Q(created_at__gte=since) | ~Q(job__state=Job.State.DONE)
    return list(_with_jobs(dataset).filter(recent)[:RECENT_SHOWN])


def _with_jobs(dataset: Dataset) -> QuerySet[Import]:
    rows = dataset.imports.select_related("job", "created_by")
    return rows.defer("report", "uploads").order_by("-pk")


def _own_dataset(request: SignedIn, name: str) -> Dataset:
    """Return the dataset, if the user owns it or is staff."""
    dataset = dataset_for(request.user, name)
    check_may_add(request.user, dataset)
    return dataset


def _check_size(request: SignedIn) -> None:
    size = int(request.META.get("CONTENT_LENGTH") or 0)
    if size > settings.ASSAY_MAX_UPLOAD_BYTES:
        raise TooLarge(
            f"{size:,} bytes were sent; the limit per request is "
            f"{settings.ASSAY_MAX_UPLOAD_BYTES:,}. Split the images, or import a folder on the "
            "server.",
            field="files",
        )


def _import_files(request: SignedIn, dataset: Dataset, form: UploadForm) -> HttpResponse:
    """Return the report of a few files, or a redirect to the import of many."""
    data = form.cleaned_data
    files = [
        imports.NamedUpload(file.name, file, file.name.lower().endswith(".zip"))
        for file in data["files"]
    ]
    options = form.import_options()
    # A job does comparisons, because the datasets may have many images.
    if options["against"] is None and imports.are_small(files):
        words = options["licence"], options["source"]
        report = imports.add_small(dataset, files, licence=words[0], source=words[1])
        form.forget_files()
        context = {"dataset": dataset, "report": report, "ended": True, "may_add": True}
        return render(request, "labeling/dataset_report.html", context)
    row = imports.of_uploads(dataset, request.user, files, **options)
    form.forget_files()
    return redirect("labeling:import_report", dataset.name, row.pk)


def _unbound_form(kind: type[Form], request: SignedIn, dataset: Dataset) -> Form:
    return kind(user=request.user, dataset=dataset)


def _upload(
    request: SignedIn, dataset: Dataset, form: UploadForm, import_form: ImportForm | None
) -> HttpResponse:
    import_form = import_form or _unbound_form(ImportForm, request, dataset)
    return render(
        request,
        "labeling/dataset_upload.html",
        {
            "dataset": dataset,
            "form": form,
            "import_form": import_form if settings.ASSAY_IMPORT_ROOT else None,
        },
    )
