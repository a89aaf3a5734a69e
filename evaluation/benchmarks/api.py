"""Benchmarks over HTTP: their classifiers and runs, and competitions' selections. For researchers.

What CDS benchmarks alone have is in cds/api.py.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import django_filters
from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from evaluation.benchmarks import runs, truth_campaigns
from evaluation.benchmarks.access import benchmark_for, benchmarks_for
from evaluation.benchmarks.kinds.mad import competitions
from evaluation.benchmarks.serializers import (
    AccuraciesSerializer,
    BenchmarkSerializer,
    ChangedSerializer,
    JoinedSerializer,
    NamingSerializer,
    NewBenchmarkSerializer,
    PlanRequest,
    PlanSerializer,
    RunResultSerializer,
    RunSerializer,
    SelectionSerializer,
    SelectionUpload,
    SubmissionSerializer,
    TrueLabelsSerializer,
)
from evaluation.metrics.wordnet import nouns
from evaluation.models import Benchmark, Run, Selection, Submission
from evaluation.readers import selections
from evaluation.readers.selections import SelectionFile
from labeling.campaigns.access import check_may_open, dataset_for
from labeling.errors import NotYours, Refusal
from labeling.jobs import kept_files
from labeling.web.api.base import BaseViewSet, BoundedMultiPartParser, StrictJSONParser

MAD = Benchmark.Kind.MAD


class NoWordNet(Refusal):
    """The site lacks what the request needs; the request itself is sound."""

    status = 503
    code = "no_wordnet"


def load_wordnet() -> nouns.WordNet:
    try:
        return nouns.load()
    except nouns.WordNetMissing as error:
        raise NoWordNet(
            "This site has no WordNet 3.0. Ask whoever runs it to run deploy/wordnet.sh."
        ) from error


@contextmanager
def uploaded(file: Any) -> Iterator[Path]:
    """The uploaded file under a path, for as long as it is read."""
    with tempfile.NamedTemporaryFile() as copy:
        for chunk in file.chunks():
            copy.write(chunk)
        copy.flush()
        yield Path(copy.name)


def read_selection(file: Any) -> SelectionFile:
    known = load_wordnet()
    with uploaded(file) as path:
        return selections.read(path, known, name="selection")


class Uploads(BaseViewSet):
    parser_classes = [BoundedMultiPartParser]
    max_upload_bytes = kept_files.MAX_BYTES


class BenchmarkFilters(django_filters.FilterSet):
    class Meta:
        model = Benchmark
        fields = ("kind",)


class BenchmarkViewSet(Uploads):
    queryset = Benchmark.objects.none()
    serializer_class = BenchmarkSerializer
    filterset_class = BenchmarkFilters
    ordering = "name"
    lookup_field = "name"

    def list(self, request: Request) -> Response:
        """The benchmarks in whose campaign I research."""
        rows = benchmarks_for(self.user).select_related("campaign__dataset", "naming", "release")
        return self.paged(rows, BenchmarkSerializer)

    @extend_schema(request=NewBenchmarkSerializer, responses={201: BenchmarkSerializer})
    def create(self, request: Request) -> Response:
        """A MAD competition from a selection, with its campaign in draft.

        The same selection under the same name again is the same benchmark.
        """
        check_may_open(self.user)
        body = self.read(NewBenchmarkSerializer)
        dataset = dataset_for(self.user, body.pop("dataset"))
        lines = read_selection(body.pop("selection"))
        made = competitions.create(
            self.user, dataset=dataset, lines=lines, wordnet=load_wordnet(), **body
        )
        return self.answer(BenchmarkSerializer, made, 201)

    @extend_schema(responses=BenchmarkSerializer)
    def retrieve(self, request: Request, name: str) -> Response:
        """One benchmark."""
        return self.answer(BenchmarkSerializer, benchmark_for(self.user, name))

    @extend_schema(request=PlanRequest, responses=PlanSerializer)
    def plan(self, request: Request) -> Response:
        """What a competition would ask and cost, and which images the dataset lacks."""
        check_may_open(self.user)
        body = self.read(PlanRequest)
        dataset = dataset_for(self.user, body["dataset"])
        lines = read_selection(body["selection"])
        return self.answer(PlanSerializer, competitions.plan(lines, dataset, body.get("policy")))


class ClassifierViewSet(Uploads):
    queryset = Submission.objects.none()
    serializer_class = SubmissionSerializer
    parser_classes = [BoundedMultiPartParser, StrictJSONParser]
    ordering = "position"

    def list(self, request: Request, benchmark: str) -> Response:
        """The classifiers that take part, in the order of the tables."""
        rows = benchmark_for(self.user, benchmark).submissions.all()
        return self.paged(rows, SubmissionSerializer)

    @extend_schema(request=SelectionUpload, responses={201: JoinedSerializer})
    def create(self, request: Request, benchmark: str) -> Response:
        """Lets classifiers join by the lines of `mad add`: only their pairs are asked about."""
        row = benchmark_for(self.user, benchmark, MAD)
        lines = read_selection(self.read(SelectionUpload)["selection"])
        joined = competitions.add_classifier(row, self.user, lines, load_wordnet())
        return self.answer(JoinedSerializer, {"joined": joined}, 201)

    @extend_schema(request=AccuraciesSerializer, responses=ChangedSerializer)
    def accuracies(self, request: Request, benchmark: str) -> Response:
        """States the accuracies that were published elsewhere; the next run compares with them."""
        row = benchmark_for(self.user, benchmark, MAD)
        stated = self.read(AccuraciesSerializer)["accuracies"]
        changed = competitions.set_accuracies(row, stated)
        if changed and not runs.obstacle(row):
            runs.request(row, self.user)
        return self.answer(ChangedSerializer, {"changed": changed})


class SelectionFilters(django_filters.FilterSet):
    first = django_filters.CharFilter("first__name")
    second = django_filters.CharFilter("second__name")

    class Meta:
        model = Selection
        fields = ("state", "image", "first", "second")


class SelectionViewSet(BaseViewSet):
    queryset = Selection.objects.none()
    serializer_class = SelectionSerializer
    filterset_class = SelectionFilters

    def list(self, request: Request, benchmark: str) -> Response:
        """Which image stands for which pair, at which rank; reserves and dropped ones too."""
        rows = benchmark_for(self.user, benchmark, MAD).selections.select_related("first", "second")
        return self.paged(rows, SelectionSerializer)

    @extend_schema(responses={(200, "application/jsonl"): OpenApiTypes.BINARY})
    def file(self, request: Request, benchmark: str) -> StreamingHttpResponse:
        """The selection as it now is, for `mad rank` and `mad add`."""
        row = benchmark_for(self.user, benchmark, MAD)
        found = competitions.selection_of(row)
        response = StreamingHttpResponse(found.text_lines(), content_type="application/jsonl")
        response["Content-Disposition"] = f'attachment; filename="{row.name}-selection.jsonl"'
        return response

    @extend_schema(request=TrueLabelsSerializer, responses={201: NamingSerializer})
    def true_labels(self, request: Request, benchmark: str) -> Response:
        """Asks people for the true label where both classifiers were wrong."""
        row = benchmark_for(self.user, benchmark, MAD)
        keys = set(self.read(TrueLabelsSerializer)["selections"])
        chosen = list(row.selections.filter(pk__in=keys).select_related("first", "second"))
        if len(chosen) < len(keys):
            raise NotYours("Some of these selections are not in this benchmark.")
        campaign = truth_campaigns.ask_true_label(row, self.user, chosen, load_wordnet())
        return self.answer(NamingSerializer, campaign, 201)


class RunFilters(django_filters.FilterSet):
    class Meta:
        model = Run
        fields = ("state",)


class RunViewSet(BaseViewSet):
    queryset = Run.objects.none()
    serializer_class = RunSerializer
    filterset_class = RunFilters
    ordering = "-pk"

    def list(self, request: Request, benchmark: str) -> Response:
        """Scorings, the newest first, without their results."""
        rows = benchmark_for(self.user, benchmark).runs.defer("result").select_related("release")
        return self.paged(rows, RunSerializer)

    @extend_schema(request=None, responses={202: RunSerializer})
    def create(self, request: Request, benchmark: str) -> Response:
        """Asks for a scoring. One that waits already is the one you get; 409 with the reason while
        there is nothing to compare yet."""
        row = benchmark_for(self.user, benchmark)
        return self.answer(RunSerializer, runs.score_now(row, self.user), 202)

    @extend_schema(responses=RunResultSerializer)
    def retrieve(self, request: Request, benchmark: str, pk: int) -> Response:
        """One scoring with its result."""
        row = benchmark_for(self.user, benchmark)
        run = row.runs.filter(pk=pk).select_related("release").first()
        if run is None:
            raise NotYours("The benchmark has no such run.")
        return self.answer(RunResultSerializer, run)
