"""MAD's reduction by torch on tensors of a device: the compiled loops' candidates."""

import random

import numpy as np
import pytest
import torch

from evaluation.classifiers.likeliest_classes import likeliest
from evaluation.metrics.mad import sorting
from evaluation.metrics.mad.selection import (
    Levels,
    PairCandidates,
    PairReducer,
    PoolPredictions,
    SelectionRule,
    choose,
    survivors,
)
from evaluation.metrics.mad.sorting import DevicePredictions, SortingReducer
from evaluation.readers.pools import read_pool
from evaluation.selection import selecting
from tests.evaluation.metrics.torch_guard import Guard
from tests.evaluation.pool import make_pool

IMAGES, CLASSES = 4000, 40
# For a piece of images: how many operations, and how often the host waits for a number of rows.
MOST_LAUNCHES, MOST_WAITS = 60, 5


def random_pool(folder, *, shuffled=False, kinds=("float16",), images=IMAGES, coarse=True):
    ids = [f"{number:06}" for number in range(images)]
    if shuffled:
        random.Random(2).shuffle(ids)
    classes = [f"class {number}" for number in range(CLASSES)]
    make_pool(
        folder, ids=ids, classes=classes, confidence_types=kinds, label_types=("int16", "int32"),
        coarse=coarse,
    )  # fmt: skip
    return read_pool(folder, None, None)


def levels_of_a_line():
    number = np.arange(CLASSES)
    return Levels.of_matrix(np.abs(number[:, None] - number) // 3 / 4)


def on_device(predictions, device="cpu"):
    return DevicePredictions.of(predictions, slice(0, len(predictions.labels)), device)


def candidates_of(reducer, pair, part):
    """What may be chosen from these images in any larger pool."""
    candidates = reducer.reduce(*pair, part)
    return survivors(candidates, reducer.levels, reducer.rule, reducer.ids)[0]


def list_of(reducer, *parts):
    candidates = PairCandidates.joined(parts)
    order = choose(candidates, reducer.levels, reducer.rule, reducer.ids)
    return candidates.where(order)


def assert_same(actual, expected):
    for key, value in vars(expected).items():
        np.testing.assert_array_equal(getattr(actual, key), value)
    assert len(expected) > 5


@pytest.mark.parametrize("unique", [False, True])
@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("kinds", [("float16",), ("float32",), ("float16", "float32")])
def test_lists_from_tensors_are_those_of_the_compiled_loops(
    tmp_path, monkeypatch, kinds, shuffled, unique
):
    pool = random_pool(tmp_path, shuffled=shuffled, kinds=kinds)
    rule = SelectionRule(top_k=8, reserve=4, max_per_label=2, unique_pairs=unique)
    pair = [pool.predictions[name] for name in ("alpha", "beta")]
    loops = PairReducer(levels_of_a_line(), rule, pool.images)
    expected = list_of(loops, candidates_of(loops, pair, slice(0, IMAGES)))
    # The bound is drawn from the best alone, and between pieces.
    monkeypatch.setattr(sorting, "_FOR_A_BOUND", 10)
    monkeypatch.setattr(sorting, "CHUNK", 900)
    sorted_out = SortingReducer(levels_of_a_line(), rule, pool.images)

    with Guard(), torch.device("meta"):
        held = [on_device(predictions) for predictions in pair]
        whole = candidates_of(sorted_out, held, slice(0, IMAGES))

    assert_same(list_of(loops, whole), expected)
    # Half of the pool on a device, with one column on the host, and half by the loops.
    first = candidates_of(sorted_out, [held[0], pair[1]], slice(0, 1700))
    second = candidates_of(loops, pair, slice(1700, IMAGES))
    assert_same(list_of(loops, first, second), expected)


def test_scores_of_networks_are_selected_from_where_they_were_made(tmp_path):
    pool, rule = random_pool(tmp_path), SelectionRule(min_confidence=0)
    generator = torch.Generator().manual_seed(0)
    made, read = [], []
    for name in ("alpha", "beta"):
        scores = torch.rand((IMAGES, CLASSES), generator=generator).mul(3).softmax(1)
        labels, confidences = (each[:, 0] for each in likeliest(scores, 1, name, []))
        made.append(DevicePredictions(labels, confidences))
        read.append(PoolPredictions(labels.numpy().astype(np.int16), confidences.numpy()))
    lists = []

    for kind, pair in ((SortingReducer, made), (PairReducer, read)):
        reducer = kind(levels_of_a_line(), rule, pool.images)
        lists.append(list_of(reducer, candidates_of(reducer, pair, slice(0, IMAGES))))

    assert_same(*lists)


def test_launches_and_waits_do_not_grow_with_the_images(tmp_path):
    levels, rule, counted = levels_of_a_line(), SelectionRule(), []
    for images in (500, 20_000):
        pool = random_pool(tmp_path / str(images), images=images, shuffled=True)
        held = [on_device(pool.predictions[name]) for name in ("alpha", "beta")]
        reducer = SortingReducer(levels, rule, pool.images)
        with Guard() as guard:
            reducer.reduce(*held, slice(0, images))
        counted.append((guard.launches.total(), guard.waits.total()))

    assert max(launches for launches, _ in counted) <= MOST_LAUNCHES
    assert max(waits for _, waits in counted) <= MOST_WAITS


def test_a_column_is_uploaded_once_for_all_pairs_of_a_stretch(tmp_path, monkeypatch):
    pool, levels, rule = random_pool(tmp_path), levels_of_a_line(), SelectionRule()
    pairs, uploaded = selecting.pairs_of(list(pool.predictions)), []
    upload = DevicePredictions.of

    def lists(device, memory):
        def counted(predictions, part, where):
            uploaded.append(part)
            if part.stop - part.start > memory:
                raise torch.OutOfMemoryError("CUDA out of memory")
            return upload(predictions, part, where)

        uploaded.clear()
        monkeypatch.setattr(DevicePredictions, "of", counted)
        reduced = selecting.reduce_pairs(pool, pairs, levels, rule, stretch=1500, device=device)
        return [images.images.tolist() for images in reduced]

    on_host = lists(None, 0)

    assert uploaded == []
    assert lists("cpu", IMAGES) == on_host
    assert len(uploaded) == len(pool.predictions) * 3
    # A stretch does not fit: each pair uploads its pieces.
    monkeypatch.setattr(sorting, "CHUNK", 500)
    assert lists("cpu", 500) == on_host


@pytest.mark.gpu
@pytest.mark.parametrize("shuffled", [False, True])
def test_a_gpu_finds_the_same_candidates(tmp_path, shuffled):
    pool, rule = random_pool(tmp_path, shuffled=shuffled), SelectionRule(top_k=8, reserve=4)
    pair = [pool.predictions[name] for name in ("alpha", "beta")]
    part, lists = slice(0, IMAGES), []

    for device in ("cpu", "cuda"):
        reducer = SortingReducer(levels_of_a_line(), rule, pool.images, device)
        for held in (pair, [on_device(predictions, device) for predictions in pair]):
            lists.append(candidates_of(reducer, held, part))

    for candidates in lists[1:]:
        assert_same(candidates, lists[0])
