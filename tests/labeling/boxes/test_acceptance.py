"""Proposals are shown of classes whose proposals are accepted often enough."""

import numpy as np
import pytest

from labeling.boxes.acceptance import Acceptance

CLASSES, EACH = 20, 100
LEAST = 0.3


def shown_counts(chances: list[float]) -> np.ndarray:
    """How many proposals of each class were shown, where so large a share of them is good."""
    rng = np.random.default_rng(0)
    topics = list(range(CLASSES)) * EACH
    acceptance = Acceptance(topics, CLASSES, LEAST)
    for topic in topics:
        if acceptance.should_show_next(topic):
            acceptance.learn(topic, bool(rng.random() < chances[topic]))
    return acceptance.shown


def test_good_classes_are_shown_and_bad_ones_hardly():
    counts = shown_counts([0.8 if topic % 2 else 0.05 for topic in range(CLASSES)])

    assert counts[1::2].min() == EACH
    assert counts[::2].max() <= EACH / 5


@pytest.mark.parametrize(("chance", "least", "most"), [(0.0, 20, 60), (1.0, 2_000, 2_000)])
def test_where_all_are_alike_little_is_lost(chance, least, most):
    assert least <= shown_counts([chance] * CLASSES).sum() <= most
