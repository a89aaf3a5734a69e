"""Steps that several kinds of benchmark share: create benchmarks, add submissions, write files."""

from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import TypeVar

from django.db import IntegrityError, transaction
from django.db.models import Max

from evaluation.benchmarks import folders, truth_versions
from evaluation.models import Benchmark, Submission
from labeling.campaigns import lifecycle
from labeling.errors import Conflict, NotYours, Refusal
from labeling.files import BadInput, atomic_write
from labeling.models import Campaign, Question, Release, User
from labeling.plurals import count_of
from labeling.records import Record, to_json
from labeling.releases import freezing

Read = TypeVar("Read")


def check_names(name: str, title: str) -> None:
    """Raise Refusal for a name that cannot be part of a URL, and for an empty title."""
    lifecycle.check_name(name)
    if not title.strip():
        raise Refusal("Give the benchmark a title.", field="title")


def check_settled(campaign: Campaign, refusal: str) -> None:
    """Raise Refusal with the message `refusal` if no question of the campaign is settled."""
    if not campaign.questions.filter(state=Question.State.SETTLED).exists():
        raise Refusal(refusal, field="campaign")


def release_of(campaign: Campaign, owner: User, unsettled: str) -> Release:
    """Return the campaign's latest release that is not interim, or freeze a new one.

    Raises Refusal with the message `unsettled` if there is nothing to freeze.
    """
    release = freezing.latest_kept(campaign)
    if release is None:
        check_settled(campaign, unsettled)
        release = freezing.freeze(campaign, owner)
    return release


def publish(
    benchmark: Benchmark, folder: Path, same: Callable[[Benchmark], Benchmark | None]
) -> Benchmark:
    """Save a new benchmark with its folder.

    If the name is taken, return the benchmark that `same` returns; raise Conflict if it is None.
    """
    try:
        with transaction.atomic():
            benchmark.save(force_insert=True)
            truth_versions.open_first(benchmark)
            folders.publish(benchmark, folder)
    except IntegrityError as error:
        existing = same(benchmark)
        if existing is None:
            raise Conflict(
                f"A benchmark is already called {benchmark.name!r}. Choose another name.",
                field="name",
            ) from error
        return existing
    return benchmark


def lock_benchmark(benchmark: Benchmark) -> Benchmark:
    """Return the benchmark, locked until the caller's transaction ends."""
    return Benchmark.objects.select_for_update().get(pk=benchmark.pk)


def submission_at(benchmark: Benchmark, position: int) -> Submission:
    """Return the submission at this position. Raises NotYours if there is none."""
    row = benchmark.submissions.filter(position=position).first()
    if row is None:
        raise NotYours("The benchmark has no such classifier.")
    return row


def missing_frames(benchmark: Benchmark, names: Collection[str]) -> dict[str, int]:
    """Return classifier → number of missing frames, for those of these that lack any (cds)."""
    rows = benchmark.submissions.filter(name__in=names, missing_frames__gt=0)
    return dict(rows.values_list("name", "missing_frames"))


def missing_notes(missing: Mapping[str, int]) -> list[str]:
    """Return a note on each classifier that lacks frames, given their number."""
    return [
        f"{name} lacks {count_of(number, 'frame')}; missing frames count as wrong."
        for name, number in missing.items()
    ]


def enter(benchmark: Benchmark, actor: User, name: str, **fields: object) -> Submission:
    """Create a submission after the existing ones. The caller holds the lock on the benchmark."""
    last = benchmark.submissions.aggregate(last=Max("position"))["last"]
    return Submission.objects.create(
        benchmark=benchmark,
        name=name,
        position=0 if last is None else last + 1,
        submitted_by=actor,
        **fields,
    )


def read_all(benchmark: Benchmark, read: Callable[[list[Submission]], Read]) -> Read:
    """Return read(submissions of classifiers); repeat it if a file was replaced during the call.

    Raises the error of `read` if no file was replaced.
    """
    machines = benchmark.submissions.filter(is_people=False)
    while True:
        rows = list(machines.all())
        try:
            return read(rows)
        except (BadInput, FileNotFoundError):
            if dict(machines.values_list("pk", "sha256")) == {row.pk: row.sha256 for row in rows}:
                raise


def write_lines(path: Path, lines: Iterable[Record | Mapping[str, object]]) -> None:
    """Write a JSONL file."""
    with atomic_write(path) as file:
        for line in lines:
            file.write(to_json(line) + "\n")
