"""The versions of a dataset's parts vocabulary, and their only writer.

vocabulary/types.py defines and validates a version. Versions never change: campaigns keep theirs.
"""

from collections.abc import Mapping

from django.db import transaction
from django.db.models import Count

from labeling.datasets import datasets
from labeling.errors import Conflict, NotAllowed, Refusal
from labeling.models import Campaign, Dataset, GivenLabel, User
from labeling.models import Vocabulary as Version
from labeling.vocabulary import reading
from labeling.vocabulary.types import PartVocabulary

# Cached by digest: equal content is the same vocabulary in any row.
_READ: dict[str, PartVocabulary] = {}
MAX_CACHED_VOCABULARIES = 32


def current(dataset: Dataset) -> Version | None:
    """Return the latest version; None for a dataset without a vocabulary."""
    return dataset.vocabularies.order_by("-version").first()


def in_force(dataset: Dataset) -> Version:
    """Return the latest version. Raises Refusal for a dataset without a vocabulary."""
    version = current(dataset)
    if version is None:
        raise Refusal(
            f"{dataset.name} has no vocabulary, which lists the parts of each category. Write one, "
            "or start from the shipped one, on the dataset's vocabulary page.",
            field="vocabulary",
            code="no_vocabulary",
        )
    return version


def current_vocabulary(dataset: Dataset) -> PartVocabulary | None:
    """Return the content of the latest version."""
    version = current(dataset)
    return read(version) if version else None


def read(version: Version) -> PartVocabulary:
    """Return a version's content; cached per process."""
    vocabulary = _READ.get(version.sha256)
    if vocabulary is None:
        vocabulary = reading.build(version.content)
        if len(_READ) >= MAX_CACHED_VOCABULARIES:
            _READ.pop(next(iter(_READ)))
        _READ[version.sha256] = vocabulary
    return vocabulary


def may_edit(user: User, dataset: Dataset) -> bool:
    """Return whether this person may write versions: the dataset's owner and staff may."""
    return datasets.may_add(user, dataset)


@transaction.atomic
def add_version(
    dataset: Dataset,
    content: PartVocabulary | Mapping[str, object],
    actor: User | None,
    *,
    instead_of: int | None = None,
) -> Version:
    """Save the vocabulary as a new version unless it equals the latest one; return the version.

    actor: None for the system. instead_of: the version that was edited, so that nobody overwrites a
    concurrent change unnoticed. Campaigns keep their versions. Raises VocabularyError with every
    fault, NotAllowed, and Conflict if there is a later version.
    """
    if actor is not None and not may_edit(actor, dataset):
        raise NotAllowed(
            "Only the dataset's owner can change its vocabulary. Ask the owner, or create your own "
            "dataset."
        )
    vocabulary = content if isinstance(content, PartVocabulary) else reading.build(content)
    # Lock the dataset: version numbers are consecutive.
    Dataset.objects.select_for_update().get(pk=dataset.pk)
    before = current(dataset)
    if before is not None and before.sha256 == vocabulary.digest():
        return before
    if before is not None and instead_of is not None and before.version != instead_of:
        raise Conflict(
            f"Version {before.version} of the vocabulary is newer than the one you edited. Nothing "
            "was saved. Load the latest version and repeat your change.",
            field="version",
        )
    return dataset.vocabularies.create(
        version=before.version + 1 if before else 1,
        content=vocabulary.content(),
        sha256=vocabulary.digest(),
        created_by=actor,
    )


def start(dataset: Dataset, actor: User | None) -> Version:
    """Save the shipped vocabulary as the dataset's first version and return it."""
    return add_version(dataset, reading.shipped(), actor)


def campaigns_by_version(dataset: Dataset) -> dict[int, list[Campaign]]:
    """Return the campaigns that use each version, by its number."""
    campaigns: dict[int, list[Campaign]] = {}
    rows = Campaign.objects.filter(vocabulary__dataset=dataset).select_related("vocabulary")
    for campaign in rows.order_by("title", "pk"):
        assert campaign.vocabulary is not None
        campaigns.setdefault(campaign.vocabulary.version, []).append(campaign)
    return campaigns


def objects_by_category(dataset: Dataset, vocabulary: PartVocabulary) -> dict[str, int]:
    """Return how many of the dataset's objects have each category, by its key."""
    keys = [category.key for category in vocabulary.categories]
    rows = GivenLabel.objects.filter(
        item__image__dataset=dataset, item__region__isnull=False, key__in=keys
    )
    return dict(rows.order_by().values_list("key").annotate(Count("item", distinct=True)))
