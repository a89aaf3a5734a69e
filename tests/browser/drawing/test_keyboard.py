"""Drawing with the keyboard alone, what is read aloud, and how it looks."""

import re

import pytest

from tests.browser.conftest import expect
from tests.browser.drawing.conftest import area

pytestmark = pytest.mark.browser

SQUARE = [[100, 50], [200, 50], [200, 150], [100, 150]]


def walk(hand, key, times):
    hand.press(*[key] * times)


def test_polygon_is_drawn_edited_and_undone_by_keys_alone(drawing_on):
    hand = drawing_on()
    hand.press("PageDown", "p", "Enter")
    for way in ("ArrowRight", "ArrowDown", "ArrowLeft"):
        walk(hand, way, 5)
        hand.press("Enter")
    walk(hand, "ArrowUp", 5)
    hand.press("Enter")

    side = 50 / hand.js("drawing.view.scale")
    assert hand.js("drawing.selected") == "head"
    assert area(hand.shapes["head"]) == pytest.approx(side**2, rel=0.01)

    hand.press("e", "n", "Enter")
    walk(hand, "ArrowLeft", 3)
    hand.press("Enter")
    assert area(hand.shapes["head"]) > side**2 * 1.2

    hand.press("n", "a", "Delete", "Control+z", "Control+z", "Control+z")
    assert area(hand.shapes["head"]) == pytest.approx(side**2, rel=0.01)


def test_cursor_is_faster_with_shift_and_finer_with_alt(hand):
    hand.press("Enter", "Escape")
    x = hand.js("drawing.keyboard.point[0]")
    scale = hand.js("drawing.view.scale")
    steps = []
    for keys in ("ArrowRight", "Shift+ArrowRight", "Alt+ArrowRight"):
        hand.press(keys)
        steps.append(hand.js("drawing.keyboard.point[0]") - x)
        x = hand.js("drawing.keyboard.point[0]")

    assert steps == pytest.approx([10 / scale, 50 / scale, 1 / scale], abs=0.11)


def test_cursor_moves_by_a_tenth_when_looked_at_closely(hand):
    hand.look(40, (150, 100))
    hand.press("Alt+ArrowRight")
    x = hand.js("drawing.keyboard.point[0]")
    hand.press("Alt+ArrowRight")

    assert hand.js("drawing.keyboard.point[0]") == pytest.approx(x + 0.1)


def test_view_follows_the_cursor(hand):
    hand.look(8, (150, 100))
    walk(hand, "Shift+ArrowRight", 12)

    x, _ = hand.on_page(hand.js("drawing.keyboard.point"))
    box = hand.page.locator("#root").bounding_box()
    assert box["x"] < x < box["x"] + box["width"]


def test_cursor_snaps_and_says_where_it_is(hand):
    hand.load({"body": [[SQUARE]]})
    hand.js("drawing.keyboard.point = [202, 52]")
    hand.press("Enter")
    assert hand.announced[-1] == "head, corner 1 at 200, 50, on the body."

    hand.js("drawing.keyboard.point = [150, 100]")
    hand.press("ArrowUp")
    expect(hand.page.locator("#below")).to_have_text(re.compile(", body$"))


@pytest.mark.parametrize("tool", ["b", "l", "x"])
def test_enter_begins_and_ends_strokes(hand, tool):
    hand.load({"head": [[SQUARE]]})
    hand.js("drawing.keyboard.point = [180, 130]")
    hand.press(tool, "Enter")
    walk(hand, "ArrowRight", 5)
    walk(hand, "ArrowDown", 5)
    walk(hand, "ArrowLeft", 3)
    hand.press("Enter")

    grew = area(hand.shapes["head"]) > 10_000
    assert grew is (tool != "x")
    assert area(hand.shapes["head"]) != 10_000


def test_piece_is_picked_up_moved_and_put_back_with_escape(hand):
    hand.load({"head": [[SQUARE]]})
    hand.press("e")
    hand.js("drawing.keyboard.point = [150, 100]")
    hand.press("Enter", "ArrowRight", "Escape")
    assert hand.shapes["head"] == [[SQUARE]]

    hand.press("Enter", "Shift+ArrowRight", "Enter")
    assert hand.ring("head")[0][0] > 115


def test_pointer_takes_over_from_the_keyboard(hand):
    hand.press("ArrowRight")
    assert hand.page.locator(".drawing-cursor").get_attribute("d")

    hand.page.mouse.move(*hand.on_page((150, 100)))

    assert hand.page.locator(".drawing-cursor").get_attribute("d") == ""


def test_keys_for_others_are_left_alone(hand):
    for key in ("i", "?", "Tab", "F5", "1"):
        taken = hand.js("(key) => drawing.handleKey(new KeyboardEvent('keydown', { key }))", key)
        assert not taken, key
    for key in ("c", "s", "a"):
        assert not hand.js(
            "(key) => drawing.handleKey(new KeyboardEvent('keydown', { key, ctrlKey: true }))", key
        )


def test_sheet_of_keys_names_every_key(hand):
    sheet = " ".join(keys for keys, _ in hand.js("drawing.keys()"))

    for key in hand.js("Object.keys(drawing.keyboard.actions)"):
        words = {"PageUp": "Page up", "PageDown": "Page down", "=": "+", "-": "−"}
        assert words.get(key, key) in sheet, key


def test_drawing_is_named_and_takes_the_focus(hand):
    svg = hand.page.locator(".drawing")

    assert svg.get_attribute("role") == "application"
    assert svg.get_attribute("aria-label") == "Drawing: head, polygon"
    hand.page.keyboard.press("Tab")
    assert svg.evaluate("(svg) => document.activeElement === svg")
    assert svg.evaluate("(svg) => parseFloat(getComputedStyle(svg).outlineWidth)") >= 2
    hand.press("h", "l")
    assert svg.get_attribute("aria-label") == "Drawing: head, lasso, cutting"


def test_engine_speaks_by_itself_where_the_page_does_not(drawing_on):
    hand = drawing_on(engine={"announce": None})
    hand.select("head")
    hand.click((100, 100))

    assert hand.page.locator("[role=status]").text_content() == "head, corner 1 at 100, 100."


def test_drawing_looks_right_and_axe_finds_nothing(drawing_on, looked_at):
    hand = drawing_on()
    hand.select("head")
    hand.load(
        {
            "head": [[[[130, 40], [330, 40], [350, 150], [250, 230], [130, 170]],
                      [[180, 100], [180, 140], [220, 140], [220, 100]]]],
            "left-ear": [[[[100, 10], [180, 10], [160, 70]]]],
            "right-ear": [[[[300, 20], [380, 5], [370, 80]]]],
        }
    )  # fmt: skip
    hand.js("(ring) => drawing.setFixed({ body: [[ring]] })", [[130, 170], [250, 230], [100, 290]])
    hand.click((380, 150), (420, 160), (430, 250))
    hand.page.mouse.move(*hand.on_page((380, 230)))
    looked_at(hand.page, "drawing-polygon")
    hand.press("Escape", "e", "n", "ArrowRight")
    looked_at(hand.page, "drawing-edit")


def test_engine_can_be_taken_away(drawing_on):
    hand = drawing_on()
    hand.js("() => { document.removeEventListener('keydown', keys); drawing.destroy(); }")
    hand.page.mouse.move(200, 200)
    hand.page.set_viewport_size({"width": 600, "height": 700})

    assert hand.page.locator(".drawing").count() == 0
