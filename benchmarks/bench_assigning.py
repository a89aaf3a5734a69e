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
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
POSTGRES = os.environ.get("ASSAY_TEST_POSTGRES", "postgres://postgres@127.0.0.1:5432/postgres")
TARGET_MS = 10.0
SIZE = 20
IMAGES = 10_000
OTHERS = 30
LEFT = 200
NEWCOMERS = 400
WORKERS = 4
# Between two pages of a worker: together about a hundred pages a second, which is what two
# thousand people ask who take a second an image.
PAUSE_S = 0.03
TOPICS = 20
# Users: 1 opened the campaign, then these.
EVERY, BUT_200, FIRST_OTHER = 2, 3, 4
FIRST_NEWCOMER = FIRST_OTHER + OTHERS

PLAIN = """
SELECT q.id FROM labeling_question q
WHERE q.campaign_id = %s AND q.lane = 1 AND q.seats_free > 0 AND NOT EXISTS (
    SELECT 1 FROM labeling_assignment a WHERE a.annotator_id = %s AND a.subject = q.id)
ORDER BY q.ticket LIMIT 20
"""


def main(questions: int = 1_000_000, databases: tuple[str, ...] = ("sqlite", "postgres")) -> list:
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
    import psycopg

    try:
        server = psycopg.connect(POSTGRES, autocommit=True, connect_timeout=3)
    except psycopg.OperationalError as error:
        print(f"no PostgreSQL server: {error}", file=sys.stderr)
        return []
    name = f"assay_bench_{uuid.uuid4().hex[:12]}"
    with server:
        server.execute(f'CREATE DATABASE "{name}"')
        try:
            return _child(f"{POSTGRES.rsplit('/', 1)[0]}/{name}", questions)
        finally:
            server.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


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


def _timed(deed: Callable[[], Any]) -> float:
    start = time.perf_counter()
    deed()
    return (time.perf_counter() - start) * 1000


def pages(
    user_id: int, cursor: int, questions: int, count: int = 100, campaign: str = "large"
) -> list[float]:
    """Milliseconds of each page of a person who always comes back to the same place."""
    from labeling import assigning
    from labeling.models import Campaign, Membership, User

    user, asked = User.objects.get(pk=user_id), Campaign.objects.get(name=campaign)
    member = Membership.objects.filter(user=user, campaign=asked)
    returned = questions + LEFT // 2 if user_id == EVERY else questions
    times = []
    for _ in range(count):
        member.update(cursor_returned=returned, cursor_fresh=cursor, pages=0)
        times.append(_timed(lambda: assigning.next_page(user, asked)))
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
    from labeling.models import Campaign
    from labeling.seats import fetch

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
    from labeling import assigning
    from labeling.models import Assignment, Campaign, User
    from labeling.seats import writing

    campaign = Campaign.objects.get(name="large")
    users = list(User.objects.filter(pk__range=(first, first + people - 1)))
    print("ready", flush=True)
    sys.stdin.readline()
    times = []
    for index in range(each):
        user = users[index % people]
        times.append(_timed(lambda user=user: assigning.next_page(user, campaign)))
        # Answered, so that the next page is a new one.
        with writing():
            Assignment.objects.filter(annotator=user, state="leased").update(state="answered")
        time.sleep(random.uniform(0, 2 * PAUSE_S))
    print(json.dumps(times))


def drained(questions: int) -> list[float]:
    """Newcomers' pages after the head was drained while a transaction from before is open."""
    from django.db import connection, connections

    from labeling import assigning
    from labeling.models import Campaign, Question, User
    from labeling.seats import execute

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
        times = [_timed(lambda user=user: assigning.next_page(user, campaign)) for user in users]
        cursor.execute("ROLLBACK")
    old.close()
    return times


def build(questions: int) -> None:
    """The campaign as five people an image have left it, written by the database itself."""
    from django.core.management.color import no_style
    from django.db import connection
    from django.utils import timezone

    from labeling import campaigns
    from labeling.models import Campaign, Dataset, Graph, User
    from labeling.seats import moment

    people = FIRST_NEWCOMER + NEWCOMERS
    User.objects.bulk_create([User(pk=pk, username=f"u{pk}") for pk in range(1, people)])
    alice = User.objects.get(pk=1)
    pond = Dataset.objects.create(owner=alice, name="pond")
    campaign = campaigns.create(
        alice,
        name="large",
        title="Large",
        kind="contains",
        dataset=pond,
        policy={"votes": 10, "max_votes": 12, "gold_share": 0},
    )
    grid = campaigns.create(
        alice,
        name="grid",
        title="Grid",
        kind="hierarchy",
        dataset=pond,
        policy={"votes": 10, "max_votes": 12, "gold_share": 0},
    )
    graph = Graph.objects.create(campaign=grid, version=1, sha256="0" * 64)
    now = moment(timezone.now())
    postgres = connection.vendor == "postgresql"
    with connection.cursor() as cursor:
        restore = _bare(cursor) if postgres else _loose(cursor)
        statements = _statements(postgres, questions, campaign, pond.pk, people)
        statements += _grid_statements(postgres, questions, grid, graph.pk)
        for statement in statements:
            cursor.execute(statement.replace("NOW", f"'{now}'"))
        restore()
        for statement in connection.ops.sequence_reset_sql(no_style(), [User]):
            cursor.execute(statement)
        if postgres:
            cursor.execute("VACUUM ANALYZE")
            for table in ("assignment", "answer", "question", "membership", "item", "image"):
                cursor.execute(
                    f"SELECT setval(pg_get_serial_sequence('labeling_{table}', 'id'), max(id)) "
                    f"FROM labeling_{table}"
                    if table != "answer"
                    else "SELECT 1"
                )
    Campaign.objects.update(state="open", last_ticket=questions + LEFT // 2)
    connection.close()


def _series(postgres: bool, last: int, first: int = 1) -> str:
    if postgres:
        return f"generate_series({first}, {last}) AS s(n)"
    return (
        f"(WITH RECURSIVE s(n) AS (SELECT {first} UNION ALL SELECT n + 1 FROM s "
        f"WHERE n < {last}) SELECT n FROM s) AS s"
    )


def _hexed(postgres: bool, value: str, width: int) -> str:
    if postgres:
        return f"lpad(to_hex({value}), {width}, '0')"
    return f"printf('%0{width}x', {value})"


MEMBERSHIP = (
    "INSERT INTO labeling_membership (id, user_id, campaign_id, role, cursor_returned, "
    "cursor_fresh, cursor_gold, answered, worked_ms, pages, stage, working_since, attempts, "
    "standing, joined_at)"
)
NEWCOMER = "'annotator', 0, 0, 0, 0, 0, 0, 'working', NOW, 0, '{}', NOW"


def _statements(
    postgres: bool, questions: int, campaign: Any, dataset: int, people: int
) -> list[str]:
    """INSERT … SELECT over a series n; the databases differ in the series and in hexadecimal."""

    def series(last: int, first: int = 1) -> str:
        return _series(postgres, last, first)

    def hexed(value: str, width: int) -> str:
        return _hexed(postgres, value, width)

    uuid_of = f"{hexed('id', 32)}::uuid" if postgres else hexed("id", 32)
    half = LEFT // 2
    middle = questions // 2
    returned = f"n > {middle} AND n <= {middle + half}"
    left = f"({returned} OR n > {questions - half})"

    def seats(annotator: str, offset: int, where: str = "1 = 1") -> str:
        return (
            "INSERT INTO labeling_assignment (id, question_id, annotator_id, subject, token, "
            f"state, leased_until, created_at, ordinal) SELECT n + {offset}, n, {annotator}, n, "
            f"{hexed(f'n + {offset}', 32)}, 'answered', NOW, NOW, n "
            f"FROM {series(questions)} WHERE {where}"
        )

    return [
        "INSERT INTO labeling_image (id, dataset_id, name, sha256, file, display, thumbnail, "
        "media_type, bytes, width, height, licence, source, added_at) "
        f"SELECT n, {dataset}, {hexed('n', 8)}, {hexed('n', 64)}, 'x', '', '', 'image/png', 1, 1, "
        f"1, '', '', NOW FROM {series(IMAGES)}",
        f"INSERT INTO labeling_item (id, image_id) SELECT n, n FROM {series(IMAGES)}",
        f"{MEMBERSHIP} SELECT n + 10, n, {campaign.pk}, {NEWCOMER} FROM {series(people - 1, 2)}",
        "INSERT INTO labeling_question (id, campaign_id, item_id, topic, round, lane, ticket, "
        f"seats_free, state, policy_id, follow_up) SELECT n, {campaign.pk}, 1 + n % {IMAGES}, "
        f"CAST(n / {IMAGES} AS varchar(64)), 0, CASE WHEN {returned} THEN 0 ELSE 1 END, "
        f"CASE WHEN {returned} THEN {questions} + n - {middle} ELSE n END, 5, 'open', "
        f"{campaign.policy_id}, {'false' if postgres else 0} FROM {series(questions)}",
        seats(str(EVERY), 0),
        seats(f"CASE WHEN {left} THEN {FIRST_OTHER + OTHERS - 1} ELSE {BUT_200} END", questions),
        *(
            # Three of the others for each question, never the one who stands in above.
            seats(f"{FIRST_OTHER} + (n % 9) * 3 + {vote}", (2 + vote) * questions)
            for vote in range(3)
        ),
        "INSERT INTO labeling_answer (id, assignment_id, revision, value, duration_ms, late, "
        f"created_at) SELECT {uuid_of}, id, 0, '\"yes\"', 900, {'false' if postgres else 0}, NOW "
        "FROM labeling_assignment",
    ]


def _grid_statements(postgres: bool, questions: int, campaign: Any, graph: int) -> list[str]:
    """The second campaign: its topics take turns, and one person has answered nearly all of it."""
    count, half = questions // 5, LEFT // 2
    series, middle = _series(postgres, count), count // 2
    token = _hexed(postgres, f"{6 * questions} + n", 32)
    returned = f"n > {middle} AND n <= {middle + half}"
    return [
        f"{MEMBERSHIP} SELECT n + 100000, n, {campaign.pk}, {NEWCOMER} "
        f"FROM {_series(postgres, FIRST_OTHER, 2)}",
        "INSERT INTO labeling_question (id, campaign_id, item_id, topic, round, lane, ticket, "
        "seats_free, state, policy_id, follow_up, graph_id) "
        f"SELECT {questions} + n, {campaign.pk}, 1 + (n / {TOPICS}) % {IMAGES}, "
        f"CAST(n % {TOPICS} AS varchar(64)), n / ({TOPICS} * {IMAGES}), "
        f"CASE WHEN {returned} THEN 0 ELSE 1 END, "
        f"CASE WHEN {returned} THEN {count} + n - {middle} ELSE n END, 5, 'open', "
        f"{campaign.policy_id}, {'false' if postgres else 0}, {graph} FROM {series}",
        "INSERT INTO labeling_assignment (id, question_id, annotator_id, subject, token, "
        "state, leased_until, created_at, ordinal) "
        f"SELECT {6 * questions} + n, {questions} + n, {BUT_200}, {questions} + n, {token}, "
        f"'answered', NOW, NOW, n FROM {series} "
        f"WHERE NOT ({returned}) AND n > 1 AND n <= {count - half}",
    ]


def _bare(cursor: Any) -> Callable[[], None]:
    """Drops the constraints and indexes of the three big tables; returns what restores them."""
    tables = "'labeling_question', 'labeling_assignment', 'labeling_answer'"
    cursor.execute(
        "SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid), contype "
        f"FROM pg_constraint WHERE conrelid::regclass::text IN ({tables}) "
        "ORDER BY contype = 'f'"
    )
    constraints = cursor.fetchall()
    for table, name, _, kind in sorted(constraints, key=lambda row: row[3] != "f"):
        cursor.execute(f'ALTER TABLE {table} DROP CONSTRAINT "{name}" CASCADE')
        assert kind
    cursor.execute(
        "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' "
        f"AND tablename IN ({tables})"
    )
    indexes = cursor.fetchall()
    for name, _ in indexes:
        cursor.execute(f'DROP INDEX "{name}"')
    cursor.execute("SET maintenance_work_mem = '1GB'")

    def restore() -> None:
        order = {"p": 0, "u": 1, "c": 2, "f": 3}
        for table, name, definition, _ in sorted(constraints, key=lambda row: order[row[3]]):
            cursor.execute(f'ALTER TABLE {table} ADD CONSTRAINT "{name}" {definition}')
        for _, definition in indexes:
            cursor.execute(definition)

    return restore


def _loose(cursor: Any) -> Callable[[], None]:
    """Nothing is synced while rows are built; measuring is at synchronous=FULL, as the site."""
    cursor.execute(
        "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL "
        "AND tbl_name IN ('labeling_question', 'labeling_assignment', 'labeling_answer')"
    )
    indexes = cursor.fetchall()
    for name, _ in indexes:
        cursor.execute(f'DROP INDEX "{name}"')
    cursor.execute("PRAGMA synchronous = OFF")
    cursor.execute("PRAGMA cache_size = -2000000")

    def restore() -> None:
        for _, statement in indexes:
            cursor.execute(statement)
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    return restore


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
