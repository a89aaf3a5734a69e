"""Questions taken along: how many, for how long, once; what becomes of them on their return."""

import random
import uuid
from collections import Counter
from datetime import timedelta

import pytest
from django.utils import timezone

from labeling.answers import submitting
from labeling.answers.sent import Sent, uuid7
from labeling.assignment import claiming, gold_mixing, quotas, taking_along
from labeling.assignment.waiting import waiting_for
from labeling.campaigns import lifecycle
from labeling.errors import CampaignClosed, Conflict, NotAllowed, NotWorking, NotYours, Refusal
from labeling.models import Answer, Assignment, Gold, Membership, Question, TakenAlong
from labeling.quality import monitoring
from labeling.releases import freezing
from tests import factories
from tests.labeling.crowd import answer, query_count

COOT = "n02018207"


@pytest.fixture(autouse=True)
def _seeded(monkeypatch):
    monkeypatch.setattr(gold_mixing, "chance", random.Random(7))


@pytest.fixture
def pond(alice, bob, dataset):
    """110 questions of two votes, of which ten may be taken along; no gold."""
    policy = {"votes": 2, "page_size": 6, "gold_share": 0, "stop_early": "never"}
    campaign = factories.make_campaign(alice, dataset, "pond", images=110, policy=policy)
    factories.join(bob, campaign)
    return lifecycle.change(campaign, alice, take_along=True)


def take(person, campaign, questions=10, hours=2, key=None):
    return taking_along.take(person, campaign, key or uuid.uuid4(), questions, hours)


def seats_of(person, campaign, row):
    return taking_along.open_seats(person, campaign, row)


def test_a_set_is_leased_for_the_hours_asked_and_is_of_no_page(pond, bob):
    row = take(bob, pond, 10, hours=3)

    seats = seats_of(bob, pond, row)
    assert len(seats) == row.seats == 10
    until = Assignment.objects.filter(taken_along=row).values_list("leased_until", flat=True)
    assert set(until) == {row.until}
    assert row.until - row.taken_at == timedelta(hours=3)
    page = claiming.next_page(bob, pond)
    assert len(page.seats) == 6
    assert not {seat.token for seat in page.seats} & {seat.token for seat in seats}
    # A page makes the leases of its own seats new, and no others.
    claiming.next_page(bob, pond)
    assert set(until.all()) == {row.until}
    assert waiting_for(bob)[pond.memberships.get(user=bob).pk].along


def test_at_most_a_twentieth_of_the_free_seats_and_two_hundred(pond, monkeypatch):
    assert taking_along.most(pond) == 10
    for free, most in ((99, 0), (100, 5), (199, 5), (399, 10), (4_000, 200), (10**6, 200)):
        counts = taking_along.question_counts.Counts(seats_free=free)
        monkeypatch.setattr(taking_along.question_counts, "of", lambda pk, counts=counts: counts)
        assert taking_along.most(pond) == most, free


def test_what_is_out_of_bounds_is_refused_and_nothing_is_taken(pond, bob):
    for questions, hours, field in ((11, 2, "questions"), (0, 2, "questions"), (5, 5, "hours")):
        with pytest.raises(Refusal) as refused:
            take(bob, pond, questions, hours)
        assert refused.value.field == field
    assert not TakenAlong.objects.exists()
    assert not Assignment.objects.exists()


def test_the_same_key_gives_the_same_set_and_another_one_is_refused(pond, bob, charlie):
    key = uuid.uuid4()
    row = take(bob, pond, 10, key=key)

    assert take(bob, pond, 10, key=key).pk == row.pk
    with pytest.raises(Conflict, match="already"):
        take(bob, pond)
    assert Assignment.objects.count() == 10
    factories.join(charlie, pond)
    with pytest.raises(NotYours):
        take(charlie, pond, key=key)


def test_a_set_that_is_answered_makes_room_for_the_next_until_the_day_has_had_enough(
    pond, bob, monkeypatch
):
    monkeypatch.setattr(taking_along, "MOST_A_DAY", 2)
    for _ in range(2):
        row = take(bob, pond, 5)
        answer(bob, pond, seats_of(bob, pond, row))
        assert taking_along.current(bob, pond) is None

    with pytest.raises(Conflict, match="tomorrow"):
        take(bob, pond, 5)


def test_only_members_at_work_in_an_open_campaign_that_allows_it_take_anything(
    pond, alice, bob, charlie
):
    with pytest.raises(NotYours):
        take(charlie, pond)
    Membership.objects.filter(user=bob).update(stage="paused")
    with pytest.raises(NotWorking):
        take(bob, pond)
    Membership.objects.filter(user=bob).update(stage="working")
    lifecycle.move(pond, alice, "pause")
    with pytest.raises(CampaignClosed):
        take(bob, pond)
    lifecycle.move(pond, alice, "resume")
    lifecycle.change(pond, alice, take_along=False)
    with pytest.raises(NotAllowed):
        take(bob, pond)


@pytest.mark.parametrize("kind", ["hierarchy", "boxes", "naming", "candidates"])
def test_questions_that_hang_on_answers_are_never_taken_along(alice, dataset, kind):
    campaign = factories.make_campaign(alice, dataset, f"no-{kind}", kind="contains", launch=False)
    campaign.kind = kind

    with pytest.raises(Refusal, match="cannot be taken along"):
        lifecycle.change(campaign, alice, take_along=True)


def test_whether_it_is_allowed_changes_no_release(pond, alice, bob):
    lifecycle.change(pond, alice, take_along=False)
    before = freezing.freeze(pond, alice)
    lifecycle.change(pond, alice, take_along=True)

    assert freezing.freeze(pond, alice).sha256 == before.sha256


def test_gold_is_mixed_in_as_often_as_on_pages(alice, bob, dataset, monkeypatch):
    monkeypatch.setattr(taking_along, "ONE_IN", 1)
    policy = {"votes": 1, "page_size": 20, "gold_share": 0.3}
    campaign = factories.make_campaign(alice, dataset, "golden", images=400, policy=policy)
    factories.join(bob, campaign)
    lifecycle.change(campaign, alice, take_along=True)
    golden = list(campaign.questions.order_by("pk")[:200])
    factories.put(campaign, [one.pk for one in golden], state="gold", lane=2, seats_free=1)
    Gold.objects.bulk_create([Gold(question=one, answer="yes") for one in golden])

    row = take(bob, campaign, 150, hours=1)

    states = Counter(
        Assignment.objects.filter(taken_along=row).values_list("question__state", flat=True)
    )
    # Of 150 at 0.3 within four standard deviations of 45.
    assert 23 <= states["gold"] <= 67
    seats = seats_of(bob, campaign, row)
    assert [seat.token for seat in seats] == sorted(seat.token for seat in seats)


def test_a_quota_holds_for_what_is_taken_along_too(pond, alice, bob):
    quotas.assign(pond.memberships.get(user=bob), alice, {COOT: 8})

    row = take(bob, pond, 10)

    assert row.seats == 8
    assert claiming.next_page(bob, pond).seats == []


def test_a_set_costs_as_many_statements_whatever_its_size(pond, bob, monkeypatch):
    few = query_count(lambda: take(bob, pond, 5))
    taking_along.give_back(bob, pond, TakenAlong.objects.get().key)
    monkeypatch.setattr(taking_along, "ONE_IN", 1)

    assert query_count(lambda: take(bob, pond, 100)) <= few + 1


def test_what_is_given_back_goes_to_others_at_once(pond, bob, charlie):
    row = take(bob, pond, 10)
    answer(bob, pond, seats_of(bob, pond, row)[:4])

    assert taking_along.give_back(bob, pond, row.key) == 6
    assert taking_along.give_back(bob, pond, row.key) == 0
    row.refresh_from_db()
    assert not row.is_open
    assert row.ended_by is None
    with pytest.raises(NotYours):
        taking_along.give_back(charlie, pond, row.key)


def test_a_researcher_calls_a_set_back_and_what_comes_then_is_kept(pond, alice, bob, charlie):
    row = take(bob, pond, 5)
    seats = seats_of(bob, pond, row)

    assert taking_along.call_back(pond, row.pk, alice) == 5
    # Others take two of them, both seats of each.
    vera = factories.make_user("vera")
    for person in (charlie, vera):
        factories.join(person, pond)
        page = claiming.next_page(person, pond, 5)
        assert {seat.question_id for seat in page.seats} == {seat.question_id for seat in seats}
        answer(person, pond, [seat for seat in page.seats if seat.question_id in first_two(seats)])
    results = send(bob, pond, seats)

    assert {(one.status, one.code, one.message) for one in results} == {("accepted", "", "")}
    [found] = taking_along.sets_of(pond)
    assert (found.seats, found.answered, found.left, found.ended_by) == (5, 5, 0, alice)
    assert found.late == Answer.objects.filter(late=True).count() > 0


def first_two(seats):
    return {seat.question_id for seat in seats[:2]}


def send(person, campaign, seats, value="yes", watch=None, **fields):
    sent = [Sent(uuid7(), seat.token, value, **fields) for seat in seats]
    return submitting.submit(person, campaign, sent, watch)


def test_a_lease_that_ended_gives_its_seats_to_others_and_late_answers_count_nowhere(
    pond, bob, charlie
):
    row = take(bob, pond, 5, hours=1)
    seats = seats_of(bob, pond, row)
    now = timezone.now() - timedelta(minutes=1)
    TakenAlong.objects.update(until=now)
    Assignment.objects.update(leased_until=now)
    assert claiming.return_expired() == 5
    for name in ("charlie", "dora"):
        person = charlie if name == "charlie" else factories.make_user(name)
        factories.join(person, pond)
        answer(person, pond, claiming.next_page(person, pond, 5).seats, "no")
    settled = Question.objects.filter(state="settled").count()
    assert settled == 5

    results = send(bob, pond, seats)

    assert {one.status for one in results} == {"accepted"}
    assert Answer.objects.filter(assignment__annotator=bob, late=True).count() == 5
    assert Question.objects.filter(state="settled").count() == settled
    [found] = taking_along.sets_of(pond)
    assert (found.answered, found.late) == (5, 5)


def test_a_return_is_watched_by_tens_and_after_a_pause_the_rest_counts_nowhere(
    pond, alice, bob, monkeypatch
):
    monkeypatch.setattr(taking_along, "ONE_IN", 1)
    row = take(bob, pond, 60)
    seats = seats_of(bob, pond, row)
    looked = []

    def watch(campaign, person):
        looked.append(campaign.memberships.get(user=person).answered)
        if len(looked) == 2:
            monitoring.pause(campaign.memberships.get(user=person), alice, "guesses")

    results = send(bob, pond, seats[:48], watch=watch)

    assert looked == [10, 20, 30, 40]
    assert {(one.status, one.message) for one in results} == {("accepted", "")}
    by_time = Answer.objects.order_by("assignment__ordinal").values_list("late", flat=True)
    assert list(by_time) == [False] * 20 + [True] * 28
    assert not Assignment.objects.filter(annotator=bob, state="leased").exists()
    again = send(bob, pond, seats[48:], watch=watch)
    assert {one.status for one in again} == {"accepted"}


def test_a_return_that_comes_twice_is_one(pond, bob):
    row = take(bob, pond, 10)
    seats = seats_of(bob, pond, row)
    sent = [Sent(uuid7(), seat.token, "yes", 3_600_000) for seat in seats]

    first = submitting.submit(bob, pond, sent)
    second = submitting.submit(bob, pond, sent)

    assert first == second
    assert Answer.objects.count() == 10
    # No longer than since it was taken, whatever the browser says.
    assert all(ms < 60_000 for ms in Answer.objects.values_list("duration_ms", flat=True))


def test_ten_answers_of_a_page_are_watched_in_the_background(pond, bob):
    looked = []
    page = claiming.next_page(bob, pond, 10)

    send(bob, pond, page.seats, watch=lambda *who: looked.append(who))

    assert looked == []
