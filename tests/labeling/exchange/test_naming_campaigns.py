"""Naming campaigns with examples of their classes."""

import pytest

from labeling.errors import Refusal
from labeling.exchange import naming_campaigns
from tests import factories
from tests.cases import for_each
from tests.clients import API, program

COOT, DRAKE, TENCH = "n02018207", "n01847000", "n01440764"
CLASSES = [{"key": key, "name": key, "path": []} for key in (COOT, DRAKE, TENCH)]


def draft(alice, dataset, **fields):
    return naming_campaigns.draft(
        alice,
        dataset,
        **{
            "name": "names",
            "title": "Names",
            "kind": "naming",
            "vocabulary": CLASSES,
            "settings": {"most": 5},
            "policy": {"votes": 1, "max_votes": 1, "gold_share": 0, "training_questions": 0}
            | {"test_questions": 0},
        }
        | fields,
    )


@pytest.fixture
def images(dataset):
    return [factories.make_image(dataset, f"{name}.png").name for name in "abcde"]


@for_each(
    "fields",
    [
        {"examples": [("x.png", COOT)]},
        {"examples": [("a.png", "n9")]},
        {"examples": [("a.png", COOT)], "images": ["a.png"]},
        {"examples": [("a.png", COOT)], "settings": {}},
    ],
)
def test_what_does_not_fit_is_refused_whole(alice, dataset, images, fields):
    with pytest.raises(Refusal) as refused:
        draft(alice, dataset, **fields)

    assert refused.value.field == "examples"
    assert not dataset.campaigns.exists()


def test_examples_are_shown_with_their_class_and_never_asked_about(alice, dataset, images):
    made = draft(alice, dataset, examples=[("a.png", COOT), ("b.png", COOT)])

    asked_images = set(made.questions.values_list("item__image__name", flat=True))
    assert asked_images == {"c.png", "d.png", "e.png"}
    assert made.topics.get(key=COOT).examples.count() == 2
    assert {image for image, _ in naming_campaigns.pairs_of(made, ())} == asked_images


@for_each("settings", [{}, {"most": 2}])
def test_a_class_without_a_name_is_named_by_wordnet_else_by_its_key(
    alice, dataset, images, wordnet, settings
):
    rows = [{"key": DRAKE}, {"key": "pintail", "name": ""}, {"key": TENCH, "name": "a fish"}]

    name = f"names-{len(settings)}"
    made = draft(alice, dataset, name=name, vocabulary=rows, settings=settings)

    assert {row["key"]: row["name"] for row in made.settings["vocabulary"]} == {
        DRAKE: "drake",
        "pintail": "pintail",
        TENCH: "a fish",
    }


@for_each("settings", [{}, {"most": 2}])
def test_classes_with_the_same_name_are_told_apart(alice, dataset, images, settings):
    rows = [{"key": key, "name": "crane"} for key in ("a", "b")]

    name = f"names-{len(settings)}"
    made = draft(alice, dataset, name=name, vocabulary=rows, settings=settings)

    names = {row["name"] for row in made.settings["vocabulary"]}
    assert names == {"crane (a)", "crane (b)"}


@for_each(
    "entry", [1, {}, {"key": 1}, {"key": "a", "name": ["b"]}, {"key": ["a"]}, {"name": "a"}, None]
)
@for_each("settings", [{}, {"most": 2}])
def test_the_api_refuses_classes_of_wrong_types_with_their_number(alice, dataset, entry, settings):
    vocabulary = [{"key": COOT, "name": "coot"}, entry, entry]
    body = {"name": "names", "title": "Names", "kind": "naming", "dataset": dataset.name}

    refused = program(alice).post(
        f"{API}campaigns/", body | {"settings": settings | {"vocabulary": vocabulary}}, "json"
    )

    assert refused.status_code == 400, refused.content
    assert "Class 2 of the vocabulary" in refused.json()["detail"]
