"""Reports of releases in the API, with the numbers of `manage.py labels report`."""

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from evaluation.release_reports import making
from evaluation.release_reports.making import ReportsInProgress
from labeling.campaigns.access import RESEARCHER, campaign_for
from labeling.errors import Refusal
from labeling.jobs import kept_files
from labeling.models import Job, Release
from labeling.releases import freezing
from labeling.web.api.base import MIB, Body, BoundedMultiPartParser, CampaignViewSet, SentFile
from labeling.web.serializers.common import Plain
from labeling.web.serializers.derived import rows_of

WAIT_SECONDS = "2"
ReportsSerializer = rows_of(ReportsInProgress, "Reports")


class ReportQuerySerializer(Body):
    second = serializers.CharField(
        required=False, help_text="The campaign of a second release, to compare."
    )
    second_number = serializers.IntegerField(
        required=False, min_value=1, help_text="The number of that release."
    )
    windows = serializers.CharField(
        default="", help_text="For clutter: `windows` that POST gave, within a day."
    )
    second_windows = serializers.CharField(default="", help_text="Those of the second release.")


class NewWindowsSerializer(Body):
    windows = SentFile(
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
        first, second = making.fetch(row, self.user, chosen["windows"]), None
        if ("second" in chosen) != ("second_number" in chosen):
            raise Refusal("Send both second and second_number, or neither.", field="second")
        if "second" in chosen:
            campaign_row = campaign_for(self.user, chosen["second"], RESEARCHER)
            release = freezing.release_for(campaign_row, chosen["second_number"])
            second = making.fetch(release, self.user, chosen["second_windows"])
        made = making.in_progress(first, second)
        response = self.answer(ReportsSerializer, made)
        if made.state not in Job.ENDED:
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
