"""Which pairs a review of mistakes asks about."""

import itertools
from dataclasses import replace

import numpy as np

from evaluation.scoring.mistakes import queueing
from evaluation.scoring.mistakes.queueing import ReviewPool

IMAGES = [f"{number}.jpg" for number in range(40)]
DUCK, DOG, CUP, BUS = range(4)


def pool(**first: list[int]) -> ReviewPool:
    """Forty images of a duck; images beyond those that are given are said to show a duck."""
    predictions = {
        name: np.array([*labels, *[DUCK] * (40 - len(labels))]) for name, labels in first.items()
    }
    was_asked = {name: np.ones(40, bool) for name in predictions}
    return ReviewPool(IMAGES, [frozenset((DUCK,))] * 40, predictions, was_asked)


def queued(pool: ReviewPool, *models: str, share: float = 0.1, seed: int = 0) -> list:
    strata = queueing.split(pool, models, share, seed)
    return queueing.queue(pool, models, strata, seed, str)


def test_every_disagreement_with_any_model_and_a_tenth_of_agreements():
    images_pool = pool(A=[DOG, DUCK, -1], B=[DUCK, CUP, DUCK])

    strata = queueing.split(images_pool, ["A", "B"], 0.1, 0)

    # No prediction is a disagreement.
    assert strata.disagreements.tolist() == [0, 1, 2]
    assert len(strata.agreements) == 37
    assert len(strata.sampled) == 4
    assert set(strata.sampled.tolist()) < set(range(3, 40))
    assert strata.reviewed.tolist() == sorted([0, 1, 2, *strata.sampled.tolist()])


def test_a_model_that_is_not_chosen_sends_nothing():
    images_pool = pool(A=[DOG], B=[DUCK, CUP])

    strata = queueing.split(images_pool, ["A"], 0.1, 0)

    assert strata.disagreements.tolist() == [0]
    assert ("1.jpg", CUP) not in queued(images_pool, "A", share=1)


def test_reviewers_are_asked_about_the_labels_and_what_models_say():
    pairs = queued(pool(A=[DOG, -1], B=[CUP, CUP]), "A", "B")

    synsets_of = {image: {synset for name, synset in pairs if name == image} for image, _ in pairs}
    assert synsets_of.pop("0.jpg") == {DUCK, DOG, CUP}
    assert synsets_of.pop("1.jpg") == {DUCK, CUP}
    assert set(map(frozenset, synsets_of.values())) == {frozenset((DUCK,))}
    assert len(pairs) == len(set(pairs))


def test_the_sample_is_by_hash_of_the_image_and_no_other_thing():
    turned = replace(pool(A=[]), images=IMAGES[::-1])
    names = {turned.images[number] for number in queueing.split(turned, ["A"], 0.2, 0).sampled}
    straight = queueing.split(pool(A=[], B=[]), ["B"], 0.2, 0)
    more = queueing.split(pool(A=[]), ["A"], 0.4, 0)

    assert names == {IMAGES[number] for number in straight.sampled}
    assert set(straight.sampled) < set(more.sampled)
    assert set(queueing.split(pool(A=[]), ["A"], 0.2, 1).sampled) != set(straight.sampled)


def test_the_sample_is_rounded_up():
    for share, size in [(0.1, 4), (0.101, 5), (0.001, 1), (0.3, 12)]:
        assert len(queueing.split(pool(A=[]), ["A"], share, 0).sampled) == size, share


def test_the_order_tells_nothing_of_who_said_what():
    """Pairs of labels and of models are mixed, and those of one image stand apart."""
    pairs = queued(pool(A=[DOG] * 40), "A")

    labels = [synset == DUCK for _, synset in pairs]
    turns = sum(a != b for a, b in itertools.pairwise(labels))
    together = sum(a[0] == b[0] for a, b in itertools.pairwise(pairs))
    assert 25 < turns < 55
    assert together < 8
    assert pairs != queued(pool(A=[DOG] * 40), "A", seed=1)


def test_images_without_a_label_set_or_that_nobody_was_asked_about_are_left_out():
    images_pool = pool(A=[DOG, DOG, DOG])
    images_pool.sets[1] = frozenset()
    images_pool.was_asked["A"][2] = False

    strata = queueing.split(images_pool, ["A"], 0.1, 0)

    assert strata.disagreements.tolist() == [0]
    assert queueing.counts(images_pool, strata) == {
        "images": 40,
        "left_out": 2,
        "disagreements": 1,
        "agreements": 37,
        "sampled": 4,
    }
