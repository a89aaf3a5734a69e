"""Addresses of the pages of MAD competitions."""

from django.urls import URLPattern, path

from evaluation.benchmarks.kinds.mad import views

_benchmark = "benchmarks/<slug:name>/"
urlpatterns: list[URLPattern] = [
    path(f"{_benchmark}accuracies/", views.accuracies, name="accuracies"),
    path(f"{_benchmark}true-labels/", views.true_labels, name="true_labels"),
    path(f"{_benchmark}case-iii.csv", views.case_three, name="case_three"),
    path(f"{_benchmark}pairs/<int:first>/<int:second>/", views.gallery, name="gallery"),
]
