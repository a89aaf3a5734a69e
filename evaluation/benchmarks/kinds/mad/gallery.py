"""Counterexamples of a pair: its images, both predictions and people's answers.

Shows current answers; scores only use frozen releases (runs.py).
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from evaluation.benchmarks.kinds.mad import competitions, true_labels
from evaluation.models import Benchmark, Selection, Submission
from labeling.consensus import settling
from labeling.models import Image, Question

CASES = ("I", "II", "III", "pending", "dropped")
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
    # True and False once settled.
    right: bool | None = None
    votes: list[tuple[str, int]] = field(default_factory=list)
    distance_to_truth: float | None = None


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


def entries(benchmark: Benchmark, first: Submission, second: Submission) -> list[GalleryEntry]:
    """Return the pair's chosen and dropped images by rank, without reserves."""
    rows = list(
        benchmark.selections.filter(first=first, second=second)
        .exclude(state=Selection.State.RESERVE)
        .select_related("first", "second")
        .order_by("rank")
    )
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
            prediction(row, first.name, row.first_label, row.first_confidence),
            prediction(row, second.name, row.second_label, row.second_confidence),
        ]
        gallery_entries.append(
            GalleryEntry(row, ids.get(row.image), predictions, _case(row, predictions))
        )
    _add_truths(benchmark, gallery_entries, names)
    return gallery_entries


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
