"""Datasets: the list, and one dataset with its images."""

from django.db.models import Count, Q, Sum
from django.http import HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET, require_http_methods

from labeling.campaigns.access import check_may_open, check_researches, dataset_for
from labeling.datasets import candidates, images
from labeling.datasets import datasets as pools
from labeling.db.cached import cached
from labeling.db.lookups import get_or_404
from labeling.models import Dataset, GivenLabel, Job
from labeling.web import attachments
from labeling.web.forms.common import respond_if_valid
from labeling.web.forms.datasets import DatasetForm
from labeling.web.views.imports import imports_shown
from labeling.web.views.shared import (
    WATCHERS,
    SignedIn,
    done,
    page_of,
    query_of,
    thumbnail_response,
)

PAGE_SIZE = 25
TILES = 60


@require_GET
def datasets(request: SignedIn) -> HttpResponse:
    """Show the datasets that this user owns or works with."""
    check_researches(request.user)
    rows = (
        Dataset.objects.filter(pk__in=Dataset.objects.visible_to(request.user).values("pk"))
        .select_related("owner")
        .annotate(image_count=Count("images", distinct=True))
        .order_by("name")
    )
    is_archive = "archived" in request.GET
    page = page_of(request, rows.filter(archived_at__isnull=not is_archive), PAGE_SIZE)
    archived = Dataset.objects.visible_to(request.user).exclude(archived_at=None)
    context = {
        "page_obj": page,
        "query": query_of(request),
        "archived": is_archive,
        "archived_count": archived.count(),
    }
    return render(request, "labeling/datasets.html", context)


@require_http_methods(["GET", "POST"])
def dataset_new(request: SignedIn) -> HttpResponse:
    """Create an empty dataset."""
    check_may_open(request.user)
    form = DatasetForm(request.POST or None)

    def create() -> HttpResponse:
        dataset = pools.create(request.user, **form.cleaned_data)
        return done(request, "Dataset created. Now add images.", "dataset_upload", dataset.name)

    return respond_if_valid(form, create) or render(
        request, "labeling/dataset_new.html", {"form": form}
    )


@require_GET
def dataset(request: SignedIn, name: str) -> HttpResponse:
    """Show the dataset's totals, its imports and its first images."""
    dataset = dataset_for(request.user, name)
    recent_imports = imports_shown(dataset)
    waiting = images.derivative_jobs(dataset).exclude(state=Job.State.DONE)
    return render(
        request,
        "labeling/dataset.html",
        {
            "dataset": dataset,
            **cached(f"dataset-totals-{dataset.pk}", lambda: _totals(dataset)),
            "campaigns": dataset.campaigns.filter(
                memberships__user=request.user,
                memberships__role__in=WATCHERS,
                memberships__left_at=None,
            ),
            "jobs": {
                "waiting": waiting.exclude(state=Job.State.FAILED).count(),
                "failed": list(waiting.filter(state=Job.State.FAILED)[:3]),
            },
            "images": dataset.images.order_by("name")[:TILES],
            "has_candidates": candidates.has_any(dataset),
            "may_add": pools.may_add(request.user, dataset),
            "imports": recent_imports,
            "importing": any(row.job.state not in Job.ENDED for row in recent_imports),
        },
    )


def _totals(dataset: Dataset) -> dict[str, object]:
    licences = dataset.images.exclude(licence="").order_by().values("licence")
    return {
        "totals": dataset.images.aggregate(
            count=Count("pk"), bytes=Sum("bytes"), unlicensed=Count("pk", filter=Q(licence=""))
        ),
        "licences": list(licences.annotate(count=Count("pk")).order_by("-count")[:5]),
        "known": GivenLabel.objects.filter(item__image__dataset=dataset).count(),
    }


@require_GET
def candidates_csv(request: SignedIn, name: str) -> HttpResponseBase:
    """Download the queries of each image, for a campaign on candidates."""
    dataset = dataset_for(request.user, name)
    lines = candidates.lines(candidates.rows(dataset))
    response = StreamingHttpResponse(lines, content_type=attachments.CSV)
    return attachments.as_attachment(response, f"{dataset.name}-candidates.csv")


@require_GET
def thumbnail(request: SignedIn, name: str, pk: int) -> HttpResponse:
    """Return the thumbnail of an image, for users who may see the dataset."""
    dataset = dataset_for(request.user, name)
    image = get_or_404(dataset.images, "There is no such image in this dataset.", pk=pk)
    return thumbnail_response(image)
