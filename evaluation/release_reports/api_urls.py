from django.urls import URLPattern, path

from evaluation.release_reports.api import ReleaseReportViewSet

_report = "campaigns/<slug:campaign>/releases/<int:number>/report/"
_view = ReleaseReportViewSet.as_view
urlpatterns: list[URLPattern] = [
    path(_report, _view({"get": "retrieve", "post": "windows"}), name="release-report"),
]
