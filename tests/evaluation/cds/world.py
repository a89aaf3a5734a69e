"""A CDS benchmark on a small release of cats and a cow, and classifiers that name its frames."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.core.files.uploadedfile import SimpleUploadedFile

from evaluation.benchmarks import folders
from evaluation.benchmarks.kinds.cds import benchmarks, running
from evaluation.models import Benchmark, Run, Submission
from evaluation.readers.sequences import SequenceLine
from labeling.models import Campaign, Dataset, User
from tests.evaluation.cds import results
from tests.labeling import part_releases
from tests.labeling.parted import CAT, COW

DOG = "n02084071"
MAPPING = {CAT: [CAT], COW: [COW]}
SCHEMES = ("intra-object", "low")
Namer = Callable[[SequenceLine, int], str]


def campaign_of(owner: User, annotator: User, dataset: Dataset) -> Campaign:
    """Two cats and a cow with drawn parts; another cat was too small."""
    return part_releases.settled(owner, annotator, dataset)


def make(owner: User, campaign: Campaign, **fields: Any) -> Benchmark:
    """Three objects by a random order and two content schemes."""
    options: dict[str, Any] = {
        "name": "reveal",
        "title": "Reveal",
        "content_schemes": SCHEMES,
        "mapping": MAPPING,
        "bootstrap": 20,
    }
    return benchmarks.create(owner, campaign=campaign, **(options | fields))


def right_at_last(line: SequenceLine, frame: int) -> str:
    """A dog, until the whole object is shown."""
    return line.category if frame == len(line.frames) - 1 else DOG


def always_right(line: SequenceLine, _frame: int) -> str:
    return line.category


def orders_of(
    campaign: Campaign, **schemes: Callable[[list[str]], list[str]]
) -> dict[str, dict[str, list[str]]]:
    """Every category's parts as the vocabulary has them, under these names."""
    parts = {
        key: [part["key"] for part in category["parts"]]
        for key, category in campaign.settings["categories"].items()
    }
    return {
        name: {key: step(keys) for key, keys in parts.items()} for name, step in schemes.items()
    }


def rows_of(benchmark: Benchmark, **classifiers: Namer) -> list[list[str]]:
    """frame, classifier, wnid of every distinct frame, classifier after classifier."""
    table = []
    for name, says in classifiers.items():
        seen = set()
        for line in benchmarks.lines_of(benchmark):
            for number, frame in enumerate(line.frames):
                if frame not in seen:
                    seen.add(frame)
                    table.append([frame, name, says(line, number)])
    return table


def write(path: Path, rows: list[list[str]]) -> Path:
    with open(path, "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["frame", "classifier", "wnid"], *rows])
    return path


def upload(rows: list[list[str]], name: str = "predictions.csv") -> SimpleUploadedFile:
    """The file that `write` writes, as a browser or a program sends it."""
    text = "".join(",".join(row) + "\n" for row in [["frame", "classifier", "wnid"], *rows])
    return SimpleUploadedFile(name, text.encode())


def add(benchmark: Benchmark, user: User, folder: Path, **classifiers: Namer) -> list[str]:
    """Brings these classifiers in by one file."""
    path = write(folder / "predictions.csv", rows_of(benchmark, **classifiers))
    return benchmarks.add_predictions(benchmark, user, path)


def run_by_hand(benchmark: Benchmark, user: User) -> Run:
    """A finished run whose classifiers were always right; its tables are made up, and so is the one
    frame that is drawn. No WordNet."""
    for position, name in enumerate(results.CLASSIFIERS):
        Submission.objects.create(
            benchmark=benchmark,
            name=name,
            position=position,
            sha256=f"{position}" * 64,
            submitted_by=user,
        )
    run = Run.objects.create(
        benchmark=benchmark,
        release=benchmark.release,
        state=Run.State.DONE,
        result=results.stored(),
        requested_by=user,
        finished_at=benchmark.created_at,
    )
    folder = folders.run_folder(benchmark, run.pk)
    folder.mkdir(parents=True)
    rows, answers = [], []
    for line in benchmarks.lines_of(benchmark):
        answer = {"wnid": line.category, "name": "cat", "similarity": 1.0, "right": True}
        scores = {"cds": 0.0, "b_cds": 0.0}
        plain = line.as_dict()
        answers.append(
            plain
            | {"answers": {name: [answer] * len(line.frames) for name in results.CLASSIFIERS}}
            | {"scores": dict.fromkeys(results.CLASSIFIERS, scores)}
        )
        rows += [plain | {"classifier": name} | scores for name in results.CLASSIFIERS]
    for name, lines in ((running.SEQUENCES, rows), (running.ANSWERS, answers)):
        (folder / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
    frame = folders.folder_of(benchmark) / "frames" / "0" / "1.webp"
    frame.parent.mkdir(parents=True)
    frame.write_bytes(b"a picture")
    return run
