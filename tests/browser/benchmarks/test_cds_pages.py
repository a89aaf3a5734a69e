"""The pages of a CDS benchmark in a real browser: full of data, wide and narrow, light and dark."""

import json
from pathlib import Path

import pytest

from evaluation.benchmarks import folders, runs
from evaluation.benchmarks.kinds.cds import running
from evaluation.models import Benchmark, Run
from evaluation.readers.sequences import SequenceLine
from labeling.campaigns import lifecycle
from labeling.datasets import images, objects, vocabulary_store
from labeling.exchange import part_campaigns
from labeling.geometry.polygons import Polygons
from labeling.jobs import queue
from labeling.models import Dataset, User
from labeling.parts.model import PartedObject
from tests import factories
from tests.browser.conftest import NARROW, WIDE, settled
from tests.evaluation.cds import results, world
from tests.labeling import part_releases
from tests.labeling.parted import CAT, VOCABULARY, drawn

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

# Chelsea, by E_U at low detail, which people saw too: eight sequences an object.
SEEN = 4 * 8 + 2
TABBY, LYNX, CUP = "n02123045", "n02127052", "n07930864"
PARTS = ("head", "torso", "leg", "tail")
PHOTOGRAPHS = ("chelsea.png", "coffee.png", "astronaut.png")
# Where each cat is, in shares of its photograph: x0, y0, x1, y1.
BOXES = ((0.02, 0.02, 0.95, 0.98), (0.3, 0.1, 0.8, 0.7), (0.5, 0.3, 0.98, 0.9), (0.1, 0.4, 0.6, 1))
# Where each part is, in shares of the cat's box.
PLACES = {
    "head": (0.15, 0.05, 0.75, 0.45),
    "torso": (0.1, 0.4, 0.9, 0.8),
    "leg": (0.3, 0.75, 0.6, 1),
    "tail": (0.8, 0.2, 1, 0.6),
}


@pytest.fixture
def reveal(alice: User, bob: User, dataset: Dataset) -> Benchmark:
    """Twelve cats on three photographs, by two part and four content schemes."""
    import skimage

    folder = Path(skimage.__file__).parent / "data"
    cats = []
    vocabulary_store.add_version(dataset, VOCABULARY, alice)
    for name in PHOTOGRAPHS:
        with (folder / name).open("rb") as file:
            image = images.add_file(dataset, name, file).image
        for number, box in enumerate(BOXES):
            corners = scaled(box, (0, 0, image.width, image.height))
            cats.append(PartedObject(name, CAT, corners, (), name=f"cat-{number + 1}"))
    objects.put(dataset, cats, "the importer", words={CAT: "cat"})
    campaign = part_campaigns.draft(
        alice, dataset, name="cats", title="Parts of cats", policy=part_releases.POLICY
    )
    lifecycle.launch(campaign, alice)
    factories.join(bob, campaign)
    for number, question in enumerate(campaign.questions.select_related("item", "policy")):
        polygons = {key: polygon(scaled(PLACES[key], question.item.region)) for key in PARTS}
        hidden = {"torso": "not_visible"} if number % 2 else {}
        part_releases.settle(question, bob, drawn(**polygons | hidden))
    orders = {"E_U": {CAT: list(PARTS)}}
    return world.make(
        alice,
        campaign,
        title="Cats, part by part",
        part_schemes=("E_U", "random"),
        orders=orders,
        content_schemes=results.CONTENTS,
        mapping={CAT: [CAT, TABBY]},
    )


def scaled(shares, box) -> tuple[int, ...]:
    x0, y0, x1, y1 = box
    across, down = x1 - x0, y1 - y0
    left, top, right, bottom = shares
    corners = x0 + left * across, y0 + top * down, x0 + right * across, y0 + bottom * down
    return tuple(round(value) for value in corners)


def polygon(box) -> Polygons:
    x0, y0, x1, y1 = (float(value) for value in box)
    return ((((x0, y0), (x1, y0), (x1, y1), (x0, y1)),),)


def seeing(after: int):
    """Names a cup, then a lynx, and a tabby once so many frames were shown."""

    def says(line: SequenceLine, frame: int) -> str:
        later = after + (line.content_scheme == "intra-object") - (line.content_scheme == "higher")
        later += sum(map(ord, line.image + line.object)) % 3
        return TABBY if frame >= later else LYNX if frame >= later - 2 else CUP

    return says


@pytest.fixture
def scored(reveal, alice, tmp_path, wordnet) -> Run:
    """Three classifiers and people, whose answers stand in the files of the run."""
    world.add(reveal, alice, tmp_path, alpha=seeing(0), beta=seeing(1), gamma=seeing(3))
    run = runs.request(reveal, alice)
    queue.run_all()
    run.refresh_from_db()
    assert run.state == Run.State.DONE, run.error
    path = folders.run_folder(reveal, run.pk) / running.ANSWERS
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        if line["content_scheme"] == "low":
            line["answers"]["people"] = line["answers"]["alpha"]
            line["scores"]["people"] = line["scores"]["alpha"]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    run.result["classifiers"].append("people")
    run.save(update_fields=["result"])
    return run


@pytest.fixture
def full(reveal, alice) -> Run:
    """A run with rows in every table, made by hand."""
    return Run.objects.create(
        benchmark=reveal,
        release=reveal.release,
        state=Run.State.DONE,
        requested_by=alice,
        result=results.stored(),
        finished_at=reveal.created_at,
    )


SECTIONS = ("error", "parts", "categories", "correlation", "ratios", "presence", "hardness")


def test_result_looks_right(page, site, full, looked_at, screenshots):
    page.goto(site("/benchmarks/reveal/"))
    settled(page)

    looked_at(page, "cds-result")
    for size in (NARROW, WIDE):
        page.set_viewport_size(size)
        for name in (*SECTIONS, "downloads"):
            page.evaluate(f"document.getElementById('{name}').scrollIntoView()")
            screenshots(page, f"cds-result-{name}-{size['width']}")


SCROLLED = """() => [...document.querySelectorAll(".table-scroll, .plot-scroll")]
  .filter((region) => region.clientWidth && region.scrollWidth > region.clientWidth + 1)
  .map((region) => region.ariaLabel)"""


def test_phones_show_tables_as_cards_and_scroll_nothing_sideways(page, site, full):
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(site("/benchmarks/reveal/"))
    page.wait_for_selector(".cards-when-narrow")

    assert page.evaluate(SCROLLED) == []
    cell = page.locator("[aria-label='Table of CDS by content scheme'] td").first
    assert cell.get_attribute("data-column") == "object only"
    assert cell.evaluate("cell => getComputedStyle(cell, '::before').content") == '"object only"'
    assert page.get_by_role("columnheader", name="object only").count()


def test_contents_stay_and_figures_are_beside_their_tables(page, site, full):
    page.set_viewport_size({"width": 1920, "height": 1080})
    page.goto(site("/benchmarks/reveal/"))
    page.wait_for_selector(".cards-when-narrow")
    table = page.locator("[aria-label='Table of CDS by content scheme']").bounding_box()
    figure = page.locator("figure:has-text('CDS at each content scheme')").first.bounding_box()

    assert figure["x"] > table["x"] + table["width"]
    assert abs(figure["y"] - table["y"]) < 2
    page.click(".on-page a:has-text('Files and conventions')")
    assert page.locator(".on-page").bounding_box()["y"] == 0
    assert page.locator("[data-open-when-wide]").first.get_attribute("open") is not None


def test_empty_page_says_what_to_do(page, site, reveal, looked_at):
    page.goto(site("/benchmarks/reveal/"))

    assert page.get_by_text("No classifier yet").is_visible()
    looked_at(page, "cds-empty")


def test_objects_and_galleries_look_right(page, site, scored, looked_at):
    for path, name in [
        ("sequences/", "cds-objects"),
        ("galleries/", "cds-galleries"),
        ("galleries/?form=captchas", "cds-captchas"),
    ]:
        page.goto(site(f"/benchmarks/reveal/runs/{scored.pk}/{path}"))
        settled(page)
        looked_at(page, name)


def test_frames_are_drawn_when_a_sequence_is_opened(page, site, scored, looked_at):
    page.goto(site(f"/benchmarks/reveal/runs/{scored.pk}/sequences/{SEEN}/"))
    page.wait_for_selector("[data-progress]:not([hidden])")
    queue.run_all()
    page.wait_for_selector("[data-big]")
    settled(page)
    looked_at(page, "cds-viewer")

    page.keyboard.press("ArrowRight")
    page.evaluate("document.getElementById('strip').scrollIntoView()")
    looked_at(page, "cds-viewer-strip")
    assert page.locator("[data-strip] .thumb img").count() == 5


def test_keys_scrub_through_the_frames_and_go_to_others(page, site, scored):
    page.goto(site(f"/benchmarks/reveal/runs/{scored.pk}/sequences/{SEEN}/"))
    caption = page.locator("[data-caption]")
    assert caption.inner_text() == "Frame 1 of 5: head"

    page.keyboard.press("ArrowRight")
    assert caption.inner_text() == "Frame 2 of 5: torso"
    assert page.url.endswith("?frame=2")
    assert page.locator("[data-slider]").input_value() == "2"
    page.keyboard.press("End")
    assert caption.inner_text() == "Frame 5 of 5: all the rest"
    now = page.locator("[data-now='0']").inner_text()
    assert "tabby" in now
    assert "right" in now
    page.keyboard.press("Home")
    page.click("[data-go='3']")
    assert caption.inner_text() == "Frame 3 of 5: leg"

    page.keyboard.press("c")
    page.wait_for_selector(".switches [aria-current]:has-text('higher detail')")
    assert page.url.endswith("?frame=3")
    assert page.locator(".switches [aria-current]").all_inner_texts() == ["E_U", "higher detail"]
    page.keyboard.press("p")
    page.wait_for_selector(".switches [aria-current]:has-text('random')")
    page.keyboard.press("]")
    page.wait_for_selector("text=object 6 of 12")
    page.keyboard.press("[")
    page.wait_for_selector("text=object 5 of 12")
    page.keyboard.press("?")
    assert page.locator("#keys").is_visible()


def test_a_sequence_is_read_without_a_script(browser_as, site, alice, scored):
    page = browser_as(alice, java_script_enabled=False)
    page.goto(site(f"/benchmarks/reveal/runs/{scored.pk}/sequences/{SEEN}/?frame=5"))

    assert page.locator("[data-strip] td[data-frame='5']").count() == 5
    page.click("text=Draw the frames")
    queue.run_all()
    page.reload()

    assert page.locator("[data-big]").get_attribute("src").endswith("/frames/1.webp")
