"""Shared boundaries: snapping, tracing, overlaps, mirrored copies."""

import pytest

from tests.browser.drawing.conftest import PARTS, area, circle

pytestmark = pytest.mark.browser

SQUARE = [[100, 50], [200, 50], [200, 150], [100, 150]]
WEDGE = [[100, 50], [200, 50], [230, 80], [240, 120], [200, 150], [100, 150]]


def shared(hand, a, b):
    """Corners that both parts have."""
    corners = [
        {tuple(corner) for piece in hand.shapes[key] for ring in piece for corner in ring}
        for key in (a, b)
    ]
    return corners[0] & corners[1]


def test_corner_snaps_to_a_neighbours_corner(hand):
    hand.load({"body": [[SQUARE]]})
    hand.draw((203, 48), (300, 48), (300, 153), (203, 152))

    assert {(200, 50), (200, 150)} <= shared(hand, "head", "body")


def test_corner_on_a_neighbours_edge_becomes_a_corner_of_the_neighbour(hand):
    hand.load({"body": [[SQUARE]]})
    hand.draw((203, 80.4), (300, 80.4), (300, 120), (202, 120))

    assert [200, 80.4] in hand.ring("body")
    assert [200, 120] in hand.ring("body")
    assert shared(hand, "head", "body") == {(200, 80.4), (200, 120)}
    assert area(hand.shapes["body"]) == 10_000


def test_corner_on_a_slanting_edge_is_shared_to_the_tenth(hand):
    hand.load({"body": [[[[100, 50], [233, 71.3], [150, 207.7]]]]})
    hand.draw((171, 62), (250, 20), (300, 60), (207, 115))

    assert (
        len(shared(hand, "head", "body")) == 3
    )  # both snapped ones, and the corner traced between
    assert hand.js("drawing.overlaps()") == []


def test_fixed_neighbour_gives_its_corners_and_takes_none(hand):
    hand.js("(ring) => drawing.setFixed({ body: [[ring]] })", WEDGE)
    hand.draw((203, 50), (300, 50), (300, 150), (202, 150))

    assert hand.shapes.keys() == {"head"}
    assert [corner for corner in hand.ring("head") if corner in WEDGE[2:4]] == WEDGE[3:1:-1]
    assert hand.js("drawing.overlaps()") == []


def test_line_between_two_points_of_a_neighbour_goes_along_it(hand):
    hand.load({"body": [[WEDGE]]})
    hand.draw((300, 50), (203, 50), (202, 151), (300, 150))

    assert hand.ring("head") == [
        [300, 50], [200, 50], [230, 80], [240, 120], [200, 150], [300, 150],
    ]  # fmt: skip
    assert len(shared(hand, "head", "body")) == 4
    assert hand.js("drawing.overlaps()") == []


def test_traced_line_turns_the_other_way_round(hand):
    hand.load({"body": [[WEDGE]]})
    hand.click((200, 50), (200, 150))
    hand.press("f")

    assert hand.js("drawing.state().stroke") == [[200, 50], [100, 50], [100, 150], [200, 150]]


def test_tracing_can_be_turned_off(hand):
    hand.load({"body": [[WEDGE]]})
    hand.press("t")
    hand.click((200, 50), (200, 150))

    assert hand.js("drawing.state().stroke") == [[200, 50], [200, 150]]
    assert hand.aloud[-1] == "Tracing along neighbours is off."


def test_closing_line_is_traced_too(hand):
    hand.load({"body": [[WEDGE]]})
    hand.click((200, 50), (300, 50), (300, 150), (200, 150))
    hand.press("c")

    assert [230, 80] in hand.ring("head")
    assert hand.js("drawing.overlaps()") == []


def test_traced_way_is_seen_before_the_corner_is_placed(hand):
    hand.load({"body": [[WEDGE]]})
    hand.click((200, 50))
    hand.page.mouse.move(*hand.on_page((200, 150)))

    way = hand.page.locator(".drawing-preview").get_attribute("d")
    assert way == "M200 50L230 80L240 120L200 150"


def test_control_places_a_corner_beside_a_neighbour(hand):
    hand.load({"body": [[SQUARE]]})
    hand.page.keyboard.down("Control")
    x, y = hand.on_page((203, 52))
    hand.page.mouse.click(round(x), round(y))
    hand.page.keyboard.up("Control")

    [corner] = hand.js("drawing.state().stroke")
    assert corner == list(hand.at_pixel(round(x), round(y)))


def test_hidden_neighbours_are_not_snapped_to(hand):
    hand.load({"body": [[SQUARE]]})
    hand.js("drawing.hide('body', true)")
    hand.click((203, 52))

    [corner] = hand.js("drawing.state().stroke")
    assert corner != [200, 50]


def test_lasso_near_a_neighbour_lies_on_it(hand):
    hand.load({"body": [[WEDGE]]})
    hand.press("l")
    along = [(203, 52), (216, 67), (233, 82), (238, 100), (242, 121), (222, 136), (203, 148)]
    hand.drag((300, 50), (250, 48), *along, (250, 155), (300, 150))

    assert shared(hand, "head", "body") >= {(200, 50), (230, 80), (240, 120), (200, 150)}
    assert hand.js("drawing.overlaps()") == []


def test_overlap_is_hatched_at_once_and_told(hand):
    hand.load({"body": [[SQUARE]]})
    hand.draw((150, 100), (250, 100), (250, 130), (150, 130))

    assert hand.js("drawing.overlaps()") == [{"a": "body", "b": "head", "area": 1500}]
    assert hand.events("overlap")[-1]["overlaps"] == hand.js("drawing.overlaps()")
    hatched = hand.page.locator(".drawing-overlap")
    assert hatched.get_attribute("d")
    assert "url(" in hatched.evaluate("(path) => getComputedStyle(path).fill")


def test_overlap_is_hatched_while_a_corner_is_dragged(hand):
    hand.load({"body": [[SQUARE]], "head": [[[[210, 60], [300, 60], [300, 140]]]]})
    hand.press("e")
    hand.drag((210, 60), (190, 60), (150, 75), release=False)

    assert hand.page.locator(".drawing-overlap").get_attribute("d")
    assert hand.shapes["head"] == [[[[210, 60], [300, 60], [300, 140]]]]
    hand.page.mouse.up()
    assert hand.js("drawing.overlaps()")


def test_one_key_removes_overlap_and_the_boundary_is_shared(hand):
    hand.load({"body": [[SQUARE]]})
    hand.js("drawing.toggle('gluing', 'Snapping')")
    hand.draw((150, 101.3), (250, 90.7), (250, 130), (150, 130))
    hand.press("o")

    assert hand.js("drawing.overlaps()") == []
    assert area(hand.shapes["head"]) == pytest.approx(3395, abs=5)  # the chosen part keeps it
    assert area(hand.shapes["body"]) == pytest.approx(10_000 - 50 * 31.3, abs=5)
    cut = {tuple(c) for c in hand.ring("body")} - {tuple(c) for c in SQUARE}
    assert cut <= {tuple(c) for c in hand.ring("head")}

    hand.press("Control+z")
    assert area(hand.shapes["body"]) == 10_000


def test_part_that_would_vanish_is_named_and_stays(hand):
    hand.load({"body": [[[[120, 60], [160, 60], [160, 100]]]], "head": [[SQUARE]]})
    hand.press("o")

    assert area(hand.shapes["body"]) == 800
    assert (
        hand.aloud[-1] == "body would be covered completely by other parts, so it was not changed."
    )


def test_part_that_would_get_a_hole_and_takes_none_is_named_and_stays(hand):
    inner = [[120, 60], [160, 60], [160, 100]]
    hand.load({"left-ear": [[SQUARE]], "head": [[inner]]})
    hand.press("o")

    assert hand.shapes["left-ear"] == [[SQUARE]]
    assert "left ear would get a hole but may have none" in hand.aloud[-1]


def test_parts_that_may_hold_others_overlap_them_without_a_word(drawing_on):
    holding = [part | {"holds": ["left-ear"]} if part["key"] == "head" else part for part in PARTS]
    hand = drawing_on(engine={"parts": holding})
    ear = [[120, 60], [160, 60], [160, 100]]
    hand.load(
        {"head": [[SQUARE]], "left-ear": [[ear]], "body": [[[[190, 50], [250, 50], [250, 90]]]]}
    )

    assert [(pair["a"], pair["b"]) for pair in hand.js("drawing.overlaps()")] == [("head", "body")]
    hand.select("body")
    hand.press("o")
    assert hand.js("drawing.overlaps()") == []
    assert hand.shapes["left-ear"] == [[ear]]
    assert area(hand.shapes["head"]) > 9900


def test_overlap_with_what_is_fixed_is_taken_from_the_part(hand):
    hand.js("(ring) => drawing.setFixed({ body: [[ring]] })", SQUARE)
    hand.load({"head": [[[[150, 60], [250, 60], [250, 90], [150, 90]]]]})
    hand.press("o")

    assert area(hand.shapes["head"]) == 1500
    assert hand.js("drawing.overlaps()") == []


def test_mirrored_copy_is_turned_over_and_can_be_moved(hand):
    hand.load({"head": [[SQUARE]], "left-ear": [[[[100, 20], [130, 20], [110, 45]]]]})
    hand.select("right-ear")
    hand.press("r")

    assert hand.shapes["right-ear"] == [[[[190, 45], [170, 20], [200, 20]]]]
    assert hand.js("drawing.tool") == "edit"
    hand.drag((187, 27), (187, 40), (197, 37))
    assert hand.shapes["right-ear"] == [[[[200, 55], [180, 30], [210, 30]]]]


def test_part_without_a_mirror_says_so(hand):
    hand.press("r")

    assert hand.aloud[-1] == "The chosen part has no mirrored part."


def test_lasso_around_nothing_is_simple(hand):
    hand.press("l")
    hand.drag(*circle(200, 150, 60, 300))

    assert 10 < len(hand.ring("head")) < 60
    assert area(hand.shapes["head"]) == pytest.approx(3.14159 * 3600, rel=0.02)
