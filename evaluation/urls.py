from django.urls import URLPattern, URLResolver, include, path

from evaluation.benchmarks import views

app_name = "evaluation"
_one = "benchmarks/<slug:name>/"
_run = f"{_one}runs/<int:pk>/"
urlpatterns: list[URLPattern | URLResolver] = [
    path("benchmarks/", views.benchmarks, name="benchmarks"),
    path("benchmarks/new/", views.benchmark_new, name="benchmark_new"),
    path("", include("evaluation.benchmarks.kinds.cds.urls")),
    path("", include("evaluation.benchmarks.kinds.labeled.urls")),
    path(_one, views.benchmark, name="benchmark"),
    path(f"{_one}score/", views.score, name="score"),
    path(f"{_one}classifiers/add/", views.add_classifier, name="add_classifier"),
    path(f"{_one}accuracies/", views.accuracies, name="accuracies"),
    path(f"{_one}true-labels/", views.true_labels, name="true_labels"),
    path(f"{_one}pairs/<int:first>/<int:second>/", views.gallery, name="gallery"),
    path(f"{_one}selection.jsonl", views.selection, name="selection"),
    path(_run, views.run, name="run"),
    path(f"{_run}result.json", views.result_json, name="result_json"),
    path(f"{_run}answers.jsonl", views.answers, name="answers"),
    path(f"{_run}<slug:table>.csv", views.result_csv, name="result_csv"),
    path(f"{_run}<slug:figure>.<str:form>", views.figure, name="figure"),
]
