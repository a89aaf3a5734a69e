"""Reports of releases in the API, with the numbers of `manage.py labels report`."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from evaluation.release_reports import making
from evaluation.scoring.release_report import ReleaseReport
from labeling.campaigns.access import RESEARCHER, campaign_for
from labeling.jobs import kept_files
from labeling.models import Job, Release
from labeling.releases import freezing
from labeling.web.api.base import MIB, Body, BoundedMultiPartParser, CampaignViewSet
from labeling.web.serializers.common import Plain
from labeling.web.serializers.derived import rows_of

WAIT_SECONDS = "2"
ReleaseReportSerializer = rows_of(ReleaseReport, "ReleaseReport")


class ReportQuerySerializer(Body):
    other = serializers.CharField(
        required=False, help_text="The campaign of a second release, to compare."
    )
    other_number = serializers.IntegerField(
        required=False, min_value=1, help_text="The number of that release."
    )
    windows = serializers.CharField(
        default="", help_text="For clutter: `windows` that POST gave, within a day."
    )
    other_windows = serializers.CharField(default="", help_text="Those of the second release.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if ("other" in attrs) != ("other_number" in attrs):
            raise serializers.ValidationError("Send both other and other_number, or neither.")
        return attrs


class ReportsSerializer(Plain):
    """The report of a release, and that of a second one; null until they are made."""

    state = serializers.ChoiceField(Job.State.choices)
    error = serializers.CharField(help_text="Why it failed.")
    release = ReleaseReportSerializer(allow_null=True)
    other = ReleaseReportSerializer(allow_null=True)


class NewWindowsSerializer(Body):
    windows = serializers.FileField(
        help_text="CSV image,rank,x0,y0,x1,y1 of an objectness detector: rows of an image "
        "together, ranks from 1."
    )


class WindowsSerializer(Plain):
    windows = serializers.CharField(help_text="Name of the file in GET, for a day.")


class ReleaseReportViewSet(CampaignViewSet):
    queryset = Release.objects.none()
    serializer_class = ReportsSerializer
    parser_classes = [BoundedMultiPartParser]
    # Allow for the multipart form around the file.
    max_upload_bytes = kept_files.MAX_BYTES + MIB

    @extend_schema(
        parameters=[ReportQuerySerializer],
        responses={200: ReportsSerializer, 202: ReportsSerializer},
    )
    def retrieve(self, request: Request, campaign: str, number: int) -> Response:
        """Return the figures of a release by class, beside those of a second one, as `manage.py
        labels report` does. A job makes them: 202 until it is done (see Retry-After).
        """
        row = freezing.release_for(self.campaign(RESEARCHER), number)
        query = ReportQuerySerializer(data=request.query_params.dict())
        query.is_valid(raise_exception=True)
        chosen = query.validated_data
        made = {"release": making.fetch(row, self.user, chosen["windows"])}
        if "other" in chosen:
            other = campaign_for(self.user, chosen["other"], RESEARCHER)
            second = freezing.release_for(other, chosen["other_number"])
            made["other"] = making.fetch(second, self.user, chosen["other_windows"])
        response = self.answer(ReportsSerializer, _reports(made))
        if response.data["state"] not in Job.ENDED:
            response.status_code = 202
            response["Retry-After"] = WAIT_SECONDS
        return response

    @extend_schema(request=NewWindowsSerializer, responses={201: WindowsSerializer})
    def windows(self, request: Request, campaign: str, number: int) -> Response:
        """Upload windows of an objectness detector for the clutter of the report."""
        freezing.release_for(self.campaign(RESEARCHER), number)
        file = self.read(NewWindowsSerializer)["windows"]
        token = kept_files.keep(self.user, file, field="windows")
        return self.answer(WindowsSerializer, {"windows": token}, 201)


def _reports(made: dict[str, ReleaseReport | Job]) -> dict[str, Any]:
    """Return the reports; without any while a job makes one."""
    jobs = [row for row in made.values() if isinstance(row, Job)]
    # A failed job first, then one that is not done.
    jobs.sort(key=lambda job: job.state != Job.State.FAILED)
    if jobs:
        return {"state": jobs[0].state, "error": jobs[0].error, "release": None, "other": None}
    return {"state": Job.State.DONE, "error": "", "release": None, "other": None} | made
