"""Boxes measured by drawing them again: what was found, and whether what was stated holds."""

import pytest

from labeling.errors import Conflict, Refusal
from labeling.geometry.boxes import iou
from labeling.models import Audit, Campaign
from labeling.quality import auditing, box_audit
from tests import factories
from tests.clients import logged_in, read
from tests.labeling import boxers
from tests.labeling.boxers import DOG, A, B, box

SHIFTED = [4.0, 2.0, 24.0, 22.0]


@pytest.fixture(scope="module")
def built(once):
    """Two boxes in each of three images; the first attempt at one was rejected."""
    wrong = [40.0, 2.0, 60.0, 9.0]

    def says(question, person):
        boxed = (question.content or {}).get("boxes", [])
        if question.step == "check":
            return "wrong" if question.content["box"] == wrong else "good"
        if question.step == "draw":
            if not boxed and not (question.content or {}).get("rejected"):
                return box(wrong)
            return box(B if boxed else A)
        return "complete" if len(boxed) == 2 else {"missing": [[40.0, 20.0]]}

    with once():
        alice, _, dataset = factories.cast()
        made = boxers.make(alice, dataset, images=3)
        boxers.work(made, boxers.people(made), says)
    return made.pk


@pytest.fixture
def campaign(built, afresh):
    return Campaign.objects.get(pk=built)


def answer_all(campaign, alice, says):
    for audit in Audit.objects.order_by("pk"):
        auditing.answer(audit, alice, says(audit))


def test_only_boxes_that_stand_are_drawn_and_the_same_seed_draws_the_same(campaign, alice):
    chosen, of = box_audit.draw(campaign, 6, seed=3)

    assert (len(chosen), of) == (6, 9)
    values = [
        q.settlements.latest("pk").value["box"] for q in campaign.questions.filter(pk__in=chosen)
    ]
    assert all(sides in (A, B) for sides in values)
    assert box_audit.draw(campaign, 6, seed=3)[0] == chosen
    with pytest.raises(Conflict, match="Only 6 questions are settled"):
        auditing.draw(campaign, alice, 7, 1)


def test_the_auditor_sees_the_other_boxes_and_where_to_draw_but_not_the_box(campaign, alice):
    auditing.draw(campaign, alice, 6, 1)

    for audit in Audit.objects.all():
        content = box_audit.question_context(audit).content
        drawn = audit.settlement.value["box"]
        assert content["boxes"] == [B if drawn == A else A]
        assert content["at"] == [(drawn[0] + drawn[2]) / 2, (drawn[1] + drawn[3]) / 2]


def test_the_error_is_measured_class_by_class_with_an_interval(campaign, alice):
    auditing.draw(campaign, alice, 6, 1)
    assert box_audit.measure(campaign, 1) == []

    def says(audit):
        return box(SHIFTED) if audit.settlement.value["box"] == A else box(B)

    answer_all(campaign, alice, says)

    whole, dogs = box_audit.measure(campaign, 1)
    off = 1 - iou(tuple(SHIFTED), tuple(A))
    assert (whole.words, whole.audited, whole.missed, dogs.words) == ("", 6, 0, DOG)
    assert whole.error == pytest.approx(off / 2)
    low, high = whole.interval
    assert low < whole.error < high
    assert whole.stated > 0.1
    assert whole.stated_holds
    assert (whole.good_at_0_5, whole.good_at_0_7) == (1.0, 1.0)
    estimate = auditing.estimate(campaign)
    assert (estimate.audited, estimate.wrong, estimate.boxes) == (6, 0, [whole, dogs])


def test_an_auditor_who_finds_nothing_there_counts_it_as_wrong(campaign, alice):
    auditing.draw(campaign, alice, 6, 1)
    answer_all(campaign, alice, lambda audit: "none")

    whole, *_ = box_audit.measure(campaign, 1)
    assert (whole.missed, whole.error, whole.stated_holds) == (6, 1.0, False)
    assert auditing.estimate(campaign).wrong == 6
    assert len(auditing.disagreements(campaign)) == 6


def test_a_drawing_of_the_auditor_is_checked_as_any_other(campaign, alice):
    auditing.draw(campaign, alice, 1, 1)
    audit = Audit.objects.get()

    with pytest.raises(Refusal, match="extends beyond the upright image"):
        auditing.answer(audit, alice, box([0, 0, 900, 10]))
    audit.refresh_from_db()
    assert audit.answered_at is None


def test_pages_say_that_the_error_of_boxes_is_not_validated(campaign, alice):
    client = logged_in(alice)

    assert "not been validated on real drawings" in read(
        client, f"/campaigns/{campaign.name}/releases/"
    )
    quality = read(client, f"/campaigns/{campaign.name}/quality/")
    assert "Not measured." in quality
    assert "not been validated on real drawings" in quality
    auditing.draw(campaign, alice, 6, 1)
    answer_all(campaign, alice, lambda audit: box(audit.settlement.value["box"]))
    assert "not been validated on real drawings" in read(
        client, f"/campaigns/{campaign.name}/quality/"
    )
