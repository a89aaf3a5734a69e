"""Addresses of the pages of benchmarks on released labels."""

from django.urls import URLPattern, path

from evaluation.benchmarks.kinds.labeled.images import views as image_views
from evaluation.benchmarks.kinds.labeled.label_sets import urls as label_set_urls

_benchmark = "benchmarks/<slug:name>/"
_run = f"{_benchmark}runs/<int:pk>/"
_image = f"{_run}images/<int:number>/"
urlpatterns: list[URLPattern] = [
    *label_set_urls.urlpatterns,
    path(f"{_run}images/", image_views.images, name="labeled_images"),
    path(_image, image_views.image, name="labeled_image"),
    path(f"{_image}photo", image_views.photo, name="labeled_photo"),
    path(f"{_image}map.webp", image_views.score_map, name="labeled_map"),
]
