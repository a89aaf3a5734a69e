"""The posterior ratio of cues on ducks counted by hand, and against a search for a threshold."""

import numpy as np

from evaluation.metrics.wsol.cues import posterior_ratios, posteriors, well_posed

# Patches in other images and in images of ducks: head, feet, water, sky.
DUCKS = np.array([[0, 40], [20, 20], [25, 75], [90, 10]])
OF_DUCKS = np.array([True, True, False, False])


def test_feet_are_less_telling_of_ducks_than_water():
    ratios = posterior_ratios(DUCKS, OF_DUCKS)

    assert np.allclose(ratios, [[1 / 0.75, 10], [0.5 / 0.75, 5]])
    assert not well_posed(DUCKS, OF_DUCKS)


def test_water_without_ducks_makes_it_well_posed():
    more_lakes = DUCKS + np.array([[0, 0], [0, 0], [100, 0], [0, 0]])

    assert np.isclose(posterior_ratios(more_lakes, OF_DUCKS)[1, 0], 0.5 / 0.375)
    assert well_posed(more_lakes, OF_DUCKS)


def test_the_ratio_is_that_of_likelihoods_by_that_of_priors():
    likelihood = DUCKS[:, 1] / DUCKS[:, 1].sum()
    prior = DUCKS.sum(axis=1) / DUCKS.sum()

    by_bayes = (likelihood[1] / likelihood[2]) / (prior[1] / prior[2])

    assert np.isclose(posterior_ratios(DUCKS, OF_DUCKS)[1, 0], by_bayes)


def test_cues_that_never_come_with_the_class_or_at_all():
    counts = np.array([[5, 5], [5, 0], [5, 0], [0, 0]])
    foreground = np.array([True, True, False, False])

    ratios = posterior_ratios(counts, foreground)

    assert ratios[0, 0] == np.inf
    assert np.isnan([ratios[1, 0], ratios[0, 1], ratios[1, 1]]).all()
    assert well_posed(counts, foreground)


def test_well_posed_is_that_some_threshold_parts_the_cues():
    rng = np.random.default_rng(0)
    seen = set()
    for _ in range(200):
        counts = rng.integers(1, 6, (4, 2))
        foreground = np.array([True, False, *(rng.random(2) < 0.5)])
        probabilities = posteriors(counts)
        # At least τ on the object, at most τ beside it, as the lemma has it.
        parted = any(
            (probabilities[foreground] >= tau).all() and (probabilities[~foreground] <= tau).all()
            for tau in probabilities
        )

        assert well_posed(counts, foreground) == parted
        seen.add(parted)

    assert seen == {True, False}
