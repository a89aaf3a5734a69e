"""Read truth.csv and predictions.csv of a classification, ILSVRC's own text files, or a naming
release as predictions. No Django.
"""

import math
import re
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sized
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.metrics.ilsvrc.errors import ABSENT
from evaluation.metrics.wordnet import nouns
from evaluation.metrics.wordnet.nouns import UnknownLabel, WordNet
from labeling.csv_rows import nfc, rows
from labeling.files import BadInput, StrPath, require_file, text_lines
from labeling.json_text import canonical_sha256
from labeling.kinds.base import CLASS
from labeling.plurals import count_of
from labeling.release_files.frozen import Frozen
from labeling.release_files.frozen_labels import AnswerLine

# No measure looks beyond this rank.
RANKS = 20
# More than twice the length of the longest noun lemma in WordNet.
MAX_LABEL_LENGTH = 200
COLUMNS = ("image", "rank", "wnid", "confidence")
_ID_FIELD = re.compile(r"ILSVRC\d{4}\w*_ID")


def load_wordnet() -> WordNet:
    """Return WordNet. Raises BadInput that says how to get it where it is missing."""
    try:
        return nouns.load()
    except nouns.WordNetMissing as error:
        raise BadInput(error.message, cure=error.cure) from error


@dataclass(frozen=True)
class NamedByPeople:
    """The classes that people named in a release.

    images: (N,) whether the truth image is settled or dropped in the release, or its one annotator
    answered it. elsewhere: number of the release's images that are not in the truth.
    """

    campaign: str
    number: int | None
    sha256: str
    images: NDArray[np.bool_]
    elsewhere: int
    is_one_person: bool = False


@dataclass(frozen=True)
class Classified:
    """N images with their class and up to K predictions each.

    classes: names for the result, wnids, or ids where the files have ids without a known meaning.
    synsets: of the classes, None in that case. truth: (N,), predicted: (N, K) class numbers, ABSENT
    where a rank is missing. repeated: number of predictions that repeated a class on an image and
    were made ABSENT. places: first line of each class in the truth. people: set if the predictions
    come from a release. gaps: number of images with a rank after a missing one.
    """

    images: list[str]
    classes: list[str]
    synsets: list[int] | None
    truth: NDArray[np.int64]
    predicted: NDArray[np.int32]
    repeated: int
    truth_file: Path
    places: dict[int, int]
    people: NamedByPeople | None = None
    gaps: int = 0


class Labels:
    """Numbers labels from 0, one number per synset under entity."""

    def __init__(self, wordnet: WordNet) -> None:
        self.wordnet = wordnet
        self.synsets: list[int] = []
        self._numbers: dict[str, int] = {}
        self._of_synset: dict[int, int] = {}

    def __call__(self, label: str, path: Path, line: int | None) -> int:
        number = self._numbers.get(label)
        if number is None:
            number = self._numbers[label] = self._find(label.strip(), path, line)
        return number

    def _find(self, label: str, path: Path, line: int | None) -> int:
        if len(label) > MAX_LABEL_LENGTH:
            cure = "give a wnid: n02084071"
            raise BadInput(f"the label has {len(label)} characters", path, line, cure)
        try:
            synset = self.wordnet.find(label)
        except UnknownLabel as error:
            cure = "give one of these wnids" if error.candidates else "give a wnid: n02084071"
            raise BadInput(str(error), path, line, cure) from error
        if self.wordnet.depth[synset] < 0:
            raise BadInput(
                f"{label!r} is an instance, not a class",
                path,
                line,
                "name a class, not an instance",
            )
        number = self._of_synset.setdefault(synset, len(self.synsets))
        if number == len(self.synsets):
            self.synsets.append(synset)
        return number

    @property
    def names(self) -> list[str]:
        return [self.wordnet.wnid(synset) for synset in self.synsets]


def read_classified(truth: Path, predictions: Path, wordnet: WordNet) -> Classified:
    """Return the classification of `image,wnid` and `image,rank,wnid[,confidence]` rows, ranks from
    1.

    Labels are wnids, dog.n.01 or a lemma of one sense. Images without predictions and missing ranks
    are allowed. Confidences do not affect the order. Raises BadInput with the line for an unknown
    label, an image twice in the truth, a predicted image that is not in the truth, a rank that is
    no whole number from 1 or is repeated for an image, and a confidence that is not a number.
    """
    labels = Labels(wordnet)
    images, classes, places = read_truth(truth, labels)
    cells = array("q")
    line = 0
    for line, (image, rank_text, wnid, confidence) in rows(predictions, COLUMNS, COLUMNS[3:]):
        image_number = images.get(image)
        if image_number is None:
            raise BadInput(
                f"the truth lacks the image {image!r}",
                predictions,
                line,
                f"remove the row, or add the image to {truth}",
            )
        rank = _rank(rank_text, predictions, line)
        if confidence and not _is_number(confidence):
            raise BadInput(
                f"the confidence is {confidence!r}", predictions, line, "give a number, or nothing"
            )
        label = labels(wnid, predictions, line)
        cells.extend((image_number, rank, label, line))
    if not line:
        raise BadInput("there are no predictions below the header", predictions, None, "add rows")
    predicted = _arranged(np.array(cells).reshape(-1, 4), list(images), predictions)
    gaps = int(((predicted[:, 1:] != ABSENT) & (predicted[:, :-1] == ABSENT)).any(axis=1).sum())
    predicted, repeated = _once(predicted)
    return Classified(
        list(images),
        labels.names,
        labels.synsets,
        np.array(classes, np.int64),
        predicted,
        repeated,
        truth,
        places,
        gaps=gaps,
    )


def read_named(
    truth: Path, release: Frozen, wordnet: WordNet, annotator: str | None = None
) -> Classified:
    """Return the classification of `image,wnid` rows, with the names in a release as predictions.

    Rank 1 is the settled class, ABSENT where there is none. The next ranks are the other classes
    that people named: in their order, else by votes, ties by key. annotator: a pseudonym; then only
    the classes that this person named count, in the person's order. Raises BadInput for a release
    that names no classes, one with a class that is not a noun of WordNet, one without an image of
    the truth, and one without the annotator.
    """
    if release.kind.release != CLASS:
        raise BadInput(
            f"is a release of a campaign of the kind {release.meta['campaign']['kind']}, which "
            "names no classes",
            release.folder,
            None,
            "give a release of a naming campaign, or rows of predictions",
        )
    labels = Labels(wordnet)
    images, classes, places = read_truth(truth, labels)
    vocabulary = release.kind.class_names(release.meta["campaign"]["settings"])
    settled = np.zeros(len(images), bool)
    predicted = np.full((len(images), RANKS), ABSENT, np.int32)
    elsewhere = 0
    source = release.folder / ("votes.jsonl" if annotator else "answers.jsonl")
    ranked = (
        _of_person(release, annotator, vocabulary) if annotator else _of_all(release, vocabulary)
    )
    for line, image, keys in ranked:
        image_number = images.get(nfc(image))
        if image_number is None:
            elsewhere += 1
            continue
        predicted[image_number] = ABSENT
        predicted[image_number, : len(keys)] = [
            ABSENT if key is None else _vocabulary_label(labels, key, source, line) for key in keys
        ]
        settled[image_number] = True
    if not settled.any():
        raise BadInput(
            "has no settled image that is in the truth",
            release.folder,
            None,
            f"use the image names of the release in {truth}",
        )
    predicted, repeated = _once(predicted)
    meta = release.meta
    return Classified(
        list(images),
        labels.names,
        labels.synsets,
        np.array(classes, np.int64),
        predicted,
        repeated,
        truth,
        places,
        NamedByPeople(
            meta["campaign"]["name"],
            meta.get("number"),
            people_sha256(release, annotator),
            settled,
            elsewhere,
            bool(annotator),
        ),
    )


def people_sha256(release: Frozen, annotator: str | None) -> str:
    """Return the hash of the release, or of one person's answers in it."""
    sha256 = release.meta["sha256"]
    return canonical_sha256({"release": sha256, "annotator": annotator}) if annotator else sha256


def on_named_images(submissions: Mapping[str, Classified]) -> dict[str, Classified]:
    """Return the submissions reduced to the images that are settled in every release among them.

    submissions: by name, on one truth. Raises BadInput where no image is left.
    """
    every = [classified.people.images for classified in submissions.values() if classified.people]
    kept = np.logical_and.reduce(every) if every else None
    if kept is None or kept.all():
        return dict(submissions)
    if not kept.any():
        raise BadInput("no image of the truth is settled in every release", cure="score each alone")
    return {name: _on(classified, kept) for name, classified in submissions.items()}


def on_part(classified: Classified, part: Collection[str]) -> Classified:
    """Return the submission on the images of a part alone. Raises BadInput if there is none."""
    kept = np.array([image in part for image in classified.images], np.bool_)
    refuse_no_image(np.flatnonzero(kept), classified.truth_file)
    people = classified.people
    people = replace(people, images=people.images[kept]) if people else None
    return replace(_on(classified, kept), people=people)


def refuse_no_image(images: Sized, file: StrPath) -> None:
    """Raise BadInput if no image of the part is in the file."""
    if not len(images):
        raise BadInput("no image of the part is in it", file, None, "give a split of this truth")


def _on(classified: Classified, kept: NDArray[np.bool_]) -> Classified:
    truth = classified.truth[kept]
    labels = set(truth.tolist())
    return replace(
        classified,
        images=[classified.images[image_number] for image_number in np.flatnonzero(kept).tolist()],
        truth=truth,
        predicted=classified.predicted[kept],
        places={number: line for number, line in classified.places.items() if number in labels},
    )


def _of_all(
    release: Frozen, vocabulary: Collection[str]
) -> Iterator[tuple[int, str, list[str | None]]]:
    """Yield the line, the image and the ranked classes of each settled or dropped answer."""
    for line, answer in enumerate(release.answers(), 1):
        yield line, answer["image"], _ranked(answer, vocabulary)


def _of_person(
    release: Frozen, annotator: str, vocabulary: Collection[str]
) -> Iterator[tuple[int, str, list[str | None]]]:
    """Yield what _of_all does, for each image that this person answered; the last revision counts.
    Raises BadInput for an unknown pseudonym.
    """
    ranked: dict[str, tuple[int, list[str | None]]] = {}
    counts: Counter[str] = Counter()
    for line, vote in enumerate(release.votes(), 1):
        counts[vote["annotator"]] += 1
        if vote["annotator"] == annotator:
            value = vote["value"]
            keys = release.kind.ranked([value], value) or [release.kind.tally_name(value)]
            ranked[vote["image"]] = line, [key for key in keys if key in vocabulary] or [None]
    if not ranked:
        most = ", ".join(f"{name} ({count:,} votes)" for name, count in counts.most_common(5))
        raise BadInput(
            f"has no votes of {annotator}",
            release.folder,
            None,
            f"votes.jsonl names its annotators: {most}" if most else "its votes.jsonl is empty",
        )
    for image, (line, classes) in ranked.items():
        yield line, image, classes[:RANKS]


def _ranked(answer: AnswerLine, vocabulary: Collection[str]) -> list[str | None]:
    """Return up to RANKS classes of an image, best first; None comes first where none was
    settled.
    """
    votes = answer.get("votes", {})
    others = sorted(votes.keys() & set(vocabulary), key=lambda key: (-votes[key], key))
    others = [key for key in answer.get("ranked", others) if key in vocabulary]
    first = answer["wnid"] if answer["wnid"] in vocabulary else None
    return [first, *(key for key in others if key != first)][:RANKS]


def _vocabulary_label(labels: Labels, key: str, source: Path, line: int) -> int:
    try:
        return labels(key, source, line)
    except BadInput as error:
        cure = "name classes by wnid in the campaign's vocabulary"
        raise BadInput(error.message, error.file, error.line, cure) from error


def read_devkit(
    truth: Path, predictions: Path, wordnet: WordNet, meaning: dict[int, tuple[str, int]] | None
) -> Classified:
    """Return the classification of ILSVRC's text files.

    Each truth line has one id; each prediction line has up to five, best first.

    Line i is image i. meaning: id → (wnid, line), see read_ids(); without it classes are ids. An id
    of 0 or −1 and an empty line mean no prediction. Raises BadInput with the line for an invalid
    id, an id without a meaning, and a number of lines that differs from the truth's.
    """
    labels = Labels(wordnet)
    ids: dict[int, int] = {}

    def number(text: str, path: Path, line: int) -> int:
        value = _id(text, path, line)
        if value < 1:
            return ABSENT
        if meaning is None:
            return ids.setdefault(value, len(ids))
        if value not in meaning:
            raise BadInput(
                f"the id {value} has no class", path, line, "give the list of classes of these ids"
            )
        return labels(meaning[value][0], path, line)

    classes, places = _truth_ids(truth, number)
    lines = _content(predictions, len(classes))
    if len(lines) != len(classes):
        raise BadInput(
            f"has {count_of(len(lines), 'line')}, {truth} has {len(classes)}",
            predictions,
            None,
            "give a line for each image",
        )
    predicted = np.full((len(lines), RANKS), ABSENT, np.int32)
    for image_number, text in enumerate(lines):
        numbers = [number(word, predictions, image_number + 1) for word in text.split()]
        predicted[image_number, : len(numbers)] = numbers[:RANKS]
    predicted, repeated = _once(predicted)
    return Classified(
        [str(i + 1) for i in range(len(lines))],
        labels.names if meaning is not None else [str(i) for i in ids],
        labels.synsets if meaning is not None else None,
        np.array(classes, np.int64),
        predicted,
        repeated,
        truth,
        places,
    )


def read_ids(path: Path) -> dict[int, tuple[str, int]]:
    """Return id → (wnid, line), from the kit's meta.mat or from a list whose line i is id i.

    Raises BadInput for a file that is neither.
    """
    require_file(path, "give the kit's meta.mat, or a list of wnids whose line i is id i")
    if path.suffix == ".mat":
        return {number: (wnid, 0) for number, wnid in _meta(path)}
    meaning = {}
    for line, text in enumerate(text_lines(path), 1):
        wnid = text.split()[0] if text.split() else ""
        if not re.fullmatch(r"n\d{8}", wnid):
            raise BadInput(f"{wnid!r} is not a wnid", path, line, "write a wnid on each line")
        meaning[line] = (wnid, line)
    return meaning


def read_truth(path: Path, labels: Labels) -> tuple[dict[str, int], list[int], dict[int, int]]:
    """Return the index of each image in `image,wnid` rows, the class numbers, and each class's
    first line. Raises BadInput with the line.
    """
    images: dict[str, int] = {}
    classes: list[int] = []
    places: dict[int, int] = {}
    for line, (image, wnid) in rows(path, ("image", "wnid")):
        if not image:
            raise BadInput("the image is empty", path, line, "name the image")
        if image in images:
            raise BadInput(f"image {image!r} is repeated", path, line, "keep one row for an image")
        images[image] = len(images)
        classes.append(labels(wnid, path, line))
        places.setdefault(classes[-1], line)
    if not images:
        raise BadInput("there are no images below the header", path, None, "add image,wnid rows")
    return images, classes, places


def _truth_ids(
    path: Path, number: Callable[[str, Path, int], int]
) -> tuple[list[int], dict[int, int]]:
    classes: list[int] = []
    places: dict[int, int] = {}
    for line, text in enumerate(_content(path), 1):
        label = number(text.strip(), path, line)
        if label == ABSENT:
            raise BadInput("the image has no class", path, line, "give an id from 1")
        classes.append(label)
        places.setdefault(label, line)
    if not classes:
        raise BadInput("there are no images", path, None, "write an id on each line")
    return classes, places


def _content(path: Path, least: int = 0) -> list[str]:
    """Return the lines of a text file, without empty lines at its end."""
    require_file(path, "check the path")
    lines = text_lines(path)
    while len(lines) > least and not lines[-1].strip():
        lines.pop()
    return lines


def _rank(text: str, path: Path, line: int) -> int:
    # int() also takes 1_000 and digits of other scripts.
    if not re.fullmatch(r"\s*0*[1-9][0-9]{0,8}\s*", text, re.ASCII):
        raise BadInput(f"the rank is {text!r}", path, line, "number the predictions 1, 2, 3, …")
    return int(text)


def _id(text: str, path: Path, line: int) -> int:
    if not re.fullmatch(r"-?[0-9]{1,9}", text, re.ASCII):
        raise BadInput(f"{text!r} is not an id", path, line, "write whole numbers from 1")
    return int(text)


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _arranged(cells: NDArray[np.int64], images: list[str], path: Path) -> NDArray[np.int32]:
    """Return (N, K) labels of rows (image, rank, label, line). Raises BadInput for a
    repeated rank.
    """
    image_number, rank, label, line = cells.T
    order = np.lexsort((line, rank, image_number))
    again = np.flatnonzero((np.diff(image_number[order]) == 0) & (np.diff(rank[order]) == 0))
    if len(again):
        row = order[again + 1][np.argmin(line[order[again + 1]])]
        raise BadInput(
            f"rank {rank[row]} of image {images[image_number[row]]!r} is repeated",
            path,
            int(line[row]),
            "keep one row for each image and rank",
        )
    kept = rank <= RANKS
    predicted = np.full((len(images), RANKS), ABSENT, np.int32)
    predicted[image_number[kept], rank[kept] - 1] = label[kept]
    return predicted


def _once(predicted: NDArray[np.int32]) -> tuple[NDArray[np.int32], int]:
    """Return a copy in which later ranks that repeat a class are ABSENT, and their number."""
    cleaned = predicted.copy()
    for rank in range(1, predicted.shape[1]):
        at_rank = predicted[:, rank, None]
        cleaned[((predicted[:, :rank] == at_rank) & (at_rank != ABSENT)).any(axis=1), rank] = ABSENT
    return cleaned, int((cleaned != predicted).sum())


def _meta(path: Path) -> list[tuple[int, str]]:
    from scipy.io import loadmat
    from scipy.io.matlab import MatReadError

    try:
        synsets: Any = np.atleast_1d(loadmat(path, squeeze_me=True)["synsets"])
        [field] = [name for name in synsets.dtype.names or () if _ID_FIELD.fullmatch(name)]
        return [(int(row[field]), str(row["WNID"])) for row in synsets]
    except NotImplementedError:
        cure = "load it in MATLAB and save it with '-v7'"
        raise BadInput("is a MATLAB v7.3 file, which is not read", path, None, cure) from None
    except (MatReadError, ValueError, KeyError, TypeError, IndexError):
        raise BadInput(
            "is not a meta.mat of ILSVRC", path, None, "it holds synsets with ILSVRC…_ID and WNID"
        ) from None
