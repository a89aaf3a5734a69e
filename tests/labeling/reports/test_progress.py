import pytest

from labeling.assignment import claiming
from labeling.campaigns import lifecycle
from labeling.quality.gold import add_gold
from labeling.reports import progress
from tests import factories
from tests.labeling.crowd import COOT, give, vote


def test_a_fresh_campaign_has_every_vote_before_it(coots):
    state = progress.progress(coots)

    assert (state.questions, state.finished, state.answers) == (6, 0, 0)
    assert state.answers_left == 30
    assert state.minutes_left is None


def test_seats_under_lease_are_still_to_be_answered(coots, bob):
    claiming.next_page(bob, coots)

    assert progress.progress(coots).answers_left == 30


def test_answers_cost_the_time_they_took(coots, alice, bob):
    lifecycle.change_policy(coots, alice, {"cost_per_hour": 36.0, "seconds_per_answer": 4})
    coots.refresh_from_db()

    vote(bob, coots, ms=5000)
    state = progress.progress(coots)

    assert state.answers == 6
    assert state.cost == pytest.approx(6 * 5 / 3600 * 36)
    assert state.cost_left == pytest.approx(24 * 4 / 3600 * 36)
    assert state.minutes_left == pytest.approx(24 * 5 / 60)


def test_a_pause_at_a_question_is_not_paid_as_work(coots, bob):
    vote(bob, coots, ms=3_600_000)

    assert progress.progress(coots).hours < 6 * 3600 / 3600


def test_a_campaign_is_finished_when_everything_is_settled(coots, bob):
    people = [bob, *(factories.make_user(f"p{index}") for index in range(4))]
    for person in people[1:]:
        factories.join(person, coots)
    for person in people:
        vote(person, coots, ms=2000)

    state = progress.progress(coots)

    assert (state.share, state.answers_left) == (1.0, 0)


def test_a_tie_among_all_who_joined_waits_for_somebody_else(coots, bob):
    lifecycle.change_policy(coots, coots.created_by, {"votes": 2, "max_votes": 3})
    coots.refresh_from_db()
    dora = factories.make_user("dora")
    factories.join(dora, coots)

    def waiting() -> int:
        return progress.without_anybody(coots, progress.count(coots).counts)

    vote(bob, coots, "yes")
    assert waiting() == 0
    vote(dora, coots, "no")
    tied = coots.questions.filter(state="open").count()
    assert tied
    assert waiting() == tied
    factories.join(factories.make_user("erin"), coots)
    assert waiting() == 0


def test_a_campaign_that_nobody_has_joined_has_no_tie(alice, dataset):
    campaign = factories.make_campaign(alice, dataset, images=3)

    counts = progress.count(campaign).counts
    assert counts.free == 3
    assert progress.without_anybody(campaign, counts) == 0


def test_queries_do_not_grow_with_people(coots, bob, django_assert_max_num_queries):
    for index in range(8):
        factories.join(factories.make_user(f"p{index}"), coots)
    vote(bob, coots, ms=2000)

    with django_assert_max_num_queries(3):
        rows = progress.annotators(coots, list(progress.members(coots)))

    assert rows[0].membership.user == bob
    assert rows[0].seconds_per_answer == pytest.approx(2.0)
    assert len(rows) == 10


def test_answers_to_gold_are_read_only_of_those_nobody_looked_at(
    coots, alice, bob, charlie, dataset, django_assert_num_queries
):
    factories.join(charlie, coots)
    factories.make_image(dataset, "gold.png")
    add_gold(coots, alice, [{"image": "gold.png", "topic": COOT, "answer": "yes"}])
    gold = list(coots.questions.filter(state="gold"))
    for person in (bob, charlie):
        give(person, gold, ["yes"])
        coots.memberships.filter(user=person).update(answered=1)
    kept = {"test": {"right": 7, "total": 9}}
    coots.memberships.filter(user=bob).update(standing=kept)

    rows = {
        row.membership.user: row
        for row in progress.annotators(coots, list(progress.members(coots)))
    }

    assert (rows[bob].accuracy.right, rows[bob].accuracy.total) == (7, 9)
    assert (rows[charlie].accuracy.right, rows[charlie].accuracy.total) == (1, 1)
    assert rows[alice].accuracy.total == 0
    coots.memberships.filter(user=charlie).update(standing=kept)
    members = list(progress.members(coots))
    with django_assert_num_queries(0):
        progress.annotators(coots, members)
