"""Five people box at once while two workers follow and one of the people is blocked now and then:
from threads, on both databases. Every instance ends with one good box."""

import contextlib
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connections

from labeling.answers import submitting
from labeling.answers.submitted_answers import SubmittedAnswer
from labeling.assignment import claiming
from labeling.consensus import settling
from labeling.db import question_counts
from labeling.follow_ups import chaining, following
from labeling.kinds.base import CHAINS
from labeling.models import Campaign, Membership, Question, Seat, User
from labeling.quality import blocking
from tests import factories
from tests.labeling import boxers
from tests.labeling.boxers import CAT, DOG, A, B, box

pytestmark = pytest.mark.ci

# Two workers may come to two classes of one image at once.
IMAGES, TOPICS, PEOPLE = 4, (DOG, CAT), 6


def says(question: Question) -> object:
    boxed = (question.content or {}).get("boxes", [])
    if question.step == "check":
        return "good"
    if question.step == "draw":
        return box(B if boxed else A)
    return "complete" if len(boxed) == 2 else {"missing": [[40.0, 20.0]]}


def label(person: int, over: threading.Event, idle_turns: int = 20) -> int:
    user = User.objects.get(username=f"boxer-{person}")
    campaign = Campaign.objects.get()
    answered = idle = 0
    while idle < idle_turns:
        seats = claiming.next_page(user, campaign, 2).seats
        if not seats:
            idle += 1
            over.wait(0.05)
            continue
        idle = 0
        for seat in seats:
            value = says(Question.objects.get(pk=seat.question_id))
            [result] = submitting.submit(
                user, campaign, [SubmittedAnswer(uuid.uuid4(), seat.token, value, 1_000)]
            )
            # A question whose box somebody's block has taken back is closed, and said so.
            assert result.status == "accepted" or result.code == "question_closed", result
            answered += result.status == "accepted"
    return answered


@pytest.mark.slow
def test_every_instance_ends_with_one_box_whoever_is_blocked_meanwhile(throwaway):
    alice = factories.make_user("alice", is_researcher=True)
    campaign = boxers.make(alice, factories.make_dataset(alice), images=IMAGES, topics=TOPICS)
    boxers.people(campaign, PEOPLE)
    over = threading.Event()

    def closing(action, *arguments):
        try:
            return action(*arguments)
        finally:
            connections.close_all()

    def follow():
        while not over.is_set():
            following.advance(Campaign.objects.get())
            over.wait(0.02)

    def disturb():
        member = Membership.objects.get(user__username="boxer-1")
        for _ in range(3):
            over.wait(0.3)
            blocking.block(campaign, member, alice, "a test")
            member.refresh_from_db()
            over.wait(0.2)
            blocking.unblock(campaign, member, alice, "a test")
            member.refresh_from_db()

    label_first(campaign)
    with ThreadPoolExecutor(PEOPLE + 2) as pool:
        workers = [pool.submit(closing, follow) for _ in range(2)]
        disturber = pool.submit(closing, disturb)
        people = [
            pool.submit(closing, label, person, over) for person in range(PEOPLE) if person != 1
        ]
        try:
            counts = [person.result(timeout=120) for person in people]
            disturber.result(timeout=120)
        finally:
            over.set()
        for worker in workers:
            worker.result(timeout=60)
    over.clear()
    for _ in range(12):
        following.advance(campaign)
        for person in range(PEOPLE):
            if person != 1:
                label(person, over, 1)

    assert sum(counts) > 0
    check(campaign)


def test_two_workers_who_come_to_one_image_take_turns(throwaway, monkeypatch):
    """Each for another of its classes: what follows is opened once."""
    alice = factories.make_user("alice", is_researcher=True)
    campaign = boxers.make(alice, factories.make_dataset(alice), topics=TOPICS)
    [person] = boxers.people(campaign, 1)
    for seat in claiming.next_page(person, campaign, 2).seats:
        boxers.answer(person, seat, box(A))
    both = threading.Barrier(2)
    way = following.PROCEDURES[CHAINS]

    def slowly(*arguments):
        plans = way.plans(*arguments)
        # Nobody comes where the other one waits for us.
        with contextlib.suppress(threading.BrokenBarrierError):
            both.wait(1)
        return plans

    monkeypatch.setitem(following.PROCEDURES, CHAINS, way._replace(plans=slowly))

    def follow(question: int):
        try:
            following._advance_chunk(campaign.pk, {question})
        finally:
            connections.close_all()

    drawn = campaign.questions.values_list("pk", flat=True)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(follow, list(drawn)))

    following.advance(campaign)
    steps = campaign.questions.order_by("topic", "pk").values_list("topic", "step")
    assert list(steps) == [(topic, step) for topic in TOPICS for step in ("draw", "check")]


def label_first(campaign: Campaign) -> None:
    """The one who is blocked now and then has drawn in half of the pairs, and labels no more."""
    user = User.objects.get(username="boxer-1")
    for seat in claiming.next_page(user, campaign, IMAGES * len(TOPICS) // 2).seats:
        submitting.submit(
            user, campaign, [SubmittedAnswer(uuid.uuid4(), seat.token, box(A), 1_000)]
        )


def check(campaign: Campaign) -> None:
    rows = Question.objects.filter(campaign=campaign)
    assert not rows.filter(follow_up=True).exists()
    assert not rows.filter(state__in=["open", "review"]).exists()
    items = list(rows.values_list("item_id", flat=True).distinct())
    replayed = chaining.replay_pairs(campaign, items)
    assert [set(pairs) for pairs in replayed.values()] == [set(TOPICS)] * IMAGES
    for pair in (pair for pairs in replayed.values() for pair in pairs.values()):
        assert [list(drawn.box) for drawn in pair.chain.boxes] == [A, B]
        assert (pair.chain.coverage, pair.open, pair.withdraw) == ("complete", None, [])
        for before, after in zip(pair.path, pair.path[1:], strict=False):
            if before.step == "draw":
                # Whoever drew a box does not check it.
                assert not before.people & after.people
    # Nobody holds a seat that they are barred from, and no counter is off.
    assert not Seat.objects.filter(state="barred", answers__isnull=False).exists()
    assert question_counts.differences(campaign.pk) == {}
    assert list(settling.rebuild(campaign)) == []
