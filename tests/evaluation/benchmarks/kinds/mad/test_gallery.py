"""Analyses of counterexamples: case III by distance from the true label."""

import csv
from io import StringIO

import pytest

from evaluation.benchmarks.kinds.mad import class_gallery, gallery, true_labels
from labeling.models import GivenLabel, Item
from tests import factories
from tests.clients import API, program, text_of
from tests.evaluation import crowd
from tests.evaluation.crowd import DRAKE, TENCH

PAGE = "/benchmarks/birds/"
TRUTHS = {"shared.png": DRAKE, "alpha-beta-2.png": TENCH}


@pytest.fixture
def all_wrong(birds, people, alice, wordnet):
    """Every label is wrong. People name two images of alpha and beta, and not yet the third."""
    crowd.answer(birds.campaign, people, crowd.right_is())
    rows = birds.selections.filter(first__name="alpha", second__name="beta", state="chosen")
    naming = true_labels.ask_true_label(birds, alice, list(rows), wordnet)
    crowd.answer(
        naming, people, lambda image, topic: {"key": TRUTHS[image]} if image in TRUTHS else None
    )
    birds.refresh_from_db()
    return birds


def test_case_three_is_ranked_by_the_mean_distance_of_both_labels(all_wrong):
    entries = gallery.case_three(all_wrong)

    # The tench is far from both birds; shared.png is an image of all three pairs.
    assert entries[0].selection.image == "alpha-beta-2.png"
    first, second = (prediction.distance_to_truth for prediction in entries[0].predictions)
    assert entries[0].mean_distance == (first + second) / 2
    of_shared = {
        entry.selection.second.name: entry.mean_distance
        for entry in entries
        if entry.selection.image == "shared.png" and entry.selection.first.name == "alpha"
    }
    assert of_shared["beta"] == pytest.approx(0.003662109375 / 2)
    assert of_shared["gamma"] > of_shared["beta"]
    known = [entry.mean_distance for entry in entries if entry.mean_distance is not None]
    assert known == sorted(known, reverse=True)
    assert len(known) == 4
    assert [entry.mean_distance for entry in entries[4:]] == [None] * 5


def test_page_of_a_pair_ranks_case_three_and_counts_the_unknown(all_wrong, as_alice):
    answer = as_alice.get(f"{PAGE}pairs/0/1/", {"case": "III"})

    images = [entry.selection.image for entry in answer.context["page_obj"]]
    assert images == ["alpha-beta-2.png", "shared.png", "alpha-beta-3.png"]
    assert "The distance of 1 of 3 is unknown" in text_of(answer)


def test_case_three_as_csv_has_every_pair(all_wrong, as_alice):
    answer = as_alice.get(f"{PAGE}case-iii.csv")

    lines = list(csv.DictReader(StringIO(answer.content.decode())))
    assert [line["image"] for line in lines if line["second"] == "beta"] == [
        "alpha-beta-2.png",
        "shared.png",
        "alpha-beta-3.png",
    ]
    assert len(lines) == 9
    assert (lines[0]["true_label"], lines[-1]["mean_distance"]) == (TENCH, "")


def test_programs_read_case_three_and_classes_as_the_pages_show_them(all_wrong, alice, as_alice):
    client, address = program(alice), f"{API}benchmarks/birds/"

    lines = list(csv.DictReader(StringIO(as_alice.get(f"{PAGE}case-iii.csv").content.decode())))
    rows = client.get(f"{address}case-iii/").json()
    plain = [{k: "" if v is None else str(v) for k, v in row.items()} for row in rows]
    assert plain == lines
    classes = client.get(f"{address}classes/").json()
    assert [tuple(row.values()) for row in classes] == class_gallery.classes(all_wrong)
    by_page = class_gallery.of_class(all_wrong, DRAKE)
    drakes = client.get(f"{address}classes/{DRAKE}/").json()
    assert [row["name"] for row in drakes["images"]] == [
        row.name for _, group in by_page.groups for row in group
    ]
    assert {row["right"] for row in drakes["images"]} == {False}
    assert drakes["reference_count"] == by_page.reference_count
    assert client.get(f"{address}classes/cat/").status_code == 404


def test_class_over_all_pairs_is_grouped_beside_reference_images(all_wrong, as_alice):
    dataset = all_wrong.campaign.dataset
    labeled = factories.make_image(dataset, "labeled.png")
    item, _ = Item.objects.get_or_create(image=labeled, region__isnull=True)
    GivenLabel.objects.create(item=item, key=TENCH, source="list.csv")
    GivenLabel.objects.create(item=item, key=DRAKE, value="no", source="list.csv")

    tench = class_gallery.of_class(all_wrong, TENCH)
    drake = class_gallery.of_class(all_wrong, DRAKE)

    [(heading, images)] = tench.groups
    assert heading == "Wrong"
    assert {row.name for row in images} == {
        "shared.png",
        *(f"{pair}-{rank}.png" for pair in ("alpha-gamma", "beta-gamma") for rank in (2, 3)),
    }
    assert next(row for row in images if row.name == "shared.png").classifiers == ["gamma"]
    # By the dataset's label, and as the true label that people chose.
    assert [row.name for row in tench.references] == ["alpha-beta-2.png", "labeled.png"]
    assert drake.references == []
    page = as_alice.get(f"{PAGE}classes/", {"class": TENCH})
    assert "Reference images: 2" in text_of(page)
    assert as_alice.get(f"{PAGE}classes/", {"class": "n9"}).context["gallery"] is None


def test_class_of_right_answers_is_under_right(birds, people, wordnet):
    crowd.answer(birds.campaign, people, crowd.right_is(DRAKE))

    [(heading, images)] = class_gallery.of_class(birds, DRAKE).groups

    assert (heading, len(images)) == ("Right", 5)
    assert class_gallery.classes(birds)[0][1] == "American coot"
