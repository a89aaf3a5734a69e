"""The demo's competition, answered and scored, so that ranks, heat map and galleries have data.

The photographs are real, the annotators are simulated. They answer according to a file of classes
that are seen on each photograph (seen.csv), and reject the drawing.
"""

import csv
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from annotator.demo.joining import join
from evaluation.benchmarks import runs
from evaluation.benchmarks.kinds.mad import competitions
from evaluation.metrics.wordnet import nouns
from evaluation.models import Benchmark, Run
from labeling.answers import submitting
from labeling.answers.submitted_answers import uuid7
from labeling.assignment import claiming
from labeling.campaigns import lifecycle
from labeling.jobs import queue
from labeling.models import Campaign, Dataset, Job, Seat, User

SOURCE = Path(__file__).resolve().parent
NAME = "demo-labeled"
TITLE = "MAD demo: 4 simulated classifiers, labeled"
# Three votes per question are enough for ranks, and fast.
POLICY = {"votes": 3, "gold_share": 0}
ANSWERED = ("carol", "dave", "erin")
DRAWING = "horse.png"
# Shortest time of an answer in milliseconds, and the range above it.
ANSWER_MS, MORE_MS = 1400, 2600


def is_loaded(name: str = NAME) -> bool:
    return Run.objects.filter(benchmark__name=name, state=Run.State.DONE).exists()


def load(
    users: dict[str, User],
    owner: User,
    dataset: Dataset,
    lines: list[dict[str, Any]],
    instructions: str,
    *,
    name: str = NAME,
    title: str = TITLE,
    seen: str = "seen.csv",
    vocabulary: Sequence[str] | None = None,
) -> Benchmark:
    """Create the benchmark with its result on the first call; return it. Safe to call again.

    users: by name, all of ANSWERED. lines: of the selection, the meta line first. seen: the file
    of the answers "yes". vocabulary: classes to choose a true label from, by default the
    selection's.
    """
    benchmark = competitions.create(
        owner,
        name=name,
        title=title,
        dataset=dataset,
        lines=lines,
        policy=POLICY,
        instructions=instructions,
        wordnet=nouns.load(),
        vocabulary=vocabulary,
    )
    if is_loaded(name):
        return benchmark
    with (SOURCE / seen).open(encoding="utf-8", newline="") as file:
        yes = {(row["image"], row["wnid"]) for row in csv.DictReader(file)}
    _label(benchmark.campaign, owner, [users[person] for person in ANSWERED], yes)
    score(benchmark, owner)
    return benchmark


def score(benchmark: Benchmark, owner: User) -> None:
    job = runs.job_of(runs.score_now(benchmark, owner))
    if job is not None:
        queue.run(job.pk)


def _label(
    campaign: Campaign, owner: User, members: list[User], seen: set[tuple[str, str]]
) -> None:
    """Answer every question for every annotator and close the campaign."""
    if campaign.state == Campaign.State.CLOSED:
        return
    if campaign.state == Campaign.State.DRAFT:
        lifecycle.launch(campaign, owner)
        join(campaign, owner, members)

    def value(image: str, topic: str) -> str:
        if image == DRAWING:
            return "not_photo"
        return "yes" if (image, topic) in seen else "no"

    while sum(answer(user, campaign, value) for user in members):
        # The replacement of the rejected drawing is asked in the next round.
        for pk in campaign.jobs.filter(state=Job.State.QUEUED).values_list("pk", flat=True):
            queue.run(pk)
    lifecycle.change_state(campaign, owner, "close")


def answer(user: User, campaign: Campaign, value: Callable[[str, str], object]) -> int:
    """Answer as this person until no questions are left; return the number of answers.

    value: the answer for an image and a topic.
    """
    count = 0
    while seats := claiming.next_page(user, campaign).seats:
        rows = Seat.objects.filter(token__in=[seat.token for seat in seats]).values_list(
            "token", "question__item__image__name", "question__topic"
        )
        sent = [
            submitting.SubmittedAnswer(uuid7(), token, value(image, topic), _took(user, image))
            for token, image, topic in rows
        ]
        count += len(submitting.submit(user, campaign, sent))
    return count


def _took(user: User, image: str) -> int:
    return ANSWER_MS + zlib.crc32(f"{user.username} {image}".encode()) % MORE_MS
