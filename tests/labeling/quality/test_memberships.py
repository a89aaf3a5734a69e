from datetime import timedelta

import pytest
from django.utils import timezone

from labeling.errors import Conflict, Refusal
from labeling.models import Invitation, Membership
from labeling.quality import memberships
from tests import factories
from tests.cases import for_each


def test_an_invitation_keeps_only_the_digest_of_its_secret(coots, alice):
    invitation, secret = memberships.invite(coots, alice)

    assert secret not in str(Invitation.objects.filter(pk=invitation.pk).values().get())
    assert memberships.find_invitation(secret) == invitation


def test_accepting_makes_a_member_with_the_invitations_role(coots, alice, charlie):
    _, secret = memberships.invite(coots, alice, "reviewer")

    membership = memberships.accept(secret, charlie)

    assert (membership.user, membership.role) == (charlie, "reviewer")
    assert memberships.find_invitation(secret) is None


def test_accepting_twice_costs_one_use(coots, alice, charlie):
    invitation, secret = memberships.invite(coots, alice, max_uses=2)

    first = memberships.accept(secret, charlie)
    second = memberships.accept(secret, charlie)

    invitation.refresh_from_db()
    assert first == second
    assert invitation.uses == 1


def test_a_used_up_link_still_leads_its_own_member_in(coots, alice, charlie):
    _, secret = memberships.invite(coots, alice)
    membership = memberships.accept(secret, charlie)

    assert memberships.accept(secret, charlie) == membership


@pytest.mark.parametrize("fault", ["revoked", "expired", "used", "unknown"])
def test_an_unusable_invitation_says_why_and_changes_nothing(coots, alice, charlie, fault):
    invitation, secret = memberships.invite(coots, alice)
    if fault == "revoked":
        memberships.revoke(invitation, alice)
    elif fault == "expired":
        Invitation.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    elif fault == "used":
        memberships.accept(secret, factories.make_user("dora"))
    else:
        secret = "nonsense"

    with pytest.raises(Refusal) as refused:
        memberships.accept(secret, charlie)

    words = {"revoked": "revoked", "expired": "expired", "used": "used up", "unknown": "exist"}
    assert words[fault] in refused.value.message
    assert not Membership.objects.filter(user=charlie).exists()


def test_somebody_removed_comes_back_by_a_new_invitation_only(coots, alice, bob):
    membership = coots.memberships.get(user=bob)
    memberships.remove(membership, alice)
    assert not coots.memberships.active().filter(user=bob).exists()
    _, secret = memberships.invite(coots, alice)

    memberships.accept(secret, bob)

    assert coots.memberships.active().filter(user=bob).count() == 1


def test_a_link_for_many_does_not_bring_back_whoever_was_removed(coots, alice, charlie):
    invitation, secret = memberships.invite(coots, alice, max_uses=5)
    memberships.remove(memberships.accept(secret, charlie), alice)

    with pytest.raises(Refusal) as refused:
        memberships.accept(secret, charlie)

    invitation.refresh_from_db()
    assert refused.value.code == "invitation_unusable"
    assert invitation.uses == 1
    assert not coots.memberships.active().filter(user=charlie).exists()


def test_removing_somebody_returns_their_open_seats(coots, alice, bob):
    from labeling.assignment import claiming

    page = claiming.next_page(bob, coots, 6)
    assert len(page.seats) == 6

    memberships.remove(coots.memberships.get(user=bob), alice)

    assert set(coots.questions.values_list("seats_free", flat=True)) == {5}


def test_the_last_researcher_cannot_leave(coots, alice):
    membership = coots.memberships.get(user=alice)

    with pytest.raises(Conflict):
        memberships.remove(membership, alice)
    with pytest.raises(Conflict):
        memberships.change_role(membership, alice, "annotator")


def test_a_role_changes_and_is_recorded(coots, alice, bob):
    memberships.change_role(coots.memberships.get(user=bob), alice, "reviewer")

    assert coots.memberships.get(user=bob).role == "reviewer"
    assert coots.decisions.filter(kind="member", content__deed="role", actor=alice).exists()


@for_each(
    ("fields", "field"),
    [({"role": "owner"}, "role"), ({"days": 0}, "days"), ({"max_uses": 0}, "max_uses")],
)
def test_an_impossible_invitation_is_refused_by_its_field(coots, alice, fields, field):
    with pytest.raises(Refusal) as refused:
        memberships.invite(coots, alice, **fields)

    assert refused.value.field == field
    assert not coots.invitations.exists()
