"""Export of a release's labels and import of known labels into a dataset."""

from typing import Any

from django.http.response import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.request import Request
from rest_framework.response import Response

from labeling.campaigns.access import RESEARCHER, dataset_for
from labeling.datasets.datasets import check_may_add
from labeling.exchange import export_files, label_files
from labeling.exchange.prior_labels import LabelImportResult
from labeling.formats.label import NAMES
from labeling.formats.label_studio_project import MAX_BASE_LENGTH
from labeling.models import GivenLabel, Job, Release
from labeling.release_files import exporting
from labeling.releases import freezing
from labeling.web.api.base import (
    MIB,
    BaseViewSet,
    Body,
    BoundedMultiPartParser,
    CampaignViewSet,
    download,
)
from labeling.web.forms.labels import KnownLabelsForm
from labeling.web.serializers.common import JobSerializer, Plain
from labeling.web.serializers.derived import FormBody, rows_of

WAIT_SECONDS = "2"


# Formats of labels and of objects with parts; a release's kind determines which it has.
OUT = [*exporting.ALL_NAMES, exporting.PUBLISHED]


NAMES_HELP = "coco: unique names for categories (cat head), or plain ones (head, for every class)."
REST_HELP = "coco of objects with parts: include areas that no part covers."
IMAGES_HELP = "huggingface: include the photographs."
BASE_HELP = (
    "label-studio: address of the folder of images, such as https://host/images/ or "
    "s3://bucket/folder/. By default Label Studio's local storage."
)


class LabelFormatSerializer(Body):
    format = serializers.ChoiceField(OUT, default="csv")
    names = serializers.ChoiceField(NAMES, default=exporting.DEFAULT.names, help_text=NAMES_HELP)
    rest = serializers.BooleanField(default=False, help_text=REST_HELP)
    image_base = serializers.CharField(
        default="", allow_blank=True, max_length=MAX_BASE_LENGTH, help_text=BASE_HELP
    )
    with_images = serializers.BooleanField(default=False, help_text=IMAGES_HELP)


BroughtInSerializer = rows_of(LabelImportResult, "BroughtIn")


class LabelImportSerializer(JobSerializer):
    file = serializers.SerializerMethodField()
    result = serializers.SerializerMethodField(
        help_text="Result of the import; null until it is done."
    )

    class Meta(JobSerializer.Meta):
        fields: tuple[str, ...] = (*JobSerializer.Meta.fields, "file", "result")  # type: ignore[assignment]

    def get_file(self, job: Job) -> str:
        return str(job.payload["file"])

    @extend_schema_field(BroughtInSerializer(allow_null=True))
    def get_result(self, job: Job) -> dict[str, object] | None:
        return job.payload.get("result")


class NewLabelsSerializer(FormBody):
    form = KnownLabelsForm
    options = {"format": {"help_text": "By default from the file name."}}
    campaign = serializers.CharField(
        required=False,
        max_length=80,
        help_text="Refuse classes that the question graph of this campaign does not have.",
    )


class KnownLabelsSerializer(Plain):
    sources = rows_of(label_files.LabelSource, "Source")(many=True)


class AnyForm(DefaultContentNegotiation):
    """Ignores `format` in the query: it names the format of the labels, not of the response."""

    def filter_renderers(self, renderers: Any, format: str) -> Any:
        return renderers


class ReleaseLabelViewSet(CampaignViewSet):
    queryset = Release.objects.none()
    serializer_class = JobSerializer
    content_negotiation_class = AnyForm

    @extend_schema(
        parameters=[
            OpenApiParameter("format", enum=OUT, default="csv", location="query"),
            OpenApiParameter("names", enum=NAMES, default="unique", description=NAMES_HELP),
            OpenApiParameter("rest", bool, default=False, description=REST_HELP),
            OpenApiParameter("image_base", str, description=BASE_HELP),
            OpenApiParameter("with_images", bool, default=False, description=IMAGES_HELP),
        ],
        responses={(200, "application/zip"): OpenApiTypes.BINARY, 202: JobSerializer},
    )
    def retrieve(self, request: Request, campaign: str, number: int) -> HttpResponseBase:
        """Return the labels of a release in another format as a zip; with parts, its objects.

        COCO has only objects: its readers find 0 annotations for labels of whole images. csv and
        label-studio have both. The zip includes the release, so it can be imported with its
        provenance; huggingface is the folder that `manage.py publish` writes. Up to 200,000 labels,
        500 objects with parts or pictures of 33 are returned immediately. A job writes larger zips:
        the answer is 202 with the job; repeat the request later (see Retry-After). If the job
        failed, `jobs/<id>/retry/` repeats it.
        """
        release = freezing.release_for(self.campaign(RESEARCHER), number)
        query = LabelFormatSerializer(data=request.query_params.dict())
        query.is_valid(raise_exception=True)
        chosen = dict(query.validated_data)
        format_name = chosen.pop("format")
        made = export_files.fetch(release, format_name, exporting.FormatOptions(**chosen))
        if isinstance(made, Job):
            response = self.answer(JobSerializer, made, 202)
            response["Retry-After"] = WAIT_SECONDS
            return response
        return download(made, export_files.file_name(release, format_name), "application/zip")


class GivenLabelViewSet(BaseViewSet):
    queryset = GivenLabel.objects.none()
    serializer_class = KnownLabelsSerializer
    parser_classes = [BoundedMultiPartParser]
    # Allow for the multipart form around the file.
    max_upload_bytes = label_files.MAX_BYTES + MIB

    @extend_schema(responses=KnownLabelsSerializer)
    def list(self, request: Request, dataset: str) -> Response:
        """Return the number of known labels of the dataset's images by source."""
        row = dataset_for(self.user, dataset)
        return self.answer(KnownLabelsSerializer, {"sources": label_files.by_source(row)})

    @extend_schema(
        request=NewLabelsSerializer,
        responses={201: BroughtInSerializer, 202: LabelImportSerializer},
    )
    def create(self, request: Request, dataset: str) -> Response:
        """Import known labels from an uploaded file, all or nothing.

        Small files are imported immediately (201). Others become a job (202): poll `labels/<id>/`
        until its state is done (it then has a result) or failed (it then has an error). Labels
        replace earlier ones of the same source and class, so a repeated upload changes nothing.
        Campaigns with a graph do not ask for known labels.
        """
        goal = dataset_for(self.user, dataset)
        check_may_add(self.user, goal)
        body = self.read(NewLabelsSerializer)
        made = label_files.import_upload(
            goal,
            self.user,
            body["file"],
            format_name=body.get("format", ""),
            source=body["source"],
            campaign=label_files.campaign_of(goal, self.user, body.get("campaign", "")),
            repair=body["repair"],
        )
        if isinstance(made, Job):
            return self.answer(LabelImportSerializer, made, 202)
        return self.answer(BroughtInSerializer, made, 201)

    @extend_schema(responses=LabelImportSerializer)
    def retrieve(self, request: Request, dataset: str, pk: int) -> Response:
        """Return one import of labels with its state and result."""
        job = label_files.job_for(dataset_for(self.user, dataset), pk)
        return self.answer(LabelImportSerializer, job)
