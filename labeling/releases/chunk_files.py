"""Chunks of a release: the lines of some of its questions.

Everything read here is immutable: settlements, answers, policies and graph versions. So every
machine writes the same bytes at any time, without a database snapshot.
"""

import json
import zipfile
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from labeling.db import batch
from labeling.estimators.stated_error import settled_error
from labeling.kinds import KINDS, Kind
from labeling.kinds.base import BOXES, CLASS, CONTAINS, GRAPH, JUDGED, OBJECTS
from labeling.kinds.votes import most_probable
from labeling.models import Answer, Policy, Question, Settlement
from labeling.release_files.frozen import Line, LineFile
from labeling.release_files.frozen_boxes import BOXES_FILE, COVERAGE_FILE
from labeling.releases import boxes, graph, parts
from labeling.releases.frozen_questions import FrozenQuestion, FrozenSettlement
from labeling.releases.snapshots import SnapshotContext, read_chunk
from labeling.releases.votes import FrozenVote, FrozenVotes

# Questions held in memory at once: two queries a batch.
BATCH = 500
# The same for drawings, which are long.
FEW = 100
COUNTED = "piece.json"
LINES = ("answers.jsonl", "objects.jsonl", BOXES_FILE, COVERAGE_FILE)


def write(source: Path, folder: Path, watch: Callable[[int], object] | None = None) -> None:
    """Write the files of a chunk into the folder. watch: receives the number of written
    questions.
    """
    context, questions = read_chunk(source)
    with batch.reading(), ExitStack() as opened:
        writer = _ChunkWriter(folder, context, opened)
        for rows in _batches(questions, FEW if writer.by_parts else BATCH):
            _write_batch(writer, rows)
            if watch:
                watch(writer.counts.total())
        writer.close()


def pack(folder: Path, goal: Path) -> None:
    """Pack the files of a chunk into one zip."""
    with zipfile.ZipFile(goal, "w") as archive:
        for path in sorted(folder.iterdir()):
            archive.write(path, path.name)


def unpack(packed: Path, folder: Path) -> None:
    """Unpack a chunk into the folder. Raises zipfile.BadZipFile for a truncated file."""
    with zipfile.ZipFile(packed) as archive:
        archive.extractall(folder)


class _ChunkWriter:
    """The open files of a chunk with its counts."""

    def __init__(self, folder: Path, context: SnapshotContext, opened: ExitStack) -> None:
        self.folder = folder
        self.kind = KINDS[context.kind]
        self.counts: Counter[str] = Counter()
        self.error = context.error
        # Ids of the calibrations behind the settlements of this chunk.
        self.calibrations: set[int] = set()
        self.answers = opened.enter_context(LineFile(folder / "answers.jsonl"))
        self.votes = FrozenVotes(folder, opened)
        self.policies = Policy.objects.filter(campaign=context.campaign).in_bulk()
        self.by_graph = graph.Nodes.of(context.graph)
        self.by_parts = self.objects = None
        if self.kind.release == OBJECTS:
            self.by_parts = parts.FrozenObjects(context.categories)
            self.objects = opened.enter_context(LineFile(folder / "objects.jsonl"))
        self.by_boxes: boxes.FrozenBoxes | None = None
        if self.kind.release == BOXES:
            self.by_boxes = boxes.FrozenBoxes(context.calibration, self.policies)
            self.boxes = opened.enter_context(LineFile(folder / BOXES_FILE))
            self.coverage = opened.enter_context(LineFile(folder / COVERAGE_FILE))

    def close(self) -> None:
        for file in (self.answers, self.votes, self.objects):
            if file is not None:
                file.close()
        if self.by_boxes is not None:
            self.boxes.close()
            self.coverage.close()
        counted = {
            "states": self.counts,
            "votes": self.votes.counts,
            "people": sorted(self.votes.people),
            "calibrations": sorted(self.calibrations),
            "tally": self.by_parts.tally.to_json() if self.by_parts else None,
            "stated": self.by_boxes.tally.to_json() if self.by_boxes else None,
        }
        (self.folder / COUNTED).write_text(json.dumps(counted))


def _batches(questions: Iterator[FrozenQuestion], size: int) -> Iterator[list[FrozenQuestion]]:
    """Yield batches of about this size; questions of one image or object stay together."""
    rows: list[FrozenQuestion] = []
    for _, item_questions in groupby(questions, lambda row: row.item):
        rows += item_questions
        if len(rows) >= size:
            yield rows
            rows = []
    if rows:
        yield rows


def _write_batch(writer: _ChunkWriter, rows: list[FrozenQuestion]) -> None:
    by_graph, by_parts = writer.by_graph, writer.by_parts
    kind = writer.kind
    with batch.lookups():
        history = _read_history(rows)
    orders = graph.orders(rows) if by_graph else {}
    if by_parts is not None:
        by_parts.describe(rows)
    for question in rows:
        settled = history.settled.get(question.pk)
        subject: Line = {"image": question.image, "wnid": question.topic}
        line = _answer_line(kind, question, settled, writer.policies)
        if question.queries:
            line["queries"] = question.queries
        if by_graph is not None:
            subject |= by_graph.node_place(question.topic)
            line |= by_graph.node_place(question.topic) | {
                "order": orders[question.pk],
                "probability": settled.probability if settled else None,
            }
        if (
            writer.error
            and settled
            and settled.answers
            and settled.probability is not None
            and question.state == Question.State.SETTLED
        ):
            votes_counted = len(settled.answers)
            line["error"] = settled_error(*writer.error, settled.probability, votes_counted)
        if question.step:
            subject["step"], subject["number"] = question.step, question.number
            line = subject | line
        if by_parts is not None and writer.objects is not None:
            subject["object"] = line["object"] = question.object
            line["box"] = question.region
            line |= by_parts.box_note(question)
            if settled is not None and question.state == Question.State.SETTLED:
                writer.objects.write(by_parts.line(question, settled, line["settled_by"]))
        if settled and settled.calibration:
            writer.calibrations.add(settled.calibration)
        counted = set(settled.answers) if settled else set()
        kept = counted.union(question.late)
        votes_of_question = [vote for vote in history.votes.get(question.pk, ()) if vote.pk in kept]
        votes = writer.votes.write(kind, subject, counted, votes_of_question)
        if (
            settled
            and kind.tag_labels
            and (tags := _tags(kind, settled, counted, votes_of_question))
        ):
            line["tags"] = tags
        if settled and (ranked := _ranked(kind, question, settled, counted, votes_of_question)):
            line["ranked"] = ranked
        writer.counts[question.state] += 1
        writer.answers.write(line | {"votes": votes})
    if writer.by_boxes is not None:
        lines = writer.by_boxes.lines(rows, history.settled, history.votes)
        for box in lines.boxes:
            writer.boxes.write(box)
        for pair in lines.coverage:
            writer.coverage.write(pair)


@dataclass
class _BatchHistory:
    """The settlement and all answers of each question."""

    settled: dict[int, FrozenSettlement] = field(default_factory=dict)
    votes: dict[int, list[FrozenVote]] = field(default_factory=dict)


def _read_history(rows: Sequence[FrozenQuestion]) -> _BatchHistory:
    history = _BatchHistory()
    settlements = [question.settlement for question in rows if question.settlement]
    settled = Settlement.objects.filter(pk__in=settlements).values_list(
        "question_id",
        "value",
        "probability",
        "answers",
        "reviewed",
        "policy_id",
        "calibration_id",
        "calibration__number",
    )
    for question, value, probability, answers, reviewed, policy, calibration, number in settled:
        ids = [str(answer) for answer in answers]
        history.settled[question] = FrozenSettlement(
            value, probability, ids, reviewed, policy, calibration, number
        )
    question_ids = [question_ids.pk for question_ids in rows]
    votes = Answer.objects.filter(assignment__question__in=question_ids).values_list(
        "assignment__question_id",
        "pk",
        "assignment__annotator_id",
        "value",
        "duration_ms",
        "late",
        "revision",
    )
    for question, pk, annotator, value, duration_ms, late, revision in votes:
        vote = FrozenVote(str(pk), annotator, value, duration_ms, late, revision)
        history.votes.setdefault(question, []).append(vote)
    return history


def _answer_line(
    kind: Kind,
    question: FrozenQuestion,
    settled: FrozenSettlement | None,
    policies: dict[int, Policy],
) -> Line:
    dropped = question.state == Question.State.DROPPED
    value = None if dropped or settled is None else settled.value
    line: Line = {"image": question.image}
    line |= LABEL_OF_RELEASE[kind.release](kind, question.topic, value)
    policy = policies[settled.policy if settled else question.policy]
    line["settled_by"] = {
        "policy": policy.version,
        "answers": len(settled.answers) if settled else 0,
    }
    if settled and settled.calibration:
        line["settled_by"]["calibration"] = settled.number
    if settled and (likely := most_probable(settled.value)) is not None:
        line["likely"] = likely
    if settled and policy.content.get("method", "majority") != "majority":
        line["probability"] = settled.probability
    return line


def _tags(
    kind: Kind, settled: FrozenSettlement, counted: Collection[str], votes: Sequence[FrozenVote]
) -> dict[str, int]:
    """Count each tag among the people who gave the settled answer."""
    name = kind.tally_name(settled.value)
    tags: Counter[str] = Counter()
    for vote in votes:
        if vote.pk in counted and kind.tally_name(vote.value) == name:
            tags.update(kind.tags(vote.value))
    return dict(tags)


def _ranked(
    kind: Kind,
    question: FrozenQuestion,
    settled: FrozenSettlement,
    counted: Collection[str],
    votes: Sequence[FrozenVote],
) -> list[str]:
    """Return the classes named in counted answers, the settled one first."""
    dropped = question.state == Question.State.DROPPED
    values = [vote.value for vote in votes if vote.pk in counted]
    return kind.ranked(values, None if dropped else settled.value)


def _contains(kind: Kind, topic: str, value: Any) -> Line:
    return {"wnid": topic, "contains": None if value is None else value == "yes"}


def _class(kind: Kind, topic: str, value: Any) -> Line:
    return {"wnid": None if value is None else kind.tally_name(value)}


def _judged(kind: Kind, topic: str, value: Any) -> Line:
    return {"wnid": topic, "judged": None if value is None else kind.tally_name(value)}


def _stepped(kind: Kind, topic: str, value: Any) -> Line:
    return {"wnid": topic, "value": value}


def _drawn(kind: Kind, topic: str, value: Any) -> Line:
    # A drawn object is present.
    return {"wnid": topic, "contains": None if value is None else True}


# Fields of answers.jsonl for a settled value, by the kind's release content.
LABEL_OF_RELEASE: dict[str, Callable[[Kind, str, Any], Line]] = {
    CONTAINS: _contains,
    CLASS: _class,
    JUDGED: _judged,
    GRAPH: _contains,
    OBJECTS: _drawn,
    BOXES: _stepped,
}
