"""URLs of the API: /api/v1/, its schema and the page to browse it."""

import threading
from typing import Any, ClassVar

from django.urls import URLPattern, URLResolver, include, path, re_path
from django.views.decorators.cache import cache_page
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView
from rest_framework.routers import DynamicRoute, Route, SimpleRouter

from annotator.pages.api import AnswerViewSet, LabelViewSet, RootViewSet, SeatViewSet
from labeling.web import problems
from labeling.web.api import (
    accounts,
    campaigns,
    datasets,
    flags,
    graph,
    imports,
    labels,
    objects,
    people,
    quality,
    questions,
    results,
    texts,
    uploads,
    verification,
    vocabulary,
)
from labeling.web.api.base import BaseViewSet

Addresses = list[URLPattern | URLResolver]


class ApiRouter(SimpleRouter):
    """Router that builds Django paths. OPTIONS names the viewset even where an action answers."""

    def __init__(self) -> None:
        super().__init__(use_regex_path=False)

    def _get_dynamic_route(self, route: DynamicRoute, action: Any) -> Route:
        made = super()._get_dynamic_route(route, action)
        schema = {key: value for key, value in made.initkwargs.items() if key == "schema"}
        return made._replace(initkwargs=schema)


class ListRoutes(ApiRouter):
    """Routes of a list, its rows and their extra actions. Names are kept from the first version."""

    def __init__(self, many: str, single: str) -> None:
        self.routes = [
            Route("{prefix}/", {"get": "list", "post": "create"}, many, False, {}),
            DynamicRoute("{prefix}/{url_path}/", "{url_name}", False, {}),
            Route(
                "{prefix}/{lookup}/",
                {"get": "retrieve", "patch": "partial_update", "delete": "destroy"},
                single,
                True,
                {},
            ),
            DynamicRoute("{prefix}/{lookup}/{url_path}/", "{url_name}", True, {}),
        ]
        super().__init__()


class SingleRoutes(ApiRouter):
    """Routes of a resource that exists once: one URL reads, replaces or creates it."""

    def __init__(self, name: str) -> None:
        methods = {"get": "retrieve", "put": "update", "post": "create"}
        self.routes = [
            Route("{prefix}/", methods, name, False, {}),
            DynamicRoute("{prefix}/{url_path}/", "{url_name}", False, {}),
        ]
        super().__init__()


def rows(prefix: str, viewset: type[BaseViewSet], many: str, single: str = "") -> Addresses:
    """Return the routes of a list. single: name of a row's route; default: `many` without the s."""
    router = ListRoutes(many, single or many.removesuffix("s"))
    router.register(prefix, viewset, many)
    return router.urls


def single(prefix: str, viewset: type[BaseViewSet], name: str) -> Addresses:
    router = SingleRoutes(name)
    router.register(prefix, viewset, name)
    return router.urls


D = "datasets/<slug:dataset>/"
C = "campaigns/<slug:campaign>/"

v1: Addresses = [
    path("", RootViewSet.as_view({"get": "retrieve"}), name="root"),
    *single("me", accounts.MeViewSet, "me"),
    *rows("tokens", accounts.TokenViewSet, "tokens"),
    *single("invitations/accept", accounts.AcceptViewSet, "accept"),
    *rows("datasets", datasets.DatasetViewSet, "datasets"),
    *rows(D + "images", datasets.ImageViewSet, "images"),
    *rows(D + "imports", imports.ImportViewSet, "imports"),
    *rows(D + "labels", labels.GivenLabelViewSet, "given-labels", "label-import"),
    *rows(D + "objects", objects.ObjectViewSet, "dataset-objects", "object"),
    *rows(D + "part-imports", objects.PartImportViewSet, "part-imports"),
    *single(D + "vocabulary", vocabulary.VocabularyViewSet, "vocabulary"),
    *rows(
        D + "vocabulary/versions", vocabulary.VersionViewSet, "vocabularies", "vocabulary-version"
    ),
    *rows(D + "jobs", datasets.DatasetJobViewSet, "dataset-jobs"),
    *rows("campaigns", campaigns.CampaignsViewSet, "campaigns"),
    *rows(C + "policies", campaigns.PolicyViewSet, "policies"),
    *single(C + "texts", texts.TextsViewSet, "texts"),
    *single(C + "graph", graph.GraphViewSet, "graph"),
    *single(C + "quality", quality.QualityViewSet, "quality"),
    *single(C + "proposal-figures", quality.ProposalFiguresViewSet, "proposal-figures"),
    *single(C + "audits", quality.AuditViewSet, "audits"),
    *single(C + "pilots", quality.PilotViewSet, "pilots"),
    *rows(C + "classes", verification.VerificationViewSet, "classes", "class"),
    *rows(C + "calibrations", quality.CalibrationViewSet, "calibrations"),
    *rows(C + "standings", quality.StandingViewSet, "standings"),
    *rows(C + "blocks", quality.BlockViewSet, "blocks"),
    *rows(C + "decisions", campaigns.DecisionViewSet, "decisions"),
    *rows(C + "topics", questions.TopicViewSet, "topics"),
    *rows(C + "topics/<str:key>/examples", questions.ExampleViewSet, "examples"),
    *rows(C + "questions", questions.QuestionViewSet, "questions"),
    path(C + "objects/", questions.QuestionViewSet.as_view({"post": "objects"}), name="objects"),
    *rows(C + "gold", questions.GoldViewSet, "gold"),
    *rows(C + "flags", flags.FlagViewSet, "flags"),
    *rows(C + "members", people.MemberViewSet, "members"),
    *rows(C + "invitations", people.InvitationViewSet, "invitations"),
    *rows(C + "releases", results.ReleaseViewSet, "releases"),
    *single(C + "releases/<int:number>/labels", labels.ReleaseLabelViewSet, "release-labels"),
    *rows(C + "jobs", results.JobViewSet, "jobs"),
    path(C + "seats/", LabelViewSet.as_view({"post": "seats"}), name="seats"),
    path(C + "answers/", AnswerViewSet.as_view({"get": "list", "post": "create"}), name="answers"),
    *rows("seats", SeatViewSet, "seats"),
    *rows("uploads", uploads.UploadViewSet, "uploads"),
    path("", include("evaluation.benchmarks.api_urls")),
    path("", include("evaluation.pools.api_urls")),
    path("", include("evaluation.release_reports.api_urls")),
    path("", include("evaluation.release_splits.api_urls")),
]

app_name = "api"


class OneSchema(SchemaGenerator):
    """The OpenAPI schema, built once per process: it is the same for all users and slow to build,
    and the generator is not thread-safe.
    """

    lock = threading.Lock()
    made: ClassVar[dict[str, object] | None] = None

    def get_schema(self, request: Any = None, public: bool = False) -> dict[str, object]:
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
