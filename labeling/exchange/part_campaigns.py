"""Campaigns that draw parts of a dataset's objects, by a version of its vocabulary."""

from collections.abc import Iterable, Mapping
from typing import Any

from django.db import transaction

from labeling.campaigns import lifecycle
from labeling.datasets import vocabulary_store
from labeling.errors import Conflict, Refusal
from labeling.follow_ups import asking
from labeling.follow_ups.asking import AddedQuestions
from labeling.kinds import KINDS
from labeling.kinds.base import OBJECTS
from labeling.kinds.parts import AskedCategory, AskedPart
from labeling.models import Campaign, Dataset, Decision, GivenLabel, User
from labeling.models import Vocabulary as Version
from labeling.vocabulary.types import Category, PartName, PartVocabulary

KIND = "parts"


@transaction.atomic
def draft(
    owner: User, dataset: Dataset, *, items: Iterable[int] | None = None, **fields: Any
) -> Campaign:
    """Create a draft campaign that asks for the parts of these objects, by default of all.

    items: ids; fields as in create. All or nothing. Raises Refusal.
    """
    campaign = create(owner, dataset, **fields)
    ask(campaign, items)
    return campaign


@transaction.atomic
def create(
    owner: User,
    dataset: Dataset,
    *,
    version: Version | None = None,
    settings: Mapping[str, object] | None = None,
    kind: str = KIND,
    **fields: Any,
) -> Campaign:
    """Create a draft campaign without questions. Raises Refusal.

    version: of the dataset's vocabulary, by default the latest. settings: ask_half, ask_outline;
    fields as in lifecycle.create.
    """
    version = version or vocabulary_store.in_force(dataset)
    content = {**(settings or {}), "categories": categories_of(vocabulary_store.read(version))}
    campaign = lifecycle.create(owner, kind=kind, dataset=dataset, settings=content, **fields)
    campaign.vocabulary = version
    campaign.save(update_fields=["vocabulary"])
    return campaign


@transaction.atomic
def ask(campaign: Campaign, items: Iterable[int] | None = None) -> AddedQuestions:
    """Add questions about these objects, by default all whose category the vocabulary has.

    Returns the result of asking.add_questions. Raises Refusal if there are none.
    """
    if KINDS[campaign.kind].asks != OBJECTS:
        raise Refusal(
            f"A campaign of the kind {campaign.kind} asks about no objects.", field="objects"
        )
    known = campaign.settings["categories"]
    keys = _categories_by_object(campaign.dataset, list(known))
    if items is not None:
        chosen_items = set(items)
        if missing := sorted(chosen_items - set(keys)):
            raise Refusal(
                f"{len(missing)} of the objects are not in {campaign.dataset.name}, or the "
                "campaign's vocabulary lacks their category. Choose other objects.",
                field="objects",
            )
        keys = {item: key for item, key in keys.items() if item in chosen_items}
    categories = set(keys.values())
    lifecycle.define_topics(
        campaign, [{"key": key, "name": known[key]["name"]} for key in sorted(categories)]
    )
    return asking.add_item_questions(campaign, list(keys.items()))


def objects_of(
    dataset: Dataset, categories: Iterable[str] = (), images: Iterable[str] = ()
) -> list[int]:
    """Return the dataset's objects of these categories on these images; by default all.

    Categories are named by wnid, name or alias of the vocabulary. Raises Refusal for an unknown
    category, and if there are no objects.
    """
    vocabulary = vocabulary_store.read(vocabulary_store.in_force(dataset))
    keys = [_category_named(vocabulary, word).key for word in categories]
    keys = keys or [category.key for category in vocabulary.categories]
    return list(_categories_by_object(dataset, keys, list(images)))


def _category_named(vocabulary: PartVocabulary, word: str) -> Category:
    known = vocabulary.category(word)
    if known is None:
        names = ", ".join(category.name for category in vocabulary.categories)
        raise Refusal(
            f"The dataset's vocabulary has no category {word[:80]!r}. It has: {names}.",
            field="categories",
        )
    return known


def _categories_by_object(
    dataset: Dataset, keys: list[str], images: list[str] | None = None
) -> dict[int, str]:
    """Return item id → category of the objects of these categories and images. Raises Refusal for
    none.
    """
    rows = GivenLabel.objects.filter(
        item__image__dataset=dataset,
        item__region__isnull=False,
        key__in=keys,
        geometry__isnull=True,
    )
    if images:
        rows = rows.filter(item__image__name__in=images)
    category_of_item = dict(rows.order_by("item").values_list("item", "key"))
    if not category_of_item:
        raise Refusal(
            f"{dataset.name} has no objects of these categories. Import objects first: with their "
            "parts, or as a list of images and categories.",
            field="dataset",
        )
    return category_of_item


@transaction.atomic
def adopt(campaign: Campaign, actor: User, version: Version) -> Campaign:
    """Move the campaign to another version of its dataset's vocabulary. Answers are kept.

    Raises Conflict if that version lacks a category with questions or a part with drawings; then
    nothing changed.
    """
    campaign = Campaign.objects.select_for_update().get(pk=campaign.pk)
    if KINDS[campaign.kind].asks != OBJECTS or version.dataset_id != campaign.dataset_id:
        raise Refusal(
            "This vocabulary does not belong to the campaign's dataset.", field="vocabulary"
        )
    categories = categories_of(vocabulary_store.read(version))
    topics = set(campaign.questions.order_by().values_list("topic", flat=True).distinct())
    for key, name in _lost(campaign.settings["categories"], categories, topics):
        raise Conflict(
            f"Version {version.version} lacks the part {name!r} of {key}, which the campaign asks "
            "for. Keep the part in the vocabulary; you may rename it.",
            field="vocabulary",
        )
    campaign.settings |= {"categories": categories}
    campaign.vocabulary = version
    campaign.save(update_fields=["settings", "vocabulary"])
    Decision.objects.record(
        campaign,
        Decision.Kind.VOCABULARY,
        actor,
        {"version": version.version, "sha256": version.sha256},
    )
    return campaign


def _lost(
    before: Mapping[str, AskedCategory], after: Mapping[str, AskedCategory], topics: set[str]
) -> Iterable[tuple[str, str]]:
    for key in sorted(topics):
        if key not in after:
            yield key, "category"
            continue
        kept = {part["key"] for part in after[key]["parts"]}
        yield from ((key, part["key"]) for part in before[key]["parts"] if part["key"] not in kept)


def categories_of(vocabulary: PartVocabulary) -> dict[str, AskedCategory]:
    """Return what campaign settings keep of a vocabulary: by category, the data for its page."""
    return {
        category.key: {
            "name": category.name,
            "guidance": category.guidance,
            "parts": [_asked(part) for part in category.parts],
        }
        for category in vocabulary.categories
    }


def _asked(part: PartName) -> AskedPart:
    return {
        "key": part.key,
        "name": part.name,
        "several": part.several,
        "holes": part.holes,
        "guidance": part.guidance,
        "mirror": part.mirror,
        "holds": list(part.holds),
    }
