"""Answers by a swipe, for those who switched it on, and the undo bar after any answer."""

import pytest

from labeling.campaigns import lifecycle
from labeling.models import Answer
from labeling.quality.gold import add_gold
from tests import factories
from tests.browser.conftest import NARROW, expect, let_frames_pass, let_pass
from tests.browser.labeling.test_labeling import wait_for_chip
from tests.browser.labeling.test_phones import PHONE, SHOWN, SIDEWAYS

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

UNDO = ".answers [data-do=back]"


def open_page(page, site):
    page.goto(site("/campaigns/cats/label/"))
    page.wait_for_selector(SHOWN)


def switch_on(page):
    # By clicks: Chromium swallows some emulated taps that follow an emulated swipe.
    page.click("[data-open=keys]")
    page.click("[data-swipe-setting]")
    page.click("#keys [data-close]")


def swipe(page, start, end, lifted=True):
    """A finger from one point of the stage to another, both as shares of its size."""
    box = page.locator("[data-stage]").bounding_box()
    session = page.context.new_cdp_session(page)
    let_pass(page)
    for step in range(6):
        share = step / 5
        x, y = (a + (b - a) * share for a, b in zip(start, end, strict=True))
        point = {"x": box["x"] + x * box["width"], "y": box["y"] + y * box["height"]}
        kind = "touchMove" if step else "touchStart"
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [point]})
    if lifted:
        session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    let_frames_pass(page)
    return session


def answers():
    return list(Answer.objects.order_by("created_at", "pk").values_list("value", "input_method"))


def shown_source(page):
    return page.wait_for_selector(SHOWN).get_attribute("src")


def answered(page):
    return page.locator(".label-bar [data-done]")


def test_a_swipe_answers_only_after_it_was_switched_on(browser_as, bob, cats, site):
    page = browser_as(bob, **PHONE)
    open_page(page, site)

    swipe(page, (0.3, 0.5), (0.8, 0.5))
    expect(answered(page)).to_have_text("0")
    switch_on(page)
    first = shown_source(page)
    swipe(page, (0.3, 0.5), (0.8, 0.5))
    expect(answered(page)).to_have_text("1")
    page.wait_for_selector(f"{SHOWN}:not([src='{first}'])")
    second = shown_source(page)
    swipe(page, (0.7, 0.5), (0.2, 0.52))
    expect(answered(page)).to_have_text("2")
    page.wait_for_selector(f"{SHOWN}:not([src='{second}'])")
    let_frames_pass(page)
    let_pass(page)
    page.click("[data-answer=hard]")
    expect(answered(page)).to_have_text("3")

    wait_for_chip(page, "All saved")
    assert answers() == [("yes", "swipe"), ("no", "swipe"), ("hard", "tap")]
    page.reload()
    page.wait_for_selector(SHOWN)
    assert page.is_checked("[data-use-swipes]")


def test_what_is_no_swipe_answers_nothing(browser_as, bob, cats, site):
    page = browser_as(bob, **PHONE)
    open_page(page, site)
    switch_on(page)

    for name, start, end in (
        ("from the left edge", (0.02, 0.5), (0.6, 0.5)),
        ("from the right edge", (0.98, 0.5), (0.4, 0.5)),
        ("down", (0.5, 0.3), (0.55, 0.8)),
        ("aslant", (0.4, 0.3), (0.7, 0.6)),
        ("short", (0.5, 0.5), (0.6, 0.5)),
    ):
        swipe(page, start, end)

        expect(answered(page)).to_have_text("0")
        assert page.locator(SHOWN).evaluate("(image) => image.style.transform") == "", name


def test_a_zoomed_image_is_moved_and_not_answered(browser_as, bob, cats, site):
    page = browser_as(bob, **PHONE)
    open_page(page, site)
    switch_on(page)
    page.keyboard.press("+")

    swipe(page, (0.3, 0.5), (0.8, 0.5))

    expect(answered(page)).to_have_text("0")
    assert "scale" in page.locator(SHOWN).evaluate("(image) => image.style.transform")


def test_a_swipe_says_what_it_will_answer_before_the_finger_is_lifted(
    browser_as, bob, cats, site, axe, screenshots
):
    page = browser_as(bob, **PHONE)
    open_page(page, site)
    switch_on(page)

    session = swipe(page, (0.7, 0.5), (0.25, 0.5), lifted=False)
    expect(page.locator(".swipe-word.far-enough")).to_have_text("No")
    screenshots(page, "swipe-held")
    axe(page)
    session.send("Input.dispatchTouchEvent", {"type": "touchCancel", "touchPoints": []})

    expect(page.locator(".swipe-word")).to_be_hidden()
    expect(answered(page)).to_have_text("0")


def test_a_campaign_that_forbids_swiping_offers_no_switch(browser_as, alice, bob, cats, site):
    lifecycle.change(cats, alice, settings={"swiping": False})
    page = browser_as(bob, **PHONE)
    open_page(page, site)
    page.evaluate("localStorage.setItem('assay:swiping', 'on')")
    open_page(page, site)

    swipe(page, (0.3, 0.5), (0.8, 0.5))

    expect(answered(page)).to_have_text("0")
    assert page.locator("[data-use-swipes]").count() == 0


def test_with_a_mouse_there_is_no_switch_and_a_drag_answers_nothing(browser_as, bob, cats, site):
    page = browser_as(bob)
    page.add_init_script("localStorage.setItem('assay:swiping', 'on')")
    open_page(page, site)
    box = page.locator("[data-stage]").bounding_box()
    let_pass(page)

    page.mouse.move(box["x"] + 300, box["y"] + 300)
    page.mouse.down()
    page.mouse.move(box["x"] + 700, box["y"] + 300, steps=5)
    page.mouse.up()

    expect(answered(page)).to_have_text("0")
    expect(page.locator("[data-swipe-setting]")).to_be_hidden()


def test_the_undo_bar_is_the_same_for_gold_and_the_rest(
    browser_as, alice, bob, cats, site, looked_at
):
    for number in range(10):
        factories.make_image(cats.dataset, f"known{number}.png")
    topic = cats.topics.first().key
    rows = [
        {"image": f"known{number}.png", "topic": topic, "answer": "yes"} for number in range(10)
    ]
    add_gold(cats, alice, rows)
    lifecycle.change_policy(cats, alice, {"gold_share": 0.5})
    page = browser_as(bob)
    open_page(page, site)
    bars = []

    for number in range(8):
        page.wait_for_selector(SHOWN)
        let_pass(page)
        page.keyboard.press("n")
        expect(answered(page)).to_have_text(str(number + 1))
        expect(page.locator(UNDO)).to_be_visible()
        bars.append((page.inner_html(UNDO), page.locator(UNDO).bounding_box()))
    looked_at(page, "undo")
    page.click(UNDO)
    page.wait_for_selector("[data-notice]:not([hidden])")
    let_pass(page)
    page.keyboard.press("y")

    wait_for_chip(page, "All saved")
    seats = Answer.objects.filter(revision=0)
    gold = seats.filter(assignment__question__state="gold").count()
    assert 0 < gold < 8
    assert all(bar == bars[0] for bar in bars)
    assert [word in bars[0][0] for word in ("Undo", "No")] == [True, True]
    assert Answer.objects.filter(revision=1, value="yes", input_method="key").count() == 1


@pytest.mark.parametrize(
    ("size", "scheme"), [(NARROW, "light"), (SIDEWAYS, "dark")], ids=["upright", "sideways"]
)
def test_back_and_skip_stand_in_the_bar_of_a_phone(
    browser_as, bob, cats, site, axe, screenshots, size, scheme
):
    page = browser_as(bob, **PHONE | {"viewport": size, "color_scheme": scheme})
    open_page(page, site)
    screenshots(page, f"phone-{size['width']}-{scheme}-first")
    switch_on(page)
    let_pass(page)
    page.tap("[data-answer=not_photo]")
    expect(answered(page)).to_have_text("1")
    page.wait_for_selector(SHOWN)
    screenshots(page, f"phone-{size['width']}-{scheme}")
    axe(page)

    page.tap(".label-bar [data-do=back]")
    page.wait_for_selector("[data-answer=not_photo][aria-pressed=true]")
    page.wait_for_selector(SHOWN)
    screenshots(page, f"phone-{size['width']}-{scheme}-back")
    axe(page)
    page.tap(".answers [data-do=forward]")
    page.wait_for_selector("[data-answer=not_photo][aria-pressed=false]")
    with page.expect_response("**/label/skip/") as skipped:
        page.tap(".label-bar [data-do=skip]")

    assert skipped.value.status == 200
