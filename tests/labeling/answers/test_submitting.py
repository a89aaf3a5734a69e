import uuid
from datetime import timedelta

import pytest
from django.utils import timezone

from labeling.answers import submitting
from labeling.answers.submitting import SubmittedAnswer
from labeling.assignment import claiming
from labeling.campaigns import lifecycle
from labeling.db import question_counts
from labeling.errors import NotYours, TooLarge
from labeling.follow_ups import asking
from labeling.models import (
    Answer,
    Gold,
    Graph,
    Job,
    Membership,
    Question,
    Seat,
    SecondAnswer,
    Settlement,
)
from labeling.quality import blocking, memberships, monitoring, qualifying
from labeling.quality.gold import add_gold
from tests import factories
from tests.labeling.crowd import query_count

COOT = "n02018207"


@pytest.fixture
def pond(alice, bob, charlie, dataset):
    """Thirty questions of two votes, where Bob and Charlie label; pages of six, no gold."""
    campaign = factories.make_campaign(
        alice,
        dataset,
        "pond",
        images=30,
        policy={
            "votes": 2,
            "max_votes": 4,
            "page_size": 6,
            "gold_share": 0,
            "revise_minutes": 10,
            "revise_answers": 3,
        },
    )
    factories.join(bob, campaign)
    factories.join(charlie, campaign)
    return campaign


@pytest.fixture
def seats(pond, bob):
    return claiming.next_page(bob, pond).seats


def sent(seat, value="yes", duration_ms=900, pk=None):
    return SubmittedAnswer(
        pk or uuid.uuid4(), seat if isinstance(seat, str) else seat.token, value, duration_ms
    )


def codes(results):
    return [result.code or result.status for result in results]


def age(minutes):
    Answer.objects.update(created_at=timezone.now() - timedelta(minutes=minutes))


def expire():
    Seat.objects.filter(state="leased").update(leased_until=timezone.now() - timedelta(seconds=1))
    claiming.return_expired()


def test_an_answer_is_kept_with_its_seat_and_its_persons_work(pond, bob, seats):
    [result] = submitting.submit(bob, pond, [sent(seats[0])])

    assert (result.status, result.revision) == ("accepted", 0)
    kept = Answer.objects.get()
    assert (kept.value, kept.duration_ms, kept.late) == ("yes", 900, False)
    assert kept.assignment.state == "answered"
    assert kept.assignment.ordinal == 1
    member = pond.memberships.get(user=bob)
    assert (member.answered, member.worked_ms) == (1, 900)
    assert member.last_answered_at is not None


def test_a_pause_counts_as_two_minutes_of_work(pond, bob, seats):
    submitting.submit(
        bob, pond, [sent(seats[0], duration_ms=3_600_000), sent(seats[1], "no", None)]
    )

    assert pond.memberships.get(user=bob).worked_ms == 120_000


def test_the_same_answer_again_gives_the_first_result_again(pond, bob, seats):
    batch = [sent(seat) for seat in seats]
    first = submitting.submit(bob, pond, batch)

    assert submitting.submit(bob, pond, batch) == first
    assert submitting.submit(bob, pond, batch[:2] + batch[:2]) == first[:2] + first[:2]
    assert Answer.objects.count() == 6
    assert pond.memberships.get(user=bob).answered == 6


@pytest.mark.parametrize("change", ["value", "seat", "duration_ms"])
def test_the_same_id_with_another_body_is_a_conflict(pond, bob, seats, change):
    first = sent(seats[0])
    submitting.submit(bob, pond, [first])
    change_of_body = {"value": "no", "seat": seats[1].token, "duration_ms": 901}[change]

    results = submitting.submit(
        bob, pond, [SubmittedAnswer(**{**vars(first), change: change_of_body})]
    )

    assert codes(results) == ["conflict"]
    assert Answer.objects.count() == 1


def test_the_same_id_twice_in_a_batch_is_one_answer_or_a_conflict(pond, bob, seats):
    first = sent(seats[0])

    results = submitting.submit(bob, pond, [first, first, sent(seats[0], "no", pk=first.id)])

    assert codes(results) == ["accepted", "accepted", "conflict"]
    assert Answer.objects.count() == 1


def test_an_id_that_somebody_else_used_is_a_conflict(pond, bob, charlie, seats):
    first = sent(seats[0])
    submitting.submit(bob, pond, [first])
    theirs = claiming.next_page(charlie, pond).seats

    assert codes(submitting.submit(charlie, pond, [sent(theirs[0], pk=first.id)])) == ["conflict"]
    assert codes(submitting.submit(charlie, pond, [first])) == ["conflict"]


def test_a_second_answer_revises_the_first(pond, bob, seats):
    results = submitting.submit(bob, pond, [sent(seats[0]), sent(seats[0], "no")])
    results += submitting.submit(bob, pond, [sent(seats[0], "hard")])

    assert [result.revision for result in results] == [0, 1, 2]
    assert pond.memberships.get(user=bob).answered == 1


def test_a_mind_may_be_changed_for_ten_minutes_or_three_answers(pond, bob, seats):
    submitting.submit(bob, pond, [sent(seat) for seat in seats[:4]])
    # Three further answers, but not ten minutes.
    assert codes(submitting.submit(bob, pond, [sent(seats[0], "no")])) == ["accepted"]
    age(11)

    results = submitting.submit(bob, pond, [sent(seats[0], "yes"), sent(seats[1], "no")])

    # Ten minutes for both, three further answers for the first alone.
    assert codes(results) == ["revision_closed", "accepted"]


def test_an_answer_whose_proposal_was_seen_stays_closed(pond, bob, seats):
    submitting.submit(bob, pond, [sent(seats[0])])
    # Of the second edition, where a second pass showed what models name.
    SecondAnswer.objects.create(assignment=Seat.objects.get(token=seats[0].token), shown=[COOT])

    assert codes(submitting.submit(bob, pond, [sent(seats[0], "no")])) == ["revision_closed"]


def test_a_revision_before_settling_changes_the_vote(pond, bob, charlie, seats):
    submitting.submit(bob, pond, [sent(seats[0], "no")])
    submitting.submit(bob, pond, [sent(seats[0], "yes")])
    theirs = claiming.next_page(charlie, pond).seats
    same = next(seat for seat in theirs if seat.question_id == seats[0].question_id)

    submitting.submit(charlie, pond, [sent(same, "yes")])

    settlement = Settlement.objects.get()
    assert (settlement.value, settlement.probability) == ("yes", 1.0)


def test_a_revision_after_settling_is_late_and_changes_nothing(pond, bob, charlie, seats):
    submitting.submit(bob, pond, [sent(seat) for seat in seats])
    theirs = claiming.next_page(charlie, pond).seats
    submitting.submit(charlie, pond, [sent(seat) for seat in theirs])
    before = list(Settlement.objects.values())

    results = submitting.submit(charlie, pond, [sent(theirs[5], "no")])

    assert (codes(results), results[0].revision) == (["accepted"], 1)
    assert Answer.objects.filter(late=True).get().value == "no"
    assert list(Settlement.objects.values()) == before
    assert Question.objects.get(pk=theirs[5].question_id).state == "settled"


def test_an_expired_seat_is_taken_again_while_it_is_free(pond, bob, seats):
    expire()

    assert codes(submitting.submit(bob, pond, [sent(seat) for seat in seats])) == ["accepted"] * 6
    question = Question.objects.get(pk=seats[0].question_id)
    assert question.seats_free == 1
    assert Seat.objects.filter(state="answered").count() == 6


def test_the_answer_to_a_seat_that_others_filled_is_kept_and_late(pond, alice, bob, charlie, seats):
    expire()
    for person in (alice, charlie):
        for _ in range(5):
            page = claiming.next_page(person, pond).seats
            submitting.submit(person, pond, [sent(seat) for seat in page])
    assert set(pond.questions.values_list("state", flat=True)) == {"settled"}

    results = submitting.submit(bob, pond, [sent(seats[0])])

    assert codes(results) == ["accepted"]
    assert Answer.objects.get(assignment__annotator=bob).late
    assert len(Settlement.objects.get(question=seats[0].question_id).answers) == 2


def test_the_last_free_seat_is_taken_once_when_two_come_back_and_the_other_is_late(
    pond, alice, bob, charlie, seats
):
    theirs = claiming.next_page(charlie, pond).seats
    expire()
    page = claiming.next_page(alice, pond).seats
    submitting.submit(alice, pond, [sent(seat) for seat in page])
    question = page[0].question_id
    mine = next(seat for seat in seats if seat.question_id == question)
    last_seat = next(seat for seat in theirs if seat.question_id == question)

    first = submitting.submit(bob, pond, [sent(mine)])
    second = submitting.submit(charlie, pond, [sent(last_seat)])

    assert codes(first) + codes(second) == ["accepted", "accepted"]
    late = Answer.objects.filter(assignment__question=question, late=True)
    assert [answer.assignment.annotator for answer in late] == [charlie]
    assert len(Settlement.objects.get(question=question).answers) == 2


def test_an_answer_without_a_seat_stays_late_however_often_it_is_revised(
    pond, alice, bob, charlie, seats
):
    expire()
    question = seats[0].question_id
    for person in (alice, charlie):
        claiming.next_page(person, pond)
    assert Question.objects.get(pk=question).seats_free == 0

    results = submitting.submit(bob, pond, [sent(seats[0]), sent(seats[0], "no")])
    results += submitting.submit(bob, pond, [sent(seats[0], "hard")])

    assert codes(results) == ["accepted"] * 3
    assert Question.objects.get(pk=question).state == "open"
    assert list(Answer.objects.values_list("late", flat=True)) == [True] * 3


@pytest.mark.parametrize("stop", ["pause", "block"])
def test_answers_after_a_stop_are_late_and_count_once_it_is_lifted(pond, alice, bob, seats, stop):
    member = Membership.objects.get(user=bob, campaign=pond)
    _stop(pond, member, alice, stop)

    results = submitting.submit(bob, pond, [sent(seat) for seat in seats[:2]])

    assert codes(results) == ["accepted"] * 2
    assert list(Answer.objects.values_list("late", flat=True)) == [True] * 2
    assert Question.objects.get(pk=seats[0].question_id).seats_free == 2
    assert question_counts.differences(pond.pk) == {}
    # Others take the seats of one of them meanwhile.
    Question.objects.filter(pk=seats[1].question_id).update(seats_free=0)
    question_counts.reconcile(pond.pk)

    _lift(pond, member, alice, stop)

    rows = Answer.objects.order_by("assignment__question").values_list(
        "assignment__question", "late"
    )
    assert dict(rows) == {seats[0].question_id: False, seats[1].question_id: True}
    assert Question.objects.get(pk=seats[0].question_id).seats_free == 1
    assert question_counts.differences(pond.pk) == {}


@pytest.mark.parametrize("stop", ["pause", "block"])
def test_gold_after_a_stop_is_late_alike(pond, alice, bob, seats, stop):
    gold = seats[0].question_id
    factories.put(pond, [gold], state="gold")
    Gold.objects.create(question_id=gold, answer="yes")
    member = Membership.objects.get(user=bob, campaign=pond)
    _stop(pond, member, alice, stop)

    results = submitting.submit(bob, pond, [sent(seat) for seat in seats[:2]])

    assert len({(result.status, result.code, result.message) for result in results}) == 1
    assert list(Answer.objects.values_list("late", flat=True)) == [True] * 2
    _lift(pond, member, alice, stop)
    assert list(Answer.objects.values_list("late", flat=True)) == [False] * 2


def test_a_seat_held_through_a_stop_goes_to_others_with_its_late_answer(pond, bob, seats):
    Membership.objects.filter(user=bob, campaign=pond).update(stage="paused")
    before = Question.objects.get(pk=seats[0].question_id).seats_free

    submitting.submit(bob, pond, [sent(seats[0])])

    assert Question.objects.get(pk=seats[0].question_id).seats_free == before + 1
    assert question_counts.differences(pond.pk) == {}


def test_a_revision_after_a_pause_is_late_too(pond, alice, bob, seats):
    submitting.submit(bob, pond, [sent(seats[0])])
    member = Membership.objects.get(user=bob, campaign=pond)
    _stop(pond, member, alice, "pause")

    submitting.submit(bob, pond, [sent(seats[0], "no")])

    lates = Answer.objects.order_by("revision").values_list("late", flat=True)
    assert list(lates) == [False, True]
    free = Question.objects.get(pk=seats[0].question_id).seats_free
    _lift(pond, member, alice, "pause")
    assert list(lates.all()) == [False, False]
    assert Question.objects.get(pk=seats[0].question_id).seats_free == free


def test_a_large_batch_is_watched_by_tens_and_late_after_a_pause(pond, alice, bob):
    page = claiming.next_page(bob, pond, 25).seats
    assert len(page) == 25
    member = Membership.objects.get(user=bob, campaign=pond)

    def watch(campaign, user):
        if Answer.objects.count() == 10:
            _stop(pond, member, alice, "pause")

    results = submitting.submit(bob, pond, [sent(seat) for seat in page], watch)

    assert codes(results) == ["accepted"] * 25
    assert Answer.objects.filter(late=False).count() == 10


def _stop(campaign, member, actor, stop):
    if stop == "pause":
        monitoring.pause(member, actor, "hasty")
    else:
        blocking.block(campaign, member, actor, "hasty")


def _lift(campaign, member, actor, stop):
    member.refresh_from_db()
    if stop == "pause":
        qualifying.move_to_stage(member, "working", actor, "fine", expected="paused")
    else:
        blocking.unblock(campaign, member, actor, "fine")


def test_somebody_looks_after_every_tenth_answer_of_a_person(pond, bob):
    watched = []
    for _ in range(4):
        page = claiming.next_page(bob, pond).seats
        submitting.submit(bob, pond, [sent(seat) for seat in page])
        watched.append(Job.objects.filter(kind="watch").count())
        Job.objects.update(state="done")

    # Of 6, 12, 18 and 24 answers.
    assert watched == [0, 1, 1, 2]
    job = Job.objects.first()
    assert job.key == f"{pond.pk}:{bob.pk}"
    assert (job.payload, job.campaign) == ({"campaign": pond.pk, "user": bob.pk}, pond)


def test_an_answer_finds_its_seat_after_a_reload(pond, bob, seats):
    expire()
    claiming.next_page(bob, pond)

    assert codes(submitting.submit(bob, pond, [sent(seats[0])])) == ["accepted"]


def test_a_seat_of_anybody_else_says_nothing_of_itself(pond, bob, charlie, alice, dataset, seats):
    elsewhere = factories.make_campaign(alice, dataset, "other", images=3)
    factories.join(bob, elsewhere)
    theirs = claiming.next_page(charlie, pond).seats[0].token
    foreign_token = claiming.next_page(bob, elsewhere).seats[0].token

    tokens = [theirs, foreign_token, "0" * 32, "", "\x00", "x" * 5000]
    results = submitting.submit(bob, pond, [sent(token) for token in tokens])

    assert {(result.code, result.message) for result in results} == {
        ("not_your_seat", claiming.NOT_YOUR_SEAT)
    }
    assert not Answer.objects.exists()


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        ({"value": "perhaps"}, "bad_value"),
        ({"value": ["yes"]}, "bad_value"),
        ({"id": "7"}, "bad_id"),
        ({"seat": 7}, "not_your_seat"),
        ({"seat": None}, "not_your_seat"),
    ],
)
def test_one_bad_answer_does_not_hold_up_the_others(pond, bob, seats, fault, code):
    bad = SubmittedAnswer(**{**vars(sent(seats[1])), **fault})

    results = submitting.submit(bob, pond, [sent(seats[0]), bad, sent(seats[2])])

    assert codes(results) == ["accepted", code, "accepted"]
    assert Answer.objects.count() == 2


def test_too_large_a_batch_is_refused_whole(pond, bob, seats):
    with pytest.raises(TooLarge):
        submitting.submit(bob, pond, [sent(seats[0]) for _ in range(101)])

    assert not Answer.objects.exists()
    assert submitting.submit(bob, pond, []) == []


def test_answers_are_taken_while_paused_and_not_once_closed(pond, alice, bob, seats):
    lifecycle.change_state(pond, alice, "pause")
    first = sent(seats[0])
    assert codes(submitting.submit(bob, pond, [first])) == ["accepted"]
    lifecycle.change_state(pond, alice, "close")

    results = submitting.submit(bob, pond, [first, sent(seats[1])])

    assert codes(results) == ["accepted", "campaign_closed"]
    assert Answer.objects.count() == 1


def test_strangers_and_those_who_left_cannot_answer(pond, alice, bob, seats):
    stranger = factories.make_user("dora")
    memberships.remove(Membership.objects.get(user=bob, campaign=pond), alice)

    for person in (stranger, bob):
        with pytest.raises(NotYours):
            submitting.submit(person, pond, [sent(seats[0])])


def test_an_answer_to_a_withdrawn_question_is_kept_and_late(pond, alice, bob, seats):
    question = seats[0].question_id
    asking.withdraw_questions(pond, [question], alice, "not needed")

    assert codes(submitting.submit(bob, pond, [sent(seats[0])])) == ["accepted"]
    assert Answer.objects.get().late


def test_an_answer_to_a_question_that_its_graph_closed_is_refused(pond, alice, bob, seats):
    graph = Graph.objects.create(campaign=pond, version=1, sha256="0" * 64)
    pond.questions.update(graph=graph)
    submitting.submit(bob, pond, [sent(seats[0])])
    closed = [seat.question_id for seat in seats[:2]]
    asking.withdraw_questions(pond, closed, alice, "no animal, so no cat")

    results = submitting.submit(bob, pond, [sent(seat) for seat in seats[:3]])

    # What was answered before may still be changed.
    assert codes(results) == ["accepted", "question_closed", "accepted"]
    assert "was withdrawn" in results[1].message
    assert not Answer.objects.filter(assignment__token=seats[1].token).exists()


def test_a_seat_closed_by_a_withdrawal_takes_no_vote_too_many(pond, alice, bob, charlie, seats):
    question = Question.objects.get(pk=seats[0].question_id)
    asking.withdraw_questions(pond, [question.pk], alice, "not needed")
    asking.add_questions(pond, [(question.item.image.name, COOT)])

    results = submitting.submit(bob, pond, [sent(seats[0])])

    question.refresh_from_db()
    assert codes(results) == ["accepted"]
    assert (question.state, question.seats_free) == ("open", 1)


def test_gold_answers_look_the_same_and_decide_nothing(pond, alice, bob, dataset):
    factories.make_image(dataset, "gold.png")
    add_gold(pond, alice, [{"image": "gold.png", "topic": COOT, "answer": "no"}])
    lifecycle.change_policy(pond, alice, pond.policy.content | {"gold_share": 0.5})
    page = claiming.next_page(bob, pond, 8)
    gold = Question.objects.get(state="gold")
    while gold.pk not in {seat.question_id for seat in page.seats}:
        submitting.submit(bob, pond, [sent(seat) for seat in page.seats])
        page = claiming.next_page(bob, pond, 8)

    results = submitting.submit(bob, pond, [sent(seat) for seat in page.seats])
    again = submitting.submit(bob, pond, [sent(seat, "no") for seat in page.seats])

    shapes = {(r.status, r.code, r.message, r.revision) for r in results}
    assert shapes == {("accepted", "", "", 0)}
    assert {(r.status, r.code, r.message, r.revision) for r in again} == {("accepted", "", "", 1)}
    assert not Settlement.objects.filter(question=gold).exists()
    assert not Answer.objects.filter(assignment__question=gold, late=True).exists()


def test_queries_do_not_grow_with_the_batch(pond, bob, charlie, seats):
    theirs = {seat.question_id: seat for seat in claiming.next_page(charlie, pond).seats}
    submitting.submit(charlie, pond, [sent(seat) for seat in theirs.values()])

    single = query_count(lambda: submitting.submit(bob, pond, [sent(seats[0])]))
    five = query_count(lambda: submitting.submit(bob, pond, [sent(s) for s in seats[1:]]))

    # Each of these answers settles its question.
    assert Settlement.objects.count() == 6
    assert single == five <= 17


def test_a_transaction_that_dies_leaves_nothing_behind(pond, bob, seats, monkeypatch):
    def die(questions):
        raise RuntimeError("killed")

    monkeypatch.setattr("labeling.consensus.settling.settle_locked", die)

    with pytest.raises(RuntimeError):
        submitting.submit(bob, pond, [sent(seats[0])])

    assert not Answer.objects.exists()
    assert Seat.objects.get(token=seats[0].token).state == "leased"
