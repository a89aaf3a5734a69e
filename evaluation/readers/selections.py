"""Read selection files: the meta line and the lines of images, checked with line numbers. No
Django.

Ranking needs only pairs, ranks, images and labels (`read_ranked`). A competition on the site also
shows confidences and distances and asks about classes, so `read` checks whole lines.
"""

import hashlib
import json
import math
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from evaluation.metrics.mad.ranking import SelectedImage
from evaluation.metrics.wordnet import nouns
from evaluation.metrics.wordnet.distances import DISTANCES, WORDNET_DISTANCES
from evaluation.metrics.wordnet.nouns import UnknownLabel, WordNet
from evaluation.readers.answers import json_lines
from labeling.files import BadInput
from labeling.json_text import canonical
from labeling.records import Record

MAX_RANK = 1_000_000
MAX_TOP_K = 10_000
# The length limit of labels in the database.
MAX_CLASS_LENGTH = 64
# Settings that must be equal for the lists of two selections to be comparable.
RULE = (
    "top_k",
    "min_confidence",
    "max_per_label",
    "distance",
    "distance_sha256",
    "unique_pairs",
)
Row = Mapping[str, object]
L = TypeVar("L", bound=SelectedImage)


@dataclass(kw_only=True)
class Meta(Record):
    """The first line of a selection: the classifiers, and the rule by which images were chosen.

    inputs: SHA-256 of each file that was read. parts: number of merged parts. stretches: the image
    count at the end of each stretch, where each part read its own stretch; inputs then has, except
    for classes.txt, the results of pools.joined_sha256. added: the classifier that `mad add` added.
    distance_sha256: of the user's file that `distance` names. Lines written by other tools may have
    only classifiers and top_k, and anything under wordnet, inputs, counts and stretches.
    """

    classifiers: list[str]
    classifier_order: str | None = None
    top_k: int
    reserve: int | None = None
    min_confidence: float | None = None
    max_per_label: int | None = None
    unique_pairs: bool | None = None
    distance: str | None = None
    distance_sha256: str | None = None
    wordnet: object = None
    inputs: object = None
    counts: object = None
    parts: int | None = None
    stretches: object = None
    added: str | None = None

    @property
    def needs_wordnet(self) -> bool:
        """Return whether the classes must be WordNet's; zero-one and a user's distances
        allow any.
        """
        return self.distance in (None, *WORDNET_DISTANCES)

    def in_order(self, names: Iterable[str]) -> list[str]:
        """Return the names in the order of a full run over all of them: sorted, or as given."""
        return sorted(names) if self.classifier_order == "sorted" else list(names)


@dataclass(frozen=True)
class SelectionLine(SelectedImage):
    """An image of a selection with confidences, in the pair's order, and the distance of its
    labels.
    """

    confidences: tuple[float, float]
    distance: float

    def as_payload(self, top_k: int) -> dict[str, object]:
        row: dict[str, object] = {
            "pair": list(self.pair),
            "rank": self.rank,
            "image": self.image,
            "labels": list(self.labels),
            "confidences": list(self.confidences),
            "distance": self.distance,
        }
        return row | {"reserve": True} if self.rank > top_k else row


@dataclass(frozen=True)
class SelectionFile:
    meta: Meta
    lines: Sequence[SelectionLine] = field(default_factory=list)

    @property
    def classifiers(self) -> list[str]:
        return self.meta.in_order(self.meta.classifiers)

    @property
    def top_k(self) -> int:
        return self.meta.top_k

    def chosen_lines(self) -> Iterator[SelectionLine]:
        """Return the lines that are asked about; the others are the reserve."""
        return (line for line in self.lines if line.rank <= self.top_k)

    def questions(self) -> list[tuple[str, str]]:
        """Return the distinct (image, wnid) that are asked about, in the order of the lists."""
        return list(dict.fromkeys(key for line in self.chosen_lines() for key in line.questions))

    def wnids(self) -> list[str]:
        return sorted({label for line in self.lines for label in line.labels})

    def text_lines(self) -> Iterator[str]:
        """Yield the file's lines, meta line first, as `mad rank` and `mad add` read them."""
        yield json.dumps({"meta": self.meta.to_json()}, ensure_ascii=False) + "\n"
        for line in self.lines:
            yield json.dumps(line.as_payload(self.top_k), ensure_ascii=False) + "\n"

    def sha256(self) -> str:
        """Return the SHA-256 of the content, independent of its spelling."""
        digest = hashlib.sha256(canonical(self.meta.to_json()))
        for line in self.lines:
            digest.update(canonical(line.as_payload(self.top_k)))
        return digest.hexdigest()


def wordnet_for(path: Path, load: Callable[[], WordNet] = nouns.load) -> WordNet | None:
    """Return WordNet from `load`; None where it is missing and the selection does not need it."""
    _, row = next(json_lines(path), (0, {}))
    meta = row.get("meta")
    distance = meta.get("distance") if isinstance(meta, dict) else None
    return load() if distance in (None, *WORDNET_DISTANCES) else nouns.load_or_none()


def read(path: Path, wordnet: WordNet | None, name: str = "") -> SelectionFile:
    """Return the selection in a file that `mad select` or `mad add` wrote; errors use `name`.

    Raises BadInput with the line and the cure: for a missing field or one of another type, a
    classifier that is not in the meta line, a class that is not in WordNet, and a rank or image
    that a pair has twice.
    """
    return _whole(json_lines(path), wordnet, name or path.name)


def from_rows(rows: SelectionFile | Sequence[Row], wordnet: WordNet | None) -> SelectionFile:
    """Return the selection in the objects of its lines, meta line first, checked as by read()."""
    if isinstance(rows, SelectionFile):
        return rows
    return _whole(enumerate(rows, 1), wordnet, "selection.jsonl")


def _whole(
    numbered: Iterable[tuple[int, Row]], wordnet: WordNet | None, file: str
) -> SelectionFile:
    known: set[str] = set()
    first: list[Meta] = []

    def meta_of(raw: object, file: str, number: int) -> Meta:
        first.append(_checked_meta(raw, file, number))
        return first[-1]

    def line_of(row: Row, names: Collection[str]) -> SelectionLine:
        line = _line(row, names)
        for label in set(line.labels) - known:
            if not first[0].needs_wordnet:
                if not _is_text(label, MAX_CLASS_LENGTH):
                    raise ValueError(
                        f"a class has 1 to {MAX_CLASS_LENGTH} characters: {label[:80]!r}"
                    )
            elif wordnet is not None:
                wordnet.index(label)
            known.add(label)
        return line

    metas, lines = _read({file: numbered}, meta_of, line_of, RULE)
    if not lines:
        raise _bad(file, None, "the selection chooses no image", "lower --min-confidence")
    return SelectionFile(replace(metas[0], classifiers=_names(metas)), lines)


@dataclass(frozen=True)
class RankedSelection:
    """The part of selection files that ranking needs. meta: the first one."""

    meta: Meta
    classifiers: list[str]
    images: list[SelectedImage]


def read_ranked(*paths: Path) -> RankedSelection:
    """Return the union of selection files, each with its meta line (or several, joined end to end).

    The classifiers of later meta lines follow those of the first. Raises BadInput: no meta line
    before the images, another top_k, a pair of classifiers that is not in the meta line, a rank or
    image twice in one pair.
    """
    files = {str(path): json_lines(path) for path in paths}
    metas, images = _read(files, _ranked_meta, _image, ("top_k",))
    classifiers = _names(metas)
    if all(meta.classifier_order == "sorted" for meta in metas):
        classifiers.sort()
    return RankedSelection(metas[0], classifiers, images)


def _read(
    files: Mapping[str, Iterable[tuple[int, Row]]],
    meta_of: Callable[[object, str, int], Meta],
    line_of: Callable[[Row, Collection[str]], L],
    rule: Sequence[str],
) -> tuple[list[Meta], list[L]]:
    """Return the meta lines and the other lines of all files.

    All have one rule; no pair has a rank or image twice.
    """
    metas: list[Meta] = []
    lines: list[L] = []
    places: dict[tuple[frozenset[str], int | str], tuple[str, int]] = {}
    for file, numbered in files.items():
        is_headed, names = False, _names(metas)
        for number, row in numbered:
            if "meta" in row or not is_headed:
                metas.append(meta_of(row.get("meta"), file, number))
                check_same_rule(metas[0], metas[-1], file, number, rule)
                is_headed, names = True, _names(metas)
                continue
            try:
                line = line_of(row, names)
            except UnknownLabel as error:
                raise _bad(file, number, str(error), "use WordNet 3.0's noun ids") from None
            except ValueError as error:
                raise _bad(file, number, str(error)) from None
            for field_name, value in (("rank", line.rank), ("image", line.image)):
                key = (frozenset(line.pair), value)
                first_file, first = places.setdefault(key, (file, number))
                if (first_file, first) != (file, number):
                    of = "" if first_file == file else f" of {first_file}"
                    message = f"the pair has {field_name} {value!r} in line {first}{of} already"
                    raise _bad(file, number, message, "remove one of the two")
            lines.append(line)
        if not is_headed:
            raise _bad(file, None, "the file is empty", "give a selection")
    return metas, lines


def _names(metas: Iterable[Meta]) -> list[str]:
    return list(dict.fromkeys(name for meta in metas for name in meta.classifiers))


def check_same_rule(
    old: Meta, new: Meta, file: str, number: int = 1, rule: Sequence[str] = RULE
) -> None:
    """Raise BadInput naming the difference between the rules of two selections."""
    for key in rule:
        before, now = getattr(old, key), getattr(new, key)
        if before is not None and now is not None and before != now:
            message = f"{key} is {now!r}, and {before!r} in the competition"
            cure = "run mad add into the competition's own selection.jsonl"
            raise _bad(file, number, message, cure)


def _bad(file: str, number: int | None, message: str, cure: str = "") -> BadInput:
    cure = cure or "write the file with mad select or mad add"
    return BadInput(message, file, number, cure)


def _ranked_meta(raw: object, file: str, number: int) -> Meta:
    if not isinstance(raw, dict):
        raise _bad(file, number, 'the first line is not {"meta": {…}}')
    names, top_k = raw.get("classifiers"), raw.get("top_k")
    if (
        not isinstance(names, list)
        or len(names) < 2
        or not all(isinstance(name, str) for name in names)
    ):
        raise _bad(file, number, "meta needs classifiers: two or more names")
    if len(set(names)) < len(names):
        raise _bad(file, number, "meta names a classifier twice")
    if isinstance(top_k, bool) or not isinstance(top_k, int) or top_k < 1:
        message = f"top_k is {str(top_k)[:60]}, expected a whole number of 1 or more"
        raise _bad(file, number, message)
    return Meta.from_json(raw)


def _checked_meta(raw: object, file: str, number: int) -> Meta:
    meta = _ranked_meta(raw, file, number)
    if not all(_is_text(name, 100) for name in meta.classifiers):
        raise _bad(file, number, "meta needs classifiers: two or more names of 1 to 100 characters")
    if meta.top_k > MAX_TOP_K:
        message = f"top_k is {str(meta.top_k)[:60]}, expected a whole number from 1 to {MAX_TOP_K}"
        raise _bad(file, number, message)
    if meta.distance not in (None, *DISTANCES) and not isinstance(meta.distance_sha256, str):
        message = f"distance is {meta.distance!r}, expected one of {', '.join(DISTANCES)}"
        raise _bad(file, number, message)
    # The whole meta line is stored with the benchmark; databases reject these.
    try:
        text = json.dumps(raw, allow_nan=False, ensure_ascii=False)
        text.encode()
    except (ValueError, RecursionError) as error:
        raise _bad(file, number, "meta holds NaN, infinity or half a character") from error
    if "\\u0000" in text:
        raise _bad(file, number, "meta holds a NUL character")
    return meta


def _image(row: Row, names: Collection[str]) -> SelectedImage:
    """Return the part of a line that ranking needs. Raises ValueError."""
    pair, labels = _two_names(row, "pair"), _two_names(row, "labels")
    for name in pair:
        if name not in names:
            raise ValueError(f"the meta line names no classifier {name!r}")
    if pair[0] == pair[1]:
        raise ValueError(f"{pair[0]!r} is paired with itself")
    if labels[0] == labels[1]:
        raise ValueError(f"both labels are {labels[0]}; a pair's image has two")
    rank, image = row.get("rank"), row.get("image")
    if isinstance(rank, bool) or not isinstance(rank, int) or rank < 1:
        raise ValueError(f"rank is {rank!r}, expected a whole number of 1 or more")
    if not isinstance(image, str) or not image:
        raise ValueError("image needs an id of 1 to 400 characters")
    return SelectedImage(pair, rank, image, labels)


def _line(row: Row, names: Collection[str]) -> SelectionLine:
    """Return the whole of a line, fit for the database. Raises ValueError."""
    selected = _image(row, names)
    if selected.rank > MAX_RANK:
        raise ValueError(f"rank is {selected.rank}, expected at most {MAX_RANK}")
    if not _is_text(selected.image, 400):
        raise ValueError("image needs an id of 1 to 400 characters")
    first, second = map(_number, _two(row, "confidences"))
    distance = _number(row.get("distance"))
    if not (math.isfinite(distance) and 0 <= first <= 1 and 0 <= second <= 1):
        raise ValueError("distance needs a number, and confidences two in [0, 1]")
    return SelectionLine(
        selected.pair, selected.rank, selected.image, selected.labels, (first, second), distance
    )


def _two(row: Row, key: str) -> tuple[object, object]:
    value = row.get(key)
    if not isinstance(value, list) or len(value) != 2:
        raise ValueError(f"{key} needs two values, one for each classifier")
    return value[0], value[1]


def _two_names(row: Row, key: str) -> tuple[str, str]:
    first, second = _two(row, key)
    if not isinstance(first, str) or not isinstance(second, str):
        raise ValueError(f"{key} needs two values, one for each classifier")
    return first, second


def _number(value: object) -> float:
    """Return the value as a float; NaN if it is not a number or too large for a float."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return math.nan
    return float(value) if abs(value) <= sys.float_info.max else math.nan


def _is_text(value: str, longest: int) -> bool:
    """Return whether a database and a file can hold it: no NUL, and no half of a surrogate pair."""
    return 0 < len(value) <= longest and not any(
        letter == "\0" or "\ud800" <= letter <= "\udfff" for letter in value
    )
