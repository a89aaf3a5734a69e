"""`manage.py mistakes`: what classifiers got wrong is looked at again, from files."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from evaluation.management import analysis_options
from evaluation.management.classification_options import submission_sha256
from evaluation.management.commands.wordnet import load
from evaluation.management.named_files import named_files
from evaluation.metrics.wordnet.nouns import WordNet
from evaluation.readers import release_predictions
from evaluation.readers.mistakes import (
    Judgement,
    Pair,
    Queue,
    QueueMeta,
    judgements_of,
    read_judgements,
    read_queue,
)
from evaluation.readers.valid_sets import read_label_sets
from evaluation.scoring.mistakes import queueing, reviewing
from evaluation.scoring.mistakes.applying import Review, Share
from evaluation.scoring.mistakes.reviewing import Inputs
from labeling.bounded_numbers import level, share, whole
from labeling.files import BadInput, atomic_write, file_sha256, refuse_input
from labeling.management.contract import ContractCommand, UsageError, table
from labeling.release_files import frozen

AGREEMENTS = 0.1


class Command(ContractCommand):
    help = "Review mistakes: which are mistakes, and label sets in which they are not."

    def add_arguments(self, parser: CommandParser) -> None:
        queue = self.verb(
            parser,
            "queue",
            self.queue,
            self.show_queue,
            help="choose the pairs of image and class that reviewers look at",
        )
        _add_inputs(queue)
        queue.add_argument(
            "--models",
            metavar="A,B,…",
            help="submissions whose every disagreement is reviewed; without it all",
        )
        queue.add_argument(
            "--agreements",
            type=share,
            default=AGREEMENTS,
            metavar="SHARE",
            help="of the other images, at random (0.1)",
        )
        queue.add_argument("--seed", type=whole(), default=0, help="of what is chosen (0)")
        queue.add_argument(
            "--out", type=Path, required=True, metavar="QUEUE.jsonl", help="a line for each pair"
        )
        apply = self.verb(
            parser,
            "apply",
            self.apply,
            self.show_review,
            help="label sets of a new version from what reviewers answered; all scored again",
        )
        _add_inputs(apply)
        apply.add_argument(
            "--queue", type=Path, required=True, metavar="QUEUE.jsonl", help="that was answered"
        )
        apply.add_argument(
            "--answers",
            type=Path,
            required=True,
            help="image,wnid,answer[,tags] rows, one a pair; or the release of a campaign of the "
            "kind mistake, folder or zip",
        )
        apply.add_argument(
            "--confidence", type=level, default=0.999, metavar="LEVEL", help="of the intervals"
        )
        apply.add_argument("--seed", type=whole(), default=0, help="of the bootstrap (0)")
        apply.add_argument("--out", type=Path, required=True, metavar="DIR", help="a new folder")

    def queue(
        self,
        truth: Path,
        predictions: list[str],
        valid_sets: Path | None,
        models: str | None,
        agreements: float,
        seed: int,
        out: Path,
        **_: Any,
    ) -> QueueMeta:
        paths = named_files(predictions)
        refuse_input(out, [truth, *paths.values(), *([valid_sets] if valid_sets else [])])
        chosen = _chosen(models, [*paths])
        wordnet = load()
        inputs = _read(truth, {name: paths[name] for name in chosen}, valid_sets, wordnet)
        try:
            questions = reviewing.choose(inputs, chosen, agreements, seed, wordnet)
        except BadInput as error:
            raise BadInput(error.message, truth, None, error.cure) from error
        with atomic_write(out) as file:
            file.writelines(queueing.lines(questions.meta, questions.pairs, wordnet.wnid))
        return questions.meta

    def show_queue(self, result: QueueMeta) -> str:
        rows = [(name.replace("_", " "), count) for name, count in result.counts.items()]
        models = ", ".join(model.name for model in result.models)
        return f"models: {models}\n\n{table(rows)}"

    def apply(
        self,
        truth: Path,
        predictions: list[str],
        valid_sets: Path | None,
        queue: Path,
        answers: Path,
        confidence: float,
        seed: int,
        out: Path,
        **_: Any,
    ) -> Review:
        frozen.check_goal(out)
        wordnet = load()
        questions = read_queue(queue, wordnet)
        judged, answers_sha256 = _judged(answers, questions, wordnet)
        inputs = _read(truth, named_files(predictions), valid_sets, wordnet)
        strata = reviewing.strata_of(questions, inputs, wordnet)
        with frozen.appearing(out) as part:
            return reviewing.write_version(
                part, inputs, questions, strata, judged, answers_sha256, wordnet, confidence, seed
            )

    def show_review(self, result: Review) -> str:
        bounds = analysis_options.bounds(result.confidence)
        models = ", ".join(model.name for model in result.models)
        rates = [
            (name.replace("_", " "), *_cells(getattr(result.rates, name)))
            for name in ("label_not_valid", "several_valid", "none_valid", "cannot_be_labeled")
        ]
        tags = result.rates.tags or {}
        rates += [(f"tag {tag}", *_cells(share)) for tag, share in tags.items()]
        scores = [
            (submission.name, words, *_cells(share))
            for submission in result.submissions
            for words, share in (
                (f"version {result.version - 1}", submission.before),
                (f"version {result.version}", submission.after),
                ("estimated", submission.estimated),
            )
        ]
        parts = [
            f"label sets, version {result.version}: the mistakes of {models} were reviewed",
            table([(name.replace("_", " "), count) for name, count in result.counts.items()]),
            table(rates, head=("share of images", "reviewed", "value", *bounds)),
            table(scores, head=("multi-label accuracy", "by", "images", "value", *bounds)),
        ]
        for reviewed in result.submissions:
            if reviewed.mistakes:
                shares = reviewed.mistakes.answers | reviewed.mistakes.tags
                rows = [(word, *_cells(share)) for word, share in shares.items()]
                head = (f"mistakes of {reviewed.name}", "images", "share", *bounds)
                parts.append(table(rows, head=head))
        return "\n\n".join(parts)


def _add_inputs(verb: CommandParser) -> None:
    verb.add_argument("--truth", type=Path, required=True, help="image,wnid rows")
    verb.add_argument(
        "--predictions",
        required=True,
        action="append",
        metavar="[NAME=]PATH",
        help="as score classification reads them; one for each submission",
    )
    verb.add_argument(
        "--valid-sets",
        type=Path,
        metavar="SETS",
        help="label sets in place of the truth's one class: image,wnid rows, or a version's folder",
    )


def _read(truth: Path, paths: dict[str, Path], valid_sets: Path | None, wordnet: WordNet) -> Inputs:
    read = release_predictions.read_submission
    classified = {name: read(truth, path, wordnet) for name, path in paths.items()}
    images = next(iter(classified.values())).images
    sets = read_label_sets(valid_sets, images, wordnet) if valid_sets else None
    return Inputs(
        classified,
        {
            name: submission_sha256(submission, paths[name])
            for name, submission in classified.items()
        },
        sets,
        file_sha256(truth),
        file_sha256(sets.path) if sets else None,
    )


def _judged(path: Path, queue: Queue, wordnet: WordNet) -> tuple[dict[Pair, Judgement], str]:
    """What reviewers answered, and the SHA-256 of their rows or of their release."""
    with release_predictions.opened(path) as release:
        if release:
            return judgements_of(release, queue, wordnet), release.meta["sha256"]
    return read_judgements(path, queue, wordnet), file_sha256(path)


def _chosen(models: str | None, names: Sequence[str]) -> list[str]:
    """The models that were named, all without. Raises UsageError for one that is no submission."""
    if models is None:
        return [*names]
    chosen = list(dict.fromkeys(models.split(",")))
    for name in chosen:
        if name not in names:
            raise UsageError(f"--models: {name!r} is none of the submissions {', '.join(names)}")
    return chosen


def _cells(share: Share) -> tuple[object, ...]:
    return (share.images, share.value, *(share.interval or ()))
