"""Versions of a dataset's vocabulary, and what changed between them."""

import copy

import pytest

from labeling.datasets import vocabulary_store
from labeling.errors import Conflict, NotAllowed
from labeling.models import Campaign, GivenLabel, Item, Vocabulary
from labeling.vocabulary.changes import VocabularyChange, changes, count_changes
from labeling.vocabulary.reading import build, shipped
from labeling.vocabulary.types import VocabularyError
from tests import factories
from tests.labeling.vocabulary.test_types import SMALL


def changed(change) -> dict:
    raw = copy.deepcopy(SMALL)
    change(raw)
    return raw


def with_tail() -> dict:
    return changed(lambda raw: raw["categories"][0]["parts"].append({"key": "tail"}))


def test_a_dataset_starts_without_a_vocabulary(dataset):
    assert vocabulary_store.current(dataset) is None
    assert vocabulary_store.current_vocabulary(dataset) is None


def test_the_shipped_vocabulary_becomes_the_first_version(alice, dataset):
    made = vocabulary_store.start(dataset, alice)

    assert (made.version, made.created_by) == (1, alice)
    assert vocabulary_store.current(dataset) == made
    assert vocabulary_store.current_vocabulary(dataset) == shipped()
    assert made.sha256 == shipped().digest()


def test_a_change_is_the_next_version_and_the_one_before_stays(alice, dataset):
    first = vocabulary_store.add_version(dataset, SMALL, alice)
    before = first.content

    second = vocabulary_store.add_version(dataset, with_tail(), alice, instead_of=1)

    assert (first.version, second.version) == (1, 2)
    assert Vocabulary.objects.get(pk=first.pk).content == before
    assert vocabulary_store.current_vocabulary(dataset).category("dog").part("tail") is not None
    assert vocabulary_store.read(first).category("dog").part("tail") is None


def test_the_same_content_again_makes_no_version(alice, dataset):
    first = vocabulary_store.add_version(dataset, SMALL, alice)

    assert vocabulary_store.add_version(dataset, build(SMALL), alice, instead_of=7) == first
    assert dataset.vocabularies.count() == 1


def test_what_was_made_from_an_older_version_is_refused(alice, dataset):
    vocabulary_store.add_version(dataset, SMALL, alice)
    vocabulary_store.start(dataset, alice)

    with pytest.raises(Conflict, match="Version 2 of the vocabulary is newer than"):
        vocabulary_store.add_version(dataset, with_tail(), alice, instead_of=1)
    assert dataset.vocabularies.count() == 2


def test_a_faulty_one_makes_no_version(alice, dataset):
    with pytest.raises(VocabularyError, match="unknown category"):
        vocabulary_store.add_version(
            dataset, changed(lambda raw: raw["categories"][1].update(like="cow")), alice
        )
    assert not dataset.vocabularies.exists()


def test_only_the_datasets_owner_and_staff_write_versions(bob, dataset):
    with pytest.raises(NotAllowed):
        vocabulary_store.add_version(dataset, SMALL, bob)

    staff = factories.make_user("sue", is_staff=True)
    assert vocabulary_store.add_version(dataset, SMALL, staff).version == 1


def test_versions_are_counted_by_dataset(alice, dataset):
    meadow = factories.make_dataset(alice, "meadow")
    vocabulary_store.start(dataset, alice)

    assert vocabulary_store.start(meadow, alice).version == 1


def test_campaigns_keep_the_version_they_ask_by(alice, dataset):
    first = vocabulary_store.add_version(dataset, SMALL, alice)
    campaign = factories.make_campaign(alice, dataset, "coots", images=1)
    Campaign.objects.filter(pk=campaign.pk).update(vocabulary=first)

    vocabulary_store.start(dataset, alice)

    campaign.refresh_from_db()
    assert campaign.vocabulary == first
    assert vocabulary_store.campaigns_by_version(dataset) == {1: [campaign]}


def test_objects_are_counted_by_category_and_whole_images_are_none(alice, dataset):
    vocabulary = vocabulary_store.read(vocabulary_store.add_version(dataset, SMALL, alice))
    image = factories.make_image(dataset, "a.png")
    whole, _ = Item.objects.get_or_create(image=image, region=None)
    GivenLabel.objects.create(item=whole, key="n02084071")
    for number in (1, 2):
        item = Item.objects.create(image=image, region=[0, 0, 5, 5], name=f"dog-{number}")
        GivenLabel.objects.create(item=item, key="n02084071")
        GivenLabel.objects.create(item=item, key="leg", geometry={"polygons": []})

    assert vocabulary_store.objects_by_category(dataset, vocabulary) == {"n02084071": 2}


def test_changes_name_what_came_went_and_differs():
    def change(raw):
        dog, _ = raw["categories"]
        dog["guidance"] = "All breeds."
        dog["parts"][1] |= {"merge": {"left": ["luleg"], "right": ["ruleg"]}, "holes": True}
        dog["parts"] = [dog["parts"][1], {"key": "tail"}]
        raw["title"] = "Pets"
        raw["categories"][1] = {"key": "n02374451", "name": "horse", "like": "dog"}

    changed_keys = changes(build(SMALL), build(changed(change)))

    assert changed_keys == [
        VocabularyChange("changed", field="title", before="Small", after="Pets"),
        VocabularyChange("removed", "cat"),
        VocabularyChange("changed", "dog", field="guidance", after="All breeds."),
        VocabularyChange("removed", "dog", "head"),
        VocabularyChange("changed", "dog", "leg", "holes", "no", "yes"),
        VocabularyChange(
            "changed",
            "dog",
            "leg",
            "merge",
            "left: luleg, llleg; right: ruleg",
            "left: luleg; right: ruleg",
        ),
        VocabularyChange("added", "dog", "tail"),
        VocabularyChange("added", "horse", after="leg, tail"),
    ]
    assert count_changes(changed_keys) == {"added": 2, "removed": 2, "changed": 4}


def test_another_order_is_a_change_and_the_same_is_none():
    def turn(raw):
        raw["categories"][0]["parts"].reverse()

    assert changes(build(SMALL), build(SMALL)) == []
    assert changes(build(SMALL), build(changed(turn)))[0] == VocabularyChange(
        "changed", "dog", "", "order", "head, leg", "leg, head"
    )
