"""Quality and time with the model and without, and what became of its proposals."""

import uuid
from typing import Any

import pytest
from django.urls import reverse

from labeling.answers import submitting
from labeling.answers.submitted_answers import SubmittedAnswer
from labeling.models import Assistance, Campaign, Gold, Proposal, Question, Seat, User
from labeling.reports import proposal_figures
from tests import factories
from tests.clients import logged_in
from tests.labeling import parted

pytestmark = pytest.mark.django_db
TAIL = parted.square(10, 10, 30, 30)
HALF = parted.square(10, 10, 30, 20)
WRONG = parted.square(40, 10, 60, 30)


@pytest.fixture
def campaign(alice, dataset) -> Campaign:
    return parted.parts_campaign(alice, dataset, policy={"votes": 2, "review": "disputed"})


def seat_of(user: User, question: Question, *, assisted: bool) -> Seat:
    seat = Seat.objects.create(
        question=question, annotator=user, subject=question.pk, leased_until="2100-01-01T00:00Z"
    )
    Assistance.objects.create(assignment=seat, assisted=assisted)
    return seat


def propose(seat: Seat, polygons: Any) -> Proposal:
    return Proposal.objects.create(
        assignment=seat,
        part="tail",
        prompts={},
        digest=uuid.uuid4().hex,
        polygons=parted._nested(polygons),
        sha256="a" * 64,
    )


def draw(seat: Seat, polygons: Any, seconds: int, proposal: Proposal | None = None) -> None:
    value = parted.drawn(tail=polygons)
    if proposal:
        value["parts"]["tail"]["came"] = {"proposal": proposal.token, "edits": 0}
    sent = SubmittedAnswer(uuid.uuid4(), seat.token, value, seconds * 1000, None)
    (result,) = submitting.submit(seat.annotator, seat.question.campaign, [sent])
    assert result.status == "accepted", result


def test_both_arms_are_told_with_what_became_of_proposals(campaign, bob, charlie):
    for person in (bob, charlie):
        factories.join(person, campaign)
    open_question, golden, third = campaign.questions.order_by("pk")
    Question.objects.filter(pk__in=[golden.pk, third.pk]).update(state="gold", seats_free=1)
    for question in (golden, third):
        Gold.objects.create(question=question, answer=parted.drawn(tail=TAIL))
    helped = seat_of(bob, open_question, assisted=True)
    draw(helped, TAIL, 10, propose(helped, TAIL))
    draw(seat_of(charlie, open_question, assisted=False), HALF, 40)
    bad = seat_of(bob, golden, assisted=True)
    draw(bad, WRONG, 10, propose(bad, WRONG))
    mended = seat_of(bob, third, assisted=True)
    propose(mended, WRONG)
    draw(mended, HALF, 20, propose(mended, TAIL))
    draw(seat_of(charlie, third, assisted=False), TAIL, 40)

    figures = proposal_figures.figures(campaign)

    assert (figures.with_model.drawings, figures.without_model.drawings) == (3, 2)
    assert figures.with_model.seconds_per_part.value == pytest.approx(40 / 3)
    assert figures.time_ratio == pytest.approx(1 / 3)
    assert figures.with_model.gold_iou.value == pytest.approx((0 + 0.5) / 2)
    assert figures.without_model.gold_iou.value == 1
    assert figures.with_model.others_iou.value == pytest.approx(0.5)
    assert (figures.requests, figures.taken, figures.mended, figures.refused) == (3, 2, 1, 0)
    assert (figures.bad_proposals.count, figures.bad_proposals.of) == (1, 1)
    assert (figures.with_model.bad.count, figures.without_model.bad.count) == (1, 0)


def test_a_campaign_without_a_model_has_no_figures(campaign, alice):
    assert proposal_figures.of_page(campaign) is None
    page = logged_in(alice).get(reverse("labeling:agreement", args=["cats"])).content.decode()
    assert "With the model" not in page


def test_the_page_the_command_and_the_api_tell_the_same(campaign, alice, bob, capsys):
    from django.core.management import call_command

    factories.join(bob, campaign)
    seat = seat_of(bob, campaign.questions.first(), assisted=True)
    draw(seat, TAIL, 12, propose(seat, TAIL))

    page = logged_in(alice).get(reverse("labeling:agreement", args=["cats"])).content.decode()
    body = logged_in(alice).get("/api/v1/campaigns/cats/proposal-figures/").json()
    call_command("proposals", "report", "cats")

    assert "With the model and without" in page
    assert "12.0" in page
    assert body["with_model"]["seconds_per_part"]["value"] == 12
    assert body["network"] is None
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["asked", "1"] in rows
    assert ["taken", "1"] in rows
