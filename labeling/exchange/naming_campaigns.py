"""Naming campaigns with examples of classes, checked before anything is written."""

from collections.abc import Collection, Sequence
from typing import Any

from django.db import transaction

from labeling.datasets.image_names import ImageNames
from labeling.errors import Refusal
from labeling.follow_ups import opening
from labeling.kinds import KINDS
from labeling.models import Campaign, Dataset, Example, User

# Per class, as in Russakovsky et al. (2015), section 6.4.1.
MAX_EXAMPLES = 13
BATCH = 2_000
Examples = Sequence[tuple[str, str]]


@transaction.atomic
def draft(
    owner: User,
    dataset: Dataset,
    *,
    images: Sequence[str] = (),
    examples: Examples = (),
    **fields: Any,
) -> Campaign:
    """Create a draft campaign about these images, by default all except examples.

    examples: (image, class). fields: as in opening.draft. All or nothing. Raises Refusal.
    """
    example_images = {image for image, _ in examples}
    if both := sorted(example_images.intersection(images)):
        raise Refusal(
            f"{both[0]!r} is an example and is asked about. Leave it out of one of the two.",
            field="examples",
        )
    pairs = opening.naming_pairs(dataset, images)
    pairs = [pair for pair in pairs if pair[0] not in example_images]
    campaign = opening.draft(owner, dataset=dataset, pairs=pairs, **fields)
    add_examples(campaign, examples)
    return campaign


def pairs_of(campaign: Campaign, names: Sequence[str]) -> list[tuple[str, str]]:
    """Return the questions about these images, by default all except examples."""
    pairs = opening.naming_pairs(campaign.dataset, names)
    if names:
        return pairs
    examples = Example.objects.filter(topic__campaign=campaign)
    example_images = set(examples.values_list("image__name", flat=True))
    return [pair for pair in pairs if pair[0] not in example_images]


def add_examples(campaign: Campaign, examples: Examples) -> None:
    """Add the first MAX_EXAMPLES images of each class as its examples. Raises Refusal."""
    if not examples:
        return
    if not campaign.settings.get("most"):
        raise Refusal(
            "Example images require answers with several classes. Set “most”.", field="examples"
        )
    known = KINDS[campaign.kind].class_names(campaign.settings)
    if unknown := sorted({key for _, key in examples} - set(known)):
        raise Refusal(f"The vocabulary has no class {unknown[0][:64]!r}.", field="examples")
    images = _images(campaign.dataset, {image for image, _ in examples})
    topics = dict(campaign.topics.values_list("key", "pk"))
    by_class: dict[str, list[int]] = {}
    for image, key in examples:
        by_class.setdefault(key, []).append(images[image])
    rows = [
        Example(topic_id=topics[key], image_id=image, answer="yes")
        for key, class_images in by_class.items()
        for image in class_images[:MAX_EXAMPLES]
    ]
    Example.objects.bulk_create(rows, batch_size=BATCH)


def _images(dataset: Dataset, names: Collection[str]) -> dict[str, int]:
    image_ids = {name: image.pk for name, image in ImageNames(dataset).exact(names).items()}
    if missing := sorted(set(names) - set(image_ids)):
        raise Refusal(
            f"{dataset.name} has no image {missing[0][:80]!r}. Add it, or name another dataset.",
            field="examples",
        )
    return image_ids
