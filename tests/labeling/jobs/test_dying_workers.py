"""A worker that dies at any statement loses nothing and does nothing twice."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count
from typing import Any

import pytest
from django.core.files.storage import FileSystemStorage
from django.db import connection, transaction

from labeling.consensus import calibrating, settling
from labeling.exchange import label_files as givenfiles
from labeling.follow_ups import following, opening
from labeling.graphs import store
from labeling.jobs import queue
from labeling.models import Calibration, Campaign, GivenLabel, Job
from labeling.quality import blocking
from labeling.quality.gold import add_gold
from tests import factories
from tests.labeling import hierarchies, label_files
from tests.labeling.crowd import vote

Way = Callable[[], None]


class Killed(BaseException):
    """As kill -9 looks from inside: nothing that is written for exceptions runs."""


@contextmanager
def killed_at(number: int) -> Iterator[list[int]]:
    """Dies when the statement of that number is sent. Yields how many were, as a list of one."""
    sent = [0]

    def send(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if not sql.startswith(("SAVEPOINT", "RELEASE", "ROLLBACK")):
            sent[0] += 1
            if sent[0] == number:
                raise Killed
        return execute(sql, params, many, context)

    with connection.execute_wrapper(send):
        yield sent


def dies(action: Way, number: int) -> bool:
    """Whether the action got so far; what it had not committed is gone."""
    with killed_at(number) as sent:
        try:
            action()
        except Killed:
            return True
    return sent[0] >= number


def state_of(campaign: Campaign) -> dict[str, Any]:
    """All that people see of a campaign, without ids and moments."""
    questions = campaign.questions.order_by("item__image", "topic", "round")
    newest = {}
    for question in questions:
        last = question.settlements.order_by("-pk").first()
        newest[question.pk] = (last.value, last.probability) if last else None
    return {
        "questions": [
            (q.item.image_id, q.topic, q.state, q.seats_free, q.follow_up, newest[q.pk])
            for q in questions
        ],
        "seats": sorted(
            questions.values_list("seats__annotator", "topic", "item__image", "seats__state"),
            key=str,
        ),
        "people": list(
            campaign.memberships.order_by("pk").values_list(
                "user", "stage", "answered", "gold_share"
            )
        ),
        # None but where a test settled questions without answers.
        "differences": [row.current for row in settling.rebuild(campaign)],
        "decisions": sorted(campaign.decisions.values_list("kind", flat=True)),
        "calibrations": Calibration.objects.filter(campaign=campaign).count(),
        "given": sorted(
            GivenLabel.objects.filter(item__image__dataset=campaign.dataset_id).values_list(
                "item__image", "key", "value"
            )
        ),
        "topics": list(campaign.topics.order_by("key").values_list("key", "name")),
    }


def work() -> None:
    """What a worker does: every job that waits or whose worker has died, and what follows."""
    while True:
        Job.objects.filter(state="running").update(claim="")
        job = Job.objects.filter(state__in=["queued", "running"]).order_by("pk").first()
        if job is None:
            return
        queue.run(job.pk)


# At how many statements an action dies: each of them, or the first and every seventh from there on.
@pytest.fixture(params=[7, pytest.param(1, marks=pytest.mark.slow)], ids=["seventh", "each"])
def survives(request: pytest.FixtureRequest) -> Callable[[Campaign, Way], int]:
    return partial(_survives, request.param)


def _survives(step: int, campaign: Campaign, action: Way) -> int:
    """The last statement at which the action died: twice, and the next attempt ended where an
    undisturbed one does."""
    with transaction.atomic():
        action()
        expected = state_of(campaign)
        transaction.set_rollback(True)
    for number in count(1, step):
        with transaction.atomic():
            far = dies(action, number)
            if far:
                dies(action, number)
                action()
                assert state_of(campaign) == expected, f"killed at statement {number}"
                assert not Job.objects.exclude(state="done").exists()
            transaction.set_rollback(True)
        if not far:
            return number - step
    raise AssertionError("never done")


@pytest.fixture
def home(alice, dataset) -> Campaign:
    return hierarchies.make(alice, dataset, images=3)


def test_following_up_survives(home, survives):
    hierarchies.settle(home, 0, animal="no", kitchen="yes", electric="no")
    hierarchies.settle(home, 1, animal="yes", kitchen="no", electric="no", person=None)
    hierarchies.settle(home, 2, animal="yes")
    queue.enqueue("advance", str(home.pk), campaign=home)

    assert survives(home, work) > 10


def test_looking_again_after_a_change_of_the_graph_survives(home, alice, survives):
    hierarchies.settle(home, 0, animal="yes", electric="no")
    queue.enqueue("advance", str(home.pk), campaign=home)
    work()
    raw = hierarchies.GRAPH
    store.define(home, alice, raw | {"nodes": [n for n in raw["nodes"] if n["id"] != "person"]})

    assert survives(home, work) > 10


def test_opening_images_survives(alice, dataset, monkeypatch, survives):
    monkeypatch.setattr(following, "SLICE_QUESTIONS", 2)
    monkeypatch.setattr(opening, "AT_ONCE", 2)
    home = hierarchies.make(alice, dataset, images=5, opened=False)
    assert opening.open_images(home, []) is None

    assert survives(home, work) > 10


def voted(campaign: Campaign, people: int = 4) -> list[Any]:
    crowd = [factories.make_user(f"p{number}") for number in range(people)]
    for number, person in enumerate(crowd):
        factories.join(person, campaign)
        vote(person, campaign, "no" if number == 1 else "yes")
    return crowd


def test_working_standings_out_survives(coots, alice, survives):
    voted(coots)
    calibrating.enqueue_now(coots, alice)

    assert survives(coots, work) > 10


def test_watching_somebody_whom_the_rules_block_survives(alice, dataset, survives):
    rules = {"votes": 2, "gold_share": 0.5, "gold_action": "block", "test_cap": 5}
    pond = factories.make_campaign(alice, dataset, "pond", images=6, policy=rules)
    for number in range(8):
        factories.make_image(dataset, f"gold/{number}.png")
    known = [
        {"image": f"gold/{number}.png", "topic": "n02018207", "answer": "yes"}
        for number in range(8)
    ]
    add_gold(pond, alice, known)
    sleeper = factories.make_user("sleeper")
    factories.join(sleeper, pond)
    vote(sleeper, pond, "no")
    Job.objects.all().delete()
    key = f"{pond.pk}:{sleeper.pk}"
    queue.enqueue("watch", key, {"campaign": pond.pk, "user": sleeper.pk}, pond)

    assert survives(pond, work) > 20
    work()
    assert pond.memberships.get(user=sleeper).stage == "blocked"


def test_bringing_labels_in_survives(home, alice, monkeypatch, survives):
    # The storage is not set back between attempts, as the database is.
    monkeypatch.setattr(FileSystemStorage, "delete", lambda storage, name: None)
    rows = label_files.rows(f"0.png,{label_files.DOG},yes", f"1.png,{label_files.CUP},no")
    job = givenfiles.import_upload(
        home.dataset, alice, label_files.zipped({"labels.csv": rows.read()})
    )
    assert isinstance(job, Job)

    assert survives(home, work) > 10


def test_a_block_and_its_lifting_happen_wholly_or_not_at_all(coots, alice):
    people = voted(coots, 5)
    who = people[1]
    before = state_of(coots)

    def block() -> None:
        blocking.block(coots, coots.memberships.get(user=who), alice, "at random")

    def unblock() -> None:
        blocking.unblock(coots, coots.memberships.get(user=who), alice, "a mistake")

    for action in (block, unblock):
        state, number = state_of(coots), 1
        # Dead after the commit, the action is done: only the answer to its researcher is lost.
        while dies(action, number) and state_of(coots) == state:
            number += 1
        after = state_of(coots)
        assert number > 10
        action()
        assert state_of(coots) == after != state
        assert list(settling.rebuild(coots)) == []
    assert state_of(coots)["questions"] == before["questions"]
