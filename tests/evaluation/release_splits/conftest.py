"""A campaign of labeled images, of which each two look alike, and its releases."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from labeling.follow_ups import opening
from labeling.models import Campaign, Dataset, Image, Release, Settlement, User
from labeling.near_duplicates.fingerprints import VIEWS, to_bytes
from labeling.releases import freezing
from tests import factories
from tests.evaluation.benchmarks.kinds.labeled import world
from tests.evaluation.benchmarks.kinds.labeled.world import CAT, DOG
from tests.labeling import boxers

Grow = Callable[[], Release]
WHOLES = np.random.default_rng(0).integers(0, 2**63, 50, dtype=np.uint64)


def photographs(dataset: Dataset, numbers: Sequence[int]) -> list[tuple[str, str]]:
    """Make images, and return each with its class."""
    for number in numbers:
        # Two images differ in one bit of all views.
        views = np.full(VIEWS, WHOLES[number // 2] ^ np.uint64(number % 2), np.uint64)
        image = factories.make_image(dataset, f"{number:02}.png")
        Image.objects.filter(pk=image.pk).update(fingerprint=to_bytes(views))
    return [(f"{number:02}.png", CAT if number % 4 < 2 else DOG) for number in numbers]


@pytest.fixture
def zoo(alice, dataset) -> Campaign:
    labels = photographs(dataset, range(20))
    return boxers.labeled(alice, dataset, "contains", dict.fromkeys(labels, "yes"))


@pytest.fixture
def first(zoo) -> Release:
    return freezing.freeze(zoo)


@pytest.fixture
def grow(zoo, first) -> Grow:
    """Freezes a release with ten more images."""

    def grown() -> Release:
        count = zoo.dataset.images.count()
        labels = photographs(zoo.dataset, range(count, count + 10))
        opening.ask(zoo, labels)
        for image, topic in labels:
            question = zoo.questions.get(item__image__name=image, topic=topic)
            Settlement.objects.create(question=question, policy=question.policy, value="yes")
            factories.put(zoo, [question.pk], state="settled", seats_free=0)
        return freezing.freeze(zoo)

    return grown


@pytest.fixture
def cats(alice, bob) -> Campaign:
    return world.campaign_of(alice, bob, factories.make_dataset(alice, "meadow"))


@pytest.fixture
def rita(zoo) -> User:
    """Another researcher of the campaign."""
    person = factories.person("rita", is_researcher=True)
    factories.join(person, zoo, "researcher")
    return person
