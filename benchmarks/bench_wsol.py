"""Boxes and pixels of score maps against OpenCV's contours and numpy's histograms.

Maps of 224 × 224 are smooth (14 × 14 or 28 × 28 random numbers, resized bilinearly like a network's
maps) or, the worst case, pure noise; each image has one to three true boxes.
"""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import Row, row, sized
from evaluation.metrics.wsol import box_scores
from evaluation.metrics.wsol.mask_scores import MaskScore, average_precision

SIZE, MAPS = 224, sized(200, 4)
THREADS = 2
Map = NDArray[np.float32]


def main() -> list[Row]:
    rng = np.random.default_rng(0)
    rows = []
    for kind, grid in (("smooth, 14 × 14", 14), ("smooth, 28 × 28", 28), ("noise", SIZE)):
        maps = [made(rng, grid) for _ in range(MAPS)]
        boxes = [true_boxes(rng) for _ in maps]
        rows += box_rows(kind, maps, boxes, has_target=grid < SIZE)
        if grid == 14:
            rows += pixel_rows(rng, maps)
    return rows


def made(rng: np.random.Generator, grid: int) -> Map:
    return box_scores.resized(rng.random((grid, grid)), SIZE, SIZE).astype(np.float32)


def true_boxes(rng: np.random.Generator) -> NDArray[np.float64]:
    corners = np.sort(rng.integers(0, SIZE, (rng.integers(1, 4), 2, 2)), axis=1)
    return corners.reshape(-1, 4).astype(np.float64)


def box_rows(
    kind: str, maps: list[Map], boxes: list[NDArray[np.float64]], has_target: bool
) -> list[Row]:
    """Time maps a second beside a loop over thresholds; both must give the same hits."""
    rows = []
    for name in box_scores.PROTOCOLS[::-1]:
        protocol = box_scores.Protocol(name)
        rate = len(maps) / shortest(lambda p=protocol: over_threads(maps, boxes, p))
        alone = processor(maps, boxes, protocol)
        rows.append(
            row(
                f"MaxBoxAccV2 of maps, {kind}, {name}, {THREADS} threads",
                f"{rate:,.0f}/s; {alone:.2f} ms of processor a map",
                "≥ 800/s" if has_target else "none",
                rate >= 800 if has_target else None,
            )
        )
    for thresholds, times in ((1000, 200), (100, 6)) if has_target else ((100, 6),):
        protocol = box_scores.Protocol("reference", thresholds=thresholds)
        compared = 2 if has_target else 1
        start = time.process_time()
        plain = [plain_hits(*each, protocol) for each in zip(maps[:compared], boxes, strict=False)]
        slow = (time.process_time() - start) / compared
        quick = processor(maps, boxes, protocol) / 1000
        alike = all(
            np.array_equal(expected, actual)
            for each, both in zip(plain, zip(maps, boxes, strict=True), strict=False)
            for expected, actual in zip(each, ours(*both, protocol), strict=True)
        )
        ratio = f"{slow / quick:,.0f} times ({1000 * slow:,.0f} ms), "
        rows.append(
            row(
                f"… against OpenCV's contours at {thresholds} thresholds",
                ratio + ("equal" if alike else "NOT EQUAL"),
                f"≥ {times} times, equal" if has_target else "equal",
                alike and (slow / quick >= times or not has_target),
            )
        )
    return rows


def pixel_rows(rng: np.random.Generator, maps: list[Map]) -> list[Row]:
    """Time PxAP beside numpy's histograms, and beside reading the arrays once."""
    protocol = box_scores.Protocol("reference")
    truths = [rng.choice([0, 1, 255], (SIZE, SIZE), p=[0.6, 0.3, 0.1]).astype(np.uint8)] * 8
    truths = [truths[number % 8].copy() for number in range(len(maps))]
    ready = [box_scores.normalized(scores) for scores in maps]

    def scored(arrays: list[Any], normalize: str) -> float:
        score = MaskScore(box_scores.Protocol("reference", normalize))
        for scores, truth in zip(arrays, truths, strict=True):
            score.add(scores, truth, "one")
        return float(score.result()["pxap"])

    def plain() -> float:
        counts = np.zeros((2, protocol.thresholds + 1), np.int64)
        edges = np.append(protocol.taus, [1.0, 2.0])
        for scores, truth in zip(ready, truths, strict=True):
            for kind in (0, 1):
                counts[kind] += np.histogram(scores[truth == kind], edges)[0]
        return average_precision(counts)

    def read() -> None:
        for scores, truth in zip(ready, truths, strict=True):
            scores.sum(), truth.sum()

    quick, slow = shortest(lambda: scored(ready, "none")), shortest(plain, 1)
    once, alike = shortest(read), scored(ready, "none") == plain() == scored(maps, "min-max")
    return [
        row(
            "PxAP against numpy's histograms",
            f"{slow / quick:.0f} times ({1e6 * quick / len(maps):.0f} µs a map), "
            + ("equal" if alike else "NOT EQUAL"),
            "≥ 6 times, equal",
            alike and slow / quick >= 6,
        ),
        row(
            "… against a sum of the arrays, which reads them once",
            f"{quick / once:.1f} times ({1e6 * once / len(maps):.0f} µs a map)",
            "≤ 1.5 times",
            quick / once <= 1.5,
        ),
    ]


def over_threads(
    maps: list[Map], boxes: list[NDArray[np.float64]], protocol: box_scores.Protocol
) -> box_scores.BoxScore:
    def score(first: int) -> box_scores.BoxScore:
        sums = box_scores.BoxScore(protocol)
        for number in range(first, len(maps), THREADS):
            sums.add(maps[number], boxes[number], SIZE, SIZE)
        return sums

    with ThreadPoolExecutor(THREADS) as pool:
        return joined(pool.map(score, range(THREADS)), box_scores.BoxScore(protocol))


def joined(parts: Any, total: box_scores.BoxScore) -> box_scores.BoxScore:
    for part in parts:
        total.join(part)
    return total


def processor(
    maps: list[Map], boxes: list[NDArray[np.float64]], protocol: box_scores.Protocol
) -> float:
    """Return milliseconds of processor time for a map, in one thread."""
    best = float("inf")
    for _ in range(3):
        sums, start = box_scores.BoxScore(protocol), time.process_time()
        for scores, true in zip(maps[:50], boxes, strict=False):
            sums.add(scores, true, SIZE, SIZE)
        best = min(best, time.process_time() - start)
    return 1000 / 50 * best


def ours(
    scores: Map, boxes: NDArray[np.float64], protocol: box_scores.Protocol
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    scale = box_scores.scale_of(scores, "min-max")
    return box_scores.box_hits(scores, boxes, protocol, scale=scale)


def plain_hits(
    scores: Map, boxes: NDArray[np.float64], protocol: box_scores.Protocol
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return hits computed at each threshold: OpenCV's contours, their boxes, and every IoU."""
    import cv2

    cv2.setNumThreads(1)
    image = (box_scores.normalized(scores) * 255).astype(np.uint8)
    hits, largest = [], []
    for tau in protocol.taus:
        _, mask = cv2.threshold(image, int(tau * image.max()), 255, cv2.THRESH_BINARY)
        contours = cv2.findContours(mask, cv2.RETR_TREE, cv2.CHAIN_APPROX_SIMPLE)[0]
        corners, biggest = contour_boxes(contours)
        fits = box_scores.ious(corners, boxes, "reference").max(axis=1)
        hits.append([fits.max() >= delta for delta in box_scores.DELTAS])
        largest.append(fits[biggest] >= 0.5)
    return np.array(hits).T, np.array(largest)


def contour_boxes(contours: Any) -> tuple[NDArray[np.float64], int]:
    """Return (B, 4) boxes, cut at the last pixel, and the place of the largest contour's box."""
    import cv2

    if len(contours) == 0:
        return np.zeros((1, 4)), 0
    boxes = np.array([cv2.boundingRect(contour) for contour in contours], np.float64)
    boxes[:, 2:] = np.minimum(boxes[:, :2] + boxes[:, 2:], SIZE - 1)
    return boxes, int(np.argmax([cv2.contourArea(contour) for contour in contours]))


def shortest(action: Callable[[], Any], runs: int = 3) -> float:
    best = float("inf")
    for _ in range(runs):
        start = time.perf_counter()
        action()
        best = min(best, time.perf_counter() - start)
    return best
