"""Ranks from answers: worked on paper, against plain loops, and at the edges."""

import itertools
import random
from dataclasses import replace

import numpy as np
import pytest

from evaluation.metrics.mad.bootstrap import joint_counts
from evaluation.metrics.mad.ranking import (
    MissingAnswers,
    RankingError,
    SelectedImage,
    against_accuracy,
    dominance,
    hodge,
    images_in_place,
    perron,
    rank,
)
from evaluation.metrics.mad.results import DifferentImages, PairCounts


def line(pair: str, rank: int, image: str | None = None) -> SelectedImage:
    a, b = pair
    return SelectedImage((a, b), rank, image or f"{a}{b}{rank}", (f"label of {a}", f"label of {b}"))


def answers_for(lines, outcome) -> dict:
    """outcome(line) → two answers."""
    return {
        q: value
        for selected in lines
        for q, value in zip(selected.questions, outcome(selected), strict=True)
    }


def competition(names="abc", top_k=6, reserve=0, seed=0):
    rng = random.Random(seed)
    lines = [
        line(x + y, r)
        for x, y in itertools.combinations(names, 2)
        for r in range(1, top_k + reserve + 1)
    ]
    strength = {name: 0.9 - 0.12 * i for i, name in enumerate(names)}
    answers = answers_for(
        lines, lambda selected: [rng.random() < strength[n] for n in selected.pair]
    )
    return lines, answers


def test_two_classifiers_worked_on_paper():
    lines = [line("ab", r) for r in (1, 2, 3, 4)]
    right = {1: (True, True), 2: (True, False), 3: (True, False), 4: (False, False)}

    result = rank(
        lines, answers_for(lines, lambda selected: right[selected.rank]), "ab", 4, bootstrap=200
    )

    # (3 + 1) / (4 + 2) and (1 + 1) / (4 + 2): twice as good, so scores 2/3 and 1/3.
    np.testing.assert_allclose(result.accuracy, [[1, 4 / 6], [2 / 6, 1]])
    np.testing.assert_allclose(result.dominance, [[1, 2], [0.5, 1]])
    np.testing.assert_allclose(result.scores, [2 / 3, 1 / 3])
    assert result.ranks == [1, 2]
    assert result.cases == {"I": 1, "II": 2, "III": 1}
    np.testing.assert_allclose(result.hodge.scores, [np.log(2) / 2, -np.log(2) / 2])
    assert result.hodge.cyclicity == pytest.approx(0)
    assert result.pairs == [PairCounts(pair=["a", "b"], images=4, dropped=0, pending=0)]
    assert result.smoothing == "laplace"


def test_few_images_that_all_say_the_same_are_not_sure_of_an_order():
    def ranked(names, count, outcome=lambda selected: (True, False)):
        pairs = itertools.combinations(names, 2)
        lines = [line(a + b, r) for a, b in pairs for r in range(1, count + 1)]
        return rank(lines, answers_for(lines, outcome), names, count)

    few, many = ranked("ab", 4), ranked("ab", 30)

    # Drawn again, four images that one has right always say the same.
    assert few.rank_intervals == [[1, 1], [2, 2]]
    assert few.sure.bands == [["a", "b"]]
    assert few.sure.places == [[1, 2], [1, 2]]
    assert few.rank_intervals_wide == [[1, 2], [1, 2]]
    assert few.sure.words == "No order is confirmed at 95 %."
    assert many.sure.bands == [["a"], ["b"]]
    assert (few.images, many.images) == ([4, 4], [30, 30])
    # As often right as the other: no order, however many.
    level = ranked("abc", 40, lambda selected: (selected.rank % 2 == 0, selected.rank % 2 == 1))
    assert level.sure.bands == [["a", "b", "c"]]
    assert level.sure.places == [[1, 3]] * 3


def test_images_of_several_pairs_are_counted_apart():
    lines = [line(pair, r, f"image {r}") for pair in ("ab", "ac", "bc") for r in (1, 2, 3, 4)]
    answers = answers_for(lines, lambda selected: (True, False))
    for selected in lines:
        if selected.rank == 4:
            for question in selected.questions:
                answers.pop(question, None)

    result = rank(lines, answers, "abc", 4, bootstrap=50, missing="exclude")

    assert result.different_images == DifferentImages(ranked=3, pending=1)
    assert result.counted_images() == [
        "9 images ranked, 3 of them different (an image counts in each of its pairs)",
        "3 images left out until answered, 1 of them different (an image counts in each of its "
        "pairs)",
    ]


def test_in_a_result_without_a_sure_order_only_many_images_tell_apart():
    lines, answers = competition()
    result = replace(
        rank(lines, answers, "abc", 6, bootstrap=0),
        sure=None,
        ranks=[1, 2, 3],
        beats=[[0.5, 0.99, 1], [0.01, 0.5, 1], [0, 0, 0.5]],
        pairs=[
            PairCounts(pair=list(pair), images=n) for pair, n in (("ab", 30), ("ac", 30), ("bc", 5))
        ],
    )

    assert result.sure_order().apart == (("a", "b"), ("a", "c"))


def test_without_smoothing_accuracy_is_the_share_right():
    lines = [line("ab", r) for r in (1, 2, 3, 4)]
    answers = answers_for(lines, lambda selected: (selected.rank < 4, selected.rank < 2))

    result = rank(lines, answers, "ab", 4, smoothing="none", bootstrap=0)

    assert result.accuracy == [[1, 0.75], [0.25, 1]]
    np.testing.assert_allclose(result.scores, [0.75, 0.25])


@pytest.mark.parametrize("count", [2, 3, 11])
def test_scores_of_consistent_dominance_are_the_weights(count):
    weights = np.random.default_rng(count).random(count) + 0.01

    scores = perron(weights[:, None] / weights)

    np.testing.assert_allclose(scores, weights / weights.sum(), rtol=1e-12)


def test_scores_are_the_limit_of_the_papers_mean():
    rng = np.random.default_rng(4)
    b = np.exp(np.triu(rng.normal(size=(6, 6)), 1))
    b = b / b.T
    vector, total, rounds = np.ones(6), np.zeros(6), 20000

    for _ in range(rounds):
        vector = b @ vector
        vector /= vector.sum()
        total += vector

    np.testing.assert_allclose(perron(b), total / rounds, atol=1e-4)


def test_a_pair_that_was_never_compared_does_not_change_consistent_scores():
    weights = np.array([0.5, 0.3, 0.15, 0.05])
    b = weights[:, None] / weights
    b[0, 3] = b[3, 0] = np.nan

    np.testing.assert_allclose(perron(b), weights, rtol=1e-12)


def test_a_batch_scores_as_its_matrices_do():
    b = np.exp(np.random.default_rng(0).normal(size=(5, 4, 4)))
    b = b / b.swapaxes(1, 2)

    np.testing.assert_allclose(perron(b)[3], perron(b[3]))


def test_hodge_of_a_pure_cycle_is_all_cyclic_and_ties_everyone():
    a = np.array([[1, 0.8, 0.4], [0.4, 1, 0.8], [0.8, 0.4, 1]])
    images = np.full((3, 3), 10) - 10 * np.eye(3, dtype=int)

    result = hodge(a, images)

    assert result.cyclicity == pytest.approx(1)
    assert result.ranks == [2, 2, 2]


def test_hodge_is_weighted_by_images():
    rng = np.random.default_rng(8)
    a = rng.uniform(0.2, 0.9, (5, 5))
    images = np.triu(rng.integers(1, 30, (5, 5)), 1)
    images = images + images.T

    scores = np.array(hodge(a, images).scores)

    # At a weighted least square the weighted residuals of each node sum to 0.
    residual = images * (np.log(a / a.T) - (scores[:, None] - scores))
    np.testing.assert_allclose(residual.sum(axis=1), 0, atol=1e-9)
    assert scores.sum() == pytest.approx(0)


def test_order_of_lines_and_of_names_in_a_pair_do_not_matter():
    lines, answers = competition()
    turned = [SelectedImage(x.pair[::-1], x.rank, x.image, x.labels[::-1]) for x in lines]
    random.Random(1).shuffle(turned)

    first, second = (rank(x, answers, "abc", 6, bootstrap=64) for x in (lines, turned))

    assert first == second


NULL, RIGHT = (None, True), (True, True)


@pytest.mark.parametrize(
    ("count", "outcomes", "images", "dropped", "pending", "reserve"),
    [
        # A dropped image is replaced by the next reserve.
        (5, [RIGHT, NULL, RIGHT, RIGHT, RIGHT], [1, 3, 4], [2], [], 5),
        # So is a reserve that is dropped in its turn.
        (5, [NULL, RIGHT, RIGHT, NULL, RIGHT], [2, 3, 5], [1, 4], [], None),
        # An image that waits keeps its place.
        (5, [RIGHT, NULL], [1, 3, 4], [2], [3, 4], 5),
        # A short pair takes a reserve for a dropped image alone.
        (2, [RIGHT, NULL], [1], [2], [], None),
    ],
)
def test_images_in_place_wait_or_are_dropped(count, outcomes, images, dropped, pending, reserve):
    lines = [line("ab", r) for r in range(1, count + 1)]
    answers = answers_for(lines[: len(outcomes)], lambda selected: outcomes[selected.rank - 1])

    (pair_images,) = images_in_place(lines, answers, top_k=3)

    assert [selected.rank for selected in pair_images.images] == images
    assert [selected.rank for selected in pair_images.dropped] == dropped
    assert [selected.rank for selected in pair_images.pending] == pending
    assert (pair_images.reserve and pair_images.reserve.rank) == reserve


def test_no_reserve_fills_a_gap_in_the_ranks():
    (pair_images,) = images_in_place([line("ab", r) for r in (1, 3, 4, 6)], {}, top_k=3)

    assert [selected.rank for selected in pair_images.images] == [1, 3]
    assert pair_images.reserve == line("ab", 4)


def test_null_takes_the_image_out_of_every_pair_that_asks_the_question():
    shared = [
        SelectedImage(("a", "b"), 1, "x", ("dog", "cat")),
        SelectedImage(("a", "c"), 1, "x", ("dog", "owl")),
        SelectedImage(("b", "c"), 1, "x", ("cat", "owl")),
    ]
    answers = {("x", "dog"): None, ("x", "cat"): True, ("x", "owl"): False}

    first, second, third = images_in_place(shared, answers, top_k=1)

    assert (first.images, second.images, third.images) == ([], [], [shared[2]])


def test_missing_answers_are_listed_and_a_reserve_asks_only_when_it_is_in_place():
    lines, answers = competition(top_k=3, reserve=2)
    for gone in (("ab1", "label of a"), ("ab4", "label of b"), ("ac4", "label of c")):
        del answers[gone]
    answers["ac1", "label of a"] = None

    with pytest.raises(MissingAnswers) as refusal:
        rank(lines, answers, "abc", 3, bootstrap=0)

    assert refusal.value.questions == [("ab1", "label of a"), ("ac4", "label of c")]
    assert refusal.value.cure.startswith("freeze again once people answered them")
    assert str(refusal.value) == ("questions without an answer: 2 (ab1 label of a, ac4 label of c)")


def test_of_many_missing_answers_the_message_names_ten():
    missing = MissingAnswers([(f"image{n}", "label") for n in range(12)])

    assert len(missing.questions) == 12
    assert str(missing).endswith("image9 label, and 2 more)")


def test_pending_images_can_be_left_out_and_are_counted():
    lines, answers = competition(top_k=3)
    del answers["ab1", "label of a"]

    result = rank(lines, answers, "abc", 3, bootstrap=20, missing="exclude")

    assert result.pending == 1
    assert result.pairs[0] == PairCounts(pair=["a", "b"], images=2, dropped=0, pending=1)
    assert result.pairs[1].images == 3


def test_comparisons_that_fall_apart_are_refused_by_parts():
    lines = [line("ab", 1), line("cd", 1)]

    with pytest.raises(RankingError, match=r"the groups \(a, b\) and \(c, d\)$"):
        rank(lines, answers_for(lines, lambda selected: (True, True)), "abcd", 1)


def test_a_chain_of_pairs_is_enough():
    lines = [line("ab", 1), line("bc", 1)]
    answers = answers_for(lines, lambda selected: (True, False))

    result = rank(lines, answers, "abc", 1, bootstrap=10)

    assert result.ranks == [1, 2, 3]
    assert np.isnan(result.accuracy[0][2])


def test_zero_accuracy_without_smoothing_is_refused_by_name():
    lines = [line("ab", 1)]

    with pytest.raises(RankingError, match="never right: b against a"):
        rank(lines, answers_for(lines, lambda selected: (True, False)), "ab", 1, smoothing="none")


def test_rounds_without_a_ranking_are_left_out_and_counted():
    lines = [line("ab", r) for r in (1, 2)]
    answers = answers_for(lines, lambda selected: (True, selected.rank == 1))

    result = rank(lines, answers, "ab", 2, smoothing="none", bootstrap=400)

    assert 50 < result.bootstrap.left_out < 150  # (1/2)² of 400 are 100


def test_equal_classifiers_tie_and_beat_each_other_half_the_time():
    lines = [line("ab", r) for r in (1, 2)]

    result = rank(lines, answers_for(lines, lambda selected: (True, True)), "ab", 2, bootstrap=50)

    assert result.ranks == [1.5, 1.5]
    assert result.beats == [[0.5, 0.5], [0.5, 0.5]]
    assert result.rank_intervals == [[1.5, 1.5], [1.5, 1.5]]


def test_intervals_hold_the_rank_of_a_clear_winner_and_beats_add_to_one():
    lines, answers = competition("abcde", top_k=20)

    result = rank(lines, answers, "abcde", 20, bootstrap=300, seed=1)

    beats = np.array(result.beats)
    np.testing.assert_allclose(beats + beats.T, 1)
    assert all(low <= high for low, high in result.rank_intervals)
    bounds = zip(result.rank_intervals, result.sure.places, result.rank_intervals_wide, strict=True)
    for drawn, sure, wide in bounds:
        assert wide == [min(drawn[0], sure[0]), max(drawn[1], sure[1])]
    without = rank(lines, answers, "abcde", 20, bootstrap=0)
    assert without.rank_intervals_wide == without.sure.places
    assert result.rank_intervals[0][0] == 1
    assert result == rank(lines, answers, "abcde", 20, bootstrap=300, seed=1)
    assert result.beats != rank(lines, answers, "abcde", 20, bootstrap=300, seed=2).beats


def drawn_counts(images, right, rounds, seed=0):
    arrays = [np.array(pair_images, np.int64) for pair_images in images]
    outcomes = [np.array(pair_right, bool) for pair_right in right]
    draws = joint_counts(outcomes, arrays, rounds, np.random.default_rng(seed))
    return np.concatenate(list(draws))


def test_equal_pairs_draw_the_same_images_and_disjoint_pairs_independently():
    right = [[1, 0], [0, 1], [0, 0]]

    counts = drawn_counts([[3, 0, 7], [3, 0, 7], [1, 2, 4]], [right, right, right], 6000)

    assert counts.shape == (6000, 3, 2)
    assert (counts[:, 0] == counts[:, 1]).all()
    assert counts.mean(axis=0) == pytest.approx(1, abs=0.04)
    assert abs(np.corrcoef(counts[:, 0, 0], counts[:, 2, 0])[0, 1]) < 0.04


@pytest.mark.parametrize("shared", [0, 1, 4, 9, 10])
def test_counts_of_a_pair_vary_as_the_plain_bootstrap_does(shared):
    images = list(range(10))
    # The second pair has the first images too, and otherwise its own.
    second = [i if i < shared else i + 100 for i in images]
    right = [[i < 4, i % 2] for i in images]

    counts = drawn_counts([images, second], [right, right], 8000, seed=3)

    plain = np.array(right)[np.random.default_rng(4).integers(10, size=(8000, 10))].sum(axis=1)
    for pair in (0, 1):
        assert counts[:, pair].mean(axis=0) == pytest.approx(plain.mean(axis=0), rel=0.02)
        assert np.cov(counts[:, pair].T) == pytest.approx(np.cov(plain.T), abs=0.15)
        for number in range(11):
            assert (counts[:, pair, 0] == number).mean() == pytest.approx(
                (plain[:, 0] == number).mean(), abs=0.02
            )


def test_an_image_of_two_pairs_is_drawn_as_often_in_both():
    right = [[1, 1], *[[0, 0]] * 9]

    counts = drawn_counts([range(10), [0, *range(20, 29)]], [right, right], 4000)

    assert (counts[:, 0] == counts[:, 1]).all()


def test_images_that_all_agree_have_one_count():
    images = [range(5), [], range(3, 8)]
    right = [[[1, 0]] * 5, np.zeros((0, 2)), [[0, 1]] * 5]

    counts = drawn_counts(images, right, 50)

    assert counts[:, [0, 2]].tolist() == [[[5, 0], [0, 5]]] * 50
    assert counts[:, 1].tolist() == [[0, 0]] * 50


def test_counts_do_not_depend_on_the_size_of_a_batch(monkeypatch):
    images = [range(5), [], range(3, 8)]
    right = [
        [[1, 0], [0, 1], [1, 1], [0, 0], [1, 0]],
        np.zeros((0, 2)),
        [[0, 1], [1, 0]] * 2 + [[1, 1]],
    ]

    counts = drawn_counts(images, right, 50)
    monkeypatch.setattr("evaluation.metrics.mad.bootstrap._BATCH_NUMBERS", 1)

    assert len(np.unique(counts, axis=0)) > 10
    assert drawn_counts(images, right, 50).tolist() == counts.tolist()


def test_many_matrices_have_the_principal_eigenvectors_of_each():
    random = np.random.default_rng(0)
    a = random.uniform(0.02, 1, (40, 6, 6))
    ratios = dominance(a)
    ratios[:, np.arange(6), np.arange(6)] = 1
    # Two classifiers that only a chain of comparisons joins: steps converge slowly.
    ratios[3, :, :] = np.nan
    for i in range(5):
        ratios[3, i, i + 1], ratios[3, i + 1, i] = 1e3, 1e-3

    scores = perron(ratios)

    for matrix, vector in zip(ratios, scores, strict=True):
        np.testing.assert_allclose(vector, perron(matrix), rtol=1e-9, atol=1e-12)


def test_table_1_moves_up_and_down_as_printed():
    accuracy = [85.44, 84.48, 82.74, 82.51, 81.30, 78.85, 78.40, 78.19, 77.37, 73.36, 73.31]

    result = against_accuracy([2, 1, 7, 4, 3, 6, 5, 8, 10, 9, 11], accuracy)

    assert result.rank_changes == [-1, 1, -4, 0, 2, 0, 2, 0, -1, 1, 0]
    assert round(result.spearman, 4) == 0.8727
    assert round(result.kendall, 4) == 0.7091


def test_ablation_ends_at_one_and_each_k_ranks_the_first_k_images():
    lines, answers = competition("abcd", top_k=5)

    result = rank(lines, answers, "abcd", 5, bootstrap=0, ablation=True)

    assert [row.k for row in result.ablation] == [1, 2, 3, 4, 5]
    assert result.ablation[-1].spearman == pytest.approx(1)
    fewer = rank([x for x in lines if x.rank <= 2], answers, "abcd", 2, bootstrap=0)
    expected = np.corrcoef(fewer.ranks, result.ranks)[0, 1]
    assert result.ablation[1].spearman == pytest.approx(expected)
