import itertools
import math
import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labeling.estimators.stated_error import ErrorModel
from labeling.estimators.vote_tables import VoteTable
from labeling.kinds import KINDS, deciding, policies
from labeling.kinds.deciding import Skills, Vote
from labeling.kinds.votes import Verdict, most_probable

contains, naming = KINDS["contains"], KINDS["naming"]

START = datetime(2026, 1, 1, tzinfo=UTC)
MAJORITY = policies.DEFAULTS
POSTERIOR = policies.DEFAULTS | {"method": "posterior", "target_error": 0.02}


def at(minute):
    return START + timedelta(minutes=minute)


def votes(*values, people=None, minutes=None):
    """One vote a minute, of people 1, 2, 3 …"""
    people = people or range(1, len(values) + 1)
    minutes = minutes or range(len(values))
    return [
        Vote(person, [(at(minute), f"answer-{person:02}", value)])
        for person, minute, value in zip(people, minutes, values, strict=True)
    ]


def judge(cast, policy=POSTERIOR, skills=deciding.NONE, kind=contains, **fields):
    return deciding.judge(kind, cast, policy, skills, **fields)


def test_a_majority_is_as_the_kind_settles():
    rng = random.Random(5)
    for _ in range(300):
        values = [rng.choice(["yes", "no", "hard", "not_photo"]) for _ in range(rng.randint(0, 5))]
        verdict, counted = judge(votes(*values), MAJORITY)

        assert verdict == contains.settle(values, MAJORITY)
        assert [value for _, value in counted] == values


def test_votes_beyond_those_that_decide_are_not_counted():
    verdict, counted = judge(votes("yes", "yes", "yes", "no", "no", "no", "no"), MAJORITY)

    assert verdict == Verdict("settled", "yes", 0.6)
    assert [pk for pk, _ in counted] == [f"answer-{n:02}" for n in range(1, 6)]


def test_a_tie_counts_the_vote_that_breaks_it():
    verdict, counted = judge(votes("yes", "yes", "no", "no", "hard", "no", "yes"), MAJORITY)

    assert verdict == Verdict("settled", "no", 0.6)
    assert len(counted) == 6


def test_votes_come_in_the_order_of_their_moments_however_they_are_read():
    cast = votes("yes", "yes", "yes", "no", "no", "no", "no")

    results = {
        (verdict, tuple(counted))
        for verdict, counted in (
            judge(order, MAJORITY) for order in itertools.islice(itertools.permutations(cast), 200)
        )
    }

    assert len(results) == 1


def test_a_mind_changed_before_the_deciding_vote_counts_and_after_it_does_not():
    cast = votes("yes", "yes", "no", "no", "yes")
    cast[4].revisions.append((at(9), "too-late", "no"))
    assert judge(cast, MAJORITY)[0] == Verdict("settled", "yes", 0.6)

    cast[0].revisions.append((at(3), "in-time", "no"))
    verdict, counted = judge(cast, MAJORITY)
    assert verdict == Verdict("settled", "no", 0.6)
    assert ("in-time", "no") in counted


@given(st.lists(st.sampled_from(["yes", "no", "hard"]), max_size=9), st.data())
def test_votes_of_void_people_are_as_if_never_cast(values, data):
    void = data.draw(st.sets(st.integers(1, 9)))
    method = data.draw(st.sampled_from(["majority", "posterior"]))
    policy = POSTERIOR | {"method": method}
    cast = votes(*values)

    blocked = judge(cast, policy, Skills(voided=frozenset(void)))

    assert blocked == judge([vote for vote in cast if vote.annotator not in void], policy)


@given(
    st.lists(st.sampled_from(["yes", "no", "hard"]), max_size=9),
    st.lists(st.sampled_from(["yes", "no", "hard"]), max_size=4),
    st.sampled_from(["majority", "posterior"]),
)
def test_what_was_decided_stays_whatever_comes_later(values, later, method):
    policy = POSTERIOR | {"method": method}
    cast = votes(*values)
    decided = judge(cast, policy)

    for vote in cast:
        vote.revisions.append((at(50), "changed", "yes"))
    more = votes(*later, people=range(20, 20 + len(later)), minutes=range(60, 60 + len(later)))

    if not decided[0].more:
        assert judge(cast + more, policy) == decided


def test_votes_are_asked_for_one_at_a_time_until_the_target_is_reached():
    # Each yes of somebody right 4 times in 5 multiplies the odds by 4: 4³ = 64 is 0.9846.
    assert judge(votes())[0] == Verdict("open", more=2)
    assert judge(votes("yes"))[0] == Verdict("open", more=1)
    assert judge(votes("yes", "yes"))[0] == Verdict("open", more=1)
    verdict, counted = judge(votes("yes", "yes", "yes"))
    assert verdict.state == "settled"
    assert verdict.probability == pytest.approx(64 / 65)
    assert len(counted) == 3
    assert judge(votes("yes", "yes", "no"))[0] == Verdict("open", more=1)
    assert judge(votes(*["yes", "no"] * 5))[0].state == "review"


def test_people_weigh_by_their_confusions_and_the_topics_prior():
    skills = Skills(
        gains={
            1: deciding.gains_of_confusion([[0.9, 0.1], [0.3, 0.7]]),
            2: deciding.gains_of_confusion([[0.6, 0.4], [0.2, 0.8]]),
        },
        prior={"*": 0.5, "rare": 0.1},
    )
    able = [(1, "yes"), (2, "no"), (3, "yes")]

    probability = deciding.probability_of_yes(able, POSTERIOR, skills, "rare")

    # Person 3 is unknown: right as often as the policy assumes.
    yes, no = 0.1 * 0.7 * 0.2 * 0.8, 0.9 * 0.1 * 0.6 * 0.2
    assert probability == pytest.approx(yes / (yes + no))
    usual = deciding.probability_of_yes(able, POSTERIOR, skills, "common")
    assert usual / (1 - usual) == pytest.approx(9 * yes / no)


def test_a_no_on_which_others_hang_must_be_surer():
    policy = POSTERIOR | {"inner_no_error": 0.005}

    assert judge(votes("no", "no", "no"), policy)[0].state == "settled"
    assert judge(votes("no", "no", "no"), policy, inner=True)[0] == Verdict("open", more=1)
    assert judge(votes("no", "no", "no", "no"), policy, inner=True)[0].value == "no"
    assert judge(votes("yes", "yes", "yes"), policy, inner=True)[0].value == "yes"


def test_an_abstention_is_an_answer_given_and_no_class():
    surely = Skills(gains={1: deciding.gains_of_accuracy(0.999)})

    # One vote of somebody sure is not two votes.
    assert judge(votes("yes", "hard"), skills=surely)[0] == Verdict("open", more=1)
    verdict, counted = judge(votes("yes", "hard", "yes"), skills=surely)
    assert (verdict.state, verdict.value, len(counted)) == ("settled", "yes", 3)
    policy = POSTERIOR | {"max_votes": 4, "votes": 4, "drop_share": 0.8}
    assert judge(votes("hard", "yes", "hard", "hard"), policy)[0] == Verdict("review")


def test_an_image_is_dropped_by_as_many_abstentions_as_by_majority():
    assert judge(votes("hard", "hard"))[0] == Verdict("open", more=1)
    assert judge(votes("hard", "hard", "hard"))[0] == Verdict("open", more=1)
    assert judge(votes("hard", "hard", "not_photo", "hard"))[0] == Verdict("dropped", "dropped")


def test_skills_learned_while_a_question_was_open_count_every_vote_until_the_next():
    good = {person: deciding.gains_of_accuracy(0.97) for person in range(1, 5)}
    cast = votes("yes", "yes", "no", "no")

    # Two such people decide; but when they were known to be so good, a third had said no.
    at_once, _ = judge(cast, skills=Skills(gains=good))
    later, counted = judge(cast, skills=Skills(gains=good, since=at(2)))

    assert (at_once.state, at_once.value) == ("settled", "yes")
    assert later == Verdict("open", more=1)
    assert len(counted) == 4


def test_a_topics_vote_table_decides_where_there_is_one():
    table = VoteTable(
        cells=((0.5, 0.2, 0.01, 0.001), (0.8, 0.5, 0.3), (0.99, 0.9), (0.999,)), images=40
    )
    policy = POSTERIOR | {"method": "vote-table", "max_votes": 5}
    skills = Skills(tables={"coot": table})

    assert judge(votes("yes", "yes"), policy, skills, topic="coot")[0] == Verdict(
        "settled", "yes", 0.99
    )
    assert judge(votes("no", "no"), policy, skills, topic="coot")[0] == Verdict(
        "settled", "no", 0.99
    )
    assert judge(votes("yes", "no", "yes"), policy, skills, topic="coot")[0].more == 1
    # Four votes are more than the table knows, and "mallard" has none: by standing then.
    assert judge(votes("yes", "no", "yes", "yes"), policy, skills, topic="coot")[0].more == 1
    assert judge(votes("yes", "yes"), policy, skills, topic="mallard")[0].more == 1


def test_many_classes_share_the_errors_evenly():
    kinds = Skills(classes=(*"abcdefghij", "none"))
    coot, duck = {"key": "a"}, {"key": "b"}

    verdict, _ = judge(votes(coot, coot), skills=kinds, kind=naming)

    # Odds of the class named twice: (0.8 / (0.2 / 10))², against ten others at 1.
    assert verdict.value == coot
    assert verdict.probability == pytest.approx(1600 / (1600 + 10))
    divided, _ = judge(votes(coot, duck), skills=kinds, kind=naming)
    assert divided == Verdict("open", more=1)
    nothing, _ = judge(votes("none", "none"), skills=kinds, kind=naming)
    assert (nothing.state, nothing.value) == ("settled", "none")


def test_probabilities_do_not_depend_on_the_order_of_votes():
    skills = Skills(gains={n: deciding.gains_of_accuracy(0.6 + 0.05 * n) for n in range(1, 6)})
    able = [(n, "yes" if n % 2 else "no") for n in range(1, 6)]

    probabilities = {
        deciding.probability_of_yes(order, POSTERIOR, skills, "")
        for order in itertools.permutations(able)
    }

    assert len(probabilities) == 1


def test_what_is_certain_is_taken_as_nearly_so():
    skills = Skills(gains={1: deciding.gains_of_confusion([[1.0, 0.0], [0.0, 1.0]])})

    yes = deciding.probability_of_yes([(1, "yes"), (2, "no")], POSTERIOR, skills, "")

    assert 0.9 < yes < 1
    assert math.isfinite(sum(skills.gains[1]))


@pytest.mark.parametrize("policy", [MAJORITY, POSTERIOR], ids=["majority", "posterior"])
def test_what_stays_undecided_is_reviewed_or_dropped_as_the_policy_says(policy):
    policy = policy | {"votes": 2, "min_votes": 2, "max_votes": 2}

    reviewed, _ = judge(votes("yes", "no"), policy)
    dropped, _ = judge(votes("yes", "no"), policy | {"undecided": "drop"})

    assert (reviewed.state, reviewed.value) == ("review", None)
    assert (dropped.state, dropped.value) == ("dropped", "dropped")


@pytest.mark.parametrize(
    ("kind", "words"), [(contains, ("yes", "no")), (naming, ({"key": "n1"}, {"key": "n2"}))]
)
@pytest.mark.parametrize("policy", [MAJORITY, POSTERIOR], ids=["majority", "posterior"])
def test_a_question_kept_undecided_names_its_most_probable_answer(policy, kind, words):
    policy = policy | {"votes": 2, "min_votes": 2, "max_votes": 2, "undecided": "keep"}
    skills = Skills(classes=("n1", "n2", "none")) if kind is naming else deciding.NONE

    kept, counted = judge(votes(*words), policy, skills, kind)
    backwards, _ = judge(votes(*words[::-1]), policy, skills, kind)

    assert kept.state == "dropped"
    assert most_probable(kept.value) in [kind.vote(word) for word in words]
    assert kept.probability == pytest.approx(0.5, abs=0.05)
    assert len(counted) == 2
    assert backwards.value == kept.value
    agreed, _ = judge(votes(words[0], words[0]), policy | {"target_error": 0.3}, skills, kind)
    assert (agreed.state, agreed.value) == ("settled", words[0])


def test_without_a_target_every_question_gets_its_votes():
    policy = POSTERIOR | {"target_error": None, "votes": 4}

    assert policies.first_votes(policy) == 4
    assert policies.asks_all(policy)
    assert judge(votes("yes", "yes", "yes"), policy)[0].more == 1
    settled, counted = judge(votes("yes", "yes", "no", "yes", "no", "no"), policy)
    assert (settled.state, settled.value, len(counted)) == ("settled", "yes", 4)


MEASURED = POSTERIOR | {"target_rule": "measured", "target_error": 0.1, "max_votes": 9}
# log odds of an error 1 - 2 · log(1 + margin), known to a deviation of 0.5.
ERROR = ErrorModel((1.0, 2.0, 0.0), ((0.25, 0, 0), (0, 0, 0), (0, 0, 0)), 80, 12.0)


def test_a_target_is_compared_with_the_upper_bound_of_the_measured_error():
    skills = Skills(error=ERROR)
    # So many votes of 0.8 each: log odds n · log(4); 1 + 0.84 · 0.5 - 2 · log(1 + margin).
    bounds = [1 / (1 + math.exp(2 * math.log1p(n * math.log(4)) - 1.42)) for n in range(2, 10)]
    expected = next(n for n, bound in enumerate(bounds, 2) if bound <= 0.1)
    assert expected == 4

    verdict, counted = judge(votes(*["yes"] * 9), MEASURED, skills)

    assert (verdict.state, len(counted)) == ("settled", expected)
    # The settlement keeps the model's own probability.
    assert verdict.probability == pytest.approx(4**4 / (4**4 + 1))


def test_before_the_error_was_measured_nothing_settles_at_a_target():
    assert judge(votes(*["yes"] * 8), MEASURED)[0] == Verdict("open", more=1)
    assert judge(votes(*["yes"] * 9), MEASURED)[0] == Verdict("review")


def test_larger_margins_than_the_golds_are_cut():
    cut = replace(ERROR, largest_margin=2.0)

    assert judge(votes(*["yes"] * 9), MEASURED, Skills(error=cut))[0] == Verdict("review")


def test_a_no_at_an_inner_node_goes_by_the_models_probability():
    skills = Skills(error=ERROR)
    policy = MEASURED | {"inner_no_error": 0.001}

    _, yes = judge(votes(*["yes"] * 9), policy, skills, inner=True)
    no, counted = judge(votes(*["no"] * 9), policy, skills, inner=True)

    assert len(yes) == 4
    # 4⁵ : 1 is more than 999 : 1.
    assert (no.state, len(counted)) == ("settled", 5)
