"""The API's addresses: /api/v1/, its schema and the page to browse it."""

import threading
from typing import Any, ClassVar

from django.urls import URLPattern, URLResolver, include, path, re_path
from django.views.decorators.cache import cache_page
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView

from annotator.pages.api import LabelViewSet, SeatViewSet
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
    path("me/", accounts.MeViewSet.as_view(READ), name="me"),
    path("tokens/", accounts.TokenViewSet.as_view(LIST_CREATE), name="tokens"),
    path(
        "tokens/<slug:token_key>/",
        accounts.TokenViewSet.as_view({"delete": "destroy"}),
        name="token",
    ),
    path(
        "invitations/accept/",
        accounts.AcceptViewSet.as_view({"post": "create"}),
        name="accept",
    ),
]

dataset: Addresses = [
    path("", datasets.DatasetViewSet.as_view(READ), name="dataset"),
]
in_dataset: Addresses = [
    path("images/", datasets.ImageViewSet.as_view(LIST_CREATE), name="images"),
    path("images/<int:pk>/", datasets.ImageViewSet.as_view(READ), name="image"),
    path(
        "images/<int:pk>/display/",
        datasets.ImageViewSet.as_view({"get": "display"}),
        name="image-display",
    ),
    path(
        "images/<int:pk>/thumbnail/",
        datasets.ImageViewSet.as_view({"get": "thumbnail"}),
        name="image-thumbnail",
    ),
    path("imports/", imports.ImportViewSet.as_view(LIST), name="imports"),
    path("imports/<int:pk>/", imports.ImportViewSet.as_view(READ), name="import"),
    path(
        "imports/<int:pk>/retry/",
        imports.ImportViewSet.as_view({"post": "retry"}),
        name="import-retry",
    ),
    path("labels/", labels.GivenLabelViewSet.as_view(LIST_CREATE), name="given-labels"),
    path("labels/<int:pk>/", labels.GivenLabelViewSet.as_view(READ), name="label-import"),
    path("objects/", objects.ObjectViewSet.as_view(LIST), name="dataset-objects"),
    path("objects/<int:pk>/", objects.ObjectViewSet.as_view(READ), name="object"),
    path("objects/<int:pk>/merge/", objects.ObjectViewSet.as_view({"post": "merge"}), name="merge"),
    path("part-imports/", objects.PartImportViewSet.as_view(LIST_CREATE), name="part-imports"),
    path("part-imports/<int:pk>/", objects.PartImportViewSet.as_view(READ), name="part-import"),
    path(
        "part-imports/<int:pk>/again/",
        objects.PartImportViewSet.as_view({"post": "again"}),
        name="part-import-again",
    ),
    path(
        "vocabulary/",
        vocabulary.VocabularyViewSet.as_view(READ | {"put": "update"}),
        name="vocabulary",
    ),
    path("vocabulary/versions/", vocabulary.VocabularyViewSet.as_view(LIST), name="vocabularies"),
    path(
        "vocabulary/versions/<int:version>/",
        vocabulary.VocabularyViewSet.as_view({"get": "version"}),
        name="vocabulary-version",
    ),
    path("jobs/", datasets.DatasetJobViewSet.as_view(LIST), name="dataset-jobs"),
]

campaign: Addresses = [
    path(
        "",
        campaigns.CampaignsViewSet.as_view({"get": "retrieve", "patch": "partial_update"}),
        name="campaign",
    ),
    *(
        path(f"{action}/", campaigns.CampaignsViewSet.as_view({"post": action}), name=action)
        for action in ("launch", "pause", "resume", "close")
    ),
    *(
        path(f"{page}/", campaigns.CampaignsViewSet.as_view({"get": page}), name=page)
        for page in ("estimate", "progress")
    ),
]
in_campaign: Addresses = [
    path("policies/", campaigns.PolicyViewSet.as_view(LIST_CREATE), name="policies"),
    path("policies/preview/", campaigns.PolicyViewSet.as_view({"post": "preview"}), name="preview"),
    path("graph/", graph.GraphViewSet.as_view(READ | {"put": "update"}), name="graph"),
    path("graph/images/", graph.GraphViewSet.as_view({"post": "images"}), name="graph-images"),
    path("quality/", quality.QualityViewSet.as_view(READ), name="quality"),
    path("audits/", quality.AuditViewSet.as_view(READ | {"post": "create"}), name="audits"),
    path("pilots/", quality.PilotViewSet.as_view(READ | {"post": "create"}), name="pilots"),
    path(
        "pilots/preview/", quality.PilotViewSet.as_view({"post": "preview"}), name="pilot-preview"
    ),
    path("calibrations/", quality.CalibrationViewSet.as_view(LIST_CREATE), name="calibrations"),
    path(
        "calibrations/<int:number>/",
        quality.CalibrationViewSet.as_view(READ),
        name="calibration",
    ),
    path("standings/", quality.StandingViewSet.as_view(LIST), name="standings"),
    *(
        path(
            f"members/<int:pk>/{action}/",
            quality.StandingViewSet.as_view({"post": action}),
            name=action,
        )
        for action in ("pause", "pardon")
    ),
    path("blocks/", quality.BlockViewSet.as_view(LIST_CREATE), name="blocks"),
    path("blocks/<int:pk>/", quality.BlockViewSet.as_view({"delete": "destroy"}), name="block"),
    path("decisions/", campaigns.DecisionViewSet.as_view(LIST), name="decisions"),
    path("topics/", questions.TopicViewSet.as_view(LIST_CREATE), name="topics"),
    path(
        "topics/<str:key>/",
        questions.TopicViewSet.as_view({"get": "retrieve", "patch": "partial_update"}),
        name="topic",
    ),
    path(
        "topics/<str:key>/examples/",
        questions.ExampleViewSet.as_view(LIST_CREATE),
        name="examples",
    ),
    path(
        "topics/<str:key>/examples/<int:pk>/",
        questions.ExampleViewSet.as_view({"delete": "destroy"}),
        name="example",
    ),
    path("questions/", questions.QuestionViewSet.as_view(LIST_CREATE), name="questions"),
    path(
        "questions/withdraw/",
        questions.QuestionViewSet.as_view({"post": "withdraw"}),
        name="withdraw",
    ),
    path("objects/", questions.QuestionViewSet.as_view({"post": "objects"}), name="objects"),
    path("questions/<int:pk>/", questions.QuestionViewSet.as_view(READ), name="question"),
    path(
        "questions/<int:pk>/history/",
        questions.QuestionViewSet.as_view({"get": "history"}),
        name="question-history",
    ),
    path(
        "questions/<int:pk>/review/",
        questions.QuestionViewSet.as_view({"post": "review"}),
        name="review",
    ),
    path(
        "questions/<int:pk>/accept/",
        questions.QuestionViewSet.as_view({"post": "accept"}),
        name="accept",
    ),
    path(
        "questions/<int:pk>/send-back/",
        questions.QuestionViewSet.as_view({"post": "send_back"}),
        name="send-back",
    ),
    path("gold/", questions.GoldViewSet.as_view(LIST_CREATE), name="gold"),
    path("gold/promote/", questions.GoldViewSet.as_view({"post": "promote"}), name="promote"),
    path("gold/<int:pk>/retire/", questions.GoldViewSet.as_view({"post": "retire"}), name="retire"),
    path("members/", people.MemberViewSet.as_view(LIST), name="members"),
    path(
        "members/<int:pk>/",
        people.MemberViewSet.as_view(
            {"get": "retrieve", "patch": "partial_update", "delete": "destroy"}
        ),
        name="member",
    ),
    path(
        "members/<int:pk>/quotas/",
        people.MemberViewSet.as_view({"get": "quotas", "put": "set_quotas"}),
        name="quotas",
    ),
    path("invitations/", people.InvitationViewSet.as_view(LIST_CREATE), name="invitations"),
    path(
        "invitations/<int:pk>/",
        people.InvitationViewSet.as_view({"delete": "destroy"}),
        name="invitation",
    ),
    path("releases/", results.ReleaseViewSet.as_view(LIST_CREATE), name="releases"),
    path("releases/<int:number>/", results.ReleaseViewSet.as_view(READ), name="release"),
    path(
        "releases/<int:number>/files/<str:file>/",
        results.ReleaseViewSet.as_view({"get": "file"}),
        name="release-file",
    ),
    path(
        "releases/<int:number>/labels/",
        labels.ReleaseLabelViewSet.as_view(READ),
        name="release-labels",
    ),
    path("jobs/", results.JobViewSet.as_view(LIST), name="jobs"),
    path("jobs/<int:pk>/retry/", results.JobViewSet.as_view({"post": "retry"}), name="retry"),
    path("seats/", LabelViewSet.as_view({"post": "seats"}), name="seats"),
    path("answers/", LabelViewSet.as_view({"post": "answers"}), name="answers"),
]

v1: Addresses = [
    *account,
    path("datasets/", datasets.DatasetViewSet.as_view(LIST_CREATE), name="datasets"),
    path("datasets/<slug:name>/", include(dataset)),
    path("datasets/<slug:dataset>/", include(in_dataset)),
    path("campaigns/", campaigns.CampaignsViewSet.as_view(LIST_CREATE), name="campaigns"),
    path("campaigns/<slug:name>/", include(campaign)),
    path("campaigns/<slug:campaign>/", include(in_campaign)),
    path("seats/<slug:token>/image/", SeatViewSet.as_view({"get": "image"}), name="seat-image"),
    path("seats/<slug:token>/skip/", SeatViewSet.as_view({"post": "skip"}), name="seat-skip"),
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
