"""`manage.py mistakes`: people review the mistakes of classifiers, from files."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from evaluation.management.named_files import named_files
from evaluation.metrics.wordnet.nouns import WordNet
from evaluation.readers import release_predictions
from evaluation.readers.class_files import load_wordnet
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
from evaluation.scoring.mistakes.applying import ReviewFile
from evaluation.scoring.mistakes.reviewing import Inputs
from labeling.bounded_numbers import level, share, whole
from labeling.files import BadInput, atomic_write, file_sha256, refuse_input
from labeling.management.contract import ContractCommand, UsageError, verb
from labeling.management.options import option
from labeling.release_files import frozen


@dataclass(kw_only=True)
class MistakeOptions:
    truth: Path = option("image,wnid rows")
    predictions: list[str] = option(
        "as score classification reads them; one for each submission", metavar="[NAME=]PATH"
    )
    valid_sets: Path | None = option(
        "label sets in place of the truth's one class: image,wnid rows, or a version's folder",
        metavar="SETS",
    )


@dataclass(kw_only=True)
class QueueOptions(MistakeOptions):
    models: str | None = option(
        "submissions whose every disagreement is reviewed; without it all", metavar="A,B,…"
    )
    agreements: float = option(
        "of the other images, at random (0.1)", 0.1, type=share, metavar="SHARE"
    )
    seed: int = option("of what is chosen (0)", 0, type=whole())
    out: Path = option("a line for each pair", metavar="QUEUE.jsonl")


@dataclass(kw_only=True)
class ApplyOptions(MistakeOptions):
    queue: Path = option("that was answered", metavar="QUEUE.jsonl")
    answers: Path = option(
        "image,wnid,answer[,tags] rows, one a pair; or the release of a campaign of the kind "
        "mistake, folder or zip"
    )
    confidence: float = option("of the intervals", 0.999, type=level, metavar="LEVEL")
    seed: int = option("of the bootstrap (0)", 0, type=whole())
    out: Path = option("a new folder", metavar="DIR")


class Command(ContractCommand):
    help = "Review mistakes: which are mistakes, and label sets in which they are not."

    @verb("choose the pairs of image and class that reviewers look at")
    def queue(self, options: QueueOptions) -> QueueMeta:
        truth, paths = options.truth, named_files(options.predictions)
        inputs_of = [truth, *paths.values()]
        if options.valid_sets:
            inputs_of.append(options.valid_sets)
        refuse_input(options.out, inputs_of)
        chosen = _chosen(options.models, [*paths])
        wordnet = load_wordnet()
        inputs = _read(truth, {name: paths[name] for name in chosen}, options.valid_sets, wordnet)
        try:
            questions = reviewing.choose(inputs, chosen, options.agreements, options.seed, wordnet)
        except BadInput as error:
            raise BadInput(error.message, truth, None, error.cure) from error
        with atomic_write(options.out) as file:
            file.writelines(queueing.lines(questions.meta, questions.pairs, wordnet.wnid))
        return questions.meta

    @verb("label sets of a new version from what reviewers answered; all scored again")
    def apply(self, options: ApplyOptions) -> ReviewFile:
        frozen.check_goal(options.out)
        wordnet = load_wordnet()
        questions = read_queue(options.queue, wordnet)
        judged, answers_sha256 = _judged(options.answers, questions, wordnet)
        paths = named_files(options.predictions)
        inputs = _read(options.truth, paths, options.valid_sets, wordnet)
        strata = reviewing.strata_of(questions, inputs, wordnet)
        with frozen.appearing(options.out) as unfinished:
            return reviewing.write_version(
                unfinished,
                inputs,
                questions,
                strata,
                judged,
                answers_sha256,
                wordnet,
                options.confidence,
                options.seed,
            )


def _read(truth: Path, paths: dict[str, Path], valid_sets: Path | None, wordnet: WordNet) -> Inputs:
    read = release_predictions.read_submission
    classified = {name: read(truth, path, wordnet) for name, path in paths.items()}
    images = next(iter(classified.values())).images
    sets = read_label_sets(valid_sets, images, wordnet) if valid_sets else None
    return Inputs(
        classified,
        {
            name: release_predictions.submission_sha256(submission, paths[name])
            for name, submission in classified.items()
        },
        sets,
        file_sha256(truth),
        file_sha256(sets.path) if sets else None,
    )


def _judged(path: Path, queue: Queue, wordnet: WordNet) -> tuple[dict[Pair, Judgement], str]:
    """Return the reviewers' answers, and the SHA-256 of their rows or release."""
    with release_predictions.opened(path) as release:
        if release:
            return judgements_of(release, queue, wordnet), release.meta["sha256"]
    return read_judgements(path, queue, wordnet), file_sha256(path)


def _chosen(models: str | None, names: Sequence[str]) -> list[str]:
    """Return the models by name, or all. Raises UsageError for one without a submission."""
    if models is None:
        return [*names]
    chosen = list(dict.fromkeys(models.split(",")))
    for name in chosen:
        if name not in names:
            raise UsageError(f"--models: {name!r} is not one of the submissions {', '.join(names)}")
    return chosen
