"""Results of a campaign: releases with their files, and background jobs."""

import django_filters
from django.http import FileResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from labeling.campaigns import lifecycle
from labeling.campaigns.access import RESEARCHER
from labeling.db.lookups import get_or_404
from labeling.errors import NotYours
from labeling.jobs import queue
from labeling.models import Job, Release
from labeling.release_files.frozen import ALL_FILES, FILES
from labeling.releases import freezing
from labeling.web.api.base import CampaignViewSet, download
from labeling.web.serializers.common import JobSerializer

NAMES = frozenset(("release.json", *ALL_FILES))


class ReleaseSerializer(serializers.ModelSerializer):
    counts = serializers.SerializerMethodField()
    stated_error = serializers.DictField(
        allow_null=True, help_text="As in release.json; null in older releases and of drawings."
    )
    files = serializers.SerializerMethodField()

    class Meta:
        model = Release
        fields = ("number", "sha256", "counts", "stated_error", "created_at", "files")

    @extend_schema_field(OpenApiTypes.OBJECT)
    def get_counts(self, release: Release) -> dict[str, object]:
        return {key: count for key, count in release.counts.items() if key != "stated_error"}

    def get_files(self, release: Release) -> list[str]:
        return ["release.json", *FILES]


class ReleaseViewSet(CampaignViewSet):
    queryset = Release.objects.none()
    serializer_class = ReleaseSerializer
    ordering = "-number"
    lookup_field = "number"

    def list(self, request: Request, campaign: str) -> Response:
        """Return the releases, the newest first."""
        return self.paged(self.campaign(RESEARCHER).releases.all(), ReleaseSerializer)

    @extend_schema(request=None, responses={201: ReleaseSerializer})
    def create(self, request: Request, campaign: str) -> Response:
        """Freeze the campaign's current content. Equal content gives the same release."""
        row = self.campaign(RESEARCHER)
        lifecycle.check_campaign_active(row)
        made = freezing.freeze(row, self.user)
        return self.answer(ReleaseSerializer, made, 201)

    @extend_schema(responses=ReleaseSerializer)
    def retrieve(self, request: Request, campaign: str, number: int) -> Response:
        """Return one release."""
        release = freezing.release_for(self.campaign(RESEARCHER), number)
        return self.answer(ReleaseSerializer, release)

    @extend_schema(responses={(200, "application/octet-stream"): OpenApiTypes.BINARY})
    @action(detail=True, url_path="files/<str:file>", url_name="release-file")
    def file(self, request: Request, campaign: str, number: int, file: str) -> FileResponse:
        """Return one file of a release."""
        release = freezing.release_for(self.campaign(RESEARCHER), number)
        path = freezing.folder_of(release) / file
        if file not in NAMES or not path.is_file():
            raise NotYours(f"The release has no such file. It has: {', '.join(sorted(NAMES))}.")
        name = f"{campaign}-{number}-{file}"
        kind = "application/json" if file.endswith(".json") else "application/jsonl"
        return download(path.open("rb"), name, kind)


class JobFilters(django_filters.FilterSet):
    class Meta:
        model = Job
        fields = ("state", "kind")


class JobViewSet(CampaignViewSet):
    queryset = Job.objects.none()
    serializer_class = JobSerializer
    filterset_class = JobFilters
    ordering = "-pk"

    def list(self, request: Request, campaign: str) -> Response:
        """Return the campaign's background jobs, the newest first."""
        return self.paged(self.campaign(RESEARCHER).jobs.all(), JobSerializer)

    @extend_schema(request=None, responses=JobSerializer)
    @action(["post"], detail=True)
    def retry(self, request: Request, campaign: str, pk: int) -> Response:
        """Queue a failed job again."""
        job = get_or_404(self.campaign(RESEARCHER).jobs, "The campaign has no such job.", pk=pk)
        return self.answer(JobSerializer, queue.retry(job, self.user))
