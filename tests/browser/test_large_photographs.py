"""Photographs of more pixels than a page gets at once: a preview, and tiles where one zooms in."""

import io

import numpy as np
import pytest
from django.core.files.base import ContentFile
from PIL import Image as Pillow

from labeling.campaigns import lifecycle
from labeling.datasets import images
from labeling.follow_ups import asking
from labeling.models import Answer, Draft, Image
from tests import factories
from tests.browser import box_hands, drawing_hands
from tests.browser.conftest import expect
from tests.labeling import parted

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

WIDTH, HEIGHT = 6000, 4500
CAT = "n02123045"


def photograph(seed: int) -> bytes:
    """Grey with a pattern that is a different one in each tile."""
    rng = np.random.default_rng(seed)
    coarse = rng.integers(40, 216, (45, 60, 3), dtype=np.uint8)
    image = Pillow.fromarray(coarse).resize((WIDTH, HEIGHT), Pillow.Resampling.NEAREST)
    stream = io.BytesIO()
    image.save(stream, "JPEG", quality=70)
    return stream.getvalue()


@pytest.fixture
def boxes(alice, bob, dataset, run_jobs):
    images.add_file(dataset, "large.jpg", io.BytesIO(photograph(1)))
    run_jobs()
    rules = {"second_looks": 0, "gold_share": 0}
    campaign = lifecycle.create(
        alice, name="boxes", title="Cats, boxed", kind="boxes", dataset=dataset, policy=rules
    )
    lifecycle.define_topics(campaign, [{"key": CAT, "name": "tabby"}])
    asking.add_questions(campaign, [("large.jpg", CAT)])
    lifecycle.launch(campaign, alice)
    factories.join(bob, campaign)
    return campaign


@pytest.fixture
def parts(alice, bob, dataset, run_jobs):
    campaign = parted.parts_campaign(alice, dataset, count=1)
    image = Image.objects.get()
    image.file.save("large.jpg", ContentFile(photograph(2)), save=False)
    image.width, image.height = WIDTH, HEIGHT
    image.save()
    images._enqueue_derivatives(image)
    run_jobs()
    factories.join(bob, campaign)
    return campaign


MIDDLE = [2900.0, 2200.0, 3100.0, 2300.0]
TILES = ".boxes-photo img[src*='&detail=']"


def test_boxes_of_a_large_photograph_are_drawn_over_tiles(browser_as, bob, boxes, site):
    page = browser_as(bob, reduced_motion="reduce")
    box_hands.open_page(page, site)
    preview = page.locator(".boxes-photo img").first
    assert preview.evaluate("image => image.naturalWidth") == 2048
    expect(page.locator(TILES)).to_have_count(0)

    for _ in range(8):
        page.click("[data-do=zoom-in]")

    full = page.locator(".boxes-photo img[src*='&detail=0,']").first
    expect(full).to_have_js_property("complete", True)
    assert full.evaluate("image => image.naturalWidth") == 1024
    expect(page.locator(".boxes-photo img[src*='&detail=1,']")).to_have_count(0)
    # In the middle, where it zooms in: coordinates stay those of all pixels.
    box_hands.draw(page, MIDDLE)
    page.keyboard.press("0")
    expect(page.locator(TILES)).to_have_count(0)
    with page.expect_response(box_hands.ANSWERS):
        page.keyboard.press("Enter")
    drawn = Answer.objects.get().value["box"]
    assert all(abs(side - meant) < 4 for side, meant in zip(drawn, MIDDLE, strict=True))


def test_parts_of_a_large_photograph_are_drawn_over_tiles(browser_as, bob, parts, site):
    page = browser_as(bob, reduced_motion="reduce")
    drawing_hands.open_page(page, site)
    tiles = page.locator(".drawing-photograph image[href*='&detail=']")
    expect(tiles).to_have_count(0)

    for _ in range(8):
        page.click("[data-do=zoom-in]")

    expect(page.locator(".drawing-photograph image[href*='&detail=0,']").first).to_be_attached()
    expect(page.locator(".drawing-photograph image[href*='&detail=1,']")).to_have_count(0)
    page.click("[data-do=half-yes]")
    x0, y0, x1, y1 = MIDDLE
    drawing_hands.draw(page, (x0, y0), (x1, y0), (x1, y1))
    page.click("[data-do=look]")
    expect(tiles).to_have_count(0)
    drawing_hands.wait_for_draft(page)
    content = Draft.objects.get().content["drawing"]
    [[[ring]]] = content["shapes"].values()
    assert drawing_hands.near(ring, [(x0, y0), (x1, y0), (x1, y1)], pixels=8)


# Two columns of tiles are seen. Timers wait until they are asked to run.
FAILING = """async () => {
  const { Details } = await load("/details");
  const timers = new Map();
  let last = 0;
  globalThis.devicePixelRatio = 1;
  globalThis.setTimeout = (action, pause) => (timers.set(++last, { action, pause }), last);
  globalThis.clearTimeout = (timer) => timers.delete(timer);
  const pauses = () => [...timers.values()].map(({ pause }) => pause);
  const run = (longest = Infinity) => {
    for (const [timer, { action, pause }] of [...timers]) {
      if (pause <= longest) (timers.delete(timer), action());
    }
  };
  const placed = [];
  const place = (url) => {
    const tile = new EventTarget();
    tile.remove = () => {};
    placed.push({ url, tile });
    return tile;
  };
  const photo = { naturalWidth: 2048 };
  const details = new Details({ address: "/a?s=1", photo, width: 8192, height: 1024, place });
  const view = { scale: 1, x: 0, y: 0, screen: { width: 2048, height: 1024 } };
  const fail = () => placed.splice(0).forEach(({ tile }) => tile.dispatchEvent(new Event("error")));
  details.follow(view);
  run();
  const first = placed.map(({ url }) => url);
  fail();
  const once = pauses();
  details.follow(view);
  run(1000);
  const meanwhile = placed.length;
  run();
  const again = placed.length;
  fail();
  const twice = pauses();
  run();
  details.stop();
  fail();
  return { first, once, meanwhile, again, twice, stopped: pauses() };
}"""


def test_tiles_that_fail_are_asked_for_again_together_and_not_once_their_photograph_is_gone(js):
    seen = js(FAILING)

    assert seen["first"] == ["/a?s=1&detail=0,0,0", "/a?s=1&detail=0,1,0"]
    assert (seen["once"], seen["twice"]) == ([3000], [6000])
    assert (seen["meanwhile"], seen["again"]) == (0, 2)
    assert seen["stopped"] == []


def test_drawing_waits_for_the_preview_and_says_so(browser_as, bob, boxes, site):
    page = browser_as(bob, reduced_motion="reduce")
    held = []
    page.route("**/label/*/image*", lambda route: held.append(route))
    page.goto(site("/campaigns/boxes/label/"), wait_until="domcontentloaded")
    zoom = page.locator(".work-rail [data-do=zoom-in]")

    expect(page.locator("[data-stage-note]")).to_have_text("Loading the image…")
    expect(zoom).to_have_attribute("aria-disabled", "true")
    zoom.click(force=True)
    expect(page.locator("[data-announce]")).to_have_text("The image is still loading.")
    page._carrier.do(lambda: [route.continue_() for route in held])
    box_hands.wait(page)
    expect(zoom).to_have_attribute("aria-disabled", "false")
