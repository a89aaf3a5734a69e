"""Gold that was given back returns as ordinary questions do: when, in which order, how often."""

import random

import pytest

from labeling.assignment import claiming, gold_mixing
from labeling.campaigns import lifecycle
from labeling.models import Campaign, Gold
from tests import factories
from tests.labeling.crowd import answer, answer_pages

# A page that holds all that was given back.
ALL = 200


@pytest.fixture
def seats(monkeypatch, alice, bob, charlie, dataset):
    """What Bob gave back in his first pass over 80 questions of one vote, of which half are gold:
    whether it was gold, by token."""
    source = random.Random(26)
    monkeypatch.setattr(gold_mixing, "chance", source)
    monkeypatch.setattr(claiming, "new_token", lambda: f"{source.getrandbits(128):032x}")
    policy = {"votes": 1, "page_size": 4, "gold_share": 0.5, "gold_action": "none"}
    campaign = factories.make_campaign(
        alice, dataset, "pond", images=80, policy=policy, launch=False
    )
    pks = list(campaign.questions.order_by("ticket").values_list("pk", flat=True)[::2])
    campaign.questions.filter(pk__in=pks).update(state="gold", lane=2)
    Gold.objects.bulk_create([Gold(question_id=pk, answer="yes") for pk in pks])
    lifecycle.launch(campaign, alice)
    for person in (bob, charlie):
        factories.join(person, campaign)
    given_back = {}
    while not (page := by_token(bob, campaign)).keys() & given_back.keys():
        give_back(bob, page)
        given_back |= page
    give_back(bob, page)
    given_back |= page
    assert 20 < sum(given_back.values()) < 60
    return given_back


@pytest.fixture
def pond(seats):
    return Campaign.objects.get()


def by_token(person, campaign, size=None):
    """The person's page: whether each seat is gold, by token."""
    page = claiming.next_page(person, campaign, size).seats
    golden = Gold.objects.filter(question__in=[seat.question_id for seat in page])
    pks = set(golden.values_list("question_id", flat=True))
    return {seat.token: seat.question_id in pks for seat in page}


def give_back(person, tokens):
    for token in tokens:
        claiming.return_seat(person, token)


def parts(seats, page):
    """Which part of the ordinary seats is on the page, and which of the gold."""
    for gold in (False, True):
        tokens = {token for token in seats if seats[token] is gold}
        yield len(tokens & page.keys()) / len(tokens)


def test_all_that_was_given_back_returns_while_nobody_else_took_it(pond, bob, seats):
    assert by_token(bob, pond, ALL) == seats


def test_a_seat_given_back_at_the_end_returns_at_once(pond, bob, seats):
    page = by_token(bob, pond, ALL)
    for token in page:
        give_back(bob, [token])

        assert by_token(bob, pond, ALL).keys() == page.keys()


def test_seats_return_in_the_order_in_which_they_were_given_back(pond, bob, seats):
    passes = []
    for _ in range(2 * len(seats)):
        [token] = by_token(bob, pond, 1)
        give_back(bob, [token])
        passes.append(token)

    assert passes[: len(seats)] == passes[len(seats) :]
    assert set(passes) == set(seats)


def test_as_large_a_part_of_gold_returns_as_of_what_others_left(pond, bob, charlie, seats):
    answer_pages(charlie, pond, "yes", pages=10)
    page = by_token(bob, pond, ALL)
    ordinary, gold = parts(seats, page)

    assert 0.3 < ordinary < 0.7
    assert abs(gold - ordinary) < 0.2

    # The same gold returns however often everything is given back.
    for _ in range(3):
        give_back(bob, page)
        assert by_token(bob, pond, ALL) == page


def test_gold_given_back_does_not_outlast_the_ordinary_questions_after_it(
    pond, bob, charlie, seats
):
    # Ordinary questions are the last to be given back.
    for gold in (True, False):
        page = by_token(bob, pond, ALL)
        give_back(bob, [token for token in page if page[token] is gold])
    held = by_token(bob, pond, ALL)
    give_back(bob, sorted(held, key=lambda token: not held[token]))
    while page := claiming.next_page(charlie, pond).seats:
        answer(charlie, pond, page)

    assert by_token(bob, pond, ALL) == {}


def test_a_seat_given_back_now_returns_although_others_took_what_came_before(
    pond, bob, charlie, seats
):
    page = by_token(bob, pond, ALL)
    ordinary = [token for token in page if not page[token]]
    give_back(bob, ordinary)
    while claimed := claiming.next_page(charlie, pond).seats:
        answer(charlie, pond, claimed)
    held = by_token(bob, pond, ALL)
    assert set(held.values()) == {True}

    for token in held:
        give_back(bob, [token])

        assert by_token(bob, pond, ALL).keys() == held.keys()


def test_a_lone_golden_seat_returns_as_an_ordinary_one_would(pond, bob, seats):
    page = claiming.next_page(bob, pond, ALL).seats
    token = next(token for token in seats if seats[token])
    answer(bob, pond, [seat for seat in page if seat.token != token])
    give_back(bob, [token])

    assert by_token(bob, pond) == {token: True}
