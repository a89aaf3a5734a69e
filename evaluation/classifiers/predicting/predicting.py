"""Runs classifiers over photographs into a pool, decoding every batch once. No Django.

Batches start at fixed positions of the sorted list and have one size; unreadable photographs and
the rest of the last batch are black. So a photograph is always in the same batch with the same
others, wherever a run was stopped.
"""

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from evaluation import devices
from evaluation.classifiers.likeliest_classes import likeliest
from evaluation.classifiers.opening import Classifier
from evaluation.classifiers.predicting import decoding
from evaluation.classifiers.predicting.decoding import Pixels
from evaluation.classifiers.predicting.photographs import PhotographList
from evaluation.classifiers.predicting.pool_files import ClassifierPredictions, PoolInProgress
from labeling.files import BadInput

# File names have at most 255 bytes, including ".confidences.npy".
MAX_NAME_BYTES = 200


@dataclass
class Speed:
    """images: classified in this run; seconds: of each classifier."""

    images: int = 0
    seconds: dict[str, float] = field(default_factory=dict)

    def rate(self, name: str) -> float | None:
        """Return images per second; None without images."""
        return self.images / self.seconds[name] if self.images else None


def refuse_names(names: Sequence[str]) -> None:
    """Raise BadInput for a duplicate name, or one that cannot be a file name."""
    for name in names:
        cure = "give it another name, as NAME=MODEL"
        if names.count(name) > 1:
            raise BadInput(f"two classifiers are called {name!r}", cure=cure)
        # A comma separates names in mad select --classifiers; skipped.csv is ours.
        if (
            name.startswith(".")
            or set(name) & set("/\\,")
            or name == "skipped"
            or len(name.encode()) > MAX_NAME_BYTES
        ):
            raise BadInput(f"files cannot be named after the classifier {name[:80]!r}", cure=cure)


def joined(classifiers: Sequence[Classifier]) -> list[str]:
    """Return the classes of a pool of these classifiers: those of the first, then
    additional ones.
    """
    return list(dict.fromkeys(wnid for classifier in classifiers for wnid in classifier.classes))


@dataclass(frozen=True)
class ClassifiedBatch:
    """A classified batch: its images, and what was skipped and why.

    end: offset of the next batch in the list.
    """

    images: list[str]
    skipped: list[tuple[str, str]]
    predictions: dict[str, ClassifierPredictions]
    photographs: int
    end: int


def predict(
    plan: decoding.DecodingPlan,
    classifiers: Sequence[Classifier],
    pool: PoolInProgress,
    processes: int = 0,
    watch: Callable[[int], object] = lambda _: None,
    tell: Callable[[str], object] = devices.logger.warning,
) -> Speed:
    """Add the missing predictions to the pool. processes: decoders besides this process; 0: none.

    watch: called with how many more photographs are done; tell: called when a GPU's memory did not
    hold a batch. Raises BadInput if a network returns NaN.
    """
    speed = Speed(seconds={classifier.name: 0.0 for classifier in classifiers})
    at_once = {
        name: devices.BatchSize(pool.state.at_once.get(name, plan.size), "photograph", tell)
        for name in speed.seconds
    }
    batches = predicted_batches(
        plan, classifiers, pool.top or 1, at_once, processes, pool.state.start, speed.seconds
    )
    for batch in batches:
        speed.images += len(batch.images)
        pool.state.at_once = {name: each.size for name, each in at_once.items()}
        pool.add(batch.images, batch.skipped, batch.predictions, batch.end)
        watch(batch.photographs)
    return speed


def predicted_batches(
    plan: decoding.DecodingPlan,
    classifiers: Sequence[Classifier],
    top: int,
    at_once: Mapping[str, devices.BatchSize],
    processes: int = 0,
    start: int = 0,
    seconds: dict[str, float] | None = None,
) -> Iterator[ClassifiedBatch]:
    """Yield every batch from offset `start` with the `top` likeliest classes.

    seconds: the time of each classifier is added to it.
    """
    batches = decoding.batches_of(plan.list_path, plan.size, start)
    places = {wnid: index for index, wnid in enumerate(joined(classifiers))}
    tables = {
        classifier.name: np.array([places[wnid] for wnid in classifier.classes])
        for classifier in classifiers
    }
    with closing(batches), decoding.Decoders(plan, processes) as decoders:
        for batch, pixels, reasons in decoders.prepared(batches):
            readable = [at for at in range(len(batch.images)) if at not in reasons]
            images = [batch.images[at].name for at in readable]
            predictions = {}
            for classifier in classifiers if readable else ():
                name, begun = classifier.name, time.perf_counter()
                prepared = pixels[plan.preparations.index(classifier.preparation)]
                probabilities = _probabilities(classifier, prepared, at_once[name])[readable]
                predictions[name] = _predicted(probabilities, top, name, images, tables[name])
                if seconds is not None:
                    seconds[name] += time.perf_counter() - begun
            skipped = _skipped(batch, reasons)
            yield ClassifiedBatch(images, skipped, predictions, len(batch.images), batch.end)


def _skipped(batch: decoding.PhotographBatch, reasons: Mapping[int, str]) -> list[tuple[str, str]]:
    """Return what was refused or is unreadable in a batch, and why, in the order of the list."""
    refused = [(entry.name, entry.reason) for entry in batch.refused]
    unread = [(batch.images[at].name, reason) for at, reason in reasons.items()]
    return sorted(refused + unread, key=lambda row: row[0].encode())


def _predicted(
    probabilities: Tensor, count: int, name: str, images: Sequence[str], table: NDArray[np.int64]
) -> ClassifierPredictions:
    """Return the predictions. table: index in the pool's classes of each output."""
    labels, confidences = likeliest(probabilities, count, name, images)
    # Half precision and rounding may exceed [0, 1] slightly; + 0 turns -0 into 0.
    return ClassifierPredictions(
        table[labels.cpu().numpy()], confidences.cpu().numpy().clip(0, 1) + np.float32(0)
    )


def _probabilities(classifier: Classifier, prepared: Pixels, at_once: devices.BatchSize) -> Tensor:
    """Return (B, C) of a batch; if memory runs out, computed in parts of a size that fits."""

    def in_parts(size: int) -> Tensor:
        # Copies, because a network may write into its images, which the next classifier also gets.
        parts = torch.tensor(prepared).split(size)
        return torch.cat([classifier(part.to(classifier.device)) for part in parts])

    return at_once.attempt(in_parts)


def settings(
    image_list: PhotographList, classifiers: Sequence[Classifier], batch: int, top: int | None
) -> Mapping[str, object]:
    """Return everything that the predictions depend on, as JSON."""
    digests = {
        classifier.name: hashlib.sha256("\n".join(classifier.classes).encode()).hexdigest()
        for classifier in classifiers
    }
    shared = len(set(digests.values())) == 1
    return {
        "images": image_list.sha256,
        "models": {classifier.name: dict(classifier.source) for classifier in classifiers},
        "classes": digests[classifiers[0].name] if shared else digests,
        "preparation": {
            classifier.name: classifier.preparation.as_dict() for classifier in classifiers
        },
        "batch": batch,
        "top": top,
    }
