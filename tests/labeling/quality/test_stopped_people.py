"""What people can still do, by pages and by programs, whose work was ended or rests."""

import uuid
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from annotator.pages.seats import image_url
from labeling.answers import submitting
from labeling.assignment import claiming
from labeling.consensus import reviewing
from labeling.errors import Refusal
from labeling.kinds import policies
from labeling.models import Answer, Seat
from labeling.quality import blocking, monitoring
from labeling.web import tokens
from tests import factories
from tests.cases import for_each
from tests.labeling.crowd import answer


def member(person, campaign):
    return campaign.memberships.get(user=person)


def browser(person) -> Client:
    client = Client()
    client.force_login(person)
    return client


def program(person) -> APIClient:
    _, secret = tokens.create_token(person, scope="write")
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")
    return client


def test_a_blocked_reviewer_reviews_audits_and_looks_no_more(coots, alice, bob):
    vera = factories.make_user("vera")
    factories.join(vera, coots, "reviewer")
    question = coots.questions.first()
    coots.questions.filter(pk=question.pk).update(state="review", seats_free=0)
    web, api = browser(vera), program(vera)
    assert web.get(f"/campaigns/{coots.name}/quality/").status_code == 200

    blocking.block(coots, member(vera, coots), alice, "decided at random")

    for path in ("quality/", "audit/", "review/", f"questions/{question.pk}/image"):
        assert web.get(f"/campaigns/{coots.name}/{path}").status_code == 403, path
    review = f"/api/v1/campaigns/{coots.name}/questions/{question.pk}/review/"
    assert api.post(review, {"value": "yes"}, format="json").status_code == 403
    assert api.post(f"/api/v1/campaigns/{coots.name}/audits/", {"n": 1}).status_code == 403
    question.refresh_from_db()
    assert question.state == "review"
    person = browser(alice).get(f"/campaigns/{coots.name}/people/{member(vera, coots).pk}/")
    assert [action.name for action in person.context["actions"]] == ["unblock"]
    # What every member may see stays: the person reads there that their work has ended.
    assert web.get(f"/campaigns/{coots.name}/standing/").status_code == 200

    blocking.unblock(coots, member(vera, coots), alice)
    assert reviewing.decide(coots, question.pk, vera, "yes").value == "yes"
    assert web.get(f"/campaigns/{coots.name}/quality/").status_code == 200


def test_the_images_of_a_blocked_person_are_closed_at_once(coots, alice, bob):
    seat, *_ = claiming.next_page(bob, coots).seats
    answer(bob, coots, [seat])
    address = image_url(seat, bob)
    assert browser(bob).get(address).status_code == 200

    blocking.block(coots, member(bob, coots), alice, "answers at random")

    assert browser(bob).get(address).status_code == 404


def skipped(person, campaign) -> list[str]:
    """Seats that this person was given and gave back."""
    tokens = [seat.token for seat in claiming.next_page(person, campaign).seats]
    for token in tokens:
        claiming.return_seat(person, token)
    return tokens


@pytest.mark.parametrize("minutes", [0, 21])
def test_a_paused_persons_answers_are_late_whenever_their_lease_ends(coots, alice, bob, minutes):
    """Seats gathered before let nobody work on."""
    seat, *_ = skipped(bob, coots)
    until = timezone.now() + timedelta(minutes=20 - minutes)
    Seat.objects.filter(token=seat).update(leased_until=until)
    monitoring.pause(member(bob, coots), alice, "to be looked at")

    (result,) = submitting.submit(
        bob, coots, [submitting.SubmittedAnswer(uuid.uuid4(), seat, "yes", 9)]
    )

    assert (result.status, result.code) == ("accepted", "")
    assert Answer.objects.get().late
    free = coots.questions.get(seats__token=seat).seats_free
    assert free == policies.for_campaign(coots)["votes"]


@for_each("value", [[], {}, ["none"], None, 1])
def test_an_action_that_is_no_word_is_refused(value):
    with pytest.raises(Refusal, match="gold_action is"):
        policies.clean({"gold_action": value})
