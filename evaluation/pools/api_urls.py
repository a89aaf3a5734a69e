from django.urls import URLPattern, path

from evaluation.pools import api

_pools = "datasets/<slug:dataset>/pools/"
urlpatterns: list[URLPattern] = [
    path("models/", api.ModelViewSet.as_view({"get": "list", "post": "create"}), name="models"),
    path("models/<str:name>/", api.ModelViewSet.as_view({"delete": "destroy"}), name="model"),
    path(_pools, api.PoolViewSet.as_view({"get": "list", "post": "create"}), name="pools"),
    path(f"{_pools}<int:pk>/", api.PoolViewSet.as_view({"get": "retrieve"}), name="pool"),
    path(f"{_pools}<int:pk>/pool.zip", api.PoolViewSet.as_view({"get": "file"}), name="pool-file"),
]
