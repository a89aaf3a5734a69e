"""API addresses of MAD competitions."""

from django.urls import URLPattern, path

from evaluation.benchmarks.kinds.mad import api

urlpatterns: list[URLPattern] = [
    path("accuracies/", api.CompetitionViewSet.as_view({"put": "accuracies"}), name="accuracies"),
    path("selections/", api.SelectionViewSet.as_view({"get": "list"}), name="selections"),
    path("true-labels/", api.SelectionViewSet.as_view({"post": "true_labels"}), name="true-labels"),
]
