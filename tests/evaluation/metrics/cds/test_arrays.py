"""Averages against plain loops, and rounds of the bootstrap against resamples drawn one by one."""

from dataclasses import replace

import numpy as np
import pytest

from evaluation.metrics.cds import arrays as cs
from evaluation.metrics.cds.statistics import interval, resampled, statistics
from tests.evaluation.metrics.cds import world

LOOPS = {"text": world.loop_text, "script": world.loop_script}


@pytest.mark.parametrize("averaging", cs.AVERAGINGS)
@pytest.mark.parametrize("with_gaps", [False, True])
def test_averages_equal_a_plain_loop(averaging, with_gaps):
    scores = world.gaps(world.scores()) if with_gaps else world.scores()
    loop = LOOPS[averaging]

    result = statistics(scores, cs.once(scores))

    for measure, values in scores.measures.items():
        for c in range(len(scores.classifiers)):
            for k in range(len(scores.content_schemes)):
                actual = result[measure, "content", averaging][0, k, c]
                assert actual == pytest.approx(loop(scores, values, c, k=k), nan_ok=True)
            for p in range(len(scores.part_schemes)):
                actual = result[measure, "part", averaging][0, p, c]
                assert actual == pytest.approx(loop(scores, values, c, p=p), nan_ok=True)


def drawn_again(scores: cs.ScoreArrays, times: np.ndarray) -> cs.ScoreArrays:
    """The resample itself: each object as often as it was drawn."""
    places = np.repeat(np.arange(len(times)), times)
    fields = ("cds", "b_cds", "frames", "wrong", "last_wrong", "category", "cluster")
    return replace(
        scores,
        images=tuple(scores.images[i] for i in places),
        objects=tuple(scores.objects[i] for i in places),
        **{name: getattr(scores, name)[places] for name in fields},
    )


@pytest.mark.parametrize("with_gaps", [False, True])
def test_every_round_equals_the_plain_statistics_of_its_resample(with_gaps):
    scores = world.gaps(world.scores(3)) if with_gaps else world.scores(3)
    weights = next(cs.draws(scores, 8, seed=1))

    rounds = statistics(scores, weights)

    for number, times in enumerate(weights):
        again = drawn_again(scores, times)
        plain = statistics(again, cs.once(again))
        for key, values in rounds.items():
            assert values[number] == pytest.approx(plain[key][0], nan_ok=True), key


def test_weighted_medians_of_columns_in_which_nothing_is_known_or_drawn_are_nan():
    values = np.array([[1.0, np.nan, 4.0], [3.0, np.nan, np.nan]])

    medians = cs.weighted_medians(values, np.arange(2), np.array([[1, 1], [0, 1]], np.int32))

    assert medians == pytest.approx(np.array([[2, np.nan, 4], [3, np.nan, np.nan]]), nan_ok=True)


def test_images_are_drawn_within_their_category_with_all_their_objects():
    scores = world.scores()

    weights = next(cs.draws(scores, 300, seed=0))

    for members in scores.members():
        images = scores.cluster[members]
        assert (weights[:, members][:, images == 0].T == weights[:, members][:, :1].T).all()
        first_of_each = np.unique(images, return_index=True)[1]
        per_image = weights[:, members][:, first_of_each]
        assert (per_image.sum(axis=1) == len(first_of_each)).all()
        assert per_image.mean(axis=0) == pytest.approx(1, abs=0.2)


def test_rounds_are_the_same_again_and_however_they_are_cut():
    scores = world.scores()

    whole = next(cs.draws(scores, 50, seed=4, batch=50))
    cut = np.concatenate(list(cs.draws(scores, 50, seed=4, batch=7)))
    reseeded = next(cs.draws(scores, 50, seed=5, batch=50))

    assert (whole == cut).all()
    assert (whole != reseeded).any()


def test_a_batch_holds_few_rounds_where_there_is_much(monkeypatch):
    scores = world.scores()
    monkeypatch.setattr(cs, "_MAX_IN_MEMORY", 1000)
    many = resampled(lambda weights: statistics(scores, weights), scores, 20, 0)
    assert scores.batch() < 20
    monkeypatch.undo()

    single_batch = resampled(lambda weights: statistics(scores, weights), scores, 20, 0)

    for key, values in single_batch.items():
        assert many[key] == pytest.approx(values, nan_ok=True), key


def test_no_rounds_give_no_resamples():
    scores = world.scores()

    assert resampled(lambda weights: statistics(scores, weights), scores, 0, 0) is None


def test_an_interval_leaves_nan_out_and_is_nan_over_nothing():
    samples = np.array([[0.0, np.nan, np.nan], [10.0, 5.0, np.nan]])

    low, high = interval(samples, 0.5)

    assert low.tolist() == pytest.approx([2.5, 5, np.nan], nan_ok=True)
    assert high.tolist() == pytest.approx([7.5, 5, np.nan], nan_ok=True)
