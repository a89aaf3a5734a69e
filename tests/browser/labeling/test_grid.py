"""A page of images under one question: marking, sending, going back, and every way to lose it."""

import io
from functools import cache
from pathlib import Path

import pytest
import skimage
from PIL import Image as Pillow

from labeling.campaigns import lifecycle
from labeling.datasets import images
from labeling.follow_ups import following
from labeling.graphs import store
from labeling.models import Answer, Question
from tests import factories
from tests.browser.conftest import NARROW, WIDE, count_images, expect, let_frames_pass, let_pass
from tests.browser.labeling.test_fit import covered, fits, sizes_in
from tests.browser.labeling.test_labeling import (
    ANSWERS,
    KEPT,
    count_answers,
    leased,
    left_behind,
    wait_for_chip,
)

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

# Whether something of the page is outside its stage.
SCROLLS = """(() => {
  const list = document.querySelector("[data-tiles]");
  return list.scrollHeight > list.clientHeight || list.scrollWidth > list.clientWidth;
})()"""
FINISHED = "[data-finished]:not([hidden])"
ANIMAL = {
    "id": "animal",
    "question": "living organism (other than people): dogs, snakes, fish, insects, etc.",
    "guidance": "Please do not include plants.",
}
NODES = {
    "animal": [ANIMAL, {"id": "cat", "question": "domestic cat", "parents": ["animal"]}],
    "fruit": [
        {"id": "fruit", "question": "fruit"},
        {"id": "apple", "question": "apple", "parents": ["fruit"]},
    ],
}
CLASSES = {"cat": "n02121808", "apple": "n07739125"}


def graph_of(topics):
    """A question graph with these roots, and one class below each."""
    nodes = [node for topic in topics for node in NODES[topic]]
    return {
        "nodes": [
            {**node, "class": CLASSES[node["id"]]} if node["id"] in CLASSES else node
            for node in nodes
        ]
    }


@cache
def small_photographs():
    """(name, JPEG) of a few real photographs."""
    made = []
    for name in ("chelsea.png", "coffee.png", "astronaut.png", "rocket.jpg"):
        with Pillow.open(Path(skimage.__file__).parent / "data" / name) as photograph:
            photograph.thumbnail((500, 500))
            stream = io.BytesIO()
            photograph.convert("RGB").save(stream, "JPEG")
        made.append((Path(name).stem, stream.getvalue()))
    return made


def photographs(dataset, count):
    """Names of `count` photographs of the dataset: a few real ones, again and again."""
    names = []
    for index in range(count):
        name, content = small_photographs()[index % 4]
        names.append(f"{index:03}-{name}.jpg")
        # Bytes after the end of the picture: another file, the same photograph.
        file = io.BytesIO(content + str(index).encode())
        images.add_file(dataset, names[-1], file, licence="public domain", source="scikit-image")
    return names


def ask(alice, dataset, names, topics=("animal",), **policy):
    """An open campaign that asks about these images."""
    campaign = lifecycle.create(
        alice,
        name="grid",
        title="Which of two hundred",
        kind="hierarchy",
        dataset=dataset,
        policy=policy,
        instructions="Look at every image before you press Done.",
    )
    store.define(campaign, alice, graph_of(topics))
    following.open_images(campaign, names)
    lifecycle.launch(campaign, alice)
    return campaign


@pytest.fixture
def grid(alice, bob, dataset):
    """Twelve small images under two questions, six on a page."""
    names = [f"{index:03}.png" for index in range(12)]
    for name in names:
        factories.make_image(dataset, name)
    campaign = ask(alice, dataset, names, ("animal", "fruit"), page_size=6)
    factories.join(bob, campaign)
    return campaign


def open_grid(page, site, name="grid"):
    page.goto(site(f"/campaigns/{name}/label/"))
    wait_for_page(page)


def wait_for_page(page):
    """Until every image of the page has arrived, and a press is taken for one meant for it."""
    page.set_default_timeout(60_000)
    tiles = page.locator("[data-tiles]").filter(has=page.locator(".tile"))
    tiles.filter(has_not=page.locator(".tile:not(:has(img))")).wait_for()
    let_frames_pass(page)
    let_pass(page, 6_000)


def wait_for_another(page, before):
    """Until a page with other images than these is shown."""
    page.wait_for_selector(another(before), state="attached")


def another(before):
    """The first tile of a page that does not begin with these seats."""
    return f".tile:first-child:not([data-seat='{before[0]}'])"


def finish(page):
    page.keyboard.press("Control+Enter")


def seats_shown(page):
    return page.evaluate(
        "[...document.querySelectorAll('[data-tiles] .tile')].map((tile) => tile.dataset.seat)"
    )


def marks(page):
    return page.evaluate(
        "[...document.querySelectorAll('[data-tiles] .tile')].map((tile) =>"
        " tile.querySelector('.tile-hard input').checked ? 'hard' :"
        " tile.querySelector('.tile-yes').checked ? 'yes' : 'no')"
    )


@pytest.fixture
def page(browser_as, bob, grid, site):
    """Bob's page, ready for his first answer."""
    page = browser_as(bob)
    open_grid(page, site)
    return page


def test_keys_alone_answer_a_page(page):
    page.keyboard.press("ArrowDown")  # into the grid
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Space")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("h")
    page.keyboard.press("End")
    page.keyboard.press("y")
    words = page.inner_text("[data-done-words]")
    finish(page)

    wait_for_chip(page, "All saved")
    assert words == "Done: 2 yes, 3 no, 1 too hard"
    assert count_answers() == {"yes": 2, "no": 3, "hard": 1}
    times = set(Answer.objects.values_list("duration_ms", flat=True))
    assert len(times) == 1, "every image has its share of the page's time"
    assert 0 not in times


def test_every_page_comes_until_nothing_is_left(page):
    classes = []

    for _ in range(4):
        classes.append(page.inner_text("[data-class]"))
        before = seats_shown(page)
        finish(page)
        page.wait_for_selector(f"{another(before)}, {FINISHED}", state="attached")
        if page.is_visible("[data-finished]"):
            break
        wait_for_page(page)

    page.wait_for_selector(FINISHED)
    assert sorted(classes) == ["fruit"] * 2 + ["living organism (other than people)"] * 2
    assert count_answers() == {"no": 24}
    assert page.inner_text("[data-done]") == "24"


@pytest.mark.ci
def test_left_falls_although_the_next_page_was_told_before_the_answers_came(page):
    left = int(page.inner_text("[data-left]"))
    held, holding = [], [True]
    page.route(
        "**/label/page/",
        lambda route: held.append((route, route.fetch())) if holding else route.continue_(),
    )

    point_at_the_second_half(page)
    with page.expect_response(ANSWERS):
        finish(page)
    while not held:  # a condition, bounded by the test's own time
        page.wait_for_timeout(20)
    wait_for_chip(page, "All saved")
    holding.clear()
    for route, reply in held:
        page._carrier.do(lambda route=route, reply=reply: route.fulfill(response=reply))
    page.wait_for_load_state("networkidle")

    expect(page.locator("[data-left]")).to_have_text(str(left - 6))


@pytest.mark.ci
def test_a_yes_asks_what_is_below_it(browser_as, alice, bob, dataset, site, run_jobs):
    names = [f"{index:03}.png" for index in range(4)]
    for name in names:
        factories.make_image(dataset, name)
    factories.join(bob, ask(alice, dataset, names, votes=1, page_size=4))
    page = browser_as(bob)
    open_grid(page, site)

    page.click(".tile:nth-child(2) .tile-face")
    finish(page)
    page.wait_for_selector("[data-finished]:not([hidden])")
    run_jobs()
    page.click("[data-do=refill]")
    wait_for_page(page)
    question = page.inner_text("h1"), len(seats_shown(page))
    finish(page)

    wait_for_chip(page, "All saved")
    assert question == ("Which of these contain a domestic cat?", 1)
    assert count_answers() == {"yes": 1, "no": 4}


def point_at_the_second_half(page):
    page.hover(".tile:nth-child(4)")


@pytest.mark.ci
def test_the_next_page_is_leased_from_the_middle_of_this_one_on(page, bob):
    page.hover(".tile:nth-child(2)")
    page.wait_for_load_state("networkidle")
    before = leased(bob)

    with page.expect_response("**/label/page/"):
        point_at_the_second_half(page)

    assert (before, leased(bob)) == (6, 12)


@pytest.mark.ci
def test_a_reply_from_before_the_answers_is_not_taken_for_the_end(
    browser_as, alice, bob, dataset, site
):
    names = [f"{index:03}.png" for index in range(4)]
    for name in names:
        factories.make_image(dataset, name)
    factories.join(bob, ask(alice, dataset, names, ("animal", "fruit"), page_size=4))
    page = browser_as(bob)
    open_grid(page, site)
    before = seats_shown(page)
    held = []
    page.route("**/label/page/", lambda route: held.append((route, route.fetch())), times=1)

    point_at_the_second_half(page)
    while not held:  # a condition, bounded by the test's own time
        page.wait_for_timeout(20)
    finish(page)
    wait_for_chip(page, "All saved")
    for key in ("y", "z"):
        page.keyboard.press(key)
    kept, is_over = seats_shown(page), page.is_visible("[data-finished]")
    opened = page.is_visible("dialog[open]")
    [(route, reply)] = held
    content = page._carrier.do(lambda: route.fulfill(response=reply) or reply.json())
    wait_for_another(page, before)

    assert content["seats"] == []
    # Until the next page is there, the last one stays, and takes no marks.
    assert (kept, is_over, opened) == (before, False, False)
    assert len(seats_shown(page)) == 4


@pytest.mark.ci
def test_the_next_page_is_there_before_it_is_asked_for(browser_as, bob, grid, site):
    page = browser_as(bob)
    wait_for_images = count_images(page)
    open_grid(page, site)
    wait_for_images(6)
    point_at_the_second_half(page)
    wait_for_images(12)
    page.context.set_offline(True)

    before = seats_shown(page)
    finish(page)
    wait_for_another(page, before)
    wait_for_page(page)

    assert len(seats_shown(page)) == 6
    page.context.set_offline(False)
    page.evaluate("dispatchEvent(new Event('online'))")
    wait_for_chip(page, "All saved")
    assert count_answers() == {"no": 6}


def test_marks_survive_a_reload(page):
    page.click(".tile:nth-child(2) .tile-face")
    page.click(".tile:nth-child(4) .tile-hard")
    before = seats_shown(page), marks(page)

    page.reload()
    wait_for_page(page)

    assert (seats_shown(page), marks(page)) == before
    assert before[1] == ["no", "yes", "no", "hard", "no", "no"]
    finish(page)
    wait_for_chip(page, "All saved")
    assert count_answers() == {"yes": 1, "no": 4, "hard": 1}


@pytest.mark.ci
def test_a_closed_page_keeps_the_leases_of_what_was_marked(page):
    before = seats_shown(page)
    page.click(".tile:nth-child(2) .tile-face")

    held = left_behind(page)

    assert sorted(held) == sorted([before[0], *before[2:]])


def test_a_page_sent_offline_arrives_once_after_a_reload(page):
    page.route(ANSWERS, lambda route: route.abort())
    page.click(".tile:nth-child(1) .tile-face")
    finish(page)
    wait_for_chip(page, "6 unsent")

    page.reload()
    wait_for_chip(page, "6 unsent")
    page.unroute(ANSWERS)
    page.evaluate("dispatchEvent(new Event('online'))")

    wait_for_chip(page, "All saved")
    assert count_answers() == {"yes": 1, "no": 5}
    assert Answer.objects.count() == 6


def test_the_page_before_can_be_changed(page):
    page.click(".tile:nth-child(1) .tile-face")
    first = seats_shown(page)
    finish(page)
    wait_for_another(page, first)
    wait_for_page(page)

    page.keyboard.press("u")
    wait_for_page(page)
    again = seats_shown(page), marks(page)
    page.click(".tile:nth-child(1) .tile-face")
    page.click(".tile:nth-child(6) .tile-face")
    words = page.inner_text("[data-done-words]")
    finish(page)

    wait_for_chip(page, "All saved")
    assert again == (first, ["yes", "no", "no", "no", "no", "no"])
    assert words == "Change to: 1 yes, 5 no"
    assert count_answers() == {"yes": 1, "no": 5}
    assert Answer.objects.count() == 8, "only what changed is sent again"
    assert seats_shown(page) != first


def test_an_image_skipped_leaves_the_page(page):
    first = seats_shown(page)

    with page.expect_response("**/label/skip/") as skipped:
        page.focus(".tile:nth-child(2) .tile-yes")
        page.keyboard.press("s")
    words = page.inner_text("[data-done-words]")
    finish(page)

    wait_for_chip(page, "All saved")
    assert skipped.value.status == 200
    assert words == "Done: 0 yes, 5 no"
    assert set(Answer.objects.values_list("assignment__token", flat=True)) == set(first) - {
        first[1]
    }


@pytest.mark.ci
def test_a_skipped_image_comes_back_to_the_page_with_all_marks(page):
    first = seats_shown(page)
    page.focus(".tile:nth-child(3) .tile-yes")
    page.keyboard.press("y")
    page.focus(".tile:nth-child(2) .tile-yes")
    with page.expect_response("**/label/skip/"):
        page.keyboard.press("s")

    page.keyboard.press("u")
    page.wait_for_selector(f".tile:nth-child(1)[data-seat='{first[1]}']")
    wait_for_page(page)
    finish(page)

    wait_for_chip(page, "All saved")
    assert count_answers() == {"yes": 1, "no": 5}
    assert set(Answer.objects.values_list("assignment__token", flat=True)) == set(first)


@pytest.mark.ci
def test_what_does_not_fit_comes_on_more_pages(browser_as, alice, bob, dataset, site):
    names = [f"{index:03}.png" for index in range(60)]
    for name in names:
        factories.make_image(dataset, name)
    campaign = ask(alice, dataset, names, page_size=60)
    factories.join(bob, campaign)
    page = browser_as(bob, viewport=NARROW)
    open_grid(page, site)
    first = seats_shown(page)

    assert 1 < len(first) < 60
    assert page.evaluate(SCROLLS) is False
    finish(page)
    wait_for_another(page, first)
    wait_for_page(page)

    wait_for_chip(page, "All saved")
    assert count_answers() == {"no": len(first)}
    assert page.inner_text("[data-left]") == str(60 - len(first))
    assert not set(first) & set(seats_shown(page))


@pytest.mark.ci
def test_a_smaller_window_gives_more_pages_and_keeps_the_marks(
    browser_as, alice, bob, dataset, site
):
    names = [f"{index:03}.png" for index in range(24)]
    for name in names:
        factories.make_image(dataset, name)
    factories.join(bob, ask(alice, dataset, names, page_size=24))
    page = browser_as(bob)
    open_grid(page, site)
    page.click(".tile:nth-child(2) .tile-face")
    page.click(".tile:nth-child(24) .tile-hard")

    page.set_viewport_size(NARROW)
    expect(page.locator(".tile:nth-child(24)")).to_have_count(0)
    few = marks(page)
    small = page.evaluate(SCROLLS)
    page.set_viewport_size(WIDE)
    expect(page.locator(".tile")).to_have_count(24)

    assert (few[:3], small) == (["no", "yes", "no"], False)
    assert marks(page) == ["no", "yes", *["no"] * 21, "hard"]


@pytest.mark.ci
def test_a_page_is_not_sent_before_its_images_came(browser_as, bob, grid, site):
    page = browser_as(bob)
    page.route("**/image?*", lambda route: route.abort())
    page.goto(site("/campaigns/grid/label/"))
    page.wait_for_selector(".tile")
    let_pass(page, 6_000)

    finish(page)

    assert "6 images still loading" in page.inner_text("[data-announce]")
    assert page.evaluate(KEPT) == []


@pytest.mark.ci
def test_a_second_press_at_once_sends_no_second_page(page):
    page.dblclick("[data-do=done]")

    wait_for_chip(page, "All saved")
    assert Answer.objects.count() == 6


@pytest.mark.ci
def test_closed_questions_are_said_and_forgotten(page):
    Question.objects.filter(seats__token=seats_shown(page)[0]).update(
        state=Question.State.WITHDRAWN, seats_free=0
    )

    finish(page)

    wait_for_chip(page, "All saved")
    page.wait_for_selector("[data-announce]:has-text('was withdrawn')")
    assert Answer.objects.count() == 5
    assert page.evaluate(KEPT) == []
    assert page.inner_text("[data-done]") == "5"


@pytest.mark.ci
def test_an_answer_reopened_from_the_list_is_marked_as_it_was(page, site):
    page.focus(".tile:nth-child(1) .tile-yes")
    page.keyboard.press("y")
    finish(page)
    wait_for_chip(page, "All saved")
    page.goto(site("/campaigns/grid/label/last/"))

    page.locator(".strip a:has-text('Yes')").click()

    wait_for_page(page)
    assert marks(page) == ["yes"]
    # An answered image cannot be skipped.
    assert page.locator("[data-tile-do=skip]").is_hidden()
    assert page.inner_text("[data-done]") == "6"
    page.focus(".tile .tile-yes")
    page.keyboard.press("h")
    finish(page)
    wait_for_chip(page, "All saved")
    assert page.inner_text("[data-done]") == "6"
    assert Answer.objects.filter(revision=1).values_list("value", flat=True).get() == "hard"


@pytest.mark.ci
def test_one_image_is_looked_at_closely_and_marked_there(page, axe):
    page.focus(".tile:nth-child(2) .tile-yes")
    page.keyboard.press("z")
    page.wait_for_selector("#closer .stage img")
    axe(page)
    page.keyboard.press("+")
    level = page.inner_text("[data-zoom-level]")
    page.keyboard.press("h")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("y")
    title = page.inner_text("[data-closer-title]")
    page.keyboard.press("z")

    assert (level, title) == ("140 %", "Image 3 of 6")
    assert marks(page) == ["no", "hard", "yes", "no", "no", "no"]
    page.wait_for_selector(f".tile[data-seat='{seats_shown(page)[2]}']:focus-within")


def test_fingers_tap_for_yes_and_hold_for_too_hard(browser_as, bob, grid, site):
    page = browser_as(bob, viewport=NARROW, has_touch=True, is_mobile=True)
    open_grid(page, site)

    page.tap(".tile:nth-child(1) .tile-face")
    page.tap(".tile:nth-child(3) .tile-face")
    page.tap(".tile:nth-child(3) .tile-face")
    hold(page, ".tile:nth-child(2)")
    page.tap(".tile:nth-child(4) .tile-hard")
    page_marks = marks(page)
    small = page.evaluate(
        "[...document.querySelectorAll('.tile-face, .tile-hard, .tile-do')].filter((part) => {"
        "const box = part.getBoundingClientRect(); return box.height < 44 || box.width < 24 })"
        ".map((part) => part.outerHTML.slice(0, 60))"
    )
    first = seats_shown(page)
    page.tap("[data-do=done]")
    let_frames_pass(page)
    # The first tap shows what was not seen yet, if anything: on a slow machine all was.
    if seats_shown(page) == first:
        page.tap("[data-do=done]")

    wait_for_chip(page, "All saved")
    assert page_marks == ["yes", "hard", "no", "hard", "no", "no"]
    assert small == []
    assert count_answers() == {"yes": 1, "hard": 2, "no": 3}


def hold(page, tile):
    """A finger on the tile until it is too hard, which is longer than a tap."""
    box = page.locator(f"{tile} .tile-face").bounding_box()
    session = page.context.new_cdp_session(page)
    point = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}
    session.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [point]})
    page.wait_for_selector(f"{tile} .tile-hard input:checked", state="attached")
    session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})


@pytest.mark.ci
def test_single_keys_can_be_switched_off_but_not_the_grid(page):
    page.keyboard.press("?")
    page.click("text=Use single-letter shortcuts")
    page.keyboard.press("Escape")
    page.focus(".tile:nth-child(1) .tile-yes")
    page.keyboard.press("h")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Space")

    assert marks(page) == ["no", "yes", "no", "no", "no", "no"]


def test_a_page_works_without_scripts(browser_as, bob, grid, site):
    page = browser_as(bob, java_script_enabled=False)
    page.goto(site("/campaigns/grid/label/"))

    page.check(".tile:nth-child(1) .tile-yes", force=True)
    page.check(".tile:nth-child(2) .tile-hard input")
    page.click("[data-do=done]")
    first = count_answers()
    page.click("text=Change the previous page")
    again = page.is_checked(".tile:nth-child(1) .tile-yes")
    page.check(".tile:nth-child(3) .tile-yes", force=True)
    page.click("[data-do=done]")
    page.click(".tile:nth-child(1) [name=skip]")

    assert first == {"yes": 1, "hard": 1, "no": 4}
    assert again
    assert count_answers() == {"yes": 2, "hard": 1, "no": 3}
    assert page.is_visible("text=Which of these contain")


@pytest.mark.ci
def test_full_storage_sends_a_page_and_takes_no_second(page):
    with page.expect_response("**/label/page/"):
        point_at_the_second_half(page)
    page.route(ANSWERS, lambda route: route.abort())
    page.evaluate(
        "() => { Storage.prototype.setItem = () => {"
        " throw new DOMException('full', 'QuotaExceededError') } }"
    )
    first = seats_shown(page)

    finish(page)
    wait_for_another(page, first)
    wait_for_page(page)
    finish(page)

    wait_for_chip(page, "6 unsent")
    assert "no room left" in page.inner_text("[data-announce]")
    page.unroute(ANSWERS)
    page.evaluate("dispatchEvent(new Event('online'))")
    wait_for_chip(page, "All saved")
    assert Answer.objects.count() == 6


@pytest.mark.parametrize("count", [20, pytest.param(100, marks=pytest.mark.slow)])
def test_a_page_of_photographs_looks_right(browser_as, alice, bob, dataset, site, looked_at, count):
    campaign = ask(alice, dataset, photographs(dataset, count), page_size=count)
    [yes, no] = campaign.dataset.images.all()[:2]
    lifecycle.add_example(campaign, "animal", yes, "yes", "a cat is one")
    lifecycle.add_example(campaign, "animal", no, "no", "coffee is none")
    factories.join(bob, campaign)
    page = browser_as(bob)
    open_grid(page, site)

    page.click(".tile:nth-child(1) .tile-face")
    page.click(".tile:nth-child(5) .tile-face")
    page.click(".tile:nth-child(2) .tile-hard")
    page.keyboard.press("ArrowRight")
    looked_at(page, f"grid-{count}")
    page.keyboard.press("z")
    page.wait_for_selector("#closer .stage img")
    if count == 20:
        looked_at(page, "grid-closer")
        page.keyboard.press("Escape")
        page.keyboard.press("?")
        looked_at(page, "grid-keys")


# The area of the images as they are seen, and which of them are cut, small or off the stage.
SEEN = """(() => {
  const stage = document.querySelector("[data-tiles]").getBoundingClientRect();
  let covered = 0;
  const cut = [];
  for (const image of document.querySelectorAll(".tile img")) {
    const { left, top, width, height, right, bottom } = image.getBoundingClientRect();
    const scale = Math.min(width / image.naturalWidth, height / image.naturalHeight);
    const sides = [image.naturalWidth * scale, image.naturalHeight * scale];
    covered += sides[0] * sides[1];
    const whole = getComputedStyle(image).objectFit === "contain" && Math.min(...sides) > 89.5;
    const inside = left >= stage.left && right <= stage.right;
    if (!whole || !inside || top < stage.top || bottom > stage.bottom) cut.push(sides);
  }
  return { covered, cut };
})()"""
# How far things move from now on, also by what the person did.
SHIFTS = """(() => {
  window.shifted = 0;
  new PerformanceObserver((list) => {
    for (const { value } of list.getEntries()) shifted += value;
  }).observe({ type: "layout-shift" });
})()"""
# The stage and the images' shapes, from which the best number of columns is found.
GIVEN = """(() => {
  const list = document.querySelector("[data-tiles]");
  const style = getComputedStyle(list);
  const px = (name) => parseFloat(style.getPropertyValue(name));
  const stage = {
    width: list.clientWidth - 2 * px("padding-left"),
    height: list.clientHeight - 2 * px("padding-top"),
    gap: px("column-gap"), bar: px("--bar-height"),
  };
  const images = [...document.querySelectorAll(".tile img")];
  return [images.map((image) => image.naturalWidth / image.naturalHeight), stage];
})()"""
WINDOWS = [WIDE, {"width": 1920, "height": 1080}, NARROW]


@pytest.mark.ci
@pytest.mark.parametrize("count", [2, 9, 20])
def test_images_cover_what_the_best_columns_can(browser_as, alice, bob, dataset, site, count):
    factories.join(bob, ask(alice, dataset, photographs(dataset, count), page_size=count))
    shares = {}
    page = browser_as(bob)
    for window in WINDOWS:
        page.set_viewport_size(window)
        open_grid(page, site)
        ratios, stage = page.evaluate(GIVEN)
        each = [sizes_in(ratios, columns, stage) for columns in range(1, len(ratios) + 1)]
        most = max(covered(sizes) for sizes in each if fits(sizes, ratios, stage))

        seen = page.evaluate(SEEN)

        shares[window["width"]] = round(seen["covered"] / most, 3)
        assert seen["cut"] == []
        assert page.evaluate(SCROLLS) is False
    print(f"{count} images: of what the best columns cover, {shares}")
    assert min(shares.values()) >= 0.9


@pytest.mark.ci
def test_nothing_moves_while_pages_are_marked_and_sent(browser_as, alice, bob, dataset, site):
    factories.join(bob, ask(alice, dataset, photographs(dataset, 18), page_size=6))
    page = browser_as(bob)
    open_grid(page, site)
    page.evaluate(SHIFTS)
    position = page.locator("[data-do=done]").bounding_box()

    for mark in (".tile:nth-child(2) .tile-face", ".tile:nth-child(3) .tile-hard"):
        page.click(mark)
    page.keyboard.press("z")
    page.keyboard.press("Escape")
    first = seats_shown(page)
    looked_at_closely = page.evaluate("document.activeElement.closest('.tile').dataset.seat")
    for _ in range(2):
        before = seats_shown(page)
        finish(page)
        wait_for_another(page, before)
        wait_for_page(page)
    page.keyboard.press("u")
    page.wait_for_selector("[data-notice]:not([hidden])")
    let_frames_pass(page)

    assert looked_at_closely == first[2]
    assert page.evaluate("window.shifted") == 0
    assert page.locator("[data-do=done]").bounding_box() == position


@pytest.mark.ci
def test_guidance_comes_up_on_a_phone(browser_as, alice, bob, dataset, site, axe, screenshots):
    campaign = ask(alice, dataset, photographs(dataset, 6), page_size=6)
    factories.join(bob, campaign)
    page = browser_as(bob, viewport=NARROW, has_touch=True, is_mobile=True)
    open_grid(page, site)

    page.tap(".label-bar [data-do=about]")
    screenshots(page, "grid-about-touch")
    axe(page)

    assert page.is_visible("[data-topic-guidance]")


@pytest.mark.ci
def test_a_researcher_sees_the_page_before_anybody_answers(
    browser_as, alice, dataset, site, looked_at
):
    ask(alice, dataset, photographs(dataset, 8), ("animal", "fruit"), page_size=6)
    page = browser_as(alice)

    page.goto(site("/campaigns/grid/preview/"))
    first = page.inner_text("[data-class]")
    looked_at(page, "grid-preview")
    page.click("text=Another question")
    second = page.inner_text("[data-class]")

    assert {first, second} == {"living organism (other than people)", "fruit"}
    assert page.locator(".tile img").count() == 6
