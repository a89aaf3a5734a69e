"""Read answers and accuracies. All checks happen here, once; errors are BadInput. No Django."""

import csv
import io
import struct
import tokenize
import zipfile
from collections.abc import Iterator
from pathlib import Path

from labeling.files import BadInput, StrPath, require_file, text_lines
from labeling.json_text import parse_json

# Errors of numpy for a file that is no array. The head is a Python literal, which may also be
# nested too deeply, hash a list, or give a length beyond 2^63.
NO_ARRAY: tuple[type[Exception], ...] = (
    OSError,
    EOFError,
    ValueError,
    TypeError,
    LookupError,
    OverflowError,
    SyntaxError,
    RecursionError,
    MemoryError,
    struct.error,
    tokenize.TokenError,
    zipfile.BadZipFile,
)
# The first bytes of an .npz, such as the parts of mad select --shard.
ZIP = b"PK\x03\x04"


def json_lines(path: Path) -> Iterator[tuple[int, dict[str, object]]]:
    """Yield the line number and object of each line that is not blank."""
    require_file(path, "check the path")
    # Not splitlines(), which would split at U+2028 in JSON strings.
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
                value = parse_json(raw.decode("utf-8-sig" if number == 1 else "utf-8"))
            except (ValueError, RecursionError) as error:
                raise BadInput(
                    f"is not JSON ({error})", path, number, "one JSON object per line"
                ) from error
            if not isinstance(value, dict):
                raise BadInput("is not a JSON object", path, number, "one JSON object per line")
            yield number, value


def read_answers(path: Path) -> dict[tuple[str, str], bool | None]:
    """Return (image, wnid) → whether the image contains it; None where it was dropped as
    too hard.
    """
    answers: dict[tuple[str, str], bool | None] = {}
    for line, value in json_lines(path):
        image, wnid, contains = value.get("image"), value.get("wnid"), value.get("contains", "")
        if not isinstance(image, str) or not isinstance(wnid, str):
            raise BadInput("image and wnid are not both strings", path, line, "give both")
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
    """Return classifier → accuracy from a file of `classifier,accuracy` rows.

    Raises BadInput for a classifier that is missing or listed twice.
    """
    require_file(path, "give a file of classifier,accuracy rows")
    accuracies = parse_accuracies("\n".join(text_lines(path)), path)
    missing = [name for name in classifiers if name not in accuracies]
    if missing:
        raise BadInput(
            f"no accuracy for {', '.join(missing)}", path, None, "add a row for each classifier"
        )
    return {name: accuracies[name] for name in classifiers}


def parse_accuracies(text: str, file: StrPath) -> dict[str, float]:
    """Return classifier → accuracy from the text of `classifier,accuracy` rows.

    file: its name in errors. Raises BadInput for a row that is not CSV, has no number, or repeats a
    classifier.
    """
    rows = csv.DictReader(io.StringIO(text, newline=""))
    try:
        return _accuracies(rows, file)
    except csv.Error as error:
        line = rows.reader.line_num
        raise BadInput(
            f"is not CSV ({error})", file, line, "write rows of classifier,accuracy"
        ) from error


def _accuracies(rows: "csv.DictReader[str]", path: StrPath) -> dict[str, float]:
    if not {"classifier", "accuracy"} <= set(rows.fieldnames or ()):
        raise BadInput(
            "the first line has no classifier and accuracy",
            file=path,
            line=1,
            cure="begin with the line classifier,accuracy",
        )
    accuracies: dict[str, float] = {}
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
        if name in accuracies:
            raise BadInput(f"{name!r} is listed twice", path, rows.line_num, "list it once")
        accuracies[name] = value
    return accuracies
