import itertools
from collections import Counter

import pytest

from labeling.errors import Refusal
from labeling.kinds import KINDS, Verdict, policies
from labeling.kinds.mistake import TAGS
from labeling.kinds.votes import plurality, votes_needed
from tests.cases import for_each

contains, naming, mistake = KINDS["contains"], KINDS["naming"], KINDS["mistake"]
POLICY = policies.DEFAULTS
VOCABULARY = naming.clean_settings(
    {"vocabulary": [{"key": "n01", "name": "coot"}, {"key": "n02", "name": "drake"}]}
)


@for_each("name", KINDS)
def test_a_kind_is_kept_by_its_name(name):
    assert name == KINDS[name].name


@for_each(
    ("values", "verdict"),
    [
        (["yes"] * 5, Verdict("settled", "yes", 1.0)),
        (["yes", "no", "no", "no", "yes"], Verdict("settled", "no", 0.6)),
        (["hard", "hard", "not_photo", "yes", "yes"], Verdict("settled", "yes", 1.0)),
        (["hard", "hard", "not_photo", "hard", "yes"], Verdict("dropped", "dropped")),
        (["not_photo"] * 5, Verdict("dropped", "dropped")),
        (["hard", "hard", "hard", "yes", "no"], Verdict("open", more=1)),
        (["hard", "yes", "yes", "no", "no"], Verdict("open", more=1)),
        (["hard", "hard", "hard", "yes", "no", "hard"], Verdict("dropped", "dropped")),
        (["yes", "no"] * 4 + ["hard"], Verdict("review", "no", 0.5)),
        (["yes"] * 4, Verdict("open", more=1)),
        ([], Verdict("open", more=5)),
    ],
)
def test_the_majority_of_those_who_could_answer_settles(values, verdict):
    assert contains.settle(values, POLICY) == verdict


def test_the_order_of_the_votes_does_not_matter():
    for values in itertools.combinations_with_replacement(["yes", "no", "hard", "not_photo"], 5):
        verdicts = {contains.settle(order, POLICY) for order in itertools.permutations(values)}
        assert len(verdicts) == 1


def test_three_of_five_is_not_more_than_three_fifths_at_any_size():
    policy = POLICY | {"max_votes": 100}
    for fives in range(1, 12):
        abstained = [None] * (3 * fives)
        assert plurality([*abstained, *["yes"] * (2 * fives)], policy).state == "settled"
        assert plurality([*abstained, None, *["yes"] * (2 * fives - 1)], policy).state == "dropped"


def test_nobody_able_to_answer_is_a_tie_where_nothing_is_dropped():
    policy = POLICY | {"drop_share": 1.0}

    assert contains.settle(["hard"] * 5, policy) == Verdict("open", more=1)
    assert contains.settle(["hard"] * 9, policy) == Verdict("review")


@for_each("value", ["maybe", "", None, 1, ["yes"], {"yes": 1}, True])
def test_an_answer_outside_the_four_is_refused(value):
    with pytest.raises(Refusal) as refused:
        contains.clean(value, {})

    assert refused.value.code == "bad_value"


@pytest.mark.parametrize(
    ("fields", "kept"),
    [({}, {}), ({"swiping": True}, {}), ({"swiping": False}, {"swiping": False})],
)
def test_contains_keeps_only_that_swiping_is_forbidden(fields, kept):
    assert contains.clean_settings(fields) == kept
    with pytest.raises(Refusal, match="swiping is 'no'"):
        contains.clean_settings({"swiping": "no"})


def test_contains_takes_its_four_answers_and_no_other_settings():
    assert [contains.clean(value, {}) for value, _, _ in contains.options] == [
        "yes",
        "no",
        "hard",
        "not_photo",
    ]
    assert contains.clean_settings({}) == {}
    with pytest.raises(Refusal):
        contains.clean_settings({"colour": "red"})


def test_gold_grades_only_the_known_answer_as_right():
    assert [contains.grade(value, "yes") for value in ("yes", "no", "hard")] == [1.0, 0.0, 0.0]
    assert naming.grade({"key": "n01"}, {"key": "n01"}) == 1.0
    assert naming.grade({"key": "n02"}, {"key": "n01"}) == 0.0


def test_naming_settles_on_the_class_most_people_named():
    coot, drake = {"key": "n01"}, {"key": "n02"}

    assert naming.settle([coot, coot, drake, "none", "hard"], POLICY) == Verdict(
        "settled", coot, 0.5
    )
    assert naming.settle([coot, coot, drake, drake, "none"], POLICY).more == 1
    assert naming.settle(["none"] * 3 + [coot, drake], POLICY) == Verdict("settled", "none", 0.6)
    assert naming.settle(["hard"] * 4 + [coot], POLICY).state == "dropped"


@for_each(
    "value", [{"key": "n03"}, {"key": "n01", "x": 1}, {"key": ["n01"]}, "n01", "yes", None, []]
)
def test_naming_refuses_what_its_vocabulary_has_not(value):
    with pytest.raises(Refusal):
        naming.clean(value, VOCABULARY)


@for_each(
    "vocabulary",
    [
        None,
        [],
        [{"key": "n01"}],
        [{"key": "n01", "name": "a"}, {"key": "n01", "name": "b"}],
        [{"key": "none", "name": "a"}],
        ["n01"],
        "n01",
    ],
)
def test_a_vocabulary_needs_distinct_keys_with_names(vocabulary):
    with pytest.raises(Refusal) as refused:
        naming.clean_settings({"vocabulary": vocabulary})

    assert refused.value.field == "vocabulary"


def test_naming_may_ask_in_other_words():
    settings = naming.clean_settings(VOCABULARY | {"question": " What is it? "})

    assert settings == VOCABULARY | {"question": "What is it?"}
    assert naming.clean_settings(VOCABULARY | {"question": " "}) == VOCABULARY
    for words in (7, "x" * 81):
        with pytest.raises(Refusal) as refused:
            naming.clean_settings(VOCABULARY | {"question": words})
        assert refused.value.field == "question"


LISTED = naming.clean_settings(
    {"vocabulary": [{"key": f"n0{i}", "name": f"class {i}"} for i in range(9)], "most": 5}
)


def ranked(*numbers: int) -> dict:
    return {"keys": [f"n0{number}" for number in numbers]}


def test_an_answer_lists_up_to_as_many_classes_as_the_settings_allow():
    assert naming.clean(ranked(3, 1, 4, 0, 5), LISTED) == ranked(3, 1, 4, 0, 5)
    assert naming.clean({"key": "n03"}, LISTED) == ranked(3)
    assert naming.clean("none", LISTED) == "none"
    for value in (ranked(), ranked(1, 1), ranked(1, 2, 3, 4, 5, 6), {"keys": [["n01"]]}, "n01"):
        with pytest.raises(Refusal):
            naming.clean(value, LISTED)
    with pytest.raises(Refusal):
        naming.clean({"keys": ["n01", "n02"]}, VOCABULARY)
    assert naming.clean({"keys": ["n01"]}, VOCABULARY) == {"key": "n01"}


@for_each("most", [0, 6, True, "5", 2.0])
def test_no_more_than_five_classes_are_asked_for(most):
    with pytest.raises(Refusal) as refused:
        naming.clean_settings(VOCABULARY | {"most": most})

    assert refused.value.field == "most"


def test_one_class_is_the_naming_that_was():
    assert naming.clean_settings(VOCABULARY | {"most": 1}) == VOCABULARY


def test_a_listed_answer_votes_for_its_first_class():
    answers = [ranked(1, 2), ranked(1, 3), ranked(2, 1), "none", "hard"]

    assert naming.settle(answers, POLICY) == Verdict("settled", {"key": "n01"}, 0.5)


def test_gold_is_met_by_any_of_the_listed_classes():
    assert naming.grade(ranked(3, 1), ranked(1)) == 1.0
    assert naming.grade(ranked(3, 2), ranked(1)) == 0.0
    assert naming.grade(ranked(3, 2), ranked(1, 2)) == 1.0
    assert [naming.grade(value, "none") for value in ("none", ranked(1))] == [1.0, 0.0]


def test_ranks_are_what_was_settled_on_then_the_classes_with_the_most_points():
    answers = [ranked(1, 2, 3), ranked(4, 2), ranked(4, 1), "none", "hard"]

    # Points: 4 has 10, 1 and 2 have 9 and 8, 3 has 3.
    assert naming.ranked(answers, None) == ["n04", "n01", "n02", "n03"]
    assert naming.ranked(answers, {"key": "n03"}) == ["n03", "n04", "n01", "n02"]
    assert naming.ranked([{"key": "n01"}, "none"], {"key": "n01"}) == []


@for_each("votes", [1, 2, 3, 4, 5])
@for_each("share", [0, 0.2, 0.5, 0.6, 1])
def test_a_majority_is_decided_as_soon_as_no_missing_vote_could_change_it(votes, share):
    """Against all ways in which the missing votes may fall."""
    full = POLICY | {"votes": votes, "max_votes": votes + 1, "drop_share": share}
    early = full | {"stop_early": "decided"}
    words = ("yes", "no", "other", None)

    def ends(cast):
        rest = itertools.product(words, repeat=votes - len(cast))
        results = {plurality([*cast, *more], full) for more in rest}
        return {(verdict.state, verdict.value) for verdict in results}

    for size in range(votes + 1):
        for cast in itertools.combinations_with_replacement(words, size):
            result = plurality(cast, early)
            if size < votes and (
                ends(cast) == {("dropped", "dropped")}
                or (len(ends(cast)) == 1 and {state for state, _ in ends(cast)} == {"settled"})
            ):
                assert {(result.state, result.value)} == ends(cast)
            elif size < votes:
                able = Counter(word for word in cast if word is not None)
                missing = votes_needed(able, size - able.total(), early)
                assert result == Verdict("open", more=missing)
                assert missing == _fewest(cast, words, votes, early)
            else:
                assert result == plurality(cast, full)


def _fewest(cast, words, votes, policy):
    """How many more votes could decide, by trying."""
    missing = votes - len(cast)
    for more in range(1, missing):
        for rest in itertools.combinations_with_replacement(words, more):
            if plurality([*cast, *rest], policy).state != "open":
                return more
    return missing


def test_policies_from_before_ask_for_all_votes():
    policy = {"votes": 5, "max_votes": 9, "drop_share": 0.6}

    assert plurality(["yes"] * 3, policy) == Verdict("open", more=2)
    assert plurality(["yes"] * 3, policies.DEFAULTS) == Verdict("open", more=2)
    early = policies.DEFAULTS | policies.NEW_DEFAULTS
    assert plurality(["yes"] * 3, early) == Verdict("settled", "yes", 1.0)
    assert plurality([None, None, "yes", "yes"], early).state == "settled"
    assert plurality([None] * 4, early) == Verdict("dropped", "dropped")


def test_a_mistake_is_a_word_or_a_word_with_tags_in_their_order():
    assert mistake.clean("valid", {}) == "valid"
    assert mistake.clean({"answer": "major", "tags": []}, {}) == "major"
    tagged = mistake.clean({"answer": "major", "tags": ["collage", "filter", "collage"]}, {})
    assert tagged == {"answer": "major", "tags": ["filter", "collage"]}
    assert mistake.in_words(tagged, {}) == "Major mistake · Filter · Collage"


def test_tags_decide_nothing():
    tagged = {"answer": "major", "tags": ["collage"]}

    verdict = mistake.settle([tagged, "major", "minor", "major", tagged], POLICY)

    assert verdict == Verdict("settled", "major", 0.8)
    assert mistake.grade(tagged, "major") == 1
    assert mistake.grade("minor", tagged) == 0


@for_each(
    "value",
    [
        {"answer": "perhaps", "tags": ["collage"]},
        {"answer": "major", "tags": ["blurred"]},
        {"answer": "major", "tags": [["collage"]]},
        {"answer": "major", "tags": "collage"},
        {"answer": "major", "tags": ["collage"], "note": "x"},
        {"tags": ["collage"]},
        ["major"],
    ],
)
def test_other_tags_and_other_keys_are_refused(value):
    with pytest.raises(Refusal) as refused:
        mistake.clean(value, {})

    assert (refused.value.code, refused.value.field) == ("bad_value", "value")


def test_no_key_of_the_page_of_mistakes_means_two_things():
    taken = [key for _, _, key in mistake.options] + [tag.key for tag in TAGS]

    # What every page has: back, skip, instructions; and here the panel of tags.
    assert not {"u", "s", "i", "q"} & set(taken)
    assert len(set(taken)) == len(taken) == 4 + 13
