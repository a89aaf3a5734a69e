"""Reviewers accept, correct and send back; what is sent back comes again, and counts again."""

import uuid
from datetime import timedelta

import pytest
from django.utils import timezone

from labeling.answers import drafts, submitting
from labeling.assignment import claiming
from labeling.campaigns import lifecycle
from labeling.consensus import reviewing, settling
from labeling.errors import Conflict, NotYours, Refusal
from labeling.models import Answer, Decision, Draft, Question, Seat, SentBack, Settlement
from labeling.quality import blocking, gold, memberships
from tests import factories
from tests.labeling.crowd import at_once, send
from tests.labeling.parted import CAT, drawn, parts_campaign, square

TAIL = drawn(tail=square(40, 30, 50, 40), leg="occluded", torso="not_visible")
BETTER = drawn(tail=square(41, 30, 50, 40), leg="occluded", torso="not_visible")
NOTE = "The tail goes on behind the box."


@pytest.fixture
def cats(alice, dataset):
    return parts_campaign(alice, dataset, count=2)


@pytest.fixture
def bob(bob, cats):
    factories.join(bob, cats)
    return bob


def draw(person, campaign, value=TAIL, question=None):
    """The question that the person drew: the one named, else the first of their page."""
    seats = claiming.next_page(person, campaign).seats
    seat = next(s for s in seats if question is None or s.question_id == question.pk)
    assert send(person, campaign, [seat], value)[0].status == "accepted"
    return Question.objects.get(pk=seat.question_id)


def latest(question):
    return question.settlements.latest("pk")


def stored(value):
    """The value as answers keep it."""
    return value | {"outline": None}


def state(question):
    question.refresh_from_db()
    return question.state


def test_a_drawing_waits_for_a_reviewer_with_its_value(cats, bob):
    question = draw(bob, cats)

    assert state(question) == "review"
    assert latest(question).value == stored(TAIL)
    assert not latest(question).reviewed
    assert list(settling.rebuild(cats)) == []


def test_any_kind_can_have_everything_reviewed(alice, bob, coots):
    policy = coots.policy.content | {"review": "all", "votes": 1}
    lifecycle.change_policy(coots, alice, policy)
    coots.questions.update(policy=coots.policies.latest("version"), seats_free=1)
    seat = claiming.next_page(bob, coots).seats[0]
    send(bob, coots, [seat], "yes")
    question = Question.objects.get(pk=seat.question_id)
    assert (state(question), latest(question).value) == ("review", "yes")

    settled = reviewing.accept(coots, question.pk, alice)

    assert (state(question), settled.value, settled.reviewed) == ("settled", "yes", True)
    with pytest.raises(Refusal, match="Only drawings"):
        reviewing.send_back(coots, question.pk, alice, NOTE)


def test_accepting_settles_what_was_drawn(cats, alice, bob):
    question = draw(bob, cats)
    seen = latest(question)

    settled = reviewing.accept(cats, question.pk, alice, seen=seen.pk)

    assert state(question) == "settled"
    assert (settled.value, settled.answers) == (seen.value, seen.answers)
    decision = Decision.objects.get(kind="review")
    assert decision.content == {
        "question": question.pk,
        "state": "settled",
        "value": "drawn",
        "accepted": True,
    }
    with pytest.raises(Conflict, match="no longer, in review"):
        reviewing.accept(cats, question.pk, alice)


def test_correcting_puts_the_reviewers_drawing_in_its_place(cats, alice, bob):
    question = draw(bob, cats)

    settled = reviewing.decide(cats, question.pk, alice, BETTER, "tighter")

    assert (state(question), settled.value, settled.reviewed) == ("settled", stored(BETTER), True)
    assert Answer.objects.get().value == stored(TAIL)
    with pytest.raises(NotYours):
        reviewing.decide(cats, question.pk + 99, alice, BETTER)


def test_a_correction_is_checked_as_an_answer_is(cats, alice, bob):
    question = draw(bob, cats)

    with pytest.raises(Refusal, match="part 'tail'"):
        reviewing.decide(cats, question.pk, alice, drawn(tail=square(0, 0, 900, 3)))
    with pytest.raises(Refusal, match="verdict decides nothing"):
        reviewing.decide(cats, question.pk, alice, {"skip": "too_small"})
    assert state(question) == "review"


def test_what_is_sent_back_comes_first_to_whoever_drew_it_and_counts_again(cats, alice, bob):
    question = draw(bob, cats)
    old = Answer.objects.get()

    [row] = reviewing.send_back(cats, question.pk, alice, f" {NOTE} ")

    assert (row.answer, row.note, row.reviewer) == (old, NOTE, alice)
    assert state(question) == "open"
    seat = old.assignment
    seat.refresh_from_db()
    assert seat.state == "leased"
    assert seat.leased_until > timezone.now() + timedelta(hours=47)
    assert list(settling.rebuild(cats)) == []

    first = claiming.next_page(bob, cats).seats[0]
    assert first.token == seat.token
    seat.refresh_from_db()
    assert seat.leased_until > timezone.now() + timedelta(hours=47)
    drafts.save(seat, {"shapes": {}}, 0)
    assert send(bob, cats, [first], BETTER)[0].revision == 1

    assert state(question) == "review"
    assert latest(question).value == stored(BETTER)
    assert latest(question).answers == [str(Answer.objects.get(revision=1).pk)]
    assert not Draft.objects.exists()
    assert cats.memberships.get(user=bob).answered == 1
    assert list(settling.rebuild(cats)) == []


def test_it_may_be_mended_long_after_minds_could_be_changed(cats, alice, bob):
    question = draw(bob, cats)
    Answer.objects.update(created_at=timezone.now() - timedelta(days=9))
    bob_here = cats.memberships.get(user=bob)
    bob_here.answered = 500
    bob_here.save()
    seat = Seat.objects.get(question=question)
    assert send(bob, cats, [seat], BETTER)[0].code == "revision_closed"

    reviewing.send_back(cats, question.pk, alice, NOTE)

    assert send(bob, cats, [seat], BETTER)[0].status == "accepted"
    # The window begins again with the mended drawing; it is in review, so this one comes too late.
    assert send(bob, cats, [seat], TAIL)[0].status == "accepted"
    assert latest(question).value == stored(BETTER)
    assert Answer.objects.get(revision=2).late


def test_it_may_be_sent_back_again(cats, alice, bob):
    question = draw(bob, cats)
    reviewing.send_back(cats, question.pk, alice, NOTE)
    with pytest.raises(Conflict, match="no longer, in review"):
        reviewing.send_back(cats, question.pk, alice, NOTE)
    draw(bob, cats, BETTER, question)

    reviewing.send_back(cats, question.pk, alice, "Still not.")

    assert [row.answer.revision for row in SentBack.objects.order_by("pk")] == [0, 1]
    draw(bob, cats, TAIL, question)
    reviewing.accept(cats, question.pk, alice)
    assert latest(question).value == stored(TAIL)
    assert len(latest(question).answers) == 1


def test_a_note_is_needed(cats, alice, bob):
    question = draw(bob, cats)

    for note in ("", "  ", "x" * 2_001):
        with pytest.raises(Refusal, match="Write a note"):
            reviewing.send_back(cats, question.pk, alice, note)
    assert state(question) == "review"


def test_a_reviewer_decides_about_what_was_looked_at(cats, alice, bob):
    question = draw(bob, cats)
    seen = latest(question).pk
    reviewing.send_back(cats, question.pk, alice, NOTE, seen=seen)
    draw(bob, cats, BETTER, question)

    for action in (
        lambda: reviewing.accept(cats, question.pk, alice, seen=seen),
        lambda: reviewing.decide(cats, question.pk, alice, TAIL, seen=seen),
        lambda: reviewing.send_back(cats, question.pk, alice, NOTE, seen=seen),
    ):
        with pytest.raises(Conflict, match="Another reviewer decided first"):
            action()
    assert latest(question).value == stored(BETTER)


def test_after_its_hours_others_are_asked_and_what_comes_then_is_kept(cats, alice, bob):
    question = draw(bob, cats)
    reviewing.send_back(cats, question.pk, alice, NOTE)
    seat = Seat.objects.get(question=question)
    dora = factories.make_user("dora")
    factories.join(dora, cats)
    assert question.pk not in {s.question_id for s in claiming.next_page(dora, cats, 9).seats}
    Seat.objects.filter(pk=seat.pk).update(leased_until=timezone.now() - timedelta(minutes=1))

    assert claiming.return_expired() == 1
    draw(dora, cats, BETTER, question)

    assert state(question) == "review"
    assert latest(question).value == stored(BETTER)
    assert send(bob, cats, [seat], TAIL)[0].status == "accepted"
    assert Answer.objects.get(assignment=seat, revision=1).late
    assert latest(question).value == stored(BETTER)


def test_a_revision_that_was_on_its_way_is_the_mended_one(cats, alice, bob):
    question = draw(bob, cats)
    seat = Seat.objects.get(question=question)
    assert send(bob, cats, [seat], BETTER)[0].status == "accepted"
    assert latest(question).value == stored(TAIL)
    reviewing.send_back(cats, question.pk, alice, NOTE)

    assert send(bob, cats, [seat], BETTER)[0].revision == 2

    assert latest(question).value == stored(BETTER)
    assert Answer.objects.get(revision=1).late


def test_sending_the_same_again_is_no_second_answer(cats, alice, bob):
    question = draw(bob, cats)
    reviewing.send_back(cats, question.pk, alice, NOTE)
    seat = Seat.objects.get(question=question)
    # Not on tenths: what is kept differs from what was sent.
    sent = submitting.SubmittedAnswer(
        uuid.uuid4(), seat.token, drawn(tail=square(40.04, 30, 50, 40)), 5
    )

    first, again = (submitting.submit(bob, cats, [sent])[0] for _ in range(2))

    assert first == again
    assert first.status == "accepted"
    assert Answer.objects.filter(assignment=seat).count() == 2
    resent = submitting.SubmittedAnswer(sent.id, seat.token, TAIL, 5)
    assert submitting.submit(bob, cats, [resent])[0].code == "conflict"


@pytest.fixture
def pair(cats, alice, bob):
    """A question that Bob and Dora drew so differently that a reviewer sees it."""
    policy = cats.policy.content | {"votes": 2, "max_votes": 2}
    lifecycle.change_policy(cats, alice, policy)
    cats.questions.update(policy=cats.policies.latest("version"), seats_free=2)
    dora = factories.make_user("dora")
    factories.join(dora, cats)
    question = draw(bob, cats)
    draw(dora, cats, drawn(tail=square(10, 10, 20, 20)), question)
    return question, dora


def test_one_of_two_drawings_can_be_sent_back(cats, alice, bob, pair):
    question, dora = pair
    assert state(question) == "review"
    assert latest(question).value["agreement"]["tail"]["iou"] == 0
    [hers] = Answer.objects.filter(assignment__annotator=dora)

    with pytest.raises(Refusal, match="Choose drawings that count"):
        reviewing.send_back(cats, question.pk, alice, NOTE, answers=[str(uuid.uuid4())])
    reviewing.send_back(cats, question.pk, alice, NOTE, answers=[str(hers.pk)])

    assert state(question) == "open"
    assert Seat.objects.get(annotator=bob, question=question).state == "answered"
    draw(dora, cats, BETTER, question)
    assert state(question) == "review"
    assert latest(question).value["agreement"]["tail"]["iou"] == 0.9
    assert len(latest(question).answers) == 2


def test_blocking_whoever_mends_it_asks_somebody_else_and_lifting_it_brings_nothing_old_back(
    cats, alice, bob
):
    question = draw(bob, cats)
    reviewing.send_back(cats, question.pk, alice, NOTE)
    membership = cats.memberships.get(user=bob)

    blocking.block(cats, membership, alice, "scribbles")

    question.refresh_from_db()
    assert (question.state, question.seats_free) == ("open", 1)
    membership.refresh_from_db()
    blocking.unblock(cats, membership, alice, "it was a cat")
    question.refresh_from_db()
    assert (question.state, question.seats_free) == ("open", 1)
    assert list(settling.rebuild(cats)) == []
    draw(bob, cats, BETTER, question)
    assert latest(question).value == stored(BETTER)


def test_a_block_and_its_lifting_give_back_what_waited_for_review(cats, alice, bob):
    question = draw(bob, cats)
    before = latest(question).value
    membership = cats.memberships.get(user=bob)

    blocking.block(cats, membership, alice, "by mistake")
    assert state(question) == "open"
    membership.refresh_from_db()
    blocking.unblock(cats, membership, alice, "it was a mistake")

    assert state(question) == "review"
    assert latest(question).value == before


def test_what_a_reviewer_accepted_stands_whoever_is_blocked(cats, alice, bob):
    question = draw(bob, cats)
    reviewing.accept(cats, question.pk, alice)

    blocking.block(cats, cats.memberships.get(user=bob), alice, "scribbles")

    assert state(question) == "settled"


def test_what_nobody_can_mend_is_not_sent_back(cats, alice, bob):
    question = draw(bob, cats)
    memberships.remove(cats.memberships.get(user=bob), alice)

    with pytest.raises(Conflict, match="no longer works in the campaign"):
        reviewing.send_back(cats, question.pk, alice, NOTE)
    assert state(question) == "review"


def test_nothing_is_sent_back_once_the_campaign_is_closed(cats, alice, bob):
    question = draw(bob, cats)
    lifecycle.change_state(cats, alice, "close")

    with pytest.raises(Conflict, match="closed"):
        reviewing.send_back(cats, question.pk, alice, NOTE)

    assert state(question) == "review"
    assert not SentBack.objects.exists()
    reviewing.accept(cats, question.pk, alice)
    assert state(question) == "settled"


def test_the_seat_can_be_given_back_for_others(cats, alice, bob):
    question = draw(bob, cats)
    reviewing.send_back(cats, question.pk, alice, NOTE)

    claiming.return_seat(bob, Seat.objects.get(question=question).token)

    question.refresh_from_db()
    assert (question.state, question.seats_free) == ("open", 1)


def test_dropping_is_as_ever(cats, alice, bob):
    question = draw(bob, cats)

    reviewing.decide(cats, question.pk, alice, "drop")

    assert state(question) == "dropped"
    assert cats.jobs.filter(kind="question dropped").exists()


def test_a_skipped_object_is_dropped_without_a_reviewer(cats, bob):
    question = draw(bob, cats, {"skip": "too_small"})

    assert state(question) == "dropped"


def test_a_settled_object_becomes_gold_without_its_figures(cats, alice, bob, pair):
    question, _ = pair
    reviewing.accept(cats, question.pk, alice)

    assert gold.gold_from_settled(cats, alice, [question.pk]) == 1

    answer = cats.questions.get(state="gold").gold.answer
    assert set(answer) == {"parts", "half", "outline"}
    assert question.topic == CAT


def test_two_reviewers_at_once_decide_once(throwaway):
    alice = factories.make_user("alice", is_researcher=True)
    rita, bob = factories.make_user("rita"), factories.make_user("bob")
    campaign = parts_campaign(alice, factories.make_dataset(alice), count=1)
    factories.join(rita, campaign, "reviewer")
    factories.join(bob, campaign)
    question = draw(bob, campaign)
    seat = Seat.objects.get(question=question)

    outcomes = at_once(
        lambda: reviewing.accept(campaign, question.pk, alice),
        lambda: reviewing.send_back(campaign, question.pk, rita, NOTE),
        lambda: send(bob, campaign, [seat], BETTER),
    )

    # Accepted after it was sent back and mended meanwhile is two actions, one after the other.
    failed = [outcome for outcome in outcomes if isinstance(outcome, Exception)]
    assert len(failed) <= 1
    assert all(isinstance(outcome, Conflict) for outcome in failed)
    assert len(outcomes) == 3
    accepted = Settlement.objects.filter(question=question, reviewed=True).count()
    sent_back = SentBack.objects.count()
    assert accepted + sent_back >= 1
    if outcomes.count("conflict"):
        assert accepted + sent_back == 1
    assert state(question) == ("settled" if accepted else state(question))
    assert Answer.objects.filter(assignment=seat).count() == 2
    assert list(settling.rebuild(campaign)) == []
