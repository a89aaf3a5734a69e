"""Splits of a release in the API."""

from django.http import FileResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from evaluation.models import ReleaseSplit
from evaluation.release_splits import making, parts
from evaluation.release_splits.serializers import NewSplitSerializer, ReleaseSplitSerializer
from evaluation.splits.rules import names_of
from labeling.campaigns.access import RESEARCHER
from labeling.releases import freezing
from labeling.web.api.base import CampaignViewSet, download


class ReleaseSplitViewSet(CampaignViewSet):
    queryset = ReleaseSplit.objects.none()
    serializer_class = ReleaseSplitSerializer
    ordering = "-pk"

    def list(self, request: Request, campaign: str, number: int) -> Response:
        """List the splits of the release, newest first."""
        release = freezing.release_for(self.campaign(RESEARCHER), number)
        return self.paged(release.splits.select_related("job"), ReleaseSplitSerializer)

    @extend_schema(request=NewSplitSerializer, responses={202: ReleaseSplitSerializer})
    def create(self, request: Request, campaign: str, number: int) -> Response:
        """Request a split. The same rule, names, seed and seal are the same split."""
        row = self.campaign(RESEARCHER)
        release = freezing.release_for(row, number)
        body = self.read(NewSplitSerializer)
        if pk := body.pop("extend", None):
            body["extend"] = parts.split_for(row, pk)
        body["names"] = names_of(body["names"])
        return self.answer(ReleaseSplitSerializer, making.request(release, self.user, **body), 202)

    def retrieve(self, request: Request, campaign: str, number: int, pk: int) -> Response:
        """Return one split. Ask again until it is done or failed."""
        row = parts.split_of(self.campaign(RESEARCHER), number, pk)
        return self.answer(ReleaseSplitSerializer, row)

    @extend_schema(responses={204: None})
    def destroy(self, request: Request, campaign: str, number: int, pk: int) -> Response:
        """Delete a split that no benchmark uses and no split extends."""
        making.delete(parts.split_of(self.campaign(RESEARCHER), number, pk), self.user)
        return Response(status=204)

    @extend_schema(responses={(200, "application/zip"): OpenApiTypes.BINARY})
    def file(self, request: Request, campaign: str, number: int, pk: int) -> FileResponse:
        """Return split.json and a list of images for each part, without the list that another user
        sealed.
        """
        row = parts.split_of(self.campaign(RESEARCHER), number, pk)
        name = f"{campaign}-{number}-split-{pk}.zip"
        return download(parts.open_zip(row, self.user), name, "application/zip")
