"""API of reviews of mistakes and versions of label sets."""

from contextlib import nullcontext

from django.http import FileResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from evaluation.benchmarks import downloads
from evaluation.benchmarks.access import benchmark_for
from evaluation.benchmarks.kinds.labeled.label_sets import reviews
from evaluation.benchmarks.kinds.labeled.label_sets.applying import apply_answers, open_zip
from evaluation.benchmarks.kinds.labeled.label_sets.serializers import (
    ApplyMistakeReviewSerializer,
    MistakeReviewSerializer,
    NewMistakeReviewSerializer,
)
from evaluation.benchmarks.uploads import load_wordnet, uploaded
from evaluation.models import Benchmark, MistakeReview
from labeling.campaigns.access import RESEARCHER, campaign_for, check_may_open
from labeling.jobs import kept_files
from labeling.web.api.base import (
    BaseViewSet,
    BoundedMultiPartParser,
    StrictJSONParser,
    download,
)


class ReviewViewSet(BaseViewSet):
    queryset = MistakeReview.objects.none()
    serializer_class = MistakeReviewSerializer
    parser_classes = [BoundedMultiPartParser, StrictJSONParser]
    max_upload_bytes = kept_files.MAX_BYTES
    ordering = "pk"

    def list(self, request: Request, benchmark: str) -> Response:
        """Return the reviews of a classification's mistakes, applied or not."""
        rows = self._benchmark(benchmark).reviews.select_related("campaign", "release")
        return self.paged(rows, MistakeReviewSerializer)

    @extend_schema(request=NewMistakeReviewSerializer, responses={201: MistakeReviewSerializer})
    def create(self, request: Request, benchmark: str) -> Response:
        """Open a review: a draft campaign of the kind mistake about every disagreement of a chosen
        submission with the newest label sets, and about a sample of the agreements.
        """
        row = self._benchmark(benchmark)
        check_may_open(self.user)
        body = self.read(NewMistakeReviewSerializer)
        made = reviews.open_review(row, self.user, wordnet=load_wordnet(), **body)
        return self.answer(MistakeReviewSerializer, made, 201)

    @extend_schema(responses=MistakeReviewSerializer(many=True))
    def versions(self, request: Request, benchmark: str) -> Response:
        """Return the versions of the label sets from 2 on; version 1 is the truth's single
        class.
        """
        rows = reviews.applied_reviews(self._benchmark(benchmark)).select_related(
            "campaign", "release"
        )
        return self.paged(rows, MistakeReviewSerializer)

    @extend_schema(request=ApplyMistakeReviewSerializer, responses={201: MistakeReviewSerializer})
    def apply(self, request: Request, benchmark: str) -> Response:
        """Make a new version of the label sets from a campaign's answers and score every submission
        by it. The same campaign again returns the existing version.
        """
        row = self._benchmark(benchmark)
        body = self.read(ApplyMistakeReviewSerializer)
        load_wordnet()
        campaign = campaign_for(self.user, body["campaign"], RESEARCHER)
        file = body.get("queue")
        with uploaded(file) if file else nullcontext() as path:
            chosen = campaign, body.get("release"), path
            made = apply_answers(row, self.user, *chosen, file.name if file else "")
        return self.answer(MistakeReviewSerializer, made, 201)

    @extend_schema(responses={(200, "application/zip"): OpenApiTypes.BINARY})
    def archive(self, request: Request, benchmark: str, version: int) -> FileResponse:
        """Return the files of a version: sets.csv, version.json, answers.csv, queue.jsonl and
        strata.csv. `score classification --valid-sets` reads the first; the others are its sources.
        """
        row = self._benchmark(benchmark)
        file, name = open_zip(row, reviews.version_for(row, version))
        return download(file, name, downloads.type_of(name))

    def _benchmark(self, name: str) -> Benchmark:
        row = benchmark_for(self.user, name, "labeled")
        reviews.check_kind(row)
        return row
