from django.urls import URLPattern, path

from evaluation.release_splits.api import ReleaseSplitViewSet

_splits = "campaigns/<slug:campaign>/releases/<int:number>/splits/"
_view = ReleaseSplitViewSet.as_view
urlpatterns: list[URLPattern] = [
    path(_splits, _view({"get": "list", "post": "create"}), name="release-splits"),
    path(
        f"{_splits}<int:pk>/", _view({"get": "retrieve", "delete": "destroy"}), name="release-split"
    ),
    path(f"{_splits}<int:pk>/split.zip", _view({"get": "file"}), name="release-split-file"),
]
