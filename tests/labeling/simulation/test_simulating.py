import numpy as np
import pytest

from labeling.errors import Refusal
from labeling.estimators import dawid_skene
from labeling.estimators.aggregation import AnswerTable, majority
from labeling.kinds import policies
from labeling.simulation.crowd import (
    COPIER,
    HONEST,
    PRESETS,
    RANDOM,
    SLEEPER,
    Crowd,
    SimulatedQuestions,
    ask,
    clean_crowd,
    gather,
)
from labeling.simulation.simulating import simulate
from tests.cases import for_each
from tests.labeling import crowds

PLAIN = {"gold_share": 0, "gold_share_firm": 0, "gold_action": "none"}
SURE = {
    "method": "posterior",
    "min_votes": 1,
    "target_error": 0.09,
    "gold_share": 0.04,
    "gold_share_firm": 0.01,
    "good_accuracy": 0.75,
    "bad_accuracy": 0.5,
    "gold_action": "block",
    "chance_action": "block",
    "chance_agreement": 0.2,
}


def policy(**content):
    return policies.clean(content)


def plain(truth):
    """Return questions of these classes, of which none is hard."""
    return SimulatedQuestions(truth, np.zeros(len(truth), bool), np.full(len(truth), -1))


def test_a_perfect_crowd_makes_no_error_and_costs_its_votes():
    crowd = Crowd(questions=500, people=20, accuracy=(1, 1), random=0, audited=0)

    outcome = simulate(policy(votes=3, **PLAIN), crowd)

    assert outcome["error"] == 0
    assert outcome["answers_per_question"] == 3
    assert outcome["blocked"] == {"rightly": 0, "wrongly": 0}
    assert outcome["stated_error"] == {"value": None, "interval": None, "basis": None}


def test_a_majority_that_stops_early_decides_the_same_with_a_quarter_fewer_votes():
    crowd = Crowd(questions=20_000, people=100, accuracy=(0.8, 0.8), random=0, audited=0)

    outcome = simulate(policy(votes=5, max_votes=5, stop_early="decided", **PLAIN), crowd)

    # 10 · 0.8² · 0.2³ + 5 · 0.8 · 0.2⁴ + 0.2⁵ = 0.0579, standard deviation 0.0017.
    assert outcome["error"] == pytest.approx(0.0579, abs=0.007)
    assert outcome["answers_per_question"] == pytest.approx(3.634, abs=0.02)


def test_majority_of_three_errs_as_the_binomial_says():
    crowd = Crowd(questions=20_000, people=100, accuracy=(0.8, 0.8), random=0, audited=0)

    outcome = simulate(policy(votes=3, max_votes=3, **PLAIN), crowd)

    # 3 · 0.8 · 0.2² + 0.2³ = 0.104, standard deviation 0.0022.
    assert outcome["error"] == pytest.approx(0.104, abs=0.009)


def test_the_seed_decides_everything():
    crowd = Crowd(questions=400, people=20, sleepers=0.1, copiers=0.1)

    outcomes = [simulate(policy(**SURE), crowd, seed) for seed in (1, 1, 2)]

    assert outcomes[0] == outcomes[1]
    assert outcomes[0] != outcomes[2]


def test_weighing_takes_fewer_answers_than_majority_for_no_more_error():
    crowd = Crowd(questions=8_000, people=80, accuracy=(0.75, 0.95))

    plain = simulate(policy(votes=5, max_votes=5, **PLAIN), crowd)
    weighed = simulate(policy(**SURE), crowd)

    assert weighed["answers_per_question"] < 0.6 * plain["answers_per_question"]
    assert weighed["error"] <= plain["error"] + 0.005


def test_those_who_guess_are_blocked_and_the_rest_hardly_ever():
    crowd = Crowd(questions=8_000, people=80, random=0.2, accuracy=(0.75, 0.95))

    outcome = simulate(policy(**SURE), crowd)

    assert outcome["blocked"]["rightly"] >= 14
    assert outcome["blocked"]["wrongly"] <= 6


@pytest.mark.ci
def test_sleepers_are_caught_by_their_runs_where_yes_is_common():
    rules = policy(**PLAIN, run_action="block", run_length=30, signal_answers=40)
    crowd = Crowd(questions=4_000, people=20, prevalence=0.6, random=0, sleepers=0.2, awake=60)

    outcome = simulate(rules, crowd)

    assert outcome["blocked"] == {"rightly": 4, "wrongly": 0}


def test_those_who_are_too_fast_are_paused_and_their_votes_stand():
    rules = policy(**PLAIN, speed_action="pause", speed_share=0.5, signal_answers=20)
    crowd = Crowd(questions=1_000, people=20, random=0.1)

    outcome = simulate(rules, crowd)

    assert outcome["blocked"] == {"rightly": 0, "wrongly": 0}
    assert outcome["stopped"] == {"rightly": 2, "wrongly": 0}


def test_a_test_before_the_work_keeps_those_who_guess_out():
    rules = policy(**PLAIN, test_questions=30, test_pass=0.8, test_attempts=1)
    crowd = Crowd(questions=200, people=40, accuracy=(0.95, 0.95), random=0.25, audited=0)

    outcome = simulate(rules, crowd)

    assert outcome["stopped"]["rightly"] == 10
    assert outcome["answers"]["training"] == 40 * 30


def test_a_crowd_that_runs_out_leaves_the_rest_to_reviewers():
    crowd = Crowd(questions=50, people=3, accuracy=(1, 1), random=0, audited=0)

    outcome = simulate(policy(votes=5, **PLAIN), crowd)

    assert outcome["answers"]["votes"] == 150
    assert outcome["answers"]["reviews"] == 50
    assert outcome["error"] == 0


def test_copiers_repeat_what_was_said_last():
    people = gather(Crowd(people=10, random=0, copiers=1), np.random.default_rng(0))
    last = np.array([1, 0, 1, 0, 1])

    answers = people.answers(
        np.arange(5), plain(1 - last), np.zeros(5, int), last, np.random.default_rng(0)
    )

    assert answers.tolist() == last.tolist()


def test_a_sleeper_says_no_from_the_moment_they_sleep():
    crowd = Crowd(people=4, random=0, sleepers=1, accuracy=(1, 1), awake=10)
    people = gather(crowd, np.random.default_rng(0))
    truth, none = np.ones(4, int), np.full(4, -1)

    answers = people.answers(
        np.arange(4), plain(truth), np.array([0, 9, 10, 99]), none, np.random.default_rng(0)
    )

    assert answers.tolist() == [1, 1, 0, 0]


def test_hard_images_are_hard_for_everybody_and_have_a_lookalike():
    crowd = Crowd(people=400, classes=5, random=0, person_sd=0.0)
    chance = np.random.default_rng(0)
    people, questions = gather(crowd, chance), ask(crowd, 40_000, chance)
    who = chance.integers(0, 400, 40_000)

    answers = people.answers(who, questions, who * 0, who * 0 - 1, chance)

    right, hard = answers == questions.truth, questions.hard
    assert hard.mean() == pytest.approx(0.25, abs=0.01)
    assert right[hard].mean() == pytest.approx(0.35, abs=0.02)
    assert right[~hard].mean() == pytest.approx(0.8, abs=0.01)
    assert (answers == questions.lookalike)[~right].mean() == pytest.approx(0.8, abs=0.02)
    assert (questions.lookalike != questions.truth).all()
    assert set(answers.tolist()) == {0, 1, 2, 3, 4}


def test_of_two_classes_the_other_one_is_wrong():
    crowd = Crowd(people=5, random=0)
    chance = np.random.default_rng(0)
    questions = ask(crowd, 5, chance)

    answers = gather(crowd, chance).answers(
        np.arange(5), questions, np.zeros(5, int), np.full(5, -1), chance
    )

    assert set(answers.tolist()) <= {0, 1}


def test_a_fixed_accuracy_keeps_the_crowd_without_hard_images_and_its_results():
    crowd = Crowd(questions=400, people=20, accuracy=(0.75, 0.95))

    outcome = simulate(policy(**SURE), crowd, seed=1)

    # As the second edition reported it.
    assert (outcome["error"], outcome["answers_per_question"]) == (0.03, 4.155)
    assert outcome["hard_images"] == 0


def test_more_classes_than_two_settle_by_majority_and_by_weights():
    crowd = Crowd(questions=2_000, people=40, classes=4)

    by_majority = simulate(policy(votes=5, max_votes=5, **PLAIN), crowd)
    weighed = simulate(policy(**SURE), crowd)

    assert 0.1 < by_majority["error"] < 0.3
    assert 0.1 < weighed["error"] < 0.3


@pytest.mark.parametrize(
    ("preset", "folder", "votes"), [("bluebirds", "bluebirds", 39), ("dogs", "crowds/dogs", 10)]
)
def test_a_preset_errs_as_the_crowd_that_it_was_fitted_to(preset, folder, votes):
    answers, correct = crowds.real_crowd(folder)
    real = errors_of(answers, correct)
    crowd = PRESETS[preset]
    simulated = []
    for seed in range(15):
        chance = np.random.default_rng(seed)
        people, questions = gather(crowd, chance), ask(crowd, crowd.questions, chance)
        who = np.concatenate(
            [chance.permutation(crowd.people)[:votes] for _ in range(crowd.questions)]
        )
        items = np.repeat(np.arange(crowd.questions), votes)
        replies = people.answers(who, questions[items], who * 0, who * 0 - 1, chance)
        rows = zip(who.tolist(), items.tolist(), replies.tolist(), strict=True)
        made = AnswerTable.from_rows((str(p), f"{i:04}", str(answer)) for p, i, answer in rows)
        simulated.append(errors_of(made, questions.truth))
    error, majority_error, model_error = np.mean(simulated, axis=0)

    assert error == pytest.approx(real[0], rel=1 / 3)
    assert majority_error == pytest.approx(real[1], rel=1 / 3)
    assert real[2] / 4 < model_error < real[2] * 4


def errors_of(answers, correct):
    """Return the error of Dawid–Skene and of majority, and the one that Dawid–Skene believes."""
    fitted = dawid_skene.fit(answers)
    by_majority = majority(answers)[0]
    believed = 1 - fitted.posteriors.max(axis=1).mean()
    return (fitted.labels != correct).mean(), (by_majority != correct).mean(), believed


def test_the_shares_of_a_crowd_become_people():
    crowd = Crowd(people=20, random=0.1, sleepers=0.2, copiers=0.05)

    kinds = gather(crowd, np.random.default_rng(0)).kind.tolist()

    assert [kinds.count(kind) for kind in (RANDOM, SLEEPER, COPIER, HONEST)] == [2, 4, 1, 13]


@for_each(
    ("content", "message"),
    [
        ({"colour": 1}, "no key 'colour'"),
        ({"people": 0}, "people is 0"),
        ({"hard": 0.3}, "hard is 0.3"),
        ({"hard": {"share": 2}}, "hard.share is 2"),
        ({"hard": {"rights": 0.3}}, "give {share"),
        ({"accuracy": 0.9, "right": 0.8}, "without hard images"),
        ({"classes": 1}, "classes is 1"),
        ({"people": 2.5}, "a whole number"),
        ({"prevalence": "much"}, "prevalence is 'much'"),
        ({"prevalence": float("nan")}, "prevalence is nan"),
        ({"accuracy": [0.9, 0.8]}, "accuracy is"),
        ({"accuracy": [0.9, 1.8]}, "accuracy is"),
        ({"accuracy": "good"}, "accuracy is"),
        ({"random": 0.6, "sleepers": 0.6}, "together at most 1"),
        ({"random": True}, "random is True"),
    ],
)
def test_a_crowd_that_makes_no_sense_is_refused_at_its_key(content, message):
    with pytest.raises(Refusal, match=message) as refused:
        clean_crowd(content)

    assert refused.value.field.split(".")[0] in content


def test_what_a_crowd_does_not_say_is_by_default():
    assert clean_crowd({"accuracy": 0.9, "people": 7}) == Crowd(people=7, accuracy=(0.9, 0.9))
