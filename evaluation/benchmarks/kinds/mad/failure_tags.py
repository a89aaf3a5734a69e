"""Tags that say why a classifier failed on an image, from the competition's own vocabulary.

The only writer of FailureTag. A tag belongs to an image and to a classifier that people called
wrong on it.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.db import transaction

from evaluation.benchmarks.kinds.mad import true_labels
from evaluation.benchmarks.kinds.mad.gallery import GalleryEntry
from evaluation.benchmarks.submissions import lock_benchmark
from evaluation.benchmarks.tables import Column, Table
from evaluation.models import Benchmark, FailureTag, Selection
from labeling.errors import Conflict, Refusal
from labeling.estimators.intervals import clopper_pearson
from labeling.models import User
from labeling.plurals import count_of

# The failures that Wang et al. (ICLR 2020) describe, and photographs that show too little.
DEFAULT = (
    "relation inference",
    "low-level features",
    "rare instantiations",
    "context bias",
    "low quality",
)
MAX_TAGS = 30
LONGEST = 60


@dataclass(frozen=True)
class TagCount:
    """The number of a classifier's images that any researcher gave this tag.

    tagged: its images with any tag. wrong: images on which people called it wrong. share: images /
    tagged, with its Clopper-Pearson interval [low, high] at 95 %; None without tagged images.
    """

    classifier: str
    tag: str
    images: int
    tagged: int
    wrong: int
    share: float | None
    low: float | None
    high: float | None


COUNTS = Table(
    "failure-tags",
    lambda counts: counts,
    (
        Column("classifier", "Classifier", is_number=False),
        Column("tag", "Tag", is_number=False),
        Column("images", "Images", digits="0g"),
        Column("tagged", "Tagged images (n)", digits="0g"),
        Column("wrong", "Wrong images", digits="0g"),
        Column("share", "Share of n", digits=3),
        Column("low", "95 % from", digits=3),
        Column("high", "to", digits=3),
    ),
    words="failure tags",
)
Key = tuple[int, str]


def vocabulary(benchmark: Benchmark) -> list[str]:
    return list(benchmark.settings.get("failure_tags") or DEFAULT)


def set_vocabulary(benchmark: Benchmark, tags: Iterable[str]) -> list[str]:
    """Set the tags to choose from, and return them.

    Raises Refusal, and Conflict if an image has a tag that is left out.
    """
    chosen = list(dict.fromkeys(text for tag in tags if (text := " ".join(tag.split()))))
    if not 1 <= len(chosen) <= MAX_TAGS:
        raise Refusal(f"Give 1 to {MAX_TAGS} tags, not {len(chosen)}.", field="vocabulary")
    if long := [tag for tag in chosen if len(tag) > LONGEST]:
        raise Refusal(
            f"The tag {long[0][:LONGEST]!r}… is longer than {LONGEST} characters. Shorten it.",
            field="vocabulary",
        )
    with transaction.atomic():
        benchmark = lock_benchmark(benchmark)
        lost = benchmark.failure_tags.exclude(tag__in=chosen)
        if tag := lost.order_by("tag").values_list("tag", flat=True).first():
            raise Conflict(
                f"The tag {tag!r} is on {count_of(lost.filter(tag=tag).count(), 'image')}. Remove "
                "it there first.",
                field="vocabulary",
            )
        benchmark.settings["failure_tags"] = chosen
        benchmark.save(update_fields=["settings"])
    return chosen


def set_tags(
    benchmark: Benchmark, actor: User, image: str, chosen: Mapping[str, Sequence[str]]
) -> None:
    """Replace the actor's tags of the image, for the classifiers in `chosen` (name → tags).

    Raises Refusal for a classifier that people did not call wrong on it, and for unknown tags.
    """
    wrong = {name: pk for (pk, name), images in wrong_images(benchmark, [image]).items() if images}
    if right := [name for name in chosen if name not in wrong]:
        raise Refusal(
            f"People did not call {right[0][:100]!r} wrong on this image. Only wrong predictions "
            "have tags.",
            field="classifier",
        )
    with transaction.atomic():
        benchmark = lock_benchmark(benchmark)
        known = vocabulary(benchmark)
        if unknown := [tag for tags in chosen.values() for tag in tags if tag not in known]:
            raise Refusal(
                f"There is no tag {unknown[0][:LONGEST]!r} here. There are: {', '.join(known)}.",
                field="tags",
            )
        keys = [wrong[name] for name in chosen]
        mine = benchmark.failure_tags.filter(image=image, tagged_by=actor)
        mine.filter(submission__in=keys).delete()
        FailureTag.objects.bulk_create(
            FailureTag(
                benchmark=benchmark,
                image=image,
                submission_id=wrong[name],
                tag=tag,
                tagged_by=actor,
            )
            for name, tags in chosen.items()
            for tag in dict.fromkeys(tags)
        )


def wrong_images(benchmark: Benchmark, images: Sequence[str] | None = None) -> dict[Key, set[str]]:
    """Return (pk, name) of each classifier → its chosen images that people called wrong.

    images: only these; None for all.
    """
    rows = benchmark.selections.filter(state=Selection.State.CHOSEN).order_by()
    if images is not None:
        rows = rows.filter(image__in=images)
    predicted = {
        (submission, image, label)
        for image, first, second, label, other_label in rows.values_list(
            "image", "first", "second", "first_label", "second_label"
        )
        for submission, label in ((first, label), (second, other_label))
    }
    values = true_labels.settled_values(benchmark.campaign, {image for _, image, _ in predicted})
    names = dict(benchmark.submissions.values_list("pk", "name"))
    wrong: dict[Key, set[str]] = {key: set() for key in names.items()}
    for submission, image, label in predicted:
        if values.get((image, label)) == "no":
            wrong[submission, names[submission]].add(image)
    return wrong


def counts(benchmark: Benchmark) -> list[TagCount]:
    """Return a row per classifier and tag, in the order of the vocabulary for each classifier."""
    images_of: defaultdict[tuple[int, str], set[str]] = defaultdict(set)
    rows = benchmark.failure_tags.order_by().values_list("submission", "tag", "image").distinct()
    for submission, tag, image in rows:
        images_of[submission, tag].add(image)
    result = []
    tags = vocabulary(benchmark)
    for (pk, name), wrong in wrong_images(benchmark).items():
        tagged = set[str]().union(*(images_of[pk, tag] for tag in tags)) & wrong
        for tag in tags:
            count, total = len(images_of[pk, tag] & wrong), len(tagged)
            interval = clopper_pearson(count, total) if total else (None, None)
            share = count / total if total else None
            result.append(TagCount(name, tag, count, total, len(wrong), share, *interval))
    return result


def add_to(benchmark: Benchmark, user: User, entries: Iterable[GalleryEntry]) -> None:
    """Add the tags to the wrong predictions: this user's, and those of others."""
    by_key = {
        (prediction.classifier, entry.selection.image): prediction
        for entry in entries
        for prediction in entry.predictions
        if prediction.right is False
    }
    rows = benchmark.failure_tags.filter(image__in={image for _, image in by_key})
    for row in rows.select_related("submission", "tagged_by").order_by("pk"):
        if prediction := by_key.get((row.submission.name, row.image)):
            if row.tagged_by_id == user.pk:
                prediction.tags.append(row.tag)
            else:
                prediction.tags_of_others.append(f"{row.tag} ({row.tagged_by.username})")
