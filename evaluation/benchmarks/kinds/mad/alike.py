"""Images for which both classifiers of a pair predict the same wrong class; MAD never chooses them.

Needs a pool of the classifiers on the competition's dataset, and a truth: labels of its images, or
without them the true labels of the chosen images.
"""

import tempfile
import zipfile
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from io import BytesIO
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from django.core.files.storage import storages
from django.db.models import Count, Max, QuerySet
from numpy.typing import NDArray

from evaluation.benchmarks.kinds.mad import true_labels
from evaluation.models import Benchmark, Pool
from evaluation.readers.pools import CLASSES, IMAGES, read_classes
from labeling.estimators.intervals import clopper_pearson
from labeling.models import GivenLabel, Question
from labeling.records import Record

DATASET_LABELS = "labels of the dataset"
CHOSEN_LABELS = "true labels of chosen images, not a random sample"


@dataclass(kw_only=True)
class AlikeRow(Record):
    """A pair. images: those with a truth; alike: same predicted class; wrong: same wrong class.

    share: wrong / images, with its Clopper-Pearson interval [low, high] at 95 %.
    """

    first: str
    second: str
    images: int
    alike: int
    wrong: int
    share: float
    low: float
    high: float


@dataclass(kw_only=True)
class AlikeResult(Record):
    """The pairs of the classifiers that the pool has. truth: DATASET_LABELS or CHOSEN_LABELS."""

    pool: int
    truth: str
    pairs: list[AlikeRow]


def pool_of(benchmark: Benchmark) -> Pool | None:
    """Return the newest pool on the dataset with two or more of the classifiers."""
    names = set(benchmark.submissions.values_list("name", flat=True))
    pools = benchmark.campaign.dataset.pools.exclude(file="").defer("result").order_by("-pk")
    return next((pool for pool in pools if len(names.intersection(pool.names)) > 1), None)


def fingerprint(benchmark: Benchmark) -> dict[str, object]:
    """Return what the result depends on beside the campaign; empty without a pool."""
    pool = pool_of(benchmark)
    if pool is None:
        return {}
    # In one query: this is asked every minute, and a dataset may have a million labels.
    labels = given_labels(benchmark).aggregate(count=Count("pk"), last=Max("pk"))
    settled = Question.objects.filter(
        campaign=benchmark.naming_id, state__in=[Question.State.SETTLED, Question.State.DROPPED]
    )
    return {"alike": [pool.pk, labels["count"], labels["last"], settled.count()]}


def alike_and_wrong(benchmark: Benchmark) -> AlikeResult | None:
    """Return the counts of every pair; None without a pool or a truth."""
    pool = pool_of(benchmark)
    if pool is None:
        return None
    names = [row.name for row in benchmark.submissions.all() if row.name in pool.names]
    classes, images, labels = _predictions(pool, names)
    for source, truths in ((DATASET_LABELS, _given_truths), (CHOSEN_LABELS, _chosen_truths)):
        known = _indexed(truths(benchmark), images, classes)
        if len(known):
            return AlikeResult(
                pool=pool.pk, truth=source, pairs=_pairs(labels, known, len(classes))
            )
    return None


def given_labels(benchmark: Benchmark) -> QuerySet[GivenLabel]:
    """Return the labels of whole images of the dataset."""
    return GivenLabel.objects.filter(
        item__image__dataset=benchmark.campaign.dataset,
        item__region__isnull=True,
        geometry__isnull=True,
    )


def _given_truths(benchmark: Benchmark) -> Mapping[str, set[str]]:
    truths: defaultdict[str, set[str]] = defaultdict(set)
    rows = given_labels(benchmark).filter(value="yes").values_list("item__image__name", "key")
    for image, key in rows.iterator():
        truths[image].add(key)
    return truths


def _chosen_truths(benchmark: Benchmark) -> Mapping[str, set[str]]:
    images = benchmark.selections.order_by().values_list("image", flat=True).distinct()
    return {image: {key} for image, key in true_labels.true_labels(benchmark, images).items()}


def _predictions(
    pool: Pool, names: list[str]
) -> tuple[list[str], list[str], dict[str, NDArray[Any]]]:
    """Return the classes, the image names, and each classifier's class indices."""
    with (
        storages["data"].open(pool.file) as file,
        zipfile.ZipFile(file) as archive,
        tempfile.TemporaryDirectory(prefix="pool-") as folder,
    ):
        classes = read_classes(Path(archive.extract(CLASSES, folder)), None)
        images = archive.read(IMAGES).decode().removesuffix("\n").split("\n")
        arrays = {name: np.load(BytesIO(archive.read(f"{name}.labels.npy"))) for name in names}
    return classes, images, arrays


def _indexed(truths: Mapping[str, set[str]], images: list[str], classes: list[str]) -> NDArray[Any]:
    """Return (image, class) as image index × classes + class index, sorted and distinct.

    Labels outside the classes are left out: such images have no truth here.
    """
    index = {name: number for number, name in enumerate(classes)}
    pairs = [
        number * len(classes) + index[key]
        for number, image in enumerate(images)
        for key in truths.get(image, ())
        if key in index
    ]
    return np.unique(np.array(pairs, dtype=np.int64))


def _pairs(labels: dict[str, NDArray[Any]], known: NDArray[Any], classes: int) -> list[AlikeRow]:
    images = np.unique(known // classes)
    of_known = {name: array[images].astype(np.int64) for name, array in labels.items()}
    right = {name: np.isin(images * classes + keys, known) for name, keys in of_known.items()}
    rows = []
    for first, second in combinations(labels, 2):
        alike = of_known[first] == of_known[second]
        wrong = int(np.count_nonzero(alike & ~right[first]))
        low, high = clopper_pearson(wrong, len(images))
        rows.append(
            AlikeRow(
                first=first,
                second=second,
                images=len(images),
                alike=int(np.count_nonzero(alike)),
                wrong=wrong,
                share=wrong / len(images),
                low=low,
                high=high,
            )
        )
    return rows
