"""Read the queue of a review of mistakes, and the reviewers' answers. No Django."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from evaluation.metrics.wordnet.nouns import WordNet
from evaluation.readers.answers import json_lines
from evaluation.readers.class_files import Labels
from evaluation.readers.valid_sets import ReviewedModel
from labeling.csv_rows import plain_cell, rows
from labeling.files import BadInput, file_sha256
from labeling.kinds.base import JUDGED
from labeling.kinds.mistake import TAG_WORDS as TAGS
from labeling.plurals import count_of
from labeling.records import Record
from labeling.release_files.frozen import Frozen
from labeling.release_files.frozen_labels import AnswerLine

# Whether the class is right on the image: valid, like the truth's class; a minor mistake; a major
# mistake; cannot be decided.
VALID, MINOR, MAJOR, CANNOT = ANSWERS = ("valid", "minor", "major", "cannot")
# An image and a synset.
Pair = tuple[str, int]


@dataclass(kw_only=True)
class QueueMeta(Record):
    """How a queue was chosen. truth_sha256, sets_sha256: of the label files; version: of the sets,
    1 for the truth's one class.
    """

    models: list[ReviewedModel]
    truth_sha256: str
    sets_sha256: str | None
    version: int
    agreements: float
    seed: int
    counts: dict[str, int]


@dataclass(frozen=True)
class Queue:
    """The reviewed pairs of image and class, in the order of the queue."""

    meta: QueueMeta
    pairs: list[Pair]
    path: Path
    sha256: str


@dataclass(frozen=True)
class Judgement:
    answer: str
    tags: tuple[str, ...] = ()


def read_queue(path: Path, wordnet: WordNet) -> Queue:
    """Return a queue as `mistakes queue` wrote it. Raises BadInput with the line."""
    cure = "give a file that mistakes queue wrote"
    labels = Labels(wordnet)
    meta: QueueMeta | None = None
    pairs: list[Pair] = []
    for line, row in json_lines(path):
        if meta is None:
            try:
                meta = QueueMeta.from_json(row["meta"])  # type: ignore[arg-type]
            except (KeyError, ValueError, TypeError, AttributeError):
                raise BadInput("the first line has no meta of a queue", path, line, cure) from None
            continue
        image, wnid = row.get("image"), row.get("wnid")
        if not isinstance(image, str) or not isinstance(wnid, str):
            raise BadInput("image and wnid are not both strings", path, line, cure)
        pairs.append((image, labels.synsets[labels(wnid, path, line)]))
    if meta is None:
        raise BadInput("is empty", path, None, cure)
    return Queue(meta, pairs, path, file_sha256(path))


def read_judgements(path: Path, queue: Queue, wordnet: WordNet) -> dict[Pair, Judgement]:
    """Return the judgements in `image,wnid,answer[,tags]` rows, one for every pair of the queue.

    answer: one of ANSWERS; tags: words of TAGS, separated by blanks. Raises BadInput with the line
    for another answer or tag, a pair that is repeated or not in the queue, and for missing pairs.
    """
    queued = set(queue.pairs)
    images = {image for image, _ in queued}
    labels = Labels(wordnet)
    judgements: dict[Pair, Judgement] = {}
    for line, (image, wnid, answer, tags) in rows(
        path, ("image", "wnid", "answer", "tags"), ("tags",)
    ):
        image = image if image in images else plain_cell(image)
        pair = image, labels.synsets[labels(wnid, path, line)]
        if pair not in queued:
            raise BadInput(
                f"{wnid} on image {image!r} is not in the queue", path, line, "remove the row"
            )
        if pair in judgements:
            cure = "keep one row for each pair; settle several answers first"
            raise BadInput(f"{wnid} on image {image!r} is repeated", path, line, cure)
        words = tuple(dict.fromkeys(re.split(r"\s+", tags.strip()))) if tags.strip() else ()
        _check_word("answer", answer, ANSWERS, path, line)
        for tag in words:
            _check_word("tag", tag, TAGS, path, line)
        judgements[pair] = Judgement(answer, words)
    _check_complete(judgements, queue, path, wordnet)
    return judgements


def judgements_of(release: Frozen, queue: Queue, wordnet: WordNet) -> dict[Pair, Judgement]:
    """Return the settled answers of a campaign of the kind mistake, for every pair of the queue.

    Questions dropped as undecided are CANNOT. An answer has a tag where at least half of those who
    gave it set the tag. Raises BadInput for a release without mistakes, for a pair that is not in
    the queue, and for missing pairs.
    """
    if release.kind.release != JUDGED:
        raise BadInput(
            f"is a release of a campaign of the kind {release.kind.name}, which judges no mistakes",
            release.folder,
            None,
            "give a release of a campaign on the queue, or rows of answers",
        )
    path = release.folder / "answers.jsonl"
    queued = set(queue.pairs)
    labels = Labels(wordnet)
    judgements: dict[Pair, Judgement] = {}
    for line, answer in enumerate(release.answers(), 1):
        wnid = str(answer["wnid"])
        pair = answer["image"], labels.synsets[labels(wnid, path, line)]
        if pair not in queued:
            cure = "give the queue that the campaign was opened with"
            fault = f"{wnid} on image {answer['image']!r} is not in the queue"
            raise BadInput(fault, path, line, cure)
        judgements[pair] = _judgement(answer)
    _check_complete(judgements, queue, release.folder, wordnet)
    return judgements


def _judgement(line: AnswerLine) -> Judgement:
    answer, tags = line.get("judged"), line.get("tags", {})
    if answer is None:
        return Judgement(CANNOT)
    voters = line.get("votes", {}).get(answer, 0)
    return Judgement(answer, tuple(tag for tag in TAGS if 0 < voters <= 2 * tags.get(tag, 0)))


def _check_complete(answered: Collection[Pair], queue: Queue, path: Path, wordnet: WordNet) -> None:
    if missing := [pair for pair in queue.pairs if pair not in answered]:
        image, synset = missing[0]
        raise BadInput(
            f"{count_of(len(missing), 'pair')} of the queue without an answer, the first "
            f"{wordnet.wnid(synset)} on image {image!r}",
            path,
            None,
            "answer every pair",
        )


def _check_word(name: str, word: str, known: Collection[str], path: Path, line: int) -> None:
    if word not in known:
        raise BadInput(f"the {name} is {word!r}", path, line, f"write one of: {', '.join(known)}")
