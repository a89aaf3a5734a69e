"""The next page of 20 at 1,000,000 questions and 5,000,000 answers, claim and commit included.

`python -m benchmarks.bench_assigning [--questions N] [--databases sqlite postgres]`. Each database
is a throwaway one. Every question has five answers and five free seats, so one person who answered
them all reads a lane where everything is still open: the worst case of the plain way (NOT EXISTS
from the head), which is timed beside ours. A second campaign, a fifth as large, hands out pages of
one of 20 topics, whose questions take turns in the queue.
"""

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import own_process, sized
from benchmarks.large_campaign import (
    BUT_200,
    EVERY,
    FIRST_NEWCOMER,
    FIRST_OTHER,
    LEFT,
    build,
)

ROOT = Path(__file__).resolve().parents[1]
TARGET_MS = 10.0
SIZE = 20
WORKERS = 4
# Between two pages of a worker: together about a hundred pages a second, which is what two
# thousand people ask who take a second an image.
PAUSE_S = 0.03

PLAIN = """
SELECT q.id FROM labeling_question q
WHERE q.campaign_id = %s AND q.lane = 1 AND q.seats_free > 0 AND NOT EXISTS (
    SELECT 1 FROM labeling_assignment a WHERE a.annotator_id = %s AND a.subject = q.id)
ORDER BY q.ticket LIMIT 20
"""


def main(
    questions: int = sized(1_000_000, 2_000), databases: tuple[str, ...] = ("sqlite", "postgres")
) -> list:
    """Rows {"name", "target", "measured", "ok"}; a database that is not there gives none."""
    rows = []
    for database in databases:
        rows += _sqlite(questions) if database == "sqlite" else _postgres(questions)
    return rows


def _sqlite(questions: int) -> list[dict[str, Any]]:
    folder = tempfile.mkdtemp(prefix="assay-bench-")
    try:
        return _child(f"sqlite:///{folder}/bench.sqlite3", questions)
    finally:
        shutil.rmtree(folder)


def _postgres(questions: int) -> list[dict[str, Any]]:
    with own_process.postgres() as url:
        return _child(url, questions) if url else []


def _child(url: str, questions: int) -> list[dict[str, Any]]:
    """The rows of a process whose settings name this database."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.bench_assigning", "--measure", str(questions)],
        cwd=ROOT,
        env={**os.environ, "DATABASE_URL": url},
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    return json.loads(done.stdout)


def measure(questions: int) -> list[dict[str, Any]]:
    from django.core.management import call_command
    from django.db import connection

    call_command("migrate", verbosity=0)
    started = time.perf_counter()
    build(questions)
    print(f"built in {time.perf_counter() - started:.0f} s", file=sys.stderr)
    name = connection.vendor
    rows = [_machine()]
    for what, user_id, cursor in (
        ("an ordinary annotator", FIRST_OTHER, questions // 2),
        ("answered all but 200", BUT_200, questions - LEFT // 2),
        ("answered every one", EVERY, questions),
    ):
        times = pages(user_id, cursor, questions)
        ours = _row(f"next page, {name}, {what}", times)
        plain = statistics.median(plain_times(user_id))
        ours["measured"] += f"; plain way {plain:.1f} ms, {plain / statistics.median(times):.0f}×"
        rows.append(ours)
    grid = questions // 5
    for what, user_id, cursor in (
        ("an ordinary annotator", FIRST_OTHER, grid // 2),
        ("answered all but 200", BUT_200, grid - LEFT // 2),
        # Behind the first question of the topic lies nothing but what they have answered.
        ("all but the first and 200", BUT_200, 0),
    ):
        times = pages(user_id, cursor, grid, campaign="grid")
        rows.append(_row(f"next page of one topic, {name}, {what}", times))
    rows.append(_row(f"next page, {name}, {WORKERS} processes at the head", crowd()))
    rows.append(_row(f"next page, {name}, 100,000 tickets drained", drained(questions)))
    return [*rows, _machine()]


def _machine() -> dict[str, Any]:
    """How long an fsync takes here now, which every commit waits for, and how busy it is."""
    times = []
    with tempfile.TemporaryFile() as file:
        for _ in range(200):
            file.write(bytes(8192))
            file.flush()
            times.append(_timed(lambda: os.fsync(file.fileno())))
    p95 = statistics.quantiles(times, n=20)[-1]
    return {
        "name": "this machine: fsync of 8 KiB, load",
        "target": "",
        "measured": (
            f"p50 {statistics.median(times):.2f} ms, p95 {p95:.2f} ms; "
            f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
        ),
        "ok": None,
    }


def _row(name: str, times: list[float]) -> dict[str, Any]:
    p95 = statistics.quantiles(times, n=20)[-1]
    return {
        "name": name,
        "target": f"p95 < {TARGET_MS:.0f} ms",
        "measured": (
            f"p50 {statistics.median(times):.2f} ms, p95 {p95:.2f} ms, max {max(times):.1f} ms, "
            f"n {len(times)}"
        ),
        "ok": p95 < TARGET_MS,
    }


def _timed(action: Callable[[], Any]) -> float:
    start = time.perf_counter()
    action()
    return (time.perf_counter() - start) * 1000


def pages(
    user_id: int, cursor: int, questions: int, count: int = 100, campaign: str = "large"
) -> list[float]:
    """Milliseconds of each page of a person who always comes back to the same place."""
    from labeling.assignment import claiming
    from labeling.models import Campaign, Membership, User

    user, asked = User.objects.get(pk=user_id), Campaign.objects.get(name=campaign)
    member = Membership.objects.filter(user=user, campaign=asked)
    returned = questions + LEFT // 2 if user_id == EVERY else questions
    times = []
    for _ in range(count):
        member.update(cursor_returned=returned, cursor_fresh=cursor, pages=0)
        times.append(_timed(lambda: claiming.next_page(user, asked)))
        _put_back(user_id)
    return times


def _put_back(user_id: int) -> None:
    from django.db.models import F

    from labeling.models import Assignment, Question

    held = Assignment.objects.filter(annotator_id=user_id, state="leased")
    ids = list(held.values_list("question_id", flat=True))
    Question.objects.filter(pk__in=ids, state="open").update(seats_free=F("seats_free") + 1)
    held.delete()


def plain_times(user_id: int, count: int = 5) -> list[float]:
    from labeling.db.sql import fetch
    from labeling.models import Campaign

    campaign = Campaign.objects.get(name="large")
    return [_timed(lambda: fetch(PLAIN, [campaign.pk, user_id])) for _ in range(count)]


def crowd(each: int = 60) -> list[float]:
    """Newcomers that ask one page after another from several processes."""
    per_worker = 10
    workers = [
        subprocess.Popen(
            [
                *(sys.executable, "-m", "benchmarks.bench_assigning", "--crowd"),
                *(str(FIRST_NEWCOMER + index * per_worker), str(per_worker), str(each)),
            ],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for index in range(WORKERS)
    ]
    for worker in workers:
        assert worker.stdout is not None
        worker.stdout.readline()
    times: list[float] = []
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    for worker in workers:
        times += json.loads(worker.communicate()[0])
    return times


def one_of_the_crowd(first: int, people: int, each: int) -> None:
    from labeling.assignment import claiming
    from labeling.db.sql import writing
    from labeling.models import Assignment, Campaign, User

    campaign = Campaign.objects.get(name="large")
    users = list(User.objects.filter(pk__range=(first, first + people - 1)))
    print("ready", flush=True)
    sys.stdin.readline()
    times = []
    for index in range(each):
        user = users[index % people]
        times.append(_timed(lambda user=user: claiming.next_page(user, campaign)))
        # Answered, so that the next page is a new one.
        with writing():
            Assignment.objects.filter(annotator=user, state="leased").update(state="answered")
        time.sleep(random.uniform(0, 2 * PAUSE_S))
    print(json.dumps(times))


def drained(questions: int) -> list[float]:
    """Newcomers' pages after the head was drained while a transaction from before is open."""
    from django.db import connection, connections

    from labeling.assignment import claiming
    from labeling.db.sql import execute
    from labeling.models import Campaign, Question, User

    old = connections["default"].copy()
    isolation = " ISOLATION LEVEL REPEATABLE READ" if connection.vendor == "postgresql" else ""
    with old.cursor() as cursor:
        cursor.execute(f"BEGIN{isolation}")
        cursor.execute("SELECT COUNT(*) FROM labeling_campaign")
        cursor.fetchone()
        gone = min(100_000, questions // 2)
        campaign = Campaign.objects.get(name="large")
        fresh = Question.objects.filter(campaign=campaign, lane=1)
        head = fresh.order_by("ticket").values_list("ticket", flat=True)
        execute(
            "UPDATE labeling_question SET seats_free = 0 "
            "WHERE campaign_id = %s AND lane = 1 AND ticket < %s",
            [campaign.pk, head[0] + gone],
        )
        first = FIRST_NEWCOMER + WORKERS * 10
        users = list(User.objects.filter(pk__gte=first)[:200])
        times = [_timed(lambda user=user: claiming.next_page(user, campaign)) for user in users]
        cursor.execute("ROLLBACK")
    old.close()
    return times


def _setup() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "annotator.settings")
    import django

    django.setup()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--questions", type=int, default=1_000_000)
    parser.add_argument("--databases", nargs="+", default=["sqlite", "postgres"])
    parser.add_argument("--measure", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--crowd", type=int, nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.crowd:
        _setup()
        one_of_the_crowd(*options.crowd)
    elif options.measure:
        _setup()
        print(json.dumps(measure(options.measure)))
    else:
        for row in main(options.questions, tuple(options.databases)):
            word = {True: "ok", False: "MISSED", None: ""}[row["ok"]]
            print(f"{word:6} {row['name']}: {row['measured']}")
