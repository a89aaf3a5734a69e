"""Files → checked values. Everything is checked here, once; what is wrong is a BadInput.

Free of Django. Predictions folders are read in pools.py.
"""

import csv
import hashlib
import io
import json
import re
import struct
import tokenize
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evaluation.metrics.mad.ranking import SelectedImage
from labeling.files import BadInput, StrPath

# What numpy raises of a file that is no array of its own. The head is a Python literal, which may
# also nest too deeply, or hash a list.
NO_ARRAY: tuple[type[Exception], ...] = (
    OSError,
    EOFError,
    ValueError,
    TypeError,
    LookupError,
    SyntaxError,
    RecursionError,
    MemoryError,
    struct.error,
    tokenize.TokenError,
    zipfile.BadZipFile,
)
# What an .npz begins with, such as the parts of mad select --shard.
ZIP = b"PK\x03\x04"
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def require_file(path: Path, cure: str) -> None:
    """Raises BadInput where there is no such file."""
    if not path.is_file():
        raise BadInput("the file is missing", file=path, cure=cure)


def file_sha256(path: Path) -> str:
    """The SHA-256 of a file in hex."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def text_lines(path: Path) -> list[str]:
    """The lines of a small text file; BadInput names the line that is not UTF-8."""
    data = path.read_bytes()
    try:
        return data.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise BadInput("is not UTF-8", file=path, line=line, cure="save it as UTF-8") from error


def parsed(text: str) -> Any:
    """The value of a JSON text. Raises ValueError, also for half a character (a lone surrogate such
    as \\ud800), which nothing can print or store; RecursionError where it nests too deeply."""
    value = json.loads(text)
    if _SURROGATE.search(text):
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            half = error.object[error.start]
            raise ValueError(f"\\u{ord(half):x} is half a character") from None
    return value


def json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Line number and object of each line that is not blank."""
    require_file(path, "check the path")
    # Not splitlines(): JSON strings may hold U+2028, which that would cut at.
    with open(path, "rb") as file:
        if file.peek(len(ZIP))[: len(ZIP)] == ZIP:
            raise BadInput(
                "is a part of a selection (mad select --shard) or another zip, no JSON Lines",
                file=path,
                cure="join all parts first: mad merge PART … --out selection.jsonl",
            )
        for number, raw in enumerate(file, start=1):
            if not raw.strip():
                continue
            try:
                value = parsed(raw.decode("utf-8-sig" if number == 1 else "utf-8"))
            except (ValueError, RecursionError) as error:
                raise BadInput(
                    f"is not JSON ({error})",
                    file=path,
                    line=number,
                    cure="one JSON object per line",
                ) from error
            if not isinstance(value, dict):
                raise BadInput(
                    "is not a JSON object", file=path, line=number, cure="one JSON object per line"
                )
            yield number, value


@dataclass(frozen=True)
class Selection:
    """A selection file: its meta line and its images. classifiers and top_k come from the meta."""

    meta: dict[str, Any]
    classifiers: list[str]
    top_k: int
    images: list[SelectedImage]


def read_selection(*paths: Path) -> Selection:
    """The union of selection files, each with its meta line (or several, joined end to end).

    The classifiers of later meta lines follow those of the first. meta is the first one.
    Raises BadInput: no meta line before the images, another top_k, a pair of classifiers that the
    meta does not name, a rank or an image twice in one pair.
    """
    metas: list[dict[str, Any]] = []
    images: list[SelectedImage] = []
    for path in paths:
        own: dict[str, Any] | None = None
        for line, value in json_lines(path):
            if "meta" in value:
                own = _checked_meta(value["meta"], path, line)
                metas.append(own)
                if own["top_k"] != metas[0]["top_k"]:
                    raise BadInput(
                        f"top_k is {own['top_k']}, before it was {metas[0]['top_k']}",
                        file=path,
                        line=line,
                        cure="join selections that were made with the same --top-k",
                    )
            elif own is None:
                raise BadInput(
                    'the first line is not {"meta": {…}}',
                    file=path,
                    line=line,
                    cure="give a file that mad select, merge or add wrote",
                )
            else:
                images.append(_checked_image(value, own, path, line))
        if own is None:
            raise BadInput("the file is empty", file=path, cure="give a selection")
    _refuse_repeats(images, paths)
    classifiers = list(dict.fromkeys(name for meta in metas for name in meta["classifiers"]))
    if all(meta.get("classifier_order") == "sorted" for meta in metas):
        classifiers.sort()
    return Selection(metas[0], classifiers, metas[0]["top_k"], images)


def _checked_meta(meta: Any, path: Path, line: int) -> dict[str, Any]:
    names = meta.get("classifiers") if isinstance(meta, dict) else None
    if (
        not isinstance(names, list)
        or not all(isinstance(name, str) for name in names)
        or len(set(names)) != len(names)
        or len(names) < 2
    ):
        raise BadInput(
            "the meta line has no classifiers, a list of two or more different names",
            file=path,
            line=line,
            cure="name the classifiers",
        )
    if not _is_count(meta.get("top_k")):
        raise BadInput(
            f"top_k is {meta.get('top_k')!r}, expected a number from 1",
            file=path,
            line=line,
            cure="give the number of images a pair",
        )
    return dict(meta)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _checked_image(
    value: dict[str, Any], meta: dict[str, Any], path: Path, line: int
) -> SelectedImage:
    def refuse(what: str, cure: str) -> BadInput:
        return BadInput(what, file=path, line=line, cure=cure)

    pair, labels = value.get("pair"), value.get("labels")
    for name, two in (("pair", pair), ("labels", labels)):
        if (
            not isinstance(two, list)
            or [type(item) for item in two] != [str, str]
            or two[0] == two[1]
        ):
            raise refuse(f"{name} is {two!r}, expected two different names", "give two names")
    assert isinstance(pair, list)
    assert isinstance(labels, list)
    unknown = [name for name in pair if name not in meta["classifiers"]]
    if unknown:
        raise refuse(f"{unknown[0]!r} is not among the meta line's classifiers", "name it there")
    if not _is_count(value.get("rank")):
        raise refuse(f"rank is {value.get('rank')!r}, expected a number from 1", "number them")
    if not isinstance(value.get("image"), str) or not value["image"]:
        raise refuse(f"image is {value.get('image')!r}, expected an id", "give the image's id")
    return SelectedImage((pair[0], pair[1]), value["rank"], value["image"], (labels[0], labels[1]))


def _refuse_repeats(images: list[SelectedImage], paths: tuple[Path, ...]) -> None:
    seen: set[tuple[frozenset[str], str, Any]] = set()
    for chosen in images:
        for kind, value in (("rank", chosen.rank), ("image", chosen.image)):
            key = (frozenset(chosen.pair), kind, value)
            if key in seen:
                raise BadInput(
                    f"{kind} {value!r} stands twice for the pair {' and '.join(chosen.pair)}",
                    file=paths[0] if len(paths) == 1 else ", ".join(map(str, paths)),
                    cure="give each pair's selection once",
                )
            seen.add(key)


def read_answers(path: Path) -> dict[tuple[str, str], bool | None]:
    """(image, wnid) → whether the image contains it; None where it was dropped as too hard."""
    answers: dict[tuple[str, str], bool | None] = {}
    for line, value in json_lines(path):
        image, wnid, contains = value.get("image"), value.get("wnid"), value.get("contains", "")
        if not isinstance(image, str) or not isinstance(wnid, str):
            raise BadInput(
                "image and wnid are not both strings", file=path, line=line, cure="give both"
            )
        if contains is not None and not isinstance(contains, bool):
            raise BadInput(
                f"contains is {contains!r}, expected true, false or null",
                file=path,
                line=line,
                cure="give true, false, or null for an image dropped as too hard",
            )
        if (image, wnid) in answers:
            raise BadInput(
                f"{image!r} and {wnid} already have an answer",
                file=path,
                line=line,
                cure="give one line per settled question",
            )
        answers[image, wnid] = contains
    return answers


def read_accuracy(path: Path, classifiers: list[str]) -> dict[str, float]:
    """classifier → accuracy, of these classifiers, from a file of `classifier,accuracy` rows.

    Raises BadInput for a classifier that is missing or listed twice.
    """
    require_file(path, "give a file of classifier,accuracy rows")
    found = parse_accuracies("\n".join(text_lines(path)), path)
    missing = [name for name in classifiers if name not in found]
    if missing:
        raise BadInput(
            f"no accuracy for {', '.join(missing)}", file=path, cure="add a row for each classifier"
        )
    return {name: found[name] for name in classifiers}


def parse_accuracies(text: str, file: StrPath) -> dict[str, float]:
    """classifier → accuracy, from the text of `classifier,accuracy` rows; `file` is named.

    Raises BadInput for a row that is not CSV, has no number, or lists a classifier again.
    """
    rows = csv.DictReader(io.StringIO(text, newline=""))
    try:
        return _accuracies(rows, file)
    except csv.Error as error:
        line = rows.reader.line_num
        raise BadInput(
            f"is not CSV ({error})", file=file, line=line, cure="write rows of classifier,accuracy"
        ) from error


def _accuracies(rows: "csv.DictReader[str]", path: StrPath) -> dict[str, float]:
    if not {"classifier", "accuracy"} <= set(rows.fieldnames or ()):
        raise BadInput(
            "the first line has no classifier and accuracy",
            file=path,
            line=1,
            cure="begin with the line classifier,accuracy",
        )
    found: dict[str, float] = {}
    for row in rows:
        name = row["classifier"]
        try:
            value = float(row["accuracy"])
        except (TypeError, ValueError):
            value = float("nan")
        if value != value or abs(value) == float("inf"):
            raise BadInput(
                f"the accuracy of {name!r} is {row['accuracy']!r}, expected a number",
                file=path,
                line=rows.line_num,
                cure="give a number",
            )
        if name in found:
            raise BadInput(
                f"{name!r} is listed twice", file=path, line=rows.line_num, cure="list it once"
            )
        found[name] = value
    return found
