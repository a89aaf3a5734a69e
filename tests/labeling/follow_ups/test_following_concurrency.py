"""Following up while people answer, from threads, on both databases."""

import random
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connections

from labeling.assignment import claiming
from labeling.follow_ups import following
from labeling.graphs import image_state, store
from labeling.models import Campaign, Membership, Question, User
from labeling.quality import blocking
from labeling.question_graph import planning
from tests import factories
from tests.labeling.crowd import send
from tests.labeling.hierarchies import make, standing_labels

pytestmark = pytest.mark.ci

IMAGES, PEOPLE = 12, 4


def _truth(image: str, node: str) -> str:
    """A class is in the image by chance; an inner node where one below it is."""
    inner = {"animal": ("dog", "cat"), "kitchen": ("cup", "oven"), "electric": ("oven", "lamp")}
    there = [random.Random(f"{image} {leaf}").random() < 0.4 for leaf in inner.get(node, (node,))]
    return "yes" if any(there) else "no"


def _label(person: int, over: threading.Event) -> int:
    """How many answers this person gave until nothing more came for a while."""
    user = User.objects.get(username=f"p{person}")
    campaign = Campaign.objects.get()
    answered = idle = 0
    while idle < 20:
        seats = claiming.next_page(user, campaign, 5).seats
        if not seats:
            idle += 1
            over.wait(0.05)
            continue
        idle = 0
        results = send(user, campaign, seats, lambda seat: _truth(seat.image_name, seat.topic))
        answered += sum(result.status == "accepted" for result in results)
    return answered


@pytest.mark.slow
def test_two_workers_follow_up_while_people_answer_and_one_is_blocked(throwaway):
    alice = factories.make_user("alice", is_researcher=True)
    campaign = make(
        alice, factories.make_dataset(alice), images=IMAGES, policy={"votes": 2, "max_votes": 4}
    )
    for person in range(PEOPLE):
        factories.join(factories.make_user(f"p{person}"), campaign)
    # The one who is blocked now and then has a vote on every root, and labels no more.
    _drain(0, campaign)
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
        member = Membership.objects.get(user__username="p0")
        for _ in range(3):
            over.wait(0.3)
            blocking.block(campaign, member, alice, "a test")
            member.refresh_from_db()
            over.wait(0.2)
            blocking.unblock(campaign, member, alice, "a test")
            member.refresh_from_db()

    with ThreadPoolExecutor(PEOPLE + 3) as pool:
        workers = [pool.submit(closing, follow) for _ in range(2)]
        disturber = pool.submit(closing, disturb)
        people = [pool.submit(closing, _label, person, over) for person in range(1, PEOPLE)]
        try:
            counts = [person.result(timeout=120) for person in people]
            disturber.result(timeout=120)
        finally:
            over.set()
        for worker in workers:
            worker.result(timeout=60)
    # What the block's end left open is answered and followed to the end, one after the other.
    over.clear()
    for _ in range(8):
        following.advance(campaign)
        for person in range(1, PEOPLE):
            _drain(person, campaign)

    assert sum(counts) > 0
    _check(campaign)


def _drain(person: int, campaign: Campaign) -> None:
    user = User.objects.get(username=f"p{person}")
    while seats := claiming.next_page(user, campaign, 50).seats:
        send(user, campaign, seats, lambda seat: _truth(seat.image_name, seat.topic))


def _check(campaign: Campaign) -> None:
    """Nothing is flagged or open, every plan is carried out, every label is the truth."""
    rows = Question.objects.filter(campaign=campaign)
    assert not rows.filter(follow_up=True).exists()
    assert not rows.filter(state__in=["open", "review"]).exists()
    graph = store.load_graph(campaign)
    items = dict(rows.values_list("item_id", "item__image__name"))
    asked_rows = image_state.questions_of(campaign.pk, list(items))
    for item in items:
        plan = planning.plan(graph, asked_rows[item], "safe")
        assert (plan.open, plan.reopen, plan.withdraw) == ([], [], [])
    for (item, key), (value, origin) in standing_labels(campaign, list(items)).items():
        node = graph.by_key[key]
        assert origin is not None
        assert value == _truth(items[item], node), (items[item], node)
