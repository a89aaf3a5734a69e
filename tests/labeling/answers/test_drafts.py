"""Drafts: kept as they grow, never overwritten unseen, gone with the answer."""

from datetime import timedelta

import pytest
from django.utils import timezone

from labeling.answers import drafts
from labeling.assignment import claiming
from labeling.errors import Refusal, TooLarge
from labeling.models import Draft, Seat
from tests import factories
from tests.cases import for_each
from tests.labeling import parted

pytestmark = pytest.mark.django_db


@pytest.fixture
def seat(alice, bob, dataset) -> Seat:
    campaign = parted.parts_campaign(alice, dataset, policy={"lease_minutes": 30})
    factories.join(bob, campaign)
    claiming.next_page(bob, campaign)
    return Seat.objects.filter(annotator=bob).first()


def test_every_saving_makes_the_next_version(seat):
    first = drafts.save(seat, {"a": 1}, 0, "laptop")
    second = drafts.save(seat, {"a": 2}, first, "phone")

    draft = drafts.by_seat([seat])[seat.pk]
    assert second == first + 1
    assert (draft.content, draft.version, draft.device) == ({"a": 2}, second, "phone")


def test_a_version_that_another_device_left_behind_changes_nothing(seat):
    first = drafts.save(seat, {"a": 1}, 0)
    drafts.save(seat, {"a": 2}, first)

    with pytest.raises(drafts.Outdated) as stale:
        drafts.save(seat, {"a": 3}, first)
    with pytest.raises(drafts.Outdated) as begun_twice:
        drafts.save(seat, {"a": 4}, 0)

    assert stale.value.draft.content == begun_twice.value.draft.content == {"a": 2}
    assert Draft.objects.get().content == {"a": 2}


def test_a_draft_begun_again_never_has_an_old_number(seat, monkeypatch):
    old = drafts.save(seat, {"a": 1}, 0)
    drafts.forget([seat.pk])
    with pytest.raises(drafts.Outdated) as gone:
        drafts.save(seat, {"a": 2}, old)
    later = timezone.now() + timedelta(seconds=5)
    monkeypatch.setattr(drafts.timezone, "now", lambda: later)

    assert gone.value.draft is None
    assert drafts.save(seat, {"a": 2}, 0) > old + 1


def test_saving_renews_the_lease_and_never_cuts_it_short(seat):
    seats = Seat.objects.filter(pk=seat.pk)
    now = timezone.now()
    seats.update(leased_until=now + timedelta(minutes=1))
    drafts.save(seat, {}, 0)
    renewed = seats.get().leased_until
    seats.update(leased_until=now + timedelta(hours=48))
    drafts.save(seat, {}, Draft.objects.get().version)

    assert renewed > now + timedelta(minutes=29)
    assert seats.get().leased_until == now + timedelta(hours=48)


def test_a_seat_that_is_not_held_gets_no_lease(seat):
    expired = timezone.now() - timedelta(minutes=1)
    Seat.objects.filter(pk=seat.pk).update(state="answered", leased_until=expired)

    drafts.save(seat, {}, 0)

    assert Seat.objects.get(pk=seat.pk).leased_until == expired


@for_each(
    "content",
    [[], "text", None, {"a": float("nan")}, {"a": float("inf")}, {"a": "\0"}, {"a": "\ud800"}],
)
def test_what_no_database_keeps_is_refused(seat, content):
    with pytest.raises(Refusal):
        drafts.save(seat, content, 0)

    assert not Draft.objects.exists()


def test_a_drawing_that_is_too_large_is_refused_with_its_size(seat):
    content = {"corners": [[0.1, 0.2]] * 130_000}

    with pytest.raises(TooLarge, match=r"has 1,[0-9]{3} KiB.*at most 1,024"):
        drafts.save(seat, content, 0)
