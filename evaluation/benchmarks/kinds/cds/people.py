"""People as a classifier: a naming campaign asks what single frames show.

One person sees one frame of an object, in any scheme (labeling/campaigns/subjects.py).
people/frames.jsonl in the benchmark's folder lists the image of each frame; answers come from the
campaign's latest release. See docs/explanation/cds.md.
"""

import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from django.db import transaction

from evaluation.benchmarks import class_lists, folders, submissions
from evaluation.benchmarks.kinds.cds import benchmarks
from evaluation.benchmarks.kinds.cds.versions import SequenceHistory
from evaluation.metrics.wordnet.nouns import UnknownLabel, load
from evaluation.models import Benchmark
from evaluation.readers.answers import json_lines
from evaluation.readers.frame_predictions import (
    NOT_ASKED,
    NOTHING,
    PEOPLE,
    FramePredictions,
)
from evaluation.readers.sequences import SequenceLine, object_of
from labeling.campaigns import lifecycle
from labeling.datasets import datasets
from labeling.errors import Conflict, Refusal
from labeling.jobs import queue, shared_files
from labeling.kinds import policies
from labeling.models import Campaign, Dataset, Job, Membership, Release, User
from labeling.releases import freezing

JOB = "frame campaign"
QUESTION = "What is it?"
# Neutral: a benchmark's title may reveal what its objects are.
TITLE = "Image naming: single frames"
INSTRUCTIONS = (
    "You see a part of one object; the rest is black or blurred. Find the object in the list. If "
    "you are not sure, take what you think is most likely.\n\n"
    "“None of these”: you know what it is, and the list does not have it. “Too hard to tell”: you "
    "cannot even guess. Nobody sees two pictures of one object."
)
SECONDS_PER_ANSWER = 8.0
MIN_VOTES, MAX_VOTES = 1, 25


@dataclass(frozen=True)
class AskedFrames:
    """The frames that people are asked about.

    objects: the largest number of objects, drawn by the benchmark's seed; None for all.
    """

    part_schemes: tuple[str, ...]
    content_schemes: tuple[str, ...]
    objects: int | None = None


@dataclass(frozen=True)
class NamingCost:
    """Estimated cost. people: the least number of different people, since each sees one frame of an
    object. estimate: as in lifecycle.estimate.
    """

    objects: int
    sequences: int
    frames: int
    people: int
    estimate: lifecycle.AskingCost


def asked_of(
    benchmark: Benchmark,
    part_scheme: str | Sequence[str],
    content_scheme: str | Sequence[str],
    objects: int | None = None,
) -> AskedFrames:
    """Return the schemes, each given alone or as a list. Raises Refusal for an unknown scheme."""
    chosen = []
    for field, value in (("part_scheme", part_scheme), ("content_scheme", content_scheme)):
        names = tuple(dict.fromkeys([value] if isinstance(value, str) else value))
        known = benchmark.settings[f"{field}s"]
        if not names or not set(names) <= set(known):
            raise Refusal(f"Choose among what is revealed: {', '.join(known)}.", field=field)
        chosen.append(names)
    if objects is not None and objects < 1:
        raise Refusal("Ask about one object or more.", field="objects")
    return AskedFrames(chosen[0], chosen[1], objects)


def lines_of(benchmark: Benchmark, selection: AskedFrames) -> list[SequenceLine]:
    """Return the sequences that people are asked about: the opening's, then those of later truths.

    With a limit, objects drawn from the opening come before objects of later truths.
    """
    by_release = [
        [
            line
            for line in lines
            if line.part_scheme in selection.part_schemes
            and line.content_scheme in selection.content_schemes
        ]
        for _, lines in SequenceHistory.of(benchmark).by_release()
    ]
    lines = [line for lines in by_release for line in lines]
    opening, *_ = (dict.fromkeys(map(object_of, lines)) for lines in by_release)
    objects = list(dict.fromkeys(map(object_of, lines)))
    if selection.objects is None or selection.objects >= len(objects):
        return lines
    most = min(selection.objects, len(opening))
    drawn = random.Random(benchmark.settings["seed"]).sample([*opening], most)
    chosen = set([*drawn, *objects[len(opening) :]][: selection.objects])
    return [line for line in lines if object_of(line) in chosen]


def cost(benchmark: Benchmark, selection: AskedFrames, votes: int) -> NamingCost:
    """Return the highest cost; identical frames of one object are asked only once."""
    lines = lines_of(benchmark, selection)
    frames = Counter({(line.image, line.object): 0 for line in lines})
    for line in lines:
        frames[line.image, line.object] += len(set(line.frames))
    return NamingCost(
        objects=len(frames),
        sequences=len(lines),
        frames=frames.total(),
        people=max(frames.values(), default=0) * votes,
        estimate=lifecycle.estimate(frames.total(), _policy(votes)),
    )


def default_classes(benchmark: Benchmark) -> list[str]:
    """Return the wnids of the benchmark's categories and of the classes in its mapping."""
    mapping = benchmark.settings["mapping"] or {}
    every = SequenceHistory.of(benchmark).by_release()
    wnids = {line.category for _, lines in every for line in lines}
    return sorted(wnids.union(*mapping.values()))


def vocabulary_of(benchmark: Benchmark, wnids: Iterable[str] | None = None) -> list[dict[str, str]]:
    """Return {"key", "name"} of the classes to choose from. Raises Refusal if WordNet lacks one."""
    try:
        return class_lists.classes(wnids or default_classes(benchmark), load())
    except UnknownLabel as unknown:
        raise Refusal(
            f"{unknown.label!r} is not a noun of WordNet 3.0. Give wnids such as n02084071, one a "
            "line.",
            field="vocabulary",
        ) from None


def ask(
    benchmark: Benchmark,
    actor: User,
    *,
    part_scheme: str | Sequence[str],
    content_scheme: str | Sequence[str],
    votes: int,
    vocabulary: Sequence[str] | None = None,
    objects: int | None = None,
) -> Campaign:
    """Create the draft campaign in which people will name the frames; a job adds the questions.

    Every frame is named by `votes` people from `vocabulary` (wnids). The actor invites people
    and opens the campaign once the job is done. Raises Refusal, and Conflict if there is a campaign
    already.
    """
    selection = asked_of(benchmark, part_scheme, content_scheme, objects)
    if not MIN_VOTES <= votes <= MAX_VOTES:
        raise Refusal(f"Let {MIN_VOTES} to {MAX_VOTES} people name each frame.", field="votes")
    classes = vocabulary_of(benchmark, vocabulary)
    with transaction.atomic():
        current = submissions.lock_benchmark(benchmark)
        if current.naming_id is not None:
            raise Conflict(
                "People are already asked about frames of this benchmark. Create another benchmark "
                "to ask about other frames."
            )
        campaign = lifecycle.create(
            actor,
            name=_free_name(Campaign, f"frames-{benchmark.pk}"),
            title=TITLE,
            kind="naming",
            dataset=_dataset(benchmark, actor),
            instructions=INSTRUCTIONS,
            settings={"vocabulary": classes, "question": QUESTION},
            policy=_policy(votes),
        )
        benchmark.naming = campaign
        benchmark.save(update_fields=["naming"])
        _share(benchmark.campaign, campaign, actor)
        submissions.enter(benchmark, actor, PEOPLE, is_people=True)
        payload = {
            "benchmark": benchmark.pk,
            "part_schemes": selection.part_schemes,
            "content_schemes": selection.content_schemes,
            "objects": selection.objects,
        }
        queue.enqueue(JOB, str(benchmark.pk), payload, campaign)
    return campaign


def ask_again(benchmark: Benchmark, version: int) -> None:
    """Queue the job for the frames of a new version, if people are asked about this benchmark."""
    naming = benchmark.naming
    earlier = Job.objects.filter(kind=JOB, key=str(benchmark.pk)).order_by("pk").first()
    if naming is None or naming.state == Campaign.State.CLOSED or earlier is None:
        return
    queue.enqueue(JOB, str(benchmark.pk), earlier.payload | {"version": version}, naming)


def frames_path(benchmark: Benchmark) -> Path:
    """Return the path of the JSONL file of frames: {"frame": id, "image": name} per line.

    Each job writes a new file, so that copies on other machines stay valid.
    """
    done = Job.objects.filter(kind=JOB, key=str(benchmark.pk), state=Job.State.DONE)
    job = done.order_by("pk").last()
    file = frames_file(job.payload if job else {})
    return shared_files.find(frames_place(benchmark, file), frames_name(benchmark, file))


def frames_file(payload: Mapping[str, object]) -> str:
    """Return the name of the file that a job writes."""
    return f"frames-{payload['version']}.jsonl" if "version" in payload else "frames.jsonl"


def frames_place(benchmark: Benchmark, file: str) -> Path:
    """Return the path at which this machine writes such a file."""
    return folders.folder_of(benchmark) / "people" / file


def frames_name(benchmark: Benchmark, file: str) -> str:
    return folders.stored_name(benchmark, f"people/{file}")


def predictions(benchmark: Benchmark, frames: dict[str, int]) -> FramePredictions | None:
    """Return people's answers to these frames as the classifier `people`.

    They are in the campaign's latest release. None if nothing is settled yet. A frame answered
    "none of these", or dropped as too hard or for disagreement, has no name; an open frame counts
    as not asked, so its sequence has no score.
    """
    settled = _settled(benchmark)
    if not settled:
        return None
    class_numbers = np.full(len(frames), NOT_ASKED, np.int32)
    classes: dict[str, int] = {}
    for frame, wnid in settled.items():
        if frame not in frames:
            continue
        is_named = wnid not in (None, "none")
        class_numbers[frames[frame]] = (
            classes.setdefault(str(wnid), len(classes)) if is_named else NOTHING
        )
    return FramePredictions((PEOPLE,), {PEOPLE: class_numbers}, tuple(classes), frames)


def notes(benchmark: Benchmark) -> list[str]:
    """Return a note on how many sequences wait for people's answers."""
    if benchmark.naming is None or not frames_path(benchmark).exists():
        return []
    images, settled = set(_images(benchmark)), _settled(benchmark)
    lines = [line for line in benchmarks.lines_of(benchmark) if images.issuperset(line.frames)]
    waiting = sum(not settled.keys() >= set(line.frames) for line in lines)
    if not waiting:
        return []
    return [
        f"People were asked about {len(lines)} sequences; {waiting} of them have frames that are "
        "not settled yet and are left out of people’s scores."
    ]


def _settled(benchmark: Benchmark) -> dict[str, str | None]:
    """Return frame → its value in the latest release; open frames are left out."""
    release = latest(benchmark.naming)
    if release is None or not frames_path(benchmark).exists():
        return {}
    wnid_of = {line["image"]: line["wnid"] for line in freezing.read(release).answers()}
    return {
        frame: wnid_of[image] for frame, image in _images(benchmark).items() if image in wnid_of
    }


def _images(benchmark: Benchmark) -> dict[str, str]:
    """Return frame → image."""
    return {str(row["frame"]): str(row["image"]) for _, row in json_lines(frames_path(benchmark))}


def latest(naming: Campaign | None) -> Release | None:
    """Return the release with the campaign's current state, else its newest one."""
    if naming is None:
        return None
    rows = list(naming.releases.order_by("-number"))
    marks = freezing.fingerprint(naming)
    return next(
        (row for row in rows if row.counts.get("marks") == marks), rows[0] if rows else None
    )


def _policy(votes: int) -> policies.WholePolicy:
    """Return a policy under which exactly `votes` people name each frame; disagreement means no
    name.
    """
    return policies.clean(
        {
            "votes": votes,
            "max_votes": votes,
            "stop_early": "never",
            "undecided": "drop",
            "gold_share": 0,
            "seconds_per_answer": SECONDS_PER_ANSWER,
        }
    )


def _share(source: Campaign, naming: Campaign, actor: User) -> None:
    """Copy the researchers of the benchmark's campaign. Annotators are invited again."""
    role = Membership.Role.RESEARCHER
    others = source.memberships.active().filter(role=role).exclude(user=actor)
    Membership.objects.bulk_create(
        [Membership(user_id=row.user_id, campaign=naming, role=role) for row in others]
    )


def _dataset(benchmark: Benchmark, actor: User) -> Dataset:
    return datasets.create(
        actor,
        name=_free_name(Dataset, f"{benchmark.name[:70]}-frames"),
        description=f"Frames of {benchmark.title}, which people name one by one.",
    )


def _free_name(model: Any, name: str) -> str:
    """Return the name, with a number appended if it is taken."""
    tried = (name if number < 2 else f"{name}-{number}" for number in range(1, 1_000))
    return next(
        candidate for candidate in tried if not model.objects.filter(name=candidate).exists()
    )
