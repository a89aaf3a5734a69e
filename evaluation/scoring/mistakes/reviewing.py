"""A review of mistakes, from its choice of images to a new version of the label sets. No Django."""

import csv
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from evaluation.metrics.wordnet.nouns import WordNet
from evaluation.readers.class_files import Classified
from evaluation.readers.mistakes import Judgement, Pair, Queue, QueueMeta
from evaluation.readers.valid_sets import SETS, VERSION, LabelSets, ReviewedModel
from evaluation.scoring.mistakes import applying, queueing
from evaluation.scoring.mistakes.applying import ReviewFile
from evaluation.scoring.mistakes.queueing import ReviewPool, Strata
from labeling.csv_rows import plain_cell, rows, safe_cell
from labeling.files import BadInput, atomic_write, file_sha256
from labeling.release_files import frozen

DISAGREEMENT, SAMPLED, AGREEMENT = STRATA = ("disagreement", "sampled", "agreement")


@dataclass(frozen=True)
class Inputs:
    """Labels and submissions. sha256: of each submission, by name; sets: before the review, None
    for the truth's single class.
    """

    classified: Mapping[str, Classified]
    sha256: Mapping[str, str]
    sets: LabelSets | None
    truth_sha256: str
    sets_sha256: str | None

    @property
    def version(self) -> int:
        """Return the version of the label sets; 1 for the truth's single class, and for sets that
        no review wrote.
        """
        return self.sets.version.version if self.sets and self.sets.version else 1

    @cached_property
    def pool(self) -> ReviewPool:
        return queueing.pool_of(self.classified, self.sets)


@dataclass(frozen=True)
class ReviewChoice:
    """The images of a review."""

    meta: QueueMeta
    pairs: list[Pair]
    strata: Strata


def choose(
    inputs: Inputs, models: Sequence[str], agreements: float, seed: int, wordnet: WordNet
) -> ReviewChoice:
    """Return every disagreement of the models, and a share of the agreements.

    Raises BadInput if no image with a label set was given to every model.
    """
    pool = inputs.pool
    strata = queueing.split(pool, models, agreements, seed)
    if not len(strata.reviewed):
        raise BadInput("no image with a label set was given to every model", cure="name others")
    pairs = queueing.queue(pool, models, strata, seed, wordnet.wnid)
    meta = QueueMeta(
        models=[ReviewedModel(name=name, sha256=inputs.sha256[name]) for name in models],
        truth_sha256=inputs.truth_sha256,
        sets_sha256=inputs.sets_sha256,
        version=inputs.version,
        agreements=agreements,
        seed=seed,
        counts=queueing.counts(pool, strata) | {"pairs": len(pairs)},
    )
    return ReviewChoice(meta, pairs, strata)


def strata_of(queue: Queue, inputs: Inputs, wordnet: WordNet) -> Strata:
    """Return the strata that a queue was chosen from.

    Raises BadInput if labels or predictions differ from the files it was made of, or if its pairs
    are not those that were chosen.
    """
    models = _models_of(queue.meta, inputs, queue.path)
    strata = queueing.split(inputs.pool, models, queue.meta.agreements, queue.meta.seed)
    pairs = queueing.queue(inputs.pool, models, strata, queue.meta.seed, wordnet.wnid)
    if pairs != queue.pairs:
        fault = "has other pairs than were chosen"
        raise BadInput(fault, queue.path, None, "make the queue again")
    return strata


def write_version(
    folder: Path,
    inputs: Inputs,
    queue: Queue,
    strata: Strata,
    judged: Mapping[Pair, Judgement],
    answers_sha256: str,
    wordnet: WordNet,
    confidence: float,
    seed: int,
) -> ReviewFile:
    """Write sets.csv and version.json of the next version into the folder; return the latter."""
    review = applying.apply_review(inputs.pool, strata, judged)
    generator = np.random.default_rng(seed)
    with atomic_write(folder / SETS) as file:
        file.writelines(applying.lines(review, wordnet.wnid))
    models = {model.sha256 for model in queue.meta.models}
    result = ReviewFile(
        version=inputs.version + 1,
        models=queue.meta.models,
        sha256=file_sha256(folder / SETS),
        parent_sha256=inputs.sets_sha256,
        queue_sha256=queue.sha256,
        answers_sha256=answers_sha256,
        counts=queue.meta.counts | {"changed": len(review.changed_images())},
        rates=applying.rates(review, confidence, generator),
        submissions=[
            applying.rescored(review, name, sha256, sha256 in models, confidence, generator)
            for name, sha256 in inputs.sha256.items()
        ],
        confidence=confidence,
        seed=seed,
    )
    text = json.dumps(result.to_json(), indent=1, ensure_ascii=False)
    frozen.write_synced(folder / VERSION, text)
    return result


def strata_lines(images: Sequence[str], strata: Strata) -> Iterator[tuple[str, str]]:
    """Yield `image,stratum` rows of the images that could be reviewed."""
    stratum_of = dict.fromkeys(strata.agreements.tolist(), AGREEMENT)
    stratum_of |= dict.fromkeys(strata.sampled.tolist(), SAMPLED)
    stratum_of |= dict.fromkeys(strata.disagreements.tolist(), DISAGREEMENT)
    for index in sorted(stratum_of):
        yield images[index], stratum_of[index]


def write_strata(path: Path, images: Sequence[str], strata: Strata) -> None:
    with atomic_write(path) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("image", "stratum"))
        writer.writerows((safe_cell(image), word) for image, word in strata_lines(images, strata))


def read_strata(path: Path, images: Sequence[str]) -> Strata:
    """Return the strata in a file of strata_lines. Raises BadInput for anything else."""
    places = {image: index for index, image in enumerate(images)}
    by_stratum: dict[str, list[int]] = {word: [] for word in STRATA}
    for line, (image, stratum) in rows(path, ("image", "stratum")):
        image = image if image in places else plain_cell(image)
        if image not in places or stratum not in by_stratum:
            raise BadInput("does not belong to this truth", path, line, "restore it from a backup")
        by_stratum[stratum].append(places[image])
    sampled = np.array(sorted(by_stratum[SAMPLED]), np.int64)
    agreements = np.array(sorted(by_stratum[SAMPLED] + by_stratum[AGREEMENT]), np.int64)
    return Strata(np.array(sorted(by_stratum[DISAGREEMENT]), np.int64), agreements, sampled)


def answer_rows(
    pairs: Sequence[Pair], judged: Mapping[Pair, Judgement], wnid_of: Callable[[int], str]
) -> Iterator[tuple[str, str, str, str]]:
    """Yield `image,wnid,answer,tags` rows in the order of the queue."""
    for image, synset in pairs:
        judgement = judged[image, synset]
        yield safe_cell(image), wnid_of(synset), judgement.answer, " ".join(judgement.tags)


def _models_of(meta: QueueMeta, inputs: Inputs, path: Path) -> list[str]:
    """Return the current submissions of the queue's models."""
    cure = "give the files that the queue was made of"
    for name, was, now in (
        ("truth", meta.truth_sha256, inputs.truth_sha256),
        ("label sets", meta.sets_sha256, inputs.sets_sha256),
    ):
        if was != now:
            raise BadInput(f"was made from another file of {name}", path, None, cure)
    names = []
    for model in meta.models:
        matches = [name for name, sha256 in inputs.sha256.items() if sha256 == model.sha256]
        if not matches:
            raise BadInput(f"was made from other predictions of {model.name}", path, None, cure)
        names.append(matches[0])
    return names
