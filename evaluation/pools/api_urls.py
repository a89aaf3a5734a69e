from django.urls import URLPattern, path

from evaluation.pools import api
from evaluation.pools.selection_api import PoolSelectionViewSet

_runs = "benchmarks/<slug:benchmark>/model-runs/"
_pools = "datasets/<slug:dataset>/pools/"
_selections = f"{_pools}<int:pool>/selections/"
_selection = f"{_selections}<int:pk>/"
_view = PoolSelectionViewSet.as_view
_run = api.ModelRunViewSet.as_view
urlpatterns: list[URLPattern] = [
    path("models/", api.ModelViewSet.as_view({"get": "list", "post": "create"}), name="models"),
    path("models/<str:name>/", api.ModelViewSet.as_view({"delete": "destroy"}), name="model"),
    path(_runs, _run({"get": "list", "post": "create"}), name="model-runs"),
    path(f"{_runs}<int:pk>/", _run({"get": "retrieve"}), name="model-run"),
    path(_pools, api.PoolViewSet.as_view({"get": "list", "post": "create"}), name="pools"),
    path(f"{_pools}upload/", api.PoolViewSet.as_view({"post": "upload"}), name="pool-upload"),
    path(f"{_pools}<int:pk>/", api.PoolViewSet.as_view({"get": "retrieve"}), name="pool"),
    path(f"{_pools}<int:pk>/pool.zip", api.PoolViewSet.as_view({"get": "file"}), name="pool-file"),
    path(_selections, _view({"get": "list", "post": "create"}), name="pool-selections"),
    path(f"{_selections}plan/", _view({"post": "plan"}), name="pool-selection-plan"),
    path(_selection, _view({"get": "retrieve"}), name="pool-selection"),
    path(f"{_selection}selection.jsonl", _view({"get": "file"}), name="pool-selection-file"),
    path(
        f"{_selection}overlap/<int:to>/", _view({"get": "overlap"}), name="pool-selection-overlap"
    ),
    path(
        f"{_selection}competition/",
        _view({"post": "competition"}),
        name="pool-selection-competition",
    ),
]
