"""Intervals over the trials of a study, and Kendall's τ."""

import numpy as np
import pytest
from scipy.stats import kendalltau

from evaluation.wsol_study.report.content import ROUNDS, StudyContent, bounds
from tests.evaluation.wsol_study.report import made_study
from tests.evaluation.wsol_study.report.made_study import trial


def content_of(folder, trials, finals, **changes) -> StudyContent:
    return StudyContent(made_study.write(folder, trials, finals, **changes))


def test_tau_equals_that_of_scipy_without_the_trials_that_did_not_converge(tmp_path):
    rng = np.random.default_rng(3)
    pairs = rng.integers(0, 8, (12, 2)) / 10
    trials = [trial("cam", at, *map(float, pair)) for at, pair in enumerate(pairs)]
    trials.append(trial("cam", 12, 0.9, 0.1, converged=False))

    values = content_of(tmp_path, trials, []).tau("cam", "small")

    assert values[0] == pytest.approx(kendalltau(*pairs.T).statistic)
    low, high = bounds(values)
    assert -1 <= low < values[0] < high <= 1


def test_each_round_reports_the_trial_that_is_best_on_fullsup(tmp_path):
    trials = [trial("cam", 0, 0.2, 0.3), trial("cam", 1, 0.4, 0.1), trial("cam", 2, None, None)]

    values = content_of(tmp_path, trials, [trials[1]]).score("cam", "small")

    assert values[0] == 0.1
    rounds = values[1:]
    assert len(rounds) == ROUNDS
    assert set(rounds[np.isfinite(rounds)]) == {0.1, 0.3}
    # Trial 1 is drawn in 1 − (2/3)³ of the rounds, and trial 0 alone or with 2 in (2/3)³ − (1/3)³.
    assert np.mean(rounds == 0.1) == pytest.approx(19 / 27, abs=0.05)
    assert np.mean(rounds == 0.3) == pytest.approx(7 / 27, abs=0.05)
    assert bounds(values) == (0.1, 0.3)


def test_a_model_that_was_trained_again_has_no_interval(tmp_path):
    trials = [trial("cam", 0, 0.2, 0.3), trial("cam", 1, 0.4, 0.1)]
    again = trial("cam", 1, 0.4, 0.5)

    values = content_of(tmp_path, trials, [again]).score("cam", "small")

    assert values[0] == 0.5
    assert bounds(values) == (None, None)


def test_rounds_are_the_same_each_time_and_differ_between_methods(tmp_path):
    numbers = [(0.1, 0.5), (0.2, 0.6), (0.3, 0.4), (0.4, 0.7)]
    trials = [trial(m, at, *pair) for m in ("cam", "has") for at, pair in enumerate(numbers)]
    content = content_of(tmp_path, trials, [trials[3], trials[7]])

    cam, has = content.score("cam", "small"), content.score("has", "small")

    np.testing.assert_array_equal(cam, content.score("cam", "small"))
    assert cam[0] == has[0]
    assert (cam != has).any()
