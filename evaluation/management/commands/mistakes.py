"""`manage.py mistakes`: what classifiers got wrong is looked at again, from files."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from django.core.management.base import CommandParser

from evaluation.management import analysis_options, release_predictions
from evaluation.management.classification_options import read_submission, submission_sha256
from evaluation.management.commands.wordnet import load
from evaluation.management.named_files import named_files
from evaluation.management.numbers import level, share, whole
from evaluation.metrics.wordnet.nouns import WordNet
from evaluation.readers.answers import file_sha256
from evaluation.readers.class_files import Classified
from evaluation.readers.mistakes import (
    Judgement,
    Pair,
    Queue,
    QueueMeta,
    judgements_of,
    read_judgements,
    read_queue,
)
from evaluation.readers.valid_sets import (
    SETS,
    VERSION,
    LabelSets,
    Model,
    read_label_sets,
)
from evaluation.scoring.mistakes import applying, queueing
from evaluation.scoring.mistakes.applying import Review, Share
from labeling.files import BadInput, atomic_write, refuse_input
from labeling.management.contract import ContractCommand, UsageError, table
from labeling.release_files import frozen

AGREEMENTS = 0.1


@dataclass(frozen=True)
class Inputs:
    """The labels and submissions of a verb. sha256: of each submission, by name."""

    found: dict[str, Classified]
    sha256: dict[str, str]
    sets: LabelSets | None
    truth_sha256: str
    sets_sha256: str | None

    @property
    def version(self) -> int:
        """Of the label sets; 1 for the truth's one class, and for sets that no review wrote."""
        return self.sets.version.version if self.sets and self.sets.version else 1

    @property
    def pool(self) -> queueing.Pool:
        return queueing.pool_of(self.found, self.sets)


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
        pool = inputs.pool
        strata = queueing.split(pool, chosen, agreements, seed)
        if not len(strata.reviewed):
            raise BadInput("no image with a label set was given to every model", truth)
        pairs = queueing.queue(pool, chosen, strata, seed, wordnet.wnid)
        meta = QueueMeta(
            models=[Model(name=name, sha256=inputs.sha256[name]) for name in chosen],
            truth_sha256=inputs.truth_sha256,
            sets_sha256=inputs.sets_sha256,
            version=inputs.version,
            agreements=agreements,
            seed=seed,
            counts=queueing.counts(pool, strata) | {"pairs": len(pairs)},
        )
        with atomic_write(out) as file:
            file.writelines(queueing.lines(meta, pairs, wordnet.wnid))
        return meta

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
        asked = read_queue(queue, wordnet)
        judged, answers_sha256 = _judged(answers, asked, wordnet)
        inputs = _read(truth, named_files(predictions), valid_sets, wordnet)
        models = _models_of(asked.meta, inputs, queue)
        pool = inputs.pool
        strata = queueing.split(pool, models, asked.meta.agreements, asked.meta.seed)
        if queueing.queue(pool, models, strata, asked.meta.seed, wordnet.wnid) != asked.pairs:
            raise BadInput("has other pairs than were chosen", queue, None, "make the queue again")
        review = applying.reviewed(pool, strata, judged)
        generator = np.random.default_rng(seed)
        with frozen.appearing(out) as part:
            with atomic_write(part / SETS) as file:
                file.writelines(applying.lines(review, wordnet.wnid))
            result = Review(
                version=inputs.version + 1,
                models=asked.meta.models,
                sha256=file_sha256(part / SETS),
                parent_sha256=inputs.sets_sha256,
                queue_sha256=asked.sha256,
                answers_sha256=answers_sha256,
                counts=asked.meta.counts | {"changed": applying.changed(review)},
                rates=applying.rates(review, confidence, generator),
                submissions=[
                    applying.rescored(review, name, sha256, name in models, confidence, generator)
                    for name, sha256 in inputs.sha256.items()
                ],
                confidence=confidence,
                seed=seed,
            )
            text = json.dumps(result.to_json(), indent=1, ensure_ascii=False)
            frozen.write_synced(part / VERSION, text)
        return result

    def show_review(self, result: Review) -> str:
        bounds = analysis_options.bounds(result.confidence)
        models = ", ".join(model.name for model in result.models)
        rates = [
            (name.replace("_", " "), *_cells(getattr(result.rates, name)))
            for name in ("label_not_valid", "several_valid", "none_valid", "cannot_be_labeled")
        ]
        tags = result.rates.tags or {}
        rates += [(f"tag {tag}", *_cells(found)) for tag, found in tags.items()]
        scores = [
            (own.name, words, *_cells(found))
            for own in result.submissions
            for words, found in (
                (f"version {result.version - 1}", own.before),
                (f"version {result.version}", own.after),
                ("estimated", own.estimated),
            )
        ]
        parts = [
            f"label sets, version {result.version}: the mistakes of {models} were reviewed",
            table([(name.replace("_", " "), count) for name, count in result.counts.items()]),
            table(rates, head=("share of images", "reviewed", "value", *bounds)),
            table(scores, head=("multi-label accuracy", "by", "images", "value", *bounds)),
        ]
        for own in result.submissions:
            if own.mistakes:
                shares = own.mistakes.answers | own.mistakes.tags
                rows = [(word, *_cells(found)) for word, found in shares.items()]
                head = (f"mistakes of {own.name}", "images", "share", *bounds)
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
    found = {name: read_submission(truth, path, wordnet) for name, path in paths.items()}
    images = next(iter(found.values())).images
    sets = read_label_sets(valid_sets, images, wordnet) if valid_sets else None
    return Inputs(
        found,
        {name: submission_sha256(own, paths[name]) for name, own in found.items()},
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


def _models_of(meta: QueueMeta, inputs: Inputs, queue: Path) -> list[str]:
    """The submissions that the queue's models are now. Raises BadInput where labels or predictions
    are other files than those that the queue was made of."""
    cure = "give the files that the queue was made of"
    for name, was, now in (
        ("truth", meta.truth_sha256, inputs.truth_sha256),
        ("label sets", meta.sets_sha256, inputs.sets_sha256),
    ):
        if was != now:
            raise BadInput(f"was made of another file of {name}", queue, None, cure)
    found = []
    for model in meta.models:
        own = [name for name, sha256 in inputs.sha256.items() if sha256 == model.sha256]
        if not own:
            raise BadInput(f"was made of other predictions of {model.name}", queue, None, cure)
        found.append(own[0])
    return found


def _cells(found: Share) -> tuple[object, ...]:
    return (found.images, found.value, *(found.interval or ()))
