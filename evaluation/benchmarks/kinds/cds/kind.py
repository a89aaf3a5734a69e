"""The kind `cds`: how much of an object a classifier must see."""

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from django.db import transaction

from evaluation.benchmarks import folders, truth_versions
from evaluation.benchmarks.kind import BenchmarkKind
from evaluation.benchmarks.kinds.cds import benchmarks, running, sequence_pages
from evaluation.benchmarks.kinds.cds.choosing import CdsChoice, CdsPlan, parts_asked
from evaluation.benchmarks.kinds.cds.pages import CdsPages
from evaluation.benchmarks.kinds.cds.running import CdsScoring
from evaluation.benchmarks.model_work import CLASSES, IMAGES, ModelUse, ModelWork
from evaluation.benchmarks.submissions import lock_benchmark, submission_at
from evaluation.metrics.frames.sequences import PartsError
from evaluation.models import Benchmark, Run
from evaluation.readers.sequences import read_sequences
from evaluation.sequences.part_orders import as_text
from labeling.errors import Refusal
from labeling.models import User
from labeling.releases import freezing
from labeling.reports.image_page import ImageUse

SEQUENCES_GONE = (
    "The sequences of this run are no longer on this server. Score the benchmark again."
)


class Cds(CdsScoring, CdsPages):
    family = "cds"
    names = ("cds",)
    title = "CDS benchmark"
    key = "c"
    purpose = (
        "reveals objects part by part and measures how much of an object a classifier must see. It "
        "needs a campaign in which people draw parts."
    )
    counted = "object"
    model_use = ModelUse()
    templates = "evaluation/cds/{part}.html"
    styles = ("css/cds.css",)
    urls = "evaluation.benchmarks.kinds.cds.urls"
    form = "evaluation.benchmarks.kinds.cds.forms.CDSForm"
    submission_form = "evaluation.benchmarks.kinds.cds.forms.CdsPredictionsForm"
    serializers = "evaluation.benchmarks.kinds.cds.serializers"
    has_plan = True
    made = "Benchmark created. Upload the predictions of classifiers for its frames."
    scoring = "Comparing answers with the true categories, then resampling images."
    names_in_file = True
    can_remove = True
    files = {
        "sequences.jsonl": "sequences.jsonl: the ids of the frames to classify.",
        "orders.json": "orders.json: input of “manage.py sequences” for the same frames.",
    }
    run_files = {
        "sequences.jsonl": "CDS and B-CDS of every sequence and classifier in one scoring, a line "
        "each.",
        "answers.jsonl": "cds: every sequence with each classifier's answer to each frame, a line "
        "each.",
    }
    refusals = (*BenchmarkKind.refusals, PartsError)
    create = staticmethod(benchmarks.create)  # type: ignore[assignment]

    def plan(self, **chosen: Any) -> CdsPlan | None:
        campaign, release = chosen["campaign"], chosen.get("release")
        choice = {key: value for key, value in chosen.items() if key in vars(CdsChoice())}
        return benchmarks.plan(campaign, CdsChoice(**choice), release)

    def accept(
        self, benchmark: Benchmark, actor: User, path: Path, file_name: str, name: str = ""
    ) -> list[str]:
        return benchmarks.add_predictions(benchmark, actor, path, file_name)

    def remove(self, benchmark: Benchmark, position: int) -> str:
        with transaction.atomic():
            row = submission_at(lock_benchmark(benchmark), position)
            if row.is_people:
                raise Refusal("People answer in their own campaign; they cannot be removed here.")
            benchmarks.remove_later(row)
            row.delete()
        return row.name

    def model_work(
        self, benchmark: Benchmark, folder: Path, method: str, classes: Sequence[str]
    ) -> ModelWork:
        """Return `classify` on the frames of the newest truth."""
        version, stated = truth_versions.newest(benchmark), benchmark.settings
        assert version is not None, "its truth is a release"
        for name in self.files:
            with self.open_file(benchmark, name) as file:
                (folder / name).write_bytes(file.read())
        command = [
            "classify",
            str(freezing.read(version.release).folder.absolute()),
            f"--images={IMAGES}",
            "--sequences=sequences.jsonl",
            "--orders=orders.json",
            *(f"--part-scheme={name}" for name in stated["part_schemes"]),
            *(f"--content-scheme={name}" for name in stated["content_schemes"]),
            *["--include-empty"] * stated["include_empty"],
            f"--classes={CLASSES}",
            "--out=predictions.csv",
        ]
        images = {line.image for line in read_sequences(folder / "sequences.jsonl")}
        return ModelWork(images, command, folder / "predictions.csv")

    def uses_of_image(self, benchmarks: Sequence[Benchmark], image: str) -> list[ImageUse]:
        return sequence_pages.uses_of_image(benchmarks, image)

    def result_json(self, benchmark: Benchmark, run: Run) -> Iterator[str]:
        """Return the whole result as in docs/explanation/cds.md, with sequences from the run's
        file.
        """
        path = folders.run_folder(benchmark, run.pk) / running.SEQUENCES
        if not path.is_file():
            raise Refusal(SEQUENCES_GONE)
        return _parts(run.result or {}, path)

    def open_file(self, benchmark: Benchmark, name: str) -> IO[bytes]:
        if name == "orders.json":
            stated, parts = benchmark.settings, parts_asked(benchmark.campaign)
            text = as_text(parts, stated["orders"], settings={"seed": stated["seed"]})
            return io.BytesIO(text.encode())
        return benchmarks.open_lines(benchmark)


def _parts(result: Mapping[str, object], path: Path) -> Iterator[str]:
    head = {key: value for key, value in result.items() if key != "tables"}
    yield json.dumps(head, ensure_ascii=False)[:-1] + (", " if head else "") + '"sequences": ['
    with open(path, encoding="utf-8") as file:
        for at, line in enumerate(file):
            yield (",\n" if at else "\n") + line.rstrip("\n")
    yield '\n], "tables": ' + json.dumps(result["tables"], ensure_ascii=False) + "}\n"
