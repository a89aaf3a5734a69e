"""The report of a release: labels and difficulty by class, agreement, error and annotators.

Source: Russakovsky et al. (2015), Tables 2 to 4, §3.2.2, §3.3.4 and Appendix B. No Django.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from evaluation.metrics.detection.object_scale import clutter, windows_needed
from evaluation.metrics.detection.precision import ClassBoxes
from evaluation.readers.windows import read_windows
from evaluation.scoring import analysis
from labeling.estimators.agreement import alpha_of_sums
from labeling.kinds.base import CLASS, CONTAINS, GRAPH, JUDGED
from labeling.records import Record
from labeling.release_files import exporting
from labeling.release_files.frozen import Frozen

BINS = 10
# The largest clutter: no window of any image fits.
MAX_CLUTTER = 10.0
# Kinds of release in which people choose between words or classes.
CHOICE_KINDS = (CONTAINS, CLASS, GRAPH, JUDGED)
# Keys of a vote that do not identify its question.
VOTE_KEYS = {"annotator", "counted", "duration_ms", "late", "revision", "value"}
CLUTTER = "log2 of the mean rank of the first window with IoU 0.5 or more; 1,001 where none fits"
FIELDS = {"yes": "yes", "no": "no", "unknown": "undecided"}
AGREEMENT = {
    "alpha": "Krippendorff's alpha of counted votes, on questions with two or more",
    "iou": "mean over drawn parts of the mean IoU of pairs of people",
    "": "not computed for this kind",
}


@dataclass(kw_only=True)
class ClassSpread(Record):
    """A count summed over classes, and its least, median and largest value."""

    total: int
    least: int
    median: float
    most: int


@dataclass(kw_only=True)
class ReportedClass(Record):
    """A class. yes, no, undecided: images with that label. images: images with boxes of the class.

    scale, cpl, neighbours_per_instance: None without boxes; cpl also None with a single box.
    clutter: None without windows. clutter_images: images with boxes and windows.
    """

    wnid: str
    name: str
    yes: int = 0
    no: int = 0
    undecided: int = field(default=0, metadata={"key": "unknown"})
    images: int = 0
    instances: int = 0
    instances_per_image: float | None = None
    scale: float | None = None
    cpl: float | None = None
    neighbours_per_instance: float | None = None
    clutter: float | None = None
    clutter_images: int = 0


@dataclass(kw_only=True)
class VoteAgreement(Record):
    """measure: a key of AGREEMENT. value: None if undefined. n: questions, or drawn parts.

    share: how many of the pairs of votes on a question agree; None for drawings.
    """

    measure: str
    value: float | None
    share: float | None
    n: int
    convention: str


@dataclass(kw_only=True)
class VotesOfPerson(Record):
    """The votes of an annotator. name: the pseudonym in this release."""

    name: str
    votes: int


@dataclass(kw_only=True)
class ClassMean(Record):
    """The mean of a measure over the n classes that have it, and how many fall into each bin."""

    mean: float | None
    n: int
    edges: list[float]
    counts: list[int]


@dataclass(kw_only=True)
class ReleaseReport(Record):
    """Figures of a release. counts, stated_error, stated_boxes: as in release.json.

    positive, negative, instances: images with the class, without it, and drawn instances.
    """

    campaign: str
    title: str
    number: int
    sha256: str
    kind: str
    counts: dict[str, object]
    positive: ClassSpread
    negative: ClassSpread
    instances: ClassSpread
    means: dict[str, ClassMean]
    classes: list[ReportedClass]
    agreement: VoteAgreement
    stated_error: dict[str, object] | None
    stated_boxes: dict[str, object] | None
    people: list[VotesOfPerson]
    conventions: dict[str, str]


def report(release: Frozen, windows: Path | None = None) -> ReleaseReport:
    """Return the report of a release. windows: a file for clutter. Raises BadInput.

    Memory grows with images, boxes and classes, not with votes.
    """
    names = exporting.classes_of(release)
    rows = {key: ReportedClass(wnid=key, name=name) for key, name in names.items()}
    boxes, sizes, images = _read_labels(release, rows)
    order = list(rows)
    difficulty = analysis.chance(boxes, sizes, order, inclusive=False)
    for hard in difficulty.rows:
        row = rows[hard.wnid]
        row.images, row.instances = hard.images, hard.instances
        row.instances_per_image = hard.instances_per_image
        row.scale, row.neighbours_per_instance = hard.scale, hard.neighbours_per_instance
        row.cpl = None if hard.cpl is None or math.isnan(hard.cpl) else hard.cpl
    if windows is not None:
        _add_clutter(windows, rows, boxes, images)
    classes = [rows[key] for key in sorted(rows)]
    votes, agreement = _read_votes(release)
    meta = release.meta
    return ReleaseReport(
        campaign=meta["campaign"]["name"],
        title=meta["campaign"]["title"],
        number=meta.get("number", 0),
        sha256=meta["sha256"],
        kind=meta["campaign"]["kind"],
        counts=meta["counts"],
        positive=_spread([row.yes for row in classes]),
        negative=_spread([row.no for row in classes]),
        instances=_spread([row.instances for row in classes]),
        means={name: _mean(name, classes, top) for name, top in MEASURES.items()},
        classes=classes,
        agreement=agreement,
        stated_error=meta.get("stated_error"),
        stated_boxes=dict(meta["stated"]) if "stated" in meta else None,
        people=[VotesOfPerson(name=name, votes=n) for name, n in votes.most_common()],
        conventions={**difficulty.conventions, "clutter": CLUTTER},
    )


# Measures of classes that Figure 16 and §3.2.2 compare, and the upper edge of their last bin.
MEASURES = {
    "scale": 1.0,
    "cpl": 1.0,
    "clutter": MAX_CLUTTER,
    "instances_per_image": 5.0,
    "neighbours_per_instance": 5.0,
}


def _read_labels(
    release: Frozen, rows: dict[str, ReportedClass]
) -> tuple[ClassBoxes, Any, dict[str, int]]:
    """Count labels into `rows`; return the boxes, the size of each image, and its number."""
    numbers = {key: number for number, key in enumerate(rows)}
    sizes: list[tuple[int, int]] = []
    images: dict[str, int] = {}
    pairs: list[tuple[int, int]] = []
    corners: list[tuple[float, ...]] = []
    for photo, labels in exporting.pages(release):
        images[photo.name] = len(sizes)
        sizes.append((photo.width, photo.height))
        for label in labels:
            row = rows.get(label.key)
            if row is None:
                row = rows[label.key] = ReportedClass(wnid=label.key, name=label.name)
                numbers[label.key] = len(numbers)
            name = FIELDS[label.value]
            setattr(row, name, getattr(row, name) + 1)
            for instance in label.instances:
                pairs.append((images[photo.name], numbers[label.key]))
                corners.append(instance.box)
    indices = np.array(pairs, np.int64).reshape(-1, 2)
    boxes = ClassBoxes(indices[:, 0], indices[:, 1], np.array(corners, float).reshape(-1, 4))
    return boxes, np.array(sizes, float).reshape(-1, 2), images


def _add_clutter(
    path: Path, rows: dict[str, ReportedClass], boxes: ClassBoxes, images: Mapping[str, int]
) -> None:
    """Set the clutter of every class. Ignore windows of images that are not in the release."""
    keys = list(rows)
    of_image: dict[int, list[int]] = defaultdict(list)
    for box, image in enumerate(boxes.images.tolist()):
        of_image[image].append(box)
    needed: dict[str, list[int]] = defaultdict(list)
    for name, windows in read_windows(path):
        members = np.array(of_image.get(images.get(name, -1), ()), np.int64)
        for number in np.unique(boxes.classes[members]).tolist():
            of_class = members[boxes.classes[members] == number]
            needed[keys[number]].append(windows_needed(windows, boxes.corners[of_class]))
    for key, ranks in needed.items():
        rows[key].clutter, rows[key].clutter_images = clutter(ranks), len(ranks)


def _read_votes(release: Frozen) -> tuple[Counter[str], VoteAgreement]:
    """Return the votes by pseudonym, and how far people agree."""
    votes: Counter[str] = Counter()
    totals: Counter[str] = Counter()
    unlike, questions = 0.0, 0
    is_worded = release.kind.release in CHOICE_KINDS
    for words in _words_of_questions(release, votes, is_worded):
        answers = sum(words.values())
        if answers > 1:
            questions += 1
            totals.update(words)
            same = sum(count * count for count in words.values())
            unlike += (answers * answers - same) / (answers - 1)
    if is_worded:
        answers = sum(totals.values())
        alpha = alpha_of_sums(unlike, list(totals.values()))
        share = 1 - unlike / answers if answers else None
        return votes, _agreement("alpha", alpha, questions, share)
    ious = list(_part_ious(release))
    if not ious:
        return votes, _agreement("", math.nan, 0)
    return votes, _agreement("iou", sum(ious) / len(ious), len(ious))


def _words_of_questions(
    release: Frozen, votes: Counter[str], is_worded: bool
) -> Iterator[Counter[str]]:
    """Yield the counted answers of each question by word; add all votes by person to `votes`."""

    def subject(vote: Mapping[str, Any]) -> list[Any]:
        return [vote[key] for key in sorted(vote) if key not in VOTE_KEYS]

    for _, lines in groupby(release.votes(), key=subject):
        words: Counter[str] = Counter()
        for vote in lines:
            votes[vote["annotator"]] += 1
            if is_worded and vote["counted"]:
                words[release.kind.tally_name(vote["value"])] += 1
        yield words


def _part_ious(release: Frozen) -> Iterator[float]:
    if "objects.jsonl" in release.meta["files"]:
        for line in release.lines("objects.jsonl"):
            for part in line["parts"]:
                iou = (part.get("agreement") or {}).get("iou")
                if iou is not None:
                    yield iou


def _agreement(measure: str, value: float, n: int, share: float | None = None) -> VoteAgreement:
    return VoteAgreement(
        measure=measure,
        value=None if math.isnan(value) else value,
        share=share,
        n=n,
        convention=AGREEMENT[measure],
    )


def _spread(counts: list[int]) -> ClassSpread:
    if not counts:
        return ClassSpread(total=0, least=0, median=0.0, most=0)
    return ClassSpread(
        total=sum(counts), least=min(counts), median=float(np.median(counts)), most=max(counts)
    )


def _mean(name: str, classes: Iterable[ReportedClass], top: float) -> ClassMean:
    """Return the mean over classes and its histogram; larger values are in the last bin."""
    values = [value for row in classes if (value := getattr(row, name)) is not None]
    edges = np.linspace(0, top, BINS + 1)
    counts, _ = np.histogram(np.minimum(values, top), edges)
    return ClassMean(
        mean=float(np.mean(values)) if values else None,
        n=len(values),
        edges=[float(edge) for edge in edges.round(6)],
        counts=[int(count) for count in counts],
    )
