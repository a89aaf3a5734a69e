"""A review of a benchmark's mistakes on a site: 50,000 images, three submissions, 45,000 pairs."""

import json
import os
import random
import shutil
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.bench_mistakes import IMAGES, RIGHT

ANSWERS = ("valid", "minor", "major", "cannot")
WEIGHTS = (0.5, 0.2, 0.2, 0.1)


def prepare(files: str) -> dict[str, Any]:
    """A scored benchmark on the files of bench_mistakes, with a review that people have answered.

    Seconds of the first scoring, and of opening the review.
    """
    from django.conf import settings
    from django.core.management import call_command

    from evaluation.benchmarks.kinds.labeled import benchmarks
    from evaluation.benchmarks.kinds.labeled.label_sets import reviews
    from evaluation.metrics.wordnet.nouns import load
    from evaluation.models import Benchmark
    from labeling.campaigns import lifecycle
    from labeling.db import question_counts
    from labeling.models import Dataset, Image, Question, Release, Settlement, User

    call_command("migrate", verbosity=0)
    alice = User.objects.create(username="alice", is_researcher=True)
    pond = Dataset.objects.create(owner=alice, name="pond")
    truth = Path(files) / "truth.csv"
    names = [line.split(",")[0] for line in truth.read_text().splitlines()[1:]]
    Image.objects.bulk_create(
        [
            Image(dataset=pond, name=name, sha256=f"{at:064}", bytes=1, width=500, height=375)
            for at, name in enumerate(names)
        ],
        batch_size=1000,
    )
    campaign = lifecycle.create(alice, name="pond", title="Pond", kind="contains", dataset=pond)
    release = Release.objects.create(campaign=campaign, number=1, sha256="0" * 64, folder="pond/1")
    row = Benchmark.objects.create(
        name="pond",
        title="Pond",
        kind="classification",
        campaign=campaign,
        release=release,
        created_by=alice,
        settings={
            "split": "train-fullsup",
            "confidence": 0.999,
            "seed": 0,
            "truth": {
                "images": IMAGES,
                "classes": 1000,
                "objects": 0,
                "masks": False,
                "left_out": [],
                "notes": [],
            },
        },
    )
    folder = Path(settings.DATA_DIR) / "benchmarks" / str(row.pk) / "truth"
    folder.mkdir(parents=True)
    shutil.copyfile(truth, folder / "truth.csv")
    for name in RIGHT:
        benchmarks.add_submission(row, alice, name, Path(files) / f"{name}.csv", f"{name}.csv")
    first = _scored(row, alice)
    start = time.perf_counter()
    words = {"name": "looks", "title": "Looks", "models": ["A", "B"]}
    review = reviews.open_review(row, alice, wordnet=load(), **words)
    opened = time.perf_counter() - start
    asked = review.campaign.questions.all()
    drawn = random.Random(0)
    Settlement.objects.bulk_create(
        [
            Settlement(
                question_id=pk,
                policy=review.campaign.policy,
                value=drawn.choices(ANSWERS, WEIGHTS)[0],
                answers=[],
            )
            for pk in asked.values_list("pk", flat=True)
        ],
        batch_size=1000,
    )
    asked.update(state=Question.State.SETTLED, seats_free=0)
    question_counts.reconcile(review.campaign.pk)
    return {"first": first, "opened": opened, "pairs": review.meta["counts"]["pairs"]}


def freeze(_: Any) -> float:
    """Seconds of freezing the answers."""
    from labeling.models import Campaign
    from labeling.releases import freezing

    start = time.perf_counter()
    freezing.freeze(Campaign.objects.get(name="looks"))
    return time.perf_counter() - start


def apply(_: Any) -> dict[str, float]:
    """Seconds from the release to a version, and to every submission scored by it."""
    from evaluation.benchmarks.kinds.labeled.label_sets.applying import apply_answers
    from evaluation.metrics.wordnet.nouns import load
    from evaluation.models import Benchmark
    from labeling.models import Campaign, User

    load()
    row, campaign = Benchmark.objects.get(name="pond"), Campaign.objects.get(name="looks")
    alice = User.objects.get(username="alice")
    start = time.perf_counter()
    made = apply_answers(row, alice, campaign, campaign.releases.get().number)
    applied = time.perf_counter() - start
    assert made.version == 2
    return {"applied": applied, "scored": _scored(row, alice)}


def _scored(row: Any, user: Any) -> float:
    """Seconds of a run, from its job to its result."""
    from evaluation.benchmarks import runs
    from evaluation.models import Run
    from labeling.jobs import queue

    run = runs.request(row, user)
    job = runs.job_of(run)
    start = time.perf_counter()
    assert job is not None
    queue.run(job.pk)
    run.refresh_from_db()
    assert run.state == Run.State.DONE, run.error
    return time.perf_counter() - start


ACTIONS = {"prepare": prepare, "freeze": freeze, "apply": apply}

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "annotator.settings")
    import django

    django.setup()
    action, about = sys.argv[2:]
    print(json.dumps(ACTIONS[action](json.loads(about))))
