"""CDS benchmarks over HTTP: made, joined by classifiers, and read. For researchers."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from django.http import FileResponse, HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from evaluation.benchmarks import folders, runs
from evaluation.benchmarks.access import benchmark_for
from evaluation.benchmarks.api import Uploads, load_wordnet, uploaded
from evaluation.benchmarks.kinds.cds import benchmarks
from evaluation.benchmarks.kinds.cds.choosing import Choice, parts_asked
from evaluation.benchmarks.kinds.cds.running import ANSWERS, SEQUENCES
from evaluation.benchmarks.kinds.cds.serializers import (
    CDSPlanSerializer,
    CDSRequest,
    NewCDSBenchmarkSerializer,
    PredictionsUpload,
)
from evaluation.benchmarks.serializers import BenchmarkSerializer, JoinedSerializer
from evaluation.metrics.frames.part_order import RANDOM
from evaluation.models import Benchmark, Run, Submission
from evaluation.readers.mappings import read_mapping
from evaluation.sequences.part_orders import read_orders
from labeling.campaigns.access import RESEARCHER, campaign_for, check_may_open
from labeling.errors import NotYours, Refusal
from labeling.files import BadInput
from labeling.models import Campaign, User
from labeling.releases.freezing import release_for
from labeling.web.api.base import BaseViewSet, BoundedMultiPartParser, StrictJSONParser, download

CDS = Benchmark.Kind.CDS
JSONL = {(200, "application/jsonl"): OpenApiTypes.BINARY}
T = TypeVar("T")


def read_file(field: str, file: Any, read: Callable[[Path], T]) -> T:
    """What is read of an uploaded file. Raises Refusal naming the field and the line."""
    with uploaded(file) as path:
        try:
            return read(path)
        except BadInput as bad:
            said = BadInput(bad.message, None, bad.line, bad.cure)
            raise Refusal(f"{said}.", field=field, code="bad_input") from bad


def read_choice(user: User, body: dict[str, Any]) -> tuple[Campaign, dict[str, Any]]:
    """The campaign, and what `benchmarks.create` takes of it: its release and the choice."""
    campaign = campaign_for(user, body.pop("campaign"), RESEARCHER)
    if "release" in body:
        body["release"] = release_for(campaign, body["release"])
    if "content_schemes" in body:
        body["content_schemes"] = sorted(
            body["content_schemes"], key=Choice().content_schemes.index
        )
    if "orders" in body:
        parts = parts_asked(campaign)
        body["orders"] = read_file("orders", body["orders"], lambda path: read_orders(path, parts))
    if "mapping" in body:
        nouns = load_wordnet()
        read = read_file("mapping", body["mapping"], lambda path: read_mapping(path, nouns))
        body["mapping"] = read.classes
    body.setdefault("part_schemes", list(body.get("orders") or [RANDOM]))
    return campaign, body


class CDSBenchmarkViewSet(Uploads):
    queryset = Benchmark.objects.none()
    serializer_class = BenchmarkSerializer
    parser_classes = [BoundedMultiPartParser, StrictJSONParser]
    lookup_field = "name"

    @extend_schema(request=NewCDSBenchmarkSerializer, responses={201: BenchmarkSerializer})
    def create(self, request: Request) -> Response:
        """A benchmark that reveals the objects of a campaign's release part by part.

        The same again under the same name is the same benchmark.
        """
        check_may_open(self.user)
        campaign, body = read_choice(self.user, self.read(NewCDSBenchmarkSerializer))
        made = benchmarks.create(self.user, campaign=campaign, **body)
        return self.answer(BenchmarkSerializer, made, 201)

    @extend_schema(request=CDSRequest, responses=CDSPlanSerializer)
    def plan(self, request: Request) -> Response:
        """What a benchmark would reveal. A campaign without a release is refused: freeze it."""
        check_may_open(self.user)
        campaign, body = read_choice(self.user, self.read(CDSRequest))
        release = body.pop("release", None)
        plan = benchmarks.plan(campaign, Choice(**body), release)
        if plan is None:
            raise Refusal("The campaign has no release yet. Freeze one first.", field="campaign")
        return self.answer(CDSPlanSerializer, plan)


class CDSFileViewSet(BaseViewSet):
    queryset = Benchmark.objects.none()

    @extend_schema(responses=JSONL)
    def lines(self, request: Request, benchmark: str) -> FileResponse:
        """sequences.jsonl: the ids of the frames that classifiers name."""
        row = benchmark_for(self.user, benchmark, CDS)
        file = benchmarks.open_lines(row)
        return download(file, f"{row.name}-sequences.jsonl", "application/jsonl")

    @extend_schema(responses={(200, "application/json"): OpenApiTypes.BINARY})
    def orders(self, request: Request, benchmark: str) -> HttpResponse:
        """orders.json: with it `manage.py sequences` makes the same frames."""
        row = benchmark_for(self.user, benchmark, CDS)
        text = benchmarks.orders_text(row)
        response = HttpResponse(text, content_type="application/json")
        response["Content-Disposition"] = f'attachment; filename="{row.name}-orders.json"'
        return response

    @extend_schema(responses=JSONL)
    def sequences(self, request: Request, benchmark: str, pk: int) -> FileResponse:
        """CDS and B-CDS of every sequence and classifier in one scoring, a line each."""
        return self._of_run(benchmark, pk, SEQUENCES)

    @extend_schema(responses=JSONL)
    def answers(self, request: Request, benchmark: str, pk: int) -> FileResponse:
        """Every sequence with each classifier's answer to each frame, a line each."""
        return self._of_run(benchmark, pk, ANSWERS)

    def _of_run(self, benchmark: str, pk: int, name: str) -> FileResponse:
        row = benchmark_for(self.user, benchmark, CDS)
        if not row.runs.filter(pk=pk, state=Run.State.DONE).exists():
            raise NotYours("The benchmark has no such run with a result.")
        path = folders.run_folder(row, pk) / name
        if not path.is_file():
            raise NotYours("The file is not on this server any more. Score the benchmark again.")
        return download(open(path, "rb"), f"{row.name}-run-{pk}-{name}", "application/jsonl")


class PredictionViewSet(Uploads):
    queryset = Submission.objects.none()

    @extend_schema(request=PredictionsUpload, responses={201: JoinedSerializer})
    def create(self, request: Request, benchmark: str) -> Response:
        """Classifiers join, or take these predictions in place of their old ones.

        Then the benchmark is scored. `joined` names those that changed: the same file again changes
        nothing.
        """
        row = benchmark_for(self.user, benchmark, CDS)
        file = self.read(PredictionsUpload)["predictions"]
        load_wordnet()
        with uploaded(file) as path:
            joined = benchmarks.add_predictions(row, self.user, path, file.name)
        if joined:
            runs.request(row, self.user)
        return self.answer(JoinedSerializer, {"joined": joined}, 201)

    @extend_schema(responses={204: None})
    def destroy(self, request: Request, benchmark: str, position: int) -> Response:
        """A classifier leaves with its predictions; the others are scored without it."""
        row = benchmark_for(self.user, benchmark, CDS)
        benchmarks.remove_classifier(row, position)
        if row.submissions.exists():
            runs.request(row, self.user)
        return Response(status=204)
