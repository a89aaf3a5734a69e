"""The pages that people label on, on a phone: upright, sideways, and after a tap."""

import pytest

from labeling.campaigns import lifecycle
from labeling.follow_ups import opening
from labeling.models import User
from labeling.question_graph import replaying
from tests import factories
from tests.browser import drawing_hands as hands
from tests.browser import test_brightness
from tests.browser.conftest import NARROW, WIDE, expect, let_pass
from tests.labeling import parted

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

SHOWN = "[data-stage] img:not([data-first])"
SIDEWAYS = {"width": 844, "height": 390}
SMALL_SIDEWAYS = {"width": 667, "height": 375}
PHONE = {"viewport": NARROW, "has_touch": True, "is_mobile": True, "reduced_motion": "reduce"}
# What a button looks like, each of its colours and its frame.
LOOK = """(button) => {
  const { color, backgroundColor, borderColor, boxShadow, outlineStyle } = getComputedStyle(button);
  return [color, backgroundColor, borderColor, boxShadow, outlineStyle];
}"""


def looks_of_answers(page):
    return [button.evaluate(LOOK) for button in page.locator("[data-answer]").all()]


def test_after_a_tap_no_answer_to_the_next_image_looks_chosen(browser_as, bob, cats, site):
    page = browser_as(bob, **PHONE)
    page.goto(site("/campaigns/cats/label/"))
    first = page.wait_for_selector(SHOWN).get_attribute("src")
    before = looks_of_answers(page)
    let_pass(page)

    page.tap("[data-answer=yes]")
    page.wait_for_selector(f"{SHOWN}:not([src='{first}'])")
    # Chromium shows the press itself a moment longer than the finger is there.
    page.wait_for_selector("[data-answer=yes]:not(:active)")

    assert looks_of_answers(page) == before


def test_after_a_click_only_the_pointer_is_seen_and_nothing_looks_chosen(
    browser_as, bob, cats, site
):
    page = browser_as(bob, reduced_motion="reduce")
    page.goto(site("/campaigns/cats/label/"))
    first = page.wait_for_selector(SHOWN).get_attribute("src")
    before = looks_of_answers(page)
    let_pass(page)

    page.click("[data-answer=yes]")
    page.wait_for_selector(f"{SHOWN}:not([src='{first}'])")
    pointed = page.locator("[data-answer=yes]").evaluate(LOOK)
    page.mouse.move(0, 0)

    assert looks_of_answers(page) == before
    page.keyboard.press("ArrowLeft")
    page.wait_for_selector("[data-answer=yes][aria-pressed=true]")
    assert page.locator("[data-answer=yes]").evaluate(LOOK)[1] != pointed[1]


def test_a_long_definition_is_read_whole_however_the_phone_is_held(
    browser_as, alice, bob, cats, site
):
    words = " ".join(["strong black coffee brewed by forcing hot water"] * 5)
    cats.topics.update(definition=words)
    page = browser_as(bob, **PHONE)

    for size in (NARROW, SIDEWAYS):
        page.set_viewport_size(size)
        page.goto(site("/campaigns/cats/label/"))
        page.wait_for_selector(SHOWN)
        gloss = page.locator(".ask .gloss")

        assert gloss.inner_text() == words
        assert gloss.evaluate("(p) => p.scrollHeight <= p.clientHeight && p.clientHeight > 0")


# Each control with a place, and whether a finger on its middle meets it.
HIDDEN = """(within) => [...document.querySelectorAll(within)]
  .filter((control) => control.checkVisibility() && control.getBoundingClientRect().width)
  .filter((control) => {
    control.scrollIntoView({ block: "nearest", inline: "nearest" });
    const { left, top, width, height } = control.getBoundingClientRect();
    const met = document.elementFromPoint(left + width / 2, top + height / 2);
    return !control.contains(met) && !met?.contains(control);
  })
  .map((control) => control.outerHTML.slice(0, 120))"""
CONTROLS = ".work :is(button, select), .label-bar button"
# What is wider than its place, and would be cut or scrolled sideways.
CUT = """() => [...document.querySelectorAll(".ask, .answers, .ask *, .answers *")]
  .filter((element) => element.clientWidth && element.scrollWidth > element.clientWidth + 1)
  .filter((element) => !element.matches("select, .visually-hidden, .visually-hidden *"))
  .map((element) => element.outerHTML.slice(0, 120))"""
# Of the screen, what the image gets at least.
LEAST_SHARE = 0.3


def assert_usable(page, image):
    """Every control can be pressed, the image has room, and the page fits the screen."""
    assert page.evaluate(CUT) == []
    assert page.evaluate(HIDDEN, CONTROLS) == []
    box, screen = page.locator(image).bounding_box(), page.viewport_size
    assert box["width"] * box["height"] > LEAST_SHARE * screen["width"] * screen["height"]
    assert page.evaluate("document.documentElement.scrollWidth") <= screen["width"]


@pytest.mark.parametrize("size", [SIDEWAYS, SMALL_SIDEWAYS], ids=["844", "667"])
def test_one_image_is_answered_on_a_phone_held_sideways(
    browser_as, bob, cats, site, screenshots, size
):
    page = browser_as(bob, **PHONE | {"viewport": size})
    page.goto(site("/campaigns/cats/label/"))
    page.wait_for_selector(SHOWN)

    screenshots(page, f"sideways-label-{size['width']}")
    assert_usable(page, "[data-stage]")


@pytest.mark.parametrize("size", [SIDEWAYS, SMALL_SIDEWAYS], ids=["844", "667"])
def test_parts_are_drawn_on_a_phone_held_sideways(
    browser_as, alice, bob, dataset, site, screenshots, size
):
    factories.join(bob, parted.parts_campaign(alice, dataset))
    page = browser_as(bob, **PHONE | {"viewport": size})
    hands.open_page(page, site)

    screenshots(page, f"sideways-half-{size['width']}")
    assert_usable(page, "[data-stage]")
    page.tap("[data-do=half-yes]")
    for point in ((24, 10), (50, 10), (50, 30), (24, 10)):
        page.touchscreen.tap(*hands.at(page, point))
    hands.expect_state(page, "torso", "drawn")
    hands.wait_for_draft(page)
    screenshots(page, f"sideways-draw-{size['width']}")
    assert_usable(page, "[data-stage]")


def test_a_page_of_images_is_marked_on_a_phone_held_sideways(
    browser_as, alice, bob, dataset, site, axe, screenshots
):
    for index in range(6):
        factories.make_image(dataset, f"{index}.png")
    nodes = [{"id": "animal", "question": "animal", "class": "n00015388"}]
    campaign, _ = opening.draft_graph(
        alice, replaying.build({"nodes": nodes}), name="animals", title="Animals", dataset=dataset
    )
    lifecycle.launch(campaign, alice)
    factories.join(bob, campaign)
    page = browser_as(bob, **PHONE | {"viewport": SIDEWAYS})
    page.goto(site(f"/campaigns/{campaign.name}/label/"))
    page.wait_for_selector(".tile img")

    screenshots(page, "sideways-grid")
    axe(page)
    assert_usable(page, "[data-tiles]")


# What cannot be pressed where it is: off the screen, scrolled away, or below something else.
BELOW = """(within) => [...document.querySelectorAll(within)]
  .filter((control) => control.checkVisibility() && control.getBoundingClientRect().width)
  .filter((control) => {
    const { left, top, width, height } = control.getBoundingClientRect();
    const met = document.elementFromPoint(left + width / 2, top + height / 2);
    return !control.contains(met) && !met?.contains(control);
  })
  .map((control) => control.outerHTML.slice(0, 120))"""
UNDO = ":is(.label-bar, .finished, .answers, .work-rail) :is([data-do=undo], [data-do=back])"
opened = test_brightness.opened


@pytest.mark.parametrize("kind", test_brightness.MADE)
def test_undo_is_above_the_fold_of_a_phone_held_sideways(opened, kind, screenshots):
    page = opened(kind, viewport=SIDEWAYS, has_touch=True, is_mobile=True)
    screenshots(page, f"fold-{kind}-first")
    if page.locator(".about-start button").is_visible():
        page.tap(".about-start button")
    page.locator("[data-do=done], [data-do=skip]").locator("visible=true").first.tap()
    expect(page.locator(UNDO).locator("visible=true").first).to_be_visible()

    screenshots(page, f"fold-{kind}")
    assert page.locator("kbd").locator("visible=true").all_inner_texts() == []
    assert page.evaluate(BELOW, UNDO) == []
    assert page.evaluate(CUT) == []
    page.set_viewport_size({"width": 1180, "height": 820})
    assert page.locator("kbd").locator("visible=true").all_inner_texts() == []


# The photograph as it is seen, within the room that it has.
PHOTOGRAPH = """(image) => {
  const { x, y, width, height } = image.getBoundingClientRect();
  const scale = Math.min(width / image.naturalWidth, height / image.naturalHeight);
  const [w, h] = [image.naturalWidth * scale, image.naturalHeight * scale];
  return { x: x + (width - w) / 2, y: y + (height - h) / 2, width: w, height: h };
}"""


def apart(a, b):
    return any(
        first[axis] + first[size] <= second[axis] + 1
        for axis, size in (("x", "width"), ("y", "height"))
        for first, second in ((a, b), (b, a))
    )


@pytest.mark.parametrize(
    ("size", "instructions"),
    [(WIDE, "open"), (WIDE, "closed"), (NARROW, "closed"), (SIDEWAYS, "closed")],
    ids=["wide", "wide-closed", "upright", "sideways"],
)
def test_a_toast_leaves_image_answers_and_undo_free(
    browser_as, bob, cats, site, screenshots, size, instructions
):
    page = browser_as(bob, **(PHONE | {"viewport": size} if size != WIDE else {}))
    page.goto(site("/campaigns/cats/label/"))
    page.wait_for_selector(SHOWN)
    let_pass(page)
    if size == WIDE and instructions == "closed":
        page.keyboard.press("i")

    page.locator("[data-do=skip]").locator("visible=true").first.click()
    page.wait_for_selector(SHOWN)
    expect(page.locator(".work [data-do=back]")).to_be_visible()

    screenshots(page, f"toast-{size['width']}-{instructions}")
    toast = page.locator(".toast").bounding_box()
    assert apart(toast, page.locator(SHOWN).evaluate(PHOTOGRAPH))
    for free in (".choices", ".work [data-do=back]"):
        assert apart(toast, page.locator(free).bounding_box())


@pytest.mark.parametrize("size", [NARROW, SIDEWAYS], ids=["upright", "sideways"])
def test_the_tutorial_fits_a_phone(browser_as, bob, cats, site, screenshots, size):
    User.objects.update(tutorials=[])
    page = browser_as(bob, **PHONE | {"viewport": size})

    page.goto(site("/campaigns/cats/label/"))
    expect(page.locator(".tutorial-answers button").last).to_be_in_viewport(ratio=1)
    expect(page.locator(".tutorial kbd").first).to_be_hidden()
    screenshots(page, f"tutorial-{size['width']}")
    page.locator(".tutorial-answers button").last.tap()

    expect(page.get_by_role("status")).to_be_in_viewport(ratio=1)
    expect(page.get_by_role("button", name="Next")).to_be_in_viewport(ratio=1)
    screenshots(page, f"tutorial-wrong-{size['width']}")


@pytest.mark.parametrize("size", [NARROW, SIDEWAYS], ids=["upright", "sideways"])
def test_a_bar_without_a_connection_is_as_wide_as_the_phone(
    browser_as, bob, cats, site, screenshots, size
):
    page = browser_as(bob, **PHONE | {"viewport": size}, locale="de")
    page.goto(site("/campaigns/cats/label/"))
    page.wait_for_selector(SHOWN)
    let_pass(page)
    page.context.set_offline(True)

    page.tap("[data-answer=yes]")

    chip = page.locator("[data-saved][data-tone=warn]")
    expect(chip).to_have_attribute("data-count", "1")
    page.locator("[data-left]").evaluate("(left) => (left.textContent = 1234)")
    screenshots(page, f"bar-{size['width']}")
    for button in page.locator(".label-bar :is(a, button)").locator("visible=true").all():
        expect(button).to_be_in_viewport(ratio=1)
    words = page.locator(".label-progress")
    assert words.evaluate("(words) => words.scrollWidth <= words.clientWidth")
    page.context.set_offline(False)
    expect(page.locator("[data-saved]")).to_have_attribute("data-tone", "good")


def test_the_button_of_the_parts_says_how_many_are_missing(browser_as, alice, bob, dataset, site):
    factories.join(bob, parted.parts_campaign(alice, dataset))
    page = browser_as(bob, **PHONE)
    hands.open_page(page, site)
    page.tap("[data-do=half-yes]")

    page.locator("[data-list-part]").evaluate("(name) => (name.textContent = 'upper '.repeat(20))")

    left = page.locator("[data-list-left]")
    assert "missing" in left.inner_text()
    assert left.evaluate("(words) => words.scrollWidth <= words.clientWidth")
    assert page.locator(".list-open").bounding_box()["width"] <= NARROW["width"] / 2
