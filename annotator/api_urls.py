"""The API's addresses: /api/v1/, its schema and the page to browse it."""

import threading
from typing import Any, ClassVar

from django.urls import URLPattern, URLResolver, include, path, re_path
from django.views.decorators.cache import cache_page
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView

from annotator.pages.api import LabelDoors, SeatDoors
from labeling.web import problems
from labeling.web.api import (
    accounts,
    campaigns,
    datasets,
    graph,
    imports,
    labels,
    objects,
    people,
    quality,
    questions,
    results,
    vocabulary,
)

Addresses = list[URLPattern | URLResolver]
Actions = dict[str, Any]
LIST: Actions = {"get": "list"}
LIST_CREATE: Actions = {"get": "list", "post": "create"}
READ: Actions = {"get": "retrieve"}

account: Addresses = [
    path("me/", accounts.MeDoors.as_view(READ), name="me"),
    path("tokens/", accounts.TokenDoors.as_view(LIST_CREATE), name="tokens"),
    path(
        "tokens/<slug:token_key>/",
        accounts.TokenDoors.as_view({"delete": "destroy"}),
        name="token",
    ),
    path(
        "invitations/accept/",
        accounts.AcceptDoors.as_view({"post": "create"}),
        name="accept",
    ),
]

dataset: Addresses = [
    path("", datasets.DatasetDoors.as_view(READ), name="dataset"),
]
in_dataset: Addresses = [
    path("images/", datasets.ImageDoors.as_view(LIST_CREATE), name="images"),
    path("images/<int:pk>/", datasets.ImageDoors.as_view(READ), name="image"),
    path(
        "images/<int:pk>/display/",
        datasets.ImageDoors.as_view({"get": "display"}),
        name="image-display",
    ),
    path(
        "images/<int:pk>/thumbnail/",
        datasets.ImageDoors.as_view({"get": "thumbnail"}),
        name="image-thumbnail",
    ),
    path("imports/", imports.ImportDoors.as_view(LIST), name="imports"),
    path("imports/<int:pk>/", imports.ImportDoors.as_view(READ), name="import"),
    path(
        "imports/<int:pk>/retry/",
        imports.ImportDoors.as_view({"post": "retry"}),
        name="import-retry",
    ),
    path("labels/", labels.GivenLabelDoors.as_view(LIST_CREATE), name="given-labels"),
    path("labels/<int:pk>/", labels.GivenLabelDoors.as_view(READ), name="label-import"),
    path("objects/", objects.ObjectDoors.as_view(LIST), name="dataset-objects"),
    path("objects/<int:pk>/", objects.ObjectDoors.as_view(READ), name="object"),
    path("objects/<int:pk>/merge/", objects.ObjectDoors.as_view({"post": "merge"}), name="merge"),
    path("part-imports/", objects.PartImportDoors.as_view(LIST_CREATE), name="part-imports"),
    path("part-imports/<int:pk>/", objects.PartImportDoors.as_view(READ), name="part-import"),
    path(
        "part-imports/<int:pk>/again/",
        objects.PartImportDoors.as_view({"post": "again"}),
        name="part-import-again",
    ),
    path(
        "vocabulary/",
        vocabulary.VocabularyDoors.as_view(READ | {"put": "update"}),
        name="vocabulary",
    ),
    path("vocabulary/versions/", vocabulary.VocabularyDoors.as_view(LIST), name="vocabularies"),
    path(
        "vocabulary/versions/<int:version>/",
        vocabulary.VocabularyDoors.as_view({"get": "version"}),
        name="vocabulary-version",
    ),
    path("jobs/", datasets.DatasetJobDoors.as_view(LIST), name="dataset-jobs"),
]

campaign: Addresses = [
    path(
        "",
        campaigns.CampaignsDoors.as_view({"get": "retrieve", "patch": "partial_update"}),
        name="campaign",
    ),
    *(
        path(f"{deed}/", campaigns.CampaignsDoors.as_view({"post": deed}), name=deed)
        for deed in ("launch", "pause", "resume", "close")
    ),
    *(
        path(f"{page}/", campaigns.CampaignsDoors.as_view({"get": page}), name=page)
        for page in ("estimate", "progress")
    ),
]
in_campaign: Addresses = [
    path("policies/", campaigns.PolicyDoors.as_view(LIST_CREATE), name="policies"),
    path("policies/preview/", campaigns.PolicyDoors.as_view({"post": "preview"}), name="preview"),
    path("graph/", graph.GraphDoors.as_view(READ | {"put": "update"}), name="graph"),
    path("graph/images/", graph.GraphDoors.as_view({"post": "images"}), name="graph-images"),
    path("quality/", quality.QualityDoors.as_view(READ), name="quality"),
    path("audits/", quality.AuditDoors.as_view(READ | {"post": "create"}), name="audits"),
    path("pilots/", quality.PilotDoors.as_view(READ | {"post": "create"}), name="pilots"),
    path("pilots/preview/", quality.PilotDoors.as_view({"post": "preview"}), name="pilot-preview"),
    path("calibrations/", quality.CalibrationDoors.as_view(LIST_CREATE), name="calibrations"),
    path(
        "calibrations/<int:number>/",
        quality.CalibrationDoors.as_view(READ),
        name="calibration",
    ),
    path("standings/", quality.StandingDoors.as_view(LIST), name="standings"),
    *(
        path(f"members/<int:pk>/{deed}/", quality.StandingDoors.as_view({"post": deed}), name=deed)
        for deed in ("pause", "pardon")
    ),
    path("blocks/", quality.BlockDoors.as_view(LIST_CREATE), name="blocks"),
    path("blocks/<int:pk>/", quality.BlockDoors.as_view({"delete": "destroy"}), name="block"),
    path("decisions/", campaigns.DecisionDoors.as_view(LIST), name="decisions"),
    path("topics/", questions.TopicDoors.as_view(LIST_CREATE), name="topics"),
    path(
        "topics/<str:key>/",
        questions.TopicDoors.as_view({"get": "retrieve", "patch": "partial_update"}),
        name="topic",
    ),
    path(
        "topics/<str:key>/examples/",
        questions.ExampleDoors.as_view(LIST_CREATE),
        name="examples",
    ),
    path(
        "topics/<str:key>/examples/<int:pk>/",
        questions.ExampleDoors.as_view({"delete": "destroy"}),
        name="example",
    ),
    path("questions/", questions.QuestionDoors.as_view(LIST_CREATE), name="questions"),
    path(
        "questions/withdraw/",
        questions.QuestionDoors.as_view({"post": "withdraw"}),
        name="withdraw",
    ),
    path("objects/", questions.QuestionDoors.as_view({"post": "objects"}), name="objects"),
    path("questions/<int:pk>/", questions.QuestionDoors.as_view(READ), name="question"),
    path(
        "questions/<int:pk>/history/",
        questions.QuestionDoors.as_view({"get": "history"}),
        name="question-history",
    ),
    path(
        "questions/<int:pk>/review/",
        questions.QuestionDoors.as_view({"post": "review"}),
        name="review",
    ),
    path(
        "questions/<int:pk>/accept/",
        questions.QuestionDoors.as_view({"post": "accept"}),
        name="accept",
    ),
    path(
        "questions/<int:pk>/send-back/",
        questions.QuestionDoors.as_view({"post": "send_back"}),
        name="send-back",
    ),
    path("gold/", questions.GoldDoors.as_view(LIST_CREATE), name="gold"),
    path("gold/promote/", questions.GoldDoors.as_view({"post": "promote"}), name="promote"),
    path("gold/<int:pk>/retire/", questions.GoldDoors.as_view({"post": "retire"}), name="retire"),
    path("members/", people.MemberDoors.as_view(LIST), name="members"),
    path(
        "members/<int:pk>/",
        people.MemberDoors.as_view(
            {"get": "retrieve", "patch": "partial_update", "delete": "destroy"}
        ),
        name="member",
    ),
    path(
        "members/<int:pk>/quotas/",
        people.MemberDoors.as_view({"get": "quotas", "put": "set_quotas"}),
        name="quotas",
    ),
    path("invitations/", people.InvitationDoors.as_view(LIST_CREATE), name="invitations"),
    path(
        "invitations/<int:pk>/",
        people.InvitationDoors.as_view({"delete": "destroy"}),
        name="invitation",
    ),
    path("releases/", results.ReleaseDoors.as_view(LIST_CREATE), name="releases"),
    path("releases/<int:number>/", results.ReleaseDoors.as_view(READ), name="release"),
    path(
        "releases/<int:number>/files/<str:file>/",
        results.ReleaseDoors.as_view({"get": "file"}),
        name="release-file",
    ),
    path(
        "releases/<int:number>/labels/",
        labels.ReleaseLabelDoors.as_view(READ),
        name="release-labels",
    ),
    path("jobs/", results.JobDoors.as_view(LIST), name="jobs"),
    path("jobs/<int:pk>/retry/", results.JobDoors.as_view({"post": "retry"}), name="retry"),
    path("seats/", LabelDoors.as_view({"post": "seats"}), name="seats"),
    path("answers/", LabelDoors.as_view({"post": "answers"}), name="answers"),
]

v1: Addresses = [
    *account,
    path("datasets/", datasets.DatasetDoors.as_view(LIST_CREATE), name="datasets"),
    path("datasets/<slug:name>/", include(dataset)),
    path("datasets/<slug:dataset>/", include(in_dataset)),
    path("campaigns/", campaigns.CampaignsDoors.as_view(LIST_CREATE), name="campaigns"),
    path("campaigns/<slug:name>/", include(campaign)),
    path("campaigns/<slug:campaign>/", include(in_campaign)),
    path("seats/<slug:token>/image/", SeatDoors.as_view({"get": "image"}), name="seat-image"),
    path("seats/<slug:token>/skip/", SeatDoors.as_view({"post": "skip"}), name="seat-skip"),
    path("", include("evaluation.benchmarks.api_urls")),
]

app_name = "api"


class OneSchema(SchemaGenerator):
    """The schema, made once in a process: it is the same for all and slow to make, and what
    describes a view cannot describe two at once."""

    lock = threading.Lock()
    made: ClassVar[dict[str, Any] | None] = None

    def get_schema(self, request: Any = None, public: bool = False) -> dict[str, Any]:
        with self.lock:
            if OneSchema.made is None:
                OneSchema.made = super().get_schema(request=None, public=True)
            return OneSchema.made


urlpatterns: Addresses = [
    path("v1/", include(v1)),
    path(
        "schema/",
        cache_page(3600, cache="local")(
            SpectacularAPIView.as_view(authentication_classes=[], generator_class=OneSchema)
        ),
        name="schema",
    ),
    path(
        "docs/",
        SpectacularSwaggerSplitView.as_view(
            url_name="api:schema", template_name="annotator/api_docs.html"
        ),
        name="docs",
    ),
    re_path("", problems.not_found, name="nowhere"),
]
