"""The snapshot: the content of a campaign at one moment, listed in one short transaction.

Settlements and answers never change, so the last settlement of each question gives its value
and counted answers at any later time. The snapshot holds what may change: states, late answers,
images, topics and labels known beforehand. Clients choose the ids of answers, so "all answers up
to this id" cannot define a snapshot.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import groupby, islice
from pathlib import Path
from typing import Any, NamedTuple

from django.db import connection
from django.db.models import F, Max, Min, QuerySet, Subquery
from django.db.models.expressions import OuterRef
from django.db.models.functions import Collate

from labeling.json_text import canonical
from labeling.kinds import KINDS
from labeling.kinds.base import BOXES, OBJECTS
from labeling.models import Answer, Campaign, Question, Settlement, Topic
from labeling.quality.stated_errors import MeasuredError
from labeling.release_files import frozen
from labeling.release_files.frozen import Line, LineFile
from labeling.release_files.frozen_boxes import COVERAGE_FILE
from labeling.releases import boxes, graph, parts, queries
from labeling.releases.frozen_questions import FrozenQuestion

FROZEN_STATES = (Question.State.SETTLED, Question.State.DROPPED)
# Rows fetched at once.
BATCH = 2_000
# Questions of a chunk; drawings are long.
CHUNK = 2_000
CHUNK_OF_DRAWINGS = 200
# Up to this many chunks are written within a few seconds.
FEW_CHUNKS = 2
# Version of the chunk layout; chunks of other versions are not reused.
LAYOUT = 2
IMAGE_FIELDS = ("name", "sha256", "width", "height", "licence", "source", "queries")


@dataclass(frozen=True)
class Snapshot:
    """The content of a campaign at one moment.

    files: the release files that are written directly, still open. chunks: files of questions for
    `read_chunk`. digest: hash of everything that the chunks depend on.
    """

    campaign: Campaign
    policies: list[Any]
    known_parts: parts.PartFingerprint
    files: dict[str, LineFile]
    chunks: list[Path]
    digest: str
    # For boxes only: a file of the pairs without a settled question.
    waiting: Path | None = None

    @property
    def is_small(self) -> bool:
        return len(self.chunks) <= FEW_CHUNKS


class SnapshotContext(NamedTuple):
    """Values shared by all chunks of a snapshot. Immutable rows are given by their ids."""

    layout: int
    campaign: int
    kind: str
    graph: int | None
    categories: dict[str, Any]
    # Fingerprint of the imported objects, which the lines of each chunk depend on.
    known_parts: dict[str, Any]
    # For boxes only: it has the error figures of people who draw.
    calibration: int | None
    # The error model of labels other than drawings: its coefficients a, b and c, and whether the
    # majority decides. None if the error was not measured.
    error: tuple[tuple[float, float, float], bool] | None = None


def take(
    campaign: Campaign,
    building: Path,
    scratch: Path,
    opened: ExitStack,
    measured: MeasuredError | None = None,
) -> Snapshot:
    """Return the campaign's snapshot; the caller opens a repeatable-read transaction.

    building: receives files of the release, which `opened` closes. scratch: receives the chunks.
    measured: the error of its labels.
    """
    by_graph = graph.Nodes.of(campaign.graph_id)
    known_parts = parts.fingerprint(campaign)
    scenes = graph.scenes_of(campaign)
    beside = (frozen.SCENES_FILE,) if scenes else ()
    names = sorted((*frozen.files_of(campaign.kind), *beside))
    files = {name: opened.enter_context(LineFile(building / name)) for name in names}
    for topic in Topic.objects.filter(campaign=campaign).order_by(*_by("key")):
        files["topics.jsonl"].write(_topic_line(topic))
    if by_graph is not None:
        _write_graph(files, campaign, by_graph)
    if scenes is not None:
        files[frozen.SCENES_FILE].write(scenes)
    waiting = None
    if COVERAGE_FILE in files:
        waiting = scratch / "waiting.jsonl"
        with LineFile(waiting) as file:
            for line in boxes.unasked(campaign, _by("item__image__name", "topic")):
                file.write(line)
    context = SnapshotContext(
        LAYOUT,
        campaign.pk,
        campaign.kind,
        campaign.graph_id,
        campaign.settings["categories"] if KINDS[campaign.kind].release == OBJECTS else {},
        dict(known_parts),
        campaign.calibration_id if KINDS[campaign.kind].release == BOXES else None,
        (measured.model.coefficients, measured.by_majority)
        if measured and measured.model
        else None,
    )
    chunks = _Chunks(scratch, context, chunk_size(campaign))
    images = _Images(files["images.jsonl"], campaign) if by_graph is None else None
    for _, rows_of_image in groupby(_rows(campaign), key=lambda row: row[0]):
        chunks.begin_image()
        for number, (_, question, image) in enumerate(rows_of_image):
            if images is not None and not number:
                images.write(_image_line(image))
            chunks.add(question)
    if images is not None:
        images.close()
    return Snapshot(
        campaign=campaign,
        policies=list(campaign.policies.order_by("version").values("version", "content")),
        known_parts=known_parts,
        files=files,
        chunks=chunks.close(),
        digest=chunks.digest.hexdigest()[:32],
        waiting=waiting,
    )


def chunk_size(campaign: Campaign) -> int:
    """Return the number of questions in a chunk; the last image may exceed it."""
    return CHUNK_OF_DRAWINGS if KINDS[campaign.kind].release == OBJECTS else CHUNK


def read_chunk(path: Path) -> tuple[SnapshotContext, Iterator[FrozenQuestion]]:
    """Return the shared context of a chunk and its questions."""

    def questions() -> Iterator[FrozenQuestion]:
        with open(path, "rb") as rows:
            next(rows)
            for row in rows:
                yield FrozenQuestion(*json.loads(row))

    with open(path, "rb") as rows:
        return SnapshotContext(*json.loads(next(rows))), questions()


class _Images:
    """Writes images.jsonl in the order of names.

    For boxes it merges in the images of the release that the labels came from.
    """

    def __init__(self, file: LineFile, campaign: Campaign) -> None:
        self.file = file
        self.beside: Iterator[Any] = boxes.images_of_source(campaign)
        self.next = next(self.beside, None)

    def write(self, line: Line) -> None:
        while self.next is not None and self.next["name"] <= line["name"]:
            if self.next["name"] != line["name"]:
                self.file.write(self.next)
            self.next = next(self.beside, None)
        self.file.write(line)

    def close(self) -> None:
        if self.next is not None:
            self.file.write(self.next)
        for line in self.beside:
            self.file.write(line)


class _Chunks:
    """Writes questions into chunk files, the context first; an image is never split."""

    def __init__(self, folder: Path, context: SnapshotContext, size: int) -> None:
        self.folder = folder
        self.context = canonical(context) + b"\n"
        self.size = size
        self.digest = hashlib.sha256(self.context)
        self.paths: list[Path] = []
        self.rows: list[bytes] = []

    def begin_image(self) -> None:
        if len(self.rows) >= self.size:
            self._end()

    def add(self, question: FrozenQuestion) -> None:
        self.rows.append(json.dumps(question, separators=(",", ":")).encode() + b"\n")

    def close(self) -> list[Path]:
        if self.rows:
            self._end()
        return self.paths

    def _end(self) -> None:
        content = b"".join(self.rows)
        self.digest.update(b"\n" + content)
        path = self.folder / f"{len(self.paths):05}.cut"
        path.write_bytes(self.context + content)
        self.paths.append(path)
        self.rows = []


def _rows(campaign: Campaign) -> Iterator[tuple[int, FrozenQuestion, tuple[Any, ...]]]:
    """Yield (image id, question, image fields) in the order of the release."""
    late: dict[int, list[str]] = {}
    for pk, answer in _late_answers(campaign).iterator(chunk_size=BATCH):
        late.setdefault(pk, []).append(str(answer))
    rows = _listed(campaign).iterator(chunk_size=BATCH)
    while batch := list(islice(rows, BATCH)):
        queries_by_question = queries.by_question(campaign, [pk for _, pk, *_ in batch])
        for image, pk, *rest in batch:
            question_fields, fields = rest[: -len(IMAGE_FIELDS)], rest[-len(IMAGE_FIELDS) :]
            more = sorted(late.get(pk, ())), queries_by_question.get(pk, [])
            yield image, FrozenQuestion._make([pk, *question_fields, *more]), fields


def _listed(campaign: Campaign) -> QuerySet[Question, Any]:
    # Grouped, so that no query plan searches all settlements for the last one.
    settled = Settlement.objects.filter(question=OuterRef("pk")).order_by().values("question")
    return (
        Question.objects.filter(campaign=campaign, state__in=FROZEN_STATES)
        .annotate(
            last=Subquery(settled.annotate(at=Max("pk")).values("at")),
            first=Subquery(settled.annotate(at=Min("pk")).values("at")),
        )
        .order_by(*_by("item__image__name", "item__name", "topic"), "round", "pk")
        .values_list(
            "item__image_id",
            "pk",
            "item_id",
            "item__image__name",
            "item__name",
            "topic",
            "state",
            "policy_id",
            "last",
            "first",
            "item__region",
            "step",
            "content",
            *(f"item__image__{name}" for name in IMAGE_FIELDS),
        )
    )


def _late_answers(campaign: Campaign) -> QuerySet[Answer, Any]:
    return Answer.objects.filter(
        late=True,
        assignment__question__campaign=campaign,
        assignment__question__state__in=FROZEN_STATES,
    ).values_list("assignment__question_id", "pk")


def _write_graph(files: dict[str, LineFile], campaign: Campaign, by_graph: graph.Nodes) -> None:
    """Write the graph, the images that are asked about, and their known labels."""
    files["graph.json"].write(by_graph.graph.content())
    for image in graph.images_of(campaign).order_by(*_by("name")).iterator(chunk_size=BATCH):
        fields = [getattr(image, name) for name in IMAGE_FIELDS]
        files["images.jsonl"].write(_image_line(fields))
    for line in by_graph.known_labels(campaign, _by("item__image__name", "key", "source")):
        files["given.jsonl"].write(line)


def _by(*names: str) -> list[Any]:
    # Bytewise order, whatever the server's collation: the same release from any database.
    if connection.vendor == "postgresql":
        return [Collate(F(name), "C").asc() for name in names]
    return list(names)


def _image_line(fields: Sequence[Any]) -> Line:
    """Return a line of images.jsonl; "queries" is left out where no query found the image."""
    line = dict(zip(IMAGE_FIELDS, fields, strict=True))
    if found_by := line.pop("queries"):
        line["queries"] = [{"wnid": wnid, "query": query} for wnid, query in found_by]
    return line


def _topic_line(topic: Topic) -> Line:
    names = ("key", "name", "synonyms", "definition", "url", "guidance")
    siblings = {"siblings": topic.siblings} if topic.siblings else {}
    return {**{name: getattr(topic, name) for name in names}, **siblings}
