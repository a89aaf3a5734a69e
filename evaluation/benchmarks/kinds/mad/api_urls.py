"""API addresses of MAD competitions."""

from django.urls import URLPattern, path

from evaluation.benchmarks.kinds.mad import api

urlpatterns: list[URLPattern] = [
    path("accuracies/", api.CompetitionViewSet.as_view({"put": "accuracies"}), name="accuracies"),
    path(
        "failure-tags/",
        api.FailureTagViewSet.as_view({"get": "list", "put": "set_tags"}),
        name="failure-tags",
    ),
    path(
        "failure-tags/counts/",
        api.FailureTagViewSet.as_view({"get": "counts"}),
        name="failure-tag-counts",
    ),
    path(
        "failure-tags/vocabulary/",
        api.FailureTagViewSet.as_view({"put": "vocabulary"}),
        name="failure-tag-vocabulary",
    ),
    path("selections/", api.SelectionViewSet.as_view({"get": "list"}), name="selections"),
    path("true-labels/", api.SelectionViewSet.as_view({"post": "true_labels"}), name="true-labels"),
]
