"""The right of an account to open campaigns, apart from the role of researcher in one campaign."""

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client

from labeling.models import User
from labeling.quality import memberships
from tests import factories
from tests.clients import html_of

PAGE = "/rights/"


def logged_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def root(db) -> User:
    return factories.make_user("root", is_staff=True)


@pytest.fixture
def nora(coots, alice) -> User:
    """A researcher of Alice's campaign by invitation, who may not open campaigns."""
    nora = factories.make_user("nora")
    _, secret = memberships.invite(coots, alice, "researcher")
    memberships.accept(secret, nora)
    return nora


def test_an_administrator_grants_and_revokes_the_right(root, bob):
    desk = logged_in(root)

    granted = desk.post(f"{PAGE}{bob.pk}/", {"may": "yes"}, follow=True)
    bob.refresh_from_db()
    assert bob.is_researcher
    assert "bob can now open campaigns." in html_of(granted)

    desk.post(f"{PAGE}{bob.pk}/", {"may": "no"})
    bob.refresh_from_db()
    assert not bob.is_researcher


def test_every_change_of_the_right_is_in_the_log_of_the_administration(root, bob):
    desk = logged_in(root)

    for may in ("yes", "yes", "no"):
        desk.post(f"{PAGE}{bob.pk}/", {"may": may})

    rows = LogEntry.objects.order_by("pk").values_list("user", "object_id", "change_message")
    assert list(rows) == [
        (root.pk, str(bob.pk), "Granted the right to open campaigns."),
        (root.pk, str(bob.pk), "Revoked the right to open campaigns."),
    ]


@pytest.mark.parametrize("name", ["alice", "nora", "bob", "charlie"])
def test_only_administrators_see_or_change_rights(name, alice, nora, bob, charlie):
    client = logged_in(User.objects.get(username=name))

    assert client.get(PAGE).status_code == 403
    assert client.post(f"{PAGE}{bob.pk}/", {"may": "yes"}).status_code == 403
    bob.refresh_from_db()
    assert not bob.is_researcher


def test_the_page_lists_who_has_the_right_and_finds_others_by_name(root, alice, bob):
    desk = logged_in(root)

    plain = html_of(desk.get(PAGE))
    html = html_of(desk.get(PAGE, {"q": "BO"}))

    assert "alice" in plain
    assert ">bob<" not in plain
    assert ">bob<" in html
    assert "alice" not in html


def test_the_page_of_rights_asks_as_much_for_few_as_for_many(
    root, alice, django_assert_num_queries
):
    desk = logged_in(root)
    for _ in range(2):
        # Session, the person, the accounts: nothing is counted.
        with django_assert_num_queries(3):
            desk.get(PAGE, {"q": "p"})
        for number in range(60):
            factories.make_user(f"p{User.objects.count()}-{number}")

    assert "the first 50" in html_of(desk.get(PAGE, {"q": "p"}))


def test_revoking_leaves_the_campaigns_that_somebody_runs(root, alice, coots):
    logged_in(root).post(f"{PAGE}{alice.pk}/", {"may": "no"})
    client = logged_in(alice)

    assert client.get("/campaigns/coots/people/").status_code == 200
    refused = client.get("/campaigns/new/")
    assert refused.status_code == 403
    assert "Your account has no right to open campaigns" in html_of(refused)


def test_a_researcher_by_invitation_is_led_to_everything_that_is_theirs(nora, coots):
    client = logged_in(nora)

    for address in ("/", "/campaigns/", "/datasets/", "/benchmarks/"):
        response = client.get(address)
        text = html_of(response)
        assert response.status_code == 200
        for link in ("/campaigns/", "/datasets/", "/benchmarks/", "/tokens/", "/api/docs/"):
            assert f'href="{link}"' in text, (address, link)
        for link in ("/campaigns/new/", "/datasets/new/", "/benchmarks/new/", PAGE):
            assert f'href="{link}"' not in text, (address, link)
    assert "/campaigns/coots/" in html_of(client.get("/campaigns/"))
    assert "/datasets/pond/" in html_of(client.get("/datasets/"))
    assert "New campaign" not in html_of(client.get("/datasets/pond/"))


def test_a_reviewer_is_led_to_the_campaigns_and_an_annotator_only_home(coots, bob, charlie):
    factories.join(charlie, coots, "reviewer")

    reviewers, annotators = (html_of(logged_in(person).get("/")) for person in (charlie, bob))

    assert 'href="/campaigns/"' in reviewers
    assert "/campaigns/coots/review/" in reviewers
    assert 'href="/datasets/"' not in reviewers
    for link in ("/campaigns/", "/datasets/", "/benchmarks/", "/tokens/"):
        assert f'href="{link}"' not in annotators


def test_an_administrator_is_led_everywhere(root):
    text = html_of(logged_in(root).get("/"))

    for link in ("/campaigns/", "/campaigns/new/", "/datasets/", "/tokens/", PAGE, "/admin/"):
        assert f'href="{link}"' in text


def test_a_removed_researcher_is_led_home_only(nora, coots, alice):
    memberships.remove(coots.memberships.get(user=nora), alice)

    client = logged_in(nora)

    assert 'href="/datasets/"' not in html_of(client.get("/"))
    assert client.get("/datasets/").status_code == 403


def test_me_names_the_right_and_the_roles_apart(nora, alice):
    mine, hers = (logged_in(user).get("/api/v1/me/").json() for user in (nora, alice))

    assert (mine["is_researcher"], mine["may_open_campaigns"]) == (False, False)
    assert mine["memberships"][0]["role"] == "researcher"
    assert (hers["is_researcher"], hers["may_open_campaigns"]) == (True, True)


def test_a_name_follows_the_role(client, coots, alice, bob):
    client.force_login(alice)
    member = coots.memberships.get(user=bob)
    address = f"/campaigns/coots/people/{member.pk}/"

    for role, name, other_role in (
        ("reviewer", ">bob ", bob.pseudonym),
        ("annotator", f">{bob.pseudonym} ", ">bob "),
    ):
        memberships.change_role(member, alice, role)
        page = html_of(client.get(address))
        assert name in page
        assert other_role not in page


def test_people_are_told_who_sees_which_name(client, coots, alice, bob):
    for role, sentence in (
        ("annotator", f"staff of this campaign see you as “{bob.pseudonym}”; other annotators do"),
        ("reviewer", "staff of this campaign see you as “bob”."),
    ):
        _, secret = memberships.invite(coots, alice, role)
        coots.memberships.filter(user=bob).delete()
        client.force_login(bob)

        assert sentence in html_of(client.get(f"/join/{secret}/"))
