"""Freezing 60,000 questions with five votes each by one process and by two, on PostgreSQL.

`python -m benchmarks freeze [--size QUESTIONS]`. In a throwaway database, one process freezes
alone; then a worker helps it; then the worker is killed in the middle of a range. The three
releases must have the same bytes. Each process is new, so that its memory can be measured.
"""

import signal
import subprocess
import tempfile
import time
from functools import partial
from typing import Any

from benchmarks import Row, load, own_process, row, sized

VOTES = 5
PEOPLE = 40
TOPICS = 3
MAX_RATIO = 0.65
MAX_MIB = 200
LEASE_SECONDS = 3
Start = partial[subprocess.Popen[str]]


def main(questions: int = sized(60_000, 6_000)) -> list[Row]:
    """Return the rows; none without a server."""
    with own_process.postgres() as url, tempfile.TemporaryDirectory() as folder:
        if url is None:
            return []
        start = partial(
            own_process.start,
            "bench_freeze",
            folder,
            url=url,
            ASSAY_JOB_LEASE_SECONDS=str(LEASE_SECONDS),
            CELERY_BROKER_URL="filesystem://",
        )
        own_process.result(start("prepare", questions))
        alone = own_process.result(start("freeze"))
        together, worker = freeze_with_worker(start, kill=False)
        after_kill, _ = freeze_with_worker(start, kill=True)
    ratio = together["seconds"] / alone["seconds"]
    hashes = {run["sha256"] for run in (alone, together, after_kill)}
    memory = max(run["mib"] for run in (alone, together, worker, after_kill))
    return [
        row(
            f"freezing {questions:,} questions, {questions * VOTES:,} votes, by two",
            f"{ratio:.2f}: {together['seconds']:.1f} s, by one {alone['seconds']:.1f} s, snapshot "
            f"{alone['snapshot']:.1f} s, {worker['pieces']} pieces of the worker, {load()}",
            f"≤ {MAX_RATIO} × by one",
            ratio <= MAX_RATIO,
        ),
        row(
            f"the same, a worker killed in a range (lease {LEASE_SECONDS} s)",
            f"{len(hashes)} hash, {after_kill['seconds']:.1f} s",
            "the same hashes",
            len(hashes) == 1,
        ),
        row(
            "memory of each process",
            f"{memory} MiB at most",
            f"< {MAX_MIB} MiB",
            memory < MAX_MIB,
        ),
    ]


def freeze_with_worker(start: Start, kill: bool) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the results of the freeze and of the worker; the worker's is empty if it is killed."""
    worker = start("work", kill)
    assert worker.stdout is not None
    assert worker.stdout.readline() == "ready\n"
    freezing = start("freeze")
    if kill:
        # The worker prints a line in the middle of a range and waits there.
        assert worker.stdout.readline() == "in a range\n"
        worker.send_signal(signal.SIGKILL)
        worker.wait()
        worker.stdout.close()
        return own_process.result(freezing), {}
    frozen = own_process.result(freezing)
    worker.send_signal(signal.SIGTERM)
    return frozen, own_process.result(worker)


# In processes of their own, with Django set up.


def prepare(questions: int) -> None:
    """Make a campaign whose questions are settled or dropped by five people's votes each.

    Every seventh question is dropped; every fifth has one more answer, a late one.
    """
    from benchmarks import worlds

    owner, pond = worlds.begin()
    images = len(worlds.add_images(pond, questions // TOPICS + 1))
    campaign = worlds.campaign(owner, pond, "large", "contains", votes=VOTES)
    people = worlds.add_people(PEOPLE, campaign)

    def fields(n: int) -> dict[str, Any]:
        return {"topic": f"n0{n // images}", "state": "settled" if n % 7 else "dropped"}

    def votes(n: int) -> list[tuple[int, str, bool]]:
        return [
            (people[(n * 7 + v) % PEOPLE], "yes" if (n + v) % 3 else "no", v == VOTES)
            for v in range(VOTES if n % 5 else VOTES + 1)
        ]

    worlds.fill(campaign, questions, fields, votes)
    worlds.end()


def freeze(_: None) -> dict[str, Any]:
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


def work(kill: bool) -> dict[str, Any]:
    """Run jobs until SIGTERM. With `kill`, print a line in the middle of a range and wait there."""
    from labeling.jobs import queue
    from labeling.releases import chunk_files

    over: list[bool] = []
    signal.signal(signal.SIGTERM, lambda *_: over.append(True))
    usual, made = chunk_files.write, []

    def write(*arguments: Any) -> None:
        usual(*arguments)
        made.append(True)
        if kill:
            print("in a range", flush=True)
            time.sleep(600)

    chunk_files.write = write
    print("ready", flush=True)
    while not over:
        if not queue.run_all():
            time.sleep(0.05)
    return {"mib": own_process.peak_mib(), "pieces": len(made)}
