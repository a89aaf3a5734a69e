"""API addresses of benchmarks: for all kinds, for single kinds, and deprecated ones."""

from collections import defaultdict
from typing import Any

from django.urls import URLPattern, URLResolver, include, path

from evaluation.benchmarks import api
from evaluation.benchmarks.kind import families
from evaluation.benchmarks.serializers import PredictionsUpload, SelectionUpload

Addresses = list[URLPattern | URLResolver]
# URL names of files whose names are older than the rule in _file_addresses.
NAMES = {
    "selection.jsonl": "selection-file",
    "truth.zip": "truth",
    "sequences.jsonl": "lines",
    "orders.json": "orders",
    "runs/sequences.jsonl": "sequences",
    "runs/images.jsonl": "run-images",
    "runs/newest.jsonl": "run-newest",
    "runs/answers.jsonl": "answers",
}


def _file_addresses() -> Addresses:
    """Return an address for each file name that at least one kind has."""
    descriptions: dict[str, list[str]] = defaultdict(list)
    for kind in families().values():
        for name, text in kind.files.items():
            descriptions[name].append(text)
        for name, text in kind.run_files.items():
            descriptions[f"runs/{name}"].append(text)
    addresses: Addresses = []
    for key, texts in descriptions.items():
        folder, _, name = key.rpartition("/")
        route, action = (f"runs/<int:pk>/{name}", "run_file") if folder else (name, "file")
        view = api.files(name, texts).as_view({"get": action})
        addresses.append(path(route, view, name=NAMES.get(key, key.replace("/", "-"))))
    return addresses


_old_mad = api.old_submissions(
    "mad",
    SelectionUpload,
    "Lets classifiers join by the lines of `mad add`: only their pairs are asked about.",
)
_old_cds = api.old_submissions(
    "cds",
    PredictionsUpload,
    "Classifiers join, or take these predictions in place of their old ones.\n\n"
    "Then the benchmark is scored. `joined` names those that changed: the same file again changes "
    "nothing.",
)
in_benchmark: Addresses = [
    path(
        "submissions/",
        api.SubmissionViewSet.as_view({"get": "list", "post": "create"}),
        name="submissions",
    ),
    path(
        "submissions/<str:classifier>/",
        api.SubmissionViewSet.as_view({"put": "update", "delete": "destroy"}),
        name="submission",
    ),
    path(
        "truth-versions/",
        api.TruthVersionViewSet.as_view({"get": "list"}),
        name="truth-versions",
    ),
    path(
        "truth-versions/<int:version>.zip",
        api.TruthVersionViewSet.as_view({"get": "archive"}),
        name="truth-version-zip",
    ),
    path("runs/", api.RunViewSet.as_view({"get": "list", "post": "create"}), name="runs"),
    path("runs/<int:pk>/", api.RunViewSet.as_view({"get": "retrieve"}), name="run"),
    *_file_addresses(),
    *(path("", include(kind.api_urls)) for kind in families().values() if kind.api_urls),
    # Addresses from before `submissions/`.
    path("classifiers/", _old_mad.as_view({"get": "list", "post": "create"}), name="classifiers"),
    path("classifiers/<int:position>/", _old_cds.as_view({"delete": "remove"}), name="classifier"),
    path("predictions/", _old_cds.as_view({"post": "create"}), name="predictions"),
]


def _makers() -> Addresses:
    """Return two addresses per family: create a benchmark, and plan one."""
    addresses: Addresses = []
    for family in families():
        view, prefix = api.maker(family), f"benchmark-kinds/{family}/"
        addresses += [
            path(f"{prefix}benchmarks/", view.as_view({"post": "create"}), name=f"{family}-new"),
            path(f"{prefix}plans/", view.as_view({"post": "plan"}), name=f"{family}-plans"),
        ]
    return addresses


# Each family's deprecated addresses: route and URL name to create a benchmark, then to plan one.
OLD_MAKERS = {
    "mad": ("benchmarks/", "benchmarks", "benchmark-plans/", "plan"),
    "cds": ("cds-benchmarks/", "new-cds", "cds-benchmark-plans/", "cds-plan"),
    "labeled": (
        "released-benchmarks/",
        "new-released",
        "released-benchmark-plans/",
        "released-plan",
    ),
}


def _old_makers() -> Addresses:
    addresses: Addresses = []
    if "mad" not in families():
        all_benchmarks = api.BenchmarkViewSet.as_view({"get": "list"})
        addresses.append(path("benchmarks/", all_benchmarks, name="benchmarks"))
    for family in OLD_MAKERS.keys() & families().keys():
        create_route, create_name, plan_route, plan_name = OLD_MAKERS[family]
        view = api.maker(family, deprecated=True)
        # The old address for creating MAD competitions is also the list of all benchmarks.
        actions: Any = {"post": "create"} | ({"get": "list"} if family == "mad" else {})
        addresses += [
            path(create_route, view.as_view(actions), name=create_name),
            path(plan_route, view.as_view({"post": "plan"}), name=plan_name),
        ]
    return addresses


urlpatterns: Addresses = [
    *_makers(),
    *_old_makers(),
    path(
        "benchmarks/<slug:name>/",
        api.BenchmarkViewSet.as_view(
            {"get": "retrieve", "patch": "partial_update", "delete": "destroy"}
        ),
        name="benchmark",
    ),
    *(
        path(
            f"benchmarks/<slug:name>/{action}/",
            api.BenchmarkViewSet.as_view({method: action}),
            name=f"benchmark-{action}",
        )
        for action, method in (
            ("dependents", "get"),
            ("archive", "post"),
            ("unarchive", "post"),
            ("rename", "post"),
        )
    ),
    path("benchmarks/<slug:benchmark>/", include(in_benchmark)),
]
