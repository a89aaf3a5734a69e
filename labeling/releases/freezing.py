"""Releases: what a campaign said at one moment, frozen to files and hashes, and read back.

Equal content gives equal bytes and therefore the same release: freezing twice makes no second
number. How, and why: docs/competitions.md.
"""

import contextlib
import json
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from importlib import metadata
from itertools import groupby
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Count, F, Max, QuerySet
from django.db.models.functions import Collate
from django.utils import timezone

from labeling.errors import NotYours
from labeling.files import StrPath
from labeling.jobs import shared_files
from labeling.kinds import KINDS, Kind
from labeling.kinds.base import CLASS, CONTAINS, GRAPH, OBJECTS
from labeling.models import (
    Answer,
    Calibration,
    Campaign,
    Image,
    Question,
    Release,
    Settlement,
    Topic,
    User,
)
from labeling.release_files import frozen
from labeling.release_files.frozen import FORMAT, Frozen, Line, LineFile
from labeling.releases import graph, parts
from labeling.releases.graph import GraphFingerprint
from labeling.releases.parts import PartFingerprint
from labeling.releases.votes import Votes

# Questions held in memory at once: two queries a chunk.
CHUNK = 500
# Drawings are long: fewer of them.
FEW = 100
FROZEN_STATES = (Question.State.SETTLED, Question.State.DROPPED)


def freeze(
    campaign: Campaign, actor: User | None = None, out: StrPath | None = None, interim: bool = False
) -> Release:
    """The release that holds what the campaign says now: a new one, or the one that already does.

    out: a folder that does not exist yet or is empty; it receives a copy. interim: made by the
    clock while people answer; `prune` may remove it once a newer one stands. Asking again without
    interim keeps it. Everything is read in one snapshot, while answers keep coming in.
    Raises BadInput when `out` cannot be written.
    """
    if out is not None:
        frozen.check_goal(Path(out))
    root = Path(settings.RELEASES_DIR)
    root.mkdir(parents=True, exist_ok=True)
    building = Path(tempfile.mkdtemp(prefix=f".{campaign.name}.", suffix=".part", dir=root))
    try:
        with _snapshot():
            meta, marks = _write(campaign.pk, building)
        release = _publish(campaign, actor, building, meta, marks, interim)
    finally:
        shutil.rmtree(building, ignore_errors=True)
    if out is not None:
        frozen.copy(folder_of(release), Path(out))
    return release


def folder_of(release: Release) -> Path:
    """Where the release's files lie on this machine, fetched if another one froze it."""
    parent, _, _ = release.folder.rpartition("/")
    return shared_files.find(_place(release), _stored_name(parent, release.sha256))


def read(source: Release | StrPath) -> Frozen:
    """A release, once its files were found to have the hashes they were frozen with.

    Raises BadInput naming the file and the cure.
    """
    if isinstance(source, Release):
        return frozen.read(folder_of(source), source.sha256)
    return frozen.read(source)


def latest_kept(campaign: Campaign) -> Release | None:
    """The campaign's newest release that the clock may not prune."""
    rows = campaign.releases.order_by("-number")
    return next((row for row in rows if not row.counts.get("interim")), None)


def release_for(campaign: Campaign, number: int) -> Release:
    """The campaign's release of that number. Raises NotYours when there is none."""
    release = campaign.releases.filter(number=number).first()
    if release is None:
        raise NotYours(f"{campaign.name} has no release {number}.")
    return release


def prune(campaign: Campaign, keep: Release) -> int:
    """How many interim releases went: all but `keep` and those that a run or a benchmark still
    stands on."""
    old = [
        release
        for release in campaign.releases.exclude(pk=keep.pk).filter(runs=None, benchmarks=None)
        if release.counts.get("interim")
    ]
    for release in old:
        release.delete()
        shared_files.remove(_place(release), _stored_name(campaign.name, release.sha256))
    return len(old)


def _place(release: Release) -> Path:
    """Where the release lies on the machine that froze it."""
    return Path(settings.RELEASES_DIR) / release.folder


def _stored_name(campaign: str, sha256: str) -> str:
    # By its content, not its number: it is put there before it has one for certain.
    return f"releases/{campaign}/{sha256}{shared_files.FOLDER}"


class Fingerprint(GraphFingerprint, PartFingerprint):
    """A cheap sign of what a release would hold: while it is unchanged, so is the release."""

    last_settlement: int
    states: dict[str, int]


def fingerprint(campaign: Campaign) -> Fingerprint:
    latest = Settlement.objects.filter(question__campaign=campaign).aggregate(at=Max("pk"))["at"]
    states = dict(
        campaign.questions.order_by()
        .values_list("state")
        .annotate(count=Count("pk"))
        .exclude(state=Question.State.GOLD)
    )
    return {
        "last_settlement": latest or 0,
        "states": dict(sorted(states.items())),
        **graph.fingerprint(campaign),
        **parts.fingerprint(campaign),
    }


@contextlib.contextmanager
def _snapshot() -> Iterator[None]:
    """One unchanging view of the database, that keeps nobody from writing.

    PostgreSQL: a repeatable read. SQLite: a deferred transaction; ours are immediate elsewhere, and
    an immediate one would make every answer wait until the release is written. Inside a caller's
    transaction it is the caller's view.
    """
    if connection.in_atomic_block:
        yield
        return
    if connection.vendor == "sqlite":
        connection.ensure_connection()
        usual = connection.transaction_mode  # type: ignore[attr-defined]
        connection.transaction_mode = "DEFERRED"  # type: ignore[attr-defined]
        try:
            with transaction.atomic():
                yield
        finally:
            connection.transaction_mode = usual  # type: ignore[attr-defined]
        return
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        yield


@dataclass
class _Writer:
    """The files as they grow, with what is counted on the way."""

    folder: Path
    campaign: Campaign
    counts: Counter[str] = field(default_factory=Counter)
    # Which calibrations settled what is in here, by id.
    calibrations: set[int] = field(default_factory=set)
    last_image: int | None = None

    def __post_init__(self) -> None:
        names = frozen.files_of(self.campaign.kind)
        self.files = {name: LineFile(self.folder / name) for name in names}
        self.votes = Votes(self.folder)
        # What a release holds beside answers, where there is a graph or where there are parts.
        self.by_graph = graph.Nodes.of(self.campaign)
        self.by_parts = parts.Objects.of(self.campaign)

    def __enter__(self) -> "_Writer":
        return self

    def __exit__(self, *_: object) -> None:
        for file in (self.votes.raw, *self.files.values()):
            file.file.close()


def _write(campaign_id: int, folder: Path) -> tuple[Line, Fingerprint]:
    campaign = Campaign.objects.select_related("dataset", "policy").get(pk=campaign_id)
    marks = fingerprint(campaign)
    with _Writer(folder, campaign) as writer:
        for topic in Topic.objects.filter(campaign=campaign).order_by(*_by("key")):
            writer.files["topics.jsonl"].write(_topic_line(topic))
        if writer.by_graph is not None:
            _write_graph(writer, campaign, writer.by_graph)
        for chunk in _chunks(_questions(campaign), CHUNK if writer.by_parts is None else FEW):
            _write_chunk(writer, chunk)
        writer.votes.name_people(writer.files["votes.jsonl"])
        meta = {
            "format": FORMAT,
            "version": 1,
            "campaign": {
                "name": campaign.name,
                "title": campaign.title,
                "kind": campaign.kind,
                "dataset": campaign.dataset.name,
                "instructions": campaign.instructions,
                "settings": campaign.settings,
            },
            "policies": list(campaign.policies.order_by("version").values("version", "content")),
            **_calibrations(writer),
            **(writer.by_parts.head() if writer.by_parts else {}),
            "counts": _counts(writer, marks),
            "code_version": code_version(),
            "files": {name: file.close() for name, file in writer.files.items()},
        }
    return meta, marks


def _write_graph(writer: _Writer, campaign: Campaign, by_graph: graph.Nodes) -> None:
    """The graph, every image that is asked about, and what was known of it beforehand."""
    writer.files["graph.json"].write(by_graph.graph.content())
    name = _by("name")
    for image in graph.images_of(campaign).order_by(*name).iterator(chunk_size=CHUNK):
        writer.files["images.jsonl"].write(_image_line(image))
    for line in by_graph.given(campaign, _by("item__image__name", "key", "source")):
        writer.files["given.jsonl"].write(line)


def _write_chunk(writer: _Writer, chunk: list[Question]) -> None:
    by_graph, by_parts = writer.by_graph, writer.by_parts
    kind = KINDS[writer.campaign.kind]
    history = _read_history([question.pk for question in chunk])
    orders = graph.orders(chunk, history.first) if by_graph else {}
    if by_parts is not None:
        by_parts.describe(chunk)
    for question in chunk:
        image = question.item.image
        if by_graph is None and image.pk != writer.last_image:
            writer.files["images.jsonl"].write(_image_line(image))
            writer.last_image = image.pk
        settlement = history.latest.get(question.pk)
        place: Line = {"image": image.name, "wnid": question.topic}
        line = _answer_line(kind, question, settlement)
        if by_graph is not None:
            place |= by_graph.place(question.topic)
            line |= by_graph.place(question.topic) | {
                "order": orders[question.pk],
                "probability": settlement.probability if settlement else None,
            }
        if by_parts is not None:
            place |= by_parts.place(question)
            line |= by_parts.place(question) | {"box": question.item.region}
            if settlement is not None and question.state == Question.State.SETTLED:
                drawn = by_parts.line(question, settlement, line["settled_by"])
                writer.files["objects.jsonl"].write(drawn)
        if settlement and settlement.calibration_id:
            writer.calibrations.add(settlement.calibration_id)
        votes = writer.votes.write(kind, place, settlement, history.answers.get(question.pk, []))
        writer.counts[question.state] += 1
        writer.files["answers.jsonl"].write(line | {"votes": votes})


def _questions(campaign: Campaign) -> QuerySet[Question]:
    return (
        Question.objects.filter(campaign=campaign, state__in=FROZEN_STATES)
        .select_related("item__image", "policy")
        .order_by(*_by("item__image__name", "item__name", "topic"), "round", "pk")
    )


def _by(*names: str) -> list[Any]:
    # Bytes, not the server's language: the same release from any database.
    if connection.vendor == "postgresql":
        return [Collate(F(name), "C").asc() for name in names]
    return list(names)


def _chunks(questions: QuerySet[Question], size: int) -> Iterator[list[Question]]:
    """So many questions at a time; those of one image, or object, stay together."""
    chunk: list[Question] = []
    for _, about in groupby(questions.iterator(chunk_size=CHUNK), lambda row: row.item_id):
        chunk += about
        if len(chunk) >= size:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


@dataclass
class _ChunkHistory:
    """By question: the latest settlement, the id of the first one, and all answers."""

    latest: dict[int, Settlement] = field(default_factory=dict)
    first: dict[int, int] = field(default_factory=dict)
    answers: dict[int, list[Answer]] = field(default_factory=dict)


def _read_history(ids: list[int]) -> _ChunkHistory:
    history = _ChunkHistory()
    for settlement in (
        Settlement.objects.filter(question__in=ids)
        .select_related("policy", "calibration")
        .defer("calibration__content")
        .order_by("pk")
    ):
        history.latest[settlement.question_id] = settlement
        history.first.setdefault(settlement.question_id, settlement.pk)
    for answer in Answer.objects.filter(assignment__question__in=ids).select_related("assignment"):
        history.answers.setdefault(answer.assignment.question_id, []).append(answer)
    return history


def _answer_line(kind: Kind, question: Question, settlement: Settlement | None) -> Line:
    dropped = question.state == Question.State.DROPPED
    value = None if dropped or settlement is None else settlement.value
    line: Line = {"image": question.item.image.name}
    line |= LABEL_OF_RELEASE[kind.release](kind, question.topic, value)
    policy = settlement.policy if settlement else question.policy
    line["settled_by"] = {
        "policy": policy.version,
        "answers": len(settlement.answers) if settlement else 0,
    }
    if settlement and settlement.calibration:
        line["settled_by"]["calibration"] = settlement.calibration.number
    if settlement and policy.content.get("method", "majority") != "majority":
        line["probability"] = settlement.probability
    return line


def _contains(kind: Kind, topic: str, value: Any) -> Line:
    return {"wnid": topic, "contains": None if value is None else value == "yes"}


def _class(kind: Kind, topic: str, value: Any) -> Line:
    return {"wnid": None if value is None else kind.tally_name(value)}


def _drawn(kind: Kind, topic: str, value: Any) -> Line:
    # An object that is drawn is there.
    return {"wnid": topic, "contains": None if value is None else True}


# What a line of answers.jsonl says of a settled value, by what a kind's releases say.
LABEL_OF_RELEASE: dict[str, Callable[[Kind, str, Any], Line]] = {
    CONTAINS: _contains,
    CLASS: _class,
    GRAPH: _contains,
    OBJECTS: _drawn,
}


def _calibrations(writer: _Writer) -> Line:
    """What the calibrations named in answers.jsonl say, where any is: of topics all of it, of
    people only how many. Their figures would tell who is who from one release to the next."""
    rows = Calibration.objects.filter(pk__in=writer.calibrations).order_by("number")
    said = [_calibration_line(row) for row in rows.iterator(chunk_size=1)]
    return {"calibrations": said} if said else {}


def _calibration_line(row: Calibration) -> Line:
    names = ("classes", "prior", "tables")
    return {
        "number": row.number,
        **{name: row.content[name] for name in names if row.content.get(name)},
        "annotators": len(row.content.get("annotators", {})),
        "voided": len(row.content.get("voided", [])),
    }


def _image_line(image: Image) -> Line:
    names = ("name", "sha256", "width", "height", "licence", "source")
    return {name: getattr(image, name) for name in names}


def _topic_line(topic: Topic) -> Line:
    names = ("key", "name", "synonyms", "definition", "url", "guidance")
    return {name: getattr(topic, name) for name in names}


def _counts(writer: _Writer, marks: Fingerprint) -> dict[str, int]:
    states = {"open": 0, "review": 0, "withdrawn": 0} | marks["states"]
    return {
        **{state: int(count) for state, count in states.items()},
        "settled": writer.counts["settled"],
        "dropped": writer.counts["dropped"],
        "votes": writer.votes.counts["votes"],
        "late": writer.votes.counts["late"],
        "annotators": len(writer.votes.people),
        "images": writer.files["images.jsonl"].count,
        "topics": writer.files["topics.jsonl"].count,
        **({"objects": objects.count} if (objects := writer.files.get("objects.jsonl")) else {}),
    }


def code_version() -> str:
    """The version of this code, from its metadata or from pyproject.toml beside it."""
    with contextlib.suppress(metadata.PackageNotFoundError):
        return metadata.version("assay")
    import tomllib

    with open(Path(settings.BASE_DIR) / "pyproject.toml", "rb") as file:
        return str(tomllib.load(file)["project"]["version"])


def _publish(
    campaign: Campaign,
    actor: User | None,
    building: Path,
    meta: Line,
    marks: Fingerprint,
    interim: bool,
) -> Release:
    """The release row, its folder renamed into place under the campaign's lock."""
    sha256 = frozen.digest(meta)
    now = timezone.now()
    stored = _stored_name(campaign.name, sha256)
    number = 0
    if shared_files.is_shared():
        # Before the lock: it may take long, and everybody's work waits for the lock.
        same, number = _numbered(campaign, sha256)
        _write_head(building, meta, number, now)
        if same is None or not shared_files.has(stored):
            shared_files.put(building, stored)
    with transaction.atomic():
        # Two who freeze at once take numbers one after the other.
        Campaign.objects.select_for_update().get(pk=campaign.pk)
        before, (same, number) = number, _numbered(campaign, sha256)
        if same is not None and (folder_of(same) / "release.json").exists():
            return _keep(same, marks, interim)
        _write_head(building, meta, number, now)
        if number != before:
            shared_files.put(building, stored)
        folder = f"{campaign.name}/{number:04}"
        frozen.publish(building, Path(settings.RELEASES_DIR) / folder)
        if same is not None:
            return _keep(same, marks, interim)
        counts = meta["counts"] | {"marks": marks, "interim": interim}
        return Release.objects.create(
            campaign=campaign,
            number=number,
            folder=folder,
            sha256=sha256,
            counts=counts,
            created_by=actor,
            created_at=now,
        )


def _numbered(campaign: Campaign, sha256: str) -> tuple[Release | None, int]:
    """The release of this content, and its number or the next one."""
    same = campaign.releases.filter(sha256=sha256).order_by("number").first()
    latest = campaign.releases.aggregate(at=Max("number"))["at"] or 0
    return same, same.number if same else latest + 1


def _write_head(building: Path, meta: Line, number: int, now: datetime) -> None:
    head = meta | {
        "number": number,
        "created_at": now.isoformat(timespec="seconds"),
        "sha256": frozen.digest(meta),
    }
    text = json.dumps(head, indent=1, ensure_ascii=False)
    frozen.write_synced(building / "release.json", text)


def _keep(release: Release, marks: Fingerprint, interim: bool) -> Release:
    release.counts = release.counts | {
        "marks": marks,
        "interim": bool(release.counts.get("interim")) and interim,
    }
    release.save(update_fields=["counts"])
    return release
