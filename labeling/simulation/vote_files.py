"""answers.csv and truth.csv: read line by line and checked whole. Pure, no Django.

Names and answers are strings and stay as they are written; " yes" is not "yes".
"""

import csv
from array import array
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from labeling.csv_rows import rows
from labeling.estimators.aggregation import AnsweredTwice, Answers, Numbers
from labeling.files import BadInput, atomic_write

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
