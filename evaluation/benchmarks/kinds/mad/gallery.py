"""Counterexamples of a pair: its images, both predictions and people's answers.

Shows current answers; scores only use frozen releases (runs.py).
"""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Exists, OuterRef, Q, Subquery, TextField
from django.db.models.functions import Cast
from django.urls import reverse

from evaluation.benchmarks.kinds.mad import competitions, true_labels
from evaluation.benchmarks.tables import Column, Table
from evaluation.models import Benchmark, Selection, Submission
from labeling.consensus import settling
from labeling.datasets import image_ranks
from labeling.models import Image, Item, Question, Topic
from labeling.reports.image_browser import PredictionFilter
from labeling.reports.image_page import ImageUse

CASES = ("I", "II", "III", "pending", "dropped")
# An image may be selected for every pair of classifiers.
MAX_USES = 50
WORDS = {"yes": "yes", "no": "no", "hard": "too hard", "not_photo": "not a photograph"}


@dataclass
class Prediction:
    """One classifier's label for the image, and the answers to it."""

    classifier: str
    wnid: str
    name: str
    confidence: float
    question: int | None = None
    state: str = ""
    # None until people settled it as yes or no.
    right: bool | None = None
    votes: list[tuple[str, int]] = field(default_factory=list)
    distance_to_truth: float | None = None
    # Failure tags of the reader, and of others with their names (failure_tags.py).
    tags: list[str] = field(default_factory=list)
    tags_of_others: list[str] = field(default_factory=list)


@dataclass
class GalleryEntry:
    """One image of the pair."""

    selection: Selection
    image_id: int | None
    predictions: list[Prediction]
    case: str
    truth: str = ""
    truth_name: str = ""
    asked_for_truth: bool = False

    @property
    def has_wrong(self) -> bool:
        is_chosen = self.selection.state == Selection.State.CHOSEN
        return is_chosen and any(prediction.right is False for prediction in self.predictions)

    @property
    def tags(self) -> list[str]:
        """Return the reader's tags, each once."""
        return list(dict.fromkeys(tag for row in self.predictions for tag in row.tags))

    @property
    def mean_distance(self) -> float | None:
        """Return the mean distance of both labels from the true one; None if it is not known."""
        distances = [prediction.distance_to_truth for prediction in self.predictions]
        known = [distance for distance in distances if distance is not None]
        return sum(known) / len(known) if known else None


def entries(benchmark: Benchmark, first: Submission, second: Submission) -> list[GalleryEntry]:
    """Return the pair's chosen and dropped images by rank, without reserves."""
    rows = benchmark.selections.filter(first=first, second=second)
    rows = rows.exclude(state=Selection.State.RESERVE).select_related("first", "second")
    return entries_of(benchmark, rows.order_by("rank"))


def entries_of(benchmark: Benchmark, rows: Iterable[Selection]) -> list[GalleryEntry]:
    """Return the entries of these rows, in their order."""
    rows = list(rows)
    images = [row.image for row in rows]
    questions = _questions(benchmark, images)
    votes = settling.tallies(benchmark.campaign, [pk for pk, _ in questions.values()])
    values = true_labels.settled_values(benchmark.campaign, set(images))
    names = competitions.class_names(benchmark.campaign)
    ids = dict(
        Image.objects.filter(dataset=benchmark.campaign.dataset, name__in=images).values_list(
            "name", "pk"
        )
    )

    def prediction(row: Selection, classifier: str, wnid: str, confidence: float) -> Prediction:
        question, state = questions.get((row.image, wnid), (None, ""))
        value = values.get((row.image, wnid))
        tally = votes.get(question, Counter()) if question is not None else Counter[str]()
        return Prediction(
            classifier,
            wnid,
            names.get(wnid, wnid),
            confidence,
            question,
            state,
            right=value == "yes" if value in ("yes", "no") else None,
            votes=[(WORDS.get(word, word), count) for word, count in tally.most_common()],
        )

    gallery_entries = []
    for row in rows:
        predictions = [
            prediction(row, row.first.name, row.first_label, row.first_confidence),
            prediction(row, row.second.name, row.second_label, row.second_confidence),
        ]
        gallery_entries.append(
            GalleryEntry(row, ids.get(row.image), predictions, _case(row, predictions))
        )
    _add_truths(benchmark, gallery_entries, names)
    return gallery_entries


def by_distance(gallery_entries: Iterable[GalleryEntry]) -> list[GalleryEntry]:
    """Return the entries by mean distance, largest first; unknown distances come last."""
    return sorted(
        gallery_entries,
        key=lambda entry: (entry.mean_distance is None, -(entry.mean_distance or 0)),
    )


def case_three(benchmark: Benchmark) -> list[GalleryEntry]:
    """Return the entries of all pairs on which both classifiers are wrong, by distance."""
    chosen = benchmark.selections.filter(state=Selection.State.CHOSEN)
    rows = true_labels.both_wrong(benchmark, chosen.select_related("first", "second"))
    parts = range(0, len(rows), true_labels.BATCH)
    wrong = [
        entry
        for start in parts
        for entry in entries_of(benchmark, rows[start : start + true_labels.BATCH])
    ]
    return by_distance(wrong)


def counts(gallery_entries: Sequence[GalleryEntry]) -> list[tuple[str, int]]:
    """Return the number of entries of each case, in the order of CASES."""
    tally = Counter(entry.case for entry in gallery_entries)
    return [(case, tally[case]) for case in CASES]


def _questions(benchmark: Benchmark, images: list[str]) -> dict[tuple[str, str], tuple[int, str]]:
    rows = Question.objects.filter(
        campaign_id=benchmark.campaign_id, round=0, item__image__name__in=images
    ).values_list("item__image__name", "topic", "pk", "state")
    return {(image, topic): (pk, state) for image, topic, pk, state in rows}


def _case(row: Selection, predictions: Sequence[Prediction]) -> str:
    if row.state == Selection.State.DROPPED:
        return "dropped"
    right = [prediction.right for prediction in predictions]
    if None in right:
        return "pending"
    return ("III", "II", "I")[sum(map(bool, right))]


def _add_truths(
    benchmark: Benchmark, gallery_entries: Sequence[GalleryEntry], names: dict[str, str]
) -> None:
    if benchmark.naming is None:
        return
    wrong = [entry for entry in gallery_entries if entry.case == "III"]
    images = [entry.selection.image for entry in wrong]
    question_images = set(
        benchmark.naming.questions.filter(item__image__name__in=images).values_list(
            "item__image__name", flat=True
        )
    )
    settled = true_labels.true_labels(benchmark, images)
    words = {"none": "none of the classes", "dropped": "too hard to tell"}
    classes = {entry["key"]: entry["name"] for entry in benchmark.naming.settings["vocabulary"]}
    for entry in wrong:
        entry.asked_for_truth = entry.selection.image in question_images
        entry.truth = settled.get(entry.selection.image, "")
        if entry.truth:
            entry.truth_name = words.get(entry.truth) or classes.get(entry.truth, entry.truth)
            _measure(benchmark, entry)


def _measure(benchmark: Benchmark, entry: GalleryEntry) -> None:
    from evaluation.metrics.wordnet import nouns

    measured = true_labels.distances_to(
        entry.truth,
        [prediction.wnid for prediction in entry.predictions],
        benchmark.settings["meta"].get("distance", "weighted"),
        nouns.load_or_none(),
    )
    for prediction, distance in zip(entry.predictions, measured, strict=True):
        prediction.distance_to_truth = distance


# Every image of case III with a line per pair, for its CSV file.
CASE_THREE = Table(
    "case-iii",
    lambda gallery_entries: gallery_entries,
    (
        Column("first", of=lambda entry: entry.predictions[0].classifier),
        Column("second", of=lambda entry: entry.predictions[1].classifier),
        Column("image", of=lambda entry: entry.selection.image),
        Column("rank", of=lambda entry: entry.selection.rank),
        Column("first_label", of=lambda entry: entry.predictions[0].wnid),
        Column("second_label", of=lambda entry: entry.predictions[1].wnid),
        Column("true_label", of=lambda entry: entry.truth),
        Column("first_distance", of=lambda entry: entry.predictions[0].distance_to_truth),
        Column("second_distance", of=lambda entry: entry.predictions[1].distance_to_truth),
        Column("mean_distance"),
    ),
)


def uses_of_image(rows: Sequence[Benchmark], image: str) -> list[ImageUse]:
    """Return the pairs of classifiers that the image was selected for, with both predictions."""
    lines = Selection.objects.filter(benchmark__in=rows, image=image)
    for which in ("first", "second"):
        topics = Topic.objects.filter(
            campaign=OuterRef("benchmark__campaign"), key=OuterRef(f"{which}_label")
        )
        lines = lines.annotate(**{f"{which}_name": Subquery(topics.values("name")[:1])})
    lines = lines.select_related("benchmark", "first", "second")
    image_uses = []
    line: Any
    for line in lines[:MAX_USES]:
        pair = [line.benchmark.name, line.first.position, line.second.position]
        url = f"{reverse('evaluation:gallery', args=pair)}#image-{line.pk}"
        predictions = (
            (line.first, line.first_name or line.first_label, line.first_confidence),
            (line.second, line.second_name or line.second_label, line.second_confidence),
        )
        words = "; ".join(
            f"{row.name}: {name} ({confidence:.2f})" for row, name, confidence in predictions
        )
        image_uses.append(
            ImageUse(f"{line.benchmark.title}, image {line.rank} of a pair", url, words)
        )
    return image_uses


def images_predicted(
    rows: Sequence[Benchmark], names: Sequence[str], chosen: PredictionFilter
) -> set[str]:
    """Return those of the images that were selected with such a prediction."""
    _, _, submission = chosen.submission.partition("/")
    topics = Topic.objects.filter(campaign__in=[row.campaign_id for row in rows])
    keys = topics.filter(name__iexact=chosen.text).values("key")
    predicted = Q()
    for side in ("first", "second"):
        label, is_such = f"{side}_label", Q()
        if submission:
            is_such &= Q((f"{side}__name", submission))
        if chosen.text:
            is_such &= Q((label, chosen.text)) | Q((f"{label}__in", keys))
        if chosen.outcome:
            answer = {"right": "yes", "wrong": "no"}[chosen.outcome]
            is_such &= Q(_answered(rows[0].campaign.dataset_id, label, answer))
        predicted |= is_such
    lines = Selection.objects.filter(predicted, benchmark__in=rows, image__in=names)
    return set(lines.values_list("image", flat=True))


def _answered(dataset: int, label: str, answer: str) -> Exists:
    """Return the condition that people gave this answer about the image and label of a selection.

    Each item is looked up on its own. In a join, SQLite reads all questions of the campaign.
    """
    questions = Question.objects.filter(
        campaign=OuterRef(OuterRef("benchmark__campaign")),
        topic=OuterRef(OuterRef(label)),
        item=OuterRef("pk"),
    )
    settled = image_ranks.settled(questions).annotate(text=Cast("value", TextField()))
    is_answered = Exists(settled.filter(text=json.dumps(answer)))
    return Exists(
        Item.objects.filter(is_answered, image__dataset=dataset, image__name=OuterRef("image"))
    )
