"""`aggregate answers.csv`: combines many answers per image into one, without a database."""

import math
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from labeling.bounded_numbers import real
from labeling.estimators.aggregation import AnswerTable
from labeling.files import BadInput
from labeling.management.contract import ContractCommand, Result, UsageError
from labeling.management.options import argument, option
from labeling.plurals import count_of
from labeling.simulation import vote_files
from labeling.simulation.aggregate_methods import (
    METHODS,
    AggregationOutcome,
    AggregationTask,
    known_labels,
    report,
)

_pseudo_count = real(lambda value: 0 <= value < math.inf, "from 0")


@dataclass(kw_only=True)
class AggregateOptions:
    answers: Path = argument("annotator,image,answer", metavar="ANSWERS.csv")
    method: str = option("how answers become a label (majority)", "majority", choices=METHODS)
    truth: Path | None = option("image,answer: how many labels are right")
    gold: Path | None = option(
        "image,answer: a random sample with known answers; measures the error of labels"
    )
    prior: float = option(
        "pseudo-counts in every cell of people's confusions (default 0.01)",
        0.01,
        type=_pseudo_count,
    )
    out: Path | None = option(
        "image,answer,probability and error of each image", metavar="LABELS.csv"
    )
    repeated: str = option(
        "repeated answers of a person to an image: refuse (default), keep all, or keep the last",
        vote_files.REPEATED[0],
        choices=vote_files.REPEATED,
    )
    yes: str | None = option("vote-table: the answer that means yes", metavar="ANSWER")


class Command(ContractCommand):
    help = "Many people's answers to each image become one label, with probabilities."

    def action(self, options: AggregateOptions) -> Result:
        answers, method, gold, truth = options.answers, options.method, options.gold, options.truth
        if method == "posterior" and gold is None:
            raise UsageError("--method posterior requires --gold to measure accuracies")
        if method != "vote-table" and options.yes is not None:
            raise UsageError("--yes requires --method vote-table")
        sheet = vote_files.read_answers(
            answers, with_topic=method == "vote-table", repeated=options.repeated
        )
        votes, classes = sheet.answers, sheet.answers.classes
        known = vote_files.read_truth(gold, classes) if gold else {}
        right = vote_files.read_truth(truth) if truth else None
        if sheet.repeats:
            self.warn(f"{count_of(sheet.repeats, 'row')} repeat an image of the same annotator")
        self._warn_of_words(classes, known, gold, right or {}, truth)
        task = AggregationTask(
            answers, votes, sheet.topics, gold, known_labels(votes, known, gold), vars(options)
        )
        outcome = METHODS[method](task)
        result = report(task, outcome, method)
        result["abstentions"] = sheet.abstentions
        result |= self._accuracy(votes, outcome, right, truth, set(known))
        if options.out is not None:
            vote_files.write_labels(options.out, result)
            result["out"] = str(options.out)
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
                        f"no annotator answers {word!r}, the label of {count_of(count, 'image')} "
                        f"in {path}{cure}"
                    )

    def _accuracy(
        self,
        answers: AnswerTable,
        outcome: AggregationOutcome,
        truth: dict[str, str] | None,
        path: Path | None,
        gold: set[str],
    ) -> Result:
        """Return the accuracy over images with answers and truth; one without label is wrong."""
        if truth is None:
            return {"accuracy": None}
        judged = [
            (name, label >= 0 and answers.classes[label] == truth[name])
            for name, label in zip(answers.item_names, outcome.labels.tolist(), strict=True)
            if name in truth
        ]
        if not judged:
            raise BadInput(
                "none of its images has answers", path, None, "check the names of images"
            )
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
