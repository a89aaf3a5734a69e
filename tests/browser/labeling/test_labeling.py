"""Labeling in a real browser: keys, touch, changes of mind, and every way to lose an answer."""

import time
from collections import Counter
from datetime import timedelta

import pytest
from django.contrib.sessions.models import Session
from django.db.models.functions import Now
from django.utils import timezone

from labeling.models import Answer, Membership, Question, Seat
from tests import factories
from tests.browser.conftest import (
    NARROW,
    WIDE,
    count_images,
    expect,
    let_frames_pass,
    let_pass,
    log_in,
)

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

SHOWN = "[data-stage] img:not([data-first])"
ANSWERS = "**/label/answers/"
# What the browser holds of answers that no server has yet.
KEPT = "Object.keys(localStorage).filter((key) => /answer|refused/.test(key))"


def open_label(page, site, name="coots"):
    page.goto(site(f"/campaigns/{name}/label/"))
    page.wait_for_selector(SHOWN)


def press(page, *keys):
    """Presses keys, each once the present image has been there long enough to be seen."""
    for key in keys:
        page.wait_for_selector(SHOWN)
        let_pass(page)
        page.keyboard.press(key)


def wait_for_chip(page, text):
    page.wait_for_selector(f"[data-saved]:has-text('{text}')")


def count_answers():
    """The values that stand, as counts, once every seat's latest revision is taken."""
    latest = {}
    for seat, value in Answer.objects.order_by("assignment_id", "revision").values_list(
        "assignment_id", "value"
    ):
        latest[seat] = value
    return Counter(latest.values())


def leased(user):
    """How many seats the person holds for longer than a minute."""
    longer = Seat.objects.filter(leased_until__gt=Now() + timedelta(minutes=1))
    return longer.filter(annotator=user, state="leased").count()


def break_network(page):
    page.route(ANSWERS, lambda route: route.abort())


def mend_network(page):
    page.unroute(ANSWERS)
    page.evaluate("dispatchEvent(new Event('online'))")


@pytest.fixture
def page(browser_as, bob, coots, site):
    """Bob's page, ready for his first answer."""
    page = browser_as(bob)
    open_label(page, site)
    return page


def test_keys_answer_a_whole_page(page):
    press(page, "y", "n", "h", "p", "1", "2")

    page.wait_for_selector("[data-finished]:not([hidden])")
    wait_for_chip(page, "All saved")
    assert count_answers() == {"yes": 2, "no": 2, "hard": 1, "not_photo": 1}
    assert set(Answer.objects.values_list("duration_ms", flat=True)).isdisjoint({None, 0})
    now, ids = time.time(), list(Answer.objects.values_list("pk", flat=True))
    assert {pk.version for pk in ids} == {7}
    assert all(now - 600 < (pk.int >> 80) / 1000 <= now for pk in ids)


@pytest.mark.ci
def test_the_first_photograph_is_sent_once(images_sent, page):
    press(page, "y")
    page.wait_for_selector(SHOWN)

    assert set(images_sent.values()) == {1}


@pytest.mark.ci
@pytest.mark.parametrize(("seconds", "times"), [(1200, {1}), (0, {2})])
def test_a_reload_finds_the_photographs_in_the_browsers_cache(
    browser_as, bob, coots, site, settings, images_sent, seconds, times
):
    settings.ASSAY_PHOTOGRAPH_CACHE_SECONDS = seconds
    page = browser_as(bob)
    wait_for_images = count_images(page)
    open_label(page, site)
    wait_for_images(4)

    page.reload()
    wait_for_images(8)

    assert set(images_sent.values()) == times


# What moved from now on, also by what the person did, but for the words of the undo button itself.
SHIFTS = """(() => {
  window.shifts = [];
  const isUndo = ({ node }) => node?.parentElement?.closest("[data-do=back]");
  new PerformanceObserver((list) => {
    const moved = list.getEntries().flatMap(({ sources }) => sources.filter((one) => !isUndo(one)));
    shifts.push(...moved.map(({ node }) => node?.outerHTML?.slice(0, 90)));
  }).observe({ type: "layout-shift" });
})()"""


@pytest.mark.ci
@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_nothing_moves_from_image_to_image_of_a_class(browser_as, bob, coots, site, size):
    page = browser_as(bob, viewport=size)
    open_label(page, site)
    page.evaluate(SHIFTS)

    press(page, "y", "n")
    page.keyboard.press("ArrowLeft")
    press(page, "h", "p", "y", "n")

    wait_for_chip(page, "All saved")
    shifts = page.evaluate("shifts")
    assert not shifts, "\n".join(shifts)


def test_going_back_changes_an_answer(page):
    press(page, "y", "y", "ArrowLeft", "ArrowLeft")
    pressed = page.get_attribute("[data-answer=yes]", "aria-pressed")
    press(page, "n", "ArrowRight", "h")

    wait_for_chip(page, "All saved")
    assert pressed == "true"
    assert count_answers() == {"no": 1, "yes": 1, "hard": 1}
    assert Answer.objects.count() == 4


@pytest.mark.ci
def test_an_answer_reopened_from_the_list_is_changed_and_not_counted_again(page, site):
    press(page, "y", "n")
    wait_for_chip(page, "All saved")
    page.goto(site("/campaigns/coots/label/last/"))

    page.click(".strip li:last-child a")

    page.wait_for_selector(f"{SHOWN}")
    page.wait_for_selector("[data-answer=yes][aria-pressed=true]")
    assert page.inner_text("[data-notice]") == "Your earlier answer. Change it, or go forward."
    assert page.locator("[data-do=skip]:visible").count() == 0
    # A reload goes on with what is next.
    expect(page).to_have_url(site("/campaigns/coots/label/"))
    press(page, "h")
    wait_for_chip(page, "All saved")
    page.wait_for_selector("[data-notice]", state="hidden")
    assert page.inner_text("[data-done]") == "2"
    assert count_answers() == {"hard": 1, "no": 1}
    press(page, "p", "p", "p", "p")
    page.wait_for_selector("[data-finished]:not([hidden])")
    assert page.inner_text("[data-finished] [data-done]") == "6"


@pytest.mark.ci
def test_an_answer_opened_again_is_shown_as_it_will_be_once_its_change_is_sent(page, site):
    last, first = site("/campaigns/coots/label/last/"), ".strip li:last-child a"
    press(page, "y")
    wait_for_chip(page, "All saved")
    page.goto(last)
    page.click(first)
    page.wait_for_selector("[data-answer=yes][aria-pressed=true]")
    page.route("**/label/answers/", lambda route: route.abort())
    press(page, "h")
    page.goto(last)

    page.click(first)

    page.wait_for_selector("[data-answer=hard][aria-pressed=true]")


@pytest.mark.ci
def test_same_answer_given_again_is_no_revision(page):
    press(page, "y", "Backspace", "y", "n")

    wait_for_chip(page, "All saved")
    assert Answer.objects.count() == 2


def test_answers_given_offline_arrive_once_when_the_network_is_back(browser_as, bob, coots, site):
    page = browser_as(bob)
    wait_for_images = count_images(page)
    open_label(page, site)
    # The next images come while there is a network.
    wait_for_images(4)

    page.context.set_offline(True)
    press(page, "y", "y", "n")
    wait_for_chip(page, "3 unsent")
    assert not Answer.objects.exists()
    page.context.set_offline(False)

    wait_for_chip(page, "All saved")
    assert count_answers() == {"yes": 2, "no": 1}
    assert Answer.objects.count() == 3


def test_reload_keeps_unsent_answers_and_the_place(page):
    break_network(page)
    press(page, "y", "n")
    press(page, "Shift")
    before = page.evaluate("document.querySelector('[data-done]').textContent")
    showing = page.evaluate(
        "JSON.parse(localStorage.getItem(Object.keys(localStorage)"
        ".find((key) => key.startsWith('assay:history')))).order[0]"
    )

    page.reload()
    page.wait_for_selector(SHOWN)
    wait_for_chip(page, "2 unsent")
    after = page.evaluate(
        "JSON.parse(localStorage.getItem(Object.keys(localStorage)"
        ".find((key) => key.startsWith('assay:history')))).order[0]"
    )
    mend_network(page)

    wait_for_chip(page, "All saved")
    assert before == "2"
    assert showing == after
    assert count_answers() == {"yes": 1, "no": 1}
    press(page, "ArrowLeft")
    assert page.get_attribute("[data-answer=no]", "aria-pressed") == "true"


@pytest.mark.ci
def test_what_is_left_leaves_out_unsent_answers_after_a_reload(page):
    left = page.locator("[data-left]")
    before = int(left.inner_text())
    break_network(page)
    press(page, "y", "n")
    expect(left).to_have_text(str(before - 2))

    page.reload()
    wait_for_chip(page, "2 unsent")

    expect(left).to_have_text(str(before - 2))
    expect(page.locator("[data-done]").first).to_have_text("2")
    mend_network(page)
    wait_for_chip(page, "All saved")
    # The server counts them now; they are taken off once.
    press(page, "y")
    expect(left).to_have_text(str(before - 3))
    page.reload()
    expect(left).to_have_text(str(before - 3))


@pytest.mark.ci
def test_an_entry_that_cannot_be_read_holds_up_no_answer(page, bob, coots):
    for number in range(3):
        page.evaluate(f"localStorage.setItem('assay:answer:{bob.pk}:coots:{number}', '{{')")

    press(page, "y", "n")

    wait_for_chip(page, "All saved")
    assert count_answers() == {"yes": 1, "no": 1}


def test_response_lost_after_commit_doubles_nothing(page):
    lost = []

    def lose_two(route):
        response = route.fetch()  # the server has accepted and committed
        if len(lost) < 2:
            lost.append(response.status)
            route.abort()
        else:
            route.fulfill(response=response)

    page.route(ANSWERS, lose_two)
    press(page, "y", "n", "h")

    wait_for_chip(page, "All saved")
    assert lost == [200, 200]
    assert count_answers() == {"yes": 1, "no": 1, "hard": 1}
    assert Answer.objects.count() == 3


def test_full_storage_blocks_after_a_few_and_loses_none(browser_as, bob, dataset, alice, site):
    campaign = factories.make_campaign(alice, dataset, "many", images=9)
    factories.join(bob, campaign)
    page = browser_as(bob)
    open_label(page, site, "many")
    break_network(page)
    page.evaluate(
        "() => { Storage.prototype.setItem = () => {"
        " throw new DOMException('full', 'QuotaExceededError') } }"
    )

    press(page, "y", "y", "y", "y", "y", "n")

    wait_for_chip(page, "5 unsent")
    assert "no room left" in page.inner_text("[data-announce]")
    mend_network(page)
    wait_for_chip(page, "All saved")
    press(page, "n")
    wait_for_chip(page, "All saved")
    assert count_answers() == {"yes": 5, "no": 1}


@pytest.mark.ci
def test_answers_wait_for_their_owner_when_the_session_ends(page, bob, alice, site, live_server):
    Session.objects.all().delete()

    press(page, "y", "y")
    wait_for_chip(page, "2 unsent")
    page.click("[data-saved]")
    page.wait_for_selector("[data-unsent-words]:has-text('logged out')")
    assert page.is_visible("[data-login]")
    log_in(page.context, alice, live_server.url)
    page.goto(site("/"), wait_until="networkidle")
    assert not Answer.objects.exists()
    log_in(page.context, bob, live_server.url)
    page.goto(site("/"))
    page.wait_for_selector("[data-unsent]", state="hidden")

    assert count_answers() == {"yes": 2}
    assert set(Answer.objects.values_list("assignment__annotator", flat=True)) == {bob.pk}


@pytest.mark.ci
def test_somebody_else_in_another_tab_sends_nothing_of_mine(page, alice, live_server):
    log_in(page.context, alice, live_server.url)

    press(page, "y")

    wait_for_chip(page, "1 unsent")
    page.click("[data-saved]")
    page.wait_for_selector("[data-unsent-words]:has-text('Somebody else')")
    assert not Answer.objects.exists()


def test_two_tabs_show_different_images_and_send_all_once(new_context, bob, dataset, alice, site):
    campaign = factories.make_campaign(alice, dataset, "tabs", images=30, policy={"page_size": 4})
    factories.join(bob, campaign)
    context = new_context(bob)
    first, second = context.new_page(), context.new_page()
    open_label(first, site, "tabs")
    open_label(second, site, "tabs")

    for page in (first, second, first, second, first, second, first, second):
        page.bring_to_front()
        press(page, "y")

    wait_for_chip(first, "All saved")
    wait_for_chip(second, "All saved")
    assert count_answers() == {"yes": 8}
    assert Answer.objects.count() == 8


@pytest.fixture
def lake(alice, bob, dataset):
    """Thirty questions in pages of six."""
    campaign = factories.make_campaign(
        alice, dataset, "lake", images=30, policy={"page_size": 6, "gold_share": 0}
    )
    factories.join(bob, campaign)
    return campaign


def wait_for_leases(page, user, count):
    while leased(user) != count:  # a condition, bounded by the test's own time
        page.wait_for_timeout(20)


@pytest.mark.ci
def test_the_next_page_is_leased_from_the_middle_of_this_one_on(browser_as, bob, lake, site):
    page = browser_as(bob)
    open_label(page, site, "lake")
    press(page, "y", "n")
    wait_for_chip(page, "All saved")
    page.wait_for_load_state("networkidle")
    before = leased(bob)

    with page.expect_response("**/label/page/"):
        press(page, "y")

    assert before == 4
    assert leased(bob) in (9, 10)


@pytest.mark.ci
def test_who_only_looks_holds_a_page_and_after_closing_it_nothing(new_context, bob, lake, site):
    context = new_context(bob)
    page, second_page = context.new_page(), context.new_page()
    open_label(page, site, "lake")
    page.wait_for_load_state("networkidle")
    before = leased(bob)

    page.close()

    assert before == 6
    wait_for_leases(second_page, bob, 0)


@pytest.mark.ci
def test_a_closed_tab_keeps_the_leases_of_another_tab(new_context, bob, lake, site):
    context = new_context(bob)
    page, second_page = context.new_page(), context.new_page()
    open_label(page, site, "lake")
    open_label(second_page, site, "lake")
    second_page.wait_for_load_state("networkidle")
    before = leased(bob)

    page.close()

    assert before == 12
    wait_for_leases(second_page, bob, 6)


def left_behind(page):
    """The seats that the page says are with nobody when it is closed now."""
    with page.expect_request("**/label/leave/") as sent:
        page.evaluate("dispatchEvent(new PageTransitionEvent('pagehide'))")
    return sent.value.post_data_json["held"]


@pytest.mark.ci
def test_a_closed_page_keeps_the_lease_of_an_unsent_answer(browser_as, bob, lake, site):
    page = browser_as(bob)
    open_label(page, site, "lake")
    break_network(page)
    press(page, "y", "y")
    wait_for_chip(page, "2 unsent")

    unsent = page.evaluate(
        "Object.keys(localStorage).filter((key) => key.startsWith('assay:answer:'))"
        ".map((key) => JSON.parse(localStorage[key]).seat)"
    )
    held = left_behind(page)

    assert (len(held), len(unsent)) == (4, 2)
    assert not set(held) & set(unsent)


@pytest.mark.ci
@pytest.mark.parametrize("way", ["reload", "back", "pageshow"])
def test_coming_back_renews_the_same_seats(browser_as, bob, lake, site, way):
    page = browser_as(bob)
    open_label(page, site, "lake")
    seats = "JSON.parse(document.getElementById('setup').textContent).seats.map(row => row.seat)"
    before = page.evaluate(seats)

    if way == "reload":
        page.reload()
    elif way == "back":
        page.goto(site("/"))
        wait_for_leases(page, bob, 0)
        page.go_back()
    else:
        Seat.objects.update(leased_until=timezone.now())
        with page.expect_navigation():
            page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', {persisted: true}))")
    page.wait_for_selector(SHOWN)
    page.wait_for_load_state("networkidle")

    assert page.evaluate(seats) == before
    assert leased(bob) == 6


@pytest.mark.ci
def test_the_notice_of_an_earlier_answer_covers_no_image(browser_as, bob, cats, site):
    page = browser_as(bob)
    open_label(page, site, "cats")
    press(page, "y", "ArrowLeft")
    expect(page.locator("[data-notice]")).to_be_visible()

    for width, height in ((390, 844), (844, 390), (1440, 900), (1920, 1080)):
        page.set_viewport_size({"width": width, "height": height})
        let_frames_pass(page)
        notice = page.locator("[data-notice]").bounding_box()
        stage = page.locator("[data-stage]").bounding_box()

        is_beside = notice["x"] >= stage["x"] + stage["width"]
        assert is_beside or notice["y"] + notice["height"] <= stage["y"], width


@pytest.mark.ci
def test_a_cached_page_that_is_restored_offline_goes_on(browser_as, bob, lake, site):
    page = browser_as(bob)
    open_label(page, site, "lake")
    page.evaluate("window.restored = true")
    page.context.set_offline(True)
    page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', {persisted: true}))")

    press(page, "y")
    wait_for_chip(page, "1 unsent")
    # A reload would have lost this, and the page.
    assert page.evaluate("window.restored")
    page.context.set_offline(False)
    wait_for_chip(page, "All saved")


@pytest.mark.ci
def test_people_who_share_the_last_questions_answer_all_of_them(
    browser_as, alice, bob, charlie, dataset, site
):
    campaign = factories.make_campaign(
        alice, dataset, "last", images=6, policy={"votes": 1, "gold_share": 0}
    )
    for person in (bob, charlie):
        factories.join(person, campaign)
    page = browser_as(bob)
    open_label(page, site, "last")
    held = leased(bob)

    press(page, *"ynynyn")

    page.wait_for_selector("[data-finished]:not([hidden])")
    wait_for_chip(page, "All saved")
    assert held == 3
    assert count_answers() == {"yes": 3, "no": 3}


def test_refused_answer_is_said_and_kept_until_read(page, bob):
    press(page, "y")
    wait_for_chip(page, "All saved")
    Answer.objects.update(created_at=timezone.now() - timedelta(hours=1))
    Membership.objects.filter(user=bob).update(answered=100)

    press(page, "ArrowLeft", "n")

    wait_for_chip(page, "1 rejected")
    page.reload()
    page.click("[data-saved]")
    assert "too late to change" in page.inner_text("[data-refused-list]")
    page.click("[data-do=dismiss]")
    page.wait_for_selector("[data-refused]", state="hidden")
    assert count_answers() == {"yes": 1}


@pytest.mark.ci
def test_an_answer_to_a_question_that_closed_meanwhile_is_not_counted(page):
    def refuse(route):
        answers = route.request.post_data_json["answers"]
        row = {"status": "refused", "code": "question_closed", "message": "No longer asked."}
        route.fulfill(json={"results": [{**row, "id": answer["id"]} for answer in answers]})

    page.route(ANSWERS, refuse)

    press(page, "y")

    page.wait_for_selector("[data-announce]:has-text('No longer asked.')")
    assert page.inner_text("[data-done]") == "0"
    assert page.locator(".label-bar [data-do=back]").is_hidden()


@pytest.mark.ci
def test_an_answer_after_its_lease_is_taken_all_the_same(page):
    Seat.objects.update(state=Seat.State.RETURNED)
    Question.objects.update(seats_free=0)

    press(page, "y")

    wait_for_chip(page, "All saved")
    assert count_answers() == {"yes": 1}


def test_thumbs_answer_on_a_phone(browser_as, bob, coots, site):
    page = browser_as(bob, viewport=NARROW, has_touch=True, is_mobile=True)
    open_label(page, site)

    for value in ("yes", "no", "hard", "not_photo"):
        page.wait_for_selector(SHOWN)
        let_pass(page)
        page.tap(f"[data-answer={value}]")
    boxes = page.evaluate(
        "[...document.querySelectorAll('[data-answer]')].map((button) => {"
        "const box = button.getBoundingClientRect(); return [box.top, box.bottom, box.height] })"
    )

    wait_for_chip(page, "All saved")
    assert count_answers() == {"yes": 1, "no": 1, "hard": 1, "not_photo": 1}
    assert all(top > 844 / 2 and bottom <= 844 and height >= 44 for top, bottom, height in boxes)


@pytest.mark.ci
def test_skipped_image_is_given_back_and_the_next_one_comes(page):
    let_pass(page)

    with page.expect_response("**/label/skip/") as skipped:
        page.keyboard.press("s")
    press(page, "y")

    wait_for_chip(page, "All saved")
    assert skipped.value.status == 200
    assert count_answers() == {"yes": 1}
    assert page.inner_text("[data-done]") == "1"


def shown_seat(page):
    """The seat of the image on the screen."""
    return page.get_attribute("[data-stage] img", "src")


def wait_for_shown(page, seat):
    page.wait_for_selector(f"{SHOWN}[src='{seat}']")


def skip(page):
    page.wait_for_selector(SHOWN)
    with page.expect_response("**/label/skip/") as response:
        page.keyboard.press("s")
    assert response.value.status == 200


def test_a_skip_is_undone_and_the_image_answered(page):
    first = shown_seat(page)
    press(page, "y")
    second = shown_seat(page)
    skip(page)
    expect(page.locator("[data-do=back]:visible").last).to_contain_text("Undo Skip")

    page.keyboard.press("ArrowLeft")
    wait_for_shown(page, second)
    expect(page.locator("[data-do=back]:visible").last).to_contain_text("Undo Yes")
    press(page, "n")

    wait_for_chip(page, "All saved")
    assert count_answers() == {"yes": 1, "no": 1}
    assert first != second
    assert page.inner_text("[data-done]") == "2"


@pytest.mark.ci
def test_a_skip_is_undone_after_a_reload_and_behind_an_answer(page):
    seat = page.evaluate("document.querySelector('[name=seat]')?.value")
    skip(page)
    press(page, "y")
    wait_for_chip(page, "All saved")
    page.reload()
    page.wait_for_selector(SHOWN)

    page.keyboard.press("ArrowLeft")
    expect(page.locator("[data-notice]")).to_be_visible()
    page.keyboard.press("ArrowLeft")
    expect(page.locator("[data-notice]")).to_be_hidden()
    press(page, "h")
    wait_for_chip(page, "All saved")

    assert count_answers() == {"yes": 1, "hard": 1}
    assert seat in (None, Answer.objects.get(value="hard").assignment.token)


@pytest.mark.ci
def test_undoing_a_skip_does_not_tell_whether_a_seat_is_free(page):
    page.route("**/label/page/", lambda route: route.abort())
    first = shown_seat(page)
    skip(page)
    gone = Seat.objects.get(state="returned")
    Question.objects.filter(pk=gone.question_id).update(seats_free=0)

    page.keyboard.press("ArrowLeft")
    wait_for_shown(page, first)
    press(page, "y")

    wait_for_chip(page, "All saved")
    assert Answer.objects.get(assignment=gone).late


@pytest.mark.ci
def test_a_skip_is_undone_without_scripts(browser_as, bob, coots, site):
    page = browser_as(bob, java_script_enabled=False)
    page.goto(site("/campaigns/coots/label/"))
    seat = page.input_value("[name=seat]")

    page.click("button[name=skip]")
    page.click("text=Change the last answer")

    page.wait_for_selector(f"[name=seat][value='{seat}']", state="attached")
    page.click("button[value=yes]")
    assert Answer.objects.get().assignment.token == seat


def test_answers_work_without_scripts(browser_as, bob, coots, site):
    page = browser_as(bob, java_script_enabled=False)
    page.goto(site("/campaigns/coots/label/"))

    page.click("button[value=yes]")
    page.click("text=Change the last answer")
    page.click("button[value=no]")
    with page.expect_navigation():
        page.click("button[name=skip]")

    assert page.is_visible("button[value=yes]")
    assert count_answers() == {"no": 1}
    assert Answer.objects.count() == 2


def test_class_is_found_and_named_by_keys(browser_as, alice, bob, dataset, site):
    vocabulary = [{"key": f"k{i}", "name": f"class number {i}"} for i in range(1000)]
    vocabulary.append({"key": "n02123045", "name": "Tabby cat, größer"})
    campaign = factories.make_campaign(
        alice, dataset, "names", kind="naming", images=4, settings={"vocabulary": vocabulary}
    )
    factories.join(bob, campaign)
    page = browser_as(bob)
    open_label(page, site, "names")

    search, classes = page.locator("#search"), page.locator("#classes")
    expect(search).to_be_focused()
    expect(classes).to_be_hidden()
    page.keyboard.press("ArrowDown")
    expect(classes).to_be_visible()
    page.keyboard.type("/qqq/")
    expect(search).to_have_value("qqq")
    expect(page.locator("[data-no-match]")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("[data-no-match]")).to_be_hidden()
    let_pass(page)
    page.keyboard.type("cat gros")
    page.keyboard.press("Enter")
    page.keyboard.type("number 99")
    page.keyboard.press("ArrowDown")
    let_pass(page)
    page.keyboard.press("Enter")
    press(page, "Alt+n")
    page.keyboard.press("Escape")
    press(page, "h")

    wait_for_chip(page, "All saved")
    values = list(Answer.objects.values_list("value", flat=True))
    keys = {value["key"] for value in values if isinstance(value, dict)}
    assert keys == {"n02123045", "k990"}
    assert [value for value in values if isinstance(value, str)] in (
        ["none", "hard"],
        ["hard", "none"],
    )


@pytest.mark.ci
def test_image_zooms_by_key_wheel_and_double_click(page):
    level = "[data-zoom-level]"

    page.keyboard.press("+")
    by_key = page.inner_text(level)
    page.keyboard.press("0")
    page.mouse.move(500, 400)
    page.mouse.wheel(0, -300)
    expect(page.locator(level)).to_have_text("182 %")
    page.keyboard.press("0")
    page.mouse.dblclick(500, 400)
    by_click = page.inner_text(level)
    press(page, "y")

    assert by_key == "140 %"
    assert by_click == "250 %"
    expect(page.locator(level)).to_have_text("100 %")


@pytest.mark.ci
def test_single_keys_can_be_switched_off(page):
    page.keyboard.press("?")
    page.click("text=Use single-letter shortcuts")
    page.keyboard.press("Escape")
    press(page, "y", "y")

    assert page.inner_text("[data-done]") == "0"
    assert page.evaluate(KEPT) == []
