"""Home, joining, and who sees what."""

import uuid

import pytest
from django.urls import reverse

from labeling.answers import submitting
from labeling.assignment import claiming
from labeling.consensus import reviewing
from labeling.models import Invitation, Membership, Question, User
from labeling.quality import memberships
from tests import factories
from tests.cases import for_each
from tests.clients import html_of
from tests.labeling import parted

pytestmark = pytest.mark.django_db


def test_home_says_what_this_is_to_nobody(client):
    response = client.get("/")

    assert response.status_code == 200
    assert b"Log in" in response.content


def test_home_offers_an_annotator_their_campaign(client, bob, coots):
    client.force_login(bob)

    response = client.get("/")

    assert reverse("label", args=["coots"]).encode() in response.content
    assert b"Start" in response.content


def test_home_hides_drafts_from_annotators_and_shows_them_to_researchers(
    client, alice, bob, dataset
):
    draft = factories.make_campaign(alice, dataset, "secret-plan", images=1, launch=False)
    factories.join(bob, draft)

    client.force_login(bob)
    seen_by_bob = client.get("/").content
    client.force_login(alice)
    seen_by_alice = client.get("/").content

    assert b"Secret-Plan" not in seen_by_bob
    assert b"Secret-Plan" in seen_by_alice


def test_home_asks_the_same_of_the_database_for_one_campaign_and_for_five(
    client, alice, bob, dataset, django_assert_num_queries
):
    for index in range(5):
        campaign = factories.make_campaign(alice, dataset, f"c{index}", images=1)
        factories.join(bob, campaign)
    client.force_login(bob)

    # Session, person, memberships, what waits in them, replies to flags, own datasets: nothing is
    # counted.
    with django_assert_num_queries(6):
        client.get("/")


def home_of(client, user) -> str:
    client.force_login(user)
    return html_of(client.get("/"))


def test_home_offers_no_button_where_nothing_is_left(client, bob, coots):
    assert ">Start<" in home_of(client, bob)
    for seat in claiming.next_page(bob, coots).seats:
        submitting.submit(
            bob, coots, [submitting.SubmittedAnswer(uuid.uuid4(), seat.token, "yes", 900)]
        )

    text = home_of(client, bob)

    assert "Nothing left for you now" in text
    assert "Start<" not in text
    assert "Continue<" not in text
    assert "Check again" in text


def test_home_says_that_work_was_sent_back(client, alice, bob, dataset):
    cats = parted.parts_campaign(alice, dataset)
    factories.join(bob, cats)
    [seat, *_] = claiming.next_page(bob, cats, 1).seats
    drawing = parted.drawn(torso=parted.square(24, 10, 50, 30), leg="occluded", tail="not_visible")
    submitting.submit(
        bob, cats, [submitting.SubmittedAnswer(uuid.uuid4(), seat.token, drawing, 900)]
    )
    Question.objects.filter(pk=seat.question_id).update(state="review", seats_free=0)
    assert "sent work back" not in home_of(client, bob)

    reviewing.send_back(cats, seat.question_id, alice, "Mind the tail.")

    assert "A reviewer sent work back to you" in home_of(client, bob)
    assert ">Correct it<" in home_of(client, bob)


@pytest.mark.parametrize(
    ("stage", "sentence"),
    [("paused", "Your work here is paused"), ("blocked", "Your work in this campaign has ended")],
)
def test_home_says_why_somebody_gets_no_work(client, bob, coots, stage, sentence):
    coots.memberships.filter(user=bob).update(stage=stage)

    text = home_of(client, bob)

    assert sentence in text
    assert "Start<" not in text


def test_strangers_find_nothing(client, charlie, coots):
    client.force_login(charlie)

    response = client.get(reverse("label", args=["coots"]))

    assert response.status_code == 404
    assert b"There is no such campaign" in response.content


def test_invitation_leads_through_sign_up_to_the_campaign(client, alice, coots):
    _, secret = memberships.invite(coots, alice)
    link = reverse("join", args=[secret])

    explained = client.get(link)
    signed_up = client.post(
        reverse("account_signup"),
        {"username": "dora", "password1": "a-long-passphrase", "password2": "a-long-passphrase"},
    )

    dora = User.objects.get(username="dora")
    assert b"Sign up and join" in explained.content
    assert signed_up["Location"] == "/"
    assert "You joined “Coots” as annotator." in client.get("/").content.decode()
    assert Membership.objects.filter(user=dora, campaign=coots, role="annotator").exists()
    assert Invitation.objects.get().uses == 1


def test_log_in_by_invitation_comes_back_to_it_and_asks(client, alice, charlie, coots):
    _, secret = memberships.invite(coots, alice)
    link = reverse("join", args=[secret])
    client.get(link)

    response = client.post(reverse("account_login"), {"login": "charlie", "password": "password"})

    assert response["Location"] == link
    assert not Membership.objects.filter(user=charlie).exists()


def test_joining_takes_a_post(client, alice, charlie, coots):
    _, secret = memberships.invite(coots, alice)
    client.force_login(charlie)

    client.get(reverse("join", args=[secret]))

    assert not Membership.objects.filter(user=charlie).exists()


def test_sign_up_is_closed_without_an_invitation(client):
    response = client.get(reverse("account_signup"))

    assert b"Invitation needed" in response.content


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"revoked_at": "2020-01-01T00:00:00Z"}, b"revoked"),
        ({"expires_at": "2020-01-01T00:00:00Z"}, b"expired"),
        ({"uses": 1}, b"used up"),
    ],
)
def test_spent_invitation_says_why(client, alice, charlie, coots, fields, sentence):
    _, secret = memberships.invite(coots, alice)
    Invitation.objects.update(**fields)
    link = reverse("join", args=[secret])

    for_nobody = client.get(link)
    closed = client.get(reverse("account_signup"))
    client.force_login(charlie)
    for_charlie = client.get(link)
    tried = client.post(link)

    assert for_nobody.status_code == for_charlie.status_code == 410
    assert sentence in for_nobody.content
    assert sentence in for_charlie.content
    assert sentence in tried.content
    assert b"Invitation needed" in closed.content
    assert not Membership.objects.filter(user=charlie).exists()


def test_member_who_opens_a_spent_link_goes_home(client, alice, bob, coots):
    _, secret = memberships.invite(coots, alice)
    Invitation.objects.update(uses=1)
    client.force_login(bob)

    response = client.get(reverse("join", args=[secret]))

    assert response.status_code == 302


def test_unknown_page_has_our_look(client):
    response = client.get("/nowhere/")

    assert response.status_code == 404
    assert b"assay.css" in response.content


def test_pages_forbid_foreign_and_inline_code(client):
    policy = client.get("/")["Content-Security-Policy"]

    assert "script-src 'self'" in policy
    assert "unsafe-inline" not in policy


@for_each("address", ["/campaigns/?q=%00", "/label/example/%00/image", "/join/%00/"])
def test_an_address_with_a_nul_leads_nowhere(client, alice, address):
    client.force_login(alice)

    assert client.get(address).status_code == 404
