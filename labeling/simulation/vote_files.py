"""answers.csv and truth.csv: read line by line and checked whole. Pure, no Django.

Names and answers are strings and stay as they are written; " yes" is not "yes".
"""

import csv
import unicodedata
from array import array
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from labeling.csv_rows import rows
from labeling.estimators.aggregation import AnsweredTwice, AnswerTable, Numbers
from labeling.files import BadInput, atomic_write

ANSWER_COLUMNS = ("annotator", "image", "answer")
TRUTH_COLUMNS = ("image", "answer")
LABEL_COLUMNS = (*TRUTH_COLUMNS, "probability", "error")
# What to do if an annotator answers an image again: Dawid and Skene's own data has such rows.
REPEATED = ("refuse", "keep", "last")


@dataclass(frozen=True)
class AnswerSheet:
    """The content of answers.csv.

    topics: image → topic, empty without that column. repeats: rows that answer an image again.
    """

    answers: AnswerTable
    abstentions: int
    topics: dict[str, str]
    repeats: int


def read_answers(path: Path, with_topic: bool = False, repeated: str = "refuse") -> AnswerSheet:
    """Return the answers of a CSV with the columns annotator, image, answer, in any order.

    An empty answer is an abstention. with_topic allows a fourth column, topic, the same for every
    row of an image. Raises BadInput with the line for anything else, and, where `repeated` is
    "refuse", for an annotator who comes twice with one image, abstentions included.
    """
    people, images, classes = Numbers(), Numbers(), Numbers()
    codes, lines = array("i"), array("q")
    topics: dict[str, str] = {}
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
                "use one topic per image",
            )
        codes.extend((people(annotator), images(image), classes(answer) if answer else -1))
        lines.append(line)
    if not lines:
        raise BadInput("there are no answers below the header", path, None, "add rows")
    table = np.array(codes, np.int32).reshape(-1, 3)
    pairs = table[:, 0].astype(np.int64) * len(images.known) + table[:, 1]
    distinct, from_end = np.unique(pairs[::-1], return_index=True)
    if repeated == "last":
        table = table[len(table) - 1 - from_end]
    try:
        answers = AnswerTable.from_codes(table, people, images, classes, repeated == "keep")
    except AnsweredTwice as twice:
        raise BadInput(
            f"annotator {twice.annotator!r} answers image {twice.item!r} again, first on line "
            f"{lines[twice.first]}",
            path,
            lines[twice.row],
            "remove one of the rows, or use --repeated keep or --repeated last",
        ) from None
    return AnswerSheet(answers, int((table[:, 2] < 0).sum()), topics, len(lines) - len(distinct))


def spelling(answer: str) -> str:
    """Return the answer in lower case, with single spaces and in NFKC, to find typing errors."""
    return " ".join(unicodedata.normalize("NFKC", answer).casefold().split())


def spellings(answers: Iterable[str]) -> dict[str, str]:
    """Return spelling → answer, the first in sorted order if several have this spelling."""
    return {spelling(answer): answer for answer in sorted(answers, reverse=True)}


def write_labels(path: Path, result: Mapping[str, Any]) -> None:
    """Write image, answer, probability and, where it was measured, error of every labeled image."""
    errors = result.get("error")
    columns = LABEL_COLUMNS if errors else LABEL_COLUMNS[:-1]
    with atomic_write(path) as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(columns)
        for image, label in result["labels"].items():
            if label is not None:
                row = (image, label, result["probabilities"][image].get(label, ""))
                rows.writerow([*row, errors.get(image, "")] if errors else row)


def read_truth(path: Path, answers: Collection[str] = ()) -> dict[str, str]:
    """Return image → answer of a CSV. Columns that write_labels adds are ignored.

    answers: what people gave. Raises BadInput for an image that comes twice, and for an answer that
    differs from one of `answers` in spelling only.
    """
    truth: dict[str, str] = {}
    near = spellings(answers)
    for line, (image, answer, *_) in rows(path, LABEL_COLUMNS, optional=LABEL_COLUMNS[2:]):
        if not image or not answer:
            empty = "answer" if image else "image"
            raise BadInput(f"the {empty} is empty", path, line, "fill it in, or remove the row")
        if image in truth:
            raise BadInput(f"image {image!r} occurs twice", path, line, "keep one row for an image")
        if answer not in answers and (nearest := near.get(spelling(answer))):
            raise BadInput(
                f"the answer {answer!r} differs from the annotators' {nearest!r} only in case, "
                "spaces or normal form",
                path,
                line,
                f"write {nearest!r}",
            )
        truth[image] = answer
    if not truth:
        raise BadInput("there are no answers below the header", path, None, "add rows")
    return truth
