"""answers.csv and truth.csv: read line by line and checked whole. Pure, no Django.

Names and answers are strings and stay as they are written; " yes" is not "yes".
"""

import csv
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import numpy as np

from labeling.estimators.aggregation import AnsweredTwice, Answers, Numbers
from labeling.files import BadInput, atomic_write

# Longer lines are no answers; reading them whole would let a wrong file fill the memory.
LONGEST_LINE = 1 << 20
ANSWER_COLUMNS = ("annotator", "image", "answer")
TRUTH_COLUMNS = ("image", "answer")
LABEL_COLUMNS = (*TRUTH_COLUMNS, "probability")


@dataclass(frozen=True)
class AnswerSheet:
    """What answers.csv holds. topics: image → topic, empty without that column."""

    answers: Answers
    abstentions: int
    topics: dict[str, str]


def read_answers(path: Path, with_topic: bool = False) -> AnswerSheet:
    """The answers of a CSV with the columns annotator, image, answer, in any order.

    An empty answer is an abstention. with_topic allows a fourth column, topic, the same for every
    row of an image. Raises BadInput with the line for anything else, and for an annotator who
    comes twice with one image, abstentions included.
    """
    people, images, classes = Numbers(), Numbers(), Numbers()
    codes, lines = array("i"), array("q")
    topics: dict[str, str] = {}
    abstentions = 0
    columns = (*ANSWER_COLUMNS, "topic") if with_topic else ANSWER_COLUMNS
    for line, row in rows(path, columns, optional=columns[3:]):
        annotator, image, answer = row[:3]
        for column, value in (("annotator", annotator), ("image", image)):
            if not value:
                raise BadInput(f"the {column} is empty", path, line, f"name the {column}")
        if with_topic and topics.setdefault(image, row[3]) != row[3]:
            raise BadInput(
                f"image {image!r} has the topic {row[3]!r}, before it had {topics[image]!r}",
                path,
                line,
                "give every image one topic",
            )
        abstentions += not answer
        codes.extend((people(annotator), images(image), classes(answer) if answer else -1))
        lines.append(line)
    if not lines:
        raise BadInput("there are no answers below the header", path, None, "add rows")
    try:
        answers = Answers.from_codes(
            np.array(codes, np.int32).reshape(-1, 3), people, images, classes
        )
    except AnsweredTwice as twice:
        raise BadInput(
            f"annotator {twice.annotator!r} answers image {twice.item!r} again, first on line "
            f"{lines[twice.first]}",
            path,
            lines[twice.row],
            "keep one row for each annotator and image",
        ) from None
    return AnswerSheet(answers, abstentions, topics)


def write_labels(
    path: Path, labels: Mapping[str, str | None], probabilities: Mapping[str, Mapping[str, float]]
) -> None:
    """image,answer,probability of every image that has a label; read_truth reads it back."""
    with atomic_write(path) as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(LABEL_COLUMNS)
        for image, label in labels.items():
            if label is not None:
                rows.writerow([image, label, probabilities[image].get(label, "")])


def read_truth(path: Path) -> dict[str, str]:
    """image → answer of a CSV with these two columns, and probability, which is passed over;
    BadInput for an image that comes twice."""
    truth: dict[str, str] = {}
    for line, (image, answer, _) in rows(path, LABEL_COLUMNS, optional=("probability",)):
        if not image or not answer:
            empty = "answer" if image else "image"
            raise BadInput(f"the {empty} is empty", path, line, "fill it in, or remove the row")
        if image in truth:
            raise BadInput(f"image {image!r} comes again", path, line, "keep one row for an image")
        truth[image] = answer
    if not truth:
        raise BadInput("there are no answers below the header", path, None, "add rows")
    return truth


def rows(
    path: Path, columns: Sequence[str], optional: Sequence[str] = (), others: bool = False
) -> Iterator[tuple[int, list[str]]]:
    """Line number and cells of every row, in the order of `columns`; blank lines are passed over.

    Columns that are optional and absent give "". others: columns of other names are passed over,
    not refused. A row that spans lines is named by its first.
    """
    with open(path, encoding="utf-8-sig", newline="") as file, _csv_errors(path) as place:
        reader = csv.reader(_lines(file, path, place), strict=True)
        header = next(reader, None)
        if header is None:
            raise BadInput("the file is empty", path, None, f"begin with {','.join(columns)}")
        order = _columns(header, columns, optional, path, others)
        width = len(header)
        place[0] = reader.line_num + 1
        for row in reader:
            if row:
                if len(row) != width:
                    raise BadInput(
                        f"the row has {len(row)} cells, the header {width}",
                        path,
                        place[0],
                        "quote cells that hold a comma",
                    )
                yield place[0], [row[at] if at >= 0 else "" for at in order]
            place[0] = reader.line_num + 1


def _columns(
    header: list[str], columns: Sequence[str], optional: Sequence[str], path: Path, others: bool
) -> list[int]:
    """Where each column is in the header, -1 for an optional one that is not there."""
    names = [name.strip() for name in header]
    cure = f"the header is {','.join(name for name in columns if name not in optional)}"
    if optional:
        cure += f", and {', '.join(optional)} if you like"
    for name in names:
        if name not in columns and not others:
            raise BadInput(f"unknown column {name[:80]!r}", path, 1, cure)
        if name in columns and names.count(name) > 1:
            raise BadInput(f"the column {name!r} comes twice", path, 1, cure)
    for name in columns:
        if name not in names and name not in optional:
            raise BadInput(f"the column {name!r} is missing", path, 1, cure)
    return [names.index(name) if name in names else -1 for name in columns]


def _lines(file: TextIO, path: Path, place: list[int]) -> Iterator[str]:
    """The lines of a file; place: in its cell the line on which the row now read begins."""
    number = row = size = 0
    while line := file.readline(LONGEST_LINE):
        number += 1
        if place[0] != row:
            row, size = place[0], 0
        size += len(line)
        if "\0" in line:
            raise BadInput("holds a NUL character", path, number, "save it as plain UTF-8 text")
        if len(line) == LONGEST_LINE:
            raise BadInput(
                f"the line is longer than {LONGEST_LINE} characters", path, number, "is it a CSV?"
            )
        if size > LONGEST_LINE:
            raise BadInput(
                f"the row is longer than {LONGEST_LINE} characters",
                path,
                row,
                "close every quote that is opened",
            )
        yield line


@contextmanager
def _csv_errors(path: Path) -> Iterator[list[int]]:
    """Turns what the reader raises into BadInput; yields a cell for the line being read."""
    place = [1]
    try:
        yield place
    except csv.Error as error:
        raise BadInput(
            f"is not CSV ({error})", path, place[0], "close every quote that is opened"
        ) from error
    except UnicodeDecodeError:
        line = _undecodable_line(path)
        raise BadInput("is not UTF-8", path, line, "save it as UTF-8") from None


def _undecodable_line(path: Path) -> int | None:
    with open(path, "rb") as file:
        for number, raw in enumerate(file, 1):
            try:
                raw.decode("utf-8")
            except UnicodeDecodeError:
                return number
    return None
