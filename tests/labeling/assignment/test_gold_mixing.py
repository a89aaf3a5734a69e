import random
from collections import Counter

import pytest

from labeling.assignment import candidates, gold_mixing
from labeling.assignment.candidates import CandidateQuestion, Scan


@pytest.fixture(autouse=True)
def _seeded(monkeypatch):
    monkeypatch.setattr(gold_mixing, "chance", random.Random(3))


class Person:
    by_topic = False


def gold(*kinds):
    """Gold as (topic, answer, how many)."""
    return [
        CandidateQuestion(1000 + index, 1000 + index, index + 1, topic, answer)
        for index, (topic, answer) in enumerate(
            (topic, answer) for topic, answer, count in kinds for _ in range(count)
        )
    ]


def ordinary(**topics):
    names = [topic for topic, count in topics.items() for _ in range(count)]
    return [CandidateQuestion(pk, pk, pk, topic) for pk, topic in enumerate(names)]


def scan(*, exhausted=True, **dealt):
    return Scan(2, 0, 5, 15, exhausted=exhausted, dealt=Counter(dealt))


def deal(pool, around, count, window=None):
    return gold_mixing.deal(Person(), window or scan(), pool, around, count)


def test_gold_is_balanced_between_answers_however_the_pool_is():
    pool = gold(("cat", '"yes"', 90), ("cat", '"no"', 10))

    answers = Counter(row.answer for row in deal(pool, ordinary(cat=60), 20))

    assert answers == {'"yes"': 10, '"no"': 10}


def test_what_a_person_was_dealt_before_counts():
    pool = gold(("cat", '"yes"', 9), ("cat", '"no"', 9))

    answers = Counter(row.answer for row in deal(pool, ordinary(cat=60), 4, scan(**{'"yes"': 4})))

    assert answers == {'"no"': 4}


def test_an_answer_that_runs_out_does_not_keep_gold_back():
    chosen = deal(gold(("cat", '"yes"', 9), ("cat", '"no"', 1)), ordinary(cat=60), 6)

    assert Counter(row.answer for row in chosen) == {'"yes"': 5, '"no"': 1}


def test_gold_is_about_what_the_page_is_about():
    pool = gold(("cat", '"yes"', 50), ("dog", '"yes"', 50))

    assert {row.topic for row in deal(pool, ordinary(dog=60), 10)} == {"dog"}
    assert deal(gold(("cat", '"yes"', 50)), ordinary(dog=60), 10) == []


def test_topics_of_gold_come_as_often_as_those_around_it():
    pool = gold(("cat", '"yes"', 500), ("dog", '"yes"', 500))

    topics = Counter(row.topic for row in deal(pool, ordinary(cat=45, dog=15), 400))

    assert 0.65 < topics["cat"] / 400 < 0.85


def test_where_every_question_is_about_something_new_gold_may_be_too():
    around = [CandidateQuestion(pk, pk, pk, f"t{pk}") for pk in range(60)]

    chosen = deal(gold(("cat", '"yes"', 20), ("dog", '"yes"', 20)), around, 20)

    assert len(chosen) == 20
    assert {row.topic for row in chosen} == {"cat", "dog"}


def test_gold_of_the_topic_is_looked_for_beyond_the_window(monkeypatch):
    beyond = gold(("dog", '"no"', 3))
    monkeypatch.setattr(candidates, "gold_of_topics", lambda person, scan, topics: beyond)
    pool = [row._replace(id=row.id + 50) for row in gold(("cat", '"yes"', 15))]

    chosen = deal(pool, ordinary(dog=60), 2, scan(exhausted=False))

    assert set(chosen) < set(beyond)


def test_no_gold_is_dealt_twice_nor_in_an_order_to_foresee():
    pool = gold(("cat", '"yes"', 20), ("cat", '"no"', 20))

    runs = [tuple(row.id for row in deal(pool, ordinary(cat=60), 10)) for _ in range(20)]

    assert all(len(set(run)) == 10 for run in runs)
    assert len(set(runs)) == 20
    assert len({pk for run in runs for pk in run}) == 40


def test_a_page_has_one_gold_question_of_a_subject():
    pool = [row._replace(subject=7) for row in gold(("cat", '"yes"', 1), ("cat", '"no"', 1))]

    assert len(deal(pool, ordinary(cat=60), 2)) == 1


def test_without_an_ordinary_question_there_is_no_gold():
    assert deal(gold(("cat", '"yes"', 5)), [], 3) == []
