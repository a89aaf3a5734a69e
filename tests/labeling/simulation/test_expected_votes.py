import random
from datetime import UTC, datetime, timedelta

import pytest

from labeling.kinds import KINDS, deciding, policies
from labeling.kinds.deciding import Vote
from labeling.simulation.expected_votes import expected_votes

POSTERIOR = policies.DEFAULTS | {"method": "posterior"}


@pytest.mark.ci
def test_expected_votes_are_what_a_crowd_with_hard_images_needs():
    rng = random.Random(3)
    policy = POSTERIOR | {"prior_yes": 0.3, "assumed_accuracy": 0.85, "target_error": 0.01}
    total, runs = 0, 4_000
    for _ in range(runs):
        truth, accuracy = rng.random() < 0.3, 0.4 if rng.random() < 0.25 else 0.85
        cast = []
        while (verdict := judge(cast, policy)).more:
            for _ in range(verdict.more):
                cast.append("yes" if (rng.random() < accuracy) == truth else "no")
        total += len(cast)

    assert expected_votes(policy) == pytest.approx(total / runs, rel=0.02)


def judge(cast, policy):
    start = datetime(2026, 1, 1, tzinfo=UTC)
    votes = [
        Vote(person, [(start + timedelta(minutes=person), str(person), value)])
        for person, value in enumerate(cast)
    ]
    return deciding.judge(KINDS["contains"], votes, policy, deciding.NONE)[0]


def test_a_fixed_number_of_votes_is_that_number():
    assert expected_votes(policies.DEFAULTS) == 5
    assert expected_votes(POSTERIOR | {"target_error": None, "votes": 7}) == 7


def test_a_majority_that_stops_early_takes_more_votes_on_hard_images():
    policy = policies.DEFAULTS | {"stop_early": "decided", "assumed_accuracy": 0.8}
    # Of three votes 0.52 agree; else a fourth decides in 0.3264, and the rest takes five.
    easy = 3 * 0.52 + 4 * 0.3264 + 5 * 0.1536
    three = 0.35**3 + 0.65**3
    four = 3 * (0.35**3 * 0.65 + 0.65**3 * 0.35)
    hard = 3 * three + 4 * four + 5 * (1 - three - four)

    assert expected_votes(policy) == pytest.approx(0.75 * easy + 0.25 * hard)


def test_a_smaller_target_takes_more_votes():
    policy = POSTERIOR | {"target_rule": "measured", "max_votes": 50}

    votes = [expected_votes(policy | {"target_error": target}) for target in (0.3, 0.2, 0.1)]

    assert votes == sorted(votes)
    assert 2 <= votes[0] < votes[-1] <= 50
