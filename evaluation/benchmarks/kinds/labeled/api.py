"""Benchmarks on released labels over HTTP: made, joined by classifiers, and read."""

from django.http import FileResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from evaluation.benchmarks import runs
from evaluation.benchmarks.access import benchmark_for
from evaluation.benchmarks.api import Uploads, uploaded
from evaluation.benchmarks.kinds.labeled import benchmarks, running
from evaluation.benchmarks.kinds.labeled.serializers import (
    NewReleasedSerializer,
    ReleasedPlanSerializer,
    ReleasedRequest,
    ReleasedSubmissionSerializer,
    SubmissionUpload,
)
from evaluation.benchmarks.kinds.labeled.truth.ground_truth import KINDS
from evaluation.benchmarks.serializers import BenchmarkSerializer
from evaluation.models import Benchmark, Run, Submission
from labeling.campaigns.access import RESEARCHER, campaign_for, check_may_open
from labeling.errors import NotYours, Refusal
from labeling.files import BadInput
from labeling.models import User
from labeling.releases.freezing import release_for
from labeling.web.api.base import BaseViewSet, BoundedMultiPartParser, StrictJSONParser, download

ZIP = {(200, "application/zip"): OpenApiTypes.BINARY}
JSONL = {(200, "application/jsonl"): OpenApiTypes.BINARY}


def released_for(user: User, name: str) -> Benchmark:
    """The benchmark, if it is one on released labels. Raises NotYours."""
    row = benchmark_for(user, name)
    if row.kind not in KINDS:
        raise NotYours("There is no such benchmark, or it is not yours.")
    return row


class ReleasedBenchmarkViewSet(BaseViewSet):
    queryset = Benchmark.objects.none()
    serializer_class = BenchmarkSerializer
    parser_classes = [BoundedMultiPartParser, StrictJSONParser]
    lookup_field = "name"

    @extend_schema(request=NewReleasedSerializer, responses={201: BenchmarkSerializer})
    def create(self, request: Request) -> Response:
        """A benchmark whose ground truth is the labels of a campaign's release.

        The same again under the same name is the same benchmark.
        """
        check_may_open(self.user)
        body = self.read(NewReleasedSerializer)
        campaign = campaign_for(self.user, body.pop("campaign"), RESEARCHER)
        if "release" in body:
            body["release"] = release_for(campaign, body["release"])
        made = benchmarks.create(self.user, campaign=campaign, **body)
        return self.answer(BenchmarkSerializer, made, 201)

    @extend_schema(request=ReleasedRequest, responses=ReleasedPlanSerializer)
    def plan(self, request: Request) -> Response:
        """What a benchmark would stand on. A campaign without a release is refused: freeze it."""
        check_may_open(self.user)
        body = self.read(ReleasedRequest)
        campaign = campaign_for(self.user, body["campaign"], RESEARCHER)
        release = release_for(campaign, body["release"]) if "release" in body else None
        plan = benchmarks.plan(campaign, body["kind"], release)
        if plan is None:
            raise Refusal("The campaign has no release yet. Freeze one first.", field="campaign")
        return self.answer(ReleasedPlanSerializer, plan)


class SubmissionViewSet(Uploads):
    queryset = Submission.objects.none()
    serializer_class = ReleasedSubmissionSerializer
    ordering = "position"
    # Of score maps; what is less is checked for each kind.
    max_upload_bytes = benchmarks.MAX_ZIP_BYTES

    def list(self, request: Request, benchmark: str) -> Response:
        """Who takes part, and how many different predictions came under each name."""
        rows = released_for(self.user, benchmark).submissions.all()
        return self.paged(rows, ReleasedSubmissionSerializer)

    @extend_schema(request=SubmissionUpload, responses=ReleasedSubmissionSerializer)
    def update(self, request: Request, benchmark: str, classifier: str) -> Response:
        """A classifier takes part with this file, or has it in place of its old one.

        Then the benchmark is scored. The same file again changes nothing; another one counts as a
        further attempt.
        """
        row = released_for(self.user, benchmark)
        file = self.read(SubmissionUpload)["file"]
        benchmarks.check_bytes(row.kind, file.size)
        with uploaded(file) as path:
            try:
                made = benchmarks.add_submission(row, self.user, classifier, path, file.name)
            except BadInput as bad:
                # With the place inside the zip.
                raise Refusal(f"{bad}.", field="file", code="bad_input") from bad
        if runs.has_changed(row):
            runs.request(row, self.user)
        return self.answer(ReleasedSubmissionSerializer, made)

    @extend_schema(responses={204: None})
    def destroy(self, request: Request, benchmark: str, classifier: str) -> Response:
        """A classifier leaves with its predictions; the others are scored without it."""
        row = released_for(self.user, benchmark)
        found = row.submissions.filter(name=classifier).first()
        if found is None:
            raise NotYours("The benchmark has no such classifier.")
        benchmarks.remove(row, found.position)
        if row.submissions.exists():
            runs.request(row, self.user)
        return Response(status=204)


class ReleasedFileViewSet(BaseViewSet):
    queryset = Benchmark.objects.none()

    @extend_schema(responses=ZIP)
    def truth(self, request: Request, benchmark: str) -> FileResponse:
        """The ground truth, as `score KIND` reads it."""
        row = released_for(self.user, benchmark)
        return download(benchmarks.open_truth(row), f"{row.name}-truth.zip", "application/zip")

    @extend_schema(responses=JSONL)
    def images(self, request: Request, benchmark: str, pk: int) -> FileResponse:
        """What each classifier made of every image in one scoring, a line an image."""
        row = released_for(self.user, benchmark)
        if not row.runs.filter(pk=pk, state=Run.State.DONE).exists():
            raise NotYours("The benchmark has no such run with a result.")
        path = running.images_path(row, pk)
        if not path.is_file():
            raise NotYours("The file is not on this server any more. Score the benchmark again.")
        return download(
            open(path, "rb"), f"{row.name}-run-{pk}-{running.IMAGES}", "application/jsonl"
        )
