"""Doubtful labels of a benchmark: who contradicts them, and one click that asks people again."""

import pytest

from evaluation.benchmarks import access
from evaluation.benchmarks.kinds.labeled.label_sets import auditing
from labeling.errors import Conflict, NotAllowed
from labeling.models import Answer, Question
from labeling.near_duplicates import fingerprints
from tests.clients import text_of
from tests.evaluation.benchmarks.kinds.labeled import world
from tests.evaluation.benchmarks.kinds.labeled.label_sets import ducks
from tests.evaluation.benchmarks.kinds.labeled.label_sets.ducks import COOT, DRAKE, IMAGES


@pytest.fixture
def scored(drakes, alice):
    ducks.scored(drakes, alice)
    return drakes


def test_labels_that_both_contradict_come_first(scored):
    ranked = auditing.ranking(scored)

    assert [row.image for row in ranked[:2]] == IMAGES[1:3]
    assert {row.image for row in ranked} == set(IMAGES[:4])
    assert {(row.label, row.likeliest) for row in ranked} == {(DRAKE, COOT)}
    assert [entry.rater for entry in ranked[0].contradictions] == ["alpha", "beta"]


def test_a_vote_against_the_label_counts(scored, bob):
    answer = Answer.objects.get(assignment__question__item__image__name=IMAGES[8])
    Answer.objects.filter(pk=answer.pk).update(value="no")

    [row] = [row for row in auditing.ranking(scored) if row.image == IMAGES[8]]

    [statement] = row.contradictions
    assert (statement.rater, statement.name) == (bob.pseudonym, auditing.ANOTHER_CLASS)


def test_a_near_duplicate_with_another_label_counts(scored):
    prints = bytes(range(fingerprints.STORED))
    images = scored.campaign.dataset.images
    images.filter(name__in=IMAGES[6:8]).update(fingerprint=prints)
    labels = dict.fromkeys(IMAGES, DRAKE) | {IMAGES[6]: COOT}

    near = set(auditing._near(scored, labels))

    assert near == {
        auditing.Statement(auditing.NEAR_DUPLICATE, IMAGES[6], DRAKE),
        auditing.Statement(auditing.NEAR_DUPLICATE, IMAGES[7], COOT),
    }


def test_one_click_asks_people_again_about_the_first_labels(scored, as_alice):
    page = text_of(as_alice.get("/benchmarks/ducks/label-audit/"))
    assert IMAGES[1] in page
    assert "alpha" in page

    response = as_alice.post(
        "/benchmarks/ducks/label-audit/", {"count": 2, "people": 2}, follow=True
    )

    assert "2 questions ask 2 more people." in text_of(response)
    questions = Question.objects.filter(seats_free=2).values_list("item__image__name", flat=True)
    assert set(questions) == set(IMAGES[1:3])


def test_a_wrong_number_and_a_closed_campaign_are_refused(scored, as_alice):
    address = "/benchmarks/ducks/label-audit/"
    assert as_alice.post(address, {"count": 0, "people": 2}).status_code == 422
    scored.campaign.state = "closed"
    scored.campaign.save(update_fields=["state"])

    response = as_alice.post(address, {"count": 2, "people": 2})

    assert "The campaign is closed" in text_of(response, 422)
    assert not Question.objects.filter(seats_free__gt=0).exists()


def test_no_result_no_audit(drakes, as_alice):
    with pytest.raises(Conflict, match="Score the benchmark first"):
        auditing.ranking(drakes)
    assert "Score the benchmark first" in text_of(as_alice.get("/benchmarks/ducks/label-audit/"))


def test_a_sealed_part_stays_hidden(scored):
    scored.hides_images = True
    with pytest.raises(NotAllowed):
        auditing.ranking(scored)
    assert access.check_images is auditing.check_images


def test_other_kinds_have_no_audit(alice, bob, dataset, as_alice):
    world.make(alice, world.campaign_of(alice, bob, dataset), "wsol")
    assert as_alice.get("/benchmarks/wsol/label-audit/").status_code == 400
