"""The root of the site: the labeling pages here, the other parts' urls included."""

from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path

urlpatterns: list[URLPattern | URLResolver] = [
    path("", include("labeling.urls")),
    path("", include("evaluation.urls")),
    path("accounts/", include("allauth.urls")),
    path("admin/", admin.site.urls),
]
