"""Freezing 60,000 questions with five votes each by one process and by two, on PostgreSQL.

`python -m benchmarks freeze`. In a throwaway database: one process freezes alone; then a worker
helps it; then the worker is killed in the middle of a range. The three releases are the same bytes.
Each process is new, so its memory is its own.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks import own_process, sized
from benchmarks.large_campaign import complete

ROOT = Path(__file__).resolve().parents[1]
QUESTIONS = sized(60_000, 6_000)
VOTES = 5
PEOPLE = 40
TOPICS = 3
MOST_RATIO = 0.65
MOST_MIB = 200
LEASE_SECONDS = 3


def main(questions: int = QUESTIONS) -> list[dict[str, Any]]:
    """Rows {"name", "target", "measured", "ok"}; none without a server."""
    with own_process.postgres() as url, tempfile.TemporaryDirectory() as folder:
        if url is None:
            return []
        site = Site(url, folder)
        site.call("prepare", questions)
        alone = site.call("freeze")
        together, worker = site.freeze_with_worker(kill=False)
        after_kill, _ = site.freeze_with_worker(kill=True)
    return _rows(questions, alone, together, worker, after_kill)


def _rows(
    questions: int,
    alone: dict[str, Any],
    together: dict[str, Any],
    worker: dict[str, Any],
    after_kill: dict[str, Any],
) -> list[dict[str, Any]]:
    ratio = together["seconds"] / alone["seconds"]
    hashes = {run["sha256"] for run in (alone, together, after_kill)}
    memory = max(run["mib"] for run in (alone, together, worker, after_kill))
    return [
        {
            "name": f"freezing {questions:,} questions, {questions * VOTES:,} votes, by two",
            "target": f"≤ {MOST_RATIO} × by one",
            "measured": f"{ratio:.2f}: {together['seconds']:.1f} s, by one "
            f"{alone['seconds']:.1f} s, snapshot {alone['snapshot']:.1f} s, "
            f"{worker['pieces']} pieces of the worker, load {os.getloadavg()[0]:.1f}",
            "ok": ratio <= MOST_RATIO,
        },
        {
            "name": f"the same, a worker killed in a range (lease {LEASE_SECONDS} s)",
            "target": "the same hashes",
            "measured": f"{len(hashes)} hash, {after_kill['seconds']:.1f} s",
            "ok": len(hashes) == 1,
        },
        {
            "name": "memory of each process",
            "target": f"< {MOST_MIB} MiB",
            "measured": f"{memory} MiB at most",
            "ok": memory < MOST_MIB,
        },
    ]


class Site:
    """Processes of one database and one data folder."""

    def __init__(self, url: str, folder: str) -> None:
        self.folder = Path(folder)
        self.environment = {
            **os.environ,
            "DATABASE_URL": url,
            "ASSAY_DATA": folder,
            "ASSAY_JOB_LEASE_SECONDS": str(LEASE_SECONDS),
            "CELERY_BROKER_URL": "filesystem://",
            "LOG_LEVEL": "ERROR",
        }

    def start(self, action: str, *about: object) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "benchmarks.bench_freeze", action, *map(str, about)],
            cwd=ROOT,
            env=self.environment,
            stdout=subprocess.PIPE,
            text=True,
        )

    def call(self, action: str, *about: object) -> Any:
        return _result(self.start(action, *about))

    def freeze_with_worker(self, kill: bool) -> tuple[dict[str, Any], dict[str, Any]]:
        """What the freeze says and what the worker does, unless it is killed."""
        worker = self.start("work", int(kill))
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
        freezing = self.start("freeze")
        if kill:
            # In the middle of a range: it says so, and waits there.
            assert worker.stdout.readline() == "in a range\n"
            worker.send_signal(signal.SIGKILL)
            worker.wait()
            worker.stdout.close()
            return _result(freezing), {}
        frozen = _result(freezing)
        worker.send_signal(signal.SIGTERM)
        return frozen, _result(worker)


def _result(process: subprocess.Popen[str]) -> Any:
    out, _ = process.communicate()
    if process.returncode:
        raise RuntimeError(f"{process.args} ended with {process.returncode}")
    return json.loads(out.splitlines()[-1])


# In processes of their own, with Django set up.


def prepare(questions: str) -> None:
    """An open campaign, all of whose questions are settled or dropped by five votes each."""
    from django.core.management import call_command
    from django.db import connection

    from labeling.campaigns import lifecycle
    from labeling.db import question_counts
    from labeling.models import Campaign, Dataset, User

    call_command("migrate", verbosity=0)
    User.objects.bulk_create([User(username=f"person{n}") for n in range(PEOPLE)])
    alice = User.objects.create(username="alice", is_researcher=True)
    first = User.objects.earliest("pk").pk
    pond = Dataset.objects.create(owner=alice, name="pond")
    campaign = lifecycle.create(
        alice,
        name="large",
        title="Large",
        kind="contains",
        dataset=pond,
        policy={"votes": VOTES, "gold_share": 0},
    )
    with connection.cursor() as cursor:
        for statement in _statements(int(questions), campaign, pond.pk, first):
            cursor.execute(complete(statement))
        cursor.execute("ANALYZE")
    Campaign.objects.update(state="open", last_ticket=int(questions))
    question_counts.reconcile(campaign.pk)


def _statements(questions: int, campaign: Any, dataset: int, first: int) -> list[str]:
    """Every question has votes of five of the people; each seventh is dropped, each fifth has a
    late answer more."""
    series = f"generate_series(1, {questions}) AS s(n)"
    images = f"generate_series(0, {questions // TOPICS}) AS s(n)"
    votes = f"{series}, generate_series(0, {VOTES}) AS v(v)"
    late = f"v = {VOTES}"
    uuid_of = "md5(n::text || ' ' || v::text)::uuid"
    return [
        "INSERT INTO labeling_image (id, dataset_id, name, sha256, file, display, thumbnail, "
        "media_type, bytes, width, height, licence, source, added_at) SELECT n + 1, "
        f"{dataset}, 'folder/' || md5(n::text) || '.jpg', lpad(to_hex(n), 64, '0'), 'x', '', '', "
        f"'image/png', 1, 500, 375, 'CC BY 4.0', 'https://example.org/' || n, now() FROM {images}",
        f"INSERT INTO labeling_item (id, image_id, name) SELECT n + 1, n + 1, '' FROM {images}",
        "INSERT INTO labeling_question (id, campaign_id, item_id, topic, round, lane, ticket, "
        f"seats_free, state, policy_id, follow_up) SELECT n, {campaign.pk}, 1 + n / {TOPICS}, "
        f"'n0' || n % {TOPICS}, 0, 1, n, 0, CASE WHEN n % 7 = 0 THEN 'dropped' ELSE 'settled' END, "
        f"{campaign.policy_id}, false FROM {series}",
        "INSERT INTO labeling_assignment (id, question_id, annotator_id, subject, token, state, "
        f"leased_until, created_at, ordinal) SELECT n * {VOTES + 1} + v, n, {first} + "
        f"(n * 7 + v) % {PEOPLE}, n, md5(n::text || '-' || v::text), 'answered', now(), now(), n "
        f"FROM {votes} WHERE v < {VOTES} OR n % 5 = 0",
        "INSERT INTO labeling_answer (id, assignment_id, revision, value, duration_ms, late, "
        f"created_at) SELECT {uuid_of}, n * {VOTES + 1} + v, 0, CASE WHEN (n + v) % 3 = 0 "
        f"THEN '\"no\"' ELSE '\"yes\"' END::jsonb, 900 + v, {late}, now() FROM {votes} "
        f"WHERE v < {VOTES} OR n % 5 = 0",
        "INSERT INTO labeling_settlement (question_id, policy_id, value, answers, reviewed, "
        "created_at) SELECT n, "
        f"{campaign.policy_id}, '\"yes\"', jsonb_agg({uuid_of}::text), false, now() "
        f"FROM {series}, generate_series(0, {VOTES - 1}) AS v(v) GROUP BY n ORDER BY n",
    ]


def freeze() -> dict[str, Any]:
    from labeling.db import batch
    from labeling.models import Campaign
    from labeling.releases import freezing

    campaign = Campaign.objects.get(name="large")
    campaign.releases.all().delete()
    lasted = []
    snapshot = batch.snapshot

    class Timed:
        def __enter__(self) -> None:
            self.begun, self.context = time.monotonic(), snapshot()
            self.context.__enter__()

        def __exit__(self, *error: Any) -> None:
            self.context.__exit__(*error)
            lasted.append(time.monotonic() - self.begun)

    batch.snapshot = Timed  # type: ignore[assignment]
    begun = time.monotonic()
    release = freezing.freeze(campaign)
    return {
        "seconds": time.monotonic() - begun,
        "snapshot": max(lasted),
        "sha256": release.sha256,
        "mib": own_process.peak_mib(),
    }


def work(kill: str) -> dict[str, Any]:
    """Runs jobs until SIGTERM; with kill, says so in the middle of a range and stays there."""
    from labeling.jobs import queue
    from labeling.releases import pieces

    over: list[bool] = []
    signal.signal(signal.SIGTERM, lambda *_: over.append(True))
    usual, made = pieces.write, []

    def write(*given: Any) -> None:
        usual(*given)
        made.append(True)
        if kill == "1":
            print("in a range", flush=True)
            time.sleep(600)

    pieces.write = write
    print("ready", flush=True)
    while not over:
        if not queue.run_all():
            time.sleep(0.05)
    return {"mib": own_process.peak_mib(), "pieces": len(made)}


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "annotator.settings")
    import django

    django.setup()
    action, *about = sys.argv[1:]
    print(json.dumps({"prepare": prepare, "freeze": freeze, "work": work}[action](*about)))
