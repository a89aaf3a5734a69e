import random
from datetime import timedelta

import pytest
from django.utils import timezone

from labeling.assignment import claiming, counters, gold_mixing
from labeling.campaigns import lifecycle
from labeling.errors import CampaignClosed, Conflict, NotYours, Refusal
from labeling.models import Answer, Campaign, Draft, Membership, Question, Seat
from labeling.quality import memberships, qualifying
from labeling.quality.gold import add_gold
from tests import factories
from tests.labeling.crowd import answer, query_count

COOT = "n02018207"


@pytest.fixture(autouse=True)
def _seeded(monkeypatch):
    monkeypatch.setattr(gold_mixing, "chance", random.Random(7))


@pytest.fixture
def pond(alice, bob, dataset):
    """Thirty questions of two votes, pages of six, no gold."""
    campaign = factories.make_campaign(
        alice, dataset, "pond", images=30, policy={"votes": 2, "page_size": 6, "gold_share": 0}
    )
    factories.join(bob, campaign)
    return campaign


def expire():
    Seat.objects.filter(state="leased").update(leased_until=timezone.now() - timedelta(seconds=1))


def ids(page):
    return {seat.question_id for seat in page.seats}


def test_a_page_has_the_policys_size_in_the_order_of_the_queue(pond, bob):
    first = [question.pk for question in factories.questions_of(pond)[:6]]

    page = claiming.next_page(bob, pond)

    assert ids(page) == set(first)
    assert page.left == 30
    seat = page.seats[0]
    assert (seat.topic, seat.image_name.split("/")[0]) == (COOT, "pond")


def test_a_reload_hands_back_the_same_seats_in_the_same_order(pond, bob):
    page = claiming.next_page(bob, pond)
    expire()

    again = claiming.next_page(bob, pond)

    assert again == page
    assert claiming.open_seats(bob, pond) == page.seats
    assert not Seat.objects.filter(leased_until__lt=timezone.now()).exists()


def test_answered_seats_are_filled_up_and_open_ones_stay(pond, bob):
    page = claiming.next_page(bob, pond)
    answer(bob, pond, page.seats[:4])

    again = claiming.next_page(bob, pond)

    assert len(again.seats) == 6
    assert {seat.token for seat in page.seats[4:]} < {seat.token for seat in again.seats}
    assert again.left == 26


def test_a_page_costs_the_same_queries_whatever_its_size(pond, bob, charlie, alice):
    factories.join(charlie, pond)
    claiming.next_page(alice, pond, 1)
    small = query_count(lambda: claiming.next_page(bob, pond, 2))

    assert query_count(lambda: claiming.next_page(charlie, pond, 8)) == small <= 10


def test_everyone_sees_each_question_once_and_it_gets_its_votes(pond, alice, bob, charlie):
    factories.join(charlie, pond)
    for person in (bob, charlie, alice):
        while seats := claiming.next_page(person, pond).seats:
            answer(person, pond, seats)

    assert set(pond.questions.values_list("state", flat=True)) == {"settled"}
    assert not Seat.objects.filter(annotator=alice).exists()
    assert Seat.objects.filter(state="answered").count() == 60


def test_an_expired_seat_goes_to_the_next_person_first(pond, bob, charlie):
    factories.join(charlie, pond)
    gone = ids(claiming.next_page(bob, pond))
    expire()

    assert claiming.return_expired() == 6
    assert claiming.return_expired() == 0
    assert set(pond.questions.filter(pk__in=gone).values_list("seats_free", "lane")) == {(2, 0)}
    assert ids(claiming.next_page(charlie, pond)) == gone


def test_a_question_comes_back_to_the_one_person_left_to_answer_it(pond, bob):
    page = claiming.next_page(bob, pond, 30)
    expire()
    claiming.return_expired()

    again = claiming.next_page(bob, pond, 30)

    assert ids(again) == ids(page)
    assert {seat.token for seat in again.seats} == {seat.token for seat in page.seats}


def test_an_empty_queue_looks_for_expired_seats_itself(pond, bob, charlie):
    factories.join(charlie, pond)
    Question.objects.filter(campaign=pond).update(seats_free=1)
    assert len(claiming.next_page(bob, pond, 30).seats) == 30
    assert claiming.next_page(charlie, pond).seats == []
    expire()

    assert len(claiming.next_page(charlie, pond).seats) == 6


def test_a_skipped_question_goes_to_the_end_of_the_queue(pond, bob):
    page = claiming.next_page(bob, pond)
    seat = page.seats[0]

    claiming.return_seat(bob, seat.token)
    claiming.return_seat(bob, seat.token)

    question = Question.objects.get(pk=seat.question_id)
    assert (question.seats_free, question.lane) == (2, 1)
    assert factories.questions_of(pond)[-1].pk == seat.question_id
    assert seat.question_id not in ids(claiming.next_page(bob, pond))


@pytest.mark.parametrize("seats_free", [0, 1])
def test_an_answer_to_a_skipped_seat_is_accepted(pond, bob, seats_free):
    seat = claiming.next_page(bob, pond).seats[0]
    claiming.return_seat(bob, seat.token)
    Question.objects.filter(pk=seat.question_id).update(seats_free=seats_free)

    assert [result.status for result in answer(bob, pond, [seat])] == ["accepted"]

    assert Answer.objects.get().late is (seats_free == 0)


def test_an_answered_seat_cannot_be_given_back(pond, bob):
    page = claiming.next_page(bob, pond)
    answer(bob, pond, page.seats[:1])

    with pytest.raises(Conflict):
        claiming.return_seat(bob, page.seats[0].token)


def test_only_the_holder_gives_a_seat_back(pond, bob, charlie):
    token = claiming.next_page(bob, pond).seats[0].token

    refusals = []
    for stranger_token in (token, "0" * 32):
        with pytest.raises(NotYours) as refused:
            claiming.return_seat(charlie, stranger_token)
        refusals.append((refused.value.code, refused.value.message))

    assert len(set(refusals)) == 1
    assert Seat.objects.get(token=token).state == "leased"


def test_every_fourth_page_begins_with_fresh_questions(pond, bob):
    Question.objects.filter(campaign=pond, ticket__lte=18).update(lane=0)

    lanes = []
    for _ in range(4):
        page = claiming.next_page(bob, pond, 3)
        lanes.append(set(Question.objects.filter(pk__in=ids(page)).values_list("lane", flat=True)))
        answer(bob, pond, page.seats)

    assert lanes == [{0}, {0}, {0}, {1}]


def test_a_lane_that_runs_out_is_filled_from_the_other(pond, bob):
    Question.objects.filter(campaign=pond, ticket__lte=2).update(lane=0)

    page = claiming.next_page(bob, pond)

    lanes = list(Question.objects.filter(pk__in=ids(page)).values_list("lane", flat=True))
    assert sorted(lanes) == [0, 0, 1, 1, 1, 1]


def test_a_cursor_stops_before_a_question_that_was_left_behind(pond, bob, monkeypatch):
    questions = factories.questions_of(pond)
    locked = questions[2]
    take = claiming._take_free_seats

    def take_around(person, ordinary, count, skip):
        # As SKIP LOCKED does while somebody else holds the third question.
        others = [candidate for candidate in ordinary if candidate.id != locked.pk]
        return take(person, others, count, skip)

    monkeypatch.setattr(claiming, "_take_free_seats", take_around)
    page = claiming.next_page(bob, pond)
    monkeypatch.setattr(claiming, "_take_free_seats", take)

    assert ids(page) == {question.pk for question in [*questions[:2], *questions[3:7]]}
    assert Membership.objects.get(user=bob, campaign=pond).cursor_fresh == locked.ticket - 1
    answer(bob, pond, page.seats)
    assert locked.pk in ids(claiming.next_page(bob, pond))


def test_a_cursor_passes_thousands_of_seen_questions(pond, bob, monkeypatch):
    answer(bob, pond, claiming.next_page(bob, pond, 29).seats)
    Membership.objects.filter(user=bob).update(cursor_fresh=0, cursor_returned=0)

    page = claiming.next_page(bob, pond, 1)

    assert len(page.seats) == 1
    assert Membership.objects.get(user=bob, campaign=pond).cursor_fresh == 30


def test_newcomers_start_at_the_floor(pond, bob, charlie, monkeypatch):
    monkeypatch.setattr(counters, "FLOOR_STEP", 5)
    Question.objects.filter(campaign=pond, ticket__lte=20).update(seats_free=0)

    page = claiming.next_page(bob, pond)

    pond.refresh_from_db()
    assert (pond.floor_fresh, pond.floor_returned) == (20, 30)
    factories.join(charlie, pond)
    assert ids(claiming.next_page(charlie, pond)) == ids(page)


def test_the_sweep_moves_floors(pond, monkeypatch):
    monkeypatch.setattr(counters, "FLOOR_STEP", 5)
    Question.objects.filter(campaign=pond, ticket__lte=20).update(seats_free=0)

    assert counters.sweep() == 1

    pond.refresh_from_db()
    assert pond.floor_fresh == 20


def test_what_is_left_is_read_from_counters_once_a_minute(pond, bob):
    claiming.next_page(bob, pond, 1)
    pond.refresh_from_db()
    assert (pond.questions_asked, pond.questions_free) == (30, 30)
    Campaign.objects.update(questions_free=7)

    claiming.next_page(bob, pond, 2)
    pond.refresh_from_db()
    assert pond.questions_free == 7
    Campaign.objects.update(counted_at=pond.counted_at - timedelta(minutes=1))
    claiming.next_page(bob, pond, 3)

    pond.refresh_from_db()
    assert pond.questions_free == 30


@pytest.mark.parametrize("actions", [[], ["pause"], ["close"]])
def test_a_campaign_that_is_not_open_gives_no_page(alice, dataset, actions):
    campaign = factories.make_campaign(alice, dataset, images=2, launch=bool(actions))
    for action in actions:
        lifecycle.change_state(campaign, alice, action)

    with pytest.raises(CampaignClosed):
        claiming.next_page(alice, campaign)

    assert not Seat.objects.exists()


def test_a_stranger_and_somebody_who_left_get_no_page(pond, alice, bob, charlie):
    memberships.remove(pond.memberships.get(user=bob), alice)

    for person in (charlie, bob):
        with pytest.raises(NotYours):
            claiming.next_page(person, pond)


@pytest.fixture
def golden(alice, bob, dataset):
    """Forty questions and forty gold ones, one half gold, pages of ten."""
    campaign = factories.make_campaign(
        alice, dataset, "golden", images=40, policy={"gold_share": 0.5, "page_size": 10}
    )
    factories.join(bob, campaign)
    names = [f"gold/{index}.png" for index in range(40)]
    for name in names:
        factories.make_image(dataset, name)
    add_gold(campaign, alice, [{"image": name, "topic": COOT, "answer": "yes"} for name in names])
    return campaign


def gold_in(page):
    return [
        index
        for index, seat in enumerate(page.seats)
        if Question.objects.get(pk=seat.question_id).state == "gold"
    ]


def test_gold_is_mixed_in_at_its_share_and_in_no_telling_place(golden, bob):
    places, total = set(), 0
    for _ in range(6):
        page = claiming.next_page(bob, golden)
        places |= set(gold_in(page))
        total += len(gold_in(page))
        assert len(page.seats) == 10
        answer(bob, golden, page.seats)

    assert 15 <= total <= 45
    assert len(places) > 5
    assert set(Question.objects.filter(state="gold").values_list("seats_free", flat=True)) == {1}


def test_a_short_last_page_has_the_same_share_of_gold(golden, bob, monkeypatch):
    monkeypatch.setattr(gold_mixing, "slots", lambda count, share: round(count * share))
    last = golden.questions.filter(state="open").values_list("pk", flat=True)[:2]
    golden.questions.filter(state="open").exclude(pk__in=list(last)).update(
        state="settled", seats_free=0
    )

    page = claiming.next_page(bob, golden)

    assert (len(page.seats), len(gold_in(page))) == (4, 2)


def test_no_gold_is_given_once_nothing_else_is_left(golden, bob):
    while seats := claiming.next_page(bob, golden).seats:
        answer(bob, golden, seats)

    ordinary = Seat.objects.filter(annotator=bob, question__state="open")
    assert ordinary.count() == 40
    met = Seat.objects.filter(annotator=bob, question__state="gold").count()
    assert 0 < met <= 40
    assert claiming.next_page(bob, golden).seats == []


def test_pages_go_on_without_gold_when_it_runs_out(golden, bob):
    Question.objects.filter(state="gold").update(seats_free=0)

    assert len(claiming.next_page(bob, golden).seats) == 10


def test_gold_whose_lease_ran_out_comes_back_like_any_other(golden, bob):
    page = claiming.next_page(bob, golden)
    gold = [page.seats[index].question_id for index in gold_in(page)]
    before = dict(Question.objects.filter(pk__in=gold).values_list("pk", "ticket"))
    expire()

    assert claiming.return_expired() == 10

    after = Question.objects.filter(pk__in=gold)
    assert all(question.ticket > before[question.pk] for question in after)
    assert set(after.values_list("lane", "seats_free")) == {(2, 1)}


def test_left_falls_by_one_an_answer_whether_gold_or_not(golden, bob):
    page = claiming.next_page(bob, golden)

    left = [page.left]
    for seat in page.seats:
        answer(bob, golden, [seat])
        left.append(claiming.next_page(bob, golden, 1).left)

    # Forty ordinary questions; with page.left, the next seat's own.
    assert left == [40 - answered for answered in range(11)]
    while (page := claiming.next_page(bob, golden)).seats:
        answer(bob, golden, page.seats)
        last = page
    assert last.left == len(last.seats)
    assert page.left == 0


def test_left_and_answered_are_never_more_than_the_campaign_asks(golden, bob):
    page, answered = claiming.next_page(bob, golden), 0
    while page.seats:
        assert page.left <= 40
        assert answered + page.left <= max(40, answered + len(page.seats) + 1)
        answer(bob, golden, page.seats)
        answered += len(page.seats)
        page = claiming.next_page(bob, golden)

    assert answered > 40


def test_a_page_longer_than_the_campaign_leaves_no_more_than_it_asks(golden, bob):
    Campaign.objects.filter(pk=golden.pk).update(
        questions_asked=4, questions_free=4, counted_at=timezone.now()
    )

    page = claiming.next_page(bob, golden)

    assert len(page.seats) == 10
    assert page.left == 4


def test_what_a_person_gave_back_returns_when_all_else_is_done_gold_or_not(golden, bob):
    first = claiming.next_page(bob, golden)
    gold = gold_in(first)
    seats = sorted(first.seats, key=lambda seat: first.seats.index(seat) in gold)
    for seat in seats[1:4] + seats[-2:]:
        claiming.return_seat(bob, seat.token)
    answered = [seats[0], *seats[4:6]]
    answer(bob, golden, answered)
    expire()
    claiming.return_expired()
    gone = ids(first) - {seat.question_id for seat in answered}
    assert 0 < Question.objects.filter(pk__in=gone, state="gold").count() < 7

    met = []
    while (page := claiming.next_page(bob, golden)).seats:
        met.append(ids(page))
        answer(bob, golden, page.seats)

    ordinary = set(Question.objects.filter(pk__in=gone, state="open").values_list("pk", flat=True))
    assert ordinary <= set().union(*met)
    assert not gone & set().union(*met[:-2])


def test_left_is_exact_where_there_is_no_gold(pond, bob):
    page = claiming.next_page(bob, pond)
    claiming.return_seat(bob, page.seats[0].token)

    left = []
    while (page := claiming.next_page(bob, pond)).seats:
        left.append(page.left)
        answer(bob, pond, page.seats)

    assert left == [30, 24, 18, 12, 6]


@pytest.fixture
def last_questions(alice, bob, charlie, dataset):
    """Fourteen questions of one vote, for three people who were invited."""
    campaign = factories.make_campaign(
        alice, dataset, "last", images=14, policy={"votes": 1, "gold_share": 0}
    )
    for person in (bob, charlie, factories.make_user("dora")):
        factories.join(person, campaign)
    return campaign


def pages_of(campaign):
    people = campaign.memberships.filter(role="annotator").order_by("pk")
    return [len(qualifying.next_page(row.user, campaign).seats) for row in people]


def test_people_who_only_look_hold_a_fair_share_of_the_last_questions(last_questions):
    first = pages_of(last_questions)

    assert first == [4, 4, 2]
    assert pages_of(last_questions) == first


@pytest.mark.parametrize(("count", "share"), [(14, 4), (10, 4), (9, 2), (5, 2), (4, 1), (1, 1)])
def test_shares_fall_in_steps(last_questions, bob, count, share):
    surplus = last_questions.questions.order_by("pk").values_list("pk", flat=True)[count:]
    Question.objects.filter(pk__in=list(surplus)).update(seats_free=0)

    assert len(qualifying.next_page(bob, last_questions).seats) == share


def test_a_member_who_was_never_there_costs_one_share(last_questions, bob):
    long_ago = timezone.now() - timedelta(days=9)
    last_questions.memberships.exclude(user=bob).update(joined_at=long_ago)

    assert len(qualifying.next_page(bob, last_questions).seats) == 5


def test_who_works_alone_gets_all_of_the_last_questions(last_questions, bob):
    last_questions.memberships.exclude(user=bob).update(left_at=timezone.now())

    assert len(qualifying.next_page(bob, last_questions).seats) == 14


def test_shares_end_with_the_last_question(last_questions):
    people = [row.user for row in last_questions.memberships.filter(role="annotator")]
    answered = 0
    for _ in range(14):
        for person in people:
            seats = qualifying.next_page(person, last_questions).seats
            answered += len(seats)
            answer(person, last_questions, seats)

    assert answered == 14
    assert not last_questions.questions.filter(seats_free__gt=0).exists()


def test_a_share_is_whole_pages_while_much_is_left(pond, bob, charlie):
    factories.join(charlie, pond)

    assert len(qualifying.next_page(bob, pond).seats) == 6


def lease_of(token):
    return Seat.objects.get(token=token).leased_until - timezone.now()


def test_leases_of_a_closed_page_end_within_a_minute(golden, bob):
    page = claiming.next_page(bob, golden)
    tokens = [seat.token for seat in page.seats]

    assert claiming.leave(bob, golden, tokens[1:], timezone.now()) == len(tokens[1:])

    assert gold_in(page)
    assert all(lease_of(token) <= claiming.LEASE_AFTER_LEAVING for token in tokens[1:])
    assert lease_of(tokens[0]) > claiming.LEASE_AFTER_LEAVING


def test_a_reload_renews_the_same_seats_gold_too(golden, bob):
    page = claiming.next_page(bob, golden)
    claiming.leave(bob, golden, [seat.token for seat in page.seats], timezone.now())

    assert claiming.next_page(bob, golden) == page

    assert all(lease_of(seat.token) > claiming.LEASE_AFTER_LEAVING for seat in page.seats)


def test_leaving_is_ignored_once_a_reload_has_renewed_the_leases(pond, bob):
    seats, seen_at = claiming.next_page(bob, pond).seats, timezone.now()
    claiming.next_page(bob, pond)

    assert claiming.leave(bob, pond, [seat.token for seat in seats], seen_at) == 0


def test_leaving_leaves_drafts_and_answers(pond, bob, charlie):
    factories.join(charlie, pond)
    tokens = [seat.token for seat in claiming.next_page(bob, pond).seats]
    rows = [Seat.objects.get(token=token) for token in tokens]
    Draft.objects.create(assignment=rows[0])
    answer(bob, pond, claiming.open_seats(bob, pond)[1:2])
    # Sent back: answered once, and leased again.
    Seat.objects.filter(pk=rows[2].pk).update(ordinal=1)
    before = [Seat.objects.get(token=token).leased_until for token in tokens[:3]]

    assert claiming.leave(charlie, pond, tokens, timezone.now()) == 0
    assert claiming.leave(bob, pond, tokens, timezone.now()) == len(before)

    assert [Seat.objects.get(token=token).leased_until for token in tokens[:3]] == before


def test_nobody_gets_questions_after_the_deadline_and_held_ones_are_answered(pond, alice, bob):
    seats = claiming.next_page(bob, pond).seats
    Campaign.objects.update(deadline=timezone.now() - timedelta(seconds=2))

    with pytest.raises(CampaignClosed, match="deadline"):
        claiming.next_page(bob, pond)
    answer(bob, pond, seats)

    assert Answer.objects.count() == len(seats)
    with pytest.raises(Refusal, match="in the past"):
        lifecycle.change(pond, alice, deadline=timezone.now())
    lifecycle.change(pond, alice, deadline=timezone.now() + timedelta(minutes=1))
    assert claiming.next_page(bob, pond).seats
