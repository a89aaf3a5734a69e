"""The chain: draw, check, look for more, until every instance has one good box."""

from labeling.boxes.chain import (
    CHECK,
    COMPLETE,
    COVER,
    DRAW,
    PROPOSED,
    REVIEW,
    BoxRejection,
    CheckedBox,
    CoverResult,
    DrawnBox,
    after,
    begin,
)
from labeling.boxes.rules import GOOD, BoxRules
from tests.cases import for_each

A, B, C = (0, 0, 10, 10), (20, 0, 30, 10), (0, 20, 10, 30)
ONE_LOOK = BoxRules(second_looks=0)
TWO_LOOKS = BoxRules(second_looks=1)
YES, NO = CheckedBox(GOOD), CheckedBox("loose")
ALL = CoverResult()


def walk(*answers, rules=ONE_LOOK, proposals=()):
    chain = begin("a.jpg n1", rules, proposals)
    for answer in answers:
        chain = after(chain, answer, rules)
    return chain


@for_each(
    ("answers", "step", "boxes"),
    [
        ((), DRAW, []),
        ((DrawnBox(A),), CHECK, []),
        ((DrawnBox(A), YES), COVER, [A]),
        ((DrawnBox(A), YES, ALL), COMPLETE, [A]),
        ((DrawnBox(A), YES, CoverResult(((25, 5),)), DrawnBox(B), YES), COVER, [A, B]),
        # Two are missing: both are drawn before anybody looks for more.
        ((DrawnBox(A), YES, CoverResult(((25, 5), (5, 25))), DrawnBox(B), YES), DRAW, [A, B]),
        ((DrawnBox(A), NO), DRAW, []),
    ],
)
def test_what_is_asked_next(answers, step, boxes):
    chain = walk(*answers)

    assert chain.step == step
    assert [drawn.box for drawn in chain.boxes] == boxes


def test_who_draws_again_reads_why_and_looks_at_the_same_place():
    chain = walk(DrawnBox(A), YES, CoverResult(((25, 5),)), DrawnBox(B), NO)

    assert (chain.step, chain.rejected, chain.attempt) == (DRAW, BoxRejection(B, "loose"), 2)
    assert chain.missing == ((25, 5),)


def test_attempts_and_contradictions_end_at_a_reviewer():
    assert walk(*(DrawnBox(A), NO) * 4).step == DRAW
    assert walk(*(DrawnBox(A), NO) * 5).step == REVIEW
    # Somebody sees one more, and whoever should draw it sees none.
    vain = (CoverResult(((25, 5),)), DrawnBox(None))
    assert walk(DrawnBox(A), YES, *vain).step == COVER
    assert walk(DrawnBox(A), YES, *vain * 2, ALL).step == COMPLETE
    assert walk(DrawnBox(A), YES, *vain * 3).step == REVIEW
    assert walk(*(DrawnBox(None),) * 2).step == DRAW
    assert walk(*(DrawnBox(None),) * 3).step == REVIEW


def test_one_box_is_looked_at_twice_where_the_rules_say_so():
    assert walk(DrawnBox(A), YES, ALL, rules=TWO_LOOKS).step == COVER
    assert walk(DrawnBox(A), YES, ALL, ALL, rules=TWO_LOOKS).step == COMPLETE
    two = (DrawnBox(A), YES, CoverResult(((25, 5),)), DrawnBox(B), YES)
    assert walk(*two, ALL, rules=TWO_LOOKS).step == COMPLETE
    # Who looks second finds one: whoever looked first no longer counts.
    late = (DrawnBox(A), YES, ALL, CoverResult(((25, 5),)), DrawnBox(None))
    assert walk(*late, ALL, rules=TWO_LOOKS).step == COVER


def test_proposals_are_checked_before_anything_is_drawn():
    chain = walk(proposals=(A, B))
    assert (chain.step, chain.box, chain.origin) == (CHECK, A, PROPOSED)

    chain = walk(YES, NO, proposals=(A, B))
    assert chain.step == COVER
    assert [(box.box, box.origin) for box in chain.boxes] == [(A, PROPOSED)]

    chain = walk(NO, proposals=(A,))
    assert (chain.step, chain.attempt, chain.rejected) == (DRAW, 1, None)


@for_each(
    ("votes", "decision"),
    [
        ([], None),
        (["good"], None),
        (["good", "good"], "good"),
        (["good", "loose"], None),
        (["good", "loose", "good"], "good"),
        (["loose", "good", "part"], "loose"),
        (["part", "part"], "part"),
    ],
)
def test_two_who_agree_decide(votes, decision):
    assert BoxRules().verdict(votes) == decision
