"""Submissions against each other and the best of all, against counting by hand and Table 9."""

import numpy as np
import pytest
from scipy import stats

from evaluation.scoring.comparing import best_by_class, classes_won, compare
from labeling.estimators.intervals import clopper_pearson


def table_9() -> dict[str, np.ndarray]:
    """GoogLeNet and annotator A1: 1352 both right, 72 and 46 one right, 30 both wrong."""
    google = np.repeat([False, True, False, True], [1352, 72, 46, 30])
    person = np.repeat([False, False, True, True], [1352, 72, 46, 30])
    return {"GoogLeNet": google, "A1": person}


def test_table_9():
    compared = compare(table_9(), ["n1"] * 1500)

    [pair] = compared.pairs
    assert (pair.first, pair.second) == ("GoogLeNet", "A1")
    assert pair.errors == [102, 76]
    assert (pair.only_first_wrong, pair.only_second_wrong, pair.both_wrong) == (72, 46, 30)
    assert pair.p_one_sided == pytest.approx(0.0222, abs=0.0001)
    assert pair.p_two_sided == pytest.approx(0.0445, abs=0.0001)
    assert pair.mcnemar_p == pytest.approx(stats.binomtest(46, 118).pvalue)
    assert pair.difference.value == pytest.approx(26 / 1500)
    low, high = pair.difference.interval
    assert low < 26 / 1500 < high
    assert compared.optimistic.by_image.error.value == 30 / 1500
    assert compared.optimistic.by_class.error == pytest.approx(76 / 1500)


def test_the_cross_table_of_table_9():
    [pair] = compare(table_9(), ["n1"] * 1500).pairs

    assert (pair.both_right, pair.both_wrong) == (1352, 30)
    assert pair.either_right.value == (1352 + 72 + 46) / 1500
    low, high = pair.either_right.interval
    assert low < pair.either_right.value < high
    assert pair.mcnemar_holm_p == pair.mcnemar_p


def test_holm_counts_the_tests_of_people_against_classifiers():
    wrong = table_9() | {"Other": np.arange(1500) % 10 == 0}

    compared = compare(wrong, ["n1"] * 1500, people=["A1"])

    pairs = {(pair.first, pair.second): pair for pair in compared.pairs}
    google, second_pair = pairs["GoogLeNet", "A1"], pairs["A1", "Other"]
    assert compared.holm.to_json() == {"over": "pairs of people and a classifier", "tests": 2}
    assert second_pair.mcnemar_p < google.mcnemar_p
    assert second_pair.mcnemar_holm_p == pytest.approx(2 * second_pair.mcnemar_p)
    assert google.mcnemar_holm_p == google.mcnemar_p
    assert pairs["GoogLeNet", "Other"].mcnemar_holm_p is None


def test_holm_counts_all_pairs_where_nobody_or_everybody_is_people():
    wrong = table_9() | {"Other": np.arange(1500) % 10 == 0}

    for people in ([], [*wrong]):
        compared = compare(wrong, ["n1"] * 1500, people=people)

        assert compared.holm.to_json() == {"over": "all pairs", "tests": 3}
        assert all(pair.mcnemar_holm_p >= pair.mcnemar_p for pair in compared.pairs)


def test_the_order_of_the_two_turns_the_sign_and_no_p():
    wrong = table_9()

    [pair] = compare(wrong, ["n1"] * 1500).pairs
    [reversed_pair] = compare(dict(reversed(wrong.items())), ["n1"] * 1500).pairs

    assert pair.z == pytest.approx(-reversed_pair.z)
    assert pair.p_one_sided == pytest.approx(reversed_pair.p_one_sided)
    assert pair.mcnemar_p == reversed_pair.mcnemar_p
    assert pair.difference.value == -reversed_pair.difference.value


def test_every_pair_of_random_submissions_is_counted():
    rng = np.random.default_rng(0)
    wrong = {name: rng.random(300) < share for name, share in (("A", 0.2), ("B", 0.3), ("C", 0.25))}
    classes = [f"n{i}" for i in rng.integers(0, 9, 300)]

    compared = compare(wrong, classes)

    pairs = {(pair.first, pair.second): pair for pair in compared.pairs}
    assert list(pairs) == [("A", "B"), ("A", "C"), ("B", "C")]
    for (a, b), pair in pairs.items():
        only = sum(x and not y for x, y in zip(wrong[a], wrong[b], strict=True))
        assert pair.only_first_wrong == only
        assert pair.errors == [sum(wrong[a]), sum(wrong[b])]
    least, won = [], dict.fromkeys(wrong, 0)
    for wnid in set(classes):
        members = [i for i, c in enumerate(classes) if c == wnid]
        errors = {name: sum(wrong[name][i] for i in members) / len(members) for name in wrong}
        least.append(min(errors.values()))
        for name in wrong:
            won[name] += errors[name] == min(errors.values()) < 1
    optimistic = compared.optimistic
    assert optimistic.by_class.error == pytest.approx(np.mean(least))
    assert optimistic.by_class.classes_won == won
    every = [all(wrong[name][i] for name in wrong) for i in range(300)]
    assert optimistic.by_image.error.value == pytest.approx(np.mean(every))


def test_equal_submissions_do_not_differ():
    wrong = np.arange(50) < 9

    [pair] = compare({"A": wrong, "B": wrong}, ["n1"] * 50).pairs

    assert (pair.z, pair.mcnemar_p, pair.p_two_sided) == (0, 1, 1)
    # None of 50 told them apart: an exact interval of 0 of 50 on either side.
    low, high = pair.difference.interval
    assert (pair.difference.value, low) == (0, -high)
    assert high == pytest.approx(clopper_pearson(0, 50, 0.999)[1])


def test_what_is_sure_is_what_mcnemars_test_tells_apart():
    few, many = np.arange(400) < 10, np.arange(400) >= 370

    def sure(**wrong):
        return compare(wrong, ["n1"] * 400).sure

    assert sure(A=few, B=few | many).bands == [["A"], ["B"]]
    order = sure(C=many, A=few, B=few | many)
    # A and C err on other images: 10 and 30, McNemar's p is .002, at 99.9 % not enough.
    assert (order.bands, order.level) == ([["A", "C", "B"]], 0.999)
    assert order.apart == [["A", "B"]]
    assert order.words == "Only this is confirmed at 99.9 %: A before B."
    assert sure(A=few, B=few).words.startswith("No order is confirmed")
    assert sure(A=np.zeros(400, bool), B=np.ones(400, bool)).words == (
        "The order is confirmed at 99.9 %: A, then B."
    )
    # Four images that all say the same say nothing.
    four = compare({"A": np.zeros(4, bool), "B": np.ones(4, bool)}, ["n1"] * 4)
    assert four.sure.apart == []
    assert four.pairs[0].difference.interval[1] > 0


def test_the_best_of_classes_that_some_lack():
    values = {"A": {"n1": float("nan"), "n2": 0.0}, "B": {"n1": 0.5}}

    assert best_by_class(values) == {"n1": 0.5, "n2": 0.0}
    assert classes_won(values) == {"A": 0, "B": 1}
    assert np.isnan(best_by_class({"A": {"n1": float("nan")}})["n1"])


def test_other_images_are_a_fault_of_the_caller():
    with pytest.raises(ValueError, match="expected 3"):
        compare({"A": np.zeros(2, bool)}, ["n1"] * 3)
