"""The demonstration as a new user meets it: two people in two browsers, then the rank table."""

import json
from io import StringIO

import pytest
from django.core.management import call_command

from annotator.demo import build
from labeling.models import Answer, Seat, User
from tests.annotator.truth import answer_everything, truth
from tests.browser.conftest import let_pass

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

# Marks the document with the seat whose image is on the screen; the page itself shows no token.
WATCH = (
    "addEventListener('painted', (event) => {"
    " document.documentElement.dataset.onScreen = event.detail.seat; }, true);"
)
FINISHED = "[data-finished]:not([hidden])"
KEYS = {"yes": "y", "no": "n", "not_photo": "p"}


@pytest.fixture
def benchmark(settings, wordnet):
    settings.SECRET_KEY = "the key of this test"
    return build.load()


def label_until_nothing_is_left(page, address: str) -> int:
    """How many answers were given by key, one for every image that reached the screen."""
    page.goto(address)
    answered = 0
    before = None
    while True:
        another = f"html[data-on-screen]:not([data-on-screen='{before}'])"
        page.wait_for_selector(f"{another}, {FINISHED}", state="attached")
        if page.locator(FINISHED).count():
            page.wait_for_selector("[data-saved][data-tone=good]")
            return answered
        before = page.get_attribute("html", "data-on-screen")
        let_pass(page)
        seat = Seat.objects.select_related("question__item__image").get(token=before)
        page.keyboard.press(KEYS[truth(seat.question)])
        answered += 1


def ranks(page) -> list[str]:
    return page.locator("section[aria-labelledby=ranks] tbody th").all_inner_texts()


def score(page, address: str, run_jobs) -> list[str]:
    """The classifiers as the page ranks them once the score that was asked for is there."""
    page.goto(address)
    page.get_by_role("button", name="Score now").click()
    run_jobs()
    page.goto(address)
    return ranks(page)


def test_people_who_label_move_the_rank_table(
    benchmark, browser_as, new_context, site, run_jobs, looked_at
):
    alice = User.objects.get(username="alice")
    campaign = benchmark.campaign
    run_jobs()
    overview = browser_as(alice)
    overview.goto(site("/benchmarks/demo/"))
    assert overview.get_by_text("No ranks yet").is_visible()
    assert overview.get_by_role("button", name="Score now").is_disabled()

    *others, first, second = (User.objects.get(username=name) for name in build.ANNOTATORS)
    answer_count = sum(answer_everything(user, campaign, run_jobs) for user in others)
    pages = []
    for user in (first, second):
        context = new_context(user)
        context.add_init_script(WATCH)
        pages.append(context.new_page())
        pages[-1].goto(site("/campaigns/demo/label/"))
        pages[-1].get_by_role("button", name="Skip the tutorial").click()
        answer_count += label_until_nothing_is_left(pages[-1], site("/campaigns/demo/label/"))
        run_jobs()
    # A second round, for what took the place of the drawing that they dropped.
    answer_count += sum(answer_everything(user, campaign, run_jobs) for user in others)
    for page in pages:
        answer_count += label_until_nothing_is_left(page, site("/campaigns/demo/label/"))
        run_jobs()

    assert Answer.objects.filter(assignment__question__campaign=campaign).count() == answer_count
    assert not campaign.questions.filter(state="open").exists()
    assert score(overview, site("/benchmarks/demo/"), run_jobs)[0] == "aurora"
    looked_at(overview, "demo-benchmark")

    add_ember(overview, site)
    for name in build.ANNOTATORS:
        answer_everything(User.objects.get(username=name), campaign, run_jobs)

    after = score(overview, site("/benchmarks/demo/"), run_jobs)
    assert sorted(after) == ["aurora", "borealis", "cirrus", "drizzle", "ember"]
    assert after[0] == "aurora"


def add_ember(page, site) -> None:
    """What the front page tells a new user to do: `mad add`, then the upload."""
    folder = build.settings.DATA_DIR / "demo"
    call_command(
        *("mad", "add", "--classifier", "ember", "--predictions", str(folder / "predictions")),
        *("--into", str(folder / "selection.jsonl"), "--out", str(folder / "ember.jsonl")),
        stdout=StringIO(),
    )
    lines = (folder / "ember.jsonl").read_text().splitlines()
    assert all("ember" in json.loads(line)["pair"] for line in lines[1:])
    page.goto(site("/benchmarks/demo/classifiers/add/"))
    page.set_input_files("input[type=file]", str(folder / "ember.jsonl"))
    page.get_by_role("button", name="Upload").click()
    page.wait_for_url("**/benchmarks/demo/")
