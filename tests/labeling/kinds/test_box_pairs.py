"""What a pair of image and class asks next follows from what was settled of it."""

from dataclasses import replace

import pytest

from labeling.boxes.chain import COMPLETE
from labeling.boxes.rules import BoxRules
from labeling.kinds.box_pairs import PairQuestion, Wanted, first_question, replay

RULES = BoxRules(second_looks=0)
A, B = [0.0, 0.0, 10.0, 10.0], [20.0, 0.0, 30.0, 10.0]


class Story:
    """A pair whose questions are opened as they are wanted, and answered one after another."""

    def __init__(self, rules=RULES, proposals=()):
        self.rules = rules
        question = first_question("a.jpg n1", rules, proposals)
        self.rows = [PairQuestion(1, question.step, "open", question.content, rules)]

    def answered(self, value, *people, state="settled"):
        """The story after the open question was settled so."""
        row = self.rows[-1]
        self.rows[-1] = replace(row, state=state, value=value, people=frozenset(people))
        self.follow()
        return self

    def follow(self):
        chain = replay("a.jpg n1", self.rows)
        changed = dict.fromkeys(chain.withdraw, True) | dict.fromkeys(chain.reopen, False)
        self.rows = [
            replace(
                row,
                state="withdrawn" if changed[row.id] else "open",
                content={**row.content, "aside": changed[row.id]},
            )
            if row.id in changed
            else row
            for row in self.rows
        ]
        if chain.open:
            step, content, barred = chain.open.step, chain.open.content, chain.open.barred
            row = PairQuestion(len(self.rows) + 1, step, "open", content, self.rules, barred=barred)
            self.rows.append(row)
        return chain

    @property
    def question(self):
        return self.rows[-1].step, self.rows[-1].content

    def barred(self):
        """Who must not answer the question that was opened last."""
        return set(replay("a.jpg n1", self.rows[:-1]).open.barred)


def box(sides):
    return {"box": sides, "how": "drag", "flags": []}


def test_an_image_with_one_object():
    story = Story().answered(box(A), 1)
    assert story.question == ("check", {"number": 1, "boxes": [], "box": A, "came": "drawn"})

    story.answered("good", 2, 3)
    assert story.question == ("cover", {"number": 2, "boxes": [A]})

    story.answered("complete", 4)
    followed = story.follow()
    assert (followed.chain.step, followed.open, len(story.rows)) == (COMPLETE, None, 3)


def test_whoever_drew_neither_checks_nor_covers_nor_draws_it_again():
    story = Story().answered(box(A), 1)
    assert story.barred() == {1}

    story.answered({"reason": "loose", "sides": ["left"]}, 2, 3)
    assert story.barred() == {1}
    assert story.question[1]["rejected"] == {"box": A, "reason": "loose", "sides": ["left"]}

    story.answered(box(B), 2)
    assert story.barred() == {2}

    story.answered("good", 1, 3)
    assert story.barred() == {2}


def test_a_second_look_is_a_second_persons():
    story = Story(BoxRules(second_looks=1)).answered(box(A), 1).answered("good", 2, 3)

    story.answered("complete", 4)

    assert story.question[0] == "cover"
    assert story.barred() == {1, 4}


def test_whoever_saw_nothing_to_draw_is_not_asked_again():
    story = Story().answered("none", 1)

    assert story.question == ("draw", {"number": 1, "boxes": []})
    assert story.barred() == {1}


def test_an_instance_that_was_pointed_at_is_drawn_there():
    story = Story().answered(box(A), 1).answered("good", 2, 3)

    story.answered({"missing": [[25.0, 5.0]]}, 4)

    assert story.question == ("draw", {"number": 3, "boxes": [A], "at": [25.0, 5.0]})
    assert story.barred() == set()


def test_proposals_are_checked_by_anybody_in_their_order():
    story = Story(proposals=[tuple(A), tuple(B)])
    assert story.question == (
        "check",
        {"number": 0, "boxes": [], "box": A, "came": "proposed", "proposals": [A, B]},
    )

    story.answered("good", 1, 2)
    assert story.barred() == set()
    assert story.question == ("check", {"number": 1, "boxes": [A], "box": B, "came": "proposed"})

    # As those who checked it mended it.
    story.answered({"box": [20.0, 0.0, 32.0, 10.0], "flags": ["truncated"]}, 1, 2)
    assert story.question == ("cover", {"number": 2, "boxes": [A, [20.0, 0.0, 32.0, 10.0]]})
    assert replay("a.jpg n1", story.rows).chain.boxes[1].flags == ("truncated",)


def test_what_a_changed_settlement_opened_is_put_aside_and_comes_back():
    story = Story().answered(box(A), 1).answered("good", 2, 3).answered("complete", 4)
    kept = story.rows

    story.rows = [kept[0], replace(kept[1], value="loose"), kept[2]]
    followed = story.follow()
    assert followed.withdraw == [kept[2].id]
    assert followed.open.step == "draw"

    # The block is lifted: the check says good again.
    story.rows[1] = kept[1]
    followed = story.follow()
    assert (followed.reopen, followed.withdraw) == ([kept[2].id], [story.rows[3].id])
    assert story.rows[3].state == "withdrawn"


def test_a_check_does_not_come_back_for_a_box_that_one_of_the_checkers_drew():
    story = Story().answered(box(A), 1).answered("good", 2, 3)
    drawn, checked = story.rows[:2]

    # The drawer is blocked, and a checker draws the very same box.
    story.rows[0] = replace(drawn, state="open", value=None, people=frozenset())
    story.follow()
    story.rows[0] = replace(drawn, people=frozenset([2]))
    followed = story.follow()
    assert (followed.open.step, followed.open.barred) == ("check", {2})

    # The block is lifted: the first check counts again.
    story.rows[0] = drawn
    followed = story.follow()
    assert (followed.open, followed.reopen, followed.withdraw) == (None, [checked.id], [4])


def test_an_open_check_is_asked_anew_if_its_box_is_somebody_elses_now():
    """Whoever it is now might be asked to check it."""
    story = Story().answered(box(A), 1)

    story.rows[0] = replace(story.rows[0], people=frozenset([2]))
    followed = story.follow()

    assert (followed.open.step, followed.open.barred, followed.withdraw) == ("check", {2}, [2])


def test_what_a_researcher_withdrew_stays_so():
    story = Story().answered(box(A), 1)
    story.rows[-1] = replace(story.rows[-1], state="withdrawn")

    followed = story.follow()

    assert (followed.open, followed.reopen, followed.chain.coverage) == (None, [], "unknown")


def test_an_image_that_was_given_up_asks_nothing_more():
    story = Story().answered(box(A), 1).answered("good", 2, 3)

    story.answered("dropped", state="dropped")

    assert (story.follow().open, len(story.rows)) == (None, 3)


@pytest.mark.parametrize(
    ("state", "boxes"), [("complete", [A, B]), ("partial", [A]), ("absent", [])]
)
def test_a_reviewer_ends_what_goes_round_in_circles(state, boxes):
    story = Story()
    for person in (1, 2, 3):
        story.answered("none", person)
    assert story.question == ("review", {"number": 3, "boxes": []})

    rows = [{"box": sides, "flags": [], "came": "drawn"} for sides in boxes]
    story.answered({"boxes": rows, "state": state})

    chain = story.follow().chain
    assert (chain.step, chain.coverage) == (COMPLETE, state)
    assert [list(drawn.box) for drawn in chain.boxes] == boxes


def test_five_people_are_enough_for_ten_objects():
    rules = BoxRules(second_looks=1)
    story = Story(rules)
    people = set(range(5))
    boxes = [[20.0 * n, 0.0, 20.0 * n + 10, 10.0] for n in range(10)]
    turn = 0

    def able(question: Wanted | None) -> list[int]:
        barred = question.barred if question else frozenset()
        left = sorted(people - barred)
        return left[turn % len(left) :] + left[: turn % len(left)]

    question = None
    while story.rows[-1].state == "open":
        turn += 1
        step, content = story.question
        free = able(question)
        if step == "draw":
            value, count = box(boxes[len(content.get("boxes", []))]), 1
        elif step == "check":
            # The most that a check can take.
            value, count = "good", 3
        else:
            missing = [[sides[0] + 5, 5.0] for sides in boxes[len(content["boxes"]) :]]
            value, count = ({"missing": missing} if missing else "complete"), 1
        assert len(free) >= count
        row = replace(story.rows[-1], state="settled", value=value, people=frozenset(free[:count]))
        story.rows[-1] = row
        question = replay("a.jpg n1", story.rows).open
        story.follow()
    assert len(replay("a.jpg n1", story.rows).chain.boxes) == 10
    assert replay("a.jpg n1", story.rows).chain.coverage == "complete"
