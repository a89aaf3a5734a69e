"""Training and test in a browser: what is told, what is not, and where they lead."""

import pytest

from labeling.campaigns import lifecycle
from labeling.models import Answer, Membership
from labeling.quality import gold
from tests import factories
from tests.browser.labeling.test_grid import ask, photographs

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def trained(alice, bob, dataset, names, **policy):
    """A campaign of plain questions where Bob is trained and tested on photographs."""
    campaign = factories.make_campaign(
        alice, dataset, "coots", images=4, policy={"gold_share": 0.2, **policy}
    )
    answers = ["yes" if "chelsea" in name else "no" for name in names]
    gold.add_gold(
        campaign,
        alice,
        [
            {
                "image": name,
                "topic": "n02018207",
                "answer": answer,
                "explanation": "Look at the bill." if answer == "yes" else "",
            }
            for name, answer in zip(names, answers, strict=True)
        ],
    )
    factories.join(bob, campaign)
    return campaign


def stage_of(user):
    return Membership.objects.get(user=user).stage


def test_training_tells_what_is_right_and_leads_to_the_test(
    browser_as, alice, bob, dataset, site, looked_at
):
    names = photographs(dataset, 8)
    trained(alice, bob, dataset, names, training_questions=2, test_questions=2)
    page = browser_as(bob)

    page.goto(site("/campaigns/coots/label/"))
    assert page.url.endswith("/training/")
    looked_at(page, "training")
    page.keyboard.press("y")
    page.wait_for_selector(".notice.feedback")
    feedback = page.inner_text(".notice.feedback")
    looked_at(page, "training-feedback")
    page.keyboard.press("Enter")
    page.wait_for_selector("button[value=no]")
    page.keyboard.press("n")
    page.click("text=Continue to the test")
    looked_at(page, "test")
    for done in range(2):
        page.wait_for_selector(f".label-progress:has-text('{done} of 2')")
        assert "you see the result at the end" in page.inner_text(".notice")
        page.keyboard.press("h")

    page.wait_for_selector("text=Not yet")
    looked_at(page, "test-over")
    assert "Right" in feedback or "Not right" in feedback
    assert "0 of 2 right" in page.inner_text("main")
    assert stage_of(bob) == "test"


def test_who_passes_goes_on_to_work(browser_as, alice, bob, dataset, site):
    names = [name for name in photographs(dataset, 12) if "coffee" in name]
    trained(alice, bob, dataset, names, test_questions=2)
    page = browser_as(bob)
    page.goto(site("/campaigns/coots/label/"))

    page.keyboard.press("n")
    page.wait_for_selector(".label-progress:has-text('1 of 2')")
    page.keyboard.press("n")
    page.wait_for_selector("h1:has-text('Passed')")
    page.click("text=Start labeling")

    page.wait_for_selector("[data-stage] img")
    assert stage_of(bob) == "working"
    assert Answer.objects.count() == 2


def test_a_page_of_images_is_trained_as_a_page(browser_as, alice, bob, dataset, site, looked_at):
    names = photographs(dataset, 20)
    campaign = ask(alice, dataset, names[:8], training_questions=8, page_size=8)
    gold.add_gold(
        campaign,
        alice,
        [
            {
                "image": name,
                "topic": "animal",
                "answer": "yes" if "chelsea" in name else "no",
                "explanation": "A cat is one." if "chelsea" in name else "",
            }
            for name in names[8:]
        ],
    )
    factories.join(bob, campaign)
    page = browser_as(bob)

    page.goto(site("/campaigns/grid/label/"))
    looked_at(page, "training-grid")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Space")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("h")
    words = page.inner_text("[data-done-words]")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(".tile.feedback")
    looked_at(page, "training-grid-feedback")

    assert words == "Done: 1 yes, 6 no, 1 too hard"
    assert Answer.objects.count() == 8
    assert set(Answer.objects.values_list("duration_ms", flat=True)).isdisjoint({None, 0})
    page.click("text=Start labeling")
    page.wait_for_selector(".tile img")
    assert stage_of(bob) == "working"


def test_training_works_without_scripts(browser_as, alice, bob, dataset, site):
    names = photographs(dataset, 4)
    trained(alice, bob, dataset, names, training_questions=2)
    page = browser_as(bob, java_script_enabled=False)

    page.goto(site("/campaigns/coots/label/"))
    page.click("button[value=yes]")
    page.click("text=Next")
    page.click("button[value=no]")
    page.click("text=Start labeling")

    page.wait_for_selector("text=Does this image contain")
    assert stage_of(bob) == "working"


def test_standing_looks_right(browser_as, alice, bob, coots, site, looked_at):
    member = Membership.objects.get(user=bob, campaign=coots)
    member.answered, member.worked_ms = 2312, 5_900_000
    member.standing = {
        "told": {"right": 37, "total": 40, "on": "2026-11-20"},
        "chance": {"agreed": 180, "answers": 200},
    }
    member.save()
    lifecycle.change(coots, alice, title="Coots, autumn round")
    page = browser_as(bob)

    page.goto(site("/campaigns/coots/standing/"))

    looked_at(page, "standing")
    text = page.inner_text("main")
    assert "90 to 95 %" in text
    assert "about 9 in 10" in text
    assert "37" not in text
