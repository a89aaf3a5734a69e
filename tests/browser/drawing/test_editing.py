"""Corners and pieces that are there; undo and redo; eraser and lasso; drafts."""

import pytest

from tests.browser.drawing.conftest import area, circle

pytestmark = pytest.mark.browser

SQUARE = [[100, 50], [200, 50], [200, 150], [100, 150]]
BESIDE = [[200, 50], [300, 50], [300, 150], [200, 150]]


@pytest.fixture
def editing(hand):
    """The head is a square, its corners can be moved."""
    hand.load({"head": [[SQUARE]]})
    hand.press("e")
    return hand


def test_corner_is_dragged(editing):
    editing.drag((200, 150), (210, 160), (240.2, 180.4))

    [x, y] = editing.ring("head")[2]
    assert (x, y) == pytest.approx((240.2, 180.4), abs=0.4)  # a mouse stands on whole pixels
    assert editing.ring("head")[:2] == SQUARE[:2]


def test_press_on_an_edge_adds_a_corner_and_drags_it(editing):
    editing.drag((150, 50), (150, 40), (150, 20))

    ring = editing.ring("head")
    assert len(ring) == 5
    assert ring[1] == pytest.approx([150, 20], abs=0.4)


def test_press_on_an_edge_alone_adds_a_corner_on_it(editing):
    editing.click((150, 50))

    assert editing.ring("head")[1] == [150, 50]
    assert area(editing.shapes["head"]) == 10_000


def test_second_press_on_a_corner_removes_it(editing):
    editing.page.mouse.dblclick(*editing.on_page((200, 150)))

    assert editing.ring("head") == [[100, 50], [200, 50], [100, 150]]


def test_chosen_corner_is_removed_by_key(editing):
    editing.click((200, 150))
    editing.press("Delete")

    assert editing.ring("head") == [[100, 50], [200, 50], [100, 150]]


def test_triangle_goes_with_its_corner(editing):
    editing.load({"head": [[SQUARE, [[120, 70], [120, 120], [160, 120]]]]})
    editing.click((120, 70))
    editing.press("Delete")

    assert editing.shapes["head"] == [[SQUARE]]


def test_shared_corner_moves_on_both_sides(editing):
    editing.load({"head": [[SQUARE]], "body": [[BESIDE]]})
    editing.drag((200, 150), (215, 160), (220, 170))

    moved = editing.ring("head")[2]
    assert moved == pytest.approx([220, 170], abs=0.4)
    assert moved in editing.ring("body")


def test_corner_on_a_shared_edge_is_added_on_both_sides(editing):
    editing.load({"head": [[SQUARE]], "body": [[BESIDE]]})
    editing.drag((200, 100), (210, 100), (220, 100))

    assert editing.ring("head")[2] == editing.ring("body")[4]
    assert area(editing.shapes["head"]) + area(editing.shapes["body"]) == 20_000


def test_control_moves_the_parts_own_corner_alone(editing):
    editing.load({"head": [[SQUARE]], "body": [[BESIDE]]})
    editing.page.keyboard.down("Control")
    editing.drag((200, 150), (180, 160), (170, 170))
    editing.page.keyboard.up("Control")

    assert editing.ring("head")[2] != [200, 150]
    assert editing.shapes["body"] == [[BESIDE]]


def test_corner_dragged_across_an_edge_is_red_and_goes_back(editing):
    editing.drag((200, 150), (150, 40), (140, 20), release=False)
    assert editing.page.locator(".drawing-part.faulty").count() == 1

    editing.page.mouse.up()

    assert editing.shapes["head"] == [[SQUARE]]
    assert editing.aloud[-1].startswith("Head: The outline crosses or touches itself near")
    assert editing.page.locator(".drawing-part.faulty").count() == 0


def test_hole_dragged_across_its_outline_goes_back(editing):
    hole = [[120, 70], [120, 120], [160, 120]]
    editing.load({"head": [[SQUARE, hole]]})
    editing.drag((160, 120), (200, 130), (240, 130))

    assert editing.shapes["head"] == [[SQUARE, hole]]
    assert "would cross another outline" in editing.aloud[-1]


def test_piece_is_dragged_as_a_whole_and_stays_in_the_image(editing):
    editing.drag((150, 100), (160, 110), (170, 0))

    assert editing.shapes["head"] == [[[[120, 0], [220, 0], [220, 100], [120, 100]]]]


def test_press_within_another_part_chooses_it(editing):
    editing.load({"head": [[SQUARE]], "body": [[BESIDE]]})
    editing.click((250, 100))

    assert editing.js("drawing.selected") == "body"
    assert editing.events("select")[-1] == {"key": "body"}


def test_every_corner_and_stroke_can_be_undone_and_done_again(hand):
    hand.draw(*SQUARE)
    hand.press("b")
    hand.drag((250, 50), (300, 90))
    end = hand.shapes

    for _ in range(6):
        hand.press("Control+z")
    assert hand.shapes == {}
    assert not hand.js("drawing.canUndo")
    assert hand.events("history")[-1] == {"canUndo": False, "canRedo": True}

    for _ in range(6):
        hand.press("Control+Shift+z")
    assert hand.shapes == end
    assert not hand.js("drawing.canRedo")


def test_undo_has_no_limit(hand):
    hand.js(
        """() => {
          for (let i = 0; i < 2000; i += 1) {
            drawing.board.commit(new Map([["head", [[[[i / 10, 1], [250, 2], [250, 250]]]]]]));
          }
        }"""
    )
    hand.js("() => { for (let i = 0; i < 1999; i += 1) drawing.undo(); }")

    assert hand.ring("head")[0] == [0, 1]
    hand.js("drawing.undo()")
    assert hand.shapes == {}


def test_load_may_keep_the_history(hand):
    hand.draw(*SQUARE)
    hand.js("(ring) => drawing.load({ head: [[ring]] }, { keepHistory: true })", BESIDE)
    hand.press("Control+z")
    assert hand.ring("head") == SQUARE

    hand.load({})
    assert not hand.js("drawing.canUndo")


def test_eraser_takes_a_round_bite(hand):
    hand.load({"head": [[SQUARE]]})
    hand.press("x")
    hand.js("drawing.board.tool.resize(true, drawing.keyboard.how())")
    radius = hand.js("drawing.board.tool.radius()")
    hand.drag((100, 100), (100.5, 100))

    assert area(hand.shapes["head"]) == pytest.approx(10_000 - 3.1 * radius**2 / 2, rel=0.005)


def test_eraser_along_a_way_cuts_in_two(hand):
    hand.load({"head": [[SQUARE]]})
    hand.press("x")
    hand.drag((150, 40), (150, 80), (152, 120), (150, 170))

    assert len(hand.shapes["head"]) == 2
    width = 2 * hand.js("drawing.board.tool.radius()")
    assert area(hand.shapes["head"]) == pytest.approx(10_000 - 100 * width, rel=0.02)


def test_eraser_grows_and_shrinks_by_key(hand):
    hand.press("x")
    first = hand.js("drawing.board.tool.radius(drawing.keyboard.how())")
    hand.press("]", "]", "]", "[")

    assert hand.js("drawing.board.tool.radius()") == pytest.approx(first * 1.25**2)
    assert hand.aloud[-1].startswith("Eraser size: ")


def test_eraser_leaves_other_parts_alone(hand):
    hand.load({"head": [[SQUARE]], "body": [[BESIDE]]})
    hand.press("x")
    hand.drag((250, 60), (250, 100))

    assert hand.shapes == {"head": [[SQUARE]], "body": [[BESIDE]]}
    assert hand.aloud[-1] == "Nothing of the head lies there."


def test_lasso_follows_the_hand_with_few_corners(hand):
    hand.press("l")
    hand.drag(*circle(200, 150, 60, 300))

    assert 10 < len(hand.ring("head")) < 60
    assert area(hand.shapes["head"]) == pytest.approx(3.1416 * 3600, rel=0.02)


def test_lasso_is_finer_where_one_looks_nearer(hand):
    hand.press("l")
    hand.look(12, (200, 150))
    hand.drag(*circle(200, 150, 10, 300))

    assert area(hand.shapes["head"]) == pytest.approx(314.16, rel=0.01)
    xs = [x for x, _ in hand.ring("head")]
    assert 209.5 < max(xs) < 210.5


def test_lasso_loses_the_loop_where_its_ends_cross(hand):
    hand.press("l")
    hand.drag((150, 190), (150, 90), (250, 90), (250, 180), (140, 180), (140, 186))

    assert area(hand.shapes["head"]) == pytest.approx(9_000, rel=0.05)


def test_lasso_shaped_like_an_eight_stays_unfinished(hand):
    hand.press("l")
    hand.drag((150, 90), (250, 190), (250, 90), (150, 190))

    assert hand.shapes == {}
    assert "crosses or touches itself" in hand.aloud[-1]
    assert len(hand.js("drawing.state().stroke")) == 4

    hand.press("Backspace", "c")
    assert area(hand.shapes["head"]) == 5_000


def test_draft_comes_back_with_its_unfinished_stroke(hand, drawing_on):
    hand.draw(*SQUARE)
    hand.press("h")
    hand.click((120, 70), (160, 70))
    draft = hand.js("JSON.stringify(drawing.state())")

    reopened = drawing_on()
    assert reopened.js("(draft) => drawing.restore(JSON.parse(draft))", draft)

    assert reopened.js("drawing.selected") == "head"
    assert reopened.js("drawing.cutting")
    reopened.click((160, 120), (120, 120), (120, 70))
    assert area(reopened.shapes["head"]) == 10_000 - 2_000


def test_draft_holds_a_line_that_the_hand_is_drawing(hand):
    hand.press("l")
    hand.drag((100, 100), (150, 120), (200, 100), release=False)

    assert len(hand.js("drawing.state().stroke")) >= 3


def test_what_is_no_draft_changes_nothing(hand):
    hand.load({"head": [[SQUARE]]})

    for draft in (
        "null",
        "{}",
        '{"version": 1, "shapes": {"head": [[[[1, 2]]]]}, "stroke": []}',
        '{"version": 1, "shapes": {}, "stroke": [["a", 1]]}',
        '{"version": 9}',
    ):
        assert not hand.js("(draft) => drawing.restore(JSON.parse(draft))", draft), draft
        assert hand.shapes == {"head": [[SQUARE]]}, draft
