"""Boxes in a real browser: drawn by drag, by four clicks, by keys alone and by a thumb; checked,
and looked for."""

import pytest

from labeling.campaigns import lifecycle
from labeling.follow_ups import asking, following
from labeling.models import Answer, Question
from labeling.quality import gold
from tests import factories
from tests.browser import box_hands as hands
from tests.browser.conftest import NARROW, WIDE, add_photographs, expect, let_frames_pass, let_pass
from tests.browser.labeling.test_labeling import leased
from tests.labeling import boxers

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

CAT, CUP = "n02123045", "n07920052"
# Of chelsea.png, 451 × 300: the cat's head, and another place.
HEAD, CORNER = [110.0, 40.0, 330.0, 260.0], [10.0, 200.0, 90.0, 290.0]
PHONE = {"viewport": NARROW, "has_touch": True, "is_mobile": True, "reduced_motion": "reduce"}
SIDEWAYS = {"width": 844, "height": 390}
STAGE = "[data-stage]"


@pytest.fixture
def campaign(alice, bob, dataset):
    """Two photographs in which everybody may box a cat."""
    add_photographs(dataset, "chelsea.png", "coffee.png")
    rules = {"second_looks": 0, "gold_share": 0}
    campaign = lifecycle.create(
        alice, name="boxes", title="Cats, boxed", kind="boxes", dataset=dataset, policy=rules
    )
    lifecycle.define_topics(
        campaign,
        [
            {"key": CAT, "name": "tabby", "definition": "a cat with a grey or tawny coat"},
            {"key": CUP, "name": "espresso"},
        ],
    )
    asking.add_questions(campaign, [("chelsea.png", CAT), ("coffee.png", CUP)])
    lifecycle.launch(campaign, alice)
    factories.join(bob, campaign)
    return campaign


@pytest.fixture
def shown_step(campaign):
    """Makes the first question another step that shows this, and takes the other one away."""

    def make(step, **content):
        first, second = campaign.questions.order_by("pk")
        Question.objects.filter(pk=second.pk).update(state="withdrawn", seats_free=0)
        Question.objects.filter(pk=first.pk).update(
            step=step, content={"number": 1, "boxes": [], **content}
        )
        return first

    return make


@pytest.fixture
def opened(browser_as, bob, campaign, site):
    """Opens Bob's page; options go to the browser context."""

    def make(**options):
        page = browser_as(bob, **{"reduced_motion": "reduce", **options})
        hands.open_page(page, site)
        return page

    return make


@pytest.mark.ci
def test_the_last_question_withdrawn_under_ones_hands_says_so_where_nothing_is_left(
    campaign, opened, shown_step
):
    question = shown_step("draw")
    page = opened()
    hands.draw(page, HEAD)
    Question.objects.filter(pk=question.pk).update(state="withdrawn", seats_free=0)

    hands.send_by(page, "[data-do=send-box]:visible")

    expect(page.locator("[data-finished]")).to_be_visible()
    expect(page.get_by_text("This question was withdrawn")).to_be_visible()
    assert hands.values() == []


@pytest.mark.ci
def test_the_first_photograph_is_sent_once(images_sent, opened):
    opened()

    assert set(images_sent.values()) == {1}


def test_a_box_is_drawn_by_four_clicks_in_any_order(opened):
    page = opened()
    left, top, right, bottom = hands.extremes(HEAD)
    hands.click(page, right, bottom, left)
    assert page.locator("[data-hint]").inner_text() == "One point left."
    hands.click(page, top)
    with page.expect_response(hands.ANSWERS):
        page.click("[data-do=send-box]:visible")

    [value] = hands.values()
    assert value["how"] == "clicks"
    assert len(value["points"]) == 4
    assert hands.overlap(value, HEAD) > 0.98


def test_a_box_is_dragged_adjusted_and_flagged_and_the_way_is_remembered(opened):
    page = opened()
    page.click("[data-do=way-drag]")
    hands.drag(page, HEAD[:2], (300, 230))
    hands.drag(page, (300, 150), (HEAD[2], 150))
    hands.drag(page, (200, 230), (200, HEAD[3]))
    page.click("[data-flag=truncated]:visible")
    hands.press(page, "o")
    page.reload()
    hands.wait(page)

    assert page.get_attribute("[data-do=way-drag]", "aria-pressed") == "true"
    hands.send(page, "Enter")
    [value] = hands.values()
    assert value["how"] == "drag"
    assert value["flags"] == ["truncated", "occluded"]
    assert hands.overlap(value, HEAD) > 0.98


def test_a_box_drawn_by_keys_alone_is_the_mouses(opened, shown_step):
    shown_step("draw")
    page = opened()
    cursor = (225.5, 150)
    for point in hands.extremes(HEAD):
        hands.move_cursor(page, (point[0] - cursor[0], point[1] - cursor[1]))
        page.keyboard.press("Space")
        cursor = point
    before = page.locator("[data-hint]").inner_text()
    hands.press(page, "ArrowRight", "ArrowRight", "ArrowLeft", "ArrowUp", "Shift+ArrowDown")
    hands.press(page, "Shift+ArrowUp")
    hands.send(page, "Enter")

    assert "Move the edges" in before
    assert hands.overlap(hands.values()[0], HEAD) >= 0.85


@pytest.mark.ci
def test_edges_move_by_a_pixel_by_arrows_and_all_of_it_is_undone(opened):
    page = opened()
    hands.draw(page, HEAD)
    hands.press(page, "ArrowLeft", "ArrowLeft", "ArrowLeft", "ArrowDown", "Shift+ArrowDown")
    hands.send(page, "Enter")
    [moved] = hands.values()

    first = Answer.objects.get()
    points = [tuple(point) for point in moved["points"]]
    assert moved["box"][0] == min(x for x, _ in points)
    assert moved["box"][3] == max(y for _, y in points)
    assert first.value["box"][0] == pytest.approx(HEAD[0] - 2, abs=0.7)
    assert first.value["box"][3] == pytest.approx(HEAD[3] + 10, abs=0.7)

    hands.wait(page)
    hands.draw(page, HEAD)
    hands.press(page, "ArrowLeft", "ArrowLeft")
    hands.press(page, *["Control+z"] * 5)
    assert "outermost points" in page.locator("[data-hint]").inner_text()
    hands.press(page, *["Control+y"] * 4)
    hands.send(page, "Enter")
    assert hands.overlap(hands.values()[1], HEAD) > 0.98


def test_undo_survives_a_reload(opened):
    page = opened()
    hands.click(page, *hands.extremes(HEAD)[:3])

    page.reload()
    hands.wait(page)
    assert page.locator("[data-hint]").inner_text() == "One point left."
    hands.press(page, "Control+z")
    assert page.locator("[data-hint]").inner_text() == "Two points left."
    hands.click(page, *hands.extremes(HEAD)[2:])
    hands.send(page, "Enter")

    assert hands.overlap(hands.values()[0], HEAD) > 0.98


@pytest.mark.ci
@pytest.mark.parametrize("way", ["clicks", "drag"])
def test_a_box_drawn_by_one_thumb_on_a_phone_is_the_mouses(opened, screenshots, way):
    page = opened(**PHONE)
    hands.start(page)
    page.tap(f"[data-do=way-{way}]")
    if way == "clicks":
        for x, y in hands.extremes(HEAD):
            hands.touch(page, "pointerdown", (x + 15, y + 12))
            hands.touch(page, "pointermove", (x, y))
            expect(page.locator(".loupe")).to_be_visible()
            screenshots(page, "boxes-loupe")
            hands.touch(page, "pointerup", (x, y))
    else:
        hands.swipe(page, HEAD[:2], (200, 150), (HEAD[2] - 12, HEAD[3] - 12))
        # Beside the corner, as thumbs are: the corner moves by as much as the thumb.
        hands.swipe(page, (HEAD[2] - 4, HEAD[3] - 4), (HEAD[2] + 8, HEAD[3] + 8))
    expect(page.locator(".loupe")).to_be_hidden()
    let_pass(page)
    with page.expect_response(hands.ANSWERS):
        page.tap("[data-do=send-box]:visible")

    assert hands.overlap(hands.values()[0], HEAD) >= 0.85


@pytest.mark.ci
def test_two_fingers_zoom_and_draw_nothing(opened):
    page = opened(**PHONE)
    hands.start(page)
    before = page.evaluate("document.querySelector('.boxes-photo').style.transform")
    hands.touch(page, "pointerdown", (150, 150), 1)
    hands.touch(page, "pointerdown", (250, 150), 2)
    hands.touch(page, "pointermove", (350, 150), 2)
    hands.touch(page, "pointermove", (350, 150), 2)
    hands.touch(page, "pointerup", (300, 150), 2)
    hands.touch(page, "pointerup", (150, 150), 1)

    assert page.evaluate("document.querySelector('.boxes-photo').style.transform") != before
    assert "outermost points" in page.locator("[data-hint]").inner_text()


@pytest.mark.ci
def test_a_box_that_is_there_is_refused_while_drawing(opened, shown_step):
    shown_step("draw", boxes=[HEAD])
    page = opened()

    hands.draw(page, [HEAD[0] + 3, HEAD[1] - 3, HEAD[2], HEAD[3] + 2])
    assert "There is a box here already" in page.locator("[data-hint]").inner_text()
    hands.press(page, "Enter")
    assert not Answer.objects.exists()
    hands.press(page, "Backspace")
    hands.draw(page, CORNER)
    hands.send(page, "Enter")

    assert hands.overlap(hands.values()[0], CORNER) > 0.95


@pytest.mark.ci
def test_a_box_sent_back_is_shown_with_its_reason_at_its_place(opened, shown_step, looked_at):
    shown_step(
        "draw",
        boxes=[CORNER],
        rejected={"box": [60, 20, 330, 260], "reason": "loose", "sides": ["left", "top"]},
        at=[200, 150],
    )
    page = opened()

    assert page.inner_text(".boxes-tag-rejected") == "Sent back: too loose on the left and the top"
    assert page.inner_text("[data-asks]:visible") == "Draw the box around this tabby again"
    looked_at(page, "boxes-draw-again")


@pytest.mark.ci
def test_nothing_is_left_to_draw_is_one_key_unless_a_box_was_begun(opened, shown_step):
    shown_step("draw", boxes=[HEAD], at=[50, 250])
    page = opened()
    assert page.inner_text(".boxes-tag-at") == "Reported here"
    hands.click(page, (20, 250))
    hands.press(page, "n")
    assert not Answer.objects.exists()

    hands.press(page, "Backspace")
    with page.expect_response(hands.ANSWERS):
        page.click("[data-do=none]:visible")

    assert hands.values() == ["none"]


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        (["g"], "good"),
        (["1"], "loose"),
        (["7"], "duplicate"),
        (["ArrowLeft", "ArrowUp", "1"], {"reason": "loose", "sides": ["left", "top"]}),
        (["ArrowLeft", "ArrowRight", "ArrowLeft", "3"], {"reason": "shifted", "sides": ["right"]}),
        (["ArrowLeft", "6"], "wrong"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, list) else "",
)
def test_a_box_is_checked_by_a_key_and_its_sides_by_arrows_before(opened, shown_step, keys, value):
    shown_step("check", box=HEAD, came="drawn")
    page = opened()

    hands.send(page, *keys)

    assert hands.values() == [value]


@pytest.mark.ci
def test_a_box_is_checked_by_mouse_at_the_edge_that_is_wrong(opened, shown_step):
    shown_step("check", box=HEAD, came="drawn", boxes=[CORNER])
    page = opened()
    hands.click(page, (HEAD[0], 150))
    assert page.get_attribute("[data-side='0']", "aria-pressed") == "true"
    hands.press(page, "g")
    assert not Answer.objects.exists()

    let_pass(page)
    with page.expect_response(hands.ANSWERS):
        page.click("[data-reason=cropping]:visible")

    assert hands.values() == [{"reason": "cropping", "sides": ["left"]}]


@pytest.mark.ci
def test_the_edges_of_a_proposed_box_are_mended_by_arrows_and_by_mouse(
    opened, shown_step, looked_at
):
    shown_step("check", box=[120.0, 40.0, 330.0, 260.0], came="proposed")
    page = opened()
    hands.press(page, "ArrowLeft", "Shift+ArrowLeft")
    hands.drag(page, (200, 260), (200, 270))
    hands.press(page, "t")
    looked_at(page, "boxes-check-proposed")
    hands.send(page, "g")

    [value] = hands.values()
    assert value["flags"] == ["truncated"]
    assert value["box"] == pytest.approx([110, 40, 330, 270], abs=0.8)


@pytest.mark.ci
def test_z_looks_at_the_box_from_near_and_the_next_one_too(opened, campaign, shown_step):
    shown_step("check", box=[150.0, 100.0, 190.0, 130.0], came="drawn")
    page = opened()
    far = page.inner_text("[data-zoom-level]")

    hands.press(page, "z")
    near = page.inner_text("[data-zoom-level]")
    hands.press(page, "z")

    assert float(near.split()[0]) > 3 * float(far.split()[0])
    assert page.inner_text("[data-zoom-level]") == far


@pytest.mark.parametrize("by", ["mouse", "keys"])
def test_what_has_no_box_is_pointed_at(opened, shown_step, looked_at, by):
    shown_step("cover", boxes=[HEAD])
    page = opened()
    if by == "mouse":
        hands.click(page, (30, 250), (400, 50), (60, 200))
        hands.click(page, (400, 50))
        looked_at(page, "boxes-cover")
        let_pass(page)
        with page.expect_response(hands.ANSWERS):
            page.click("[data-do=send-box]:visible")
    else:
        hands.press(page, "ArrowLeft", "Space", *["Shift+ArrowLeft"] * 3, "Space", "Backspace")
        hands.press(page, "Shift+ArrowLeft", "Space")
        hands.send(page, "Enter")

    [value] = hands.values()
    if by == "mouse":
        assert value["missing"] == [
            pytest.approx([30, 250], abs=1),
            pytest.approx([60, 200], abs=1),
        ]
    else:
        assert len(value["missing"]) == 2
    assert all(0 <= x <= 451 and 0 <= y <= 300 for x, y in value["missing"])


@pytest.mark.ci
def test_every_one_has_a_box_is_one_key(opened, shown_step):
    shown_step("cover", boxes=[HEAD])
    page = opened()

    hands.send(page, "y")

    assert hands.values() == ["complete"]


def test_an_answer_is_gone_back_to_and_changed(opened, site):
    page = opened()
    first = hands.seat_of(page)
    hands.draw(page, HEAD)
    hands.send(page, "d", "Enter")
    page.wait_for_selector(f"[data-drawing][data-seat]:not([data-seat='{first}'])")

    page.reload()
    hands.wait(page)
    hands.press(page, "u")
    page.wait_for_selector(f"[data-drawing][data-seat='{first}']")
    assert page.is_visible("[data-notice]")
    assert page.get_attribute("[data-flag=difficult] >> nth=0", "aria-pressed") == "true"
    hands.press(page, "ArrowLeft", "Shift+ArrowLeft")
    hands.send(page, "Enter")

    before, after = hands.values()
    assert after["box"][0] == pytest.approx(before["box"][0] - 10, abs=0.2)
    assert after["flags"] == ["difficult"]


@pytest.mark.ci
@pytest.mark.parametrize(
    ("step", "first", "then", "values"),
    [
        (
            "check",
            ["ArrowLeft", "1"],
            ["ArrowLeft", "g"],
            [{"reason": "loose", "sides": ["left"]}, "good"],
        ),
        ("check", ["g"], ["2"], ["good", "cropping"]),
        (
            "cover",
            ["y"],
            ["ArrowLeft", "Space", "Enter"],
            ["complete", {"missing": [[221.6, 150.0]]}],
        ),
    ],
)
def test_each_step_is_gone_back_to_and_changed(opened, shown_step, step, first, then, values):
    shown_step(step, boxes=[CORNER], **({"box": HEAD, "came": "drawn"} if step == "check" else {}))
    page = opened()
    seat = hands.seat_of(page)
    hands.send(page, *first)
    expect(page.locator("[data-finished]")).to_be_visible()

    hands.press(page, "u")
    page.wait_for_selector(f"[data-drawing][data-seat='{seat}']")
    hands.send(page, *then)

    before, after = hands.values()
    assert before == values[0]
    if step == "cover":
        assert after["missing"][0] == pytest.approx(values[1]["missing"][0], abs=1)
    else:
        assert after == values[1]


@pytest.mark.ci
def test_behind_the_instructions_of_a_phone_nothing_is_answered(opened, shown_step):
    shown_step("check", boxes=[], box=HEAD, came="drawn")
    page = opened(**PHONE)

    hands.press(page, "g")
    hands.press(page, "Escape")
    hands.send(page, "2")

    assert hands.values() == ["cropping"]


def test_what_the_server_refuses_comes_back_with_its_reason(opened):
    page = opened()
    seat = hands.seat_of(page)
    hands.draw(page, HEAD)
    message = "This instance has a box already."

    def refuse(route):
        [answer] = route.request.post_data_json["answers"]
        result = {"id": answer["id"], "status": "refused", "code": "bad_value", "message": message}
        route.fulfill(json={"results": [result]})

    page.route(hands.ANSWERS, refuse)
    let_pass(page)
    hands.press(page, "Enter")

    expect(page.locator("[data-hint]")).to_have_text(message)
    assert hands.seat_of(page) == seat
    page.unroute(hands.ANSWERS)
    hands.send(page, "Enter")
    assert hands.overlap(hands.values()[0], HEAD) > 0.98


@pytest.mark.ci
def test_an_image_is_skipped_and_comes_to_somebody_else(opened):
    page = opened()
    seat = hands.seat_of(page)
    with page.expect_response("**/label/skip/"):
        page.click("[data-do=skip]")

    page.wait_for_selector(f"[data-drawing][data-seat]:not([data-seat='{seat}'])")
    assert not Answer.objects.exists()
    page.keyboard.press("u")
    page.wait_for_selector(f"[data-drawing][data-seat='{seat}']")


@pytest.mark.ci
def test_where_nothing_is_left_nothing_is_asked_or_explained(opened, shown_step, looked_at):
    shown_step("cover", boxes=[HEAD])
    page = opened()

    hands.send(page, "y")

    expect(page.locator("[data-finished]")).to_be_visible()
    assert not page.is_visible(".work-badge")
    looked_at(page, "boxes-finished")


@pytest.mark.ci
def test_the_photograph_has_the_room_and_never_moves(opened, shown_step):
    """Stage of the window, with the instructions open; the photograph touches two sides."""
    shown_step("draw", boxes=[CORNER])
    page = opened()
    page.evaluate(
        "window.shifts = 0; new PerformanceObserver((list) => list.getEntries().forEach(({ value })"
        " => (window.shifts += value))).observe({ type: 'layout-shift', buffered: true })"
    )
    for size in (WIDE, {"width": 1920, "height": 1080}):
        page.set_viewport_size(size)
        box = page.locator(STAGE).bounding_box()
        assert page.is_visible("[data-about]")
        assert box["width"] * box["height"] >= 0.7 * size["width"] * size["height"]
        left, top = hands.at(page, (0, 0))
        right, bottom = hands.at(page, (451, 300))
        ends = (left - box["x"], box["x"] + box["width"] - right)
        sides = (top - box["y"], box["y"] + box["height"] - bottom)
        assert all(0 <= gap <= 8 for gap in ends) or all(0 <= gap <= 8 for gap in sides)
    page.set_viewport_size(WIDE)
    where = hands.at(page, (0, 0))
    page.evaluate("window.shifts = 0")
    hands.draw(page, HEAD)
    hands.press(page, "t", "ArrowLeft", "ArrowLeft", "n", "Backspace", "Enter")

    assert hands.at(page, (0, 0)) == where
    assert page.evaluate("window.shifts") == 0


@pytest.mark.parametrize("step", ["draw", "check", "cover"])
def test_each_step_looks_right(opened, shown_step, looked_at, step):
    shown_step(step, boxes=[CORNER], **({"box": HEAD, "came": "drawn"} if step == "check" else {}))
    page = opened()
    if step == "draw":
        hands.draw(page, HEAD)
    looked_at(page, f"boxes-{step}")
    page.keyboard.press("?")
    if step == "draw":
        looked_at(page, "boxes-keys")


@pytest.mark.ci
@pytest.mark.parametrize("step", ["draw", "check", "cover"])
def test_a_phone_shows_each_step_either_way_up(opened, shown_step, screenshots, axe, step):
    shown_step(
        step, boxes=[CORNER], **({"box": HEAD, "came": "proposed"} if step == "check" else {})
    )
    page = opened(**PHONE)
    screenshots(page, f"boxes-{step}-intro")
    axe(page)
    hands.start(page)
    if step == "draw":
        hands.draw(page, HEAD)
    axe(page)
    for size in (NARROW, SIDEWAYS):
        page.set_viewport_size(size)
        let_frames_pass(page)
        screenshots(page, f"boxes-{step}-{size['width']}")

        stage = page.locator(STAGE).bounding_box()
        assert stage["width"] * stage["height"] > 0.5 * size["width"] * size["height"]
        assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
        hidden = page.evaluate(HIDDEN)
        assert hidden == []


@pytest.mark.ci
@pytest.mark.parametrize("language", ["en", "de"])
@pytest.mark.parametrize("step", ["draw", "check"])
def test_no_button_covers_another(opened, shown_step, screenshots, step, language):
    came = {"box": HEAD, "came": "proposed"} if step == "check" else {}
    shown_step(step, boxes=[CORNER], **came)
    page = opened(locale=language)

    assert page.locator("html").get_attribute("lang").startswith(language)
    for width in (1024, 1100, 1280, 1366, 1440):
        page.set_viewport_size({"width": width, "height": 800})
        let_frames_pass(page)
        screenshots(page, f"boxes-{step}-{language}-{width}")
        assert page.evaluate(COVERED) == [], width
        assert page.evaluate("document.documentElement.scrollWidth") <= width


# Controls of which another covers a part, or that a neighbour or the edge cuts.
COVERED = """(() => {
  const controls = [...document.querySelectorAll(".answers button")]
    .filter((control) => control.checkVisibility() && control.getBoundingClientRect().width);
  const cut = (control) => control.scrollWidth > control.clientWidth + 1;
  return controls.filter((one) => {
    const a = one.getBoundingClientRect();
    return cut(one) || a.right > innerWidth || controls.some((other) => {
      const b = other.getBoundingClientRect();
      const [x, y] = [Math.min(a.right, b.right) - Math.max(a.left, b.left), Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top)];
      return other !== one && x > 0.5 && y > 0.5;
    });
  }).map((control) => control.textContent);
})()"""  # noqa: E501


# Controls whose middle a finger does not meet, or that are too small for one.
HIDDEN = """[...document.querySelectorAll(".boxes-work button")]
  .filter((control) => control.checkVisibility() && control.getBoundingClientRect().width)
  .filter((control) => {
    control.scrollIntoView({ block: "nearest", inline: "nearest" });
    const { left, top, width, height } = control.getBoundingClientRect();
    const met = document.elementFromPoint(left + width / 2, top + height / 2);
    return (!control.contains(met) && !met?.contains(control)) || Math.min(width, height) < 30;
  })
  .map((control) => control.outerHTML.slice(0, 120))"""


@pytest.mark.ci
def test_five_people_come_from_the_first_box_to_a_complete_pair(
    new_context, alice, dataset, site, campaign, shown_step
):
    """Each in a browser of their own; the worker between them opens what follows."""
    shown_step("draw", number=0)
    Question.objects.filter(step="draw", state="open").update(content={"number": 0, "boxes": []})
    crowd = boxers.people(campaign)
    pages = [new_context(person, reduced_motion="reduce").new_page() for person in crowd]
    for _ in range(12):
        for page in pages:
            page.goto(site("/campaigns/boxes/label/"))
            page.wait_for_selector(f"{hands.READY}, [data-finished]:visible")
            if not page.query_selector(hands.READY):
                continue
            let_pass(page)
            step = campaign.questions.get(state="open").step
            with page.expect_response(hands.ANSWERS):
                if step == "draw":
                    boxed = len(campaign.questions.filter(step="draw", state="settled"))
                    hands.draw(page, CORNER if boxed else HEAD)
                    page.click("[data-do=send-box]:visible")
                elif step == "check":
                    page.click("[data-do=good]:visible")
                elif campaign.questions.filter(step="cover", state="settled").exists():
                    page.click("[data-do=complete]:visible")
                else:
                    hands.click(page, (50, 250))
                    page.click("[data-do=send-box]:visible")
            following.advance(campaign)
        if not campaign.questions.filter(state="open").exists():
            break

    steps = campaign.questions.exclude(state="withdrawn").order_by("pk")
    assert list(steps.values_list("step", "state")) == [
        (step, "settled") for step in ("draw", "check", "cover", "draw", "check", "cover")
    ]
    assert Answer.objects.values("assignment__annotator").distinct().count() >= 4


@pytest.mark.ci
def test_training_and_test_are_walked_by_mouse(browser_as, alice, bob, dataset, site, looked_at):
    add_photographs(dataset, "chelsea.png", "coffee.png")
    rules = {"training_questions": 1, "second_looks": 0, "gold_share": 0.1}
    campaign = boxers.make(alice, dataset, images=0, policy=rules)
    asking.add_questions(campaign, [("coffee.png", boxers.DOG)])
    lifecycle.launch(campaign, alice)
    rows = [{"image": "chelsea.png", "topic": boxers.DOG, "answer": [HEAD]}]
    gold.add_gold(campaign, alice, [row | {"explanation": "To the chin."} for row in rows])
    Question.objects.filter(campaign=campaign, state="gold").exclude(step="draw").delete()
    factories.join(bob, campaign)
    page = browser_as(bob, reduced_motion="reduce")
    page.goto(site("/campaigns/boxes/label/"))
    hands.wait(page)
    looked_at(page, "boxes-training")
    hands.draw(page, [HEAD[0] - 40, HEAD[1], HEAD[2], HEAD[3]])
    page.click("[data-do=send-box]:visible")
    page.wait_for_selector(".boxes-verdict")
    assert "(IoU)" in page.inner_text(".boxes-verdict")
    looked_at(page, "boxes-training-feedback")
    page.click("[data-next]")
    page.wait_for_selector(".label-bar [data-done]:has-text('1')")
    hands.wait(page)


@pytest.mark.ci
def test_the_preview_shows_each_step(browser_as, alice, campaign, shown_step, site, looked_at):
    shown_step("check", boxes=[CORNER], box=HEAD, came="drawn")
    page = browser_as(alice, reduced_motion="reduce")

    page.goto(site("/campaigns/boxes/preview/"))

    assert "Is this box around" in page.inner_text(".work-ask")
    looked_at(page, "boxes-preview")


@pytest.mark.ci
def test_opening_the_page_holds_no_page_ahead(browser_as, alice, bob, dataset, site):
    add_photographs(dataset, "chelsea.png", "coffee.png", "rocket.jpg", "astronaut.png")
    campaign = lifecycle.create(
        alice, name="many", title="Many", kind="boxes", dataset=dataset, policy={"page_size": 2}
    )
    lifecycle.define_topics(campaign, [{"key": CAT, "name": "tabby"}])
    asking.add_questions(
        campaign, [(name, CAT) for name in dataset.images.values_list("name", flat=True)]
    )
    lifecycle.launch(campaign, alice)
    factories.join(bob, campaign)
    page = browser_as(bob)

    page.goto(site("/campaigns/many/label/"))
    page.wait_for_load_state("networkidle")

    assert leased(bob) == 2
