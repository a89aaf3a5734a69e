"""The demo's benchmarks on released labels: simulated detectors and score maps on drawn objects.

Both use the release of carol's drawing campaign (cds.py). Detections are shifted boxes; score maps
are bell curves over a piece of the object.
"""

import csv
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from django.conf import settings
from numpy.typing import NDArray

from annotator.demo import cds
from evaluation.benchmarks import runs
from evaluation.benchmarks.kinds.labeled import benchmarks, paths
from evaluation.benchmarks.kinds.labeled.truth.ground_truth import DETECTION, TRUTH, WSOL
from evaluation.models import Benchmark
from evaluation.readers.wsol_folders import WsolImage, read_boxes
from labeling.files import atomic_write
from labeling.models import Campaign, Dataset, User

BOXES, MAPS = "demo-boxes", "demo-maps"
TITLES = {
    BOXES: "Detection demo: 3 simulated detectors on drawn objects",
    MAPS: "WSOL demo: 3 simulated score maps",
}
HEAD = ("image", "wnid", "confidence", "x0", "y0", "x1", "y1")
# Most shift of a box, as a share of its side. Above a half, each box gets a false detection, too.
BOX_SHIFTS = {"falcon": 0.04, "heron": 0.5, "owl": 0.55}
# The brightest point in the box, in shares of its sides, and the width of the bell.
LIGHT = {"glance": (0.5, 0.15, 0.12), "gaze": (0.5, 0.45, 0.3), "stare": (0.5, 0.5, 0.6)}
SIDE = 224


def load(_users: dict[str, User], owner: User, _dataset: Dataset) -> list[Benchmark]:
    """Create the two benchmarks on the first call; return them. Safe to call again."""
    return [
        load_benchmark(owner, BOXES, TITLES[BOXES], DETECTION, _detections),
        load_benchmark(owner, MAPS, TITLES[MAPS], WSOL, _score_maps),
    ]


def load_benchmark(
    owner: User,
    name: str,
    title: str,
    kind: str,
    submitted: Callable[[Path, Path], Iterator[tuple[str, Path]]],
) -> Benchmark:
    """Return the benchmark of that name on the drawn objects, created and scored on the first call.

    submitted: a function of the truth's folder and an output folder that yields classifier, path.
    """
    campaign = Campaign.objects.get(name=cds.NAME)
    existing = Benchmark.objects.filter(name=name).first()
    benchmark = existing or benchmarks.create(
        owner, kind=kind, name=name, title=title, campaign=campaign, min_images=1
    )
    if not benchmark.submissions.exists():
        folder = Path(settings.DATA_DIR) / "demo" / "found" / name
        for classifier, path in submitted(paths.truth_folder(benchmark), folder):
            benchmarks.add_submission(benchmark, owner, classifier, path, path.name)
        runs.request(benchmark, owner)
    return benchmark


def submit_detections(benchmark: Benchmark, owner: User, folder: Path) -> None:
    """Submit the detections of three simulated detectors to the benchmark."""
    for classifier, path in _detections(paths.truth_folder(benchmark), folder):
        benchmarks.add_submission(benchmark, owner, classifier, path, path.name)


def _detections(truth: Path, folder: Path) -> Iterator[tuple[str, Path]]:
    """Write each detector's file as `score detection --predictions` reads it."""
    folder.mkdir(parents=True, exist_ok=True)
    with (truth / TRUTH).open(encoding="utf-8", newline="") as file:
        objects = list(csv.DictReader(file))
    for detector, off in BOX_SHIFTS.items():
        path = folder / f"{detector}.csv"
        with atomic_write(path) as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(HEAD)
            for row in objects:
                writer.writerows(_detections_of(detector, off, row))
        yield detector, path


def _detections_of(detector: str, off: float, row: dict[str, str]) -> Iterator[tuple[Any, ...]]:
    """Yield the object's box with an error and, of a bad detector, a smaller second box."""
    x0, y0, x1, y1 = (float(row[corner]) for corner in HEAD[3:])
    right, down = (off * side * _chance(detector, row, side) for side in (x1 - x0, y1 - y0))
    box = (x0 + max(right, 0), y0 + max(down, 0), x1 + min(right, 0), y1 + min(down, 0))
    yield (row["image"], row["wnid"], round(0.95 - off / 2, 3), *(round(at, 1) for at in box))
    if off > 0.5:
        yield (row["image"], row["wnid"], 0.3, x0, y0, (x0 * 4 + x1) / 5, (y0 * 4 + y1) / 5)


def _chance(detector: str, row: dict[str, str], side: float) -> float:
    """Return a number from −1 to 1 that is fixed by the arguments."""
    return zlib.crc32(f"{detector}|{row['image']}|{row['wnid']}|{side}".encode()) / 2**31 - 1


def _score_maps(truth: Path, folder: Path) -> Iterator[tuple[str, Path]]:
    """Write a folder of maps for each classifier as `score wsol --scoremaps` reads it."""
    images = read_boxes(truth)
    for classifier, light in LIGHT.items():
        goal = folder / classifier
        for image in images:
            path = goal / f"{image.name}.npy"
            path.parent.mkdir(parents=True, exist_ok=True)
            np.save(path, _lit(image, *light))
        yield classifier, goal


def _lit(image: WsolImage, right: float, down: float, reach: float) -> NDArray[np.float32]:
    """Return a (SIDE, SIDE) bell curve over a piece of the image's first box."""
    x0, y0, x1, y1 = image.boxes[0] / [image.width, image.height, image.width, image.height]
    centers = (np.arange(SIDE) + 0.5) / SIDE
    across = (centers - (x0 + right * (x1 - x0))) / (reach * (x1 - x0))
    along = (centers - (y0 + down * (y1 - y0))) / (reach * (y1 - y0))
    bell: NDArray[np.float32] = np.exp(-0.5 * (along[:, None] ** 2 + across[None, :] ** 2)).astype(
        np.float32
    )
    return bell
