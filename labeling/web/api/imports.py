"""Imports: images added to a dataset by a job, with progress and report."""

from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from labeling.datasets import imports
from labeling.models import Import, Job
from labeling.web.api.base import InDataset
from labeling.web.serializers.datasets import ReportSerializer


class ImportSerializer(serializers.ModelSerializer):
    """The counts are final once the state is done."""

    state = serializers.ChoiceField(Job.State.choices, source="job.state")
    error = serializers.CharField(source="job.error", help_text="Reason of the last failure.")
    progress_done = serializers.IntegerField(source="job.progress_done")
    progress_total = serializers.IntegerField(source="job.progress_total")
    created_by = serializers.CharField(source="created_by.pseudonym")
    created_by_name = serializers.CharField(source="created_by.username")

    class Meta:
        model = Import
        fields: tuple[str, ...] = (
            "id",
            "name",
            "licence",
            "source",
            "state",
            "error",
            "progress_done",
            "progress_total",
            "added",
            "duplicates",
            "refused",
            "created_by",
            "created_by_name",
            "created_at",
            "finished_at",
        )


class ImportReportSerializer(ImportSerializer):
    report = serializers.SerializerMethodField(
        help_text=f"Lists of files that were not added, at most {imports.MAX_LISTED_FILES} in each."
    )

    class Meta(ImportSerializer.Meta):
        fields = (*ImportSerializer.Meta.fields, "report")

    @extend_schema_field(ReportSerializer)
    def get_report(self, row: Import) -> dict[str, object]:
        return imports.report_of(row).as_dict()


class ImportViewSet(InDataset):
    queryset = Import.objects.none()
    serializer_class = ImportSerializer
    ordering = "-pk"

    def list(self, request: Request, dataset: str) -> Response:
        """Return the dataset's imports without their reports, the newest first."""
        rows = self.dataset.imports.select_related("job", "created_by").defer("report", "uploads")
        return self.paged(rows, ImportSerializer)

    @extend_schema(responses=ImportReportSerializer)
    def retrieve(self, request: Request, dataset: str, pk: int) -> Response:
        """Return one import with state, progress and report. Poll until it is done or failed."""
        return self.answer(ImportReportSerializer, imports.import_for(self.dataset, pk))

    @extend_schema(request=None, responses={202: ImportSerializer})
    @action(["post"], detail=True, url_name="import-retry")
    def retry(self, request: Request, dataset: str, pk: int) -> Response:
        """Retry a failed import; images added before are kept."""
        row = imports.import_for(self.dataset, pk)
        imports.retry(row, self.user)
        return self.answer(ImportSerializer, imports.import_for(self.dataset, pk), 202)
