import itertools
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labeling.errors import Refusal, TooLarge
from labeling.kinds import KINDS, DrawingContext, Verdict, deciding, policies
from labeling.parts import joining
from tests.cases import for_each
from tests.labeling.drawings import CAT, SETTINGS, answer, drawn, square

contains, parts = KINDS["contains"], KINDS["parts"]

ABOUT = DrawingContext(CAT, 200, 100)
POLICY = policies.DEFAULTS | parts.policy_defaults
TWO = POLICY | {"votes": 2}
SKIP = {"skip": "too_small"}


def cleaned(value):
    return parts.clean(value, SETTINGS, ABOUT)


def test_an_answer_is_kept_as_it_was_drawn_and_cleaning_it_again_changes_nothing():
    value = answer(tail="occluded", leg=square(1, 2, 3) + square(10, 2, 3), head=square(20, 20, 9))

    once = cleaned(value)

    assert once == value
    assert list(once["parts"]) == ["head", "leg", "tail"]
    assert cleaned(json.loads(json.dumps(once))) == once
    assert cleaned(SKIP) == SKIP
    assert parts.drawn
    assert not contains.drawn


@for_each(
    ("value", "message"),
    [
        (None, "object with parts"),
        ("drawn", "object with parts"),
        ([], "object with parts"),
        ({}, "parts of an answer"),
        ({"parts": []}, "parts of an answer"),
        ({"parts": {}, "who": 1}, "no 'who'"),
        ({"skip": "tired"}, "too_small, no_part or under_half"),
        ({"skip": ["too_small"]}, "too_small, no_part or under_half"),
        ({"skip": "too_small", "parts": {}}, "either skip"),
        ({"parts": {}, "half": False}, "under_half"),
        ({"parts": {}, "half": 1}, "half is true"),
        ({"parts": {"wing": {"state": "occluded"}}}, "Cat has no part 'wing'; it has head, leg"),
        ({"parts": {"head": "occluded"}}, "part 'head' needs a state"),
        ({"parts": {"head": {"state": "gone"}}}, "part 'head' needs a state"),
        ({"parts": {"head": {"state": "occluded", "why": ""}}}, "part 'head' has no 'why'"),
        ({"parts": {"head": {"state": "drawn"}}}, "part 'head'"),
        ({"parts": {"head": {"state": "drawn", "polygons": []}}}, "but no drawing"),
        (answer(head=square(0, 0, 300)), "part 'head': corner 2 (300, 0) lies outside"),
        (answer(head=square(0, 0, math.nan)), "part 'head'"),
        (answer(head=((((0, 0), (9, 9), (9, 0), (0, 9)),),)), "part 'head'"),
        (answer(head=square(0, 0, 3) + square(9, 0, 3)), "'head' is drawn in 2 pieces"),
        (answer() | {"outline": drawn(square(0, 0, 9))["polygons"]}, "no outline"),
        (
            {"parts": {"tail": drawn(square(0, 0, 9)) | {"state": "not_visible"}}},
            "not visible, but also a drawing",
        ),
    ],
)
def test_what_is_wrong_is_said_with_the_part(value, message):
    with pytest.raises(Refusal) as refusal:
        cleaned(value)

    assert message in refusal.value.message


@for_each(
    "polygons",
    [
        [[[[0, 0], [4, 4], [4, 0], [0, 4]]]],
        [[[[0, 0], [4, 4], [8, 8]]]],
        [[[[0, 0], [4000, 0], [4, 4]]]],
        [[[[1.0, 1.0]] * 30_000]],
        "x",
    ],
)
def test_a_drawing_that_is_refused_is_given_back_to_who_drew_it(polygons):
    """The page knows by this code (static/js/parts/page.js) that the drawing is at fault."""
    with pytest.raises(Refusal) as caught:
        cleaned({"parts": {"tail": {"state": "drawn", "polygons": polygons}}, "half": True})

    assert (caught.value.code, caught.value.field) == ("bad_value", "value")


def test_a_drawing_of_too_many_corners_altogether_is_refused(monkeypatch):
    monkeypatch.setattr("labeling.kinds.parts.MAX_CORNERS", 7)

    with pytest.raises(TooLarge, match="more than 7 corners altogether"):
        cleaned(answer(head=square(0, 0, 9), tail=square(20, 0, 9)))


def test_an_outline_is_taken_where_it_is_asked_for():
    value = answer() | {"outline": drawn(square(0, 0, 9))["polygons"]}

    assert parts.clean(value, SETTINGS | {"ask_outline": True}, ABOUT) == value


def test_a_category_that_the_campaign_lacks_is_refused():
    with pytest.raises(Refusal, match="no category"):
        parts.clean(answer(), SETTINGS, DrawingContext("n0", 10, 10))


def test_the_grade_is_the_mean_over_the_parts_of_gold():
    gold = answer(head=square(0, 0, 10), leg=square(0, 20, 10), tail="occluded")

    assert parts.grade(gold, gold) == 1
    assert parts.grade(answer(head=square(5, 0, 10), tail="occluded"), gold) == pytest.approx(
        (1 / 3 + 0 + 1) / 3
    )
    assert parts.likeness(answer(tail="not_visible"), gold) == {"head": 0, "leg": 0, "tail": 0}
    assert parts.grade(SKIP, gold) == parts.grade(gold, SKIP) == 0
    assert parts.grade(SKIP, {"skip": "no_part"}) == 1
    assert parts.grade(answer(), answer()) == 1


def test_right_is_what_overlaps_gold_as_much_as_the_policy_wants():
    gold, shifted = answer(head=square(0, 0, 10)), answer(head=square(1, 0, 10))

    assert parts.grade(shifted, gold) == pytest.approx(9 / 11)
    assert parts.is_right(shifted, gold, POLICY | {"gold_iou": 0.8})
    assert not parts.is_right(shifted, gold, POLICY | {"gold_iou": 0.83})
    assert parts.is_right(gold, gold, POLICY | {"gold_iou": 1.0})
    assert contains.is_right("yes", "yes", POLICY)
    assert not contains.is_right("hard", "yes", POLICY)


def test_words_of_answers_are_few():
    assert [parts.tally_name(value) for value in (answer(), SKIP, "drawn", "no_part")] == [
        "drawn",
        "too_small",
        "drawn",
        "no_part",
    ]
    assert [parts.vote(value) for value in (answer(), SKIP, "drawn", "no_part")] == [
        "drawn",
        None,
        "drawn",
        None,
    ]


def test_one_person_settles_with_the_very_answer():
    value = answer(head=square(0, 0, 10))

    assert parts.settle([value], POLICY) == Verdict("settled", value)
    assert parts.settle([SKIP], POLICY) == Verdict("dropped", "dropped")
    assert parts.settle([], POLICY) == Verdict("open", more=1)


def test_two_who_agree_settle_and_two_who_do_not_ask_a_third():
    first, near = answer(head=square(0, 0, 10)), answer(head=square(1, 0, 10))
    far = answer(head=square(60, 0, 10))

    assert parts.settle([first], TWO) == Verdict("open", more=1)
    settled = parts.settle([first, near], TWO)
    assert settled.state == "settled"
    assert settled.probability is None
    assert settled.value["parts"]["head"] == drawn(((((1, 0), (10, 0), (10, 10), (1, 10)),),))
    assert settled.value["agreement"]["head"] == {
        "voters": 2,
        "iou": pytest.approx(9 / 11, abs=1e-4),
        "boundary_f": pytest.approx(1.0),
        "least": pytest.approx(9 / 11, abs=1e-4),
    }
    assert parts.settle([first, far], TWO) == Verdict("open", more=1)
    torn = parts.settle([first, far, near], TWO)
    assert torn.state == "review"
    assert "head" in torn.value["parts"]


def test_states_that_differ_are_no_agreement():
    drawing, gone = answer(tail=square(0, 0, 10)), answer(tail="not_visible")

    assert parts.settle([drawing, gone], TWO).more == 1
    torn = parts.settle([drawing, gone, gone], TWO)
    assert torn.state == "review"
    assert torn.value["parts"]["tail"] == {"state": "not_visible"}
    assert torn.value["agreement"]["tail"]["boundary_f"] is None


def test_whoever_says_nothing_of_a_part_leaves_it():
    head = square(0, 0, 10)
    both = [answer(head=head, tail="occluded"), answer(head=head)]

    assert parts.settle(both, TWO).value["parts"] == answer(head=head, tail="occluded")["parts"]
    third = [*both, answer(head=head)]
    assert parts.settle(third, POLICY | {"votes": 3}).value["parts"] == answer(head=head)["parts"]


def test_skips_count_against_the_object_by_share():
    value = answer(head=square(0, 0, 10))
    policy = POLICY | {"votes": 3}

    assert parts.settle([value, SKIP, SKIP], policy).state == "dropped"
    assert parts.settle([value, value, SKIP], policy) == Verdict(
        "settled", parts.settle([value, value], TWO).value
    )
    everybody = policy | {"drop_share": 1.0}
    assert parts.settle([SKIP] * 3, everybody) == Verdict("review")


states = st.sampled_from(["drawn", "not_visible", "occluded", "silent", "skip"])


@given(st.lists(st.tuples(states, st.integers(0, 8), st.floats(0.05, 0.99)), max_size=4))
def test_the_order_of_the_votes_does_not_matter(drawings):
    def value(state, x):
        if state == "skip":
            return SKIP
        part = {"silent": {}, "drawn": {"tail": square(x, 0, 12)}}.get(state, {"tail": state})
        return answer(head=square(x, 20, 10), **part)

    people = [(value(state, x), weight) for state, x, weight in drawings]
    policy = TWO | {"max_votes": 4, "agree_iou": 0.2}

    results = {
        json.dumps(
            vars(parts.settle_weighted([v for v, _ in order], [w for _, w in order], policy)),
            sort_keys=True,
        )
        for order in itertools.permutations(people)
    }

    assert len(results) == 1


@given(st.lists(st.integers(0, 8), min_size=2, max_size=4))
def test_what_people_draw_together_is_an_answer_again(places):
    values = [answer(head=square(x, x, 12), leg=square(40 + x, 0, 5)) for x in places]

    drawing = joining.joined(values, [1.0] * len(values))

    assert drawing.pop("agreement").keys() == {"head", "leg"}
    assert cleaned(drawing) == drawing


def test_weights_decide_under_posterior():
    policy = POLICY | {"method": "posterior", "min_votes": 2, "agree_iou": 0.0}
    good, poor = answer(head=square(0, 0, 10)), answer(head=square(5, 0, 10))
    skills = deciding.Skills(accuracy={1: 0.95, 2: 0.4, 3: 0.4})
    votes = [
        deciding.Vote(person, [(moment, str(moment), value)])
        for moment, (person, value) in enumerate([(1, good), (2, poor), (3, poor)])
    ]

    verdict, counted = deciding.judge(parts, votes, policy, skills)

    assert verdict.state == "review"
    assert verdict.value["parts"] == good["parts"]
    assert len(counted) == 2


def test_standing_is_learned_from_gold_and_from_what_others_drew():
    gold = answer(head=square(0, 0, 10))
    near, far = answer(head=square(1, 0, 10)), answer(head=square(70, 0, 10))
    votes = [({1: gold, 2: far}, gold), ({1: near, 2: far, 3: near}, None), ({3: SKIP}, None)]

    annotators = parts.learn(votes, POLICY)["annotators"]

    assert annotators["1"]["gold"] == annotators["2"]["gold"] == 1
    assert annotators["1"] == {"accuracy": 0.88, "answers": 2, "gold": 1}
    assert annotators["2"]["accuracy"] == pytest.approx(2.4 / 5)
    assert annotators["3"]["accuracy"] > annotators["2"]["accuracy"]


def test_a_table_of_votes_says_nothing_of_drawings():
    with pytest.raises(Refusal, match="vote-table"):
        policies.check_kind(parts, POLICY | {"method": "vote-table"})
    policies.check_kind(parts, POLICY | {"method": "posterior"})
    policies.check_kind(contains, POLICY | {"method": "vote-table"})


def test_what_is_to_be_reviewed_waits_with_its_value():
    policy = policies.DEFAULTS | {"review": "all", "votes": 1}
    vote = deciding.Vote(1, [(0, "a", "yes")])

    verdict, _ = deciding.judge(contains, [vote], policy, deciding.NONE)

    assert verdict == Verdict("review", "yes", 1.0)
