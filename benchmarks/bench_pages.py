"""Pages of 8 kB that PostgreSQL reads for researchers' pages and for jobs, at two sizes.

`python -m benchmarks pages [--size QUESTIONS]`: beside a tenth of them. Every SELECT of a page is
run once more under EXPLAIN (ANALYZE, BUFFERS); the number is the sum over its statements of shared
buffers hit or read, sessions and rights included. A quarter of the questions are open, two thirds
are settled by one answer each, all from one person; 200 are gold.
"""

import tempfile
from collections.abc import Callable
from typing import Any

from benchmarks import Row, own_process, row, sized

MAX_PAGES = 200
MAX_RATIO = 1.2
IMAGES, GOLD, TOPICS = sized(10_000, 1_000), 200, 997
# Tables that grow with the questions.
GROWING_TABLES = {f"labeling_{name}" for name in ("question", "assignment", "answer", "settlement")}


def main(questions: int = sized(1_000_000, 10_000)) -> list[Row]:
    """Return the rows; none without a server."""
    small, large = _in_own_process(questions // 10), _in_own_process(questions)
    return [_row(name, small[name], large[name]) for name in small]


def _in_own_process(questions: int) -> dict[str, Any]:
    with own_process.postgres() as url, tempfile.TemporaryDirectory() as folder:
        return own_process.run("bench_pages", folder, "measure", questions, url) if url else {}


def _row(name: str, small: dict[str, Any], large: dict[str, Any]) -> Row:
    ratio = large["pages"] / small["pages"]
    scanned = f"; reads whole: {', '.join(large['scanned'])}" if large["scanned"] else ""
    measured = (
        f"{small['pages']:,} and {large['pages']:,} pages, {ratio:.2f} times, "
        f"{large['ms']:.1f} ms{scanned}"
    )
    if not large["held"]:
        return row(name, measured)
    is_few = large["pages"] <= MAX_PAGES and ratio <= MAX_RATIO and not large["scanned"]
    return row(name, measured, f"≤ {MAX_PAGES} pages, ≤ {MAX_RATIO} times, no table whole", is_few)


# In processes of their own, with Django set up.


def measure(questions: int) -> dict[str, Any]:
    """Return for each page {"pages", "scanned": tables read whole, "ms", "held": has a target}."""
    from django.test import Client

    from labeling.assignment import counters
    from labeling.db import question_counts
    from labeling.models import User
    from labeling.quality import monitoring

    campaign = build(questions)
    everybody = User.objects.get(username="person0")

    def watch() -> None:
        monitoring.watch(campaign, everybody)

    # Watch once before, as in a campaign that is some days old.
    watch()
    client = Client(SERVER_NAME="localhost")
    client.force_login(User.objects.get(username="alice"))
    middle = campaign.questions.order_by("pk")[questions // 2].pk

    def get(address: str) -> Callable[[], Any]:
        def look() -> None:
            response = client.get(address, follow=True)
            assert response.status_code == 200, response.status_code

        return look

    results = {}
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
        results[name] = _explained(action) | {"held": held}
    return results


def build(questions: int) -> Any:
    from benchmarks import worlds
    from labeling.campaigns import lifecycle
    from labeling.models import Gold, Membership

    owner, pond = worlds.begin()
    worlds.add_images(pond, IMAGES)
    campaign = worlds.campaign(
        owner, pond, "large", "contains", votes=1, max_votes=5, gold_share=0.1
    )
    classes = [{"key": str(n), "name": f"class {n}"} for n in range(TOPICS)]
    lifecycle.define_topics(campaign, classes)
    [person] = worlds.add_people(1, campaign)
    Membership.objects.filter(user=person).update(answered=questions, worked_ms=9 * questions)

    def fields(n: int) -> dict[str, Any]:
        state = "settled" if n % 12 < 8 else "withdrawn" if n % 12 == 8 else "open"
        state = "gold" if n <= GOLD else "review" if n % 1000 == 9 else state
        lane, free = 2 if state == "gold" else 1, int(state in ("open", "gold"))
        return {"topic": str(n % TOPICS), "state": state, "lane": lane, "seats_free": free}

    worlds.fill(campaign, questions, fields, lambda n: [(person, "yes", False)])
    gold = campaign.questions.filter(state="gold")
    Gold.objects.bulk_create(Gold(question=question, answer="yes") for question in gold)
    worlds.end()
    return campaign


def _explained(action: Callable[[], Any]) -> dict[str, Any]:
    from django.db import connection

    pages, scanned, took = 0, set(), 0.0

    def explain(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        nonlocal pages, took
        if sql.lstrip().upper().startswith(("SELECT", "WITH")):
            with connection.cursor() as cursor:
                cursor.cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {sql}", params)
                [(explained,)] = cursor.cursor.fetchall()
            top = explained[0]["Plan"]
            pages += top["Shared Hit Blocks"] + top["Shared Read Blocks"]
            took += explained[0]["Execution Time"]
            scanned.update(_scanned(top))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(explain):
        action()
    return {"pages": pages, "scanned": sorted(scanned), "ms": took}


def _scanned(plan: dict[str, Any]) -> set[str]:
    tables = set()
    if plan["Node Type"] == "Seq Scan" and plan["Relation Name"] in GROWING_TABLES:
        tables.add(plan["Relation Name"])
    return tables.union(*(_scanned(inner) for inner in plan.get("Plans", ())))
