"""Selections of pools: plans, jobs that run `mad select` as a child process, competitions.

The only writer of PoolSelection.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import IO, Any

from django.core.files import File
from django.core.files.base import ContentFile
from django.core.files.storage import storages
from django.db import transaction

from evaluation.benchmarks.kinds.mad import competitions
from evaluation.benchmarks.uploads import load_wordnet, uploaded, without_folder
from evaluation.metrics.mad.selection import SelectionRule
from evaluation.metrics.wordnet.distances import WORDNET_DISTANCES
from evaluation.models import Pool, PoolSelection
from evaluation.pools import making, registering
from evaluation.readers import selections
from evaluation.readers.pools import PredictionPool, read_pool
from evaluation.readers.selections import RankedSelection
from evaluation.selection import overlaps
from evaluation.selection.distance_files import read_distances
from evaluation.selection.overlaps import PairCount, SelectionOverlap
from labeling.campaigns.access import check_may_open
from labeling.datasets.near_images import fingerprints_of
from labeling.disk_full import converting_disk_full
from labeling.errors import NotYours, Refusal, TooLarge
from labeling.files import BadInput
from labeling.jobs import child, queue
from labeling.kinds import policies
from labeling.models import Dataset, Job, User
from labeling.near_duplicates import choosing as near_duplicates
from labeling.near_duplicates.choosing import KnownImage
from labeling.records import Record
from labeling.reports.forecasts import CostEstimate

KIND = "select"
RULE = tuple(vars(SelectionRule()))
BATCH = 1000
# Most bytes of a tree or matrix; 1,000 classes at full precision take 20 MB.
MAX_DISTANCES = 32 * 1024 * 1024
NOT_MADE = "The selection is not made yet. Try again when its job is done."


@dataclass(frozen=True)
class PoolSettings:
    """The options of `mad select` for a pool. classifiers: empty for all.

    distance: one that `mad select` knows, or the name of the user's file. content: the bytes of
    that file.
    """

    pool: Pool
    classifiers: list[str]
    rule: SelectionRule
    distance: str
    content: bytes = b""

    def to_json(self) -> dict[str, object]:
        sha256 = {"distance_sha256": self.content_sha256} if self.content else {}
        values = {"classifiers": self.classifiers, **vars(self.rule), "distance": self.distance}
        return values | sha256

    @property
    def content_sha256(self) -> str:
        return hashlib.sha256(self.content).hexdigest()


@dataclass(kw_only=True)
class NearImage(Record):
    """A chosen image that looks like another chosen one."""

    image: str
    kept: str
    distance: int


@dataclass(kw_only=True)
class SelectionSummary(Record):
    """Counts of a selection. pairs: chosen images of each; near: near-duplicates among them."""

    images: int
    questions: int
    reserve: int
    short_pairs: int
    pairs: list[PairCount]
    near: list[NearImage]


@dataclass(frozen=True)
class SelectionPlan:
    """What a selection yields at most, and what asking about it costs by the default rules.

    short: pairs that yield fewer than images_per_pair.
    """

    classifiers: list[str]
    pairs: int
    images_per_pair: int
    short: list[PairCount]
    images: int
    questions: int
    estimate: CostEstimate


def settings_of(pool: Pool, values: Mapping[str, Any]) -> PoolSettings:
    """Return the checked settings. values: cleaned data of the form or the API.

    Raises Refusal for unknown classifiers and fewer than two, and for an unmade pool.
    """
    if not pool.file:
        raise NotYours(making.NOT_MADE)
    chosen = list(dict.fromkeys(values.get("classifiers") or []))
    if unknown := [name for name in chosen if name not in pool.names]:
        raise Refusal(
            f"The pool has no classifier {unknown[0][:100]!r}. It has {', '.join(pool.names)}.",
            field="classifiers",
        )
    if len(chosen or pool.names) < 2:
        raise Refusal(
            "A selection compares two classifiers or more. "
            + ("Choose another one." if chosen else "Make a pool of several."),
            field="classifiers",
        )
    file = values.get("distances")
    if file and file.size > MAX_DISTANCES:
        raise TooLarge("The file is larger than 32 MiB.", field="distances")
    return PoolSettings(
        pool,
        chosen,
        SelectionRule(**{key: values[key] for key in RULE}),
        _csv_name(file.name) if file else values["distance"],
        file.read() if file else b"",
    )


def plan(chosen: PoolSettings) -> SelectionPlan:
    """Return what the settings yield at most. Raises Refusal as request() does."""
    with _opened(chosen) as pool:
        counts = [
            PairCount(
                pair=(a, b),
                images=overlaps.most_images(
                    pool.predictions[a], pool.predictions[b], chosen.rule, len(pool.classes)
                ),
            )
            for a, b in combinations(pool.predictions, 2)
        ]
        names = list(pool.predictions)
    images = sum(count.images for count in counts)
    return SelectionPlan(
        classifiers=names,
        pairs=len(counts),
        images_per_pair=chosen.rule.top_k,
        short=[count for count in counts if count.images < chosen.rule.top_k],
        images=images,
        questions=2 * images,
        estimate=estimate(2 * images),
    )


def estimate(questions: int) -> CostEstimate:
    """Return the cost of this many questions by the rules of a new campaign."""
    return competitions.estimate(questions, policies.clean_new(None))


def request(chosen: PoolSettings, actor: User) -> PoolSelection:
    """Return the selection with these settings: the existing one, or a new one with its job.

    Raises NotAllowed, and Refusal for classes that the distance does not know.
    """
    check_may_open(actor)
    with _opened(chosen):
        pass
    pool, stated = chosen.pool, chosen.to_json()
    if chosen.content and not storages["data"].exists(_stored_csv(stated)):
        storages["data"].save(_stored_csv(stated), ContentFile(chosen.content))
    with transaction.atomic():
        Pool.objects.select_for_update(no_key=True, of=("self",)).get(pk=pool.pk)
        equal = pool.selections.filter(settings=stated).exclude(job__state=Job.State.FAILED)
        if row := equal.first():
            return row
        last = PoolSelection.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
        job = queue.enqueue(KIND, f"pool {pool.pk} after selection {last}")
        return PoolSelection.objects.create(pool=pool, settings=stated, job=job, created_by=actor)


def selection_for(pool: Pool, pk: int) -> PoolSelection:
    """Return the pool's selection of that number. Raises NotYours."""
    row = pool.selections.select_related("job", "created_by").filter(pk=pk).first()
    if row is None:
        raise NotYours("The pool has no such selection.")
    row.pool = pool
    return row


def summary_of(row: PoolSelection) -> SelectionSummary:
    return SelectionSummary.from_json(row.summary)


def open_file(row: PoolSelection) -> IO[bytes]:
    """Return selection.jsonl, for the caller to close. Raises NotYours until it is made."""
    if not row.file:
        raise NotYours(NOT_MADE)
    return storages["data"].open(row.file)


def execute(job: Job) -> None:
    """Run the job "select": choose the images and save them. May run twice."""
    row = PoolSelection.objects.select_related("pool__dataset").filter(job=job).first()
    if row is None or row.file:
        return
    with converting_disk_full(), making.unpack_pool(row.pool) as folder:
        out = folder / "selection.jsonl"
        child.manage(
            job,
            folder,
            *_arguments(row.settings, folder),
            f"--out={out}",
            "--json",
            environment=registering.wordnet_variables(),
        )
        summary = _summary(row.pool.dataset, selections.read_ranked(out))
        with out.open("rb") as file:
            stored = storages["data"].save(f"selections/{row.pk}.jsonl", File(file))
    # Write only while this worker holds the job.
    queue.renew_child(job, job.last_line, job.exit_code)
    PoolSelection.objects.filter(pk=row.pk).update(file=stored, summary=summary.to_json())


def compare(first: PoolSelection, second: PoolSelection) -> SelectionOverlap:
    """Return what two selections share. Raises NotYours unless both are made."""
    return overlaps.overlap(_read(first), _read(second))


def competition_arguments(row: PoolSelection) -> dict[str, object]:
    """Return the arguments of competitions.create that the selection determines."""
    with open_file(row) as file, uploaded(File(file)) as path:
        net = selections.wordnet_for(path, load_wordnet)
        lines = selections.read(path, net, "selection.jsonl")
    return {
        "dataset": row.pool.dataset,
        "lines": lines,
        "wordnet": net,
        "pool_selection": row,
    }


@contextmanager
def _opened(chosen: PoolSettings) -> Iterator[PredictionPool]:
    """Yield the predictions. Raises Refusal for a class that the distance does not know."""
    wordnet = load_wordnet() if chosen.distance in WORDNET_DISTANCES else None
    with making.unpack_pool(chosen.pool) as folder:
        try:
            pool = read_pool(folder, chosen.classifiers or None, wordnet)
            if chosen.content:
                path = folder / chosen.distance
                path.write_bytes(chosen.content)
                read_distances(path).refuse_missing(pool.classes, "classes.txt")
        except BadInput as bad:
            raise _refusal(bad, chosen) from bad
        yield pool


def _refusal(bad: BadInput, chosen: PoolSettings) -> Refusal:
    fault = without_folder(bad)
    if fault.file == "classes.txt" and not chosen.content:
        cure = "choose zero-one, which takes any class names, or give a tree or a matrix"
        return Refusal(f"{without_folder(bad, cure)}.", field="distance")
    return Refusal(f"{fault}.", field="distances")


def _csv_name(name: str | None) -> str:
    """Return the name of the user's file if it is a safe argument, else distances.csv."""
    # A file name has at most 255 bytes; a character takes up to four.
    return name if name and re.fullmatch(r"\w[\w.-]{0,50}\.csv", name) else "distances.csv"


def _stored_csv(settings: Mapping[str, object]) -> str:
    return f"selections/{settings['distance_sha256']}.csv"


def _arguments(settings: Mapping[str, Any], folder: Path) -> list[str]:
    """Return the arguments of `mad select`, and put the user's distances into the folder."""
    distance = settings["distance"]
    if "distance_sha256" in settings:
        with storages["data"].open(_stored_csv(settings)) as file:
            (folder / distance).write_bytes(file.read())
        distance = folder / distance
    arguments = ["mad", "select", f"--predictions={folder}", f"--distance={distance}"]
    numbers = [key for key in RULE if key != "unique_pairs"]
    arguments += [f"--{key.replace('_', '-')}={settings[key]}" for key in numbers]
    arguments += ["--unique-pairs"] * settings["unique_pairs"]
    if settings["classifiers"]:
        arguments.append(f"--classifiers={','.join(settings['classifiers'])}")
    return arguments


def _summary(dataset: Dataset, selection: RankedSelection) -> SelectionSummary:
    chosen = overlaps.chosen_of(selection)
    pairs = overlaps.pair_counts(selection)
    return SelectionSummary(
        images=len({line.image for line in chosen}),
        questions=len({key for line in chosen for key in line.questions}),
        reserve=len(selection.images) - len(chosen),
        short_pairs=sum(count.images < selection.meta.top_k for count in pairs),
        pairs=pairs,
        near=_near(dataset, sorted({line.image for line in chosen})),
    )


def _near(dataset: Dataset, names: list[str]) -> list[NearImage]:
    images = [
        KnownImage(name, views)
        for start in range(0, len(names), BATCH)
        for name, views in fingerprints_of(dataset, names=names[start : start + BATCH])
    ]
    return [
        NearImage(image=images[row.image].name, kept=images[row.kept].name, distance=row.distance)
        for row in near_duplicates.choose(images)
    ]


def _read(row: PoolSelection) -> RankedSelection:
    with open_file(row) as file, uploaded(File(file)) as path:
        return selections.read_ranked(path)
