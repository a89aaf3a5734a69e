"""Detection AP of half a million boxes against pycocotools, and bootstrap rounds of its mean."""

import contextlib
import io
import tempfile
import time
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import Row, own_process, row, sized
from evaluation.metrics.detection.bootstrap import Resampled
from evaluation.metrics.detection.precision import ClassBoxes, average_precisions
from evaluation.metrics.significance import ROUNDS

IMAGES, CLASSES = sized(40_000, 100), sized(200, 4)
OBJECTS, DETECTIONS = sized(80_000, 200), sized(500_000, 1_000)
WIDTH, HEIGHT = 500, 375
PLAIN_ROUNDS = sized(5, 1)


def main() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        ours, coco, rounds = (
            own_process.run("bench_detection", folder, action)
            for action in ("ours", "coco", "rounds")
        )
    times = coco["seconds"] / ours["seconds"]
    share = coco["grown"] / max(ours["grown"], 1)
    name = f"AP of {DETECTIONS:,} detections, {IMAGES:,} images, {CLASSES} classes"
    return [
        row(name, f"{ours['seconds']:.2f} s", "< 1 s", ours["seconds"] < 1),
        row(
            "… pycocotools' COCOeval, one threshold and area range",
            f"{times:.0f} times ({coco['seconds']:.1f} s)",
            "≥ 100 times",
            times >= 100,
        ),
        row(
            "… memory beyond the boxes",
            f"{ours['grown']} MiB and {coco['grown']:,} MiB, {share:.0f} times",
            "≤ a tenth",
            share >= 10,
        ),
        row(
            f"{ROUNDS:,} bootstrap rounds of its mean AP",
            f"{rounds['seconds']:.1f} s, {rounds['grown']} MiB; plain numpy "
            f"{rounds['plain']:.0f} s from {PLAIN_ROUNDS} rounds, "
            f"{rounds['plain'] / rounds['seconds']:.0f}×",
            "< 10 s",
            rounds["seconds"] < 10,
        ),
    ]


def world() -> tuple[ClassBoxes, ClassBoxes, NDArray[np.float64]]:
    """Return true boxes and detections: two in five near an object, others anywhere, less sure."""
    rng = np.random.default_rng(0)
    truth = ClassBoxes(
        rng.integers(0, IMAGES, OBJECTS),
        rng.integers(0, CLASSES, OBJECTS),
        some_boxes(rng, OBJECTS),
    )
    objects = rng.integers(0, OBJECTS, DETECTIONS)
    detected, confidences = truth.of(objects), rng.random(DETECTIONS)
    sides = np.tile(detected.corners[:, 2:] - detected.corners[:, :2], 2)
    corners = detected.corners + 0.12 * sides * rng.normal(size=(DETECTIONS, 4))
    corners[:, 2:] = np.maximum(corners[:, 2:], corners[:, :2] + 2)
    low = np.clip(corners[:, :2], 0, [WIDTH - 2, HEIGHT - 2])
    detected.corners[:] = np.hstack([low, np.clip(corners[:, 2:], low + 1, [WIDTH, HEIGHT])])
    astray = rng.random(DETECTIONS) < 0.6
    detected.images[astray] = rng.integers(0, IMAGES, int(astray.sum()))
    detected.classes[astray] = rng.integers(0, CLASSES, int(astray.sum()))
    confidences[astray] *= 0.7
    return truth, detected, confidences


def some_boxes(rng: np.random.Generator, count: int) -> NDArray[np.float64]:
    sides = np.exp(rng.uniform(np.log(10), np.log(300), (count, 2)))
    corner = rng.random((count, 2)) * ([WIDTH, HEIGHT] - sides)
    return np.hstack([corner, corner + sides])


def ours(_: None) -> dict[str, Any]:
    truth, detected, confidences = world()
    # The compiled loop is read from its cache, or made, before it is timed.
    average_precisions(
        truth.of(np.arange(9)), detected.of(np.arange(9)), confidences[:9], CLASSES, True
    )
    before, start = held_mib(), time.perf_counter()
    average_precisions(truth, detected, confidences, CLASSES, inclusive=False)
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "grown": own_process.peak_mib() - before}


def coco(_: None) -> dict[str, Any]:
    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval

    truth, predicted, confidences = world()
    with contextlib.redirect_stdout(io.StringIO()):
        known = COCO()
        known.dataset = {
            "images": [{"id": i + 1, "width": WIDTH, "height": HEIGHT} for i in range(IMAGES)],
            "categories": [{"id": c + 1, "name": str(c)} for c in range(CLASSES)],
            "annotations": list(coco_rows(truth)),
        }
        known.createIndex()
        detected = known.loadRes(list(coco_rows(predicted, confidences)))
        evaluator = COCOeval(known, detected, "bbox")
        evaluator.params.iouThrs = np.array([0.5])
        evaluator.params.areaRng, evaluator.params.areaRngLbl = [[0, 1e10]], ["all"]
        evaluator.params.maxDets = [DETECTIONS]
        before, start = held_mib(), time.perf_counter()
        evaluator.evaluate()
        evaluator.accumulate()
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "grown": own_process.peak_mib() - before}


def coco_rows(
    boxes: ClassBoxes, scores: NDArray[np.float64] | None = None
) -> Iterable[dict[str, Any]]:
    sizes = boxes.corners[:, 2:] - boxes.corners[:, :2]
    columns = (boxes.images, boxes.classes, boxes.corners[:, :2], sizes)
    for i, (image, class_, corner, size) in enumerate(
        zip(*(column.tolist() for column in columns), strict=True)
    ):
        fields = {"image_id": image + 1, "category_id": class_ + 1, "bbox": corner + size}
        if scores is None:
            yield {**fields, "id": i + 1, "iscrowd": 0, "area": size[0] * size[1]}
        else:
            yield {**fields, "score": float(scores[i])}


def rounds(_: None) -> dict[str, Any]:
    truth, detected, confidences = world()
    measured = average_precisions(truth, detected, confidences, CLASSES, inclusive=False)
    drawn = Resampled.of(measured, truth, detected, IMAGES)
    generator = np.random.default_rng(0)
    seeds = generator.integers(0, 2**64, ROUNDS, dtype=np.uint64)
    drawn.rounds(seeds[:1])
    before, start = held_mib(), time.perf_counter()
    drawn.rounds(seeds)
    seconds, grown = time.perf_counter() - start, own_process.peak_mib() - before
    start = time.perf_counter()
    for _ in range(PLAIN_ROUNDS):
        plain_round(drawn, np.bincount(generator.integers(0, IMAGES, IMAGES), minlength=IMAGES))
    plain = (time.perf_counter() - start) * ROUNDS / PLAIN_ROUNDS
    return {"seconds": seconds, "grown": grown, "plain": plain}


def plain_round(drawn: Resampled, weights: NDArray[np.int64]) -> float:
    """Return the mean AP of a round, computed class by class."""
    weighted, objects = weights[drawn.detection_images], weights[drawn.objects]
    true = weighted * drawn.hit
    aps, start, first = [], 0, 0
    for end, last in zip(drawn.ends.tolist(), drawn.object_ends.tolist(), strict=True):
        every = np.maximum(np.cumsum(weighted[start:end]), 1)
        precision = np.cumsum(true[start:end]) / every
        envelope = np.maximum.accumulate(precision[::-1])[::-1]
        aps.append((envelope * true[start:end]).sum() / objects[first:last].sum())
        start, first = end, last
    return float(np.nanmean(aps))


def held_mib() -> int:
    """Reset the peak memory of this process to what it holds now, and return it."""
    with contextlib.suppress(OSError), open("/proc/self/clear_refs", "w") as control:
        control.write("5")
    return own_process.peak_mib()
