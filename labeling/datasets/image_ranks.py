"""Sort keys of images, from what people said about them and from known labels.

The keys of a large dataset are stored by a job, which pages start.
"""

from collections.abc import Collection, Iterator, Sequence
from datetime import timedelta

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet, Subquery, TextField, Value
from django.db.models.fields.json import KT
from django.db.models.functions import Cast, Coalesce, Lower
from django.utils import timezone

from labeling.db.sql import retried, writing
from labeling.jobs import queue
from labeling.models import (
    Answer,
    Dataset,
    GivenLabel,
    Image,
    ImageRank,
    Item,
    Job,
    Question,
    Settlement,
    Topic,
)

KIND = "sort images"
# Images that are sorted together.
BLOCK = 2_000
SORT_INTERVAL = timedelta(minutes=10)
# Keys of an image without a label, which sort last. Text begins with a digit, because every
# collation orders by that first.
NO_LABEL, NO_DOUBT = "1", 9.0
# Values of settlements without a class.
NO_CLASS = ("no", "dropped", None)

# The label and the doubt of an image by (campaign, image).
Keys = dict[tuple[int | None, int], tuple[str, float]]
# An image's id and its first known label by the alphabet.
KnownImage = tuple[int, str | None]


def enqueue_sort(dataset: Dataset) -> None:
    """Queue the job that sorts the dataset, unless it was queued less than SORT_INTERVAL ago."""
    now = timezone.now()
    if dataset.sort_queued_at is None or dataset.sort_queued_at < now - SORT_INTERVAL:
        with transaction.atomic():
            Dataset.objects.filter(pk=dataset.pk).update(sort_queued_at=now)
            queue.enqueue(KIND, str(dataset.pk), {"dataset": dataset.pk})


def execute(job: Job) -> None:
    """Run the job "sort images". Idempotent."""
    dataset, began = Dataset.objects.get(pk=job.payload["dataset"]), timezone.now()
    campaigns = list(dataset.campaigns.values_list("pk", flat=True))
    done, total = 0, dataset.images.count()
    for images in _blocks(dataset):
        _sort(dataset, images, campaigns)
        done += len(images)
        queue.renew(job, done, max(done, total))
    Dataset.objects.filter(pk=dataset.pk).update(sorted_at=began)


def settled(questions: QuerySet[Question]) -> QuerySet[Question]:
    """Return the settled questions with their current value and probability."""
    return _with_verdicts(in_states(questions, [Question.State.SETTLED]))


def in_states(questions: QuerySet[Question], states: Sequence[str]) -> QuerySet[Question]:
    """Return those of a few questions that are in one of these states.

    SQLite must not use the index on states, which holds all questions of the campaign.
    """
    return questions.annotate(now=Coalesce("state", Value(""))).filter(now__in=states)


def _with_verdicts(questions: QuerySet[Question]) -> QuerySet[Question]:
    """Add value and probability of the latest settlement, which an open question may have too."""
    latest = Settlement.objects.filter(question=OuterRef("pk")).order_by("-pk")
    return questions.annotate(
        value=Subquery(latest.values("value")[:1]),
        probability=Subquery(latest.values("probability")[:1]),
    )


def disputed() -> Exists:
    """Return the condition that a question has different answers. Drawings always differ, so only
    answers without coordinates count.
    """
    votes = Answer.objects.filter(late=False).annotate(text=Cast("value", TextField()))
    different = votes.filter(assignment__question=OuterRef("assignment__question")).exclude(
        text=OuterRef("text")
    )
    pairs = votes.filter(Exists(different), assignment__question=OuterRef("pk"))
    return Exists(pairs.exclude(text__contains="["))


def known_images(dataset: Dataset, after: int = 0) -> QuerySet[Image, KnownImage]:
    """Return the images after this id, in order."""
    labels = GivenLabel.objects.filter(item__image=OuterRef("pk"), value="yes")
    first = labels.order_by(Lower("key")).values(text=Lower("key"))[:1]
    rows = dataset.images.filter(pk__gt=after).order_by("pk")
    return rows.values_list("pk", Subquery(first))


def _blocks(dataset: Dataset) -> Iterator[list[KnownImage]]:
    last = 0
    while images := list(known_images(dataset, last)[:BLOCK]):
        yield images
        last, _ = images[-1]


@retried
def _sort(dataset: Dataset, images: Sequence[KnownImage], campaigns: Collection[int]) -> None:
    """Store the changed keys of these images, which are in order of id."""
    keys = keys_of(images, campaigns)
    first, last = images[0][0], images[-1][0]
    outdated = []
    for row in ImageRank.objects.filter(dataset=dataset, image__gte=first, image__lte=last):
        if keys.get((row.campaign_id, row.image_id)) == (row.label, row.doubt):
            del keys[row.campaign_id, row.image_id]
        else:
            outdated.append(row.pk)
    with writing():
        ImageRank.objects.filter(pk__in=outdated).delete()
        ImageRank.objects.bulk_create(
            ImageRank(
                dataset=dataset, campaign_id=campaign, image_id=image, label=label, doubt=doubt
            )
            for (campaign, image), (label, doubt) in keys.items()
        )


def keys_of(images: Sequence[KnownImage], campaigns: Collection[int]) -> Keys:
    """Return the keys of images, which are in order, in these campaigns and without a campaign."""
    keys: Keys = {}

    def add(campaign: int | None, image: int, label: str | None, doubt: float | None) -> None:
        known = keys.get((campaign, image), (NO_LABEL, NO_DOUBT))
        keys[campaign, image] = (
            known[0] if label is None else min(known[0], f"0{label[:200]}"),
            known[1] if doubt is None else min(known[1], doubt),
        )

    for pk, label in images:
        add(None, pk, label, None)
    if not images or not campaigns:
        return keys
    items = Item.objects.filter(image__gte=images[0][0], image__lte=images[-1][0])
    questions = Question.objects.for_consensus().filter(
        campaign__in=campaigns, item__in=items.values("pk")
    )
    topics = Topic.objects.filter(campaign=OuterRef("campaign"), key=OuterRef("chosen"))
    rows = _with_verdicts(questions).annotate(
        differs=disputed(),
        chosen=Coalesce(KT("value__key"), "topic", output_field=TextField()),
        label=Coalesce(Subquery(topics.values("name")[:1]), "chosen", output_field=TextField()),
    )
    columns = ("campaign", "item__image", "state", "value", "probability", "differs", "label")
    for campaign, image, state, value, probability, differs, name in rows.values_list(*columns):
        label, doubt = None, None
        if state == Question.State.SETTLED:
            label, doubt = None if value in NO_CLASS else name.lower(), probability
        if differs:
            doubt = (doubt or 0.0) - 2
        # Questions about removed images stay.
        if (None, image) in keys and (label, doubt) != (None, None):
            add(campaign, image, label, doubt)
    return keys
