"""Time to get the next page of 20, with claim and commit, beside the plain way (NOT EXISTS).

`python -m benchmarks assigning [--size QUESTIONS]`, on SQLite and PostgreSQL. Every question has
five answers and five free seats. So a person who has answered them all reads a lane in which
everything is still open: the worst case of the plain way. A second campaign, a fifth as large,
hands out pages of one of 20 topics, whose questions take turns in the queue.
"""

import random
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks import Row, own_process, row, sized

TARGET_MS = 10.0
WORKERS = 4
EACH = 60
# Pause between two pages of a worker. All workers together ask for about a hundred pages a second,
# as two thousand people do who take a second for each image.
PAUSE_S = 0.03
IMAGES, TOPICS, LEFT = sized(10_000, 1_000), 20, 200
OTHERS, NEWCOMERS = 30, 400

PLAIN = """
SELECT q.id FROM labeling_question q
WHERE q.campaign_id = %s AND q.lane = 1 AND q.seats_free > 0 AND NOT EXISTS (
    SELECT 1 FROM labeling_assignment a WHERE a.annotator_id = %s AND a.subject = q.id)
ORDER BY q.ticket LIMIT 20
"""


def main(
    questions: int = sized(100_000, 2_000), databases: tuple[str, ...] = ("sqlite", "postgres")
) -> list[Row]:
    """Return the rows; a database without a server gives none."""
    return own_process.on_each(databases, partial(_measured, questions))


def _measured(questions: int, folder: str, url: str | None) -> list[Row]:
    step = partial(own_process.run, "bench_assigning", folder, url=url)
    world = step("prepare", questions)
    rows = step("measure", world)
    workers = [
        own_process.start("bench_assigning", folder, "one_of_the_crowd", people, url)
        for people in (world["newcomers"][n * 10 : n * 10 + 10] for n in range(WORKERS))
    ]
    for worker in workers:
        assert worker.stdout is not None
        worker.stdout.readline()
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    name = "postgresql" if url else "sqlite"
    times = [took for worker in workers for took in own_process.result(worker)]
    rows.append(_row(f"next page, {name}, {WORKERS} processes at the head", times))
    return [*rows, step("drained", world)]


# In processes of their own, with Django set up.


def prepare(questions: int) -> dict[str, Any]:
    """Make both campaigns with their answers; return the ids of people whose pages are timed."""
    from benchmarks import worlds
    from labeling.models import Graph

    owner, pond = worlds.begin()
    worlds.add_images(pond, IMAGES)
    policy = {"votes": 10, "max_votes": 12}
    large = worlds.campaign(owner, pond, "large", "contains", **policy)
    grid = worlds.campaign(owner, pond, "grid", "hierarchy", **policy)
    graph = Graph.objects.create(campaign=grid, version=1, sha256="0" * 64)
    every, but_200, *people = worlds.add_people(2 + OTHERS + NEWCOMERS, large, grid)
    others = people[:OTHERS]

    def left(n: int, count: int) -> bool:
        return count // 2 < n <= count // 2 + LEFT // 2

    def fields(n: int, count: int) -> dict[str, Any]:
        returned = left(n, count)
        ticket = count + n - count // 2 if returned else n
        return {"lane": 0 if returned else 1, "ticket": ticket, "seats_free": 5}

    def large_fields(n: int) -> dict[str, Any]:
        return fields(n, questions) | {"topic": str(n // IMAGES)}

    def large_votes(n: int) -> list[tuple[int, str, bool]]:
        is_left = left(n, questions) or n > questions - LEFT // 2
        # Three of the others, never the last one, who stands in for the person with 200 left.
        voters = [every, others[-1] if is_left else but_200, *others[n % 9 * 3 : n % 9 * 3 + 3]]
        return [(person, "yes", False) for person in voters]

    count = questions // 5

    def grid_fields(n: int) -> dict[str, Any]:
        position = {"topic": str(n % TOPICS), "item": n // TOPICS, "round": n // (TOPICS * IMAGES)}
        return fields(n, count) | position | {"graph": graph, "by_topic": True}

    def grid_votes(n: int) -> list[tuple[int, str, bool]]:
        is_answered = not left(n, count) and 1 < n <= count - LEFT // 2
        return [(but_200, "yes", False)] if is_answered else []

    worlds.fill(large, questions, large_fields, large_votes)
    worlds.fill(grid, count, grid_fields, grid_votes)
    worlds.end()
    known = {"questions": questions, "every": every, "but_200": but_200, "other": others[0]}
    return known | {"newcomers": people[OTHERS:]}


def measure(world: dict[str, Any]) -> list[Row]:
    from django.db import connection

    name, questions = connection.vendor, world["questions"]
    every, but_200, ordinary = world["every"], world["but_200"], world["other"]
    rows = []
    for label, user, cursor in (
        ("an ordinary annotator", ordinary, questions // 2),
        ("answered all but 200", but_200, questions - LEFT // 2),
        ("answered every one", every, questions),
    ):
        returned = questions + (LEFT // 2 if user == every else 0)
        times = pages("large", user, cursor, returned)
        plain = statistics.median(plain_times(user))
        ratio = f"; plain way {plain:.1f} ms, {plain / statistics.median(times):.0f}×"
        rows.append(_row(f"next page, {name}, {label}", times, ratio))
    grid = questions // 5
    for label, user, cursor in (
        ("an ordinary annotator", ordinary, grid // 2),
        ("answered all but 200", but_200, grid - LEFT // 2),
        # After the topic's first question come only questions that they have answered.
        ("all but the first and 200", but_200, 0),
    ):
        times = pages("grid", user, cursor, grid)
        rows.append(_row(f"next page of one topic, {name}, {label}", times))
    return rows


def _row(name: str, times: list[float], more: str = "") -> Row:
    p95 = statistics.quantiles(times, n=20)[-1]
    measured = (
        f"p50 {statistics.median(times):.2f} ms, p95 {p95:.2f} ms, max {max(times):.1f} ms, "
        f"n {len(times)}{more}"
    )
    return row(name, measured, f"p95 < {TARGET_MS:.0f} ms", p95 < TARGET_MS)


def _timed(action: Callable[[], Any]) -> float:
    start = time.perf_counter()
    action()
    return (time.perf_counter() - start) * 1000


def pages(name: str, user_id: int, cursor: int, returned: int, count: int = 100) -> list[float]:
    """Return milliseconds of each page of a person, who starts at the same place every time."""
    from labeling.assignment import claiming
    from labeling.models import Campaign, Membership, User

    user, campaign = User.objects.get(pk=user_id), Campaign.objects.get(name=name)
    member = Membership.objects.filter(user=user, campaign=campaign)
    times = []
    for _ in range(count):
        member.update(cursor_returned=returned, cursor_fresh=cursor, pages=0)
        times.append(_timed(lambda: claiming.next_page(user, campaign, 20)))
        _put_back(user_id)
    return times


def _put_back(user_id: int) -> None:
    from django.db.models import F

    from labeling.models import Question, Seat

    held = Seat.objects.filter(annotator_id=user_id, state="leased")
    ids = list(held.values_list("question_id", flat=True))
    Question.objects.filter(pk__in=ids, state="open").update(seats_free=F("seats_free") + 1)
    held.delete()


def plain_times(user_id: int, count: int = 5) -> list[float]:
    from labeling.db.sql import fetch
    from labeling.models import Campaign

    campaign = Campaign.objects.get(name="large")
    return [_timed(lambda: fetch(PLAIN, [campaign.pk, user_id])) for _ in range(count)]


def one_of_the_crowd(people: list[int]) -> list[float]:
    """Return milliseconds of each page of newcomers, who ask for one page after another."""
    from labeling.assignment import claiming
    from labeling.db.sql import writing
    from labeling.models import Campaign, Seat, User

    campaign = Campaign.objects.get(name="large")
    users = list(User.objects.filter(pk__in=people))
    print("ready", flush=True)
    sys.stdin.readline()
    times = []
    for index in range(EACH):
        user = users[index % len(users)]
        times.append(_timed(lambda user=user: claiming.next_page(user, campaign)))
        # Answered, so that the next page is a new one.
        with writing():
            Seat.objects.filter(annotator=user, state="leased").update(state="answered")
        time.sleep(random.uniform(0, 2 * PAUSE_S))
    return times


def drained(world: dict[str, Any]) -> Row:
    """Return newcomers' pages after the head was drained, while an older transaction is open."""
    from django.db import connection, connections

    from labeling.assignment import claiming
    from labeling.models import Campaign, Question, User

    old = connections["default"].copy()
    isolation = " ISOLATION LEVEL REPEATABLE READ" if connection.vendor == "postgresql" else ""
    gone = world["questions"] // 2
    with old.cursor() as cursor:
        cursor.execute(f"BEGIN{isolation}")
        cursor.execute("SELECT COUNT(*) FROM labeling_campaign")
        cursor.fetchone()
        campaign = Campaign.objects.get(name="large")
        fresh = Question.objects.filter(campaign=campaign, lane=1)
        fresh.filter(ticket__lte=gone).update(seats_free=0)
        users = list(User.objects.filter(pk__in=world["newcomers"][WORKERS * 10 :])[:200])
        times = [_timed(lambda user=user: claiming.next_page(user, campaign)) for user in users]
        cursor.execute("ROLLBACK")
    old.close()
    return _row(f"next page, {connection.vendor}, {gone:,} tickets drained", times)
