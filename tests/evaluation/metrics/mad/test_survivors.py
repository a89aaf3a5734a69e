"""survivors() drops no candidate that some larger pool chooses."""

import numpy as np
import pytest

from evaluation.metrics.mad.selection import (
    Levels,
    PairCandidates,
    SelectionRule,
    choose,
    survivors,
)


class Ids:
    in_order = True
    text = np.zeros(0, np.uint8)
    marks = np.zeros(0, np.int64)

    def take(self, images):
        return [b"%09d" % image for image in images]


def candidates(rng, images, classes) -> PairCandidates:
    """Images of chance labels; those of few labels and those of few confidences tie and crowd."""
    count = len(images)
    a = rng.choice(rng.integers(0, classes, rng.integers(1, classes + 1)), count)
    b = rng.integers(0, classes, count)
    b = np.where(a == b, (b + 1) % classes, b)
    keys = rng.integers(1, rng.choice([2, 5, 1000]), count) + rng.choice([0, 5000])
    return PairCandidates(
        a.astype(np.int32), b.astype(np.int32), keys.astype(np.uint32), images.astype(np.int64)
    )


def chance_rule(rng) -> SelectionRule:
    return SelectionRule(
        top_k=int(rng.integers(1, 12)),
        reserve=int(rng.integers(0, 4)),
        max_per_label=int(rng.integers(1, 5)),
        unique_pairs=bool(rng.random() < 0.4),
    )


@pytest.mark.parametrize("seed", range(4))
def test_what_is_dropped_is_chosen_in_no_larger_pool(seed):
    rng = np.random.default_rng(seed)
    dropped = 0
    for _ in range(20):
        classes, rule = int(rng.integers(2, 9)), chance_rule(rng)
        levels = Levels(rng.integers(0, 4, (classes, classes)).astype(np.int32), np.arange(4.0))
        numbers = rng.permutation(200)
        kept_pool = candidates(rng, numbers[:60], classes)
        kept, bounds = survivors(kept_pool, levels, rule, Ids())
        dropped += len(kept_pool) - len(kept)
        for _ in range(20):
            others = candidates(rng, numbers[60 : 60 + int(rng.integers(0, 61))], classes)
            union = PairCandidates.joined([kept_pool, others])
            chosen = union.where(choose(union, levels, rule, Ids()))
            is_own = np.isin(chosen.images, kept_pool.images)

            assert np.isin(chosen.images[is_own], kept.images).all()
            least = np.maximum(bounds.least_a[chosen.a], bounds.least_b[chosen.b])
            assert (chosen.merits(levels) >= np.maximum(least, bounds.least))[is_own].all()
    assert dropped > 200


def test_a_chain_of_labels_keeps_an_image_that_is_passed_over_here():
    # Greedy takes (0, 1), so not (0, 2). Where (3, 1) is above both, it takes (3, 1) and (0, 2).
    levels = Levels(np.ones((4, 4), np.int32), np.arange(2.0))
    rule = SelectionRule(top_k=2, reserve=0, max_per_label=1)
    candidates_here = PairCandidates(
        np.array([0, 0], np.int32), np.array([1, 2], np.int32),
        np.array([9, 8], np.uint32), np.array([0, 1]),
    )  # fmt: skip

    kept, _ = survivors(candidates_here, levels, rule, Ids())

    assert kept.images.tolist() == [0, 1]


def test_a_label_with_more_partners_than_can_be_full_is_ruled_out_below_them():
    # Of 4 images, before the last at most 3 labels are full: one of 4 partners is not.
    levels = Levels(np.ones((9, 9), np.int32), np.arange(2.0))
    rule = SelectionRule(top_k=4, reserve=0, max_per_label=1)
    row = PairCandidates(
        np.zeros(8, np.int32), np.arange(1, 9, dtype=np.int32),
        np.arange(20, 12, -1).astype(np.uint32), np.arange(8),
    )  # fmt: skip

    kept, bounds = survivors(row, levels, rule, Ids())

    assert kept.images.tolist() == [0, 1, 2, 3]
    assert bounds.least_a[0] == row.merits(levels)[3]


def test_twice_as_many_as_are_chosen_less_one_are_enough_of_unlike_labels():
    levels = Levels(np.ones((80, 80), np.int32), np.arange(2.0))
    diagonal = PairCandidates(
        np.arange(40, dtype=np.int32), np.arange(40, 80, dtype=np.int32),
        np.arange(100, 60, -1).astype(np.uint32), np.arange(40),
    )  # fmt: skip

    kept, bounds = survivors(
        diagonal, levels, SelectionRule(top_k=5, reserve=3, max_per_label=1), Ids()
    )

    assert kept.images.tolist() == list(range(15))
    assert bounds.least == diagonal.merits(levels)[14]
