"""People name single frames in a real browser, after a researcher asked for it on a page."""

import io

import pytest

from evaluation.benchmarks.kinds.cds import benchmarks, people
from labeling.campaigns import lifecycle
from labeling.datasets.images import add_file
from labeling.follow_ups import asking
from labeling.jobs import queue
from labeling.models import Answer, Job, Seat
from tests import factories
from tests.browser.conftest import let_pass
from tests.browser.labeling.test_labeling import SHOWN, wait_for_chip
from tests.evaluation.cds.scenes import photograph, png
from tests.labeling import part_releases
from tests.labeling.parted import CAT, COW

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def benchmark(alice, charlie, dataset, wordnet, monkeypatch):
    """Objects on photographs with something to see, drawn by charlie."""
    monkeypatch.setattr(factories, "picture", lambda seed: png(photograph(seed % 97, 64, 48)))
    release = part_releases.release(alice, charlie, dataset)
    return benchmarks.create(
        alice,
        name="cats",
        title="Cats, revealed",
        campaign=release.campaign,
        release=release,
        part_schemes=("random",),
        content_schemes=("intra-object", "higher"),
        mapping={CAT: [CAT, "n02123045", "n02124075"], COW: [COW, "n02403003"]},
        bootstrap=0,
    )


def test_a_researcher_asks_and_a_person_names_one_frame_of_each_object(
    browser_as, alice, bob, benchmark, site, looked_at
):
    page = browser_as(alice)
    page.goto(site("/benchmarks/cats/people/"))
    looked_at(page, "ask")
    page.click("button[name=check]")
    page.wait_for_selector("#cost")
    looked_at(page, "cost")
    page.click("button[name=ask]")
    page.wait_for_selector("section p:has-text('The frames are being created')")
    looked_at(page, "being-made")
    for pk in Job.objects.filter(kind=people.JOB, state="queued").values_list("pk", flat=True):
        queue.run(pk)
    # The page shows it by itself.
    page.wait_for_selector("text=Invite people")
    looked_at(page, "made")
    benchmark.refresh_from_db()
    lifecycle.launch(benchmark.naming, alice)
    factories.join(bob, benchmark.naming)

    page = browser_as(bob)
    page.goto(site(f"/campaigns/{benchmark.naming.name}/label/"))
    page.wait_for_selector(SHOWN)
    assert page.inner_text("h1") == "What is it?"
    page.keyboard.press("/")
    page.keyboard.type("ta")
    looked_at(page, "frame")
    let_pass(page)
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    for key in "nh":
        page.wait_for_selector(SHOWN)
        let_pass(page)
        page.keyboard.press(key)

    page.wait_for_selector("[data-finished]:not([hidden])")
    wait_for_chip(page, "All saved")
    looked_at(page, "finished")
    values = sorted(
        str(value)
        for value in Answer.objects.filter(assignment__annotator=bob).values_list(
            "value", flat=True
        )
    )
    assert values == ["hard", "none", "{'key': 'n02123045'}"]
    subjects = Seat.objects.filter(annotator=bob).values_list("subject", flat=True)
    assert len(set(subjects)) == len(subjects) == 3


def test_a_small_frame_is_shown_large_enough_and_on_a_phone(
    browser_as, alice, bob, dataset, site, screenshots, axe
):
    pixels = photograph(3, 40, 30)
    pixels[:, 20:] = 0
    name = "frames/one.png"
    add_file(dataset, name, io.BytesIO(png(pixels)))
    campaign = factories.make_campaign(
        alice,
        dataset,
        "what",
        kind="naming",
        settings={"vocabulary": [{"key": CAT, "name": "cat"}], "question": "What is it?"},
        launch=False,
    )
    asking.add_questions(campaign, [(name, "n02018207")])
    lifecycle.launch(campaign, alice)
    factories.join(bob, campaign)
    page = browser_as(bob, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)

    page.goto(site("/campaigns/what/label/"))
    page.wait_for_selector(SHOWN)

    screenshots(page, "small-touch")
    axe(page)
    assert page.locator(SHOWN).bounding_box()["width"] >= 120
