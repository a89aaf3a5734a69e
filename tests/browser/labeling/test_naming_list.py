"""Up to five of a thousand classes, named in a real browser."""

from pathlib import Path

import pytest

import evaluation.readers
from labeling.campaigns import lifecycle
from labeling.exchange import naming_campaigns
from labeling.models import Answer, Membership
from labeling.quality import gold
from tests import factories
from tests.browser.conftest import expect, let_frames_pass, let_pass
from tests.browser.labeling.test_labeling import SHOWN, wait_for_chip

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

NORFOLK, NORWICH, TENCH = "n02094114", "n02094258", "n01440764"
DATA = Path(evaluation.readers.__file__).parent / "data"


def classes_of(wordnet) -> list[dict[str, str]]:
    wnids = (DATA / "ilsvrc2012.txt").read_text().split()
    return [{"key": wnid, "name": ", ".join(wordnet.lemmas(wordnet.index(wnid)))} for wnid in wnids]


@pytest.fixture
def names(wordnet, alice, bob, dataset):
    """Three images and two examples of Norfolk terriers."""
    for name in ("a.png", "b.png", "c.png", "norfolk/1.png", "norfolk/2.png"):
        factories.make_image(dataset, name)
    campaign = naming_campaigns.draft(
        alice,
        dataset,
        name="names",
        title="Names",
        kind="naming",
        vocabulary=classes_of(wordnet),
        settings={"most": 5},
        policy={"votes": 1, "max_votes": 1, "gold_share": 0},
        examples=[("norfolk/1.png", NORFOLK), ("norfolk/2.png", NORFOLK)],
    )
    lifecycle.launch(campaign, alice)
    factories.join(bob, campaign)
    return campaign


def said_by(bob) -> list[Answer]:
    return list(Answer.objects.filter(assignment__annotator=bob).order_by("created_at", "pk"))


def test_classes_are_named_by_keys_alone_and_what_was_looked_at_is_kept(
    browser_as, bob, names, site, looked_at
):
    page = browser_as(bob)
    page.goto(site("/campaigns/names/label/"))
    page.wait_for_selector(SHOWN)
    let_pass(page)

    page.keyboard.press("/")
    page.keyboard.type("norf")
    page.keyboard.press("ArrowRight")
    dialog = page.locator("[data-siblings-dialog]")
    expect(dialog.locator("[aria-current] h2")).to_contain_text("Norfolk terrier")
    expect(dialog.locator("[aria-current] img")).to_have_count(2)
    looked_at(page, "siblings")
    dialog.locator("[data-example]").first.click()
    page.keyboard.press("Escape")
    page.keyboard.press("1")
    page.keyboard.type("tench")
    looked_at(page, "hits")
    page.keyboard.press("Enter")
    page.keyboard.type("norw")
    page.keyboard.press("1")
    expect(page.locator("[data-picked] li")).to_have_count(3)
    page.keyboard.press("Alt+ArrowUp")
    page.keyboard.type("zebra")
    page.keyboard.press("Enter")
    page.keyboard.press("Backspace")
    looked_at(page, "picked")
    page.keyboard.press("Enter")
    for key in "nh":
        page.wait_for_selector(SHOWN)
        let_pass(page)
        page.keyboard.press("Escape")
        page.keyboard.press(key)
    page.wait_for_selector("[data-finished]:not([hidden])")
    wait_for_chip(page, "All saved")

    first, *rest = said_by(bob)
    assert first.value == {"keys": [NORFOLK, NORWICH, TENCH]}
    assert [answer.value for answer in rest] == ["none", "hard"]


@pytest.mark.ci
def test_photograph_has_most_of_the_width_beside_instructions_too(browser_as, bob, names, site):
    page = browser_as(bob)
    page.goto(site("/campaigns/names/label/"))
    page.wait_for_selector(SHOWN)

    for width in (1024, 1440, 1920):
        page.set_viewport_size({"width": width, "height": 900})
        let_frames_pass(page)
        expect(page.locator("#about")).to_be_visible()
        stage, instructions, done = (
            page.locator(name).bounding_box() for name in ("[data-stage]", "#about", "[data-send]")
        )
        assert stage["width"] >= 0.6 * width
        assert instructions["x"] >= stage["x"] + stage["width"]
        assert done["y"] + done["height"] <= instructions["y"]


@pytest.mark.ci
def test_letters_type_in_the_search_and_keys_take_alt(browser_as, bob, names, site, looked_at):
    page = browser_as(bob)
    page.goto(site("/campaigns/names/label/"))
    page.wait_for_selector(SHOWN)
    let_pass(page)
    search = page.locator("#find")
    expect(search).to_be_focused()
    badges = page.locator(".answers button kbd:visible, .answers summary kbd:visible")
    assert set(badges.all_inner_texts()) == {"s", "b", "Enter", "n", "h"}
    before = "[...document.querySelectorAll('.answers kbd.letter')].map(badge)"
    before = f"(badge => {before})(one => getComputedStyle(one, '::before').content)"
    assert set(page.evaluate(before)) == {'"Alt "'}
    page.keyboard.type("/norf/")
    expect(search).to_have_value("norf")
    page.keyboard.type("qqq")
    expect(page.locator("[data-no-match]")).to_have_text(
        "No class matches these letters. Try fewer, or another name."
    )
    looked_at(page, "no-match")
    page.keyboard.press("Escape")
    expect(page.locator("[data-no-match]")).to_be_hidden()
    page.keyboard.press("Alt+b")
    group = page.locator("[data-class-list] summary").first
    expect(group).to_be_visible()
    looked_at(page, "groups")
    weight = "element => Number(getComputedStyle(element).fontWeight)"
    link = page.locator("[data-class-list] > li > a, [data-class-list] a").first
    assert group.evaluate(weight) > link.evaluate(weight)

    page.keyboard.press("Alt+n")
    page.wait_for_selector(SHOWN)
    let_pass(page)
    page.keyboard.type("norf")
    # A mouse leaves the focus where letters type.
    page.locator("[data-hit]").first.click()
    expect(search).to_be_focused()
    page.locator("[data-send]").click()
    expect(search).to_be_focused()
    page.wait_for_selector(SHOWN)
    let_pass(page)
    page.keyboard.press("Escape")
    assert set(page.evaluate(before)) == {"none"}
    page.keyboard.press("/")
    page.keyboard.type("tench")
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    page.keyboard.press("Enter")
    page.wait_for_selector("[data-finished]:not([hidden])")
    wait_for_chip(page, "All saved")

    assert [answer.value for answer in said_by(bob)] == [
        "none",
        {"keys": [NORFOLK]},
        {"keys": [TENCH]},
    ]


def test_classes_are_found_by_group_and_touch_on_a_phone(
    browser_as, bob, names, site, screenshots, axe
):
    page = browser_as(bob, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page.goto(site("/campaigns/names/label/"))
    page.wait_for_selector(SHOWN)
    screenshots(page, "phone")
    axe(page)
    # The keyboard of a phone would cover the image.
    expect(page.locator("#find")).not_to_be_focused()

    page.locator(".browse > summary").tap()
    page.locator("[data-class-list] summary", has_text="matter").first.tap()
    expect(page.locator("[data-class-list] summary", has_text="food").first).to_be_visible()
    screenshots(page, "groups")
    page.locator("#find").fill("norf")
    page.locator("[data-hit]").first.tap()
    page.locator("[data-remove]").tap()
    page.locator("#find").fill("norf")
    page.locator("[data-hits] [data-look]").first.tap()
    page.locator("[data-siblings-dialog] [aria-current] [data-choose]").tap()
    page.locator("[data-send]").tap()
    wait_for_chip(page, "All saved")

    assert [answer.value for answer in said_by(bob)] == [{"keys": [NORFOLK]}]


def test_classes_are_named_without_scripts(browser_as, bob, names, site, screenshots):
    page = browser_as(bob, java_script_enabled=False)
    page.goto(site("/campaigns/names/label/"))
    screenshots(page, "plain")
    fields = page.locator("[data-plain] input")
    fields.nth(0).fill("Norfolk terrier")
    fields.nth(1).fill(TENCH)
    page.get_by_role("button", name="Done").click()

    assert [answer.value for answer in said_by(bob)] == [{"keys": [NORFOLK, TENCH]}]
    page.locator(".browse > summary").click()
    expect(page.locator("[data-class-list]")).to_be_visible()


@pytest.mark.ci
def test_practice_shows_what_was_wrong_and_why(
    browser_as, alice, bob, names, dataset, site, looked_at
):
    lifecycle.change_policy(names, alice, {"training_questions": 1, "training_pass": 1})
    rows = []
    for number in range(3):
        image = factories.make_image(dataset, f"gold{number}.png").name
        why = "Its ears drop." if number == 0 else ""
        row = {"image": image, "topic": "label", "answer": {"key": NORFOLK}, "explanation": why}
        rows.append(row)
    gold.add_gold(names, alice, rows)
    page = browser_as(bob)
    Membership.objects.filter(user=bob).update(stage="training", working_since=names.created_at)
    page.goto(site("/campaigns/names/training/"))
    expect(page.locator(".notice")).to_contain_text("until 100 % of your latest answers are right")
    page.locator("#find").fill("tench")
    page.keyboard.press("1")
    looked_at(page, "training")
    page.keyboard.press("Enter")

    expect(page.locator(".notice.feedback")).to_contain_text("the answer is Norfolk terrier")
    expect(page.locator(".compared-classes li.right h2")).to_have_text("Norfolk terrier")
    expect(page.locator(".compared-classes li.right img")).to_have_count(2)
    expect(page.locator(".compared-classes li.wrong h2")).to_contain_text("tench")
    looked_at(page, "feedback")
    page.keyboard.press("Enter")
    # Below the level another one comes.
    page.locator("#find").fill("norf")
    page.keyboard.press("1")
    page.keyboard.press("Enter")

    expect(page.locator(".notice.feedback")).to_contain_text("Right")
    assert Membership.objects.get(user=bob).stage == "working"


@pytest.mark.ci
def test_any_of_the_thousand_classes_is_among_nine_hits_after_four_letters(
    browser_as, bob, names, site
):
    page = browser_as(bob)
    page.goto(site("/campaigns/names/label/"))
    page.wait_for_selector("[data-finder]:not([hidden])")
    entries = [
        {"key": entry["key"], "name": entry["name"]} for entry in names.settings["vocabulary"]
    ]

    hits = page.evaluate(REACH, entries)

    assert len(entries) == 1000
    assert hits["missing"] == []
    # By the first letters of its first name alone, without choosing them well.
    assert hits["first"][3] >= 950
    assert hits["first"][4] >= 990


REACH = """async (entries) => {
  const src = "/static/js/naming/search.js";
  const { indexed, search, fold } = await import(src);
  const index = indexed(entries), known = new Map();
  const hits = (typed) => {
    const keys = () => new Set(search(index, typed).map((entry) => entry.key));
    if (!known.has(typed)) known.set(typed, keys());
    return known.get(typed);
  };
  const queries = function* (name) {
    for (const synonym of name.split(", ")) {
      const words = fold(synonym).match(/[\\p{L}\\p{N}]+/gu) ?? [];
      for (const text of [fold(synonym), ...words])
        for (let n = 1; n <= 4; n += 1) yield text.slice(0, n);
      for (let i = 0; i < words.length; i += 1)
        for (let j = i + 1; j < words.length; j += 1)
          for (let n = 1; n < 4; n += 1) yield words[i].slice(0, n) + words[j].slice(0, 4 - n);
    }
  };
  const first = [0, 0, 0, 0, 0], missing = [];
  for (const { key, name } of entries) {
    const letters = fold(name.split(", ")[0]);
    for (let n = 1; n <= 4; n += 1) first[n] += hits(letters.slice(0, n)).has(key);
    if (![...queries(name)].some((typed) => hits(typed).has(key))) missing.push(name);
  }
  return { first, missing };
}"""
