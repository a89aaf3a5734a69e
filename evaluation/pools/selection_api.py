"""Selections of pools in the API."""

from django.http import FileResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from evaluation.benchmarks.kinds.mad import competitions
from evaluation.benchmarks.serializers import BenchmarkSerializer
from evaluation.models import Pool, PoolSelection
from evaluation.pools import choosing, making
from evaluation.pools.serializers import (
    NewSelectionSerializer,
    OverlapSerializer,
    PoolSelectionSerializer,
    SelectedCompetitionSerializer,
    SelectionPlanSerializer,
)
from labeling.campaigns.access import check_may_open
from labeling.web.api.base import BoundedMultiPartParser, InDataset, StrictJSONParser, download


class PoolSelectionViewSet(InDataset):
    queryset = PoolSelection.objects.none()
    serializer_class = PoolSelectionSerializer
    parser_classes = [BoundedMultiPartParser, StrictJSONParser]
    max_upload_bytes = choosing.MAX_DISTANCES
    ordering = "-pk"

    @property
    def _pool(self) -> Pool:
        return making.pool_for(self.dataset, self.kwargs["pool"])

    def list(self, request: Request, dataset: str, pool: int) -> Response:
        """List the selections of the pool, newest first."""
        rows = self._pool.selections.select_related("job")
        return self.paged(rows, PoolSelectionSerializer)

    @extend_schema(request=NewSelectionSerializer, responses={202: PoolSelectionSerializer})
    def create(self, request: Request, dataset: str, pool: int) -> Response:
        """Request a selection. One with the same settings is returned if it exists."""
        return self.answer(
            PoolSelectionSerializer, choosing.request(self._settings(), self.user), 202
        )

    @extend_schema(request=NewSelectionSerializer, responses=SelectionPlanSerializer)
    def plan(self, request: Request, dataset: str, pool: int) -> Response:
        """Return what a selection yields at most, and what asking about it costs."""
        return self.answer(SelectionPlanSerializer, choosing.plan(self._settings()))

    def retrieve(self, request: Request, dataset: str, pool: int, pk: int) -> Response:
        """Return one selection. Ask again until it is done or failed."""
        return self.answer(PoolSelectionSerializer, choosing.selection_for(self._pool, pk))

    @extend_schema(responses={(200, "application/jsonl"): OpenApiTypes.BINARY})
    def file(self, request: Request, dataset: str, pool: int, pk: int) -> FileResponse:
        """Return selection.jsonl, as `mad select` writes it."""
        file = choosing.open_file(choosing.selection_for(self._pool, pk))
        return download(file, f"{dataset}-selection-{pk}.jsonl", "application/jsonl")

    @extend_schema(responses=OverlapSerializer)
    def overlap(self, request: Request, dataset: str, pool: int, pk: int, to: int) -> Response:
        """Return the images, and the images of each pair, that are in both selections."""
        rows = [choosing.selection_for(self._pool, number) for number in (pk, to)]
        return self.answer(OverlapSerializer, choosing.compare(*rows))

    @extend_schema(request=SelectedCompetitionSerializer, responses={201: BenchmarkSerializer})
    def competition(self, request: Request, dataset: str, pool: int, pk: int) -> Response:
        """Create a MAD competition on the selection, with its campaign in draft.

        The same selection under the same name again is the same benchmark.
        """
        row = choosing.selection_for(self._pool, pk)
        check_may_open(self.user)
        body = self.read(SelectedCompetitionSerializer) | choosing.competition_arguments(row)
        return self.answer(BenchmarkSerializer, competitions.create(self.user, **body), 201)

    def _settings(self) -> choosing.PoolSettings:
        pool = self._pool
        check_may_open(self.user)
        return choosing.settings_of(pool, self.read(NewSelectionSerializer))
