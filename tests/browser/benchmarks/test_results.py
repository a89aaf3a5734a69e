"""The benchmark's pages in a real browser: full of data, wide and narrow, light and dark."""

import pytest

from evaluation.benchmarks import runs
from evaluation.benchmarks.kinds.mad import competitions
from labeling.jobs import queue
from labeling.models import User
from tests import factories
from tests.evaluation import crowd
from tests.evaluation.crowd import COOT, DRAKE

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def researcher(transactional_db) -> User:
    return factories.make_user("alice", is_researcher=True)


@pytest.fixture
def birds(researcher, wordnet):
    return crowd.make(researcher, factories.make_dataset(researcher), wordnet)


@pytest.fixture
def scored(birds, researcher):
    """Answered but for one image, with a wrong pair and a replaced image, scored."""
    people = crowd.people_of(birds.campaign)

    def decide(image, topic):
        if image == "beta-gamma-2.png":
            return None
        if (image, topic) == ("alpha-beta-2.png", COOT):
            return "hard"
        return "yes" if topic in (COOT, DRAKE) and image != "alpha-beta-3.png" else "no"

    crowd.answer(birds.campaign, people, decide)
    queue.run_all()
    crowd.answer(birds.campaign, people, decide)
    competitions.set_accuracies(birds, {"alpha": 70.1, "beta": 69.0, "gamma": 75.0})
    runs.request(birds, researcher)
    queue.run_all()
    return birds


@pytest.mark.ci
def test_pages_of_a_competition_look_right(browser_as, site, looked_at, researcher, scored):
    page = browser_as(researcher)
    for name, path in {
        "benchmarks": "",
        "new": "new/",
        "result": "birds/",
        "gallery": "birds/pairs/0/1/",
        "failure-tags": "birds/failure-tags/",
        "class": f"birds/classes/?class={COOT}",
        "accuracies": "birds/accuracies/",
        "submissions": "birds/submissions/",
    }.items():
        assert page.goto(site(f"/benchmarks/{path}")).status == 200, path
        looked_at(page, f"mad-{name}")


@pytest.mark.ci
def test_figures_follow_the_readers_theme(browser_as, site, researcher, scored):
    for scheme in ("light", "dark"):
        page = browser_as(researcher, color_scheme=scheme)
        page.goto(site("/benchmarks/birds/"))
        image = page.locator("figure.plot img").first

        assert ("theme=dark" in image.evaluate("i => i.currentSrc")) == (scheme == "dark")
        assert image.evaluate("i => i.decode().then(() => i.naturalWidth > 0)")


def test_ranks_appear_by_themselves_when_people_have_answered(browser_as, site, researcher, birds):
    page = browser_as(researcher)
    page.goto(site("/benchmarks/birds/"))
    assert page.get_by_text("No ranks yet").is_visible()

    people = crowd.people_of(birds.campaign)
    crowd.answer(birds.campaign, people, crowd.right_is(COOT))
    runs.rescore_changed()
    queue.run_all()

    page.wait_for_selector("text=Ranks and confirmed ranks")
    assert page.locator("tbody tr").first.locator("th").inner_text() == "alpha"


def test_true_label_is_asked_from_the_gallery(browser_as, site, researcher, scored):
    page = browser_as(researcher)
    page.goto(site("/benchmarks/birds/pairs/0/1/?case=III"))

    page.get_by_role("button", name="Ask for the true label of alpha-beta-3.png").click()

    page.wait_for_selector("text=Annotators are being asked for the true label")
    scored.refresh_from_db()
    assert scored.naming.questions.count() == 1


@pytest.mark.ci
def test_wrong_images_are_tagged_by_keyboard(browser_as, site, researcher, scored):
    page = browser_as(researcher)
    page.goto(site("/benchmarks/birds/pairs/0/1/?case=III"))
    image = page.locator(".counterexamples > li", has_text="alpha-beta-3.png")

    image.locator("summary").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    page.keyboard.press("Enter")

    image.locator("summary", has_text="relation inference").wait_for()
    [tag] = scored.failure_tags.all()
    assert (tag.image, tag.submission.name) == ("alpha-beta-3.png", "alpha")
    page.goto(site("/benchmarks/birds/failure-tags/"))
    page.get_by_role("textbox", name="Tags").fill("relation inference\nocclusion")
    page.get_by_role("button", name="Save the tags").click()
    page.get_by_text("Saved.").wait_for()
    assert page.get_by_role("rowheader", name="occlusion").count() == scored.submissions.count()


@pytest.mark.ci
def test_a_class_is_chosen_over_all_pairs(browser_as, site, researcher, scored):
    page = browser_as(researcher)
    page.goto(site("/benchmarks/birds/classes/"))

    page.get_by_label("Class").select_option(DRAKE)
    page.get_by_role("button", name="Show the class").click()

    page.get_by_role("heading", name="Wrong: 1").wait_for()
    assert page.locator("img[alt='alpha-beta-3.png']").count() == 1
