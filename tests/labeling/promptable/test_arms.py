"""Who draws with the model."""

import pytest

from labeling.promptable import arms
from tests.cases import for_each

MANY = 4_000


@for_each("people", [1, 2, 3, 5])
def test_one_place_of_each_question_draws_without(people):
    for question in range(200):
        helped: list[bool] = []
        for before in range(people):
            without = helped.count(False)
            helped.append(arms.is_assisted(question, people, before, without))

        assert helped.count(False) == 1


def test_who_comes_for_the_one_that_left_draws_without():
    # Both of two places were taken, and the one without left again.
    assert all(not arms.is_assisted(question, 2, 1, 0) for question in range(100))


@pytest.mark.parametrize("people", [2, 3])
def test_gold_is_dealt_in_both_arms_as_often_as_the_rest(people):
    gold = sum(arms.is_assisted_on_gold(question, 7, people) for question in range(MANY)) / MANY
    first = sum(arms.is_assisted(question, people, 0, 0) for question in range(MANY)) / MANY
    more = sum(arms.is_assisted(question, people, people, 1) for question in range(MANY)) / MANY

    for share in (gold, first, more):
        assert share == pytest.approx(1 - 1 / people, abs=0.03)


def test_the_arm_of_gold_follows_the_person_and_the_question():
    arms_by_pair = {
        (question, person): arms.is_assisted_on_gold(question, person, 2)
        for question in range(20)
        for person in range(20)
    }

    assert arms_by_pair == {key: arms.is_assisted_on_gold(*key, 2) for key in arms_by_pair}
    assert len(set(arms_by_pair.values())) == 2
