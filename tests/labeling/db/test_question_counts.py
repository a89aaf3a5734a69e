"""Counters of questions say what counting the rows would say, whatever was done and by how many."""

import logging
import threading
from datetime import timedelta

import pytest
from django.db import connection, connections, transaction
from django.utils import timezone

from evaluation.benchmarks import runs
from labeling.answers import submitting
from labeling.assignment import claiming
from labeling.campaigns import lifecycle, subjects
from labeling.consensus import reviewing, settling
from labeling.db import question_counts
from labeling.db.question_counts import StateCounts
from labeling.db.sql import lock_questions
from labeling.follow_ups import asking, following
from labeling.models import Campaign, Question, QuestionCount, Seat
from labeling.quality import blocking, gold, piloting
from tests import factories
from tests.labeling import hammer, hierarchies
from tests.labeling.crowd import answer, answer_all, people, vote

COOT = "n02018207"


def right(campaign: Campaign) -> StateCounts:
    """The campaign's counts, which are what its rows say."""
    assert question_counts.differences(campaign.pk) == {}
    return question_counts.of_campaign(campaign.pk)


@pytest.fixture
def pond(alice, bob, dataset) -> Campaign:
    """Six questions that want two votes each, open to Bob."""
    policy = {"votes": 2, "max_votes": 3, "page_size": 10, "gold_share": 0}
    campaign = factories.make_campaign(alice, dataset, "pond", images=6, policy=policy)
    factories.join(bob, campaign)
    return campaign


def test_questions_asked_twice_are_counted_once(pond):
    factories.make_image(pond.dataset, "new.png")

    asking.add_questions(pond, [("pond/000.png", COOT), ("new.png", COOT)])

    assert right(pond) == StateCounts(open=7, free=7, seats_free=14)


def test_a_question_that_somebody_else_asked_meanwhile_is_counted_once(pond, monkeypatch):
    factories.make_image(pond.dataset, "new.png")
    # As it was read before the other one wrote.
    monkeypatch.setattr(asking, "_existing_questions", lambda campaign, items: {})

    asking.add_questions(pond, [("pond/000.png", COOT), ("new.png", COOT)])

    assert right(pond).open == 7


def test_seats_are_counted_as_they_are_taken_and_come_back(pond, bob, charlie):
    factories.join(charlie, pond)
    seats = claiming.next_page(bob, pond).seats
    claiming.next_page(charlie, pond, 4)
    assert right(pond) == StateCounts(open=6, free=2, seats_free=2)

    claiming.return_seat(bob, seats[0].token)
    Seat.objects.filter(annotator=charlie).update(
        leased_until=timezone.now() - timedelta(minutes=1)
    )
    claiming.return_expired()

    assert right(pond).seats_free == 7


def test_an_answer_after_the_lease_takes_its_seat_again(pond, bob):
    seats = claiming.next_page(bob, pond).seats
    Seat.objects.update(leased_until=timezone.now() - timedelta(minutes=1))
    claiming.return_expired()
    assert right(pond).seats_free == 12

    answer(bob, pond, seats)

    assert right(pond).seats_free == 6


def test_verdicts_and_further_votes_are_counted(pond, bob):
    dora = people(pond, 1, "dora")[0]
    vote(bob, pond)
    seats = claiming.next_page(dora, pond).seats
    verdicts = dict(zip([seat.token for seat in seats], ["yes", "no", *["hard"] * 4], strict=True))
    first = {seat.question_id: verdicts[seat.token] for seat in seats}

    answer(dora, pond, seats, lambda seat: first[seat.question_id])

    counts = right(pond)
    assert counts.settled
    assert counts.open
    answer_all(people(pond, 1, "eve")[0], pond, "hard")
    assert right(pond).decided == 6


def test_a_changed_mind_leaves_the_counts_as_they_are(pond, bob):
    seats = claiming.next_page(bob, pond).seats
    answer(bob, pond, seats)
    before = right(pond)

    answer(bob, pond, seats, "no")

    assert right(pond) == before


def test_withdrawn_questions_leave_and_come_back_with_their_answers(pond, bob):
    vote(bob, pond)
    first = pond.questions.order_by("pk").first()
    pairs = [("pond/000.png", COOT)]

    asking.withdraw_questions(pond, [first.pk], None, "")
    assert right(pond) == StateCounts(open=5, withdrawn=1, free=5, seats_free=5)
    asking.add_questions(pond, pairs)

    assert right(pond) == StateCounts(open=6, free=6, seats_free=6)


@pytest.mark.parametrize("verdict", ["yes", reviewing.DROP])
def test_a_reviewers_verdict_is_counted(alice, dataset, verdict):
    policy = {"votes": 1, "max_votes": 1, "review": "all", "gold_share": 0}
    campaign = factories.make_campaign(alice, dataset, images=2, policy=policy)
    vote(people(campaign, 1)[0], campaign)
    assert right(campaign) == StateCounts(review=2)

    reviewing.decide(campaign, campaign.questions.first().pk, alice, verdict)

    counts = right(campaign)
    assert (counts.review, counts.decided) == (1, 2)


def test_gold_is_counted_as_gold(pond, alice):
    factories.make_image(pond.dataset, "gold.png")
    row = {"image": "gold.png", "topic": COOT, "answer": "yes"}
    gold.add_gold(pond, alice, [row])
    for person in people(pond, 2):
        vote(person, pond)
    assert right(pond) == StateCounts(settled=6, gold=1)

    gold.gold_from_settled(pond, alice, [pond.questions.filter(state="settled").first().pk])
    gold.retire_gold(pond, alice, pond.questions.filter(topic=COOT, state="gold").first().pk)
    gold.add_gold(pond, alice, [row])

    assert right(pond).gold == 3


def test_pausing_and_closing_change_no_count(pond, alice):
    before = right(pond)

    for action in ("pause", "resume", "close"):
        lifecycle.change_state(pond, alice, action)

    assert right(pond) == before


def test_a_block_reopens_questions_and_lifting_it_settles_them(pond, alice):
    crowd = people(pond, 2)
    for person in crowd:
        vote(person, pond)
    member = pond.memberships.get(user=crowd[0])

    blocking.block(pond, member, alice)
    assert right(pond) == StateCounts(open=6, free=6, seats_free=6)
    blocking.unblock(pond, member, alice)

    assert right(pond) == StateCounts(settled=6)


def test_a_pilot_reopens_what_it_draws(pond, alice):
    for person in people(pond, 2):
        vote(person, pond)

    pilot = piloting.ask_pilot(pond, alice, 3, seed=1)

    assert pilot == 3
    counts = right(pond)
    assert (counts.open, counts.settled, counts.seats_free) == (3, 3, 24)


def test_what_a_graph_opens_withdraws_and_brings_back_is_counted(alice, dataset):
    home = hierarchies.make(alice, dataset, images=3)
    roots = len(hierarchies.ROOTS) * 3
    assert right(home) == StateCounts(open=roots, free=roots, seats_free=roots, images=3)
    following.open_images(home)
    dora, eve = people(home, 2)
    while vote(dora, home):
        following.advance(home)
    assert right(home).settled > roots

    # What follows from a "yes" is closed with it, and comes back with it.
    member = home.memberships.get(user=dora)
    blocking.block(home, member, alice)
    following.advance(home)
    right(home)
    while vote(eve, home, "no"):
        following.advance(home)
    assert right(home).withdrawn
    blocking.unblock(home, member, alice)
    following.advance(home)

    assert right(home).images == 3


def test_images_that_are_opened_again_are_counted_once(alice, dataset):
    home = hierarchies.make(alice, dataset, images=2)
    factories.make_image(dataset, "more.png")

    following.open_images(home)
    following.open_images(home, ["more.png"])

    assert right(home).images == 3


def test_questions_about_one_thing_are_counted_as_repeated(pond):
    rows = [pond.questions.order_by("pk")[n].item for n in range(3)]
    thing = rows[0]
    frames = [factories.make_image(pond.dataset, f"frame{n}.png") for n in range(3)]
    subjects.derive({frame.pk: thing.pk for frame in frames})

    asking.add_questions(pond, [(frame.name, COOT) for frame in frames])
    assert right(pond).repeated == 2
    question = pond.questions.get(item__image__name="frame0.png")
    asking.withdraw_questions(pond, [question.pk], None, "")
    assert right(pond).repeated == 1
    asking.add_questions(pond, [("frame0.png", COOT)])

    assert right(pond).repeated == 2


def test_counts_of_many_campaigns_are_one_query(pond, alice, dataset, django_assert_num_queries):
    empty = factories.make_campaign(alice, dataset, "empty", launch=False)

    with django_assert_num_queries(1):
        counts = question_counts.of_campaigns([pond.pk, empty.pk])

    assert counts == {pond.pk: StateCounts(open=6, free=6, seats_free=12), empty.pk: StateCounts()}


def test_the_night_mends_counters_and_logs_by_how_much(pond, caplog):
    Question.objects.filter(pk=pond.questions.first().pk).update(state="dropped", seats_free=0)
    QuestionCount.objects.create(campaign=pond, settled=2)

    with caplog.at_level(logging.WARNING, "labeling.db.question_counts"):
        runs.NIGHT_STEPS["settle"](pond)

    assert right(pond) == StateCounts(open=5, dropped=1, free=5, seats_free=10)
    assert "'settled': -2" in caplog.text
    assert question_counts.reconcile(pond.pk) == {}


def test_a_campaign_without_counters_is_counted_once(pond):
    QuestionCount.objects.all().delete()

    question_counts.reconcile(pond.pk)
    question_counts.reconcile(pond.pk)

    assert right(pond).open == 6
    assert QuestionCount.objects.filter(campaign=pond).count() == 1


def test_two_who_change_questions_of_a_campaign_do_not_wait_for_each_other(throwaway):
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has one writer")
    hammer.build(questions=4, people=0)
    campaign = Campaign.objects.get(name=hammer.CAMPAIGN)
    pks = list(campaign.questions.filter(state="open").order_by("pk").values_list("pk", flat=True))
    written, over = threading.Event(), threading.Event()

    def withdraw(pk: int) -> None:
        before = lock_questions([pk])
        Question.objects.filter(pk=pk).update(state="withdrawn", seats_free=0)
        after = [row._replace(state="withdrawn", seats_free=0) for row in before]
        question_counts.update_counts(before, after)

    def hold() -> None:
        try:
            with transaction.atomic():
                withdraw(pks[0])
                written.set()
                over.wait(timeout=20)
        finally:
            connections.close_all()

    holder = threading.Thread(target=hold)
    holder.start()
    assert written.wait(timeout=20)
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET LOCAL lock_timeout = '5s'")
            withdraw(pks[1])
        # What is not committed is seen by nobody.
        assert right(campaign).withdrawn == 1
    finally:
        over.set()
        holder.join()

    assert right(campaign).withdrawn == 2
    assert question_counts.reconcile(campaign.pk) == {}


def test_of_two_who_mend_a_campaign_without_counters_at_once_one_does(throwaway, monkeypatch):
    hammer.build(questions=4, people=0)
    campaign = Campaign.objects.get(name=hammer.CAMPAIGN)
    QuestionCount.objects.all().delete()
    differences = question_counts.differences
    others: list[threading.Thread] = []

    def mend() -> None:
        try:
            question_counts.reconcile(campaign.pk)
        finally:
            connections.close_all()

    def look(campaign_id: int) -> dict[str, int]:
        diff = differences(campaign_id)
        if connection.in_atomic_block and not others:
            # Somebody else comes between what we read and what we add.
            others.append(threading.Thread(target=mend))
            others[0].start()
            others[0].join(timeout=1)
        return diff

    monkeypatch.setattr(question_counts, "differences", look)
    question_counts.reconcile(campaign.pk)
    others[0].join()

    assert right(campaign).open == 4


def test_an_action_that_fails_counts_nothing(pond, bob, monkeypatch):
    before = right(pond)
    seats = claiming.next_page(bob, pond).seats
    claimed = right(pond)
    monkeypatch.setattr(settling, "settle_locked", lambda questions: 1 / 0)

    with pytest.raises(ZeroDivisionError):
        answer(bob, pond, seats)

    assert before != claimed == right(pond)
    assert not submitting.Answer.objects.exists()
