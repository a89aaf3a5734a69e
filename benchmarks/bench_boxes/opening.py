"""Opening a campaign of boxes about 100,000 images × 200 classes, of which 280,000 pairs are in an
image, by its command; then what follows a settled question, and the next page.

`python -m benchmarks.bench_boxes.opening [--images N]`. Each database is a throwaway one.
"""

import argparse
import contextlib
import io
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks import own_process, sized

ROOT = Path(__file__).resolve().parents[2]
TARGET_S = 60.0
CLASSES, PRESENT = sized(200, 20), 2.8
FOLLOWED, PAGE = sized(2_000, 200), 5


def main(images: int = sized(100_000, 100)) -> list[dict[str, Any]]:
    rows = []
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
        rows += _child(f"sqlite:///{folder}/bench.sqlite3", images)
    with own_process.postgres() as url:
        rows += _child(url, images) if url else []
    return rows


def _child(url: str, images: int) -> list[dict[str, Any]]:
    import json

    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.bench_boxes.opening", "--measure", str(images)],
        cwd=ROOT,
        env={**os.environ, "DATABASE_URL": url, "LOG_LEVEL": "ERROR"},
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


def measure(images: int) -> list[dict[str, Any]]:
    from django.core.management import call_command
    from django.db import connection

    from labeling.models import Dataset, Image, Question, User

    call_command("migrate", verbosity=0)
    alice = User.objects.create(username="alice")
    dataset = Dataset.objects.create(owner=alice, name="pool")
    names = [f"{number:07}.jpg" for number in range(images)]
    Image.objects.bulk_create(
        (
            Image(
                dataset=dataset,
                name=name,
                sha256=f"{number:064x}",
                file="images/none.jpg",
                media_type="image/jpeg",
                bytes=1,
                width=500,
                height=375,
            )
            for number, name in enumerate(names)
        ),
        batch_size=5_000,
    )
    pairs = round(images * PRESENT)
    with tempfile.TemporaryDirectory() as folder:
        labels = Path(folder, "labels.csv")
        labels.write_text("image,wnid\n" + "".join(_pairs(names, pairs)))
        started = time.perf_counter()
        with contextlib.redirect_stdout(io.StringIO()):
            call_command(
                *("campaign", "open", "boxes", "--name", "boxes", "--dataset", "pool"),
                *("--labels", str(labels)),
            )
        spent = time.perf_counter() - started
    made = Question.objects.count()
    name = connection.vendor
    return [
        {
            "name": f"open {pairs:,} pairs of {images:,} images × {CLASSES} classes, {name}",
            "target": f"< {TARGET_S:.0f} s, a row a pair",
            "measured": f"{spent:.1f} s, {made:,} rows",
            "ok": spent < TARGET_S and made == pairs,
        },
        *followed(name),
    ]


def _pairs(names: list[str], count: int):
    from labeling.graphs.store import load_ilsvrc

    graph = load_ilsvrc()
    classes = [graph.node(leaf).key for leaf in graph.leaves][:CLASSES]
    chance = random.Random(0)
    seen = set()
    while len(seen) < count:
        pair = chance.choice(names), chance.choice(classes)
        if pair not in seen:
            seen.add(pair)
            yield f"{pair[0]},{pair[1]}\n"


def followed(name: str) -> list[dict[str, Any]]:
    """How long the step after a drawing takes to be opened, and a page of seats to be claimed."""
    import uuid

    from labeling.answers import submitting
    from labeling.answers.sent import Sent
    from labeling.assignment import claiming
    from labeling.follow_ups import following
    from labeling.models import Campaign, Membership, User

    campaign = Campaign.objects.get()
    bob = User.objects.create(username="bob")
    Membership.objects.create(user=bob, campaign=campaign)
    value = {"box": [10, 10, 200, 200], "how": "drag"}
    pages, opened = [], []
    for _ in range(FOLLOWED // 100):
        started = time.perf_counter()
        page = claiming.next_page(bob, campaign, 100)
        pages.append(time.perf_counter() - started)
        sent = [Sent(uuid.uuid4(), seat.token, value, 7_000) for seat in page.seats]
        assert all(one.status == "accepted" for one in submitting.submit(bob, campaign, sent))
        started = time.perf_counter()
        done = following.advance(campaign)
        opened.append((time.perf_counter() - started) / done.opened)
    return [
        {
            "name": f"next 100 seats of {campaign.questions.count():,} questions, {name}",
            "target": "",
            "measured": f"{statistics.median(pages) * 1000:.0f} ms",
            "ok": None,
        },
        {
            "name": f"the check that follows a drawing, opened a hundred at a time, {name}",
            "target": "",
            "measured": f"{statistics.median(opened) * 1000:.2f} ms each",
            "ok": None,
        },
    ]


if __name__ == "__main__":
    import json

    parser = argparse.ArgumentParser()
    parser.add_argument("--images", type=int, default=100_000)
    parser.add_argument("--measure", type=int)
    chosen = parser.parse_args()
    if chosen.measure:
        import django

        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "annotator.settings")
        django.setup()
        print(json.dumps(measure(chosen.measure)))
    else:
        from benchmarks.__main__ import render

        print(render(main(chosen.images)))
