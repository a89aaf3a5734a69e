"""Dawid–Skene against plain loops, crowd-kit and a real crowd."""

import math
import warnings

import numpy as np
import pytest

from labeling.estimators import dawid_skene, kernels
from labeling.estimators.aggregation import majority, posterior
from labeling.estimators.dawid_skene import FLOOR, MatricesTooLarge, fit
from tests.cases import for_each
from tests.labeling import crowds

EXACT = {"class_prior": 0.0, "confusion_prior": 0.0, "tolerance": -math.inf}


def run(crowd, **options):
    return dawid_skene.dawid_skene(
        crowd.annotators, crowd.items, crowd.labels, **(crowd.sizes | options)
    )


def plain(crowd, iterations, class_prior=0.0, confusion_prior=0.0, known=None):
    """EM as it is printed: posteriors, priors, confusions, log-likelihood, by plain loops."""
    people, items, classes = (
        crowd.sizes[f"n_{name}"] for name in ("annotators", "items", "classes")
    )
    rows = list(
        zip(crowd.annotators.tolist(), crowd.items.tolist(), crowd.labels.tolist(), strict=True)
    )
    posteriors = [[0.0] * classes for _ in range(items)]
    for _, item, label in rows:
        posteriors[item][label] += 1
    answered = [item for item in range(items) if sum(posteriors[item])]
    for item in answered:
        total = sum(posteriors[item])
        posteriors[item] = [value / total for value in posteriors[item]]
    likelihood = 0.0
    for turn in range(iterations + 1):
        for item in answered if known is not None else ():
            if known[item] >= 0:
                posteriors[item] = [float(k == known[item]) for k in range(classes)]
        priors = [sum(posteriors[i][k] for i in answered) + class_prior for k in range(classes)]
        priors = [value / sum(priors) for value in priors]
        confusions = np.full((people, classes, classes), float(confusion_prior))
        for who, item, label in rows:
            for truth in range(classes):
                confusions[who][truth][label] += posteriors[item][truth]
        confusions = np.maximum(confusions, FLOOR)
        confusions /= confusions.sum(axis=2, keepdims=True)
        if turn == iterations:
            break
        likelihood = 0.0
        for item in answered:
            joint = [max(priors[truth], FLOOR) for truth in range(classes)]
            for who, item_index, label in rows:
                if item_index == item:
                    joint = [value * confusions[who][k][label] for k, value in enumerate(joint)]
            fixed = known is not None and known[item] >= 0
            likelihood += math.log(joint[known[item]] if fixed else sum(joint))
            posteriors[item] = [value / sum(joint) for value in joint]
    return np.array(posteriors), np.array(priors), confusions, likelihood, answered


@for_each("classes", [2, 3, 5])
@for_each("with_known", [False, True])
def test_both_kernels_agree_with_plain_loops(classes, with_known):
    crowd = crowds.crowd(classes, classes=classes, items=30, share=0.3)
    known = np.where(np.arange(30) % 4 == 0, crowd.truth, -1) if with_known else None
    settings = {"class_prior": 0.7, "confusion_prior": 0.3}

    got = run(crowd, max_iterations=7, tolerance=-math.inf, known=known, **settings)

    posteriors, priors, confusions, likelihood, answered = plain(crowd, 7, known=known, **settings)
    assert got.iterations == 7
    assert got.posteriors[answered] == pytest.approx(posteriors[answered], rel=1e-9, abs=1e-12)
    assert got.priors == pytest.approx(priors, rel=1e-9)
    assert got.confusions == pytest.approx(confusions, rel=1e-9)
    assert got.log_likelihood == pytest.approx(likelihood, rel=1e-12)


def test_the_kernel_for_two_classes_agrees_with_the_one_for_any():
    crowd = crowds.crowd(4, classes=2, items=50)
    order = np.argsort(crowd.items, kind="stable")
    codes = (crowd.annotators * 2 + crowd.labels)[order].astype(np.uint32)
    starts = np.searchsorted(crowd.items[order], np.arange(51))
    known = np.where(np.arange(50) % 7 == 0, crowd.truth, -1).astype(np.int32)
    counted = np.arange(50) % 3 > 0
    logs = np.log(crowd.confusions.swapaxes(1, 2)).reshape(-1, 2)
    prior = np.log([0.6, 0.4])
    results = []
    for binary in (False, True):
        made = np.zeros((50, 2)), np.zeros((len(logs), 2)), np.zeros(2)
        if binary:
            likelihood = kernels.expect_binary(
                starts, codes, known, counted, prior[1] - prior[0], logs[:, 1] - logs[:, 0], *made
            )
            likelihood += 50 * prior[0] + logs[codes, 0].sum()
        else:
            likelihood = kernels.expect(starts, codes, known, counted, prior, logs, *made)
        results.append((likelihood, *made))

    (first_result, *first), (two, *second) = results
    assert first_result == pytest.approx(two, rel=1e-12)
    for a, b in zip(first, second, strict=True):
        assert a == pytest.approx(b, rel=1e-9)


@pytest.mark.ci
@for_each("iterations", [1, 2, 10, 100])
@for_each("classes", [2, 4])
def test_posteriors_are_crowd_kits_under_the_same_settings(iterations, classes):
    crowd = crowds.crowd(10 + classes, people=20, items=200, classes=classes)
    ours = run(crowd, max_iterations=iterations, **EXACT)

    assert crowd_kits(crowd.annotators, crowd.items, crowd.labels, iterations) == pytest.approx(
        ours.posteriors, abs=1e-6
    )


def crowd_kits(annotators, items, labels, iterations):
    import pandas as pd
    from crowdkit.aggregation import DawidSkene

    data = pd.DataFrame({"worker": annotators, "task": items, "label": labels})
    with warnings.catch_warnings():
        # crowd-kit 1.4.2 calls pandas in ways that pandas 3.1 calls outdated.
        warnings.simplefilter("ignore")
        probabilities = DawidSkene(n_iter=iterations, tol=-math.inf).fit(data).probas_
    return probabilities.sort_index().sort_index(axis=1).to_numpy()


@pytest.mark.parametrize("iterations", [1, 5, pytest.param(100, marks=pytest.mark.ci)])
def test_posteriors_of_the_bluebirds_are_crowd_kits(iterations):
    answers, _ = crowds.bluebirds()

    ours = fit(answers, max_iterations=iterations, **EXACT)

    theirs = crowd_kits(answers.annotators, answers.items, answers.labels, iterations)
    assert theirs == pytest.approx(ours.posteriors, abs=1e-6)


def test_at_least_96_of_the_108_bluebirds_are_right():
    answers, truth = crowds.bluebirds()

    assert (fit(answers).labels == truth).sum() >= 96


def test_five_votes_a_bluebird_beat_majority_by_three_points():
    answers, truth = crowds.bluebirds()
    ours, theirs = [], []
    for seed in range(100):
        few = crowds.votes_of_each(answers, 5, seed)
        assert (np.bincount(few.items) == 5).all()
        ours.append((fit(few).labels == truth).mean())
        theirs.append((majority(few)[0] == truth).mean())

    assert np.mean(ours) >= 0.75
    assert np.mean(ours) >= np.mean(theirs) + 0.03


@pytest.mark.parametrize("prior", [0.0, 0.01, 2.0])
def test_the_objective_never_falls(prior):
    crowd = crowds.crowd(5, classes=3, share=0.2)
    objectives = []
    for iterations in range(1, 30):
        got = run(
            crowd,
            max_iterations=iterations,
            tolerance=-math.inf,
            confusion_prior=prior,
            class_prior=prior,
        )
        # Its parameters are one M-step further than its likelihood: take both from the parameters.
        score = posterior_likelihood(crowd, got)
        score += prior * np.log(np.maximum(got.confusions, FLOOR)).sum()
        objectives.append(score + prior * np.log(got.priors).sum())

    assert (np.diff(objectives) > -1e-6).all()
    assert objectives[-1] > objectives[0]


def posterior_likelihood(crowd, fit):
    joint = np.tile(np.log(np.maximum(fit.priors, FLOOR)), (crowd.sizes["n_items"], 1))
    np.add.at(joint, crowd.items, np.log(fit.confusions[crowd.annotators, :, crowd.labels]))
    answered = np.unique(crowd.items)
    return np.log(np.exp(joint[answered]).sum(axis=1)).sum()


def test_it_stops_when_the_gain_is_below_the_tolerance():
    crowd = crowds.crowd(6)
    options = {"confusion_prior": 0.0, "class_prior": 0.0}
    got = run(crowd, tolerance=1e-3, **options)
    earlier, before = (
        run(crowd, max_iterations=got.iterations - back, tolerance=-math.inf, **options)
        for back in (2, 1)
    )

    assert got.converged
    assert not before.converged
    assert got.log_likelihood - before.log_likelihood < 1e-3
    assert before.log_likelihood - earlier.log_likelihood >= 1e-3


def test_posteriors_follow_from_priors_and_confusions_once_it_has_converged():
    crowd = crowds.crowd(7)
    got = run(crowd, tolerance=1e-12, max_iterations=100_000)

    expected = posterior(
        crowd.annotators,
        crowd.items,
        crowd.labels,
        n_items=60,
        confusions=got.confusions,
        prior=got.priors,
    )
    assert got.posteriors == pytest.approx(expected, abs=1e-4)


def test_the_order_of_the_rows_changes_no_bit():
    crowd = crowds.crowd(8)
    expected = run(crowd)
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(len(crowd.items))
        got = dawid_skene.dawid_skene(
            crowd.annotators[order], crowd.items[order], crowd.labels[order], **crowd.sizes
        )
        assert (got.posteriors == expected.posteriors).all()
        assert got.log_likelihood == expected.log_likelihood


def test_other_names_for_people_items_and_classes_change_nothing_else():
    crowd = crowds.crowd(9, classes=3)
    people, items, classes = (np.random.default_rng(1).permutation(n) for n in (12, 60, 3))
    settings = {"max_iterations": 50, "tolerance": -math.inf}
    expected = run(crowd, **settings)

    got = dawid_skene.dawid_skene(
        people[crowd.annotators],
        items[crowd.items],
        classes[crowd.labels],
        **crowd.sizes,
        **settings,
    )

    assert got.posteriors[np.ix_(items, classes)] == pytest.approx(expected.posteriors, abs=1e-9)
    assert got.confusions[np.ix_(people, classes, classes)] == pytest.approx(
        expected.confusions, abs=1e-9
    )
    assert got.log_likelihood == pytest.approx(expected.log_likelihood, abs=1e-6)


def test_inputs_stay_as_they_were():
    crowd = crowds.crowd(2)
    before = [array.copy() for array in (crowd.annotators, crowd.items, crowd.labels)]
    prior = np.full((3, 3), 0.5)

    run(crowd, confusion_prior=prior)

    after = (crowd.annotators, crowd.items, crowd.labels)
    assert all((a == b).all() for a, b in zip(before, after, strict=True))
    assert (prior == 0.5).all()


def test_known_labels_stay_and_teach_who_is_right():
    # Two who always disagree: only gold can tell which one is right.
    items = np.repeat(np.arange(20), 2)
    people = np.tile([0, 1], 20)
    truth = np.arange(20) % 2
    labels = np.where(people == 0, truth[items], 1 - truth[items])
    known = np.where(np.arange(20) < 4, truth, -1)

    got = fitted(people, items, labels, (2, 20, 2), known=known)

    assert (got.labels == truth).all()
    assert got.accuracies == pytest.approx([1, 0], abs=0.01)
    assert (got.posteriors[np.arange(4), truth[:4]] == 1).all()


def test_gold_that_is_balanced_on_purpose_can_stay_out_of_the_class_prior():
    items = np.repeat(np.arange(100), 3)
    people = np.tile(np.arange(3), 100)
    truth = np.zeros(100, int)
    truth[:40] = 1
    known = np.where(np.arange(100) < 40, truth, -1)
    arguments = (people, items, truth[items], (3, 100, 2))

    inside = fitted(*arguments, known=known)
    outside = fitted(*arguments, known=known, known_in_prior=False)

    assert inside.priors[1] == pytest.approx(0.4)
    assert outside.priors[1] < 0.001


def test_an_item_without_answers_has_the_priors_and_moves_nothing():
    crowd = crowds.crowd(3, classes=2)
    more = run(crowd, n_items=70)
    expected = run(crowd)

    assert (more.posteriors[60:] == more.priors).all()
    assert (more.priors == expected.priors).all()
    assert (more.posteriors[:60] == expected.posteriors).all()


def test_someone_without_answers_has_the_prior_confusions():
    crowd = crowds.crowd(3, classes=2)
    prior = np.array([[3.0, 1.0], [1.0, 4.0]])

    got = run(crowd, n_annotators=13, confusion_prior=prior)

    assert got.confusions[12] == pytest.approx(np.array([[0.75, 0.25], [0.2, 0.8]]))


def test_a_prior_reads_truth_by_row_and_may_differ_between_people():
    crowd = crowds.crowd(3, classes=2)
    heavy = np.array([[9e9, 1e9], [2e9, 8e9]])
    second_prior = np.array([[5e9, 5e9], [3e9, 7e9]])
    each = np.stack([heavy] * 11 + [second_prior])

    assert run(crowd, confusion_prior=heavy).confusions[5] == pytest.approx(heavy / 1e10, abs=1e-6)
    assert run(crowd, confusion_prior=each).confusions[11] == pytest.approx(
        second_prior / 1e10, abs=1e-6
    )


def test_a_start_of_ones_own_is_used():
    crowd = crowds.crowd(11, classes=2)
    truth = np.eye(2)[crowd.truth]

    warm = run(crowd, start=run(crowd).posteriors)
    turned = run(crowd, start=truth[:, ::-1])

    assert warm.iterations < run(crowd).iterations
    # Started upside down it stays there: labels are only known up to their names.
    assert (turned.labels == 1 - crowd.truth).mean() > 0.8
    with pytest.raises(ValueError, match="start is 'random'"):
        run(crowd, start="random")


def fitted(people, items, labels, sizes, **options):
    """sizes: of people, items and classes."""
    names = ("n_annotators", "n_items", "n_classes")
    rows = (np.asarray(column, int) for column in (people, items, labels))
    return dawid_skene.dawid_skene(*rows, **dict(zip(names, sizes, strict=True)), **options)


def test_ties_go_to_the_commoner_class_and_are_named():
    # One person who says both answers equally often about one item each, and nothing else known.
    rows = ([0, 1, 0, 1, 0, 1], [0, 0, 1, 1, 2, 2], [0, 1, 0, 1, 1, 1])
    got = fitted(*rows, (2, 3, 2), max_iterations=1, confusion_prior=1e12)
    even = fitted([0, 0], [0, 1], [0, 1], (1, 2, 2), confusion_prior=1e12)

    assert got.ties.tolist() == [False, False, False]
    # Everybody's confusions are flat: only the prior speaks, which is 2/3 for class 1.
    assert got.labels.tolist() == [1, 1, 1]
    assert even.ties.tolist() == [True, True]
    assert even.labels.tolist() == [0, 0]


@for_each(("people", "items", "classes"), [(0, 0, 0), (0, 0, 2), (3, 4, 0), (3, 4, 2), (0, 4, 3)])
def test_no_answers_give_the_priors(people, items, classes):
    got = fitted([], [], [], (people, items, classes))

    assert got.posteriors.shape == (items, classes)
    assert got.posteriors == pytest.approx(np.full((items, classes), 1 / max(classes, 1)))
    assert (got.iterations, got.converged, got.log_likelihood) == (0, True, 0.0)


def test_one_class_is_certain():
    got = fitted([0, 1], [0, 0], [0, 0], (2, 1, 1))

    assert got.posteriors.tolist() == [[1.0]]
    assert got.log_likelihood == 0


@pytest.mark.parametrize(("many", "label"), [(1, 1), (10_000, 0)])
def test_one_answer_is_believed_and_many_to_one_item_stay_finite(many, label):
    people = np.arange(many)

    got = fitted(people, 0 * people, people % 3 == 0, (many, 1, 2))

    assert got.labels.tolist() == [label]
    assert np.isfinite(got.log_likelihood)
    assert np.isfinite(got.posteriors).all()
    assert np.isfinite(got.confusions).all()


def test_confusion_matrices_that_would_fill_the_memory_are_refused():
    with pytest.raises(MatricesTooLarge, match="10000 annotators with 1000 classes need 75 GiB"):
        fitted([], [], [], (10_000, 1, 1_000))


def test_confusions_of_a_made_crowd_are_found():
    crowd = crowds.crowd(12, people=20, items=3_000, classes=3)
    got = run(crowd)

    assert (got.labels == crowd.truth).mean() > 0.97
    assert got.confusions == pytest.approx(crowd.confusions, abs=0.12)
    assert np.abs(got.confusions - crowd.confusions).mean() < 0.02
    expected = np.einsum("akk,k->a", got.confusions, got.priors)
    assert got.accuracies == pytest.approx(expected)
