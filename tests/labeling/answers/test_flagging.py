"""Flags: from a seat to the researchers and back."""

from uuid import uuid4

import pytest

from labeling.answers import flagging
from labeling.assignment import claiming
from labeling.errors import Conflict, NotYours, Refusal
from labeling.models import Membership
from tests.cases import for_each

pytestmark = pytest.mark.django_db


@pytest.fixture
def seat(bob, coots):
    return claiming.next_page(bob, coots, 1).seats[0].token


def test_the_same_flag_twice_is_one_and_another_of_its_id_is_refused(bob, coots, seat):
    key = uuid4()

    first = flagging.flag(bob, coots, key, seat, "Blurred. ")
    again = flagging.flag(bob, coots, key, seat, "Blurred.")
    with pytest.raises(Conflict):
        flagging.flag(bob, coots, key, seat, "Too dark.")

    assert first == again
    assert [row.note for row in flagging.own_flags(bob, coots)] == ["Blurred."]


def test_a_given_back_seat_may_still_be_flagged(bob, coots, seat):
    claiming.return_seat(bob, seat)

    assert flagging.flag(bob, coots, uuid4(), seat, "Broken.").note == "Broken."


@for_each("note", ["", "  ", "x" * 501])
def test_a_note_has_1_to_500_characters(bob, coots, seat, note):
    with pytest.raises(Refusal) as refusal:
        flagging.flag(bob, coots, uuid4(), seat, note)

    assert refusal.value.field == "note"
    assert not coots.flags.exists()


def test_nobody_flags_the_seat_of_somebody_else_nor_once_blocked(bob, alice, coots, seat):
    with pytest.raises(NotYours):
        flagging.flag(alice, coots, uuid4(), seat, "Mine?")
    coots.memberships.filter(user=bob).update(stage=Membership.Stage.BLOCKED)
    with pytest.raises(NotYours):
        flagging.flag(bob, coots, uuid4(), seat, "Still here.")


def test_flags_that_wait_are_bounded(bob, alice, coots, seat, monkeypatch):
    monkeypatch.setattr(flagging, "MAX_WAITING", 2)
    first = flagging.flag(bob, coots, uuid4(), seat, "One.")
    flagging.flag(bob, coots, uuid4(), seat, "Two.")

    with pytest.raises(Refusal) as refusal:
        flagging.flag(bob, coots, uuid4(), seat, "Three.")
    flagging.reply(coots, first.pk, alice, "Thank you.")

    assert refusal.value.code == "too_many"
    assert flagging.flag(bob, coots, uuid4(), seat, "Three.").note == "Three."


def test_a_reply_waits_until_it_was_read_and_a_new_one_waits_again(bob, alice, coots, seat):
    flag = flagging.flag(bob, coots, uuid4(), seat, "Blurred.")
    before = flagging.campaigns_with_replies(bob)

    flagging.reply(coots, flag.pk, alice, "Skip it.")
    waiting = flagging.campaigns_with_replies(bob)
    flagging.read_replies(bob, coots)
    read = flagging.campaigns_with_replies(bob)
    flagging.reply(coots, flag.pk, alice, "It was replaced.")

    assert (before, waiting, read) == (frozenset(), {coots.pk}, frozenset())
    assert flagging.campaigns_with_replies(bob) == {coots.pk}
    assert flagging.own_flags(bob, coots).get().reply == "It was replaced."


def test_a_flag_of_another_campaign_is_not_answered_here(alice, coots):
    with pytest.raises(NotYours):
        flagging.reply(coots, uuid4(), alice, "Hello.")
