"""hCorrectSet and hp@k, against the appendix's loop walked plainly."""

from pathlib import Path

import numpy as np
import pytest

from evaluation.metrics.ilsvrc.hpk import (
    KS,
    correct_sets,
    hits_at,
    hits_in_sets,
    labels_within,
    mean_sizes,
)

ILSVRC = Path(__file__).resolve().parents[5] / "shared" / "data" / "imagenet_synsets.txt"


def near(wordnet, nodes: set[int]) -> set[int]:
    return {j for i in nodes for j in (*wordnet.hypernyms(i), *wordnet.hyponyms(i))}


def plain_set(wordnet, true: int, valid: set[int], k: int) -> set[int]:
    """The loop of the appendix, over the whole graph; ends where nothing new is reached."""
    reached, ring, members = {true}, {true}, set()
    while len(members) < k and ring:
        members |= ring & valid
        ring = near(wordnet, ring) - reached
        reached |= ring
    return members


def labels(wordnet, count: int, seed: int) -> list[int]:
    """Valid labels that lie near each other and far, with upper ones among them."""
    rng = np.random.default_rng(seed)
    around = labels_within(wordnet, [wordnet.find("dog.n.01"), wordnet.find("bubble.n.01")], 4)
    under = np.flatnonzero(wordnet.depth >= 0)
    return [*dict.fromkeys([*rng.choice(around, count).tolist(), *rng.choice(under, 9).tolist()])]


@pytest.fixture
def ilsvrc(wordnet) -> list[int]:
    if not ILSVRC.is_file():
        pytest.skip(f"{ILSVRC} is not there")
    return [wordnet.index(line) for line in ILSVRC.read_text().split()]


def test_the_sets_of_a_drake(wordnet, ilsvrc):
    drake = wordnet.index("n01847000")

    sets = correct_sets(wordnet, ilsvrc, [drake])

    assert sets.sizes().tolist() == [[1, 2, 11, 11, 28]]
    assert [ilsvrc[i] for i in sets.members_at(0, 1)] == [drake]


def test_a_sample_of_the_1000_classes_equals_the_loop_over_the_whole_graph(wordnet, ilsvrc):
    chosen = np.random.default_rng(0).choice(len(ilsvrc), 12, False).tolist()

    sets = correct_sets(wordnet, ilsvrc)

    for number in chosen:
        for k in KS:
            members = {ilsvrc[i] for i in sets.members_at(number, k)}
            assert members == plain_set(wordnet, ilsvrc[number], set(ilsvrc), k), (number, k)


@pytest.mark.parametrize("seed", range(3))
def test_sets_equal_the_loop_for_any_valid_and_true_labels(wordnet, seed):
    valid = labels(wordnet, 60, seed)
    true = [*valid[:8], *labels(wordnet, 6, seed + 10)]

    sets = correct_sets(wordnet, valid, true, (1, 3, 7))

    for number, label in enumerate(true):
        for k in (1, 3, 7):
            members = sets.members_at(number, k).tolist()
            assert len(set(members)) == len(members)
            assert {valid[i] for i in members} == plain_set(wordnet, label, set(valid), k)
    sizes = [[len(sets.members_at(t, k)) for k in (1, 3, 7)] for t in range(len(true))]
    assert sets.sizes().tolist() == sizes


def test_many_more_labels_in_a_ring_than_asked_for_are_all_taken(wordnet):
    wide = max(range(len(wordnet)), key=lambda i: len(wordnet.hyponyms(i)))
    valid = [wide, *wordnet.hyponyms(wide)]

    sets = correct_sets(wordnet, valid, [wide], (2,))

    assert sets.sizes().tolist() == [[len(valid)]]
    assert len(valid) > 200


def test_a_set_holds_what_can_be_reached_where_that_is_too_little(wordnet):
    paris = next(i for i in range(len(wordnet)) if wordnet.depth[i] < 0)
    dog = wordnet.find("dog.n.01")

    sets = correct_sets(wordnet, [dog, paris])

    assert sets.sizes().tolist() == [[1] * 5, [1] * 5]


def test_hits_in_sets_equal_a_plain_loop(wordnet):
    valid = labels(wordnet, 80, 5)
    true = valid[3:23]
    sets = correct_sets(wordnet, valid, true)
    rng = np.random.default_rng(6)
    truth = rng.integers(0, len(true), 70)
    for width in (0, 1, 4, 20, 30):
        predicted = np.stack([rng.permutation(len(valid))[:width] for _ in range(70)])
        predicted[rng.random(predicted.shape) < 0.1] = -1
        expected = [
            [
                sum(
                    p in set(sets.members_at(t, k).tolist()) for p in image_predictions[:k].tolist()
                )
                for k in KS
            ]
            for t, image_predictions in zip(truth.tolist(), predicted, strict=True)
        ]

        assert hits_in_sets(sets, truth, predicted).tolist() == expected
        if width == 20:
            assert 0 < np.array(expected).mean() < 20


def test_the_set_in_its_own_order_is_a_perfect_answer(wordnet):
    valid = labels(wordnet, 60, 7)
    sets = correct_sets(wordnet, valid)
    best = np.stack([sets.members_at(t, 20)[:20] for t in range(len(valid))])

    hits = hits_in_sets(sets, np.arange(len(valid)), best)

    assert (hits == np.array(KS)).all()


def test_hits_beside_them_ask_for_the_label_itself():
    truth = np.array([7, 7, 7])
    predicted = np.array([[7, 0, 1], [0, 1, 7], [0, 1, 2]])

    assert hits_at(truth, predicted, (1, 2, 3)).tolist() == [
        [True, True, True],
        [False, False, True],
        [False, False, False],
    ]


def test_mean_sizes_are_over_images_or_labels(wordnet, ilsvrc):
    sets = correct_sets(wordnet, ilsvrc[:50])
    sizes = sets.sizes()

    assert mean_sizes(sets) == dict(zip(KS, sizes.mean(axis=0).tolist(), strict=True))
    assert mean_sizes(sets, np.array([3, 3, 4]))[5] == pytest.approx(
        (2 * sizes[3, 2] + sizes[4, 2]) / 3
    )
    assert np.isnan(mean_sizes(correct_sets(wordnet, ilsvrc[:3], []))[2])


@pytest.mark.parametrize("hops", [0, 1, 2, 3])
def test_labels_within_hops_are_those_a_walk_reaches(wordnet, hops):
    seeds = labels(wordnet, 5, 8)
    reached = set(seeds)
    for _ in range(hops):
        reached |= near(wordnet, reached)

    assert labels_within(wordnet, seeds, hops) == sorted(reached)


def test_what_makes_no_sense_is_refused(wordnet):
    for ks in ((), (2, 1), (0, 1), (1, 1)):
        with pytest.raises(ValueError, match="ascending"):
            correct_sets(wordnet, [5], None, ks)
    with pytest.raises(ValueError, match="repeated"):
        correct_sets(wordnet, [5, 5])
