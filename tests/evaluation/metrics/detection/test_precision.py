"""Localization and detection, against Algorithm 2 and the envelope written out plainly."""

import contextlib
import io
import itertools

import numpy as np
import pytest
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

from evaluation.metrics.detection.precision import (
    ClassBoxes,
    average_precisions,
    best_overlaps,
    localized,
    needed_iou,
    pair_iou,
)


def boxes(*rows: tuple) -> ClassBoxes:
    """Rows of image, class, x0, y0, x1, y1."""
    table = np.array(rows, float).reshape(-1, 6)
    return ClassBoxes(table[:, 0].astype(int), table[:, 1].astype(int), table[:, 2:])


def plain_iou(a: list, b: list, extra: int) -> float:
    wide = min(a[2], b[2]) - max(a[0], b[0]) + extra
    high = min(a[3], b[3]) - max(a[1], b[1]) + extra
    shared = wide * high if wide > 0 and high > 0 else 0
    areas = [(c[2] - c[0] + extra) * (c[3] - c[1] + extra) for c in (a, b)]
    union = sum(areas) - shared
    return shared / union if union > 0 else 0


def plain_ap(truth, detected, confidences, class_, extra, excluded) -> float:
    """Algorithm 2 image by image, then the envelope point by point."""
    out = {tuple(pair) for pair in excluded}
    objects = [
        (int(i), list(b))
        for i, c, b in zip(truth.images, truth.classes, truth.corners, strict=True)
        if c == class_ and (i, c) not in out
    ]
    rows = sorted(
        (-confidences[d], int(detected.images[d]), d)
        for d in range(len(detected))
        if detected.classes[d] == class_ and (detected.images[d], class_) not in out
    )
    if not objects:
        return float("nan")
    free, right = list(range(len(objects))), []
    for _, image, d in rows:
        candidates = []
        for k in free:
            wide, high = (objects[k][1][i + 2] - objects[k][1][i] + extra for i in (0, 1))
            needed = min(0.5, wide * high / ((wide + 10) * (high + 10)))
            overlap = plain_iou(objects[k][1], list(detected.corners[d]), extra)
            if objects[k][0] == image and overlap >= needed and overlap > 0:
                candidates.append((-overlap, k))
        right.append(bool(candidates))
        if candidates:
            free.remove(min(candidates)[1])
    points = [
        (sum(right[: n + 1]) / len(objects), sum(right[: n + 1]) / (n + 1))
        for n in range(len(right))
    ]
    levels = sorted({0.0, *(recall for recall, _ in points)})
    return sum(
        (high - low) * max(p for recall, p in points if recall >= high)
        for low, high in itertools.pairwise(levels)
    )


def world(seed: int) -> tuple[ClassBoxes, ClassBoxes, np.ndarray]:
    """Crowded images of small integer boxes: ties of overlap and confidence are frequent."""
    rng = np.random.default_rng(seed)

    def some(count: int) -> ClassBoxes:
        corner = rng.integers(0, 20, (count, 2))
        size = rng.integers(1, 40, (count, 2))
        return ClassBoxes(
            rng.integers(0, 5, count),
            rng.integers(0, 4, count),
            np.hstack([corner, corner + size]).astype(float),
        )

    truth, detected = some(40), some(160)
    copied = rng.integers(0, 40, 100)
    detected.images[:100], detected.classes[:100] = truth.images[copied], truth.classes[copied]
    detected.corners[:100] = truth.corners[copied] + rng.integers(-2, 3, (100, 4))
    detected.corners[:, 2:] = np.maximum(detected.corners[:, 2:], detected.corners[:, :2] + 1)
    return truth, detected, rng.integers(0, 12, 160) / 12


@pytest.mark.parametrize(("seed", "inclusive"), [(0, True), (1, False), (2, True), (3, False)])
def test_average_precision_equals_the_algorithm_written_out(seed, inclusive):
    truth, detected, confidences = world(seed)
    excluded = np.array([[0, 1], [3, 2], [4, 0]])[: seed % 4]

    kept = detected.outside(excluded)
    result = average_precisions(
        truth.of(truth.outside(excluded)), detected.of(kept), confidences[kept], 5, inclusive
    )

    expected = [
        plain_ap(truth, detected, confidences, c, int(inclusive), excluded.tolist())
        for c in range(5)
    ]
    assert result.ap.tolist() == pytest.approx(expected, nan_ok=True)
    assert np.isnan(expected[4])
    assert 0.1 < result.mean_ap < 0.9
    assert result.mean_ap == pytest.approx(np.nanmean(expected))


def test_a_small_object_is_hit_by_a_box_five_pixels_around_it():
    small, around = (0, 0, 10, 10, 20, 20), (0, 0, 5, 5, 25, 25)

    hit = average_precisions(boxes(small), boxes(around), np.ones(1), 1, inclusive=False)

    assert pair_iou(np.array(small[2:]), np.array(around[2:]), inclusive=False) == 0.25
    assert needed_iou(np.array(small[2:]), inclusive=False) == 0.25
    assert hit.ap.tolist() == [1]
    wider = boxes((0, 0, 5, 5, 25, 25.5))
    assert average_precisions(boxes(small), wider, np.ones(1), 1, inclusive=False).ap == [0]


def test_a_second_detection_of_an_object_is_wrong():
    box = (0, 0, 0, 0, 50, 50)

    precisions = average_precisions(boxes(box), boxes(box, box), np.array([0.5, 0.9]), 1, True)

    assert precisions.order.tolist() == [1, 0]
    assert precisions.hits.tolist() == [True, False]
    assert (precisions.positives.tolist(), precisions.detections.tolist()) == ([1], [2])


def test_the_class_without_objects_has_no_precision_and_the_one_unfound_has_none_left():
    truth, detected = boxes((0, 0, 0, 0, 9, 9)), boxes((0, 1, 0, 0, 9, 9))

    result = average_precisions(truth, detected, np.ones(1), 3, inclusive=True)

    assert result.ap.tolist() == pytest.approx([0, np.nan, np.nan], nan_ok=True)
    assert result.mean_ap == 0
    nothing = average_precisions(boxes(), boxes(), np.zeros(0), 2, inclusive=True)
    assert np.isnan(nothing.mean_ap)


def test_ties_go_by_image_then_by_order():
    truth = boxes((0, 0, 0, 0, 50, 50), (1, 0, 0, 0, 50, 50))
    detected = boxes((1, 0, 0, 0, 50, 50), (0, 0, 0, 0, 50, 50), (0, 0, 1, 0, 50, 50))

    assert average_precisions(truth, detected, np.ones(3), 1, True).order.tolist() == [1, 2, 0]


def test_overlap_says_whether_the_last_pixel_belongs_to_the_box():
    a, b = np.array([[0, 0, 9, 9], [4, 4, 4, 4]]), np.array([[0, 0, 9, 4], [4, 4, 4, 4]])

    assert pair_iou(a, b, inclusive=True).tolist() == [0.5, 1]
    assert pair_iou(a, b, inclusive=False).tolist() == pytest.approx([4 / 9, 0])


@pytest.mark.parametrize("inclusive", [True, False])
def test_every_hit_names_its_object_and_none_is_taken_twice(inclusive):
    truth, detected, confidences = world(7)

    result = average_precisions(truth, detected, confidences, 5, inclusive)

    hit_rows, taken = result.order[result.hits], result.taken[result.hits]
    assert len(set(taken.tolist())) == len(taken) > 10
    assert (truth.images[taken] == detected.images[hit_rows]).all()
    assert (truth.classes[taken] == detected.classes[hit_rows]).all()
    overlap = pair_iou(truth.corners[taken], detected.corners[hit_rows], inclusive)
    assert (overlap >= needed_iou(truth.corners[taken], inclusive)).all()


@pytest.mark.parametrize("seed", range(3))
def test_hits_are_those_of_pycocotools_where_objects_are_large(seed):
    """Objects of 25 pixels ask for an IoU of 0.5. No overlaps or confidences are equal."""
    rng = np.random.default_rng(seed)
    corner, sides = rng.random((30, 2)) * 40, 60 + rng.random((30, 2)) * 40
    truth = ClassBoxes(
        rng.integers(0, 4, 30), rng.integers(0, 3, 30), np.hstack([corner, corner + sides])
    )
    copied = rng.integers(0, 30, 150)
    moved = truth.corners[copied] + rng.normal(0, 8, (150, 4))
    detected, confidences = (
        ClassBoxes(truth.images[copied], truth.classes[copied], moved),
        rng.random(150),
    )

    result = average_precisions(truth, detected, confidences, 3, inclusive=False)

    assert set(result.order[result.hits].tolist()) == coco_hits(truth, detected, confidences)
    assert 15 < result.hits.sum() <= 30


def coco_hits(truth: ClassBoxes, detected: ClassBoxes, confidences: np.ndarray) -> set[int]:
    """The detections that COCOeval matches at an IoU of 0.5."""

    def rows(of: ClassBoxes, scores: np.ndarray) -> list[dict]:
        sizes = of.corners[:, 2:] - of.corners[:, :2]
        return [
            {
                "image_id": int(of.images[i]) + 1,
                "category_id": int(of.classes[i]) + 1,
                "bbox": [*of.corners[i, :2].tolist(), *sizes[i].tolist()],
                "score": float(scores[i]),
                "area": float(sizes[i].prod()),
                "iscrowd": 0,
                "id": i + 1,
            }
            for i in range(len(of))
        ]

    with contextlib.redirect_stdout(io.StringIO()):
        known = COCO()
        known.dataset = {
            "images": [{"id": i + 1} for i in range(4)],
            "categories": [{"id": c + 1} for c in range(3)],
            "annotations": rows(truth, np.ones(len(truth))),
        }
        known.createIndex()
        evaluator = COCOeval(known, known.loadRes(rows(detected, confidences)), "bbox")
        evaluator.params.iouThrs = np.array([0.5])
        evaluator.params.areaRng, evaluator.params.maxDets = [[0, 1e9]], [1000]
        evaluator.evaluate()
    return {
        int(detection) - 1
        for image_matches in evaluator.evalImgs
        if image_matches
        for detection, match in zip(
            image_matches["dtIds"], image_matches["dtMatches"][0], strict=True
        )
        if match
    }


@pytest.mark.parametrize("inclusive", [True, False])
def test_the_best_overlap_equals_a_plain_loop(inclusive):
    truth, detected, _ = world(3)

    best = best_overlaps(truth, detected, inclusive)

    expected = [
        max(
            (
                plain_iou(list(truth.corners[k]), list(detected.corners[d]), int(inclusive))
                for k in range(len(truth))
                if (truth.images[k], truth.classes[k]) == (detected.images[d], detected.classes[d])
            ),
            default=0,
        )
        for d in range(len(detected))
    ]
    assert best.tolist() == pytest.approx(expected)
    assert 0 < (best == 0).sum() < len(best)
    assert best_overlaps(boxes(), detected, inclusive).tolist() == [0] * len(detected)
    assert len(best_overlaps(truth, boxes(), inclusive)) == 0


def test_half_an_overlap_is_enough_for_the_kit_and_too_little_for_the_text():
    overlaps = np.array([0.49, 0.5, 0.51])

    assert localized(overlaps).tolist() == [False, True, True]
    assert localized(overlaps, strict=True).tolist() == [False, False, True]


def test_what_is_excluded_is_a_class_of_an_image_or_all_of_it():
    rows = boxes((0, 1, 0, 0, 1, 1), (0, 2, 0, 0, 1, 1), (1, 1, 0, 0, 1, 1), (2, 1, 0, 0, 1, 1))

    assert rows.outside(np.array([[0, 2], [2, -1]])).tolist() == [True, False, True, False]
    assert rows.outside(np.zeros((0, 2), int)).all()
