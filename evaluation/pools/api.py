"""Pools of a dataset in the API, and the models that may make them."""

from django.http import FileResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from evaluation.benchmarks.access import benchmark_for
from evaluation.models import ModelRun, Pool, RegisteredModel
from evaluation.pools import making, model_runs, registering, uploading
from evaluation.pools.serializers import (
    ModelRunSerializer,
    NewModelRunSerializer,
    NewModelSerializer,
    NewPoolSerializer,
    PoolSerializer,
    RegisteredModelSerializer,
    UploadedPoolSerializer,
)
from labeling.campaigns.access import check_administrator, check_researches
from labeling.web.api.base import (
    MIB,
    BaseViewSet,
    BoundedMultiPartParser,
    InDataset,
    StrictJSONParser,
    download,
)


class ModelViewSet(BaseViewSet):
    queryset = RegisteredModel.objects.none()
    serializer_class = RegisteredModelSerializer
    ordering = "name"
    parser_classes = [BoundedMultiPartParser]
    max_upload_bytes = registering.MAX_BYTES + MIB

    def list(self, request: Request) -> Response:
        """List the models of this site. Its operator registers them on its machine, and
        administrators upload ONNX files.
        """
        check_researches(self.user)
        rows = RegisteredModel.objects.select_related("job")
        return self.paged(rows, RegisteredModelSerializer)

    @extend_schema(
        request={"multipart/form-data": NewModelSerializer},
        responses={202: RegisteredModelSerializer},
    )
    def create(self, request: Request) -> Response:
        """Upload an ONNX file as a model; for administrators. A job opens it within limits of
        memory and time: poll until `state` is done or failed.
        """
        check_administrator(self.user)
        made = registering.upload(self.user, **self.read(NewModelSerializer))
        return self.answer(RegisteredModelSerializer, made, 202)

    @extend_schema(responses={204: None})
    def destroy(self, request: Request, name: str) -> Response:
        """Remove an uploaded model and its file; for administrators. Predictions stay."""
        registering.remove_uploaded(self.user, name)
        return Response(status=204)


class PoolViewSet(InDataset):
    queryset = Pool.objects.none()
    serializer_class = PoolSerializer
    parser_classes = [BoundedMultiPartParser, StrictJSONParser]
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

    @extend_schema(request=UploadedPoolSerializer, responses={201: PoolSerializer})
    def upload(self, request: Request, dataset: str) -> Response:
        """Make a pool of predictions from elsewhere: a zip of a predictions folder, or, by an
        administrator, the address of a pool.jsonl in a bucket. Its images are in the dataset under
        the names in images.txt.
        """
        goal, body = self.dataset, self.read(UploadedPoolSerializer)
        if "file" in body:
            made = uploading.from_zip(goal, self.user, body["file"])
        else:
            made = uploading.from_bucket(goal, self.user, body["address"])
        return self.answer(PoolSerializer, made, 201)

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


class ModelRunViewSet(BaseViewSet):
    queryset = ModelRun.objects.none()
    serializer_class = ModelRunSerializer
    ordering = "-pk"

    def list(self, request: Request, benchmark: str) -> Response:
        """List the runs of models for submissions to the benchmark, newest first."""
        rows = benchmark_for(self.user, benchmark).model_runs.select_related("job")
        return self.paged(rows, ModelRunSerializer)

    @extend_schema(request=NewModelRunSerializer, responses={202: ModelRunSerializer})
    def create(self, request: Request, benchmark: str) -> Response:
        """Run a model on the benchmark's images, or take its predictions in a pool of the dataset
        (classification). They become a submission, which is scored.

        If the same run is already queued, it is returned. MAD, localization and detection take only
        files.
        """
        row = benchmark_for(self.user, benchmark)
        body = self.read(NewModelRunSerializer)
        run = model_runs.request(row, self.user, body.pop("model"), **body)
        return self.answer(ModelRunSerializer, run, 202)

    def retrieve(self, request: Request, benchmark: str, pk: int) -> Response:
        """Return one run. Ask again until it is done or failed."""
        row = benchmark_for(self.user, benchmark)
        return self.answer(ModelRunSerializer, model_runs.run_at(row, pk))
