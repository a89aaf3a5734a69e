"""Failure tags on wrong predictions: who sets them, and how they are counted."""

import csv
from io import StringIO

import pytest

from evaluation.benchmarks.kinds.mad import failure_tags
from labeling.errors import Conflict, Refusal
from labeling.estimators.intervals import clopper_pearson
from tests import factories
from tests.clients import html_of, program, text_of
from tests.evaluation import crowd
from tests.evaluation.crowd import COOT

PAGE, API = "/benchmarks/birds/", "/api/v1/benchmarks/birds/failure-tags/"
LOW, CONTEXT = "low quality", "context bias"


@pytest.fixture
def birds(birds):
    """Alpha is always right, beta and gamma never."""
    crowd.answer(birds.campaign, crowd.people_of(birds.campaign), crowd.right_is(COOT))
    return birds


def count_of(benchmark, classifier: str, tag: str) -> failure_tags.TagCount:
    rows = failure_tags.counts(benchmark)
    return next(row for row in rows if (row.classifier, row.tag) == (classifier, tag))


def test_tags_are_counted_per_classifier_with_n_and_an_interval(birds, alice, bob):
    factories.join(bob, birds.campaign, "researcher")
    failure_tags.set_tags(birds, alice, "shared.png", {"beta": [LOW, CONTEXT], "gamma": [LOW]})
    failure_tags.set_tags(birds, alice, "alpha-beta-2.png", {"beta": [LOW]})
    # The same tag by a second person counts no image twice.
    failure_tags.set_tags(birds, bob, "shared.png", {"beta": [LOW]})

    row = count_of(birds, "beta", CONTEXT)

    # Beta's images: the shared one, two against alpha, two against gamma.
    assert (row.images, row.tagged, row.wrong, row.share) == (1, 2, 5, 0.5)
    assert (row.low, row.high) == clopper_pearson(1, 2)
    assert count_of(birds, "beta", LOW).images == 2
    assert count_of(birds, "gamma", LOW).tagged == 1
    alpha = count_of(birds, "alpha", LOW)
    assert (alpha.images, alpha.tagged, alpha.wrong, alpha.share) == (0, 0, 0, None)


def test_setting_tags_again_replaces_only_ones_own(birds, alice, bob):
    factories.join(bob, birds.campaign, "researcher")
    failure_tags.set_tags(birds, bob, "shared.png", {"beta": [LOW]})
    failure_tags.set_tags(birds, alice, "shared.png", {"beta": [LOW, CONTEXT], "gamma": [LOW]})

    failure_tags.set_tags(birds, alice, "shared.png", {"beta": []})

    rows = birds.failure_tags.values_list("submission__name", "tag", "tagged_by__username")
    assert set(rows) == {("beta", LOW, bob.username), ("gamma", LOW, alice.username)}


def test_right_predictions_and_unknown_tags_are_refused(birds, alice):
    for image, chosen, message in (
        ("shared.png", {"alpha": [LOW]}, "did not call 'alpha' wrong"),
        ("alpha-beta-2.png", {"gamma": [LOW]}, "did not call 'gamma' wrong"),
        ("alpha-beta-4.png", {"beta": [LOW]}, "did not call 'beta' wrong"),
        ("shared.png", {"beta": [LOW, "bad luck"]}, "no tag 'bad luck' here"),
    ):
        with pytest.raises(Refusal, match=message):
            failure_tags.set_tags(birds, alice, image, chosen)

    assert not birds.failure_tags.exists()


def test_vocabulary_keeps_the_tags_that_are_on_images(birds, alice):
    failure_tags.set_tags(birds, alice, "shared.png", {"beta": [LOW]})

    with pytest.raises(Conflict, match="'low quality' is on 1 image"):
        failure_tags.set_vocabulary(birds, ["occlusion"])
    with pytest.raises(Refusal, match="1 to 30 tags, not 0"):
        failure_tags.set_vocabulary(birds, [" "])
    with pytest.raises(Refusal, match="longer than 60"):
        failure_tags.set_vocabulary(birds, ["a" * 61])

    failure_tags.set_vocabulary(birds, [LOW, " occlusion  by hands ", LOW])
    birds.refresh_from_db()
    assert failure_tags.vocabulary(birds) == [LOW, "occlusion by hands"]


def test_pages_tag_an_image_and_show_the_counts(birds, as_alice):
    line = birds.selections.get(first__name="beta", image="shared.png")
    sent = {"classifier": ["beta", "gamma"], "tags beta": [LOW, CONTEXT], "tags gamma": []}

    answer = as_alice.post(f"{PAGE}failure-tags/{line.pk}/?case=III", sent)

    assert answer.url == f"{PAGE}pairs/1/2/?case=III#image-{line.pk}"
    page = html_of(as_alice.get(answer.url))
    assert page.count(" checked") == 2
    assert "Failure tags: low quality, context bias" in text_of(as_alice.get(answer.url))
    table = as_alice.get(f"{PAGE}failure-tags.csv").content.decode()
    row = next(row for row in csv.DictReader(StringIO(table)) if row["images"] == "1")
    assert (row["classifier"], row["tag"], row["tagged"]) == ("beta", CONTEXT, "1")
    assert "Share of n" in text_of(as_alice.get(f"{PAGE}failure-tags/"))


def test_page_of_the_vocabulary_says_what_is_wrong(birds, as_alice, alice):
    failure_tags.set_tags(birds, alice, "shared.png", {"beta": [LOW]})

    answer = as_alice.post(f"{PAGE}failure-tags/", {"vocabulary": "occlusion"})

    assert answer.status_code == 400
    assert "Remove it there first" in text_of(answer, 400)
    assert as_alice.post(f"{PAGE}failure-tags/", {"vocabulary": f"{LOW}\r\nnew"}).status_code == 302
    birds.refresh_from_db()
    assert failure_tags.vocabulary(birds) == [LOW, "new"]
    line = birds.selections.filter(state="chosen").first()
    assert as_alice.post(f"{PAGE}failure-tags/{line.pk}/").status_code == 400


def test_api_tags_counts_and_changes_the_vocabulary(birds, alice):
    client = program(alice)
    body = {"image": "shared.png", "classifier": "beta", "tags": [LOW]}

    assert client.put(API, body, format="json").status_code == 200

    [row] = client.get(API, {"classifier": "beta"}).json()["results"]
    assert (row["image"], row["tag"], row["by"]) == ("shared.png", LOW, alice.username)
    assert client.get(API, {"tag": CONTEXT}).json()["results"] == []
    counts = client.get(f"{API}counts/").json()
    assert {row["classifier"] for row in counts if row["images"]} == {"beta"}
    wrong = body | {"classifier": "alpha"}
    assert client.put(API, wrong, format="json").status_code == 400
    tags = {"vocabulary": [LOW, "new"]}
    assert client.put(f"{API}vocabulary/", tags, format="json").json() == tags
