"""The kinds whose truth is a release: classification, localization, detection, wsol."""

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import IO, Any

from django.db import transaction

from evaluation.benchmarks.access import check_images
from evaluation.benchmarks.kinds.labeled import benchmarks, model_runs, paths, scoremap_zips
from evaluation.benchmarks.kinds.labeled.images import pages as images
from evaluation.benchmarks.kinds.labeled.pages import LabeledPages, images_of
from evaluation.benchmarks.kinds.labeled.running import LabeledScoring
from evaluation.benchmarks.kinds.labeled.truth.ground_truth import CLASSIFICATION, KINDS, WSOL
from evaluation.benchmarks.model_work import ModelUse, ModelWork
from evaluation.benchmarks.submissions import lock_benchmark, submission_at
from evaluation.models import Benchmark
from evaluation.release_splits import parts
from labeling.errors import Refusal
from labeling.models import User


class Labeled(LabeledScoring, LabeledPages):
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
    submission_form = "evaluation.benchmarks.kinds.labeled.forms.LabeledPredictionsForm"
    serializers = "evaluation.benchmarks.kinds.labeled.serializers"
    made = "Benchmark created. Add the predictions of classifiers."
    can_remove = True
    files = {
        "truth.zip": "The ground truth, as “score KIND” reads it.",
        "images.txt": "The names of the images to predict, one per line.",
    }
    run_files = {
        "images.jsonl": "What each classifier made of every image in one scoring, a line an image.",
        "newest.jsonl": "The same by the newest truth; null where a classifier has no score there.",
    }

    uses_of_image = staticmethod(images.uses_of_image)  # type: ignore[assignment]
    images_predicted = staticmethod(images.images_predicted)  # type: ignore[assignment]

    def plan(self, **chosen: Any) -> benchmarks.LabeledPlan | None:
        return benchmarks.plan(**chosen)

    def create(self, owner: User, **chosen: Any) -> Benchmark:
        return benchmarks.create(owner, **chosen)

    def accept(
        self, benchmark: Benchmark, actor: User, path: Path, file_name: str, name: str = ""
    ) -> list[str]:
        known = set(benchmark.submissions.values_list("name", "sha256"))
        made = benchmarks.add_submission(benchmark, actor, name, path, file_name)
        return [] if (made.name, made.sha256) in known else [made.name]

    def remove(self, benchmark: Benchmark, position: int) -> str:
        """Remove a classifier and its files; its attempts stay counted if it joins again."""
        with transaction.atomic():
            benchmark = lock_benchmark(benchmark)
            row = submission_at(benchmark, position)
            earlier = benchmark.settings.get(benchmarks.EARLIER_ATTEMPTS, {}) | {
                row.name: row.attempts
            }
            benchmark.settings = benchmark.settings | {benchmarks.EARLIER_ATTEMPTS: earlier}
            benchmark.save(update_fields=["settings"])
            benchmarks.remove_later(row)
            row.delete()
        return row.name

    def max_bytes(self) -> int:
        return benchmarks.max_bytes(self.name)

    @property
    def baseline(self) -> Path | None:
        return scoremap_zips.BASELINE_FOLDER if self.name == WSOL else None

    @property
    def takes_releases(self) -> bool:
        return self.name == CLASSIFICATION

    @property
    def model_use(self) -> ModelUse | None:
        return model_runs.USES.get(self.name)

    def model_work(
        self, benchmark: Benchmark, folder: Path, method: str, classes: Sequence[str]
    ) -> ModelWork:
        return model_runs.work(benchmark, folder, method, classes)

    def open_file(self, benchmark: Benchmark, name: str) -> IO[bytes]:
        try:
            if name == "images.txt":
                return BytesIO("".join(f"{image}\n" for image in images_of(benchmark)).encode())
            check_images(benchmark)
            return open(paths.truth_zip(benchmark), "rb")
        except FileNotFoundError:
            raise Refusal(paths.TRUTH_GONE) from None

    def hidden(self, benchmarks: Sequence[Benchmark], user: User) -> set[int]:
        return parts.hidden(benchmarks, user)
