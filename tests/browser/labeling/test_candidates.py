"""Candidates of classes in a real browser: a campaign made, answered to its end, and its page."""

import pytest

from labeling.campaigns import lifecycle
from labeling.jobs import queue
from labeling.models import Answer, Audit, Campaign
from labeling.quality import auditing, verifying
from tests import factories
from tests.browser.conftest import expect
from tests.browser.labeling.test_grid import (
    FINISHED,
    another,
    finish,
    marks,
    open_grid,
    photographs,
    seats_shown,
    wait_for_page,
)
from tests.browser.labeling.test_labeling import count_answers, wait_for_chip
from tests.labeling.candidates import CAT, DOG, make, rows, settle

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture(autouse=True)
def _glossary(settings):
    settings.ASSAY_GLOSSARY = "tests.labeling.candidates.glossary"


@pytest.fixture
def pets(alice, bob, dataset):
    """Eight candidates of a cat and two of a dog, four on a page, with examples of both answers."""
    candidates = [*rows(dataset, CAT, 8), *rows(dataset, DOG, 2)]
    campaign = make(alice, dataset, candidates, page_size=4)
    for word, name in (("yes", "good.png"), ("no", "bad.png")):
        image = factories.make_image(dataset, name)
        lifecycle.add_example(campaign, CAT, image, word, f"A {word}")
    lifecycle.change_topic(campaign, CAT, alice, guidance="Kittens count.")
    factories.join(bob, campaign)
    return campaign


def test_a_page_of_a_class_is_answered_by_mouse_and_by_key_to_its_last_button(
    browser_as, bob, pets, site
):
    page = browser_as(bob)
    open_grid(page, site, "verify")
    assert page.inner_text("h1") == "Which of these contain a Burmese cat?"
    assert page.inner_text(".ask-apart") == "Do not confuse with Siamese cat"
    assert "even if it is partly hidden" in page.inner_text(".ask-how")
    link = page.locator("[data-gloss-url]")
    expect(link).to_have_attribute("href", "https://en.wikipedia.org/wiki/Burmese_cat")
    help_text = page.inner_text("[data-about]")
    for words in ("Kittens count.", "another breed", "A yes", "A no"):
        assert words in help_text

    # By mouse: one is a yes, one too hard; then the last button.
    page.click(".tile:nth-child(1) .tile-face")
    page.click(".tile:nth-child(3) .tile-hard")
    assert marks(page) == ["yes", "no", "hard", "no"]
    before = seats_shown(page)
    page.click("[data-do=done]")
    page.wait_for_selector(another(before), state="attached")
    wait_for_page(page)

    # By key, to the end of the class.
    page.keyboard.press("ArrowUp")
    for key in ("y", "ArrowRight", "h", "ArrowRight", "Space"):
        page.keyboard.press(key)
    assert marks(page) == ["yes", "hard", "yes", "no"]
    before = seats_shown(page)
    finish(page)
    page.wait_for_selector(another(before), state="attached")
    wait_for_page(page)

    assert page.inner_text("[data-class]") == "whippet"
    assert not page.is_visible(".ask-guidance")
    # The page before comes back, is changed and sent again.
    page.keyboard.press("u")
    page.wait_for_selector(f".tile[data-seat='{before[0]}']")
    wait_for_page(page)
    page.click(".tile:nth-child(4) .tile-face")
    page.click("[data-do=done]")
    page.wait_for_selector(f".tile:not([data-seat='{before[0]}'])")
    wait_for_page(page)
    finish(page)
    page.wait_for_selector(FINISHED)
    wait_for_chip(page, "All saved")
    assert count_answers() == {"yes": 4, "no": 4, "hard": 2}
    assert Answer.objects.filter(revision=1).count() == 1


@pytest.mark.ci
def test_without_scripts_the_same_page_is_an_ordinary_form(new_context, bob, pets, site):
    page = new_context(bob, java_script_enabled=False).new_page()
    page.goto(site("/campaigns/verify/label/"))

    assert page.inner_text(".ask-apart") == "Do not confuse with Siamese cat"
    page.check(".tile:nth-child(2) .tile-yes", force=True)
    page.click(".choice-done")

    assert count_answers() == {"yes": 1, "no": 3}


def test_the_labeling_page_is_looked_at(browser_as, alice, bob, dataset, site, looked_at):
    names = photographs(dataset, 12)
    candidates = [rows(dataset, CAT, 1)[0]._replace(image=name) for name in names]
    campaign = make(alice, dataset, candidates, page_size=12)
    image = dataset.images.get(name=names[0])
    lifecycle.add_example(campaign, CAT, image, "yes", "Short, dark fur")
    siblings = [
        {"name": "Siamese cat", "definition": "a slender short-haired blue-eyed breed of cat"},
        {"name": "Abyssinian", "definition": "a small slender short-haired breed of cat"},
        {"name": "Egyptian cat", "definition": "a domestic cat of Egypt"},
    ]
    lifecycle.change_topic(campaign, CAT, alice, siblings=siblings, guidance="Kittens count.")
    factories.join(bob, campaign)
    page = browser_as(bob)
    open_grid(page, site, "verify")

    looked_at(page, "candidates")


@pytest.fixture
def verified(alice, bob, charlie, dataset):
    """Classes in every state: reached, asked, decided but below the target, without an image."""
    topics = [
        {"key": f"k{number}", "name": name, "definition": "a breed of dog"}
        for number, name in enumerate(
            ["Chesapeake Bay retriever", "whippet", "Italian greyhound", "Saluki", "borzoi"]
        )
    ]
    from labeling.follow_ups import candidate_lists

    campaign = make(alice, dataset, [], settings={"wanted": 20, "audited": 10}, cost_per_hour=12)
    for topic in topics:
        candidate_lists.ask(campaign, rows(dataset, topic["key"], 40), [topic])
    lifecycle.launch(campaign, alice)
    factories.join(bob, campaign)

    def some(key, start, stop):
        return list(campaign.questions.filter(topic=key).order_by("pk")[start:stop])

    settle(campaign, bob, some("k0", 0, 30), "yes")
    settle(campaign, bob, some("k1", 0, 12), "yes", ms=3_000)
    settle(campaign, bob, some("k1", 12, 20), "no")
    settle(campaign, bob, some("k2", 0, 40), "yes")
    settle(campaign, bob, some("k3", 0, 25), "yes")
    for index, question in enumerate([*some("k0", 0, 9), *some("k2", 0, 6), *some("k3", 0, 20)]):
        settlement = question.settlements.get()
        audit = Audit.objects.create(
            question=question, campaign=campaign, sample=1, settlement=settlement
        )
        auditing.answer(audit, alice, "no" if index in (10, 12) else "yes")
    verifying.check_classes(campaign)
    verifying.stop(campaign, "k3", alice, "the queries were wrong")
    return campaign


@pytest.mark.ci
def test_the_page_of_classes_is_looked_at(page, verified, site, looked_at):
    page.goto(site("/campaigns/verify/classes/"))
    expect(page.locator("tbody tr")).to_have_count(5)

    looked_at(page, "classes")


@pytest.mark.ci
def test_a_class_is_stopped_and_resumed_and_rules_are_changed(page, verified, site):
    page.goto(site("/campaigns/verify/classes/"))
    row = page.locator("tbody tr").filter(has_text="borzoi")
    row.locator("summary").click()
    row.get_by_label("Why borzoi is stopped").fill("too few")
    row.get_by_role("button", name="Stop borzoi").click()
    expect(row.locator(".badge")).to_have_text("stopped: by hand")
    row.get_by_role("button", name="Resume borzoi").click()
    expect(row.locator(".badge")).to_have_text("being asked")
    assert verified.questions.filter(topic="k4", state="open").count() == 40

    page.get_by_label("Target precision").fill("0.6")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert").or_(page.locator(".message"))).to_contain_text(
        ["recomputed with these rules"]
    )
    queue.run_all()
    page.get_by_role("button", name="Compute now").click()
    page.select_option("[name=sort]", "precision")
    page.get_by_role("button", name="Show").click()
    expect(page.locator("tbody tr").first).to_contain_text("Italian greyhound")
    with page.expect_download() as download:
        page.get_by_role("button", name="All as CSV").click()
    assert download.value.suggested_filename == "verify-classes.csv"


def test_a_campaign_is_made_on_its_page_and_a_fault_is_said_at_its_line(
    page, dataset, site, tmp_path, alice
):
    candidates = rows(dataset, CAT, 3)
    lines = ["image,wnid,query", *(f"{row.image},{row.topic},{row.query}" for row in candidates)]
    page.goto(site("/campaigns/new/"))
    page.get_by_label("Title").fill("Cats found")
    page.locator("[name=dataset]").select_option(label=dataset.name)
    page.get_by_label("Candidate verification").check()
    # The rules that the kind starts from.
    expect(page.locator("[name=method]")).to_have_value("vote-table")
    assert not page.is_visible("[name=questions]")
    page.locator("[name=candidates]").fill("\n".join([*lines, "gone.png,n01,"]))
    page.get_by_role("button", name="Create draft").click()
    expect(page.locator("#id_candidates_error, .errorlist").first).to_contain_text(
        "Line 5: 'gone.png' is not in pond"
    )

    page.locator("[name=candidates]").fill("\n".join(lines))
    page.get_by_role("button", name="Create draft").click()
    page.wait_for_url("**/campaigns/cats-found/")
    page.get_by_role("link", name="Precision").click()
    expect(page.locator("h2").first).to_have_text("Precision of the classes")
    campaign = Campaign.objects.get(name="cats-found")
    assert campaign.questions.count() == 3
    assert campaign.policy.content["target_error"] is None
