"""A dataset's objects with given parts, their imports, and the radii of merges."""

import django_filters
from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from labeling.datasets import objects
from labeling.db.lookups import get_or_404
from labeling.exchange import merging, part_imports
from labeling.exchange.part_report import ImportedObject, PartImportReport, Unknown
from labeling.geometry.polygons import as_json
from labeling.models import GivenLabel, Item, Job
from labeling.parts.model import Part, PartedObject, merge_content
from labeling.parts.simplifying import CAP
from labeling.web.api.base import Body, BoundedMultiPartParser, InDataset
from labeling.web.forms.parts import PartsImportForm
from labeling.web.serializers.common import JobSerializer, Plain
from labeling.web.serializers.derived import FormBody, RowSerializer, rows_of

POLYGONS = "Pieces of rings of corners [x, y], in pixels of the image; the first ring is the outer."


class PolygonsField(serializers.ListField):
    child = serializers.ListField(
        child=serializers.ListField(child=serializers.ListField(child=serializers.FloatField()))
    )


class MergeSerializer(Plain):
    instance = serializers.CharField(help_text='Which of the part\'s, "left front"; empty for one.')
    pieces = serializers.ListField(
        child=PolygonsField(), help_text="Polygons of each piece as imported."
    )
    names = serializers.ListField(
        child=serializers.CharField(), help_text="Names of the pieces in the file."
    )
    radius = serializers.FloatField(
        allow_null=True, help_text="Merge radius in pixels; null if the pieces were not merged."
    )
    cap = serializers.FloatField(allow_null=True, help_text="Largest allowed radius in pixels.")
    holes = serializers.BooleanField(help_text="Whether holes were kept.")
    apart = serializers.BooleanField(help_text="Whether the pieces are too far apart to merge.")
    chosen = serializers.BooleanField(help_text="Whether a person chose the radius.")
    method = serializers.CharField(help_text="radius, or alphashape for the package of that name.")


class PartSerializer(Plain):
    key = serializers.CharField(help_text="Key in the vocabulary.")
    state = serializers.ChoiceField(["drawn", "not_visible", "occluded"])
    polygons = PolygonsField(help_text=POLYGONS)
    names = serializers.ListField(child=serializers.CharField())
    merges = MergeSerializer(many=True)


class ObjectSerializer(Plain):
    id = serializers.IntegerField()
    image = serializers.CharField()
    name = serializers.CharField(help_text="Unique among the objects of its image.")
    category = serializers.CharField(help_text="A wnid.")
    source = serializers.CharField()  # type: ignore[assignment]
    box = serializers.ListField(child=serializers.FloatField(), help_text="x0, y0, x1, y1, tight.")
    crop = serializers.ListField(
        child=serializers.IntegerField(), help_text="The box with context."
    )
    room = serializers.BooleanField(help_text="Whether the image has room for the context.")
    outline = PolygonsField(allow_null=True, help_text=POLYGONS)
    parts = PartSerializer(many=True)


class ChosenRadiusSerializer(Body):
    part = serializers.CharField(max_length=64)
    instance = serializers.CharField(max_length=200, allow_blank=True, default="")
    radius = serializers.FloatField(
        allow_null=True, help_text="Pixels; null for the automatic radius."
    )
    method = serializers.CharField(
        max_length=20,
        default=merging.METHODS[0],
        help_text="radius, or alphashape for the package of that name with alpha = 1 / radius.",
    )


class RefusedObjectSerializer(Plain):
    place = serializers.CharField()
    why = serializers.CharField()


FlaggedObjectSerializer = rows_of(ImportedObject, "FlaggedObject")


UnknownNameSerializer = rows_of(Unknown, "UnknownName")


class PartReportSerializer(RowSerializer):
    """Lists have the first 500 entries; counts are of all."""

    row = PartImportReport
    refused = RefusedObjectSerializer(many=True)


class PartImportSerializer(JobSerializer):
    file = serializers.SerializerMethodField()
    report = serializers.SerializerMethodField()

    class Meta(JobSerializer.Meta):
        fields: tuple[str, ...] = (*JobSerializer.Meta.fields, "file", "report")  # type: ignore[assignment]

    def get_file(self, job: Job) -> str:
        return str(job.payload["file"])

    @extend_schema_field(PartReportSerializer)
    def get_report(self, job: Job) -> dict[str, object]:
        return part_imports.report_of(job).content()


class NewPartsSerializer(FormBody):
    form = PartsImportForm
    options = {"format": {"help_text": "By default from the file names."}}
    cap = serializers.FloatField(
        default=CAP,
        min_value=0,
        max_value=1,
        help_text="Largest merge radius as a share of the diagonal of the object's box; 1 for no "
        "limit.",
    )


class ObjectFilters(django_filters.FilterSet):
    image = django_filters.CharFilter("image__name")
    category = django_filters.CharFilter(method="of_category", label="a wnid")

    class Meta:
        model = Item
        fields: list[str] = []

    def of_category(self, rows: QuerySet[Item], _: str, value: str) -> QuerySet[Item]:
        labels = GivenLabel.objects.filter(key=value.replace("\0", ""), geometry__isnull=True)
        return rows.filter(pk__in=labels.values("item"))


class ObjectViewSet(InDataset):
    queryset = Item.objects.none()
    serializer_class = ObjectSerializer
    filterset_class = ObjectFilters

    def item(self) -> Item:
        rows = objects.in_dataset(self.dataset).select_related("image__dataset")
        return get_or_404(rows, "There is no such object in this dataset.", pk=self.kwargs["pk"])

    def list(self, request: Request, dataset: str) -> Response:
        """Return the dataset's objects with their imported parts, in the order of import."""
        rows = self.filter_queryset(objects.in_dataset(self.dataset))
        page = list(self.paginate_queryset(rows) or [])
        return self.get_paginated_response(ObjectSerializer(_rows(page), many=True).data)

    @extend_schema(responses=ObjectSerializer)
    def retrieve(self, request: Request, dataset: str, pk: int) -> Response:
        """Return one object."""
        return self.answer(ObjectSerializer, _rows([self.item()])[0])

    @extend_schema(request=ChosenRadiusSerializer, responses=ObjectSerializer)
    @action(["post"], detail=True)
    def merge(self, request: Request, dataset: str, pk: int) -> Response:
        """Set the radius that merges one instance of a part, or reset it to automatic.

        The raw pieces are kept, so every choice can be reverted.
        """
        item = self.item()
        body = self.read(ChosenRadiusSerializer)
        part, instance, radius, method = (
            body[name] for name in ("part", "instance", "radius", "method")
        )
        merging.choose(item, part, instance, radius, self.user, method)
        return self.answer(ObjectSerializer, _rows([self.item()])[0])


class PartImportViewSet(InDataset):
    queryset = Job.objects.none()
    serializer_class = PartImportSerializer
    parser_classes = [BoundedMultiPartParser]
    ordering = "-pk"

    def list(self, request: Request, dataset: str) -> Response:
        """Return the dataset's imports of objects with parts, the newest first."""
        return self.paged(part_imports.jobs_of(self.dataset), PartImportSerializer)

    @extend_schema(request=NewPartsSerializer, responses={202: PartImportSerializer})
    def create(self, request: Request, dataset: str) -> Response:
        """Import objects with parts from an uploaded file, by a job.

        Names are mapped to the vocabulary, and pieces of one part are merged. Poll
        `part-imports/<id>/`. Valid objects are imported; the report lists each fault with its
        position. A repeated upload changes nothing.
        """
        goal = self.dataset
        body = self.read(NewPartsSerializer)
        cap = None if body["cap"] == 1 else body["cap"]
        how = part_imports.ImportOptions(body["source"], cap, body["repair"])
        made = part_imports.import_upload(
            goal, self.user, body["file"], format_name=body.get("format", ""), how=how
        )
        return self.answer(PartImportSerializer, made, 202)

    @extend_schema(responses=PartImportSerializer)
    def retrieve(self, request: Request, dataset: str, pk: int) -> Response:
        """Return one import with its state and its report so far."""
        return self.answer(PartImportSerializer, part_imports.job_for(self.dataset, pk))

    @extend_schema(request=None, responses={202: PartImportSerializer})
    @action(["post"], detail=True, url_name="part-import-again")
    def again(self, request: Request, dataset: str, pk: int) -> Response:
        """Continue a failed import or repeat a finished one. Uploads with faults are kept for a
        week.
        """
        goal = self.dataset
        made = part_imports.continue_import(part_imports.job_for(goal, pk), goal, self.user)
        return self.answer(PartImportSerializer, made, 202)


def _rows(items: "list[Item]") -> "list[dict[str, object]]":
    described = objects.describe(items)
    return [_row(item, described[item.pk]) for item in items]


def _row(item: Item, parted: PartedObject) -> dict[str, object]:
    crop, room = objects.crop_of(item)
    return {
        "id": item.pk,
        "image": parted.image,
        "name": parted.name,
        "category": parted.category,
        "source": parted.source,
        "box": parted.box,
        "crop": crop,
        "room": room,
        "outline": None if parted.outline is None else as_json(parted.outline),
        "parts": [_part(part) for part in parted.parts],
    }


def _part(part: Part) -> dict[str, object]:
    return {
        "key": part.key,
        "state": part.state,
        "polygons": as_json(part.polygons),
        "names": part.names,
        "merges": [{"method": merge.method, **merge_content(merge)} for merge in part.merges],
    }
