"""The lists of a campaign's people and invitations, in pages."""

import pytest
from django.test import Client

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
