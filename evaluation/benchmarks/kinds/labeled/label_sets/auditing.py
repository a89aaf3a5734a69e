"""Doubtful labels of a classification benchmark, and asking people about them again.

The raters are the annotators of the campaign, the submissions (by their first class) and near
duplicates (by their labels); see evaluation/scoring/label_audit.py. An image whose fingerprint is
not stored yet has no near duplicates.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from evaluation.benchmarks import runs
from evaluation.benchmarks.access import check_images
from evaluation.benchmarks.kinds.labeled import class_names
from evaluation.benchmarks.kinds.labeled.images import pages
from evaluation.benchmarks.kinds.labeled.label_sets.reviews import check_kind
from evaluation.models import Benchmark, Run
from evaluation.scoring.label_audit import doubts
from labeling.db.cached import cached
from labeling.db.sql import batches
from labeling.errors import Conflict
from labeling.kinds import KINDS
from labeling.kinds.base import IMAGES
from labeling.models import Answer, Campaign, Image, Question, User
from labeling.near_duplicates.fingerprints import STORED, from_bytes
from labeling.near_duplicates.search import pairs
from labeling.quality import asking_more

# Rows per page; images per query.
PAGE_SIZE, BATCH = 50, 1_000
# Seconds for which a ranking is cached, so that a page and the click on it use the same one.
KEPT_SECONDS = 300.0
NEAR_DUPLICATE = "near duplicate"
# The class of a vote that rejects the label without naming another class.
ANOTHER_CLASS = "another class"


class Statement(NamedTuple):
    """The class that a rater names for an image."""

    rater: str
    image: str
    name: str


@dataclass(frozen=True)
class DoubtfulLabel:
    """A label, the likeliest other class ("" if no rater named one), and the contradictions."""

    image: str
    label: str
    likeliest: str
    margin: float
    contradictions: list[Statement]


def ranking(row: Benchmark) -> list[DoubtfulLabel]:
    """Return the contradicted labels of the newest result, the most doubtful first.

    Raises Conflict without a result.
    """
    check_kind(row)
    check_images(row)
    run = runs.latest(row)
    if run is None:
        raise Conflict("The audit compares labels with predictions. Score the benchmark first.")
    return cached(f"label-audit-{run.pk}", lambda: _ranking(row, run), KEPT_SECONDS)


def _ranking(row: Benchmark, run: Run) -> list[DoubtfulLabel]:
    labels, statements = _predictions(row, run)
    statements += _votes(row.campaign, labels)
    statements += _near(row, labels)
    classes = {
        name: at
        for at, name in enumerate(sorted({*labels.values()} | {s.name for s in statements}))
    }
    raters = {
        name: at for at, name in enumerate(sorted({statement.rater for statement in statements}))
    }
    images = {name: at for at, name in enumerate(labels)}
    outcome = doubts(
        np.array([classes[name] for name in labels.values()], np.int64),
        np.array([raters[statement.rater] for statement in statements], np.int64),
        np.array([images[statement.image] for statement in statements], np.int64),
        np.array([classes[statement.name] for statement in statements], np.int64),
        len(classes),
    )
    against: dict[str, list[Statement]] = defaultdict(list)
    for statement in statements:
        if statement.name != labels[statement.image]:
            against[statement.image].append(statement)
    names, by_index = [*labels], [*classes]
    ranked = []
    for at in outcome.ranked().tolist():
        image, likeliest = names[at], int(outcome.likeliest[at])
        if against[image]:
            name = by_index[likeliest] if likeliest >= 0 else ""
            margin = float(outcome.margins[at])
            ranked.append(DoubtfulLabel(image, labels[image], name, margin, against[image]))
    return ranked


def _predictions(row: Benchmark, run: Run) -> tuple[dict[str, str], list[Statement]]:
    """Return the label of each image, and the first class of each submission."""
    labels: dict[str, str] = {}
    statements = []
    for line in pages.index_of(row, run).lines[:]:
        if not line["classes"]:
            continue
        labels[line["image"]] = line["classes"][0]
        for classifier, outcome in line["outcomes"].items():
            first = ((outcome or {}).get("labels") or [None])[0]
            if first is not None:
                # Any class of the image is right, so it counts as the label.
                name = line["classes"][0] if first in line["classes"] else first
                statements.append(Statement(classifier, line["image"], name))
    return labels, statements


def _votes(campaign: Campaign, labels: Mapping[str, str]) -> Iterator[Statement]:
    """Yield the last answer of each person to the questions behind the labels."""
    kind = KINDS[campaign.kind]
    for part in batches([*labels], BATCH):
        answers = (
            Answer.objects.filter(
                late=False, assignment__question__in=_questions(campaign, labels, part)
            )
            .order_by("assignment", "revision")
            .values_list(
                "assignment",
                "assignment__annotator__pseudonym",
                "assignment__question__item__image__name",
                "value",
            )
        )
        latest = {seat: (person, image, value) for seat, person, image, value in answers}
        for person, image, value in latest.values():
            word = kind.tally_name(value)
            if kind.asks != IMAGES:
                word = {"yes": labels[image], "no": ANOTHER_CLASS}.get(word, "")
            if word and (kind.asks != IMAGES or isinstance(value, dict)):
                yield Statement(person, image, word)


def _questions(campaign: Campaign, labels: Mapping[str, str], images: Sequence[str]) -> list[int]:
    """Return the questions behind these labels: about the image and its class, or, in a naming
    campaign, about the image.
    """
    rows = Question.objects.for_consensus().filter(
        campaign=campaign, item__image__dataset=campaign.dataset_id, item__image__name__in=images
    )
    is_named = KINDS[campaign.kind].asks == IMAGES
    return [
        pk
        for pk, topic, image in rows.values_list("pk", "topic", "item__image__name")
        if is_named or topic == labels[image]
    ]


def _near(row: Benchmark, labels: Mapping[str, str]) -> Iterator[Statement]:
    """Yield the label of each stored near duplicate."""
    rows = Image.objects.filter(dataset=row.campaign.dataset_id).exclude(fingerprint=None)
    kept = {
        name: bytes(stored or b"")
        for name, stored in rows.values_list("name", "fingerprint").iterator(chunk_size=BATCH)
        if name in labels
    }
    kept = {name: stored for name, stored in kept.items() if len(stored) == STORED}
    # Equal fingerprints are one entry of the search, under the name of the first image.
    first: dict[bytes, str] = {}
    for name, stored in kept.items():
        twin = first.setdefault(stored, name)
        if twin != name:
            yield from (
                Statement(NEAR_DUPLICATE, name, labels[twin]),
                Statement(NEAR_DUPLICATE, twin, labels[name]),
            )
    if len(first) > 1:
        names = [*first.values()]
        hits = pairs(np.array([from_bytes(stored) for stored in first]))
        for low, high in zip(hits.query.tolist(), hits.entry.tolist(), strict=True):
            yield Statement(NEAR_DUPLICATE, names[low], labels[names[high]])
            yield Statement(NEAR_DUPLICATE, names[high], labels[names[low]])


def ask_again(row: Benchmark, actor: User, count: int, people: int) -> asking_more.AskedMore:
    """Ask this many more people about the `count` most doubtful labels."""
    doubtful = {entry.image: entry.label for entry in ranking(row)[:count]}
    questions = _questions(row.campaign, doubtful, [*doubtful])
    reason = f"Label audit of {row.title}"
    return asking_more.ask_more(row.campaign, questions, people, actor, reason)


def page(row: Benchmark) -> dict[str, object]:
    """Return the most doubtful labels with their images, or the obstacle, for the page."""
    try:
        ranked = ranking(row)
    except Conflict as refusal:
        return {"obstacle": refusal.message}
    dataset, name = row.campaign.dataset, class_names.namer(row)
    rows = dataset.images.filter(name__in=[entry.image for entry in ranked[:PAGE_SIZE]])
    images = {image.name: image for image in rows}
    return {
        "total": len(ranked),
        "rows": [
            {
                "entry": entry,
                "label": name(entry.label),
                "likeliest": name(entry.likeliest) if entry.likeliest else "",
                "against": [
                    (
                        statement.rater,
                        statement.name if statement.name == ANOTHER_CLASS else name(statement.name),
                    )
                    for statement in entry.contradictions
                ],
                "image": images.get(entry.image),
            }
            for entry in ranked[:PAGE_SIZE]
        ],
    }
