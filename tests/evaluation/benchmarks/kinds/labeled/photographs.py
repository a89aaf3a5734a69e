"""Benchmarks of every kind with a real run, to look at: photographs, boxes, several submissions."""

import csv
import random
from pathlib import Path
from typing import Any

import numpy as np

from evaluation.benchmarks import runs
from evaluation.benchmarks.kinds.labeled import benchmarks, paths
from evaluation.models import Benchmark, Run
from evaluation.readers.wsol_folders import read_boxes
from labeling.campaigns import lifecycle
from labeling.datasets import images, objects, vocabulary_store
from labeling.exchange import part_campaigns
from labeling.geometry.polygons import Polygons
from labeling.jobs import queue
from labeling.models import Campaign, Dataset, User
from labeling.parts.model import PartedObject
from tests import factories
from tests.evaluation.benchmarks.kinds.labeled import world
from tests.labeling import part_releases
from tests.labeling.parted import CAT, COW, VOCABULARY, drawn

TABBY, CUP = "n02123045", "n07930864"
# Where each thing is, in shares of its photograph: x0, y0, x1, y1.
CATS = {
    "chelsea.png": [(0.1, 0.05, 0.95, 0.98)],
    "coffee.png": [(0.3, 0.1, 0.8, 0.7), (0.02, 0.5, 0.3, 0.95)],
    "astronaut.png": [(0.5, 0.3, 0.98, 0.9)],
    "rocket.jpg": [(0.35, 0.1, 0.6, 0.9)],
}
COWS = {"motorcycle_left.png": [(0.1, 0.4, 0.6, 0.95)], "coffee.png": [(0.6, 0.6, 0.9, 0.95)]}


def campaign_of(owner: User, annotator: User, dataset: Dataset) -> Campaign:
    """Cats and cows on five real photographs, every one of them settled."""
    import skimage

    folder = Path(skimage.__file__).parent / "data"
    vocabulary_store.add_version(dataset, VOCABULARY, owner)
    parted_objects = []
    for name in dict.fromkeys([*CATS, *COWS]):
        with (folder / name).open("rb") as file:
            image = images.add_file(dataset, name, file).image
        for wnid, boxes in ((CAT, CATS.get(name, [])), (COW, COWS.get(name, []))):
            for number, share in enumerate(boxes):
                box = scaled(share, (0, 0, image.width, image.height))
                parted_objects.append(
                    PartedObject(name, wnid, box, (), name=f"{wnid}-{number + 1}")
                )
    objects.put(dataset, parted_objects, "the importer", words={CAT: "cat", COW: "cow"})
    campaign = part_campaigns.draft(
        owner, dataset, name="animals", title="Animals", policy=part_releases.POLICY
    )
    lifecycle.launch(campaign, owner)
    factories.join(annotator, campaign)
    for question in campaign.questions.select_related("item", "policy"):
        part_releases.settle(question, annotator, drawn(torso=polygon(question.item.region)))
    return campaign


def scaled(shares: Any, box: Any) -> tuple[int, ...]:
    x0, y0, x1, y1 = box
    across, down = x1 - x0, y1 - y0
    left, top, right, bottom = shares
    corners = x0 + left * across, y0 + top * down, x0 + right * across, y0 + bottom * down
    return tuple(round(value) for value in corners)


def polygon(box: Any) -> Polygons:
    x0, y0, x1, y1 = (float(value) for value in box)
    return ((((x0, y0), (x1, y0), (x1, y1), (x0, y1)),),)


def truth_rows(benchmark: Benchmark) -> list[dict[str, str]]:
    with open(paths.truth_folder(benchmark) / "truth.csv", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def predictions_of(benchmark: Benchmark, skill: float) -> Any:
    """What a classifier of this skill (0 to 1) sends in; the same each time."""
    chance = random.Random(f"{benchmark.kind}{skill}")
    if benchmark.kind == "wsol":
        return world.packed(
            {
                f"{image.name}.npy": world.npy(score_map(image, skill))
                for image in read_boxes(paths.truth_folder(benchmark))
            }
        )
    rows = truth_rows(benchmark)
    if benchmark.kind == "classification":
        return [
            (row["image"], rank + 1, wnid)
            for row in rows
            for rank, wnid in enumerate(ranked_labels(row["wnid"], chance.random() < skill))
        ]
    return [line for row in rows for line in placed(row, chance, skill)]


def ranked_labels(wnid: str, right: bool) -> list[str]:
    others = [
        wnid_beside for wnid_beside in (TABBY, CUP, world.DOG, COW, CAT) if wnid_beside != wnid
    ]
    return [wnid, *others[:2]] if right else others[:3]


def placed(row: dict[str, str], chance: random.Random, skill: float) -> list[tuple[Any, ...]]:
    """The true box moved by the lack of skill, and another one somewhere else."""
    box = [float(row[key]) for key in ("x0", "y0", "x1", "y1")]
    shift = (1 - skill) * (box[2] - box[0]) * (0.3 + 0.7 * chance.random())
    moved = [round(max(0.0, box[0] - shift), 1), box[1], round(box[2] - shift, 1), box[3]]
    wrong_box = [5, 5, 60 + round(60 * chance.random()), 90]
    wrong = COW if row["wnid"] == CAT else CAT
    lines = [(row["image"], row["wnid"], 0.9 - 0.3 * (1 - skill), *moved)]
    return [*lines, (row["image"], wrong, round(0.2 + 0.5 * chance.random(), 2), *wrong_box)]


def score_map(image: Any, skill: float) -> Any:
    """A bump where the first object is, beside it where there is little skill. 28 × 28."""
    x0, y0, x1, y1 = image.boxes[0]
    middle = ((x0 + x1) / 2 / image.width, (y0 + y1) / 2 / image.height)
    y, x = np.mgrid[0:28, 0:28] / 27
    wide = max((x1 - x0) / image.width, (y1 - y0) / image.height) / 2.2
    bump = ((x - middle[0] - (1 - skill) / 3) ** 2 + (y - middle[1]) ** 2) / wide**2
    return np.exp(-bump).astype(np.float32)


def make(owner: User, campaign: Campaign, kind: str, **fields: Any) -> Benchmark:
    name = fields.pop("name", kind)
    return benchmarks.create(
        owner, kind=kind, name=name, title=f"Animals, {kind}", campaign=campaign, **fields
    )


def scored(benchmark: Benchmark, owner: User, folder: Path, **skills: float) -> Run:
    """A run of these classifiers, done."""
    for name, skill in skills.items():
        world.submit(benchmark, owner, folder, name, predictions_of(benchmark, skill))
    run = runs.request(benchmark, owner)
    queue.run_all()
    run.refresh_from_db()
    assert run.state == Run.State.DONE, run.error
    return run
