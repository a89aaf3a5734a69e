"""Pools of a dataset in the API, and the models that may make them."""

from django.http import FileResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from evaluation.models import Pool, RegisteredModel
from evaluation.pools import making
from evaluation.pools.serializers import (
    NewPoolSerializer,
    PoolSerializer,
    RegisteredModelSerializer,
)
from labeling.campaigns.access import check_researches
from labeling.web.api.base import BaseViewSet, InDataset, download


class ModelViewSet(BaseViewSet):
    queryset = RegisteredModel.objects.none()
    serializer_class = RegisteredModelSerializer
    ordering = "name"

    def list(self, request: Request) -> Response:
        """List the models that may predict here. The site's operator registers them on its
        machine.
        """
        check_researches(self.user)
        return self.paged(RegisteredModel.objects.all(), RegisteredModelSerializer)


class PoolViewSet(InDataset):
    queryset = Pool.objects.none()
    serializer_class = PoolSerializer
    ordering = "-pk"

    def list(self, request: Request, dataset: str) -> Response:
        """List the pools of the dataset, newest first."""
        return self.paged(self.dataset.pools.select_related("job"), PoolSerializer)

    @extend_schema(request=NewPoolSerializer, responses={202: PoolSerializer})
    def create(self, request: Request, dataset: str) -> Response:
        """Request a pool. If one of the same models is already waiting, it is returned."""
        of = self.dataset
        names = self.read(NewPoolSerializer)["models"]
        return self.answer(PoolSerializer, making.request(of, self.user, names), 202)

    def retrieve(self, request: Request, dataset: str, pk: int) -> Response:
        """Return one pool. Ask again until it is done or failed."""
        return self.answer(PoolSerializer, making.pool_for(self.dataset, pk))

    @extend_schema(responses={(200, "application/zip"): OpenApiTypes.BINARY})
    def file(self, request: Request, dataset: str, pk: int) -> FileResponse:
        """Return the pool as a zip: the folder that `mad select --predictions` reads, and each
        model's five likeliest classes as `score classification` reads them.
        """
        file = making.open_file(making.pool_for(self.dataset, pk))
        return download(file, f"{dataset}-pool-{pk}.zip", "application/zip")
