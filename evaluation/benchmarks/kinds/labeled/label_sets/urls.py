"""Addresses of the pages of label sets."""

from django.urls import URLPattern, path

from evaluation.benchmarks.kinds.labeled.label_sets import views

_sets = "benchmarks/<slug:name>/label-sets/"
urlpatterns: list[URLPattern] = [
    path(_sets, views.label_sets, name="label_sets"),
    path("benchmarks/<slug:name>/label-audit/", views.label_audit, name="label_audit"),
    path(f"{_sets}<int:version>.zip", views.version_zip, name="label_sets_zip"),
]
