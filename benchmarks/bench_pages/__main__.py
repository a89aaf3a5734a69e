"""Of one size, or of both: see the package."""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

from benchmarks.bench_pages import main
from benchmarks.large_campaign import bare, complete

IMAGES = 10_000
GOLD = 200
# Tables that grow with the questions.
GROWING = {f"labeling_{name}" for name in ("question", "assignment", "answer", "settlement")}


def measure(questions: int) -> dict[str, Any]:
    """Of each page: {"pages", "scanned": tables read whole, "ms", "held": whether it has a
    target}."""
    from django.core.management import call_command
    from django.test import Client

    from labeling.assignment import counters
    from labeling.db import question_counts
    from labeling.models import Campaign, User
    from labeling.quality import monitoring

    call_command("migrate", verbosity=0)
    started = time.perf_counter()
    build(questions)
    campaign = Campaign.objects.get(name="large")
    alice, everybody = User.objects.get(username="alice"), User.objects.get(username="everybody")
    print(f"built in {time.perf_counter() - started:.0f} s", file=sys.stderr)

    def watch() -> None:
        monitoring.watch(campaign, everybody)

    # As in a campaign that is some days old.
    watch()
    client = Client(SERVER_NAME="localhost")
    client.force_login(alice)
    middle = campaign.questions.order_by("pk")[questions // 2].pk

    def get(address: str) -> Callable[[], Any]:
        def look() -> None:
            response = client.get(address, follow=True)
            assert response.status_code == 200, response.status_code

        return look

    found = {}
    for name, action, held in (
        ("list of campaigns", get("/campaigns/"), True),
        ("campaign page, every five minutes", get("/campaigns/large/"), False),
        ("campaign page", get("/campaigns/large/"), True),
        ("what it asks for every 5 s", get("/campaigns/large/progress/"), True),
        ("counts for the next page of seats", lambda: counters.recount(campaign.pk), True),
        ("list of questions, 50 with their votes", get("/campaigns/large/questions/"), True),
        ("… from the middle", get(f"/campaigns/large/questions/?after={middle}"), True),
        ("… in review", get("/campaigns/large/questions/?state=review"), False),
        ("… of one class of 997", get("/campaigns/large/questions/?topic=7"), False),
        ("watching who answered every question", watch, False),
        ("counting again at night", lambda: question_counts.differences(campaign.pk), False),
    ):
        found[name] = _explained(action) | {"held": held}
    return found


def _explained(action: Callable[[], Any]) -> dict[str, Any]:
    from django.db import connection

    pages, scanned, took = 0, set(), 0.0

    def explain(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        nonlocal pages, took
        if sql.lstrip().upper().startswith(("SELECT", "WITH")):
            with connection.cursor() as cursor:
                cursor.cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {sql}", params)
                [(found,)] = cursor.cursor.fetchall()
            top = found[0]["Plan"]
            pages += top["Shared Hit Blocks"] + top["Shared Read Blocks"]
            took += found[0]["Execution Time"]
            scanned.update(_scanned(top))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(explain):
        action()
    return {"pages": pages, "scanned": sorted(scanned), "ms": took}


def _scanned(plan: dict[str, Any]) -> set[str]:
    found = set()
    if plan["Node Type"] == "Seq Scan" and plan["Relation Name"] in GROWING:
        found.add(plan["Relation Name"])
    return found.union(*(_scanned(inner) for inner in plan.get("Plans", ())))


def build(questions: int) -> None:
    """The campaign, written by the database itself."""
    from django.db import connection
    from django.utils import timezone

    from labeling.campaigns import lifecycle
    from labeling.db import question_counts
    from labeling.models import Campaign, Dataset, Membership, User

    alice = User.objects.create(username="alice", is_researcher=True)
    person = User.objects.create(username="everybody")
    pond = Dataset.objects.create(owner=alice, name="pond")
    policy = {"votes": 1, "max_votes": 5, "gold_share": 0.1}
    campaign = lifecycle.create(
        alice, name="large", title="Large", kind="contains", dataset=pond, policy=policy
    )
    lifecycle.define_topics(campaign, [{"key": str(n), "name": f"class {n}"} for n in range(997)])
    now = timezone.now()
    Membership.objects.create(
        user=person,
        campaign=campaign,
        role="annotator",
        answered=questions,
        worked_ms=9 * questions,
    )
    values = {"campaign": campaign.pk, "policy": campaign.policy_id, "person": person.pk}
    values |= {"dataset": pond.pk, "now": now, "images": IMAGES}
    values |= {"gold": GOLD, "questions": questions}
    with connection.cursor() as cursor:
        restore = bare(cursor)
        for statement in (
            "INSERT INTO labeling_image (id, dataset_id, name, sha256, file, display, thumbnail, "
            "media_type, bytes, width, height, licence, source, added_at) SELECT n, %(dataset)s, "
            "lpad(n::text, 8, '0'), lpad(to_hex(n), 64, '0'), 'x', '', '', 'image/png', 1, 1, 1, "
            "'', '', %(now)s FROM generate_series(1, %(images)s) AS s(n)",
            "INSERT INTO labeling_item (id, image_id) "
            "SELECT n, n FROM generate_series(1, %(images)s) AS s(n)",
            "INSERT INTO labeling_question (id, campaign_id, item_id, topic, round, lane, ticket, "
            "seats_free, state, policy_id, follow_up) SELECT n, %(campaign)s, 1 + n %% %(images)s, "
            "n %% 997, 0, CASE WHEN n <= %(gold)s THEN 2 ELSE 1 END, n, "
            "CASE WHEN state IN ('open', 'gold') THEN 1 ELSE 0 END, state, %(policy)s, false "
            "FROM generate_series(1, %(questions)s) AS s(n), LATERAL (SELECT CASE "
            "WHEN n <= %(gold)s THEN 'gold' WHEN n %% 1000 = 9 THEN 'review' "
            "WHEN n %% 12 < 8 THEN 'settled' WHEN n %% 12 = 8 THEN 'withdrawn' "
            "ELSE 'open' END AS state) AS said",
            "INSERT INTO labeling_gold (question_id, answer, explanation, source) "
            "SELECT n, '\"yes\"', '', '' FROM generate_series(1, %(gold)s) AS s(n)",
            "INSERT INTO labeling_assignment (id, question_id, annotator_id, subject, token, "
            "state, leased_until, created_at, ordinal) SELECT n, n, %(person)s, n, "
            "lpad(to_hex(n), 32, '0'), 'answered', %(now)s, %(now)s, n "
            "FROM generate_series(1, %(questions)s) AS s(n)",
            "INSERT INTO labeling_answer (id, assignment_id, revision, value, duration_ms, late, "
            "created_at) SELECT lpad(to_hex(n), 32, '0')::uuid, n, 0, '\"yes\"', 900, false, "
            "%(now)s FROM generate_series(1, %(questions)s) AS s(n)",
            "INSERT INTO labeling_settlement (question_id, policy_id, value, probability, answers, "
            "reviewed, created_at) SELECT n, %(policy)s, '\"yes\"', 1, "
            "jsonb_build_array(lpad(to_hex(n), 32, '0')::uuid), false, %(now)s "
            "FROM generate_series(1, %(questions)s) AS s(n) WHERE n %% 12 < 8 OR n %% 1000 = 9",
        ):
            cursor.execute(complete(statement), values)
        restore()
        cursor.execute("VACUUM ANALYZE")
    Campaign.objects.update(state="open", last_ticket=questions)
    question_counts.reconcile(campaign.pk)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--questions", type=int, nargs=2, default=[100_000, 1_000_000])
    parser.add_argument("--measure", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        import django

        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "annotator.settings")
        django.setup()
        print(json.dumps(measure(options.measure)))
    else:
        for row in main(tuple(options.questions)):
            word = {True: "ok", False: "MISSED", None: ""}[row["ok"]]
            print(f"{word:6} {row['name']}: {row['measured']}")
