"""True labels of images where both classifiers are wrong, and how far off each label is."""

from collections.abc import Iterable, Sequence
from typing import Any

from django.db import transaction

from evaluation.benchmarks import class_lists
from evaluation.benchmarks.submissions import lock_benchmark
from evaluation.metrics.wordnet import distances
from evaluation.metrics.wordnet.nouns import UnknownLabel, WordNet
from evaluation.models import Benchmark, Selection
from labeling.campaigns import lifecycle
from labeling.errors import Refusal
from labeling.follow_ups import opening
from labeling.kinds import policies
from labeling.kinds.votes import most_probable
from labeling.models import Campaign, Membership, Question, Settlement, User

BATCH = 500


def both_wrong(benchmark: Benchmark, rows: Iterable[Selection]) -> list[Selection]:
    """Return the rows where people said no to both labels."""
    rows = list(rows)
    settled = settled_values(benchmark.campaign, {row.image for row in rows})
    return [
        row
        for row in rows
        if settled.get((row.image, row.first_label)) == "no"
        and settled.get((row.image, row.second_label)) == "no"
    ]


def ask_true_label(
    benchmark: Benchmark, actor: User, rows: Sequence[Selection], wordnet: WordNet | None
) -> Campaign:
    """Return the open campaign that asks what these images show, from the competition's classes.

    There is one per benchmark, opened for its current members; more images may be added later, and
    asking again about an image changes nothing. Raises Refusal if a row has a right or unsettled
    prediction.
    """
    if not rows:
        raise Refusal("There is no image here on which both classifiers were wrong.")
    wrong = both_wrong(benchmark, rows)
    if len(wrong) < len(rows):
        raise Refusal(
            f"{len(rows) - len(wrong)} of these images have a prediction that people did not "
            "call wrong. True labels are asked only if both predictions are wrong."
        )
    with transaction.atomic():
        benchmark = lock_benchmark(benchmark)
        if benchmark.naming is None:
            benchmark.naming = _open(benchmark, actor, wordnet)
            benchmark.save(update_fields=["naming"])
        campaign = benchmark.naming
        images = [row.image for row in wrong]
        opening.ask(campaign, opening.naming_pairs(campaign.dataset, images))
        if campaign.state == Campaign.State.DRAFT:
            lifecycle.launch(campaign, actor)
    return campaign


def vocabulary_of(benchmark: Benchmark, wordnet: WordNet | None) -> list[dict[str, str]]:
    """Return the competition's classes by name; classes of the same name show their
    synonyms too.
    """
    wnids = benchmark.settings.get("vocabulary") or sorted(
        {
            wnid
            for pair in benchmark.selections.values_list("first_label", "second_label")
            for wnid in pair
        }
    )
    try:
        if wordnet is not None:
            return class_lists.classes(wnids, wordnet)
    except UnknownLabel:
        # A competition by zero-one or a user's distances may have any class names.
        pass
    return [{"key": wnid, "name": wnid} for wnid in wnids]


def true_labels(benchmark: Benchmark, images: Iterable[str]) -> dict[str, str]:
    """Return image → the settled label: a wnid, "none" of the classes, or "dropped" as too hard.

    Images that are open or were never asked about are left out.
    """
    if benchmark.naming is None:
        return {}
    values = settled_values(benchmark.naming, set(images))
    return {
        image: value["key"] if isinstance(value, dict) else str(value)
        for (image, _), value in values.items()
    }


def distances_to(
    truth: str, labels: Sequence[str], distance: str, wordnet: WordNet | None
) -> list[float | None]:
    """Return each label's distance from the true one, by the competition's distance.

    None if there is no true class or no WordNet, and for distances of a user's file: they are not
    stored.
    """
    if truth not in ("none", "dropped") and distance == "zero-one":
        return [float(label != truth) for label in labels]
    if truth in ("none", "dropped") or wordnet is None or distance not in distances.DISTANCES:
        return [None] * len(labels)
    wnids = list(dict.fromkeys([truth, *labels]))
    matrix = distances.distance_matrix(wordnet, [wordnet.index(w) for w in wnids], distance)
    return [float(matrix[0, wnids.index(label)]) for label in labels]


def settled_values(campaign: Campaign, images: set[str]) -> dict[tuple[str, str], Any]:
    """Return (image, topic) → value of every settled or dropped question on these images."""
    names = sorted(images)
    settled: dict[tuple[str, str], Any] = {}
    for start in range(0, len(names), BATCH):
        rows = (
            Settlement.objects.filter(
                question__campaign=campaign,
                question__state__in=[Question.State.SETTLED, Question.State.DROPPED],
                question__item__image__name__in=names[start : start + BATCH],
            )
            .order_by("pk")
            .values_list("question__item__image__name", "question__topic", "value")
        )
        for image, topic, value in rows:
            settled[image, topic] = "dropped" if most_probable(value) else value
    return settled


def _open(benchmark: Benchmark, actor: User, wordnet: WordNet | None) -> Campaign:
    source = benchmark.campaign
    campaign = opening.draft(
        actor,
        name=f"{source.name[:70]}-labels",
        title=f"{source.title}: true labels",
        kind="naming",
        dataset=source.dataset,
        instructions="Choose what the image shows. If several classes fit, take the most precise.",
        vocabulary=vocabulary_of(benchmark, wordnet),
        policy=policies.for_campaign(source),
    )
    members = source.memberships.active().exclude(user=actor)
    Membership.objects.bulk_create(
        [Membership(user_id=row.user_id, campaign=campaign, role=row.role) for row in members]
    )
    return campaign
