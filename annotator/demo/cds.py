"""The demo's CDS benchmark: four drawn objects, revealed part by part to simulated classifiers.

annotator/demo/drawn_parts.json has carol's drawings. The simulated classifiers follow a rule in
this file: each predicts the right class once it has seen a given share of the object, and before
that a near or a far one.
"""

import csv
import json
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction

from annotator.demo import parts as parts_demonstration
from annotator.demo.joining import join
from evaluation.benchmarks import runs
from evaluation.benchmarks.kinds.cds import benchmarks
from evaluation.metrics.frames.foveation import CONTENT_SCHEMES
from evaluation.metrics.frames.part_order import RANDOM
from evaluation.models import Benchmark
from evaluation.readers.sequences import SequenceLine, write_sequences
from labeling.answers import submitting
from labeling.answers.submitted_answers import uuid7
from labeling.assignment import claiming
from labeling.campaigns import lifecycle
from labeling.datasets import objects, vocabulary_store
from labeling.exchange import part_campaigns
from labeling.files import atomic_write
from labeling.models import Campaign, Dataset, Seat, User
from labeling.parts.model import PartedObject
from labeling.releases import freezing

SOURCE = Path(__file__).resolve().parent / "drawn_parts.json"
NAME, BENCHMARK = "demo-drawn", "demo-cds"
DRAWER = parts_demonstration.DRAWER
POLICY = parts_demonstration.POLICY | {"votes": 1, "review": "disputed"}
# Two orders of each category's parts: a random one and a guess of how people look.
SEED = 1
PART_ORDERS = {
    "n02121620": ["eye", "nose", "ear", "head", "whiskers", "neck", "torso", "leg", "paw", "tail"],
    "n00007846": [
        "head",
        "eye",
        "hair",
        "mouth",
        "nose",
        "eyebrow",
        "ear",
        "hand",
        "torso",
        "arm",
        "neck",
        "leg",
        "foot",
    ],
    "n02374451": ["head", "eye", "muzzle", "ear", "neck", "torso", "leg", "tail", "hoof"],
}
# ILSVRC classes that count as each category; none is simply a person.
MAPPING = {
    "n02121620": ["n02123045", "n02123159", "n02123394", "n02123597", "n02124075"],
    "n00007846": ["n09835506", "n10148035", "n10565667"],
    "n02374451": ["n02389026"],
}
# The predicted class for each category if right, near, and far.
PREDICTED_CLASSES = {
    "n02121620": ("n02123045", "n02119789", "n03063599"),
    "n00007846": ("n10148035", "n02480855", "n03724870"),
    "n02374451": ("n02389026", "n02403003", "n04344873"),
}
# Share of the frames that each classifier needs, and how much less by content scheme.
NEEDED_SHARES = {"aurora": 0.45, "borealis": 0.6, "cirrus": 0.8}
HELP = {"intra-object": 0.0, "intra-object-and-neighbourhood": 0.1, "low": 0.05, "higher": 0.25}


def load(users: dict[str, User], owner: User, dataset: Dataset) -> Benchmark:
    """Create the benchmark on carol's drawings on the first call; return it. Safe to call again.

    users: by name, at least carol. The dataset has a vocabulary and parts_demonstration's objects.
    """
    campaign = _drawn_campaign(users[DRAWER], owner, dataset)
    benchmark = opened(campaign, owner, BENCHMARK, "CDS demo: 3 simulated classifiers")
    if not benchmark.submissions.exists():
        predictions = _write_files(benchmark, Path(settings.DATA_DIR) / "demo" / "revealed")
        benchmarks.add_predictions(benchmark, owner, predictions)
        runs.request(benchmark, owner)
    return benchmark


def opened(campaign: Campaign, owner: User, name: str, title: str) -> Benchmark:
    """Return the benchmark of that name on the drawn objects, created if there is none."""
    return Benchmark.objects.filter(name=name).first() or benchmarks.create(
        owner,
        name=name,
        title=title,
        campaign=campaign,
        release=freezing.freeze(campaign, owner),
        part_schemes=[RANDOM, "by-eye"],
        content_schemes=CONTENT_SCHEMES,
        orders={"by-eye": PART_ORDERS},
        mapping=MAPPING,
        seed=SEED,
        min_images=1,
    )


@transaction.atomic
def _drawn_campaign(user: User, owner: User, dataset: Dataset) -> Campaign:
    """Create a closed campaign in which this person drew every object of the file."""
    existing = Campaign.objects.filter(name=NAME).first()
    if existing is not None:
        return existing
    drawings = json.loads(SOURCE.read_text(encoding="utf-8"))
    version = vocabulary_store.in_force(dataset)
    known = {category.name: category.key for category in vocabulary_store.read(version).categories}
    objects.put(
        dataset,
        [
            PartedObject(image, known[drawing["category"]], _corners(drawing["box"]))
            for image, drawing in drawings.items()
            if "box" in drawing
        ],
        source="drawn by hand for the demonstration",
        words={key: name for name, key in known.items()},
    )
    campaign = part_campaigns.draft(
        owner,
        dataset,
        version=version,
        name=NAME,
        title="Part polygons demo: finished objects",
        policy=POLICY,
        instructions=parts_demonstration.INSTRUCTIONS,
        settings={"ask_half": False},
    )
    lifecycle.launch(campaign, owner)
    join(campaign, owner, [user])
    _draw(user, campaign, drawings)
    lifecycle.change_state(campaign, owner, "close")
    return campaign


def _corners(box: list[float]) -> tuple[float, float, float, float]:
    left, top, width, height = box
    return (left, top, left + width, top + height)


def _draw(user: User, campaign: Campaign, drawings: dict[str, Any]) -> None:
    while seats := claiming.next_page(user, campaign).seats:
        tokens = [seat.token for seat in seats]
        taken = Seat.objects.filter(token__in=tokens).select_related("question__item__image")
        sent = [
            submitting.SubmittedAnswer(
                uuid7(),
                seat.token,
                {
                    "parts": _part_labels(drawings[seat.question.item.image.name]["parts"]),
                    "half": True,
                },
                120_000,
            )
            for seat in taken
        ]
        submitting.submit(user, campaign, sent)


def _part_labels(parts: dict[str, Any]) -> dict[str, Any]:
    return {
        key: {"state": value} if isinstance(value, str) else {"state": "drawn", "polygons": value}
        for key, value in parts.items()
    }


def _write_files(benchmark: Benchmark, folder: Path) -> Path:
    """Write the input of `manage.py score cds`: sequences.jsonl, mapping.csv and predictions.csv;
    return the path of the last.
    """
    folder.mkdir(parents=True, exist_ok=True)
    lines = benchmarks.lines_of(benchmark)
    write_sequences(folder / "sequences.jsonl", lines)
    rows = ((category, wnid) for category, wnids in MAPPING.items() for wnid in wnids)
    _write_csv(folder / "mapping.csv", ("category", "wnid"), rows)
    prediction_rows = (
        (frame, classifier, wnid)
        for classifier in NEEDED_SHARES
        for line in lines
        for frame, wnid in _answers(classifier, line).items()
    )
    return write_predictions(folder, prediction_rows)


def write_predictions(folder: Path, rows: Iterable[Sequence[str]]) -> Path:
    """Write rows of frame, classifier and wnid as predictions.csv; return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    _write_csv(folder / "predictions.csv", ("frame", "classifier", "wnid"), rows)
    return folder / "predictions.csv"


def _write_csv(path: Path, head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    with atomic_write(path) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(head)
        writer.writerows(rows)


def _answers(classifier: str, line: SequenceLine) -> dict[str, str]:
    """Return {frame: class}: far, then near, then right as more is revealed; it differs by
    object.
    """
    chance = zlib.crc32(f"{classifier}|{line.image}|{line.part_scheme}".encode()) / 2**32
    need = NEEDED_SHARES[classifier] - HELP[line.content_scheme] + (chance - 0.5) * 0.5
    known, near, far = PREDICTED_CLASSES[line.category]
    count = len(line.frames)
    return {
        frame: known if step / count >= need else near if step / count >= need / 2 else far
        for step, frame in enumerate(line.frames, 1)
    }
