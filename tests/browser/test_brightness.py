"""Brightness and contrast of the photograph: the same key and button in every kind of campaign."""

import pytest

from labeling.models import Answer
from tests import factories
from tests.browser.conftest import expect, let_pass
from tests.browser.labeling.test_grid import ask
from tests.labeling import candidates, parted

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PANEL = "[data-adjust]"
# The photographs of the question on the screen.
SHOWN = {
    "contains": "[data-stage] > img:not([data-first])",
    "candidates": ".tile-face img",
    "hierarchy": ".tile-face img",
    "boxes": "[data-drawing][data-seat] img",
    "parts": "[data-drawing][data-seat] image",
}
SHOWN["naming"] = SHOWN["mistake"] = SHOWN["contains"]
FOCUS = "(({ tagName, className, id }) => [tagName, className, id])(document.activeElement)"
FILTERS = "images => [...new Set(images.map(image => getComputedStyle(image).filter))]"


def make_candidates(alice, dataset):
    return candidates.make(alice, dataset, candidates.rows(dataset, count=4), page_size=4)


def make_hierarchy(alice, dataset):
    names = [factories.make_image(dataset, f"{number}.png").name for number in range(4)]
    return ask(alice, dataset, names, page_size=4)


def make_plain(kind, **settings):
    return lambda alice, dataset: factories.make_campaign(
        alice, dataset, kind=kind, images=2, settings=settings or None
    )


MADE = {
    "contains": make_plain("contains"),
    "mistake": make_plain("mistake"),
    "naming": make_plain("naming", vocabulary=[{"key": "n1", "name": "coot"}]),
    "boxes": make_plain("boxes"),
    "candidates": make_candidates,
    "hierarchy": make_hierarchy,
    "parts": parted.parts_campaign,
}


@pytest.fixture
def opened(browser_as, alice, bob, dataset, site, settings):
    """Opens Bob's labeling page of a campaign of that kind."""
    settings.ASSAY_GLOSSARY = "tests.labeling.candidates.glossary"

    def make(kind, **options):
        campaign = MADE[kind](alice, dataset)
        factories.join(bob, campaign)
        page = browser_as(bob, reduced_motion="reduce", **options)
        page.goto(site(f"/campaigns/{campaign.name}/label/"))
        page.wait_for_selector(SHOWN[kind])
        let_pass(page, 6_000)
        return page

    return make


def filters(page, kind):
    return page.eval_on_selector_all(SHOWN[kind], FILTERS)


@pytest.mark.parametrize("kind", SHOWN)
def test_one_key_in_every_kind_changes_photographs_and_is_remembered(opened, kind, looked_at):
    page = opened(kind)
    key = "Alt+Shift+V" if kind == "naming" else "Shift+V"
    assert filters(page, kind) == ["none"]
    before = page.evaluate(FOCUS)

    page.keyboard.press(key)
    expect(page.locator(f"{PANEL} input").first).to_be_focused()
    for each in ("ArrowRight", "ArrowRight", "Tab", "ArrowLeft"):
        page.keyboard.press(each)
    changed = filters(page, kind)
    looked_at(page, f"look-{kind}")
    page.keyboard.press("Enter")

    assert changed == ["brightness(1.2) contrast(0.9)"]
    expect(page.locator(PANEL)).to_be_hidden()
    assert page.evaluate(FOCUS) == before
    assert page.locator("[data-tag]:checked").count() == 0
    page.reload()
    page.wait_for_selector(SHOWN[kind])
    assert filters(page, kind) == changed
    assert not Answer.objects.exists()

    page.locator('[data-do="adjust"][aria-pressed="true"]:visible').click()
    page.locator("[data-adjust-reset]").click()
    page.locator(f'{PANEL} [data-do="adjust"]').click()
    expect(page.locator(PANEL)).to_be_hidden()
    assert filters(page, kind) == ["none"]


@pytest.mark.parametrize("kind", ["contains", "candidates", "boxes"])
def test_a_thumb_reaches_it(opened, kind, screenshots):
    phone = {"width": 390, "height": 844}
    page = opened(kind, viewport=phone, has_touch=True, is_mobile=True)
    if kind == "boxes":
        page.tap(".about-start button")
    page.locator('[data-do="adjust"]:visible').tap()
    expect(page.locator(PANEL)).to_be_visible()
    screenshots(page, f"look-{kind}-phone")
    page.locator(f'{PANEL} [data-do="adjust"]').tap()
    expect(page.locator(PANEL)).to_be_hidden()


def test_it_is_there_from_near_and_over_the_page(opened):
    page = opened("candidates")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("z")
    near = page.locator("#closer .stage > img")
    expect(near).to_be_visible()
    page.keyboard.press("Shift+V")
    expect(page.locator(f"#closer {PANEL} input").first).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(page.locator("[data-closer-title]")).to_have_text("Image 1 of 4")
    expect(near).to_have_css("filter", "brightness(1.1) contrast(1)")
    page.keyboard.press("Escape")
    expect(page.locator(PANEL)).to_be_hidden()
    expect(near).to_be_visible()
    page.keyboard.press("Shift+V")
    page.locator("#closer header [data-close]").click()
    page.keyboard.press("Shift+V")
    expect(page.locator(f".grid-work {PANEL} input").first).to_be_focused()
    assert not Answer.objects.exists()


def test_no_key_opens_it_where_single_keys_are_off(opened):
    page = opened("contains")
    page.keyboard.press("?")
    page.locator("[data-use-keys]").click()
    page.keyboard.press("Escape")
    page.keyboard.press("Shift+V")
    expect(page.locator(PANEL)).to_be_hidden()
    page.locator('.zoom [data-do="adjust"]').first.click()
    expect(page.locator(PANEL)).to_be_visible()
