"""The workspace of a drawing: how much of the window the photograph gets and that it stays where it
is, one list of parts, undo that survives a reload, holes, keys alone, one thumb."""

import itertools

import pytest
from shapely.geometry import Polygon

from labeling.models import Answer
from tests import factories
from tests.browser import drawing_hands as hands
from tests.browser.conftest import NARROW, WIDE, expect, let_pass
from tests.labeling import parted

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
LARGE = {"width": 1920, "height": 1080}
PHONE = {"viewport": NARROW, "has_touch": True, "is_mobile": True}
TORSO = ((24, 10), (50, 10), (54, 22), (50, 32), (24, 32))
WATCH_SHIFTS = """() => {
  window.shifts = [];
  const words = ({ node, previousRect: a, currentRect: b }) =>
    `${node?.outerHTML?.slice(0, 90) ?? node?.textContent} ${a.x},${a.y} ${b.x},${b.y}`;
  new PerformanceObserver((list) => shifts.push(...list.getEntries().map(({ value, sources }) =>
    `${value} ${sources.map(words)}`)))
    .observe({ type: "layout-shift", buffered: false });
}"""
FILTER = "getComputedStyle(document.querySelector('[data-drawing] image')).filter"
PHOTOGRAPH = """() => {
  const image = document.querySelector("[data-drawing] image");
  const { left, top, right, bottom } = image.getBoundingClientRect();
  return [left, top, right, bottom];
}"""


@pytest.fixture
def campaign(alice, bob, dataset):
    campaign = parted.parts_campaign(alice, dataset, ask_half=False)
    factories.join(bob, campaign)
    return campaign


@pytest.fixture
def opened(browser_as, bob, campaign, site):
    def make(**options):
        page = browser_as(bob, **{"reduced_motion": "reduce", **options})
        hands.open_page(page, site)
        return page

    return make


def overlap(ring, known):
    a, b = Polygon(ring), Polygon(known)
    return a.intersection(b).area / a.union(b).area


def torso():
    return Answer.objects.get().value["parts"]["torso"]["polygons"]


@pytest.mark.parametrize("size", [WIDE, LARGE], ids=["1440", "1920"])
def test_the_stage_gets_seventy_percent_and_the_photograph_touches_two_of_its_sides(opened, size):
    page = opened(viewport=size)
    assert page.is_visible("[data-parts-list] [data-choose=tail]")

    stage = page.locator("[data-stage]").bounding_box()
    left, top, right, bottom = page.evaluate(PHOTOGRAPH)

    assert stage["width"] * stage["height"] >= 0.7 * size["width"] * size["height"]
    gaps = (left - stage["x"], top - stage["y"])
    ends = (stage["x"] + stage["width"] - right, stage["y"] + stage["height"] - bottom)
    assert min(*gaps, *ends) >= 0
    assert min(max(pair) for pair in zip(gaps, ends, strict=True)) <= 8


def test_nothing_moves_while_one_works(opened):
    page = opened()
    page.evaluate(WATCH_SHIFTS)
    before = page.evaluate(PHOTOGRAPH)

    hands.draw(page, *TORSO)
    hands.wait_for_draft(page)
    # A toast, a refusal, a tool's hint, another part's guidance, the instructions.
    hands.press(
        page,
        "Control+z",
        "Shift+Enter",
        "PageUp",
        "e",
        "x",
        "l",
        "p",
        "i",
        "i",
        "Shift+V",
        "Shift+V",
    )
    hands.press(page, "j", "3", "j", "2")
    hands.wait_for_draft(page)

    assert page.evaluate(PHOTOGRAPH) == pytest.approx(before, abs=0.01)
    shifts = page.evaluate("shifts")
    assert not shifts, "\n".join(shifts)


def test_each_part_of_an_object_has_a_colour_of_its_own(opened, calls):
    page = opened()
    tones = page.evaluate(
        """() => {
          const list = document.createElement("div");
          document.body.append(list);
          return Array.from({ length: 32 }, (_, index) => {
            list.className = `tone-${index}`;
            return getComputedStyle(list).getPropertyValue("--tone").trim();
          });
        }"""
    )

    assert all(tones)
    assert len(set(tones)) == 32


def test_once_a_part_is_closed_the_next_missing_one_is_chosen(opened):
    page = opened()
    hands.draw(page, *TORSO)
    assert hands.chosen(page) == "leg"

    # Of a part that may have several pieces another one may come.
    hands.draw(page, (26, 33), (30, 33), (30, 40))
    assert hands.chosen(page) == "leg"
    hands.press(page, "j")
    assert hands.chosen(page) == "tail"
    hands.draw(page, (52, 34), (56, 34), (56, 40))
    assert page.inner_text("[data-missing-count]") == "0"


def test_undo_survives_a_reload(opened):
    page = opened()
    hands.draw(page, *TORSO)
    hands.click(page, (26, 33), (30, 33))
    hands.wait_for_draft(page)

    page.reload()
    hands.settle(page)
    hands.press(page, "Control+z", "Control+z")
    hands.expect_state(page, "torso", "drawn")
    hands.press(page, "Control+z")
    hands.expect_state(page, "torso", "missing")
    hands.press(page, *["Control+z"] * 2)
    hands.wait_for_draft(page)
    page.reload()
    hands.settle(page)
    hands.press(page, *["Control+y"] * 3)
    hands.expect_state(page, "torso", "drawn")
    hands.send(page, "j", "2", "j", "2", "Shift+Enter")

    assert hands.near(torso()[0][0], TORSO)


def test_a_message_leaves_with_the_object_that_it_was_of(opened):
    page = opened()

    hands.send(page, "2", "j", "2", "j", "2", "Shift+Enter")

    assert "not visible" not in page.text_content("[data-announce]")
    assert page.locator("[data-announce].toast").count() == 0


def test_a_hole_is_cut_out_of_a_part_and_sent(opened):
    page = opened()
    hands.draw(page, *TORSO)
    page.click("[data-choose=torso]")
    page.click("[data-do=cut]")
    hands.draw(page, (30, 15), (40, 15), (40, 25))
    assert hands.chosen(page) == "torso"
    hands.send(page, "h", "j", "2", "j", "2", "Shift+Enter")

    [[outer, hole]] = torso()
    assert hands.near(outer, TORSO)
    assert hands.near(hole, [(30, 15), (40, 15), (40, 25)])


def test_brightness_contrast_and_colours_are_set_by_keys_and_remembered(opened):
    page = opened()
    hands.press(
        page, "Shift+V", "ArrowRight", "ArrowRight", "Tab", "ArrowLeft", "Tab", "ArrowRight"
    )
    looks = page.evaluate(FILTER)
    hands.press(page, "Escape")
    assert page.evaluate("document.activeElement.matches('.drawing')")
    page.reload()
    hands.settle(page)

    assert looks == "brightness(1.2) contrast(0.9)"
    assert page.evaluate(FILTER) == looks
    fill = "document.querySelector('.drawing-parts').style.getPropertyValue('--fill')"
    assert page.evaluate(fill) == "0.4"
    assert page.get_attribute("[data-do=adjust].tool", "aria-pressed") == "true"


def test_the_sliders_have_the_colour_of_what_may_be_pressed(opened):
    page = opened(viewport=WIDE, color_scheme="dark")
    hands.press(page, "Shift+V")

    colours = page.eval_on_selector_all(
        "[data-adjust] input[type=range]",
        """(sliders) => sliders.map((slider) => {
          const style = getComputedStyle(slider);
          const names = ["--pico-range-thumb-color", "--action"];
          return names.map((name) => style.getPropertyValue(name));
        })""",
    )

    assert len(colours) == 3
    assert all(thumb == action for thumb, action in colours)


def test_the_object_is_seen_from_near_and_the_zoom_is_told(opened):
    page = opened()
    far = page.inner_text("[data-zoom-level]")
    hands.press(page, "0")
    expect(page.locator("[data-zoom-level]")).not_to_have_text(far)
    near = page.inner_text("[data-zoom-level]")
    page.reload()
    hands.settle(page)

    assert int(near.split()[0]) > int(far.split()[0])
    assert page.inner_text("[data-zoom-level]") == near


def move_cursor(page, dx, dy):
    """By so many pixels of the image: ten of the screen a press, fifty with Shift, one with Alt."""
    scale = page.evaluate("document.querySelector('[data-world]').getScreenCTM().a")
    for distance, back, on in ((dx, "ArrowLeft", "ArrowRight"), (dy, "ArrowUp", "ArrowDown")):
        left = round(abs(distance) * scale)
        for size, held in ((50, "Shift+"), (10, ""), (1, "Alt+")):
            hands.press(page, *[held + (on if distance > 0 else back)] * (left // size))
            left %= size


def test_a_polygon_drawn_by_keys_alone_is_the_mouses(opened):
    page = opened()
    # The cursor begins in the middle of what is seen.
    way = itertools.pairwise([(32, 24), *TORSO])
    for before, after in way:
        move_cursor(page, after[0] - before[0], after[1] - before[1])
        page.keyboard.press("Enter")
    hands.press(page, "c", "2", "j", "2")
    hands.send(page, "Shift+Enter")

    assert overlap(torso()[0][0], TORSO) >= 0.85


def touch(page, kind, point):
    x, y = hands.at(page, point)
    page.evaluate(
        """([kind, x, y]) => {
          const surface = document.querySelector("[data-drawing] .drawing");
          surface.setPointerCapture = () => {};
          const button = kind === "pointermove" ? -1 : 0;
          const at = { clientX: x, clientY: y, button, bubbles: true };
          surface.dispatchEvent(
            new PointerEvent(kind, { pointerId: 7, pointerType: "touch", ...at }));
        }""",
        [kind, x, y],
    )


def test_a_polygon_drawn_by_one_thumb_on_a_phone_is_the_mouses(opened, screenshots):
    page = opened(**PHONE)
    for x, y in (*TORSO, TORSO[0]):
        touch(page, "pointerdown", (x - 1.5, y + 1))
        touch(page, "pointermove", (x, y))
        assert page.is_visible(".loupe")
        screenshots(page, "parts-loupe")
        touch(page, "pointerup", (x, y))
        assert not page.is_visible(".loupe")
    hands.expect_state(page, "torso", "drawn")
    page.tap("[data-state=not_visible]")
    page.tap(".list-open")
    page.tap("[data-choose=tail]")
    page.tap("[data-state=occluded]")
    let_pass(page)
    with page.expect_response(hands.ANSWERS):
        page.tap("[data-do=submit]")

    assert overlap(torso()[0][0], TORSO) >= 0.85


def test_every_state_of_the_workspace_looks_right(opened, looked_at):
    page = opened()
    hands.draw(page, *TORSO)
    looked_at(page, "workspace-drawn")
    hands.press(page, "i")
    looked_at(page, "workspace-about")
    hands.press(page, "i", "Shift+V")
    looked_at(page, "workspace-adjust")
    hands.press(page, "Escape")
    page.set_viewport_size(NARROW)
    hands.press(page, "w")
    looked_at(page, "workspace-list")
