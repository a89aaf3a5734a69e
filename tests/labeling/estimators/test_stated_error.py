import numpy as np
import pytest
from scipy.optimize import minimize

from labeling.estimators import dawid_skene, stated_error
from labeling.estimators.stated_error import FITTED, CoefficientPrior
from tests.labeling import crowds

COEFFICIENTS = np.array([0.4, 0.9, 0.3])


def gold_of_a_crowd(n=400, seed=0):
    """Return margins, votes and errors that follow the formula."""
    generator = np.random.default_rng(seed)
    margins, votes = generator.exponential(4, n), generator.integers(1, 12, n)
    linear = COEFFICIENTS[0] - COEFFICIENTS[1] * np.log1p(margins)
    linear += COEFFICIENTS[2] * np.log(votes / 3)
    return margins, votes, generator.random(n) < 1 / (1 + np.exp(-linear))


def test_the_error_of_a_label_is_the_formula_worked_on_paper():
    model = stated_error.ErrorModel((0.2, 1.0, 0.3), ((0.0,) * 3,) * 3, 100, 10.0)

    # log odds 0.2 - log(4) + 0.3 log(3): 0.2 - 1.3863 + 0.3296 = -0.8567.
    assert model.error([3.0], [9]) == pytest.approx([1 / (1 + np.exp(0.8567))], abs=1e-4)
    assert model.error([0.0], [3]) == pytest.approx([1 / (1 + np.exp(-0.2))])


def test_the_fit_is_the_minimum_that_scipy_finds():
    margins, votes, wrong = gold_of_a_crowd()
    terms = np.column_stack([np.ones(len(votes)), -np.log1p(margins), np.log(votes / 3)])

    def objective(at):
        linear = terms @ at
        loss = (np.logaddexp(0, linear) - wrong * linear).sum()
        return loss + (((at - FITTED.means) / FITTED.deviations) ** 2).sum() / 2

    expected = minimize(objective, FITTED.means, tol=1e-10).x

    model = stated_error.fit(margins, votes, wrong)

    assert model.coefficients == pytest.approx(expected, abs=1e-5)


def test_many_gold_images_give_the_coefficients_back():
    model = stated_error.fit(*gold_of_a_crowd(40_000))

    assert model.coefficients == pytest.approx(COEFFICIENTS, abs=0.1)


@pytest.mark.parametrize("share_wrong", [0.0, 1.0])
@pytest.mark.parametrize("n", [1, 20, 5_000])
def test_gold_that_is_all_right_or_all_wrong_has_a_finite_fit(n, share_wrong):
    wrong = np.full(n, share_wrong)

    model = stated_error.fit(np.linspace(0, 300, n), np.arange(n) % 9 + 1, wrong)

    assert np.isfinite(model.coefficients).all()
    assert np.isfinite(model.covariance).all()
    assert model.coefficients[1] >= 0


def test_a_larger_margin_never_means_a_larger_error():
    margins, votes, _ = gold_of_a_crowd()

    # Gold that says the contrary holds b at 0.
    model = stated_error.fit(margins, votes, margins > 3)

    assert model.coefficients[1] == 0
    assert len(set(model.error([1.0, 9.0], [3, 3]).tolist())) == 1


def test_the_order_of_the_gold_changes_nothing_and_weights_count_like_copies():
    margins, votes, wrong = gold_of_a_crowd(60)
    order = np.random.default_rng(1).permutation(60)

    model = stated_error.fit(margins, votes, wrong)
    shuffled = stated_error.fit(margins[order], votes[order], wrong[order])
    doubled = stated_error.fit(*(np.tile(column, 2) for column in (margins, votes, wrong)))
    weighted = stated_error.fit(margins, votes, wrong, np.full(60, 2.0))

    assert shuffled.coefficients == pytest.approx(model.coefficients)
    assert weighted.coefficients == pytest.approx(doubled.coefficients)


def test_margins_above_the_largest_count_as_the_largest():
    model = stated_error.fit(*gold_of_a_crowd(), largest_margin=5.0)

    errors = model.error([5.0, 50.0, 4.0], [3, 3, 3])

    assert errors[0] == errors[1] < errors[2]


def test_the_interval_holds_the_mean_and_narrows_with_gold_and_images():
    margins, votes, _ = gold_of_a_crowd(2_000, seed=5)
    few, many = (stated_error.fit(*gold_of_a_crowd(n)) for n in (30, 3_000))

    wide, narrow = (model.mean_interval(margins, votes) for model in (few, many))
    of_few_images = many.mean_interval(margins[:20], votes[:20])

    assert wide[0] < few.error(margins, votes).mean() < wide[1]
    assert narrow[0] < many.error(margins, votes).mean() < narrow[1]
    assert narrow[1] - narrow[0] < min(wide[1] - wide[0], of_few_images[1] - of_few_images[0])
    assert many.mean_interval(margins, votes) == narrow


def test_without_gold_only_a_wide_range_is_known():
    margins, votes, wrong = gold_of_a_crowd(2_000)

    low, high = stated_error.unmeasured_range(margins, votes)

    assert low < wrong.mean() < high
    assert high > 3 * low


def test_the_margin_is_the_distance_to_the_next_class_and_never_negative():
    scores = np.array([[-1.0, -4.0, -3.0], [-2.0, -2.0, -9.0], [-1.0, -4.0, -3.0]])

    margins = stated_error.margins_of(scores, np.array([0, 1, 2]))

    assert margins.tolist() == [2.0, 0.0, 0.0]
    assert stated_error.margins_of(scores, np.array([-1, 0, 0]))[0] == 0


def test_scores_are_the_logs_of_the_posteriors_but_for_a_constant():
    answers, _ = crowds.bluebirds()
    blind = dawid_skene.fit(crowds.votes_of_each(answers, 5, 0), tolerance=1e-12)

    scores = stated_error.class_scores(crowds.votes_of_each(answers, 5, 0), blind)

    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    assert odds / odds.sum(axis=1, keepdims=True) == pytest.approx(blind.posteriors, abs=1e-4)


def test_a_prior_without_spread_keeps_its_coefficient():
    margins, votes, wrong = gold_of_a_crowd()

    model = stated_error.fit(
        margins, votes, wrong, prior=CoefficientPrior((0.2, 1, 0.3), (1, 0.4, 1e-6))
    )

    assert model.coefficients[2] == pytest.approx(0.3, abs=1e-6)


@pytest.mark.parametrize(
    ("folder", "most", "lowest", "highest"),
    [
        ("bluebirds", None, 0.75, 1.35),
        ("crowds/dogs", None, 0.85, 1.20),
        ("crowds/dogs", 3, 0.85, 1.20),
    ],
)
def test_the_stated_error_of_a_real_crowd_is_its_real_error(folder, most, lowest, highest):
    everything, correct = crowds.real_crowd(folder)
    stated, real, covered = [], [], []
    for seed in range(40):
        generator = np.random.default_rng(seed)
        answers = crowds.votes_of_each(everything, most, seed) if most else everything
        votes = answers.counts.sum(axis=1)
        gold = np.zeros(len(correct), bool)
        gold[generator.choice(len(correct), len(correct) // 5, replace=False)] = True
        blind = dawid_skene.fit(answers)
        labels = dawid_skene.fit(answers, known=np.where(gold, correct, -1)).labels
        scores = stated_error.class_scores(answers, blind)
        margins = stated_error.margins_of(scores, blind.labels)
        model = stated_error.fit(margins[gold], votes[gold], (blind.labels != correct)[gold])
        rest = stated_error.margins_of(scores, labels)[~gold], votes[~gold]
        low, high = model.mean_interval(*rest)
        stated.append(model.error(*rest).mean())
        real.append((labels != correct)[~gold].mean())
        covered.append(low <= real[-1] <= high)

    assert lowest < np.mean(stated) / np.mean(real) < highest
    assert np.mean(covered) >= 0.85


def test_the_upper_bound_adds_the_deviation_of_the_linear_form():
    covariance = ((0.04, 0, 0), (0, 0.01, 0), (0, 0, 0))
    model = stated_error.ErrorModel((0.2, 1.0, 0.3), covariance, 100, 10.0, largest_margin=3.0)

    # Variance 0.04 + 0.01 log(4)²; larger margins count as 3.
    deviation = np.sqrt(0.04 + 0.01 * np.log(4) ** 2)
    expected = 1 / (1 + np.exp(-(0.2 - np.log(4) + 0.84 * deviation)))
    assert model.upper_error([3.0, 30.0], [3, 3]) == pytest.approx([expected] * 2)


def prefixes_of(images, margins, sizes, wrong):
    columns = (np.array(column) for column in (margins, sizes, wrong, images))
    return stated_error.VotePrefixes(*columns)


def test_each_image_has_the_same_weight_however_many_votes_it_has():
    short = prefixes_of([0, 1], [1.0, 2.0], [2, 2], [1, 0])
    long = prefixes_of([0, 1, 1, 1], [1.0, 2.0, 2.0, 2.0], [2] * 4, [1, 0, 0, 0])

    models = [stated_error.fit_prefixes(prefixes) for prefixes in (short, long)]

    assert [model.gold for model in models] == [2, 2]
    assert [model.wrong for model in models] == [1, 1]


def test_a_forecast_counts_the_first_votes_that_reach_the_target():
    model = stated_error.ErrorModel((0.0, 1.0, 0.0), ((0.0,) * 3,) * 3, 2, 0.0)
    # Errors 1 / (2 + margin): 1/3, 1/4, 1/10 of the first image and 1/3, 1/3 of the second.
    prefixes = prefixes_of([5, 5, 5, 9, 9], [1, 2, 8, 1, 1], [2, 3, 4, 2, 3], [0] * 5)

    rows = stated_error.forecasts(model, prefixes, (0.4, 0.3, 0.1, 0.01))

    assert [(row.share, row.votes) for row in rows] == [(1, 2), (0.5, 3), (0.5, 4), (0, 0)]


def test_known_answers_and_the_targets_that_they_support():
    assert stated_error.smallest_target(60) == pytest.approx(0.05)
    assert [stated_error.answers_for(target) for target in (0.05, 0.1, 0.01)] == [60, 30, 300]
