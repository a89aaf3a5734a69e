"""Zoom, pan, pinch, pen and fingers; coordinates exact to a tenth however one looks."""

import pytest

from tests.browser.conftest import expect
from tests.browser.drawing.conftest import area

pytestmark = pytest.mark.browser

SQUARE = [[100, 50], [200, 50], [200, 150], [100, 150]]


def transform(hand):
    hand.rest()
    return hand.js("[drawing.view.scale, drawing.view.x, drawing.view.y]")


@pytest.mark.parametrize(("scale", "ratio"), [(0.3, 2), (1, 1), (12, 2)])
def test_coordinates_are_exact_to_a_tenth(drawing_on, scale, ratio):
    size = (4000, 3000) if scale < 1 else (451, 300)
    hand = drawing_on(size, device_scale_factor=ratio)
    hand.select("head")
    middle = [size[0] / 2 + 0.7, size[1] / 2 - 1.3]
    hand.look(scale, middle)
    hand.page.evaluate("scrollTo(0, 73)")
    x, y = (round(value) for value in hand.on_page(middle))
    pixels = [(x, y), (x + 121, y + 3), (x + 57, y + 150)]
    expected = [hand.at_pixel(*pixel) for pixel in pixels]

    for pixel in pixels:
        hand.page.mouse.click(*pixel)
    hand.press("c")

    assert hand.ring("head") == [list(point) for point in expected]
    box = hand.page.locator(".drawing-part .body").bounding_box()
    assert box["x"] == pytest.approx(x, abs=3)
    assert box["x"] + box["width"] == pytest.approx(x + 121, abs=3)
    assert box["y"] + box["height"] == pytest.approx(y + 150, abs=3)


def test_image_point_under_the_cursor_stays_when_zooming(hand):
    at = [round(value) for value in hand.on_page((330, 210))]
    before = hand.at_pixel(*at)
    hand.page.mouse.move(*at)
    for _ in range(5):
        hand.page.mouse.wheel(0, -150)
    scale, *_ = transform(hand)

    assert scale > 5
    assert hand.at_pixel(*at) == pytest.approx(before, abs=0.11)


def test_zoom_has_limits_and_the_image_stays_in_sight(hand):
    hand.page.mouse.move(*hand.on_page((200, 100)))
    for _ in range(30):
        hand.page.mouse.wheel(0, -400)
    assert transform(hand)[0] == 40
    for _ in range(40):
        hand.page.mouse.wheel(0, 400)
    assert 0.2 < transform(hand)[0] < 0.6
    hand.js("() => { drawing.view.pan(9000, 9000); drawing.moved(); }")
    _, x, y = transform(hand)
    assert x <= 760
    assert y <= 560


@pytest.mark.parametrize("how", ["middle button", "space", "pan tool"])
def test_view_is_dragged_and_nothing_drawn(hand, how):
    before = transform(hand)
    if how == "space":
        hand.page.keyboard.down(" ")
    if how == "pan tool":
        hand.press("m")
    start = hand.on_page((200, 150))
    button = "middle" if how == "middle button" else "left"
    hand.page.mouse.move(*start)
    hand.page.mouse.down(button=button)
    hand.page.mouse.move(start[0] + 30, start[1] - 20)
    hand.page.mouse.up(button=button)
    if how == "space":
        hand.page.keyboard.up(" ")

    after = transform(hand)
    assert after == pytest.approx([before[0], before[1] + 30, before[2] - 20])
    assert hand.js("drawing.state().stroke") == []


def test_panning_and_zooming_change_one_transform(hand):
    hand.load({"head": [[SQUARE]], "body": [[[[10, 10], [90, 10], [90, 90]]]]})
    hand.page.mouse.move(*hand.on_page((200, 150)))
    hand.js(
        """() => {
          drawing.picture.settle = () => {};  // what follows when the hand rests is another matter
          window.changes = new Set();
          new MutationObserver((all) => all.forEach(({ target, attributeName }) =>
            changes.add(`${target.tagName} ${attributeName}`)))
            .observe(drawing.picture.surface, { attributes: true, subtree: true, childList: true });
        }"""
    )
    hand.drag((200, 150), (210, 150), (240, 170), button="middle")
    hand.page.mouse.wheel(0, -100)
    hand.rest()

    changed = [change for change in hand.js("[...changes]") if "class" not in change]
    assert changed == ["DIV style"]


def test_two_fingers_zoom_and_pan_and_place_no_corner(hand):
    before = transform(hand)
    hand.touch("pointerdown", (150, 150))
    hand.touch("pointerdown", (250, 150), first=11)
    hand.touch("pointermove", (100, 150))
    hand.touch("pointermove", (250, 150), first=11)
    hand.touch("pointerup", (100, 150))
    hand.touch("pointerup", (250, 150), first=11)

    assert transform(hand)[0] > before[0] * 1.3
    assert hand.js("drawing.state().stroke") == []


def test_point_between_two_fingers_stays_between_them(hand):
    fingers = [hand.on_page((150, 150)), hand.on_page((250, 150))]
    hand.js(
        """([[ax, ay], [bx, by]]) => {
          const svg = drawing.picture.surface;
          svg.setPointerCapture = () => {};
          const send = (kind, pointerId, clientX, clientY) => svg.dispatchEvent(
            new PointerEvent(kind, { pointerId, pointerType: "touch", clientX, clientY }));
          send("pointerdown", 1, ax, ay);
          send("pointerdown", 2, bx, by);
          for (let step = 1; step <= 20; step += 1) {
            send("pointermove", 1, ax - 4 * step, ay);
            send("pointermove", 2, bx + 4 * step, by);
          }
        }""",
        fingers,
    )
    middle = [(fingers[0][0] + fingers[1][0]) / 2, fingers[0][1]]

    assert hand.at_pixel(*middle) == pytest.approx((200, 150), abs=0.3)


def test_finger_places_a_corner_where_it_is_lifted(hand):
    for corner in [*SQUARE, SQUARE[0]]:
        hand.touch("pointerdown", corner)
        hand.touch("pointerup", corner)

    assert area(hand.shapes["head"]) == pytest.approx(10_000)


def test_second_finger_keeps_what_the_lasso_drew(hand):
    hand.press("l")
    hand.touch("pointerdown", (100, 100))
    for point in [(150, 90), (200, 120), (220, 180)]:
        hand.touch("pointermove", point)
    hand.touch("pointerdown", (300, 150), first=11)

    assert len(hand.js("drawing.state().stroke")) >= 3


def test_palm_only_moves_the_view_while_a_pen_draws(hand):
    before = transform(hand)
    hand.press("l")
    hand.touch("pointerdown", (100, 100), pointer="pen", first=5)
    hand.touch("pointermove", (200, 100), pointer="pen", first=5)
    hand.touch("pointerdown", (300, 250))
    hand.touch("pointermove", (310, 250))
    hand.touch("pointerup", (310, 250))
    assert transform(hand)[0] == before[0]
    assert transform(hand)[1] > before[1]

    hand.touch("pointermove", (200, 200), pointer="pen", first=5)
    hand.touch("pointerup", (100, 190), pointer="pen", first=5)

    assert list(hand.shapes) == ["head"]


def test_pen_takes_over_from_a_palm_that_came_first(hand):
    hand.touch("pointerdown", (300, 250))
    hand.touch("pointerdown", (100, 100), pointer="pen", first=5)
    hand.touch("pointerup", (100, 100), pointer="pen", first=5)
    hand.touch("pointerup", (300, 250))

    [corner] = hand.js("drawing.state().stroke")
    assert corner == pytest.approx([100, 100], abs=0.1)


def change_the_room(hand):
    """Narrows the window, and waits until the view has followed."""
    moved = hand.page.locator("[data-world]").first
    before = moved.get_attribute("transform")
    hand.page.set_viewport_size({"width": 500, "height": 900})
    expect(moved).not_to_have_attribute("transform", before)
    hand.rest()


def test_fitted_view_is_fitted_again_when_the_room_changes(hand):
    before = hand.js("drawing.view.scale")
    change_the_room(hand)

    scale, x, _ = transform(hand)
    assert scale < before
    assert x >= 0


def test_zoomed_view_keeps_its_middle_when_the_room_changes(hand):
    hand.look(6, (150, 100))
    change_the_room(hand)

    middle = hand.js("drawing.view.toImage(Object.values(drawing.view.screen).map((v) => v / 2))")
    assert middle == pytest.approx([150, 100], abs=0.3)
    assert hand.js("drawing.view.scale") == 6


def test_first_view_and_crop_are_shown(drawing_on):
    view, crop = [100, 50, 200, 150], [90, 40, 210, 160]
    hand = drawing_on(engine={"view": view, "crop": crop})

    left, top, right, bottom = *hand.on_page(view[:2]), *hand.on_page(view[2:])
    box = hand.page.locator("#root").bounding_box()
    assert box["y"] <= top < bottom <= box["y"] + box["height"]
    assert bottom - top > box["height"] * 0.8
    assert box["x"] <= left < right <= box["x"] + box["width"]
    assert "M90 40H210V160H90Z" in hand.page.locator(".drawing-dim").get_attribute("d")


def test_handles_keep_their_size_and_are_one_element(hand):
    hand.load({"head": [[SQUARE]]})
    hand.press("e")
    handles = hand.page.locator(".drawing-handles")
    before = handles.get_attribute("d")
    hand.look(12, (150, 100))

    assert before.count("M") == 4
    assert handles.get_attribute("d") == before
    assert handles.evaluate("(path) => getComputedStyle(path).vectorEffect") == "non-scaling-stroke"


def test_numbers_take_the_zoom_once_it_rests(hand):
    hand.load({"head": [[SQUARE]]})
    numbers = hand.page.locator(".drawing-numbers")
    before = numbers.get_attribute("style") or ""
    hand.look(8, (150, 100))
    expect(numbers).not_to_have_attribute("style", before)

    height = hand.page.locator(".drawing-numbers span").bounding_box()["height"]
    assert 8 < height < 24


def test_opacity_changes_by_key_and_by_call(hand):
    hand.load({"head": [[SQUARE]]})
    hand.press(".", ".")
    hand.js("drawing.setOpacity(drawing.opacity + 0.1)")

    body = hand.page.locator(".drawing-part .body")
    assert float(body.evaluate("(path) => getComputedStyle(path).fillOpacity")) == pytest.approx(
        0.6
    )


def test_parts_are_hidden_and_shown(hand):
    hand.load({"head": [[SQUARE]], "body": [[[[150, 60], [190, 60], [190, 90]]]]})
    assert hand.page.locator(".drawing-overlap").get_attribute("d")

    hand.press("k")
    assert hand.page.locator('[data-part="head"]').is_hidden()
    assert hand.page.locator(".drawing-overlap").get_attribute("d") == ""
    hand.press("k", "Shift+K")
    assert hand.page.locator('[data-part="head"]').is_visible()
    assert hand.page.locator('[data-part="body"]').is_hidden()
    hand.press("Shift+K")
    assert hand.page.locator('[data-part="body"]').is_visible()
    assert hand.shapes.keys() == {"head", "body"}
