"""The lists of a campaign's people and invitations, in pages."""

import csv
import io

import pytest
from django.test import Client

from labeling.kinds import policies
from labeling.models import Membership
from labeling.quality import memberships
from tests import factories
from tests.clients import logged_in

MANY = 53


@pytest.fixture
def desk(alice, coots) -> Client:
    """Alice's browser; Bob and 51 others work for her."""
    for number in range(MANY - 2):
        factories.join(factories.make_user(f"p{number}", pseudonym=f"worker-{number:03}"), coots)
    Membership.objects.filter(user__pseudonym="worker-050").update(answered=3)
    return logged_in(alice)


def page(desk: Client, query: str = "") -> dict:
    response = desk.get(f"/campaigns/coots/people/{query}")
    assert response.status_code == 200
    return response.context


def test_members_come_in_pages_whoever_answered_most_first(desk, coots):
    first, second = page(desk), page(desk, "?page=2")

    names = [row.membership.user.pseudonym for row in [*first["members"], *second["members"]]]
    assert (len(first["members"]), len(second["members"])) == (50, MANY - 50)
    assert names[0] == "worker-050"
    assert len(set(names)) == MANY


def test_a_page_of_members_asks_as_much_for_few_as_for_many(
    desk, coots, django_assert_max_num_queries
):
    page(desk)
    with django_assert_max_num_queries(20) as many:
        page(desk)
    coots.memberships.filter(user__pseudonym__range=("worker-003", "worker-049")).delete()
    with django_assert_max_num_queries(20) as few:
        page(desk)

    assert len(few) == len(many)


def test_invitations_turn_their_own_pages(desk, coots, alice):
    for _ in range(51):
        memberships.invite(coots, alice, role="annotator")

    text = desk.get("/campaigns/coots/people/?page=2").content.decode()
    turned = page(desk, "?page=2&invitations=2")

    assert "?page=2&amp;invitations=2" in text
    assert len(turned["invitations"]) == 1
    assert len(turned["members"]) == MANY - 50


def test_whoever_left_is_named_and_no_member(desk, coots):
    coots.memberships.filter(user__pseudonym="worker-050").update(left_at="2026-11-01T00:00Z")

    html = page(desk)

    assert [row.user.pseudonym for row in html["left"]] == ["worker-050"]
    assert "worker-050" not in {row.membership.user.pseudonym for row in html["members"]}


def test_a_campaigns_own_page_shows_those_who_answered_most_and_where_the_others_are(desk, coots):
    response = desk.get("/campaigns/coots/progress/")

    assert len(response.context["annotators"]) == 20
    assert response.context["annotators"][0].membership.user.pseudonym == "worker-050"
    assert "All members" in response.content.decode()


def invite_many(desk: Client, **data):
    return desk.post(
        "/campaigns/coots/invitations/many/", {"role": "annotator", "days": "3", **data}
    )


def test_each_person_of_a_list_gets_a_link_of_their_own(desk, coots, charlie):
    response = invite_many(desk, people="name\nMia Hahn\nmia@example.org\n=1+1\n")

    rows = list(csv.DictReader(io.StringIO(response.content.decode())))
    assert [row["name"] for row in rows] == ["Mia Hahn", "mia@example.org", "'=1+1"]
    assert response["Content-Disposition"] == 'attachment; filename="coots-invitations.csv"'
    assert set(coots.invitations.values_list("note", "max_uses")) == {
        ("Mia Hahn", 1),
        ("mia@example.org", 1),
        ("=1+1", 1),
    }
    secret = rows[1]["link"].rstrip("/").rsplit("/", 1)[-1]
    assert memberships.accept(secret, charlie).campaign == coots


@pytest.mark.parametrize(
    ("people", "refusal"),
    [
        ("", "Give at least one name."),
        ("Mia\nTom\nMia", "Line 3: Mia is already on line 1."),
        ("Mia,Berlin", "Line 1: 2 cells, but there are 1 columns."),
        (
            "\n".join(f"p{number}" for number in range(1001)),
            "The list has 1,001 names; at most 1,000 are allowed.",
        ),
    ],
)
def test_a_list_with_a_fault_invites_nobody(desk, coots, people, refusal):
    response = invite_many(desk, people=people)

    assert refusal in response.content.decode()
    assert not coots.invitations.exists()


def test_the_form_proposes_as_many_people_as_a_question_may_need(desk, coots):
    response = desk.get("/campaigns/coots/people/")

    assert response.context["form"]["max_uses"].value() == policies.for_campaign(coots)["max_votes"]
