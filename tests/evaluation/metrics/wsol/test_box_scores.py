"""MaxBoxAcc and MaxBoxAccV2 against slow loops on random maps, and on examples worked on paper."""

from pathlib import Path

import numpy as np
import pytest
from scipy import ndimage

from evaluation.metrics.wsol import box_scores
from evaluation.metrics.wsol.box_scores import BoxScore, Protocol

EIGHT = np.ones((3, 3))
DELTAS = (0.1, 0.3, 0.5, 0.7, 0.9)
IMAGENET_V2 = Path(__file__).resolve().parents[5] / "shared" / "data" / "wsol" / "ILSVRC_val"


def slow_ious(a, b, extra):
    overlaps = []
    for x0, y0, x1, y1 in b:
        wide = min(a[2], x1) - max(a[0], x0) + extra
        high = min(a[3], y1) - max(a[1], y0) + extra
        both = max(wide, 0) * max(high, 0)
        area = (a[2] - a[0] + extra) * (a[3] - a[1] + extra)
        overlaps.append(both / (area + (x1 - x0 + extra) * (y1 - y0 + extra) - both))
    return max(overlaps)


def extent(mask):
    ys, xs = np.nonzero(mask)
    return xs.min(), ys.min(), xs.max(), ys.max()


def contour_area(component):
    """Of the polygon through the pixel centres of the outer border: squares and half squares."""
    filled = np.pad(ndimage.binary_fill_holes(component), 1).astype(int)
    corners = filled[1:, 1:] + filled[1:, :-1] + filled[:-1, 1:] + filled[:-1, :-1]
    return (corners == 4).sum() + (corners == 3).sum() / 2


def reference_boxes(mask):
    """Every box, and that of the largest component: contours of components and of holes."""
    height, width = mask.shape
    labels, count = ndimage.label(mask, EIGHT)
    if count == 0:
        return [(0, 0, 0, 0)], (0, 0, 0, 0)

    def cut(x0, y0, x1, y1):
        return x0, y0, min(x1 + 1, width - 1), min(y1 + 1, height - 1)

    components = [labels == i + 1 for i in range(count)]
    boxes = [cut(*extent(component)) for component in components]
    largest = max(range(count), key=lambda i: (contour_area(components[i]), i))
    below, holes = ndimage.label(np.pad(~mask, 1, constant_values=True))
    for i in range(1, holes + 1):
        if i != below[0, 0]:
            x0, y0, x1, y1 = (v - 1 for v in extent(below == i))
            boxes.append(cut(x0 - 1, y0 - 1, x1 + 1, y1 + 1))
    return boxes, boxes[largest]


def paper_boxes(mask):
    labels, count = ndimage.label(mask, EIGHT)
    components = [labels == i + 1 for i in range(count)]
    boxes = [(x0, y0, x1 + 1, y1 + 1) for x0, y0, x1, y1 in map(extent, components)]
    largest = max(range(count), key=lambda i: (components[i].sum(), -i), default=None)
    return boxes, boxes[largest] if boxes else None


def slow_hits(scores, truth, protocol):
    hits = np.zeros((len(DELTAS), protocol.thresholds), bool)
    largest = np.zeros(protocol.thresholds, bool)
    image = (scores * 255).astype(np.uint8)
    for k in range(protocol.thresholds):
        if protocol.name == "reference":
            mask = image > int(k * (1 / protocol.thresholds) * image.max())
            boxes, biggest = reference_boxes(mask)
            extra = 1
        else:
            mask = scores >= k * (1 / protocol.thresholds)
            if scores.min() == scores.max():
                mask[:] = False
            boxes, biggest = paper_boxes(mask)
            extra = 0
        best = max((slow_ious(box, truth, extra) for box in boxes), default=0)
        hits[:, k] = [best >= delta for delta in DELTAS]
        largest[k] = biggest is not None and slow_ious(biggest, truth, extra) >= 0.5
    return hits, largest


def random_map(rng, number):
    """Smooth, noisy, of few levels, with many ties, or constant; sometimes one pixel wide."""
    height, width = rng.integers(1 if number % 7 == 0 else 4, 20, 2)
    scores = rng.random((height, width))
    if number % 3:
        scores = ndimage.gaussian_filter(scores, rng.uniform(0.3, 2))
    if number % 4 == 0:
        scores = np.round(scores * 3) / 3
    if number % 10 == 9:
        scores[:] = 0.4
    return box_scores.normalized(scores, ("min-max", "max")[number % 2])


def random_boxes(rng, height, width, whole):
    boxes = []
    for _ in range(rng.integers(1, 4)):
        xs, ys = np.sort(rng.uniform(0, width, 2)), np.sort(rng.uniform(0, height, 2))
        boxes.append((xs[0], ys[0], xs[1], ys[1]))
    return np.trunc(boxes) if whole else np.array(boxes)


@pytest.mark.parametrize("name", box_scores.PROTOCOLS)
def test_hits_equal_a_slow_loop_over_thresholds_and_components(name):
    rng = np.random.default_rng(0)
    right = 0

    for number in range(60):
        scores = random_map(rng, number)
        truth = random_boxes(rng, *scores.shape, whole=name == "reference")
        protocol = Protocol(name, thresholds=(25, 40)[number % 2])
        hits, largest = box_scores.box_hits(scores, truth, protocol, DELTAS)
        expected, expected_largest = slow_hits(scores, truth, protocol)

        assert np.array_equal(hits, expected), number
        assert np.array_equal(largest, expected_largest), number
        right += hits.sum()

    assert right > 1000


def contour_hits(scores, truth, protocol):
    """By OpenCV, threshold by threshold."""
    cv2 = pytest.importorskip("cv2", reason="OpenCV is not here (requirements-dev.txt)")
    image = (scores * 255).astype(np.uint8)
    last = np.array([image.shape[1] - 1, image.shape[0] - 1])
    hits, largest = [], []
    for tau in protocol.taus:
        mask = cv2.threshold(image, int(tau * image.max()), 255, cv2.THRESH_BINARY)[1]
        contours = cv2.findContours(mask, cv2.RETR_TREE, cv2.CHAIN_APPROX_SIMPLE)[0]
        bounds = [(0, 0, 0, 0)] if len(contours) == 0 else map(cv2.boundingRect, contours)
        boxes = [(x, y, *np.minimum([x + w, y + h], last * (w > 0))) for x, y, w, h in bounds]
        fits = [slow_ious(box, truth, 1) for box in boxes]
        biggest = np.argmax([cv2.contourArea(contour) for contour in contours] or [0])
        hits.append([max(fits) >= delta for delta in DELTAS])
        largest.append(fits[biggest] >= 0.5)
    return np.array(hits).T, np.array(largest)


def test_reference_equals_opencv_to_the_last_bit():
    rng = np.random.default_rng(4)
    seen = np.zeros(2)

    for number in range(40):
        scores = random_map(rng, number)
        truth = random_boxes(rng, *scores.shape, whole=True)
        protocol = Protocol("reference", thresholds=60)
        hits, largest = box_scores.box_hits(scores, truth, protocol, DELTAS)
        expected, expected_largest = contour_hits(scores, truth, protocol)

        assert np.array_equal(hits, expected), number
        assert np.array_equal(largest, expected_largest), number
        seen += largest.mean(), hits.mean()

    assert seen.min() > 0


@pytest.mark.parametrize("how", ["min-max", "max"])
@pytest.mark.parametrize("name", box_scores.PROTOCOLS)
def test_levels_are_those_of_numpys_floats(name, how):
    from evaluation.metrics.wsol import kernels_levels as levels

    rng = np.random.default_rng(6)
    protocol = Protocol(name, how)
    for kind in [np.float16, np.float32, np.float64] * 3:
        # Many at a threshold, or a rounding away from it.
        steps = rng.integers(0, 1001, (30, 20)) / rng.choice([255, 1000])
        scores = (steps * rng.uniform(0.1, 9) - rng.uniform(0, 0.1)).astype(kind)
        scale = levels.Scale(*box_scores.scale_of(scores, how))
        scaled = (box_scores.plain(scores), scale)
        picture = (
            levels.bytes_of(*scaled) if name == "reference" else levels.steps_of(*scaled, 1000)
        )

        expected, _ = box_scores.cut(box_scores.normalized(scores, how), protocol)
        assert np.array_equal(picture.flat.reshape(32, 22)[1:-1, 1:-1] - 1, expected)


def mapped(*ones, size=224):
    scores = np.zeros((size, size))
    for x0, y0, x1, y1 in ones:
        scores[y0:y1, x0:x1] = 1
    return scores


def test_ten_pixels_against_themselves_have_100_of_121_under_reference():
    scores, truth = mapped((20, 30, 30, 40)), np.array([[20.0, 30, 29, 39]])
    protocol = Protocol("reference", thresholds=10)

    below, _ = box_scores.box_hits(scores, truth, protocol, (100 / 121,))
    above, _ = box_scores.box_hits(scores, truth, protocol, (100 / 121 + 1e-9,))

    assert below.all()
    assert not above.any()
    assert box_scores.ious(np.array([[20.0, 30, 30, 40]]), truth, "reference") == 100 / 121


def test_exclusive_pixels_against_themselves_are_whole_under_paper():
    hits, largest = box_scores.box_hits(
        mapped((20, 30, 30, 40)), np.array([[20.0, 30, 30, 40]]), Protocol(thresholds=10), (1.0,)
    )

    # At the threshold 0 every pixel is in.
    assert hits.tolist() == [[False] + [True] * 9]
    assert largest.tolist() == [False] + [True] * 9


def test_edges_are_cut_at_the_last_pixel_under_reference():
    scores, truth = mapped((200, 200, 224, 224)), np.array([[200.0, 200, 223, 223]])

    assert box_scores.box_hits(scores, truth, Protocol("reference"), (1.0,))[0].all()


def test_a_hole_has_a_box_under_reference_alone():
    scores = mapped((50, 50, 150, 150))
    scores[90:100, 90:100] = 0
    truth = np.array([[89.0, 89, 101, 101]])

    assert box_scores.box_hits(scores, truth, Protocol("reference"), (1.0,))[0].all()
    assert not box_scores.box_hits(scores, truth, Protocol("paper"), (0.3,))[0].any()


@pytest.mark.parametrize(("name", "is_hit"), [("reference", True), ("paper", False)])
def test_a_constant_map_has_the_corner_pixel_or_no_box(name, is_hit):
    scores = box_scores.normalized(np.full((224, 224), 3.0))

    hits, largest = box_scores.box_hits(scores, np.array([[0.0, 0, 0, 0]]), Protocol(name), (0.5,))

    assert hits.all() == hits.any() == is_hit
    assert largest.all() == largest.any() == is_hit


def test_the_largest_component_counts_for_max_box_acc_and_any_for_v2():
    score = BoxScore(Protocol("reference", thresholds=10))

    score.add(
        mapped((0, 0, 60, 60), (100, 100, 120, 120)), np.array([[100.0] * 2 + [120] * 2]), 224, 224
    )

    result = score.result()
    assert result["max_box_acc"] == {"accuracy": 0.0, "threshold": 0.0}
    assert result["max_box_acc_v2"]["0.7"] == {"accuracy": 1.0, "threshold": 0.0}
    assert result["max_box_acc_v2"]["mean"] == 1.0


def test_the_best_threshold_is_each_deltas_own_and_the_lowest_of_equals():
    scores = mapped((100, 100, 140, 140)) * 0.5 + mapped((100, 100, 120, 120)) * 0.5
    small, large = np.array([[100.0, 100, 120, 120]]), np.array([[100.0, 100, 140, 140]])
    score = BoxScore(Protocol("reference", thresholds=10))

    score.add(scores, small, 224, 224)
    assert score.result()["max_box_acc_v2"]["0.7"] == {"accuracy": 1.0, "threshold": 0.5}

    score.add(scores, large, 224, 224)
    assert score.result()["max_box_acc_v2"]["0.7"] == {"accuracy": 0.5, "threshold": 0.0}
    assert score.result()["max_box_acc_v2"]["0.3"]["accuracy"] == 0.5


def test_top_1_localization_wants_the_class_right_too():
    score = BoxScore(Protocol("reference", thresholds=10))
    box = np.array([[100.0, 100, 140, 140]])

    for class_right in (True, False):
        score.add(mapped((100, 100, 140, 140)), box, 224, 224, class_right)

    result = score.result(top1=True)
    assert result["max_box_acc"]["accuracy"] == 1.0
    assert result["top1_localization"] == {"accuracy": 0.5, "threshold": 0.0}
    assert result["top1_accuracy"] == 0.5


def test_sums_of_parts_joined_are_the_sum_of_all():
    rng = np.random.default_rng(1)
    cases = [(rng.random((12, 12)), random_boxes(rng, 30, 40, whole=False)) for _ in range(6)]
    whole, first, rest = (BoxScore(Protocol(thresholds=20), histograms=True) for _ in range(3))

    for number, (scores, boxes) in enumerate(cases):
        whole.add(scores, boxes, 40, 30)
        (first if number < 2 else rest).add(scores, boxes, 40, 30)
    rest.join(first)

    for key in ("thresholds", "box_acc", "score_histogram"):
        got, expected = (s.result(curves=True)["curves"][key] for s in (rest, whole))
        assert np.array_equal(got, expected)
    assert rest.result() == whole.result()


def test_without_images_accuracies_are_not_numbers():
    result = BoxScore(Protocol()).result()

    assert np.isnan(result["max_box_acc"]["accuracy"])
    assert np.isnan(result["max_box_acc_v2"]["mean"])


def test_thresholds_are_those_of_arange():
    assert np.array_equal(Protocol().taus, np.arange(0, 1, 0.001))


def test_scores_are_counted_as_numpy_counts_them():
    rng = np.random.default_rng(2)
    protocol = Protocol(thresholds=1000)
    scores = np.concatenate([rng.random(5000), protocol.taus, np.arange(1000) / 1000, [1.0]])

    counts, kinds = np.zeros((2, 1001), np.int64), rng.integers(0, 3, len(scores), np.uint8)
    box_scores.add_scores(counts, scores[None], kinds)

    edges = np.append(protocol.taus, [1.0, 2.0])
    for kind in range(2):
        assert np.array_equal(counts[kind], np.histogram(scores[kinds == kind], edges)[0])


@pytest.mark.parametrize(("how", "expected"), [("min-max", [0, 0.5, 1]), ("max", [0, 0.25, 1])])
def test_maps_are_normalised_by_image(how, expected):
    assert box_scores.normalized(np.array([[-2.0, 1.0, 4.0]], np.float32), how).tolist() == [
        expected
    ]


def test_a_map_with_nothing_above_0_is_0_under_max():
    assert box_scores.normalized(np.array([[-2.0, -1.0]]), "max").tolist() == [[0, 0]]


def test_maps_are_resized_as_torch_does():
    import torch

    scores = np.random.default_rng(3).random((14, 14))

    expected = torch.nn.functional.interpolate(
        torch.from_numpy(scores)[None, None], (37, 53), mode="bilinear", align_corners=False
    )
    assert np.allclose(box_scores.resized(scores, 37, 53), expected[0, 0].numpy(), atol=1e-12)


@pytest.mark.ci
@pytest.mark.skipif(not IMAGENET_V2.is_dir(), reason="no boxes of ImageNetV2 here")
def test_the_center_gaussian_on_imagenet_v2():
    sizes = {}
    for line in (IMAGENET_V2 / "image_sizes.txt").read_text().splitlines():
        name, width, height = line.rsplit(",", 2)
        sizes[name] = (int(width), int(height))
    boxes: dict[str, list] = {}
    for line in (IMAGENET_V2 / "localization.txt").read_text().splitlines():
        name, *corners = line.rsplit(",", 4)
        boxes.setdefault(name, []).append([float(corner) for corner in corners])
    protocol = Protocol("reference")
    image, above = box_scores.cut(
        box_scores.normalized(box_scores.center_gaussian(224, 224)), protocol
    )

    # The map is one and the same: its boxes are, too.
    distinct, places = np.unique(above, return_inverse=True)
    made = np.array([reference_boxes(image > level)[1] for level in distinct], np.float64)
    hits = np.zeros((3, len(distinct)))
    for name, truth in boxes.items():
        resized = box_scores.truncated(np.array(truth), *sizes[name], 224)
        best = box_scores.ious(made, resized, "reference").max(axis=1)
        hits += [best >= delta for delta in box_scores.DELTAS]

    assert (hits[:, places].max(axis=1) / len(boxes)).mean() == pytest.approx(0.5032, abs=5e-5)
