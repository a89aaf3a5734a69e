"""API addresses of MAD competitions."""

from django.urls import URLPattern, path

from evaluation.benchmarks.kinds.mad import api

_competition = api.CompetitionViewSet.as_view
urlpatterns: list[URLPattern] = [
    path("accuracies/", _competition({"put": "accuracies"}), name="accuracies"),
    path("case-iii/", _competition({"get": "case_three"}), name="case-three"),
    path("classes/", _competition({"get": "classes"}), name="predicted-classes"),
    path("classes/<path:key>/", _competition({"get": "class_images"}), name="class-images"),
    path(
        "failure-tags/",
        api.FailureTagViewSet.as_view({"get": "list", "put": "set_tags"}),
        name="failure-tags",
    ),
    path(
        "failure-tags/counts/",
        api.FailureTagViewSet.as_view(
            {"get": "counts"}, pagination_class=None, filterset_class=None
        ),
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
