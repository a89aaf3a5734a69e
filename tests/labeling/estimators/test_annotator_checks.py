"""The four signals, on paper and over many simulated people."""

import math

import numpy as np
import pytest

from labeling.estimators import annotator_checks
from labeling.estimators.agreement import agreement_beyond_chance
from labeling.estimators.annotator_checks import (
    ACCEPTED,
    REJECTED,
    UNDECIDED,
    SequentialTest,
    TimedAnswer,
)
from labeling.kinds import policies
from tests.cases import for_each

PEOPLE = 10_000
DEFAULT = SequentialTest.of(policies.DEFAULTS)
# Rates that the cap leaves room for, equal and unequal, close and far.
TESTS = [
    DEFAULT,
    SequentialTest(0.9, 0.6, 0.01, 0.01, 60),
    SequentialTest(0.9, 0.7, 0.3, 0.05, 60),
    SequentialTest(0.95, 0.8, 0.02, 0.1, 150),
    SequentialTest(0.75, 0.5, 0.05, 0.05, 100),
    SequentialTest(0.9, 0.5, 0.1, 0.1, 12),
]


def by_sums(test, rights):
    """The test as METHODS prints it, by a running sum in floats; None before the cap decides."""
    total = 0.0
    for right in rights[: test.cap - 1]:
        total += (
            math.log(test.good / test.bad) if right else math.log((1 - test.good) / (1 - test.bad))
        )
        if total >= math.log((1 - test.reject_good) / test.accept_bad):
            return ACCEPTED
        if total <= -math.log((1 - test.accept_bad) / test.reject_good):
            return REJECTED
    return None


def first_decisions(test, rights):
    """Return each person's first test: the verdict (N,) and the number of answers (N,).

    A vectorised version of `fold`. rights: (N, at least cap), a row per person.
    """
    plan = test.plan
    n = np.arange(1, test.cap + 1)
    right = np.cumsum(rights[:, : test.cap], axis=1)
    accept = np.array([*plan.accept_from[1:], plan.needed_at_cap])
    reject = np.array([*plan.reject_to[1:], plan.needed_at_cap - 1])
    decisions = np.where(right >= accept, ACCEPTED, np.where(right <= reject, REJECTED, 0))
    at = (decisions != 0).argmax(axis=1)
    return decisions[np.arange(len(rights)), at].astype(np.int8), n[at]


def four_errors(share):
    """Four standard errors of a share measured over PEOPLE."""
    return 4 * math.sqrt(share * (1 - share) / PEOPLE)


@pytest.mark.parametrize("test", TESTS)
def test_errors_over_ten_thousand_people_are_within_the_set_rates(test):
    rng = np.random.default_rng(2026)

    good, _ = first_decisions(test, rng.random((PEOPLE, test.cap)) < test.good)
    bad, _ = first_decisions(test, rng.random((PEOPLE, test.cap)) < test.bad)

    rejected, accepted = (good == REJECTED).mean(), (bad == ACCEPTED).mean()
    assert rejected <= test.reject_good
    assert accepted <= test.accept_bad
    # By luck alone it would not do: the exact rates are within as well, and are what was measured.
    assert test.plan.meets_rates(test)
    assert abs(rejected - test.plan.reject_good) <= four_errors(test.plan.reject_good)
    assert abs(accepted - test.plan.accept_bad) <= four_errors(test.plan.accept_bad)


def test_a_cap_too_short_for_its_accuracies_says_so():
    close = SequentialTest(0.9, 0.85, 0.05, 0.05, 60)

    assert not close.plan.meets_rates(close)
    assert close.plan.reject_good > 0.05 or close.plan.accept_bad > 0.05
    policy = policies.DEFAULTS | {"bad_accuracy": 0.85, "test_cap": 60}
    assert "you set 5.00% and 5.00%. Raise this maximum (test_cap)" in annotator_checks.advice(
        policy
    )
    assert annotator_checks.advice(policies.DEFAULTS) == ""


def test_bounds_are_tightened_where_walds_would_miss_one_error():
    # Wald allows accept_bad up to 0.05 / (1 - 0.5) here.
    test = SequentialTest(0.6, 0.55, 0.5, 0.05, 1000)
    wald = annotator_checks._capped(test, math.log((1 - 0.5) / 0.05), -math.log((1 - 0.05) / 0.5))

    assert not wald.meets_rates(test)
    assert test.plan.meets_rates(test)


def test_before_the_cap_the_decision_is_that_of_the_running_sum():
    rng = np.random.default_rng(3)
    decided = 0

    for _ in range(2000):
        rights = list(rng.random(DEFAULT.cap) < rng.choice([0.6, 0.8, 0.95]))
        expected = by_sums(DEFAULT, rights)
        if expected is not None:
            decided += 1
            decision, _ = first_decisions(DEFAULT, np.array([rights]))
            assert decision[0] == expected
    assert decided > 1500


@pytest.mark.parametrize("test", TESTS)
def test_the_vectorised_twin_agrees_with_the_fold(test):
    rng = np.random.default_rng(5)
    rights = rng.random((300, test.cap)) < rng.uniform(0.5, 1, (300, 1))

    decisions, answers = first_decisions(test, rights)

    for row, decision, count in zip(rights, decisions, answers, strict=True):
        assert annotator_checks.fold(test, row[: count - 1]).verdict == UNDECIDED
        assert annotator_checks.fold(test, row[:count]).verdict == decision


def test_acceptance_begins_the_test_again_so_that_drift_is_caught():
    good = [True] * 120

    before = annotator_checks.fold(DEFAULT, good)
    after = annotator_checks.fold(DEFAULT, [*good, *[False, True] * 6])

    assert before.accepted == 10
    assert before.verdict == ACCEPTED
    assert after.verdict == REJECTED
    assert after.last[1] <= 12


def test_a_test_ends_at_its_cap():
    short = SequentialTest(0.9, 0.7, 0.05, 0.05, 10)
    undecided = [True] * 8 + [False] * 2

    tested = annotator_checks.fold(short, undecided)

    assert tested.last == (8, 10)
    assert tested.verdict == (ACCEPTED if short.plan.needed_at_cap <= 8 else REJECTED)


def test_nobody_is_judged_before_an_answer():
    assert annotator_checks.fold(DEFAULT, []) == annotator_checks.GoldTestResult()


def test_gold_gets_rarer_with_each_acceptance_down_to_the_firm_share():
    policy = policies.DEFAULTS | {"gold_share": 0.2, "gold_share_firm": 0.06}

    assert [annotator_checks.gold_share(n, policy) for n in range(4)] == [None, 0.1, 0.06, 0.06]


def test_speed_is_measured_against_others_on_the_same_topic():
    pool = [("easy", 1000)] * 30 + [("difficult", 9000)] * 30
    mine = [TimedAnswer("easy", "yes", 900)] * 50

    assert annotator_checks.speed(mine, pool)["share"] == 0.9
    # A topic nobody else has answered is held against the whole pool.
    assert annotator_checks.speed([TimedAnswer("new", "yes", 1000)], pool)["share"] == 0.2


def test_a_few_very_long_or_short_answers_move_no_speed():
    pool = [("cat", 2000)] * 100
    mine = [TimedAnswer("cat", "yes", 2000)] * 60

    moved = [
        *mine,
        *[TimedAnswer("cat", "yes", 3_600_000)] * 20,
        *[TimedAnswer("cat", "yes", 1)] * 20,
    ]

    assert (
        annotator_checks.speed(moved, pool)["share"]
        == annotator_checks.speed(mine, pool)["share"]
        == 1.0
    )


def test_speed_says_nothing_without_times_or_pool():
    assert (
        annotator_checks.speed([TimedAnswer("cat", "yes", None)], [("cat", 1000)])["share"] is None
    )
    assert annotator_checks.speed([TimedAnswer("cat", "yes", 10)], [])["share"] is None
    assert annotator_checks.speed([], [("cat", 1000)])["share"] is None


def test_a_run_of_no_is_normal_where_nearly_all_is_no():
    run = [TimedAnswer("cat", "no")] * 80

    sparse = annotator_checks.runs(run, [("cat", "no")] * 980 + [("cat", "yes")] * 20)
    even = annotator_checks.runs(run, [("cat", "no")] * 500 + [("cat", "yes")] * 500)

    assert sparse["odds"] > 0.1
    assert even["odds"] < annotator_checks.RUN_ODDS
    assert even["length"] == 80


def test_a_run_goes_by_the_rates_of_the_topics_it_went_through():
    pool = [("cat", "no")] * 495 + [("cat", "yes")] * 5 + [("sky", "yes")] * 500

    cats = annotator_checks.runs([TimedAnswer("cat", "no")] * 60, pool)
    skies = annotator_checks.runs([TimedAnswer("sky", "no")] * 60, pool)

    assert cats["odds"] > 0.1
    assert skies["odds"] < 1e-20


def test_honest_people_have_runs_against_the_odds_as_rarely_as_said():
    rng = np.random.default_rng(11)
    pool = [("cat", "yes")] * 300 + [("cat", "no")] * 700
    flagged = 0

    for _ in range(2000):
        rows = [TimedAnswer("cat", "yes" if yes else "no") for yes in rng.random(200) < 0.3]
        flagged += annotator_checks.runs(rows, pool)["odds"] < annotator_checks.RUN_ODDS

    # 0.2 are expected; 3 or more come once in a thousand.
    assert flagged <= 2


def test_a_word_nobody_else_used_is_rare_but_not_impossible():
    pool = [("cat", "yes")] * 50

    assert annotator_checks.runs([TimedAnswer("cat", "hard")] * 2, pool)["odds"] > 0
    assert (
        annotator_checks.runs([TimedAnswer("cat", "hard")] * 10, pool)["odds"]
        < annotator_checks.RUN_ODDS
    )


def test_runs_say_nothing_of_odds_without_a_pool():
    runs = annotator_checks.runs([TimedAnswer("cat", "no")] * 50, [])

    assert (runs["length"], runs["odds"]) == (50, None)


def test_agreement_is_cohens_kappa():
    # Worked on paper: agreed 35 of 50 = 0.7; chance 0.6 * 0.5 + 0.4 * 0.5 = 0.5; (0.7 - 0.5) / 0.5.
    pairs = [("yes", "yes")] * 20 + [("yes", "no")] * 10 + [("no", "yes")] * 5 + [("no", "no")] * 15
    rows = [TimedAnswer("cat", mine, others=(theirs,)) for mine, theirs in pairs]

    assert annotator_checks.agreement(rows)["kappa"] == 0.4


def test_agreement_is_that_of_everybody_at_once():
    rng = np.random.default_rng(8)
    labels = rng.integers(0, 3, (60, 5))
    items, people = np.divmod(np.arange(300), 5)
    expected = agreement_beyond_chance(
        people, items, labels.ravel(), n_annotators=5, n_items=60, n_classes=3
    )

    for person in range(5):
        rows = [
            TimedAnswer("t", str(row[person]), others=tuple(map(str, np.delete(row, person))))
            for row in labels
        ]
        result = annotator_checks.agreement(rows)
        assert result["answers"] == expected.n[person]
        assert result["kappa"] == pytest.approx(expected.kappa[person], abs=5e-4)


def test_agreement_leaves_out_ties_abstentions_and_the_unanswered():
    rows = [
        TimedAnswer("cat", "yes", others=("yes", "no")),
        TimedAnswer("cat", "hard", others=("yes",)),
        TimedAnswer("cat", "yes", others=()),
        TimedAnswer("cat", "yes", others=("hard", "hard", "yes")),
        TimedAnswer("cat", "no", others=("no", "no", "yes")),
    ]

    assert annotator_checks.agreement(rows, frozenset({"hard"}))["answers"] == 2


def test_random_answers_agree_by_chance_and_careful_ones_beyond():
    rng = np.random.default_rng(4)
    truth = rng.random(500) < 0.3
    words = np.array(["no", "yes"])

    def answered(accuracy):
        return words[np.where(rng.random(500) < accuracy, truth, ~truth).astype(int)]

    def kappa(mine):
        others = [answered(0.9) for _ in range(3)]
        return annotator_checks.agreement(
            [
                TimedAnswer("cat", str(word), others=tuple(str(labels[i]) for labels in others))
                for i, word in enumerate(mine)
            ]
        )

    guess = kappa(words[(rng.random(500) < 0.5).astype(int)])
    careful = kappa(answered(0.9))
    assert guess["upper"] < 0.2
    assert careful["kappa"] > 0.6


def test_where_one_answer_is_rare_kappa_accuses_nobody():
    # One yes among a hundred, missed: kappa is 0, and it means nothing.
    rows = [TimedAnswer("cat", "no", others=("no", "no"))] * 99
    rows.append(TimedAnswer("cat", "no", others=("yes", "yes")))
    figures = annotator_checks.agreement(rows)

    reasons = annotator_checks.reasons(
        {"test": annotator_checks.GoldTestResult(), "speed": {}, "runs": {}, "chance": figures},
        policies.DEFAULTS,
    )

    assert figures["kappa"] == 0
    assert reasons == []


def figures(**signal):
    return {
        "test": annotator_checks.GoldTestResult(),
        "speed": {},
        "runs": {},
        "chance": {},
    } | signal


@for_each(
    ("signal", "fields", "words"),
    [
        (
            "test",
            {"test": annotator_checks.GoldTestResult(21, 40, 0, 1, REJECTED, (21, 40))},
            "Right on 21 of 40 known questions; the campaign expects 90%.",
        ),
        (
            "speed",
            {"speed": {"share": 0.12, "answers": 80, "pool": 400}},
            "The median time of 80 answers is 12% of that of others; "
            "the campaign expects at least 25%.",
        ),
        (
            "runs",
            {"runs": {"word": "no", "length": 55, "odds": 1e-9, "answers": 80, "pool": 400}},
            "Answered “no” 55 times in a row; going by the answers of others, "
            "fewer than 1 in 10,000 people would.",
        ),
        (
            "chance",
            {"chance": {"kappa": -0.05, "upper": 0.04, "answers": 300, "agreed": 140}},
            "Agrees with others on 140 of 300 questions, which is -0.05 beyond chance "
            "(1 is always); the campaign expects 0.1.",
        ),
    ],
)
def test_every_signal_gives_a_reason_that_a_person_can_read(signal, fields, words):
    [reason] = annotator_checks.reasons(figures(**fields), policies.DEFAULTS)

    assert reason["signal"] == signal
    assert reason["words"] == words


@for_each(
    "fields",
    [
        {"speed": {"share": 0.12, "answers": 39, "pool": 400}},
        {"speed": {"share": 0.12, "answers": 400, "pool": 39}},
        {"speed": {"share": 0.25, "answers": 400, "pool": 400}},
        {"runs": {"word": "no", "length": 39, "odds": 1e-9, "answers": 80, "pool": 400}},
        {"runs": {"word": "no", "length": 90, "odds": 1e-3, "answers": 90, "pool": 400}},
        {"chance": {"kappa": 0.0, "upper": 0.05, "answers": 39, "agreed": 10}},
        {"chance": {"kappa": 0.05, "upper": 0.1, "answers": 400, "agreed": 210}},
    ],
)
def test_short_of_its_threshold_no_signal_speaks(fields):
    assert annotator_checks.reasons(figures(**fields), policies.DEFAULTS) == []
