"""Every page an annotator sees, looked at in four ways: wide and narrow, light and dark."""

import re

import pytest

from labeling.campaigns import lifecycle
from labeling.follow_ups import asking
from labeling.quality import memberships
from tests import factories
from tests.access import PEOPLE, ROWS
from tests.browser.conftest import NARROW
from tests.test_access import fill
from tests.world import build

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

SHOWN = "[data-stage] img:not([data-first])"


def test_labeling_page_looks_right(browser_as, bob, cats, site, looked_at):
    page = browser_as(bob)

    page.goto(site("/campaigns/cats/label/"))
    page.wait_for_selector(SHOWN)
    looked_at(page, "label")
    page.keyboard.press("y")
    page.wait_for_selector(SHOWN)
    page.keyboard.press("ArrowLeft")
    page.wait_for_selector(SHOWN)
    looked_at(page, "label-back")
    page.keyboard.press("?")
    looked_at(page, "label-keys")


def test_instructions_on_a_phone_look_right(browser_as, bob, cats, site, axe, screenshots):
    page = browser_as(bob, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)

    page.goto(site("/campaigns/cats/label/"))
    page.wait_for_selector(SHOWN)
    screenshots(page, "label-touch")
    page.tap(".label-bar [data-do=about]")
    screenshots(page, "label-about")
    axe(page)


def test_naming_page_looks_right(browser_as, alice, bob, cats, dataset, site, looked_at):
    names = ["tabby", "tiger cat", "Persian cat", "Egyptian cat", "lynx", "leopard", "jaguar"]
    vocabulary = [{"key": f"n{index}", "name": name} for index, name in enumerate(names)]
    campaign = lifecycle.create(
        alice,
        name="names",
        title="Names",
        kind="naming",
        dataset=dataset,
        settings={"vocabulary": vocabulary},
    )
    lifecycle.define_topics(campaign, [{"key": "which", "name": "which"}])
    asking.add_questions(campaign, [("chelsea.png", "which"), ("coffee.png", "which")])
    lifecycle.launch(campaign, alice)
    factories.join(bob, campaign)
    page = browser_as(bob)

    page.goto(site("/campaigns/names/label/"))
    page.wait_for_selector(SHOWN)
    page.keyboard.press("/")
    page.keyboard.type("cat")
    looked_at(page, "naming")


def test_pages_before_logging_in_look_right(browser_as, alice, cats, site, looked_at):
    _, secret = memberships.invite(cats, alice)
    page = browser_as()

    for path, status, name in [
        ("/", 200, "welcome"),
        (f"/join/{secret}/", 200, "join"),
        ("/accounts/signup/", 200, "signup"),
        ("/accounts/login/", 200, "login"),
        ("/join/nonsense/", 410, "refusal"),
    ]:
        assert page.goto(site(path)).status == status
        looked_at(page, name)


def test_four_steps_of_the_front_page_fill_their_rows(browser_as, site):
    page = browser_as()
    page.goto(site("/"))

    for width, rows in ((1920, 1), (1440, 1), (900, 2), (390, 4)):
        page.set_viewport_size({"width": width, "height": 900})
        tops = page.eval_on_selector_all(
            ".welcome + .cards > li",
            "(cards) => cards.map((card) => Math.round(card.getBoundingClientRect().top))",
        )
        assert [tops.count(top) for top in sorted(set(tops))] == [4 // rows] * rows


def test_pages_of_the_account_look_right(browser_as, alice, bob, cats, site, looked_at):
    annotator, researcher = browser_as(bob), browser_as(alice)

    for page, path, name in [
        (annotator, "/", "home"),
        (annotator, "/accounts/password/change/", "password"),
        (researcher, "/", "home-researcher"),
    ]:
        assert page.goto(site(path)).status == 200
        looked_at(page, name)


def test_cells_after_a_wide_one_are_under_their_own_names(browser_as, site):
    page = browser_as()
    page.goto(site("/"))

    names = page.evaluate(
        """() => {
          const rows = ["<th>1</th><td colspan=2>2</td><td>4</td>", "<td colspan=4>none</td>"];
          document.body.insertAdjacentHTML("beforeend", `<div class="table-scroll"><table>
            <thead><tr><th>a</th><th>b</th><th>c</th><th>d</th></tr></thead>
            <tbody>${rows.map((row) => `<tr>${row}</tr>`).join("")}</tbody></table></div>`);
          document.dispatchEvent(new Event("htmx:afterSettle"));
          const cells = [...document.querySelectorAll("tbody :is(th, td)")];
          return cells.map((cell) => cell.dataset.column);
        }"""
    )
    assert names == ["a", "b", "d", ""]


def test_lines_of_a_choice_begin_below_each_other(browser_as, alice, site):
    page = browser_as(alice, viewport=NARROW)
    page.goto(site("/benchmarks/new/cds/"))

    lefts = page.eval_on_selector_all(
        "#id_content_schemes label",
        """(labels) => labels.map((label) => {
          const text = document.createRange();
          text.selectNodeContents(label.lastChild);
          text.setStart(label.lastChild, label.lastChild.data.search(/\\S/));
          return new Set([...text.getClientRects()].map(({ x }) => Math.round(x / 2)));
        }).map((lefts) => lefts.size)""",
    )
    assert lefts == [1] * 4


# What sticks out of the page, links of tabs and navigation that lie out of sight, and sentences
# that a card of a table tears into blocks or hides.
OUT_OF_SIGHT = """() => {
  const width = document.documentElement.clientWidth;
  const reach = (element) => element.getBoundingClientRect();
  const isTorn = (cell) => getComputedStyle(cell).display === "flex" && cell.children.length
    && [...cell.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
  const torn = [...document.querySelectorAll("td, th")].filter(isTorn)
    .map((cell) => `${cell.textContent.trim()} is torn`);
  const hidden = [...document.querySelectorAll("td.blank")].map((cell) => cell.textContent.trim())
    .filter((text) => text).map((text) => `${text} is hidden`);
  const outside = [...document.querySelectorAll(".tabs a, .site-nav a")]
    .filter((link) => reach(link).right > width || reach(link).left < 0)
    .map((link) => `${link.textContent.trim()} is out of sight`);
  const found = [...torn, ...hidden, ...outside];
  const wide = document.documentElement.scrollWidth;
  return wide > width ? [...found, `the page is ${wide} pixels wide, of ${width}`] : found;
}"""
SIZES = (NARROW, {"width": 844, "height": 390})
# The API's documentation is another project's page, with a test of its own; the others are no
# pages: what an address without a slash gives, and the piece that an overview asks for again.
NO_PAGE = re.compile(r"^api/|[^/]$|/progress/$")


def pages_of(world, who):
    """The path of every page that opens for this person."""
    column = PEOPLE.index(who)
    for row, outcomes in ROWS.items():
        method, route = row.split(" ", 1)
        if method == "GET" and outcomes[column] == "in" and not NO_PAGE.search(route):
            yield fill(route, world)


def test_no_page_is_wider_than_a_phone(browser_as, site):
    world = build()
    wrong, looked = [], 0
    for who, user in (("nobody", None), ("annotator", world.bob), ("owner", world.alice)):
        page = browser_as(user, reduced_motion="reduce")
        for path in pages_of(world, who):
            page.goto(site(path))
            looked += 1
            for size in SIZES:
                page.set_viewport_size(size)
                hidden_texts = page.evaluate(OUT_OF_SIGHT)
                wrong += [
                    f"{who}, {path} at {size['width']}: {hidden_text}"
                    for hidden_text in hidden_texts
                ]
        page.close()

    assert looked > 70
    assert wrong == []
