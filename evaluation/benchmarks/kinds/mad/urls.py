"""Addresses of the pages of MAD competitions."""

from django.urls import URLPattern, path

from evaluation.benchmarks.kinds.mad import views

_benchmark = "benchmarks/<slug:name>/"
urlpatterns: list[URLPattern] = [
    path(f"{_benchmark}accuracies/", views.accuracies, name="accuracies"),
    path(f"{_benchmark}true-labels/", views.true_labels, name="true_labels"),
    path(f"{_benchmark}case-iii.csv", views.case_three, name="case_three"),
    path(f"{_benchmark}classes/", views.class_images, name="class_images"),
    path(f"{_benchmark}failure-tags/", views.tags, name="failure_tags"),
    path(f"{_benchmark}failure-tags.csv", views.tag_counts, name="failure_tag_counts"),
    path(f"{_benchmark}failure-tags/<int:selection>/", views.tag, name="failure_tag"),
    path(f"{_benchmark}pairs/<int:first>/<int:second>/", views.gallery, name="gallery"),
]
