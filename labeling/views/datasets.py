"""Datasets: the list, one with its images, and images coming in."""

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import Count, Q, Sum
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from labeling import datasets as pools
from labeling import images
from labeling.access import check_researcher, dataset_for
from labeling.errors import NotAllowed, NotYours, Refusal, TooLarge
from labeling.forms import DatasetForm, ImportForm, UploadForm, add_refusal
from labeling.images import Report
from labeling.models import Dataset, Job, User
from labeling.views.shared import WATCHERS, SignedIn, page_of, query_of, thumbnail_response

PAGE = 25
TILES = 60


@login_required
@require_GET
def datasets(request: SignedIn) -> HttpResponse:
    """The datasets this person owns or works with."""
    check_researcher(request.user)
    found = (
        Dataset.objects.filter(pk__in=Dataset.objects.visible_to(request.user).values("pk"))
        .select_related("owner")
        .annotate(image_count=Count("images", distinct=True))
        .order_by("name")
    )
    page = page_of(request, found, PAGE)
    context = {"page_obj": page, "query": query_of(request)}
    return render(request, "labeling/datasets.html", context)


@login_required
@require_http_methods(["GET", "POST"])
def dataset_new(request: SignedIn) -> HttpResponse:
    """A new, empty dataset."""
    check_researcher(request.user)
    form = DatasetForm(request.POST or None)
    if form.is_valid():
        try:
            dataset = pools.create(request.user, **form.cleaned_data)
        except Refusal as refusal:
            add_refusal(form, refusal)
        else:
            messages.success(request, "Now add its images.")
            return redirect("labeling:dataset_upload", dataset.name)
    return render(request, "labeling/dataset_new.html", {"form": form})


@login_required
@require_GET
def dataset(request: SignedIn, name: str) -> HttpResponse:
    """The dataset's images as thumbnails, found by name."""
    dataset = dataset_for(request.user, name)
    search = request.GET.get("q", "").strip()[:200]
    found = dataset.images.order_by("name")
    if search:
        found = found.filter(name__icontains=search)
    page = page_of(request, found, TILES)
    waiting = images.derivative_jobs(dataset).exclude(state=Job.State.DONE)
    return render(
        request,
        "labeling/dataset.html",
        {
            "dataset": dataset,
            "totals": dataset.images.aggregate(
                count=Count("pk"),
                bytes=Sum("bytes"),
                unlicensed=Count("pk", filter=Q(licence="")),
            ),
            "licences": dataset.images.exclude(licence="")
            .order_by()
            .values("licence")
            .annotate(count=Count("pk"))
            .order_by("-count")[:5],
            "campaigns": dataset.campaigns.filter(
                memberships__user=request.user,
                memberships__role__in=WATCHERS,
                memberships__left_at=None,
            ),
            "jobs": {
                "waiting": waiting.exclude(state=Job.State.FAILED).count(),
                "failed": list(waiting.filter(state=Job.State.FAILED)[:3]),
            },
            "page_obj": page,
            "query": query_of(request),
            "search": search,
            "may_add": may_add(request.user, dataset),
        },
    )


@login_required
@require_http_methods(["GET", "POST"])
def dataset_upload(request: SignedIn, name: str) -> HttpResponse:
    """Images from this person's machine: files or a zip. The answer is a report of each file."""
    dataset = _own(request, name)
    if request.method == "GET":
        return _upload(request, dataset, UploadForm(), ImportForm())
    form = UploadForm(request.POST, request.FILES)
    try:
        _check_size(request)
        if form.is_valid():
            data = form.cleaned_data
            report = _add(dataset, data["files"], data["licence"], data["source"])
            return _report(request, dataset, report)
    except Refusal as refusal:
        form.add_error("files" if "files" in form.fields else None, refusal.message)
    return _upload(request, dataset, form, ImportForm())


@login_required
@require_POST
def dataset_import(request: SignedIn, name: str) -> HttpResponse:
    """Images that lie on the server, below the one folder that settings name."""
    dataset = _own(request, name)
    form = ImportForm(request.POST)
    if form.is_valid():
        data = form.cleaned_data
        try:
            path = images.import_root_path(data["path"])
            report = images.add_path(dataset, path, licence=data["licence"], source=data["source"])
        except Refusal as refusal:
            form.add_error("path", refusal.message)
        else:
            return _report(request, dataset, report)
    return _upload(request, dataset, UploadForm(), form)


@login_required
@require_GET
def thumbnail(request: SignedIn, name: str, pk: int) -> HttpResponse:
    """A small picture of one image, for those who may see the dataset."""
    dataset = dataset_for(request.user, name)
    image = dataset.images.filter(pk=pk).first()
    if image is None:
        raise NotYours("There is no such image in this dataset.")
    return thumbnail_response(image)


def may_add(user: User, dataset: Dataset) -> bool:
    return user.is_staff or dataset.owner_id == user.pk


def _own(request: SignedIn, name: str) -> Dataset:
    """The dataset, if this person may add to it: its owner, and staff."""
    dataset = dataset_for(request.user, name)
    if not may_add(request.user, dataset):
        raise NotAllowed("Only the dataset's owner adds images. Ask them, or make your own.")
    return dataset


def _check_size(request: SignedIn) -> None:
    size = int(request.META.get("CONTENT_LENGTH") or 0)
    if size > settings.ASSAY_MAX_UPLOAD_BYTES:
        raise TooLarge(
            f"{size:,} bytes came at once; at most {settings.ASSAY_MAX_UPLOAD_BYTES:,} are taken. "
            "Split the images, or have a folder imported on the server.",
            field="files",
        )


def _add(dataset: Dataset, files: list[Any], licence: str, source: str) -> Report:
    """What became of all the files together; a zip counts by what is in it."""
    whole = Report()
    for file in files:
        try:
            if file.name.lower().endswith(".zip"):
                part = images.add_zip(dataset, file, licence=licence, source=source)
                whole.added += part.added
                whole.duplicates += part.duplicates
                whole.refused += part.refused
                continue
            added = images.add_file(dataset, file.name, file, licence=licence, source=source)
        except images.StorageFull:
            raise
        except Refusal as refusal:
            whole.refused.append({"file": file.name, "why": refusal.message})
            continue
        if added.duplicate_of is not None:
            whole.duplicates.append({"file": file.name, "same_as": added.duplicate_of.name})
        else:
            whole.added += 1
    return whole


def _report(request: SignedIn, dataset: Dataset, report: Report) -> HttpResponse:
    context = {"dataset": dataset, "report": report}
    return render(request, "labeling/dataset_report.html", context)


def _upload(
    request: SignedIn, dataset: Dataset, form: UploadForm, import_form: ImportForm
) -> HttpResponse:
    return render(
        request,
        "labeling/dataset_upload.html",
        {
            "dataset": dataset,
            "form": form,
            "import_form": import_form if settings.ASSAY_IMPORT_ROOT else None,
        },
    )
