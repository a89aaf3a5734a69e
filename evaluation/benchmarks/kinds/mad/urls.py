"""The pages that MAD competitions alone have."""

from django.urls import URLPattern, path

from evaluation.benchmarks.kinds.mad import views

_one = "benchmarks/<slug:name>/"
urlpatterns: list[URLPattern] = [
    path(f"{_one}accuracies/", views.accuracies, name="accuracies"),
    path(f"{_one}true-labels/", views.true_labels, name="true_labels"),
    path(f"{_one}pairs/<int:first>/<int:second>/", views.gallery, name="gallery"),
]
