"""Many people at once, from threads and from processes, on both databases."""

import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest
from django.db import connections

from tests.labeling import hammer
from tests.labeling.crowd import at_once

pytestmark = pytest.mark.ci

ROOT = Path(__file__).resolve().parents[3]


def _worker(url: str, person: int, seed: int, seconds: float) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.labeling.hammer", str(person), str(seed), str(seconds)],
        cwd=ROOT,
        env={**os.environ, "DATABASE_URL": url, "CELERY_BROKER_URL": "memory://"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.fixture(params=[24, pytest.param(80, marks=pytest.mark.slow)])
def questions(request: pytest.FixtureRequest) -> int:
    return request.param


def _until(look: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not look():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


def _finish(people: int, seconds: float = 60) -> None:
    """One after the other, until nobody finds anything: what is open then has no voter left."""
    from labeling.models import Seat

    Seat.objects.filter(state="leased").update(leased_until="2020-01-01T00:00:00Z")
    for person in [*range(people), *range(people)]:
        hammer.label(person, 1000 + person, seconds)
    from labeling.assignment import claiming

    Seat.objects.filter(state="leased").update(leased_until="2020-01-01T00:00:00Z")
    claiming.return_expired()


@pytest.mark.parametrize("kind", ["contains", "hierarchy"])
def test_threads_lose_nothing_and_give_no_vote_too_many(throwaway, kind, questions):
    hammer.build(questions=questions, people=6, kind=kind)

    def work(person: int) -> dict[str, int]:
        try:
            return hammer.label(person, person, 20)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(6) as pool:
        counts = list(pool.map(work, range(6)))
    _finish(6)

    states = hammer.check(6)
    assert sum(states.values()) == questions
    assert sum(count.get("accepted", 0) for count in counts) >= questions * 3


def test_processes_killed_at_any_moment_lose_nothing(throwaway, questions):
    from labeling.models import Seat

    # The first is killed while it works, wherever it is; of many, two are.
    people, victims = (6, 2) if questions > 40 else (4, 1)
    hammer.build(questions=questions, people=people)
    workers = [_worker(throwaway, person, person, 20) for person in range(people)]
    for person, victim in enumerate(workers[:victims]):
        mine = Seat.objects.filter(annotator__username=f"person{person}")
        _until(lambda mine=mine: mine.filter(state="answered").exists())
        victim.send_signal(signal.SIGKILL)
    for worker in workers[victims:]:
        _, err = worker.communicate(timeout=90)
        assert worker.returncode == 0, err
    for victim in workers[:victims]:
        victim.communicate()
    _finish(people)

    assert sum(hammer.check(people).values()) == questions


def test_nobody_goes_without_while_there_is_a_topic_left(throwaway):
    from labeling.assignment import claiming
    from labeling.models import Campaign, Question, User

    hammer.build(questions=24, people=8, kind="hierarchy")
    Question.objects.filter(state="open").update(seats_free=1)
    campaign = Campaign.objects.get(name=hammer.CAMPAIGN)
    people = User.objects.filter(username__startswith="person")

    pages = at_once(*(partial(claiming.next_page, user, campaign, 3) for user in people))

    # Everyone has a page, and each of one topic, though all began with the same.
    assert all(len({seat.topic for seat in page.seats}) == 1 for page in pages)
    assert len(pages) == 8


def test_the_last_seat_goes_to_one_annotator(throwaway):
    from labeling.assignment import claiming
    from labeling.models import Campaign, Question, Seat, User

    hammer.build(questions=1, people=8)
    Question.objects.filter(state="open").update(seats_free=1)
    campaign = Campaign.objects.get(name=hammer.CAMPAIGN)
    people = User.objects.filter(username__startswith="person")

    pages = at_once(*(partial(claiming.next_page, user, campaign) for user in people))

    # Gold may come beside it.
    last = Question.objects.get(state="open").pk
    assert [seat.question_id for page in pages for seat in page.seats].count(last) == 1
    assert Seat.objects.filter(question__state="open").count() == 1
    assert Question.objects.get(state="open").seats_free == 0


def test_two_tabs_of_one_person_share_a_page(throwaway):
    from labeling.assignment import claiming
    from labeling.models import Campaign, Seat, User

    hammer.build(questions=60, people=1)
    campaign = Campaign.objects.get(name=hammer.CAMPAIGN)
    user = User.objects.get(username="person0")

    pages = at_once(*[partial(claiming.next_page, user, campaign)] * 4)

    assert all(page.seats == pages[0].seats for page in pages)
    assert Seat.objects.filter(state="leased").count() == 8


def test_the_same_answer_from_many_sides_is_kept_once(throwaway):
    from labeling.answers import submitting
    from labeling.assignment import claiming
    from labeling.models import Answer, Campaign, User

    hammer.build(questions=8, people=1)
    campaign = Campaign.objects.get(name=hammer.CAMPAIGN)
    user = User.objects.get(username="person0")
    seats = claiming.next_page(user, campaign).seats
    sent = [submitting.SubmittedAnswer(uuid.uuid4(), seat.token, "yes", 10) for seat in seats]

    results = at_once(*[partial(submitting.submit, user, campaign, sent)] * 6)

    assert all(result == results[0] for result in results)
    assert {result.status for result in results[0]} == {"accepted"}
    assert Answer.objects.count() == len(sent)
    assert campaign.memberships.get(user=user).answered == len(sent)


def test_blocks_while_answers_come_in_void_every_vote_and_give_it_back(throwaway, questions):
    from labeling.consensus import settling
    from labeling.errors import NotWorking
    from labeling.models import Answer, Campaign, Membership, Question, Settlement, User
    from labeling.quality import blocking

    hammer.build(questions=questions, people=8)
    campaign = Campaign.objects.get(name=hammer.CAMPAIGN)
    alice = User.objects.get(username="alice")
    blocks, over = [], threading.Event()

    def work(person: int) -> None:
        try:
            hammer.label(person, person, 12)
        except NotWorking:
            # Blocked while labeling, as it should be.
            assert person in (0, 1)
        finally:
            connections.close_all()

    def block(person: int) -> None:
        try:
            membership = Membership.objects.get(user__username=f"person{person}")
            for turn in range(1, 4):
                enough = questions * turn // 2
                _until(lambda enough=enough: over.is_set() or Answer.objects.count() > enough)
                blocks.append(blocking.block(campaign, membership, alice).answers)
                over.wait(0.05)
                blocking.unblock(campaign, membership, alice)
            blocks.append(blocking.block(campaign, membership, alice).answers)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(10) as pool:
        labelers = [pool.submit(work, person) for person in range(8)]
        blockers = [pool.submit(block, person) for person in (0, 1)]
        try:
            for future in labelers:
                future.result()
        finally:
            over.set()
        for future in blockers:
            future.result()

    # The others may have been quicker with so few questions; whatever the two gave was void.
    theirs = Answer.objects.filter(assignment__annotator__username__in=["person0", "person1"])
    assert sum(blocks) > 0 or not theirs.exists()
    void = set(
        User.objects.filter(username__in=["person0", "person1"]).values_list("pk", flat=True)
    )
    campaign.refresh_from_db()
    assert set(campaign.calibration.content["voided"]) == void
    assert list(settling.rebuild(campaign)) == []
    decided = Question.objects.exclude(state__in=["gold", "open"])
    for question in decided:
        counted = Settlement.objects.filter(question=question).latest("pk").answers
        voters = question.seats.filter(answers__in=counted).values_list("annotator", flat=True)
        assert not void & set(voters)
    for person in (0, 1):
        membership = Membership.objects.get(user__username=f"person{person}")
        assert blocking.unblock(campaign, membership, alice).changed
    campaign.refresh_from_db()
    assert not campaign.calibration or campaign.calibration.content["voided"] == []
    assert list(settling.rebuild(campaign)) == []
