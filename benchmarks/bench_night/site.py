"""A site with campaigns of three kinds, benchmarks of six, and their submissions.

Used in processes of their own, with Django set up. Answers and settlements are written in bulk.
"""

import csv
import io
import json
import random
import tempfile
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

NAMES = ("alpha", "beta", "gamma")
SIZE = (64, 64)
MAP = 14
HALF, RIGHT = 20, 0.6
LABELED = ("classification", "localization", "detection", "wsol")
BOXED = {"box": [8.0, 6.0, 40.0, 44.0], "how": "drag", "flags": []}
POLICY = {"gold_share": 0, "votes": 1, "max_votes": 1, "min_votes": 1}


def build(images: int) -> None:
    """Make the campaigns, label some images in each, open the benchmarks and submit to them."""
    from benchmarks import worlds
    from evaluation.benchmarks.kinds.cds import benchmarks as cds
    from evaluation.benchmarks.kinds.labeled import benchmarks as labeled
    from evaluation.benchmarks.kinds.mad import competitions
    from evaluation.metrics.wordnet.nouns import load as load_wordnet
    from labeling.campaigns import lifecycle
    from labeling.datasets import objects, vocabulary_store
    from labeling.exchange import part_campaigns
    from labeling.parts.model import Part, PartedObject

    owner, pond = worlds.begin()
    names = worlds.add_images(pond, images + images // 10, SIZE)
    classes = _classes()
    competition = competitions.create(
        owner,
        name="mad",
        title="mad",
        dataset=pond,
        lines=_selection(names, classes),
        wordnet=load_wordnet(),
        policy=POLICY,
        settings={"bootstrap": 200},
    )
    boxes = worlds.campaign(owner, pond, "boxes", "boxes", checks=1, second_looks=0)
    lifecycle.define_topics(boxes, [{"key": wnid, "name": wnid} for wnid in classes])
    keys = ("head", "torso", "leg", "tail")
    categories = [
        {"key": wnid, "name": wnid, "parts": [{"key": key, "name": key} for key in keys]}
        for wnid in classes
    ]
    vocabulary_store.add_version(pond, {"title": "animals", "categories": categories}, owner)
    head = Part("head", _square(4, 4, 20, 20))
    whole = (0.0, 0.0, 60.0, 60.0)
    animals = [
        PartedObject(name, classes[n % len(classes)], whole, (head,))
        for n, name in enumerate(names)
    ]
    objects.put(pond, animals, "an import")
    parts = part_campaigns.draft(owner, pond, name="parts", title="parts", policy=POLICY)
    for campaign in (competition.campaign, boxes, parts):
        type(campaign).objects.filter(pk=campaign.pk).update(state="open")
    worlds.add_people(1, competition.campaign, boxes, parts)
    label([0, images])
    following = {"min_images": 1, "title": "following"}
    for kind in LABELED:
        truth = competition.campaign if kind == "classification" else boxes
        made = labeled.create(owner, kind=kind, name=kind, campaign=truth, **following)
        for name in NAMES:
            _enter(made, name)
    schemes = ("intra-object", "low")
    revealed = cds.create(
        owner,
        name="cds",
        campaign=parts,
        content_schemes=schemes,
        mapping={wnid: [wnid] for wnid in classes},
        bootstrap=200,
        **following,
    )
    for name in NAMES:
        _enter(revealed, name)
    worlds.end()


def label(numbers: list[int]) -> None:
    """Settle all questions about `count` images from the nth on. numbers: n and count."""
    from labeling.models import Campaign, Item, Question

    first, count = numbers
    competition, boxes, parts = (
        Campaign.objects.get(name=name) for name in ("mad", "boxes", "parts")
    )
    names = _names()[first : first + count]
    classes = _classes()
    for campaign in (competition, parts):
        rows = campaign.questions.filter(item__image__name__in=names)
        questions = list(rows.select_related("item__image").order_by("pk"))
        drawn = {"state": "drawn", "polygons": [[[[22, 6], [50, 6], [50, 40], [22, 40]]]]}
        polygons = {"parts": {"torso": drawn, "leg": {"state": "occluded"}}, "half": True}
        values = [
            polygons if campaign == parts else _is_right(question.item.image.name, question.topic)
            for question in questions
        ]
        _settle(campaign, questions, values)
    whole = Item.objects.filter(region__isnull=True).values_list("image__name", "pk")
    item_of = dict(whole)
    made, values = [], []
    for n, name in enumerate(names, first):
        box = BOXED["box"]
        contents = (None, {"number": 1, "boxes": [], "box": box, "came": "drawn"})
        steps = zip(
            ("draw", "check", "cover"),
            (*contents, {"number": 2, "boxes": [box]}),
            (BOXED, "good", "complete"),
            strict=True,
        )
        for number, (step, content, value) in enumerate(steps):
            values.append(value)
            made.append(
                Question(
                    campaign=boxes,
                    item_id=item_of[name],
                    topic=classes[n % len(classes)],
                    round=number,
                    step=step,
                    content=content,
                    policy_id=boxes.policy_id,
                    lane=1,
                    ticket=3 * n + number + 1,
                    seats_free=0,
                )
            )
    Question.objects.bulk_create(made, batch_size=2_000)
    boxes.last_ticket = 3 * (first + count)
    boxes.save()
    _settle(boxes, made, values)


def submit_late(_: Any) -> None:
    """Add a submission on all images to each benchmark except MAD."""
    from evaluation.models import Benchmark

    for made in Benchmark.objects.exclude(kind="mad"):
        _enter(made, "late")


def _settle(campaign: Any, questions: list[Any], values: list[Any]) -> None:
    """Answer and settle these questions by one person."""
    from django.utils import timezone

    from labeling.answers.submitted_answers import uuid7
    from labeling.db import question_counts
    from labeling.models import Answer, Question, Seat, Settlement, User

    person, now = User.objects.get(username="person0"), timezone.now()
    seats = [
        Seat(question=each, annotator=person, subject=each.pk, state="answered", leased_until=now)
        for each in questions
    ]
    Seat.objects.bulk_create(seats, batch_size=2_000)
    answers = [
        Answer(id=uuid7(), assignment=seat, value=value, duration_ms=900)
        for seat, value in zip(seats, values, strict=True)
    ]
    Answer.objects.bulk_create(answers, batch_size=2_000)
    Settlement.objects.bulk_create(
        (
            Settlement(
                question=answer.assignment.question,
                policy_id=campaign.policy_id,
                value=answer.value,
                probability=1.0,
                answers=[str(answer.pk)],
            )
            for answer in answers
        ),
        batch_size=2_000,
    )
    pks = [each.pk for each in questions]
    for start in range(0, len(pks), 2_000):
        part = Question.objects.filter(pk__in=pks[start : start + 2_000])
        part.update(state="settled", seats_free=0)
    question_counts.reconcile(campaign.pk)


def _selection(names: list[str], classes: list[str]) -> list[dict[str, Any]]:
    """Return the lines of a MAD selection of all images, a third of them for each pair."""
    pairs = [("alpha", "beta"), ("alpha", "gamma"), ("beta", "gamma")]
    lines: list[dict[str, Any]] = [
        {
            "pair": [*pairs[n % 3]],
            "rank": n // 3 + 1,
            "image": name,
            "labels": _labels(classes, n),
            "confidences": [0.9, 0.85],
            "distance": 1 / (n + 1),
        }
        for n, name in enumerate(names)
    ]
    meta = {"classifiers": [*NAMES], "classifier_order": "sorted", "top_k": len(names) // 3 + 1}
    rules = {"min_confidence": 0.8, "max_per_label": len(names), "distance": "weighted"}
    return [{"meta": meta | rules | {"reserve": 0}}, *lines]


def _labels(classes: list[str], n: int) -> list[str]:
    return [classes[n % HALF], classes[HALF + n % HALF]]


def _is_right(image: str, wnid: str) -> str:
    """Return the answer to a yes/no question: the first label is right, at times also another."""
    is_first = wnid in _classes()[:HALF]
    return "yes" if is_first == (random.Random(image).random() < RIGHT) else "no"


def _classes() -> list[str]:
    import evaluation.readers

    path = Path(evaluation.readers.__file__).parent / "data" / "ilsvrc2012.txt"
    return path.read_text().split()[: 2 * HALF]


def _names() -> list[str]:
    from labeling.models import Image

    return list(Image.objects.order_by("pk").values_list("name", flat=True))


def _square(x0: float, y0: float, x1: float, y1: float) -> Any:
    return (((((x0, y0), (x1, y0), (x1, y1), (x0, y1))),),)


def _enter(made: Any, name: str) -> None:
    """Submit random predictions for the newest truth."""
    from evaluation.benchmarks import truth_versions
    from evaluation.benchmarks.kind import kind_of

    with tempfile.TemporaryDirectory() as folder:
        truth = Path(folder)
        kind_of(made).write_truth(made, truth_versions.newest_number(made), truth)
        path = WRITERS[made.kind](truth, random.Random(name), name)
        kind_of(made).accept(made, made.created_by, path, path.name, name)


def _write_labels(folder: Path, chance: random.Random, _: str) -> Path:
    classes = _classes()
    rows = [(image, 1, chance.choice([wnid, *classes])) for image, wnid in _rows(folder)]
    return _written(folder, ("image", "rank", "wnid"), rows)


def _write_boxes(folder: Path, chance: random.Random, _: str) -> Path:
    def shaken(box: Iterable[str]) -> list[float]:
        return [float(side) + chance.uniform(-6, 6) for side in box]

    rows = [(image, wnid, chance.random(), *shaken(box)) for image, wnid, *box in _rows(folder)]
    return _written(folder, ("image", "wnid", "confidence", "x0", "y0", "x1", "y1"), rows)


def _write_maps(folder: Path, chance: random.Random, name: str) -> Path:
    import numpy as np

    rows, columns = np.mgrid[:MAP, :MAP]
    path = folder / "maps.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for image in (folder / "image_ids.txt").read_text().split():
            content = io.BytesIO()
            x, y = chance.uniform(3, MAP - 3), chance.uniform(3, MAP - 3)
            distance = (rows - y) ** 2 + (columns - x) ** 2
            np.save(content, np.exp(-distance / MAP).astype(np.float32))
            archive.writestr(f"{image}.npy", content.getvalue())
    return path


def _write_frames(folder: Path, chance: random.Random, name: str) -> Path:
    classes, frames = _classes(), dict[str, str]()
    for text in (folder / "sequences.jsonl").read_text().splitlines():
        line = json.loads(text)
        for frame in line["frames"]:
            frames[frame] = chance.choice([line["category"], *classes])
    rows = [(frame, name, wnid) for frame, wnid in frames.items()]
    return _written(folder, ("frame", "classifier", "wnid"), rows)


WRITERS: dict[str, Callable[[Path, random.Random, str], Path]] = {
    "classification": _write_labels,
    "localization": _write_boxes,
    "detection": _write_boxes,
    "wsol": _write_maps,
    "cds": _write_frames,
}


def _rows(folder: Path) -> list[list[str]]:
    with (folder / "truth.csv").open(newline="") as file:
        return list(csv.reader(file))[1:]


def _written(folder: Path, head: Iterable[str], rows: Iterable[Iterable[object]]) -> Path:
    path = folder / "sent.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([head, *rows])
    return path
