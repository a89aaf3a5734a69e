"""The kinds whose truth is a release: classification, localization, detection, wsol."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from evaluation.benchmarks.kind import BenchmarkKind, Query
from evaluation.benchmarks.kinds.labeled import (
    benchmarks,
    figures,
    pages,
    running,
    tables,
)
from evaluation.benchmarks.kinds.labeled.results import LabeledResult
from evaluation.benchmarks.kinds.labeled.truth.ground_truth import CLASSIFICATION, KINDS
from evaluation.benchmarks.tables import Table
from evaluation.models import Benchmark, Run
from labeling.models import Release, User


class Labeled(BenchmarkKind[LabeledResult]):
    family = "labeled"
    names = KINDS
    title = "benchmark on released labels"
    key = "r"
    purpose = (
        "scores classification, localization, detection or score maps against the labels, boxes or "
        "parts that a campaign released."
    )
    templates = "evaluation/labeled/{part}.html"
    styles = ("css/cds.css", "css/labeled.css")
    urls = "evaluation.benchmarks.kinds.labeled.urls"
    api_urls = "evaluation.benchmarks.kinds.labeled.label_sets.api_urls"
    form = "evaluation.benchmarks.kinds.labeled.forms.LabeledForm"
    submission_form = "evaluation.benchmarks.kinds.labeled.forms.PredictionsForm"
    serializers = "evaluation.benchmarks.kinds.labeled.serializers"
    made = "The benchmark is made. Add the predictions of classifiers."
    can_remove = True
    files = {"truth.zip": "The ground truth, as “score KIND” reads it."}
    run_files = {
        "images.jsonl": "What each classifier made of every image in one scoring, a line an image."
    }
    tables = tables.TABLES

    def plan(self, **chosen: Any) -> benchmarks.Plan | None:
        return benchmarks.plan(chosen["campaign"], chosen["kind"], chosen.get("release"))

    def create(self, owner: User, **chosen: Any) -> Benchmark:
        return benchmarks.create(owner, **chosen)

    def accept(
        self, benchmark: Benchmark, actor: User, path: Path, file_name: str, name: str = ""
    ) -> list[str]:
        known = set(benchmark.submissions.values_list("name", "sha256"))
        made = benchmarks.add_submission(benchmark, actor, name, path, file_name)
        return [] if (made.name, made.sha256) in known else [made.name]

    def remove(self, benchmark: Benchmark, position: int) -> str:
        return benchmarks.remove(benchmark, position)

    def max_bytes(self) -> int:
        return benchmarks.max_bytes(self.name)

    @property
    def takes_releases(self) -> bool:
        return self.name == CLASSIFICATION

    def prepare(self, benchmark: Benchmark, run: Run) -> Release:
        return benchmark.own_release

    def score(self, benchmark: Benchmark, release: Release, run: Run) -> LabeledResult:
        return running.score(benchmark, release, run)

    def fingerprint(self, benchmark: Benchmark) -> dict[str, object]:
        return running.fingerprint(benchmark)

    def result_of(self, benchmark: Benchmark, run: Run | None) -> LabeledResult | None:
        return pages.result_of(benchmark, run)

    def result_json(self, benchmark: Benchmark, run: Run) -> Iterator[str]:
        """Yield the whole result, as the run keeps it, with the curves of WSOL."""
        curves = {
            name: kind_curves.to_json()
            for name, kind_curves in running.curves_of(benchmark, run.pk).items()
        }
        result = (run.result or {}) | {"curves": curves}
        yield from json.JSONEncoder(ensure_ascii=False, indent=1).iterencode(result)
        yield "\n"

    def filled_tables(self, result: LabeledResult) -> list[Table]:
        return tables.filled(result)

    def figures(self, result: LabeledResult) -> list[str]:
        return figures.drawn(result)

    def draw(self, name: str, result: LabeledResult, form: str, theme: str, query: Query) -> bytes:
        return figures.draw(name, result, form, theme)

    def alt(self, name: str, result: LabeledResult, query: Query) -> str:
        return figures.FIGURES[name].words(result)

    def page(
        self, benchmark: Benchmark, run: Run | None, result: LabeledResult | None, query: Query
    ) -> dict[str, object]:
        return pages.page(benchmark, run, result)

    def submissions_page(self, benchmark: Benchmark) -> dict[str, object]:
        return pages.submissions_page(benchmark)

    def open_file(self, benchmark: Benchmark, name: str) -> IO[bytes]:
        return benchmarks.open_truth(benchmark)
