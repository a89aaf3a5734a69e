"""Questions taken along: answered without a connection, sent once, and erased when they must be."""

import pytest

from labeling.assignment import taking_along
from labeling.models import Answer, Assignment, TakenAlong
from tests import factories
from tests.browser.conftest import NARROW, expect, let_pass, log_in

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

SHOWN = "[data-stage] img:not([data-first])"
PAGE = "/campaigns/coots/label/along/"
KEPT = "caches.keys().then((names) => names.filter((name) => name.startsWith('assay-along:')))"
IMAGES = """caches.keys().then(async (names) => {
  let count = 0;
  for (const name of names) {
    const keys = await (await caches.open(name)).keys();
    count += keys.filter((request) => request.url.includes("/image?")).length;
  }
  return count;
})"""


@pytest.fixture(autouse=True)
def _small_campaigns(monkeypatch):
    """Five images are enough to take along what a campaign of thousands would let."""
    monkeypatch.setattr(taking_along, "ONE_IN", 1)


@pytest.fixture
def coots(alice, bob, dataset):
    campaign = factories.make_campaign(alice, dataset, images=40, policy={"votes": 1})
    campaign.take_along = True
    campaign.save()
    factories.join(bob, campaign)
    return campaign


@pytest.fixture
def page(browser_as, bob, coots, site):
    page = browser_as(bob)
    page.goto(site(PAGE))
    return page


def take(page, count=20, hours="2"):
    page.get_by_label("Number of questions").fill(str(count))
    page.get_by_label("For how long").select_option(hours)
    page.get_by_role("button", name="Take them along").click()
    page.wait_for_selector(SHOWN)


def press(page, *keys):
    for key in keys:
        page.wait_for_selector(SHOWN)
        let_pass(page)
        page.keyboard.press(key)


def wait_until_empty(page, promised):
    """Until the list that this promises has nothing in it."""
    page.evaluate(
        f"async () => {{ while ((await {promised}).length)"
        " await new Promise((resume) => setTimeout(resume, 20)); }"
    )


def strip(page):
    return page.locator("[data-strip]")


def test_questions_are_taken_along_answered_offline_and_sent_once(page, site, coots, bob):
    take(page, 20)
    expect(strip(page)).to_contain_text("0 of 20 answered")
    assert Assignment.objects.filter(annotator=bob, state="leased").count() == 20

    page.context.set_offline(True)
    press(page, "y", "n")
    expect(strip(page)).to_contain_text("2 of 20 answered")
    page.reload()
    page.wait_for_selector(SHOWN)
    expect(strip(page)).to_contain_text("2 of 20 answered")
    page.close()
    page = page.context.new_page()
    page.goto(site(PAGE))
    press(page, *["y"] * 18)
    expect(page.locator("[data-finished]")).to_be_visible()
    expect(page.locator("[data-why]")).to_contain_text("sent when there is a connection")

    page.context.set_offline(False)
    page.evaluate("dispatchEvent(new Event('online'))")
    expect(page.locator("[data-why]")).to_have_text("All of it is received. Thank you.")
    assert page.evaluate(KEPT) == []
    assert Answer.objects.count() == 20
    assert not Assignment.objects.filter(annotator=bob, state="leased").exists()
    assert TakenAlong.objects.get().ended_at is not None


def test_logging_out_erases_the_images_and_keeps_what_is_not_sent(page, site, bob):
    take(page, 5)
    page.context.set_offline(True)
    press(page, "y", "y")
    assert page.evaluate(IMAGES) == 5
    page.route("**/label/answers/", lambda route: route.abort())
    page.context.set_offline(False)
    other = page.context.new_page()
    other.route("**/label/answers/", lambda route: route.abort())
    other.goto(site("/"))

    other.locator(".user-menu summary").click()
    other.get_by_role("button", name="Log out").click()
    other.wait_for_url("**/accounts/login/")
    wait_until_empty(other, KEPT)

    page.bring_to_front()
    page.evaluate("dispatchEvent(new Event('focus'))")
    expect(page.locator("[data-why]")).to_contain_text("the images are erased")
    expect(page.locator(SHOWN)).to_have_count(0)
    log_in(page.context, bob, site("/").rstrip("/"))
    other.unroute("**/label/answers/")
    other.goto(site("/"))
    expect(other.locator("[data-unsent]")).to_be_hidden()
    assert Answer.objects.count() == 2
    other.goto(site(PAGE))
    expect(other.get_by_text("Questions that you took along: 3")).to_be_visible()
    other.get_by_role("button", name="Fetch them here").click()
    press(other, "n", "n", "n")
    expect(other.locator("[data-why]")).to_contain_text("All of it is received")
    assert Answer.objects.count() == 5


def test_another_person_who_logs_in_finds_nothing(page, site, charlie, coots):
    take(page, 5)
    factories.join(charlie, coots)
    log_in(page.context, charlie, site("/").rstrip("/"))
    page.goto(site("/"))

    wait_until_empty(page, KEPT)
    page.goto(site(PAGE))
    expect(page.get_by_label("Number of questions")).to_be_visible()


def test_the_end_of_the_lease_erases_it_on_the_page_and_after_the_browser_was_closed(page, site):
    take(page, 5, hours="1")
    page.context.set_offline(True)
    page.evaluate(
        """caches.keys().then(async ([name]) => {
          const [, user, until, ...rest] = name.split(":");
          const over = `assay-along:${user}:${Number(until) - 3_600_000}:${rest.join(":")}`;
          const [from, to] = [await caches.open(name), await caches.open(over)];
          for (const key of await from.keys()) await to.put(key, await from.match(key));
          await caches.delete(name);
        })"""
    )
    page.context.set_offline(False)
    page.goto(site("/"))
    wait_until_empty(page, KEPT)
    wait_until_empty(page, "navigator.serviceWorker.getRegistrations()")


def test_the_page_ends_when_the_time_is_over(page, site):
    page.clock.install()
    page.goto(site(PAGE))
    take(page, 5, hours="1")
    press(page, "y")

    page.clock.fast_forward(3_700_000)

    expect(page.locator("[data-why]")).to_contain_text("The time is over")
    assert page.evaluate(KEPT) == []
    expect(page.locator(SHOWN)).to_have_count(0)


def test_what_is_not_answered_is_given_back_by_keys(page, bob, looked_at):
    looked_at(page, "along-offer")
    take(page, 10)
    press(page, "y", "n", "s")
    expect(strip(page)).to_contain_text("2 of 10 answered")
    looked_at(page, "along-working")
    page.keyboard.press("k")
    expect(page.locator("dialog#along")).to_be_visible()
    looked_at(page, "along-sheet")
    page.keyboard.press("Tab")
    page.get_by_role("button", name="Give back what is not answered").focus()
    page.keyboard.press("Enter")

    expect(page.locator("[data-why]")).to_have_text("Given back. What you answered is received.")
    looked_at(page, "along-over")
    assert Answer.objects.count() == 2
    assert not Assignment.objects.filter(annotator=bob, state="leased").exists()
    assert page.evaluate(KEPT) == []


def test_a_phone_takes_questions_along_and_answers_them_by_touch(
    browser_as, bob, coots, site, axe, screenshots
):
    page = browser_as(bob, viewport=NARROW, has_touch=True)
    page.goto(site("/campaigns/coots/label/"))
    page.wait_for_selector(SHOWN)
    screenshots(page, "along-label-390")
    page.locator("[data-saved]").tap()
    page.get_by_role("link", name="Take questions along").tap()
    page.wait_for_url(f"**{PAGE}")
    take(page, 5)
    page.context.set_offline(True)
    for _ in range(5):
        page.wait_for_selector(SHOWN)
        let_pass(page)
        page.locator('[data-answer="no"]').tap()
    expect(page.locator("[data-finished]")).to_be_visible()
    screenshots(page, "along-done-390")
    axe(page)
    page.context.set_offline(False)
    page.evaluate("dispatchEvent(new Event('online'))")
    expect(page.locator("[data-why]")).to_have_text("All of it is received. Thank you.")
    assert Answer.objects.filter(value="no").count() == 5


def test_a_tab_killed_at_work_comes_back_where_it_was(page, site):
    take(page, 10)
    page.context.set_offline(True)
    for number in range(1, 6):
        press(page, "y")
        expect(strip(page)).to_contain_text(f"{number} of 10 answered")
        context = page.context
        # A crash says nothing to the page, unlike closing.
        with pytest.raises(Exception, match="crash"):
            page.goto("chrome://crash")
        page.close()
        page = context.new_page()
        page.goto(site(PAGE))
        expect(strip(page)).to_contain_text(f"{number} of 10 answered")
    page.context.set_offline(False)
    press(page, *["y"] * 5)
    expect(page.locator("[data-why]")).to_have_text("All of it is received. Thank you.")
    assert Answer.objects.count() == 10


def test_a_second_tab_says_where_to_go_on(page, site):
    take(page, 5)
    other = page.context.new_page()
    other.goto(site(PAGE))
    expect(other.get_by_role("heading", name="Go on in the other tab")).to_be_visible()
    press(page, "y")
    expect(strip(page)).to_contain_text("1 of 5 answered")


def test_a_lost_connection_while_images_come_keeps_nothing(page, bob):
    page.route("**/image?*", lambda route: route.abort())
    page.get_by_label("Number of questions").fill("5")
    page.get_by_role("button", name="Take them along").click()

    expect(page.locator("[data-trouble]")).to_contain_text(
        "The connection was lost while images came. Nothing is kept here"
    )
    assert page.evaluate(KEPT) == []
    assert not Assignment.objects.filter(annotator=bob, state="leased").exists()


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        ("delete Navigator.prototype.serviceWorker", "This browser cannot keep questions"),
        ("Storage.prototype.setItem = () => { throw new Error(); }", "cannot keep questions"),
        (
            "StorageManager.prototype.estimate = async () => ({ quota: 2e6, usage: 1e6 })",
            "This browser has room for 1 MB only",
        ),
        (
            "Cache.prototype.put = async () => { throw new DOMException('', 'QuotaExceeded'); }",
            "no room for all of the images. Nothing is kept here",
        ),
    ],
)
def test_where_nothing_can_be_kept_a_sentence_says_why(
    browser_as, bob, coots, site, fault, sentence
):
    page = browser_as(bob)
    page.context.add_init_script(fault)
    page.goto(site(PAGE))
    if "cannot keep" not in sentence:
        page.get_by_label("Number of questions").fill("20")
        page.get_by_role("button", name="Take them along").click()

    expect(page.locator("[data-trouble]")).to_contain_text(sentence)
    assert not Assignment.objects.filter(annotator=bob, state="leased").exists()


def test_a_set_called_back_is_erased_and_what_was_answered_arrives(page, bob, coots, alice):
    take(page, 5)
    page.context.set_offline(True)
    press(page, "y", "y")
    taking_along.call_back(coots, TakenAlong.objects.get().pk, alice)
    page.context.set_offline(False)
    page.evaluate("dispatchEvent(new Event('online'))")

    expect(page.locator("[data-why]")).to_contain_text("no longer with you")
    expect(page.locator("[data-saved-words]")).to_have_text("All saved")
    assert Answer.objects.count() == 2
    assert page.evaluate(KEPT) == []


@pytest.mark.parametrize("offline", [False, True])
def test_a_skip_of_a_question_taken_along_is_undone(page, offline):
    take(page)
    seat = page.evaluate("document.querySelector('[data-stage] img').src")
    page.context.set_offline(offline)
    page.keyboard.press("s")
    page.wait_for_selector(f"[data-stage] img:not([src='{seat}'])")

    page.keyboard.press("ArrowLeft")
    page.wait_for_selector(f"[data-stage] img[src='{seat}']")
    page.context.set_offline(False)
    for _ in range(20):
        press(page, "y")

    expect(page.locator("[data-why]")).to_have_text("All of it is received. Thank you.")
    assert Answer.objects.count() == 20
