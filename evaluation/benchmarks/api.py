"""API of benchmarks of every kind, for researchers: create, submit, score and read."""

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from importlib import import_module
from typing import Any, TypeVar

import django_filters
from django.http import FileResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from evaluation.benchmarks import downloads, naming_releases, runs, truth_versions, truth_views
from evaluation.benchmarks.access import benchmark_for, benchmarks_for, check_images
from evaluation.benchmarks.kind import BenchmarkKind, families, kind_of
from evaluation.benchmarks.serializers import (
    BenchmarkSerializer,
    FollowingChangeRequest,
    JoinedSerializer,
    NewSubmissionSerializer,
    ReleasedSubmissionSerializer,
    RunResultSerializer,
    RunSerializer,
    SubmissionSerializer,
    SubmissionUpload,
    TruthVersionSerializer,
)
from evaluation.benchmarks.submissions import missing_frames
from evaluation.benchmarks.undo import BenchmarkUndo
from evaluation.benchmarks.uploads import load_wordnet, uploaded
from evaluation.models import Benchmark, Run, Submission, TruthVersion
from labeling.campaigns.access import check_may_open
from labeling.errors import NotYours, Refusal, TooLarge
from labeling.files import BadInput
from labeling.jobs import kept_files
from labeling.web.api.base import (
    BaseViewSet,
    Body,
    BoundedMultiPartParser,
    StrictJSONParser,
    download,
)
from labeling.web.api.undo import ArchiveFilters, UndoActions

FILE_GONE = "The file is no longer on this server. Score the benchmark again."
NO_FILE = "There is no such file, or the benchmark is not yours."
# For score maps; each kind checks its own, lower limit.
MAX_BYTES = 2 * 1024**3


Viewset = TypeVar("Viewset", bound=BaseViewSet)


def _described(
    base: type[Viewset], fields: Mapping[str, object], **schemas: Callable[[Any], Any]
) -> type[Viewset]:
    """Return a subclass of the viewset with these fields and a schema for each named action.

    extend_schema_view only knows the actions that REST framework names.
    """

    def copied(action: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(action)
        def call(self: Viewset, *args: Any, **kwargs: Any) -> Any:
            return action(self, *args, **kwargs)

        return call

    actions = {name: schema(copied(getattr(base, name))) for name, schema in schemas.items()}
    return type(base.__name__, (base,), {**fields, **actions})


class BenchmarkFilters(ArchiveFilters):
    class Meta:
        model = Benchmark
        fields = ("kind",)


class BenchmarkViewSet(UndoActions):
    """Lists and reads benchmarks. `maker` sets the family that it can create."""

    queryset = Benchmark.objects.none()
    serializer_class = BenchmarkSerializer
    filterset_class = BenchmarkFilters
    parser_classes = [BoundedMultiPartParser, StrictJSONParser]
    max_upload_bytes = kept_files.MAX_BYTES
    ordering = "name"
    ordering_fields = ("title", "created_at")
    lookup_field = "name"
    family = ""

    def undo_of(self, name: str) -> BenchmarkUndo:
        return BenchmarkUndo(benchmark_for(self.user, name), self.user)

    def list(self, request: Request) -> Response:
        """Return the benchmarks in campaigns where I am a researcher."""
        rows = benchmarks_for(self.user).select_related("campaign__dataset", "naming", "release")
        return self.paged(self.listed_rows(rows), BenchmarkSerializer)

    @extend_schema(responses=BenchmarkSerializer)
    def retrieve(self, request: Request, name: str) -> Response:
        """Return one benchmark."""
        return self.answer(BenchmarkSerializer, benchmark_for(self.user, name))

    def create(self, request: Request) -> Response:
        kind, texts = self._kind()
        chosen = self._chosen(texts.NEW)
        return self.answer(BenchmarkSerializer, kind.create(self.user, **chosen), 201)

    @extend_schema(request=FollowingChangeRequest, responses=BenchmarkSerializer)
    def partial_update(self, request: Request, name: str) -> Response:
        """Change how the truth follows the campaign from now on; existing versions stay."""
        row = benchmark_for(self.user, name)
        truth_versions.change_following(row, self.read(FollowingChangeRequest, partial=True))
        return self.answer(BenchmarkSerializer, benchmark_for(self.user, name))

    def plan(self, request: Request) -> Response:
        kind, texts = self._kind()
        plan = kind.plan(**self._chosen(texts.PLAN))
        if plan is None:
            raise Refusal("The campaign has no release yet. Freeze one first.", field="campaign")
        return self.answer(texts.PLANNED, plan)

    def _kind(self) -> tuple[BenchmarkKind, Any]:
        kind = families()[self.family]
        return kind, import_module(kind.serializers)

    def _chosen(self, body: type[serializers.BaseSerializer]) -> dict[str, object]:
        check_may_open(self.user)
        chosen: dict[str, object] = self._kind()[1].create_arguments(self.user, self.read(body))
        return chosen


def maker(family: str, *, deprecated: bool = False) -> type[BenchmarkViewSet]:
    """Return the viewset that creates and plans benchmarks of a family."""
    texts = import_module(families()[family].serializers)
    fields: dict[str, object] = {"family": family}
    needed = [field for field in texts.NEW().fields.values() if field.required]
    if any(isinstance(field, serializers.FileField) for field in needed):
        # JSON cannot carry the file.
        fields["parser_classes"] = [BoundedMultiPartParser]
    new = extend_schema(
        request=texts.NEW,
        responses={201: BenchmarkSerializer},
        description=texts.NEW_WORDS,
        deprecated=deprecated,
    )
    plan = extend_schema(
        request=texts.PLAN,
        responses=texts.PLANNED,
        description=texts.PLAN_WORDS,
        deprecated=deprecated,
    )
    return _described(BenchmarkViewSet, fields, create=new, plan=plan)


class SubmissionViewSet(BaseViewSet):
    queryset = Submission.objects.none()
    serializer_class: type[SubmissionSerializer] = ReleasedSubmissionSerializer
    parser_classes = [BoundedMultiPartParser, StrictJSONParser]
    ordering = "position"
    max_upload_bytes = MAX_BYTES

    def list(self, request: Request, benchmark: str) -> Response:
        """Return the submissions, each with its number of attempts."""
        rows = benchmark_for(self.user, benchmark).submissions.all()
        return self.paged(rows, self.get_serializer_class())

    @extend_schema(request=NewSubmissionSerializer, responses={201: JoinedSerializer})
    def create(self, request: Request, benchmark: str) -> Response:
        """Add classifiers, or replace the files of existing ones.

        Then the benchmark is scored; a MAD competition first asks people about the new pairs.
        `joined` names the classifiers that changed: the same file again changes nothing.
        `missing_frames` counts the frames that they lack (cds), which count as wrong.
        """
        row = benchmark_for(self.user, benchmark)
        body = self.read(NewSubmissionSerializer)
        name = body.get("name", "")
        if kind_of(row).names_in_file == bool(name):
            expected = "names its classifiers itself; leave the name out"
            if not name:
                expected = "names no classifier; give its name"
            raise Refusal(f"A file of this benchmark {expected}.", field="name")
        joined = self._accepted(row, body, name)
        return self._joined(row, joined)

    @extend_schema(request=SubmissionUpload, responses=ReleasedSubmissionSerializer)
    def update(self, request: Request, benchmark: str, classifier: str) -> Response:
        """Add a classifier with this file, or replace its earlier file.

        Then the benchmark is scored. The same file again changes nothing; a different one counts as
        a further attempt.
        """
        row = benchmark_for(self.user, benchmark)
        if kind_of(row).names_in_file:
            raise Refusal("A file of this benchmark names its classifiers itself: POST it.")
        joined = self._accepted(row, self.read(SubmissionUpload), classifier)
        if not joined and runs.has_changed(row):
            runs.request(row, self.user)
        return self.answer(ReleasedSubmissionSerializer, row.submissions.get(name=classifier))

    @extend_schema(responses={204: None})
    def destroy(self, request: Request, benchmark: str, classifier: str) -> Response:
        """Remove a classifier and its predictions; the others are scored again without it."""
        row = benchmark_for(self.user, benchmark)
        submission = row.submissions.filter(name=classifier).first()
        if submission is None:
            raise NotYours("The benchmark has no such classifier.")
        return self._removed(row, submission.position)

    def _accepted(self, row: Benchmark, body: Mapping[str, Any], name: str) -> Sequence[str]:
        kind, file, campaign = kind_of(row), body.get("file"), body.get("campaign")
        if body.get("baseline"):
            if kind.baseline is None or body.keys() & {"file", "campaign", "number", "annotator"}:
                raise Refusal("Only WSOL has a baseline, and it needs no file.", field="baseline")
            return runs.submit(row, self.user, kind.baseline, "the baseline", name)
        if campaign is not None and file is None:
            return self._named(row, kind, body, name)
        if file is None or campaign is not None or "annotator" in body:
            raise Refusal("Send a file, or the campaign of a naming release.", field="file")
        if file.size > (most := kind.max_bytes()):
            raise TooLarge(f"The file is larger than {most // 1024**2:,} MiB.", field="file")
        if kind.names_in_file:
            load_wordnet()
        with uploaded(file) as path:
            try:
                return runs.submit(row, self.user, path, file.name, name)
            except BadInput as bad:
                if kind.names_in_file:
                    raise
                # Keep the position inside the zip in the message.
                raise Refusal(f"{bad}.", field="file", code="bad_input") from bad

    def _joined(self, row: Benchmark, joined: Sequence[str]) -> Response:
        answer: dict[str, object] = {"joined": joined}
        if missing := missing_frames(row, joined):
            answer["missing_frames"] = missing
        return self.answer(JoinedSerializer, answer, 201)

    def _named(
        self, row: Benchmark, kind: BenchmarkKind, body: Mapping[str, Any], name: str
    ) -> Sequence[str]:
        if not kind.takes_releases:
            raise Refusal("This benchmark takes no releases; send a file.", field="campaign")
        release = naming_releases.release_of(self.user, body["campaign"], body.get("number"))
        path, called = naming_releases.sent(release, body.get("annotator", ""))
        try:
            return runs.submit(row, self.user, path, called, name)
        except BadInput as bad:
            raise Refusal(f"{bad}.", field="campaign", code="bad_input") from bad

    def _removed(self, row: Benchmark, position: int) -> Response:
        runs.remove(row, self.user, position)
        return Response(status=204)


class OldSubmissionViewSet(SubmissionViewSet):
    """Addresses that single kinds had before `submissions/`. See `old_submissions`."""

    serializer_class = SubmissionSerializer
    max_upload_bytes = kept_files.MAX_BYTES
    family = ""
    body: type[Body] = SubmissionUpload

    @extend_schema(deprecated=True)
    def list(self, request: Request, benchmark: str) -> Response:
        """Return the classifiers in the order of the tables."""
        return super().list(request, benchmark)

    def create(self, request: Request, benchmark: str) -> Response:
        row = benchmark_for(self.user, benchmark, self.family)
        [file] = self.read(self.body).values()
        joined = self._accepted(row, {"file": file}, "")
        return self._joined(row, joined)

    @extend_schema(responses={204: None}, deprecated=True)
    def remove(self, request: Request, benchmark: str, position: int) -> Response:
        """Remove a classifier and its predictions; the others are scored again without it."""
        return self._removed(benchmark_for(self.user, benchmark, self.family), position)


def old_submissions(family: str, body: type[Body], description: str) -> type[OldSubmissionViewSet]:
    """Return the viewset of an old address that takes submissions of one family."""
    schema = extend_schema(
        request=body,
        responses={201: JoinedSerializer},
        description=description,
        deprecated=True,
    )
    return _described(OldSubmissionViewSet, {"family": family, "body": body}, create=schema)


class FileViewSet(BaseViewSet):
    """Serves one of the files that kinds keep of a benchmark or a run. See `files`."""

    queryset = Benchmark.objects.none()
    file_name = ""

    def file(self, request: Request, benchmark: str) -> FileResponse:
        row = benchmark_for(self.user, benchmark)
        if self.file_name not in kind_of(row).files:
            raise NotYours(NO_FILE)
        content = kind_of(row).open_file(row, self.file_name)
        return self._download(content, f"{row.name}-{self.file_name}")

    def run_file(self, request: Request, benchmark: str, pk: int) -> FileResponse:
        row = benchmark_for(self.user, benchmark)
        if self.file_name not in kind_of(row).run_files:
            raise NotYours(NO_FILE)
        check_images(row)
        run = row.runs.filter(pk=pk, state=Run.State.DONE).select_related("release").first()
        if run is None:
            raise NotYours("The benchmark has no such run with a result.")
        path = kind_of(row).run_path(run, self.file_name)
        if not path.is_file():
            raise NotYours(FILE_GONE)
        return self._download(path.open("rb"), kind_of(row).run_file_name(run, self.file_name))

    def _download(self, content: Any, name: str) -> FileResponse:
        return download(content, name, downloads.type_of(name))


def files(name: str, words: Sequence[str]) -> type[FileViewSet]:
    """Return the viewset that serves the file of this name."""
    schema = extend_schema(
        description=" ".join(words),
        responses={(200, downloads.type_of(name)): OpenApiTypes.BINARY},
    )
    return _described(FileViewSet, {"file_name": name}, file=schema, run_file=schema)


class TruthVersionViewSet(BaseViewSet):
    queryset = TruthVersion.objects.none()
    serializer_class = TruthVersionSerializer
    ordering = "number"

    def list(self, request: Request, benchmark: str) -> Response:
        """Return the versions of the truth, oldest first: a release, then newer releases and
        applied reviews. A MAD competition has none.
        """
        row = benchmark_for(self.user, benchmark)
        versions = row.truth_versions.select_related("release")
        by_number = {version.version: version for version in truth_versions.rows(row)}
        return self.paged(versions, TruthVersionSerializer, lambda _: {"rows": by_number})

    @extend_schema(responses={(200, "application/zip"): OpenApiTypes.BINARY})
    def archive(self, request: Request, benchmark: str, version: int) -> FileResponse:
        """Return the files of a version, as `score KIND` reads them."""
        row = benchmark_for(self.user, benchmark)
        file, name = truth_views.open_version(row, version)
        return download(file, name, downloads.type_of(name))


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
        """Return the runs, newest first, without their results."""
        rows = benchmark_for(self.user, benchmark).runs.defer("result").select_related("release")
        return self.paged(rows, RunSerializer)

    @extend_schema(request=None, responses={202: RunSerializer})
    def create(self, request: Request, benchmark: str) -> Response:
        """Request a run, or return the one that is already queued. Responds 409 with the reason
        while there is nothing to compare yet.
        """
        row = benchmark_for(self.user, benchmark)
        return self.answer(RunSerializer, runs.score_now(row, self.user), 202)

    @extend_schema(responses=RunResultSerializer)
    def retrieve(self, request: Request, benchmark: str, pk: int) -> Response:
        """Return one run with its result."""
        row = benchmark_for(self.user, benchmark)
        run = row.runs.filter(pk=pk).select_related("release").first()
        if run is None:
            raise NotYours("The benchmark has no such run.")
        if run.result is not None:
            run.result = kind_of(row).stored_result(row, run)
        return self.answer(RunResultSerializer, run)
