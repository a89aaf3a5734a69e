"""Polygons corner by corner: holes, pieces, faults, and what is said."""

import pytest

from tests.browser.drawing.conftest import area

pytestmark = pytest.mark.browser

SQUARE = [(100, 50), (200, 50), (200, 150), (100, 150)]


def test_polygon_closes_on_its_first_corner(hand):
    hand.draw(*SQUARE)

    assert hand.shapes == {"head": [[[list(corner) for corner in SQUARE]]]}
    assert hand.events("change")[-1] == {"reason": "stroke"}


def test_every_corner_is_told_to_the_page_and_to_listeners(hand):
    hand.click(*SQUARE[:2])

    assert [detail["reason"] for detail in hand.events("change")] == ["corner", "corner"]
    assert hand.announced[-2:] == ["head, corner 1 at 100, 50.", "head, corner 2 at 200, 50."]
    assert hand.shapes == {}
    assert hand.js("drawing.state().stroke") == [[100, 50], [200, 50]]


def test_closing_says_part_corners_and_area(hand):
    hand.draw(*SQUARE)

    assert hand.announced[-1] == "head closed with 4 corners; 4 corners, 10,000 square pixels."


def test_second_press_on_the_last_corner_closes(hand):
    hand.click(*SQUARE)
    hand.click(SQUARE[-1])

    assert area(hand.shapes["head"]) == 10_000


def test_nothing_is_drawn_before_a_part_is_chosen(drawing_on):
    hand = drawing_on()

    hand.click(*SQUARE)

    assert hand.js("drawing.state().stroke") == []
    assert hand.aloud[-1] == "Choose a part first; then draw it."


def test_two_corners_cannot_be_closed_and_say_why(hand):
    hand.click(*SQUARE[:2])
    hand.press("c")

    assert hand.shapes == {}
    assert hand.aloud[-1] == "A polygon needs 3 corners; place 1 more."
    assert len(hand.js("drawing.state().stroke")) == 2


def test_self_crossing_ring_is_red_stays_and_says_where(hand):
    hand.click((100, 50), (200, 150), (200, 50), (100, 150))
    assert hand.page.locator(".drawing-stroke.faulty").count() == 1

    hand.press("c")

    assert hand.shapes == {}
    assert hand.aloud[-1].startswith("The outline crosses or touches itself near 150, 100.")
    assert len(hand.js("drawing.state().stroke")) == 4

    hand.press("Backspace")
    hand.press("c")

    assert area(hand.shapes["head"]) == 5_000
    assert hand.page.locator(".drawing-stroke.faulty").count() == 0


def test_crossing_is_red_before_the_corner_is_placed(hand):
    hand.click((100, 50), (200, 150), (200, 50))
    hand.page.mouse.move(*hand.on_page((120, 150)))

    assert hand.page.locator(".drawing-stroke.faulty").count() == 1


def test_corners_on_one_line_cannot_be_closed(hand):
    hand.click((100, 50), (150, 50), (200, 50))
    hand.press("c")

    assert hand.shapes == {}
    assert hand.aloud


def test_second_outline_is_another_piece(hand):
    hand.select("body")
    hand.draw(*SQUARE)
    hand.draw((300, 50), (350, 50), (350, 100))

    assert [len(piece) for piece in hand.shapes["body"]] == [1, 1]
    assert hand.aloud == []


def test_second_piece_of_a_single_part_is_kept_and_remarked_on(hand):
    hand.draw(*SQUARE)
    hand.draw((300, 50), (350, 50), (350, 100))

    assert len(hand.shapes["head"]) == 2
    assert hand.aloud[-1] == "Only one head is allowed, and now there are 2 pieces."


def test_outline_that_overlaps_its_part_is_joined_to_it(hand):
    hand.draw(*SQUARE)
    hand.draw((150, 100), (260, 100), (260, 130), (150, 130))

    assert len(hand.shapes["head"]) == 1
    assert area(hand.shapes["head"]) == 10_000 + 60 * 30


def test_cutting_makes_a_hole(hand):
    hand.draw(*SQUARE)
    hand.press("h")
    hand.draw((120, 70), (160, 70), (160, 120), (120, 120))

    [[outer, hole]] = hand.shapes["head"]
    assert sorted(hole) == [[120, 70], [120, 120], [160, 70], [160, 120]]
    assert sorted(outer) == sorted(list(corner) for corner in SQUARE)


def test_cutting_across_leaves_two_pieces(hand):
    hand.draw(*SQUARE)
    hand.press("h", "b")
    hand.drag((140, 40), (160, 170))

    assert len(hand.shapes["head"]) == 2
    assert area(hand.shapes["head"]) == 8_000


def test_part_without_holes_refuses_one_and_keeps_the_stroke(hand):
    hand.select("left-ear")
    hand.draw(*SQUARE)
    hand.press("h")
    hand.draw((120, 70), (160, 70), (160, 120), (120, 120))

    assert area(hand.shapes["left-ear"]) == 10_000
    assert hand.aloud[-1] == "The left ear may have no holes. Cut from its edge instead."
    assert len(hand.js("drawing.state().stroke")) == 4


def test_outline_within_its_part_says_how_to_cut(hand):
    hand.draw(*SQUARE)
    inner = [(120, 70), (160, 70), (160, 120), (120, 120)]
    hand.draw(*inner)
    assert "turn cutting on (h)" in hand.aloud[-1]

    hand.press("h", "c")

    assert len(hand.shapes["head"][0]) == 2


def test_whole_part_is_not_cut_away_by_a_stroke(hand):
    hand.draw(*SQUARE)
    hand.press("h", "b")
    hand.drag((90, 40), (220, 170))

    assert area(hand.shapes["head"]) == 10_000
    assert hand.aloud[-1] == "That would remove the whole head. Delete it instead."


def test_pieces_and_holes_are_deleted_under_the_cursor(hand):
    hand.load(
        {
            "head": [
                [[list(c) for c in SQUARE], [[120, 70], [120, 120], [160, 120], [160, 70]]],
                [[[300, 50], [350, 50], [350, 100]]],
            ]
        }
    )
    hand.js("drawing.keyboard.point = [140, 100]")
    hand.press("Shift+Delete")
    assert [len(piece) for piece in hand.shapes["head"]] == [1, 1]

    hand.js("drawing.keyboard.point = [340, 60]")
    hand.press("Shift+Delete")
    assert hand.shapes["head"] == [[[list(c) for c in SQUARE]]]


def test_piece_under_the_mouse_is_deleted(hand):
    hand.draw(*SQUARE)
    hand.page.mouse.move(*hand.on_page((150, 100)))
    hand.press("Shift+Delete")

    assert hand.shapes == {}


def test_box_is_drawn_from_corner_to_corner(hand):
    hand.press("b")
    hand.drag((180, 150), (150, 90), (100.5, 50))

    assert hand.ring("head") == [[100.5, 50], [180, 50], [180, 150], [100.5, 150]]


def test_box_without_extent_is_nothing(hand):
    hand.press("b")
    hand.click((100, 50))

    assert hand.shapes == {}


def test_corners_stay_in_the_image(hand):
    hand.look(1, (0, 0))
    hand.draw((-40, -20), (60, -20), (60, 50))

    assert hand.ring("head") == [[0, 0], [60, 0], [60, 50]]


def test_escape_gives_the_stroke_up_and_undo_brings_it_back(hand):
    hand.click(*SQUARE[:3])
    hand.press("Escape")
    assert hand.js("drawing.state().stroke") == []

    hand.press("Control+z")

    assert len(hand.js("drawing.state().stroke")) == 3


def test_unfinished_stroke_stays_with_its_part(hand):
    hand.click((100, 50), (200, 50))
    hand.select("body")
    assert hand.js("drawing.state().stroke") == []
    assert hand.page.locator(".drawing-waiting").get_attribute("d") == "M100 50L200 50"
    hand.draw((300, 50), (400, 50), (400, 150))

    assert hand.shapes == {"body": [[[[300, 50], [400, 50], [400, 150]]]]}
    assert hand.js("drawing.unfinished()") == ["head"]
    hand.select("head")
    hand.click((200, 150), (100, 50))
    assert hand.ring("head") == [[100, 50], [200, 50], [200, 150]]
    assert hand.js("drawing.unfinished()") == []


def test_undo_chooses_the_part_whose_stroke_it_takes_back(hand):
    hand.click((100, 50), (200, 50))
    hand.select("body")

    hand.press("Control+z")

    assert hand.js("[drawing.selected, drawing.state().stroke]") == ["head", [[100, 50]]]


def test_what_the_keyboard_began_for_a_part_does_not_end_in_the_next(hand):
    hand.press("b", "ArrowRight", "Enter", "ArrowRight", "ArrowDown", "PageDown", "Enter")

    assert hand.shapes == {}


def test_draft_holds_the_unfinished_strokes_of_all_parts(hand):
    hand.click((100, 50), (200, 50))
    hand.select("body")
    hand.click((300, 50))
    state = hand.js("drawing.state()")
    hand.load({})

    assert hand.js("(state) => drawing.restore(state)", state)

    assert hand.js("drawing.state()") == state
    assert state["strokes"] == {"head": [[100, 50], [200, 50]]}
    assert hand.js("(state) => drawing.restore(state)", {**state, "strokes": {"head": 3}}) is False


def test_draft_without_the_strokes_of_other_parts_is_taken(hand):
    hand.click((100, 50), (200, 50))
    state = hand.js("drawing.state()")
    del state["strokes"]

    assert hand.js("(state) => drawing.restore(state)", state)

    assert hand.js("drawing.state().stroke") == [[100, 50], [200, 50]]
