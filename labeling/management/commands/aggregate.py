"""`aggregate answers.csv`: many answers to each image become one, without a database."""

import argparse
import math
from collections import Counter
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from labeling.estimators.aggregation import Answers
from labeling.files import BadInput
from labeling.management.contract import ContractCommand, Result, UsageError, table
from labeling.plurals import count_of
from labeling.simulation import vote_files
from labeling.simulation.aggregate_methods import (
    METHODS,
    Outcome,
    Task,
    known_labels,
    report,
)

SHOWN = 20


class Command(ContractCommand):
    help = "Many people's answers to each image become one label, with probabilities."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "answers", type=Path, metavar="ANSWERS.csv", help="annotator,image,answer"
        )
        parser.add_argument(
            "--method",
            choices=METHODS,
            default="majority",
            help="how answers become a label (majority)",
        )
        parser.add_argument("--truth", type=Path, help="image,answer: how many labels are right")
        parser.add_argument(
            "--gold", type=Path, help="image,answer: known beforehand, to learn from"
        )
        parser.add_argument(
            "--prior",
            type=_pseudo_count,
            default=0.01,
            help="pseudo-counts in every cell of people's confusions (default 0.01)",
        )
        parser.add_argument(
            "--out", type=Path, metavar="LABELS.csv", help="image,answer,probability of each image"
        )
        parser.add_argument(
            "--repeated",
            choices=vote_files.REPEATED,
            default=vote_files.REPEATED[0],
            help="people who answer an image again: refuse (default), keep all, or the last row",
        )
        parser.add_argument("--yes", metavar="ANSWER", help="vote-table: the answer that means yes")

    def action(  # type: ignore[override]
        self,
        answers: Path,
        method: str,
        truth: Path | None,
        gold: Path | None,
        out: Path | None,
        **options: Any,
    ) -> Result:
        if method == "posterior" and gold is None:
            raise UsageError("--method posterior needs --gold, people's accuracies come from it")
        if method == "majority" and gold is not None:
            raise UsageError("--method majority learns nothing from --gold; leave it out")
        if method != "vote-table" and options["yes"] is not None:
            raise UsageError("--yes goes with --method vote-table")
        sheet = vote_files.read_answers(
            answers, with_topic=method == "vote-table", repeated=options["repeated"]
        )
        votes, classes = sheet.answers, sheet.answers.classes
        known = vote_files.read_truth(gold, classes) if gold else {}
        right = vote_files.read_truth(truth) if truth else None
        if sheet.repeats:
            self.warn(f"{count_of(sheet.repeats, 'row')} repeat an image of the same annotator")
        self._warn_of_words(classes, known, gold, right or {}, truth)
        task = Task(answers, votes, sheet.topics, gold, known_labels(votes, known, gold), options)
        outcome = METHODS[method](task)
        result = report(votes, outcome, method)
        result["abstentions"] = sheet.abstentions
        result |= self._accuracy(votes, outcome, right, truth, set(known))
        if out is not None:
            vote_files.write_labels(out, result["labels"], result["probabilities"])
            result["out"] = str(out)
        return result

    def _warn_of_words(
        self,
        classes: tuple[str, ...],
        gold: dict[str, str],
        gold_path: Path | None,
        truth: dict[str, str],
        truth_path: Path | None,
    ) -> None:
        near = vote_files.spellings(classes)
        for name in classes:
            if (nearest := near[vote_files.spelling(name)]) != name:
                self.warn(
                    f"the answers {nearest!r} and {name!r} differ only in case, spaces or "
                    "normal form"
                )
        for path, words in ((gold_path, gold), (truth_path, truth)):
            for word, count in Counter(words.values()).items():
                if word not in classes:
                    alike = near.get(vote_files.spelling(word))
                    cure = f"; answers have {alike!r}" if alike else ""
                    self.warn(
                        f"nobody answers {word!r}, of {count_of(count, 'image')} in {path}{cure}"
                    )

    def _accuracy(
        self,
        answers: Answers,
        outcome: Outcome,
        truth: dict[str, str] | None,
        path: Path | None,
        gold: set[str],
    ) -> Result:
        """Over the images that have answers and a truth; an image without a label is wrong."""
        if truth is None:
            return {"accuracy": None}
        judged = [
            (name, label >= 0 and answers.classes[label] == truth[name])
            for name, label in zip(answers.item_names, outcome.labels.tolist(), strict=True)
            if name in truth
        ]
        if not judged:
            raise BadInput("no image of it has answers", path, None, "check the names of images")
        if len(judged) < len(truth):
            self.warn(f"{count_of(len(truth) - len(judged), 'image')} of {path} without answers")
        outside = [correct for name, correct in judged if name not in gold]
        result: Result = {
            "accuracy": sum(correct for _, correct in judged) / len(judged),
            "judged": len(judged),
        }
        if gold:
            result["accuracy_outside_gold"] = sum(outside) / len(outside) if outside else None
        return result

    def show(self, result: Result) -> str:
        plain = ("out", "method", "images", "answers", "abstentions", "ties", "alpha", "accuracy")
        head = [(key, result[key]) for key in plain if result.get(key) is not None]
        images = list(result["labels"].items())
        people = sorted(
            ((name, row["answers"], row["accuracy"]) for name, row in result["annotators"].items()),
            key=lambda row: (row[2] is None, row[2] or 0.0, row[0]),
        )
        parts = [
            table(head),
            table(
                [
                    (name, label, result["probabilities"][name].get(label) if label else None)
                    for name, label in images[:SHOWN]
                ],
                ("image", "label", "probability"),
            ),
            table(people[:SHOWN], ("annotator", "answers", "accuracy")),
        ]
        if len(images) > SHOWN or len(people) > SHOWN:
            parts.append(
                f"{count_of(len(images), 'image')}, {count_of(len(people), 'annotator')} in all; "
                "--json lists them, --out writes the labels"
            )
        return "\n\n".join(parts)


def _pseudo_count(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0")
    return value
