"""Datasets and their images: for those who own them, or research in a campaign on them."""

from typing import Any

import django_filters
from django.http import FileResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from labeling.campaigns.access import check_may_open, dataset_for
from labeling.datasets import datasets, images, imports
from labeling.db.lookups import get_or_404
from labeling.models import Dataset, Image, Job
from labeling.web.api.base import (
    BaseViewSet,
    BoundedMultiPartParser,
    InDataset,
    StrictJSONParser,
    download,
)
from labeling.web.api.imports import ImportSerializer
from labeling.web.serializers.common import JobSerializer
from labeling.web.serializers.datasets import (
    DatasetSerializer,
    ImageSerializer,
    NewDatasetSerializer,
    NewImagesSerializer,
    ReportSerializer,
)


class DatasetFilters(django_filters.FilterSet):
    class Meta:
        model = Dataset
        fields = {"name": ["exact", "icontains"]}


class DatasetViewSet(BaseViewSet):
    queryset = Dataset.objects.none()
    serializer_class = DatasetSerializer
    filterset_class = DatasetFilters
    ordering = "name"
    lookup_field = "name"
    lookup_value_converter = "slug"

    def list(self, request: Request) -> Response:
        """Datasets that I own, or read as a researcher of a campaign on them."""
        rows = Dataset.objects.visible_to(self.user).select_related("owner")
        return self.paged(rows, DatasetSerializer)

    @extend_schema(request=NewDatasetSerializer, responses={201: DatasetSerializer})
    def create(self, request: Request) -> Response:
        """Return a new, empty dataset."""
        check_may_open(self.user)
        made = datasets.create(self.user, **self.read(NewDatasetSerializer))
        return self.answer(DatasetSerializer, made, 201)

    @extend_schema(responses=DatasetSerializer)
    def retrieve(self, request: Request, name: str) -> Response:
        """Return one dataset."""
        return self.answer(DatasetSerializer, dataset_for(self.user, name))


class ImageFilters(django_filters.FilterSet):
    class Meta:
        model = Image
        fields = {"name": ["exact", "startswith"], "sha256": ["exact"], "licence": ["exact"]}


class ImageViewSet(InDataset):
    queryset = Image.objects.none()
    serializer_class = ImageSerializer
    filterset_class = ImageFilters
    parser_classes = [BoundedMultiPartParser, StrictJSONParser]

    def image(self) -> Image:
        return get_or_404(
            self.dataset.images, "The dataset has no such image.", pk=self.kwargs["pk"]
        )

    def list(self, request: Request, dataset: str) -> Response:
        """Return the dataset's images, in the order in which they came."""
        return self.paged(self.dataset.images.all(), ImageSerializer)

    @extend_schema(
        request=NewImagesSerializer, responses={201: ReportSerializer, 202: ImportSerializer}
    )
    def create(self, request: Request, dataset: str) -> Response:
        """Add images: uploaded files, an uploaded zip, or what lies below the import folder.

        Up to 20 files of together 50 MiB and 100 million pixels are added at once (201, their
        report). Everything else becomes an import (202): ask `imports/<id>/` how far it is. What is
        wrong with one file is said in the report and keeps no other from being added.
        """
        goal = self.dataset
        datasets.check_may_add(self.user, goal)
        body = self.read(NewImagesSerializer)
        details = {"licence": body["licence"], "source": body["source"]}
        against = None
        if body["near"] or "against" in body:
            against = [dataset_for(self.user, name) for name in body.get("against", ())]
        if "path" in body:
            row = imports.of_path(goal, self.user, body["path"], **details, against=against)
            return self.answer(ImportSerializer, row, 202)
        files = _sent(body)
        if against is None and imports.are_small(files):
            report = imports.add_small(goal, files, **details)
            return self.answer(ReportSerializer, report.as_dict(), 201)
        row = imports.of_uploads(goal, self.user, files, **details, against=against)
        return self.answer(ImportSerializer, row, 202)

    @extend_schema(responses=ImageSerializer)
    def retrieve(self, request: Request, dataset: str, pk: int) -> Response:
        """Return one image's particulars."""
        return self.answer(ImageSerializer, self.image())

    @extend_schema(responses={(200, "image/*"): OpenApiTypes.BINARY})
    @action(detail=True, url_name="image-display")
    def display(self, request: Request, dataset: str, pk: int) -> FileResponse:
        """Return the image as annotators see it: upright, without metadata."""
        return _picture(images.open_display(self.image()))

    @extend_schema(responses={(200, "image/*"): OpenApiTypes.BINARY})
    @action(detail=True, url_name="image-thumbnail")
    def thumbnail(self, request: Request, dataset: str, pk: int) -> FileResponse:
        """Return the image, small."""
        return _picture(images.open_thumbnail(self.image()))


def _sent(body: dict[str, Any]) -> list[imports.Sent]:
    if "zip" in body:
        return [imports.Sent(body["zip"].name, body["zip"], True)]
    names = body.get("names") or [file.name for file in body["files"]]
    return [
        imports.Sent(name, file, False) for name, file in zip(names, body["files"], strict=True)
    ]


def _picture(picture: images.Picture) -> FileResponse:
    response = download(picture, "image", picture.media_type)
    response["Content-Disposition"] = "inline"
    return response


class DatasetJobViewSet(BaseViewSet):
    queryset = Job.objects.none()
    serializer_class = JobSerializer
    ordering = "-pk"

    def list(self, request: Request, dataset: str) -> Response:
        """Return the dataset's background work: thumbnails and display images."""
        rows = images.derivative_jobs(dataset_for(self.user, dataset))
        return self.paged(rows, JobSerializer)
