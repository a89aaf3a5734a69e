from datetime import timedelta

import pytest
from django.utils import timezone

from labeling import people
from labeling.errors import Conflict, Refusal
from labeling.models import Invitation, Membership
from tests import factories


def test_an_invitation_keeps_only_the_digest_of_its_secret(coots, alice):
    invitation, secret = people.invite(coots, alice)

    assert secret not in str(Invitation.objects.filter(pk=invitation.pk).values().get())
    assert people.find_invitation(secret) == invitation


def test_accepting_makes_a_member_with_the_invitations_role(coots, alice, charlie):
    _, secret = people.invite(coots, alice, "reviewer")

    membership = people.accept(secret, charlie)

    assert (membership.user, membership.role) == (charlie, "reviewer")
    assert people.find_invitation(secret) is None


def test_accepting_twice_costs_one_use(coots, alice, charlie):
    invitation, secret = people.invite(coots, alice, max_uses=2)

    first = people.accept(secret, charlie)
    second = people.accept(secret, charlie)

    invitation.refresh_from_db()
    assert first == second
    assert invitation.uses == 1


def test_a_used_up_link_still_leads_its_own_member_in(coots, alice, charlie):
    _, secret = people.invite(coots, alice)
    membership = people.accept(secret, charlie)

    assert people.accept(secret, charlie) == membership


@pytest.mark.parametrize("fault", ["revoked", "expired", "used", "unknown"])
def test_an_unusable_invitation_says_why_and_changes_nothing(coots, alice, charlie, fault):
    invitation, secret = people.invite(coots, alice)
    if fault == "revoked":
        people.revoke(invitation, alice)
    elif fault == "expired":
        Invitation.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    elif fault == "used":
        people.accept(secret, factories.make_user("dora"))
    else:
        secret = "nonsense"

    with pytest.raises(Refusal) as refused:
        people.accept(secret, charlie)

    words = {"revoked": "withdrawn", "expired": "expired", "used": "used up", "unknown": "exist"}
    assert words[fault] in refused.value.message
    assert not Membership.objects.filter(user=charlie).exists()


def test_somebody_removed_comes_back_by_a_new_invitation_only(coots, alice, bob):
    membership = coots.memberships.get(user=bob)
    people.remove(membership, alice)
    assert not coots.memberships.active().filter(user=bob).exists()
    _, secret = people.invite(coots, alice)

    people.accept(secret, bob)

    assert coots.memberships.active().filter(user=bob).count() == 1


def test_a_link_for_many_does_not_bring_back_whoever_was_removed(coots, alice, charlie):
    invitation, secret = people.invite(coots, alice, max_uses=5)
    people.remove(people.accept(secret, charlie), alice)

    with pytest.raises(Refusal) as refused:
        people.accept(secret, charlie)

    invitation.refresh_from_db()
    assert refused.value.code == "invitation_unusable"
    assert invitation.uses == 1
    assert not coots.memberships.active().filter(user=charlie).exists()


def test_removing_somebody_returns_their_open_seats(coots, alice, bob):
    from labeling import assigning

    page = assigning.next_page(bob, coots, 6)
    assert len(page.seats) == 6

    people.remove(coots.memberships.get(user=bob), alice)

    assert set(coots.questions.values_list("seats_free", flat=True)) == {5}


def test_the_last_researcher_cannot_leave(coots, alice):
    own = coots.memberships.get(user=alice)

    with pytest.raises(Conflict):
        people.remove(own, alice)
    with pytest.raises(Conflict):
        people.change_role(own, alice, "annotator")


def test_a_role_changes_and_is_recorded(coots, alice, bob):
    people.change_role(coots.memberships.get(user=bob), alice, "reviewer")

    assert coots.memberships.get(user=bob).role == "reviewer"
    assert coots.decisions.filter(kind="member", content__deed="role", actor=alice).exists()


@pytest.mark.parametrize(
    ("fields", "field"),
    [({"role": "owner"}, "role"), ({"days": 0}, "days"), ({"max_uses": 0}, "max_uses")],
)
def test_an_impossible_invitation_is_refused_by_its_field(coots, alice, fields, field):
    with pytest.raises(Refusal) as refused:
        people.invite(coots, alice, **fields)

    assert refused.value.field == field
    assert not coots.invitations.exists()
