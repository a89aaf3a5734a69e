"""A question graph of 1,000 classes on 100,000 images: opened and followed up.

`python -m benchmarks.bench_hierarchy [--images N] [--databases sqlite postgres]`, on a throwaway
database. Two steps are timed and their queries counted: opening the first questions of all images,
and following up a consensus on one question of every image (three in ten yes, which opens ten
questions each). Beside them the plain way, which takes one image after the other, on a sample.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import own_process, sized

ROOT = Path(__file__).resolve().parents[1]
IMAGES = sized(100_000, 500)
# 9 roots, 90 questions below them, 1,000 classes below those.
ROOTS, BELOW, LEAVES = 9, 10, sized(1_000, 100)
SAMPLE = sized(200, 20)
# Images for one query, or fewer queries.
TARGET = 10


def main(images: int = IMAGES, databases: tuple[str, ...] = ("sqlite",)) -> list[dict[str, Any]]:
    """Rows {"name", "target", "measured", "ok"}; without a PostgreSQL server none of its."""
    rows = []
    for database in databases:
        with tempfile.TemporaryDirectory() as folder:
            if database == "sqlite":
                rows += _child(f"sqlite:///{folder}/bench.sqlite3", folder, images)
            else:
                rows += _on_postgres(folder, images)
    return rows


def _on_postgres(folder: str, images: int) -> list[dict[str, Any]]:
    with own_process.postgres() as url:
        return _child(url, folder, images) if url else []


def _child(url: str, folder: str, images: int) -> list[dict[str, Any]]:
    """The rows of a process whose settings name this database."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.bench_hierarchy", "--measure", str(images)],
        cwd=ROOT,
        env={**os.environ, "DATABASE_URL": url, "ASSAY_DATA": folder, "LOG_LEVEL": "ERROR"},
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    return json.loads(done.stdout)


def graph() -> dict[str, Any]:
    """The raw graph: three levels, every class below one question, some below two."""
    nodes: list[dict[str, Any]] = []
    for root in range(ROOTS):
        nodes.append({"id": f"r{root}", "question": f"something of group {root}"})
        nodes += [
            {"id": f"r{root}-{i}", "question": f"part {i} of group {root}", "parents": [f"r{root}"]}
            for i in range(BELOW)
        ]
    inner = [node["id"] for node in nodes if node.get("parents")]
    for leaf in range(LEAVES):
        parents = [inner[leaf % len(inner)]]
        if leaf % 10 == 0:
            parents.append(inner[(leaf + 7) % len(inner)])
        nodes.append(
            {
                "id": f"leaf-{leaf}",
                "question": f"a thing of sort {leaf}",
                "class": f"n{leaf:08}",
                "parents": parents,
            }
        )
    return {"nodes": nodes}


@dataclass
class Spent:
    """What an action took."""

    seconds: float
    queries: int


def measure(images: int) -> list[dict[str, Any]]:
    from django.core.management import call_command
    from django.db import connection

    from labeling.follow_ups import following

    call_command("migrate", verbosity=0)
    campaign = _campaign()
    pool = _add_images(campaign.dataset_id, 0, images)
    opened, opening = _timed(lambda: following.open_images(campaign))
    assert opened == ROOTS * len(pool)
    _settle(campaign.pk, "r0")
    done, advancing = _timed(lambda: following.advance(campaign))
    assert done.images == images

    sample = _add_images(campaign.dataset_id, images, SAMPLE)
    plain_opening = _timed(lambda: [following.open_images(campaign, [name]) for name in sample])[1]
    ids = _settle(campaign.pk, "r0")
    assert len(ids) == SAMPLE
    plain = _timed(lambda: [following._advance_chunk(campaign.pk, {pk}) for pk in ids])[1]
    what, name = f"{images:,} images, {LEAVES:,} classes", connection.vendor
    return [
        _row(f"open {what}, {name}", images, opened, opening, plain_opening),
        _row(f"follow up {what}, {name}", images, done.opened, advancing, plain),
    ]


def _row(name: str, images: int, questions: int, spent: Spent, plain: Spent) -> dict[str, Any]:
    each, plain_each = spent.seconds / images, plain.seconds / SAMPLE
    return {
        "name": name,
        "target": f"a query for {TARGET} images or more",
        "measured": (
            f"{questions:,} questions in {spent.seconds:.1f} s, {spent.queries:,} queries (one for "
            f"{images / spent.queries:.0f} images); image by image {plain.queries / SAMPLE:.1f} "
            f"queries an image, {plain_each / each:.0f}× the time"
        ),
        "ok": spent.queries * TARGET <= images,
    }


def _timed(action: Callable[[], Any]) -> tuple[Any, Spent]:
    from django.db import connection

    count = 0

    def counting(execute: Any, *arguments: Any) -> Any:
        nonlocal count
        count += 1
        return execute(*arguments)

    start = time.perf_counter()
    with connection.execute_wrapper(counting):
        result = action()
    return result, Spent(time.perf_counter() - start, count)


def _campaign() -> Any:
    from labeling.campaigns import lifecycle
    from labeling.graphs import store
    from labeling.models import Dataset, User

    alice = User.objects.create(username="alice")
    pond = Dataset.objects.create(owner=alice, name="pond")
    campaign = lifecycle.create(
        alice, name="bench", title="Bench", kind="hierarchy", dataset=pond, policy={"gold_share": 0}
    )
    store.define(campaign, alice, graph())
    return campaign


def _add_images(dataset: int, first: int, count: int) -> list[str]:
    """The names of images without files, written by the thousand."""
    from labeling.models import Image

    names = [f"{number:08}" for number in range(first, first + count)]
    rows = (
        Image(
            dataset_id=dataset,
            name=name,
            sha256=f"{name:0>64}",
            media_type="image/png",
            bytes=1,
            width=1,
            height=1,
        )
        for name in names
    )
    Image.objects.bulk_create(rows, batch_size=1_000)
    return names


def _settle(campaign_id: int, node: str) -> list[int]:
    """The questions of this node that were open and are settled now: yes on three in ten."""
    from django.db import connection
    from django.utils import timezone

    from labeling.db.sql import execute, fetch, moment, writing

    json_type = "jsonb" if connection.vendor == "postgresql" else "text"
    which = "campaign_id = %s AND topic = %s AND state = 'open'"
    with writing():
        execute(
            "INSERT INTO labeling_settlement (question_id, policy_id, value, probability, answers, "
            "reviewed, created_at) SELECT id, policy_id, CAST(CASE WHEN id %% 10 < 3 THEN %s "
            f"ELSE %s END AS {json_type}), 1, CAST(%s AS {json_type}), false, %s "
            f"FROM labeling_question WHERE {which}",
            ['"yes"', '"no"', "[]", moment(timezone.now()), campaign_id, node],
        )
        rows = fetch(
            "UPDATE labeling_question SET state = 'settled', seats_free = 0, follow_up = true "
            f"WHERE {which} RETURNING id",
            [campaign_id, node],
        )
    if connection.vendor == "postgresql":
        # As its autovacuum would within a minute.
        execute("ANALYZE labeling_question, labeling_settlement", [])
    return [pk for (pk,) in rows]


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--images", type=int, default=IMAGES)
    parser.add_argument("--databases", nargs="+", default=["sqlite"])
    parser.add_argument("--measure", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "annotator.settings")
        import django

        django.setup()
        print(json.dumps(measure(options.measure)))
    else:
        for row in main(options.images, tuple(options.databases)):
            print(f"{'ok' if row['ok'] else 'MISSED':6} {row['name']}: {row['measured']}")
