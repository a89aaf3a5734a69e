"""What a release of candidates says, and what becomes of it in exports."""

import csv

import pytest

from labeling.exchange import prior_labels
from labeling.follow_ups import candidate_lists
from labeling.models import GivenLabel
from labeling.release_files import exporting
from labeling.releases import freezing
from tests import factories
from tests.labeling.candidates import CAT, DOG, make, rows, settle

pytestmark = pytest.mark.django_db


@pytest.fixture
def pets(alice, bob, dataset, settings):
    settings.ASSAY_GLOSSARY = "tests.labeling.candidates.glossary"
    candidates = [*rows(dataset, CAT, 2), *rows(dataset, DOG, 1, query="")]
    campaign = make(alice, dataset, [*candidates, candidates[0]._replace(query="=chat birman")])
    first, second = campaign.questions.filter(topic=CAT).order_by("pk")
    settle(campaign, bob, [first, campaign.questions.get(topic=DOG)], "yes")
    settle(campaign, bob, [second], "no")
    return campaign


def test_each_answer_names_the_queries_that_found_its_image(pets):
    release = freezing.read(freezing.freeze(pets))

    lines = {line["image"]: line for line in release.answers()}
    assert lines["n01/00.png"]["queries"] == ["=chat birman", "burmese"]
    assert lines["n01/01.png"]["queries"] == ["burmese"]
    assert "queries" not in lines["n02/00.png"]
    assert [lines[name]["contains"] for name in sorted(lines)] == [True, False, True]
    [cat, _] = release.topics()
    assert cat["siblings"] == [{"name": "Siamese cat", "definition": "another breed"}]


def test_another_query_makes_another_release_and_nothing_else_does(pets, dataset):
    first = freezing.freeze(pets)
    marks = freezing.fingerprint(pets)
    assert freezing.freeze(pets).pk == first.pk

    candidate_lists.ask(pets, rows(dataset, CAT, 1, query="another"))

    assert freezing.fingerprint(pets) != marks
    assert freezing.freeze(pets).number == 2


def test_exports_carry_queries_and_come_in_again(pets, tmp_path, alice):
    release = freezing.read(freezing.freeze(pets))
    exporting.export(release, "csv", tmp_path / "out")

    with open(tmp_path / "out" / "labels.csv", newline="") as file:
        rows_by_image = {row["image"]: row for row in csv.DictReader(file)}
    assert rows_by_image["n01/00.png"]["source"] == "'=chat birman; burmese"
    assert {name: row["value"] for name, row in rows_by_image.items()} == {
        "n01/00.png": "yes",
        "n01/01.png": "no",
        "n02/00.png": "yes",
    }

    dataset_again = factories.make_dataset(alice, "other")
    for name in rows_by_image:
        factories.make_image(dataset_again, name)
    prior_labels.import_labels(dataset_again, tmp_path / "out")
    labels = GivenLabel.objects.filter(item__image__dataset=dataset_again)
    assert sorted(labels.values_list("item__image__name", "key", "value")) == [
        ("n01/00.png", CAT, "yes"),
        ("n01/01.png", CAT, "no"),
        ("n02/00.png", DOG, "yes"),
    ]
