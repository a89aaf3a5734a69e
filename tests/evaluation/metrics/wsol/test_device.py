"""Scores of many maps at once by torch: the compiled loops' numbers, to the bit."""

import numpy as np
import pytest
import torch
from scipy import ndimage

from evaluation.metrics.wsol import box_scores
from evaluation.metrics.wsol.box_scores import PROTOCOLS, BoxScore, Protocol
from evaluation.metrics.wsol.device import batches, merge_tree
from evaluation.metrics.wsol.mask_scores import MaskScore
from tests.evaluation.metrics.torch_guard import Guard

# A batch of tests is too small for threads, and other tests have the other cores.
pytestmark = pytest.mark.usefixtures("one_thread")

DELTAS = (0.1, 0.3, 0.5, 0.7, 0.9)
MOST_LAUNCHES, MOST_WAITS = 3200, 400


@pytest.fixture(scope="module")
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def random_map(rng, number, height, width):
    """Smooth, noisy, with plateaus, of few levels or constant."""
    scores = rng.random((height, width))
    if number % 3:
        scores = ndimage.gaussian_filter(scores, rng.uniform(0.3, 4))
    if number % 4 == 0:
        scores = np.round(scores * 3) / 3
    if number % 10 == 9:
        scores[:] = 0.4
    return scores * rng.uniform(0.5, 5) - rng.uniform(0, 0.5)


def true_boxes(rng, scores, width, height):
    """One to three: the first around a component of the map at some score, the others anywhere."""
    parts = ndimage.find_objects(ndimage.label(scores >= rng.choice(scores.ravel()))[0])
    ys, xs = parts[rng.integers(len(parts))]
    corners = np.array([[xs.start, ys.start, xs.stop, ys.stop]], float)
    corners *= np.array([width, height] * 2) / np.array(scores.shape[::-1] * 2)
    more = np.sort(rng.uniform(0, 1, (rng.integers(0, 3), 2, 2)), axis=1).reshape(-1, 4)
    return np.concatenate([corners, more * np.array([width, height] * 2)])


class Maps:
    """Maps, and for each its image's size and true boxes; of one size under `reference`."""

    def __init__(self, seed, protocol, count=20, kind=np.float64, most=40):
        rng = np.random.default_rng(seed)
        self.protocol, self.maps, self.sizes, self.boxes = protocol, [], [], []
        for number in range(count):
            width, height = (int(side) for side in rng.integers(1, most, 2))
            shape = (height, width) if number % 2 else tuple(rng.integers(1, most, 2))
            if protocol.name == "reference":
                shape = (protocol.size, protocol.size)
            self.maps.append(random_map(rng, number, *shape).astype(kind))
            self.sizes.append((width, height))
            self.boxes.append(true_boxes(rng, self.maps[-1], width, height))

    def fitted(self):
        """Boxes in the pixels that each map is scored in, and the sizes of those."""
        if self.protocol.name == "paper":
            return self.boxes, self.sizes
        size = self.protocol.size
        each = zip(self.boxes, self.sizes, strict=True)
        return [box_scores.truncated(map_boxes, *its, size) for map_boxes, its in each], [
            (size, size)
        ] * len(self.maps)

    def expected(self):
        hits_of_maps = []
        for scores, boxes, size in zip(self.maps, *self.fitted(), strict=True):
            ready, scale = box_scores.fitted(scores, self.protocol, *size)
            hits_of_maps.append(box_scores.box_hits(ready, boxes, self.protocol, DELTAS, scale))
        hits, largest = zip(*hits_of_maps, strict=True)
        return np.array(hits), np.array(largest)

    def actual(self, device="cpu"):
        boxes, sizes = self.fitted()
        return batches.hits_of(self.maps, boxes, sizes, self.protocol, DELTAS, device)


def assert_equal(actual, expected):
    for hit, expected_hit in zip(actual, expected, strict=True):
        np.testing.assert_array_equal(hit, expected_hit)


@pytest.mark.parametrize("how", box_scores.NORMALIZATIONS)
@pytest.mark.parametrize("name", PROTOCOLS)
def test_hits_are_those_of_the_compiled_loops(name, how):
    right = np.zeros(2)

    for seed, kind in enumerate((np.float16, np.float32, np.float64)):
        thresholds, size = (7, 1000, 100)[seed], 17 * seed + 3
        maps = Maps(seed, Protocol(name, how, thresholds, size), kind=kind)
        hits, largest = maps.actual()

        assert_equal((hits, largest), maps.expected())
        right += hits.mean(), largest.mean()

    assert right.min() > 0.01


@pytest.mark.parametrize("name", PROTOCOLS)
def test_the_smallest_maps_have_their_boxes(name):
    for side in (1, 2, 3):
        maps = Maps(side, Protocol(name, thresholds=50, size=side), most=side + 1)

        assert_equal(maps.actual(), maps.expected())


@pytest.mark.parametrize("how", box_scores.NORMALIZATIONS)
@pytest.mark.parametrize("name", PROTOCOLS)
def test_a_batch_of_constants_has_the_boxes_of_each(name, how):
    for value in (0.0, 0.4, 1.0):
        maps = Maps(0, Protocol(name, how, 20, size=9), count=4)
        maps.maps = [np.full(score_map.shape, value) for score_map in maps.maps]

        assert_equal(maps.actual(), maps.expected())


@pytest.mark.parametrize("grid", [14, pytest.param(224, marks=pytest.mark.ci)])
@pytest.mark.parametrize("name", PROTOCOLS)
def test_full_maps_keep_the_bits_the_bans_and_the_budgets(name, grid):
    """Every operation is held to those that CUDA rounds alike, and none forgets the device."""
    rng = np.random.default_rng(grid)
    maps = Maps(0, Protocol(name), count=0)
    for _ in range(3):
        scores = box_scores.resized(rng.random((grid, grid)), 224, 224).astype(np.float32)
        maps.maps.append(scores)
        maps.sizes.append((224, 224))
        maps.boxes.append(true_boxes(rng, scores, 224, 224))

    with Guard() as guard, torch.device("meta"):
        hits = maps.actual()

    assert_equal(hits, maps.expected())
    assert guard.launches.total() <= MOST_LAUNCHES
    assert guard.waits.total() <= MOST_WAITS
    assert guard.waits["nonzero"] > 10


def test_budgets_hold_however_many_maps_a_batch_has():
    protocol = Protocol("reference", size=24)
    counted = []

    for count in (10, 200):
        maps = Maps(1, protocol, count=count)
        with Guard() as guard:
            maps.actual()
        counted.append((guard.launches.total(), guard.waits.total()))

    (few, few_waits), (many, many_waits) = counted
    assert many < min(1.2 * few, MOST_LAUNCHES)
    assert many_waits < min(1.3 * few_waits, MOST_WAITS)


def test_what_rounds_otherwise_on_cuda_is_refused():
    for wrong in [
        lambda x: x / 3.0,
        lambda x: x / x.new_tensor(3.0),
        lambda x: torch.lerp(x, x, 0.5),
        lambda x: torch.addcmul(x, x, x),
        lambda x: torch.histc(x, 4),
        lambda x: x.cummin(0),
        lambda x: torch.nn.functional.interpolate(x[None, None], 9, mode="linear"),
        lambda x: x.exp(),
    ]:
        x = torch.rand(4)

        with pytest.raises(AssertionError), Guard():
            wrong(x)


def test_a_factory_that_forgets_the_device_is_found():
    with pytest.raises(AssertionError), torch.device("meta"), Guard():
        torch.zeros(3)


@pytest.mark.parametrize("name", PROTOCOLS)
def test_a_batch_of_too_many_rows_is_halved_until_it_is_not(name, monkeypatch):
    score_maps = Maps(5, Protocol(name, thresholds=100, size=20), count=9)
    expected, tried = score_maps.expected(), []
    whole = batches.box_hits
    monkeypatch.setattr(batches, "MAX_ROWS", 1500)
    monkeypatch.setattr(
        batches, "box_hits", lambda maps, *more: tried.append(len(maps[0])) or whole(maps, *more)
    )

    hits = score_maps.actual()

    assert_equal(hits, expected)
    assert tried[0] == 9
    # A single map is worked on whatever it has.
    assert tried.count(1) > 1


@pytest.mark.parametrize("name", PROTOCOLS)
def test_the_order_of_maps_changes_nothing(name):
    maps = Maps(6, Protocol(name, thresholds=100, size=20))
    hits, largest = maps.actual()
    order = np.random.default_rng(0).permutation(len(maps.maps))

    for held in (maps.maps, maps.boxes, maps.sizes):
        held[:] = [held[at] for at in order]

    assert_equal(maps.actual(), (hits[order], largest[order]))


def test_as_many_thresholds_as_there_may_be():
    maps = Maps(7, Protocol(thresholds=box_scores.MAX_THRESHOLDS), count=3, most=12)

    assert_equal(maps.actual(), maps.expected())


def test_a_side_beyond_16_bits_keeps_its_boxes():
    maps = Maps(8, Protocol(thresholds=20), count=1)
    scores = np.zeros((1, 40_000))
    scores[0, 35_000:39_000] = 1
    maps.maps, maps.sizes = [scores], [(40_000, 1)]
    maps.boxes = [np.array([[35_000.0, 0, 39_000, 1]])]

    hits, largest = maps.actual()

    assert_equal((hits, largest), maps.expected())
    assert hits[0, -1, 1:].all()
    assert largest[0, 1:].all()


def test_vertices_are_connected_as_by_a_plain_search():
    rng = np.random.default_rng(0)
    for _ in range(20):
        count, edges = int(rng.integers(1, 60)), int(rng.integers(0, 60))
        first, second = rng.integers(0, count, (2, edges))

        labels = merge_tree.connected(torch.from_numpy(first), torch.from_numpy(second), count)

        expected = np.arange(count)
        for _ in range(count):
            for a, b in zip(first, second, strict=True):
                expected[a] = expected[b] = min(expected[a], expected[b])
        assert labels.tolist() == expected.tolist()


@pytest.mark.parametrize("name", PROTOCOLS)
def test_sums_of_boxes_are_those_of_images_one_by_one(name):
    maps = Maps(9, Protocol(name, thresholds=50, size=20))
    classes_right = [(None, True, False)[number % 3] for number in range(len(maps.maps))]
    expected = BoxScore(maps.protocol, histograms=True)
    for scores, boxes, size, class_right in zip(
        maps.maps, maps.boxes, maps.sizes, classes_right, strict=True
    ):
        expected.add(scores, boxes, *size, class_right)

    score = BoxScore(maps.protocol, histograms=True)
    with Guard(), torch.device("meta"):
        batches.add_boxes(score, maps.maps, maps.boxes, maps.sizes, classes_right)

    assert_same_sums(score, expected)
    assert score.class_hits > 0
    assert score.pixels[1].sum() > 0


def assert_same_sums(actual, expected):
    assert vars(actual).keys() == vars(expected).keys()
    for name, value in vars(expected).items():
        assert type(getattr(actual, name)) is type(value), name
        np.testing.assert_array_equal(getattr(actual, name), value, err_msg=name)


@pytest.mark.parametrize(
    ("name", "kind"), [("paper", np.float16), ("reference", np.float32), ("paper", np.float64)]
)
def test_counts_of_pixels_are_those_of_images_one_by_one(name, kind):
    maps = Maps(10, Protocol(name, thresholds=60, size=25), kind=kind)
    rng = np.random.default_rng(0)
    sizes = maps.fitted()[1]
    truths = [rng.choice([0, 1, 255], size[::-1]).astype(np.uint8) for size in sizes]
    labels = [str(number % 3) for number in range(len(truths))]
    expected = MaskScore(maps.protocol)
    for each in zip(maps.maps, truths, labels, strict=True):
        expected.add(*each)

    score = MaskScore(maps.protocol)
    with Guard(), torch.device("meta"):
        batches.add_masks(score, maps.maps, truths, labels)

    assert score.images == expected.images
    assert score.classes.keys() == expected.classes.keys()
    for label, counts in expected.classes.items():
        np.testing.assert_array_equal(score.classes[label], counts)


def test_another_size_of_map_is_refused_under_reference():
    score = BoxScore(Protocol("reference", size=8))

    with pytest.raises(ValueError, match="expected 8 squared"):
        batches.add_boxes(score, [np.zeros((8, 9))], [np.zeros((1, 4))], [(8, 8)], [None])

    assert score.images == 0


@pytest.mark.gpu
@pytest.mark.parametrize("name", PROTOCOLS)
def test_a_gpu_finds_the_same_in_twenty_thousand_maps_in_any_order(name):
    maps = Maps(11, Protocol(name, size=40), count=10_000)
    expected = maps.expected()
    order = np.random.default_rng(1).permutation(len(maps.maps))

    assert_equal(maps.actual("cuda"), expected)
    for held in (maps.maps, maps.boxes, maps.sizes):
        held[:] = [held[at] for at in order]
    assert_equal(maps.actual("cuda"), tuple(hits[order] for hits in expected))
