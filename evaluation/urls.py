from django.urls import URLPattern, URLResolver, include, path, register_converter
from django.urls.converters import StringConverter

from evaluation.benchmarks import truth_views, views
from evaluation.benchmarks.kind import families
from evaluation.benchmarks.views import moved
from evaluation.pools import selection_views
from evaluation.pools import views as pools
from evaluation.release_reports import views as release_reports
from evaluation.release_splits import views as splits


class FileConverter(StringConverter):
    """The name of a downloadable file."""

    regex = r"[\w-]+\.(?:jsonl|json|zip|txt)"


register_converter(FileConverter, "file")

app_name = "evaluation"
_benchmark = "benchmarks/<slug:name>/"
_release = "campaigns/<slug:name>/releases/<int:number>/"
_splits = f"{_release}splits/"
_selections = "datasets/<slug:name>/pools/<int:pk>/selections/"
_run = f"{_benchmark}runs/<int:pk>/"
_kinds: list[URLPattern | URLResolver] = [
    path("", include(kind.urls)) for kind in families().values() if kind.urls
]
# Addresses of earlier versions, and old names of current ones.
_moved: list[URLPattern | URLResolver] = [
    path("benchmarks/new/", moved("new", family="mad"), name="benchmark_new"),
    path("benchmarks/new/released/", moved("new", family="labeled"), name="released_new"),
    path(f"{_benchmark}classifiers/add/", moved("submissions"), name="add_classifier"),
    path(f"{_benchmark}predictions/", moved("submissions"), name="cds_predictions"),
    path(
        f"{_benchmark}predictions/<int:position>/remove/",
        moved("remove", "POST"),
        name="cds_remove",
    ),
]
_old_names: list[URLPattern | URLResolver] = [
    path("benchmarks/new/cds/", moved("new", family="cds"), name="cds_new"),
    path(f"{_benchmark}submissions/", moved("submissions"), name="released_submissions"),
    path(
        f"{_benchmark}submissions/<int:position>/remove/", moved("remove"), name="released_remove"
    ),
    *(
        path(f"{_benchmark}{file}", moved("file", "GET", file=file), name=name)
        for file, name in (
            ("selection.jsonl", "selection"),
            ("truth.zip", "released_truth"),
            ("sequences.jsonl", "cds_lines"),
            ("orders.json", "cds_orders"),
        )
    ),
    *(
        path(f"{_run}{file}", moved("run_file", "GET", file=file), name=name)
        for file, name in (
            ("answers.jsonl", "answers"),
            ("sequences.jsonl", "cds_sequences"),
            ("images.jsonl", "released_lines"),
        )
    ),
    *(
        path(f"{_run}images/{end}", moved(f"labeled_{name}", "GET"), name=f"released_{name}")
        for end, name in (
            ("", "images"),
            ("<int:number>/", "image"),
            ("<int:number>/photo", "photo"),
            ("<int:number>/map.webp", "map"),
        )
    ),
]
urlpatterns: list[URLPattern | URLResolver] = [
    path("benchmarks/", views.benchmarks, name="benchmarks"),
    *_moved,
    path("benchmarks/new/<slug:family>/", views.new, name="new"),
    *_kinds,
    path(_benchmark, views.benchmark, name="benchmark"),
    path(f"{_benchmark}undo/", views.benchmark_undo, name="benchmark_undo"),
    path("nightly/", truth_views.night, name="night"),
    path(f"{_benchmark}truth/", truth_views.versions, name="truth"),
    path(f"{_benchmark}truth/<int:version>.zip", truth_views.version_zip, name="truth_zip"),
    path(f"{_benchmark}score/", views.score, name="score"),
    path(f"{_benchmark}submissions/", views.submissions, name="submissions"),
    path(f"{_benchmark}submissions/<int:position>/remove/", views.remove, name="remove"),
    path(f"{_benchmark}<file:file>", views.file, name="file"),
    path(_run, views.run, name="run"),
    path(f"{_run}result.json", views.result_json, name="result_json"),
    path(f"{_run}<file:file>", views.run_file, name="run_file"),
    path(f"{_run}<slug:table>.csv", views.result_csv, name="result_csv"),
    path(f"{_run}<slug:figure>.<str:form>", views.figure, name="figure"),
    *_old_names,
    path(_release, release_reports.release, name="release"),
    path(_splits, splits.splits, name="splits"),
    path(f"{_splits}<int:pk>/delete/", splits.split_delete, name="split_delete"),
    path(f"{_splits}<int:pk>/split.zip", splits.split_file, name="split_file"),
    path(f"{_benchmark}models/", pools.benchmark_models, name="benchmark_models"),
    path("models/", pools.models, name="models"),
    path("models/<str:model>/remove/", pools.model_remove, name="model_remove"),
    path("datasets/<slug:name>/pools/", pools.pools, name="pools"),
    path("datasets/<slug:name>/pools/<int:pk>/pool.zip", pools.pool_file, name="pool_file"),
    path(_selections, selection_views.selections, name="pool_selections"),
    path(f"{_selections}<int:selection>/", selection_views.selection, name="pool_selection"),
    path(
        f"{_selections}<int:selection>/selection.jsonl",
        selection_views.selection_file,
        name="pool_selection_file",
    ),
]
