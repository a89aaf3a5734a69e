"""API addresses of benchmarks on released labels."""

from django.urls import URLPattern, path

from evaluation.benchmarks.kinds.labeled.label_sets.api import ReviewViewSet

urlpatterns: list[URLPattern] = [
    path("reviews/", ReviewViewSet.as_view({"get": "list", "post": "create"}), name="reviews"),
    path(
        "label-sets/",
        ReviewViewSet.as_view({"get": "versions", "post": "apply"}),
        name="label-sets",
    ),
    path(
        "label-sets/<int:version>.zip",
        ReviewViewSet.as_view({"get": "archive"}),
        name="label-sets-zip",
    ),
]
