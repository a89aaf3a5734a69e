"""Seats with and without the model, what it proposes, and what becomes of it in an answer."""

import uuid
from typing import Any

import pytest

from labeling.answers import submitting
from labeling.answers.submitted_answers import SubmittedAnswer
from labeling.assignment import claiming
from labeling.assistance import asking, networks
from labeling.assistance import seats as arms
from labeling.errors import NotAllowed, Refusal
from labeling.geometry import regions
from labeling.geometry.polygons import from_json
from labeling.models import (
    Answer,
    Assistance,
    Campaign,
    ImageEmbedding,
    Proposal,
    Seat,
    Settlement,
    User,
)
from labeling.quality import gold
from tests import factories
from tests.cases import for_each
from tests.labeling import parted, prompted

pytest.importorskip("onnxruntime")
CLICK = {"points": [prompted.MIDDLE]}


@pytest.fixture(scope="module")
def built(once) -> int:
    with once():
        alice, bob, dataset = factories.cast()
        campaign = prompted.campaign_of(alice, dataset, once.folder)
        factories.join(bob, campaign)
    return campaign.pk


@pytest.fixture
def campaign(built, afresh) -> Campaign:
    return Campaign.objects.get(pk=built)


@pytest.fixture
def seat(bob, campaign) -> Seat:
    claiming.next_page(bob, campaign)
    return prompted.seat_of(bob, campaign)


def answer_of(proposal: Proposal, **came: Any) -> dict[str, Any]:
    """The proposal sent as the part's drawing."""
    part = {"state": "drawn", "polygons": proposal.polygons}
    if came is not None:
        part["came"] = {"proposal": proposal.token, "edits": 0} | came
    return {"parts": {proposal.part: part}, "half": True}


def send(user: User, campaign: Campaign, seat: Seat, value: object) -> submitting.Result:
    (result,) = submitting.submit(
        user, campaign, [SubmittedAnswer(uuid.uuid4(), seat.token, value, 30_000, None)]
    )
    return result


def kept(seat: Seat, part: str = "tail") -> dict[str, Any] | None:
    value = Answer.objects.filter(assignment=seat).latest("revision").value
    return value["parts"][part].get("came")


def test_a_click_gives_the_outline_under_it(seat):
    proposal = asking.propose(seat, "tail", CLICK)

    outline = from_json(proposal.polygons)
    # A cell of the made-up network is a pixel here.
    assert regions.iou(outline, parted.square(*prompted.RED)) > 0.8
    assert proposal.sha256 == networks.for_campaign(seat.question.campaign).sha256


def test_the_same_question_is_the_same_proposal(seat):
    first = asking.propose(seat, "tail", CLICK)

    assert asking.propose(seat, "tail", CLICK).pk == first.pk
    assert asking.propose(seat, "leg", CLICK).pk != first.pk
    assert Proposal.objects.count() == 2


def test_a_drawing_without_the_model_gets_no_proposal(bob, campaign, seat):
    alone = prompted.seat_of(bob, campaign, 1, assisted=False)

    with pytest.raises(NotAllowed, match="made without the model"):
        asking.propose(alone, "tail", CLICK)
    networks.remove(campaign)
    seat = Seat.objects.select_related("question__item__image").get(pk=seat.pk)
    with pytest.raises(NotAllowed, match="made without the model"):
        asking.propose(seat, "tail", CLICK)


def test_where_nothing_is_found_a_sentence_says_so(seat, monkeypatch):
    monkeypatch.setattr(asking.POOL, "decode", lambda *_: {"polygons": [], "score": 0.1})

    with pytest.raises(Refusal, match="found nothing there"):
        asking.propose(seat, "tail", CLICK)
    assert not Proposal.objects.exists()


def test_who_asks_too_often_draws_by_hand(seat, monkeypatch):
    monkeypatch.setattr(asking, "MAX_PER_MINUTE", 2)
    for part in ("tail", "leg"):
        asking.propose(seat, part, CLICK)

    with pytest.raises(asking.TooOften, match="Too many requests"):
        asking.propose(seat, "torso", CLICK)
    # What was asked before is no new question.
    asking.propose(seat, "tail", CLICK)


@for_each("part", ["wing", "", None, 3])
def test_a_part_that_is_none_is_refused(seat, part):
    with pytest.raises(Refusal, match="This object has no part"):
        asking.propose(seat, part, CLICK)


def test_what_was_taken_keeps_where_it_came_from(bob, campaign, seat):
    proposal = asking.propose(seat, "tail", CLICK)

    assert send(bob, campaign, seat, answer_of(proposal, edits=0)).status == submitting.ACCEPTED

    assert kept(seat) == {
        "proposal": proposal.token,
        "how": "taken",
        "iou": 1.0,
        "edits": 0,
        "box": list(regions.box_of(from_json(proposal.polygons))),
        "model": proposal.sha256,
    }


def test_what_was_mended_says_how_far(bob, campaign, seat):
    proposal = asking.propose(seat, "tail", CLICK)
    value = answer_of(proposal, edits=3)
    value["parts"]["tail"]["polygons"] = [[[[24, 12], [48, 12], [48, 28], [24, 28]]]]

    send(bob, campaign, seat, value)

    edited = kept(seat)
    assert (edited["how"], edited["edits"]) == ("mended", 3)
    assert edited["iou"] == pytest.approx(2 / 3, abs=0.06)


def test_a_proposal_that_was_left_for_another_drawing_counts_as_drawn(bob, campaign, seat):
    value = answer_of(asking.propose(seat, "tail", CLICK))
    value["parts"]["tail"]["polygons"] = [[[[0, 0], [10, 0], [10, 8], [0, 8]]]]

    send(bob, campaign, seat, value)

    assert kept(seat) is None


def test_a_proposal_that_is_sent_as_ones_own_is_known(bob, campaign, seat):
    proposal = asking.propose(seat, "tail", CLICK)
    value = answer_of(proposal)
    del value["parts"]["tail"]["came"]

    send(bob, campaign, seat, value)

    assert kept(seat)["proposal"] == proposal.token


def test_an_answer_that_is_sent_twice_is_the_same_answer(bob, campaign, seat):
    sent = SubmittedAnswer(
        uuid.uuid4(), seat.token, answer_of(asking.propose(seat, "tail", CLICK)), 30_000, None
    )

    first, again = (submitting.submit(bob, campaign, [sent])[0] for _ in range(2))

    assert (first, Answer.objects.count()) == (again, 1)


def test_a_proposal_of_another_seat_person_or_part_is_refused(bob, campaign, seat, charlie):
    factories.join(charlie, campaign)
    claiming.next_page(charlie, campaign)
    theirs = asking.propose(prompted.seat_of(charlie, campaign), "tail", CLICK)
    elsewhere = asking.propose(prompted.seat_of(bob, campaign, 1), "tail", CLICK)
    mine = asking.propose(seat, "leg", CLICK)
    wrong = answer_of(theirs), answer_of(elsewhere), answer_of(mine)
    wrong[2]["parts"]["tail"] = wrong[2]["parts"].pop("leg")

    results = [send(bob, campaign, seat, value) for value in wrong]

    assert [result.status for result in results] == [submitting.REFUSED] * 3
    assert "did not make for this image" in results[0].message
    assert "did not make for this image" in results[1].message
    assert "of another part" in results[2].message
    assert not Answer.objects.exists()


@for_each("came", ["x", {"proposal": 3}, {"edits": -1}, {"edits": True}])
def test_a_provenance_of_another_form_is_refused(bob, campaign, seat, came):
    value = answer_of(asking.propose(seat, "tail", CLICK))
    value["parts"]["tail"]["came"] = (
        value["parts"]["tail"]["came"] | came if isinstance(came, dict) else came
    )

    assert send(bob, campaign, seat, value).code == "bad_value"


def test_one_of_two_drawings_is_made_without_the_model(campaign, bob, charlie):
    factories.join(charlie, campaign)
    network = networks.for_campaign(campaign)
    for person in (bob, charlie):
        claiming.next_page(person, campaign)
        seats = Seat.objects.filter(annotator=person).select_related("question__item")
        arms.assistance_by_seat(list(seats), campaign, network)

    assisted_by_question: dict[int, list[bool]] = {}
    rows = Assistance.objects.values_list("assignment__question", "assisted")
    for question, helped in rows:
        assisted_by_question.setdefault(question, []).append(helped)
    assert [sorted(helped) for helped in assisted_by_question.values()] == [[False, True]] * 3


def test_the_arm_of_a_seat_stays(campaign, bob):
    claiming.next_page(bob, campaign)
    seats = list(Seat.objects.filter(annotator=bob).select_related("question__item"))
    network = networks.for_campaign(campaign)

    first = arms.assistance_by_seat(seats, campaign, network)

    assert arms.assistance_by_seat(seats, campaign, network) == first
    assert set(first) == {seat.pk for seat in seats}


def test_of_a_page_every_image_has_an_embedding_or_nobody_is_helped(campaign, bob):
    claiming.next_page(bob, campaign)
    seats = list(Seat.objects.filter(annotator=bob).select_related("question__item"))
    ImageEmbedding.objects.first().delete()

    assert set(
        arms.assistance_by_seat(seats, campaign, networks.for_campaign(campaign)).values()
    ) == {False}


def test_two_drawings_of_one_proposal_do_not_settle_a_question(campaign, bob, charlie):
    factories.join(charlie, campaign)
    for person in (bob, charlie):
        claiming.next_page(person, campaign)
        seat = prompted.seat_of(person, campaign)
        send(person, campaign, seat, answer_of(asking.propose(seat, "tail", CLICK)))

    question = parted.question(campaign)
    assert (question.state, question.seats_free) == ("open", 1)
    assert not Settlement.objects.exists()


def test_a_drawing_with_the_model_is_no_gold(campaign, bob, seat, alice):
    proposal = asking.propose(seat, "tail", CLICK)
    send(bob, campaign, seat, answer_of(proposal))
    value = Answer.objects.get(assignment=seat).value
    row = {"image": "cats/0.png", "object": "cat-1", "answer": value}

    with pytest.raises(Refusal, match="drawn without it"):
        gold.add_gold(campaign, alice, [row])
