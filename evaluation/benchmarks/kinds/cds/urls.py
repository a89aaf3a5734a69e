"""Addresses of the pages of CDS benchmarks."""

from django.urls import URLPattern, path

from evaluation.benchmarks.kinds.cds import people_views, result_views

_benchmark = "benchmarks/<slug:name>/"
_run = f"{_benchmark}runs/<int:pk>/"
_sequence = f"{_run}sequences/<int:number>/"
urlpatterns: list[URLPattern] = [
    path(f"{_benchmark}people/", people_views.people, name="cds_people"),
    path(f"{_run}sequences/", result_views.objects, name="cds_objects"),
    path(_sequence, result_views.viewer, name="cds_viewer"),
    path(f"{_sequence}frames/", result_views.frames, name="cds_frames"),
    path(f"{_sequence}frames/<int:frame>.webp", result_views.frame, name="cds_frame"),
    path(f"{_run}galleries/", result_views.galleries, name="cds_galleries"),
]
