"""Datasets and their images, for owners and for researchers of campaigns on them."""

from typing import Any

import django_filters
from django.http import FileResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from labeling.campaigns.access import check_may_open, dataset_for
from labeling.datasets import datasets, image_ranks, images, imports
from labeling.db.lookups import get_or_404
from labeling.models import Dataset, Image, Job
from labeling.removal import privacy
from labeling.removal.undo import DatasetUndo, ImageUndo
from labeling.reports import image_browser, image_page
from labeling.web.api.base import (
    BaseViewSet,
    BoundedMultiPartParser,
    InDataset,
    StrictJSONParser,
    download,
)
from labeling.web.api.imports import ImportSerializer
from labeling.web.api.undo import (
    CONFIRM,
    ArchiveFilters,
    NewNameSerializer,
    RemovalSerializer,
    RemovedSerializer,
    TombstoneSerializer,
    UndoActions,
    delete,
)
from labeling.web.serializers.common import JobSerializer
from labeling.web.serializers.datasets import (
    DatasetSerializer,
    ImageFactsSerializer,
    ImageFilterSerializer,
    ImagePageSerializer,
    ImageSerializer,
    NewDatasetSerializer,
    NewImagesSerializer,
    ReportSerializer,
)


class DatasetFilters(ArchiveFilters):
    class Meta:
        model = Dataset
        fields = {"name": ["exact", "icontains"]}


class DatasetViewSet(UndoActions):
    queryset = Dataset.objects.none()
    serializer_class = DatasetSerializer
    filterset_class = DatasetFilters
    ordering = "name"
    ordering_fields = ("created_at",)
    lookup_field = "name"
    lookup_value_converter = "slug"

    def undo_of(self, name: str) -> DatasetUndo:
        dataset = dataset_for(self.user, name)
        datasets.check_may_add(self.user, dataset)
        return DatasetUndo(dataset, self.user)

    def list(self, request: Request) -> Response:
        """Return the datasets that the user owns or uses as a researcher."""
        rows = Dataset.objects.visible_to(self.user).select_related("owner")
        return self.paged(self.listed_rows(rows), DatasetSerializer)

    @extend_schema(request=NewDatasetSerializer, responses={201: DatasetSerializer})
    def create(self, request: Request) -> Response:
        """Create an empty dataset."""
        check_may_open(self.user)
        made = datasets.create(self.user, **self.read(NewDatasetSerializer))
        return self.answer(DatasetSerializer, made, 201)

    @extend_schema(request=NewNameSerializer, responses={204: None})
    @action(["post"], detail=True)
    def rename(  # type: ignore[override]
        self, request: Request, name: str
    ) -> Response:
        """Change its name, which is part of its address."""
        self.undo_of(name).rename(**self.read(NewNameSerializer))
        return Response(status=204)

    @extend_schema(responses=TombstoneSerializer(many=True))
    @action(detail=True)
    def tombstones(self, request: Request, name: str) -> Response:
        """Return keyed hashes of images removed for privacy, for the dataset's owner."""
        rows = self.undo_of(name).row.tombstones.order_by("-pk")
        return Response(TombstoneSerializer(rows, many=True).data)

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
        """Return the dataset's images in the order of their import."""
        return self.paged(self.dataset.images.all(), ImageSerializer)

    @extend_schema(
        request=NewImagesSerializer, responses={201: ReportSerializer, 202: ImportSerializer}
    )
    def create(self, request: Request, dataset: str) -> Response:
        """Add images: uploaded files, an uploaded zip, or a path in the import folder.

        Up to 20 files with a total of 50 MiB and 100 million pixels are added immediately (201,
        with a report). Anything larger becomes an import (202): poll `imports/<id>/`. The report
        lists faulty files; the others are added.
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

    @extend_schema(responses=ImageFactsSerializer)
    def retrieve(self, request: Request, dataset: str, pk: int) -> Response:
        """Return one image with its labels, votes, objects and uses, as on its page."""
        image: Any = self.image()
        campaigns = image_browser.watched_campaigns(self.user, image.dataset)
        image.facts = image_page.facts(self.user, image, campaigns)
        return self.answer(ImageFactsSerializer, image)

    @extend_schema(parameters=[ImageFilterSerializer], responses=ImagePageSerializer)
    @action(detail=False, pagination_class=None, filterset_class=None)
    def browse(self, request: Request, dataset: str) -> Response:
        """Return up to 60 images by what people said about them, as on the page of images."""
        query = ImageFilterSerializer(data=request.query_params.dict())
        query.is_valid(raise_exception=True)
        chosen = dict(query.validated_data)
        after = chosen.pop("after", None)
        filtered = image_browser.ImageFilter(**chosen)
        campaigns = image_browser.watched_campaigns(self.user, self.dataset)
        predictions = image_browser.predictions_on(self.user, self.dataset)
        browser = image_browser.Browser(self.dataset, filtered, campaigns, predictions)
        if browser.order.is_stored:
            image_ranks.enqueue_sort(self.dataset)
        return self.answer(ImagePageSerializer, browser.page(after=after))

    @extend_schema(parameters=[CONFIRM], responses={204: None})
    def destroy(self, request: Request, dataset: str, pk: int) -> Response:
        """Delete an image that no campaign has asked about. `confirm` repeats its name."""
        image = self.image()
        datasets.check_may_add(self.user, image.dataset)
        delete(ImageUndo(image, self.user), request)
        return Response(status=204)

    @extend_schema(request=RemovalSerializer, responses=RemovedSerializer)
    @action(["post"], detail=True, url_path="remove-pixels", url_name="image-remove-pixels")
    def remove_pixels(self, request: Request, dataset: str, pk: int) -> Response:
        """Remove the image's pixels everywhere, for privacy. `typed` repeats its name."""
        image = self.image()
        datasets.check_may_add(self.user, image.dataset)
        published = privacy.remove(image, self.user, **self.read(RemovalSerializer))
        return self.answer(RemovedSerializer, {"published": published})

    @extend_schema(responses={(200, "image/*"): OpenApiTypes.BINARY})
    @action(detail=True, url_name="image-display")
    def display(self, request: Request, dataset: str, pk: int) -> FileResponse:
        """Return the image as shown to annotators: upright, without metadata."""
        return _picture(images.open_display(self.image()))

    @extend_schema(responses={(200, "image/*"): OpenApiTypes.BINARY})
    @action(detail=True, url_name="image-thumbnail")
    def thumbnail(self, request: Request, dataset: str, pk: int) -> FileResponse:
        """Return the thumbnail of the image."""
        return _picture(images.open_thumbnail(self.image()))


def _sent(body: dict[str, Any]) -> list[imports.NamedUpload]:
    if "zip" in body:
        return [imports.NamedUpload(body["zip"].name, body["zip"], True)]
    names = body.get("names") or [file.name for file in body["files"]]
    return [
        imports.NamedUpload(name, file, False)
        for name, file in zip(names, body["files"], strict=True)
    ]


def _picture(picture: images.OpenPicture) -> FileResponse:
    response = download(picture, "image", picture.media_type)
    response["Content-Disposition"] = "inline"
    return response


class DatasetJobViewSet(BaseViewSet):
    queryset = Job.objects.none()
    serializer_class = JobSerializer
    ordering = "-pk"

    def list(self, request: Request, dataset: str) -> Response:
        """Return the dataset's background jobs: thumbnails and display images."""
        rows = images.derivative_jobs(dataset_for(self.user, dataset))
        return self.paged(rows, JobSerializer)
