"""Parts from an import to pycocotools: merged, drawn by mouse and by keyboard, sent back, released.

The photographs are real. Bob draws the cat with the mouse, closes his browser, goes on at another
machine, and draws the astronaut with the keyboard alone; Rita reviews; Alice runs it all.
"""

import io
import itertools
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as Pillow
from PIL import ImageDraw

from labeling.assignment import claiming
from labeling.datasets import objects
from labeling.models import Campaign, Draft, Item, Question, SentBack
from tests import factories
from tests.browser import drawing_hands as hands
from tests.browser.researcher_hands import download, freeze, make_dataset
from tests.labeling import pascal_mats

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    # pycocotools', with numpy 2.
    pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning"),
]

EYE = [138, 112, 153, 88, 183, 90, 203, 110, 203, 125, 183, 144, 152, 135]
COCO = {
    "images": [{"id": 1, "file_name": "chelsea.png", "width": 451, "height": 300}],
    "categories": [{"id": 1, "name": "cat"}, {"id": 2, "name": "reye", "supercategory": "cat"}],
    "annotations": [
        {"id": 1, "image_id": 1, "category_id": 1, "bbox": [20, 5, 360, 290], "segmentation": []},
        {"id": 2, "image_id": 1, "category_id": 2, "part_of": 1, "segmentation": [EYE]}
        | {"bbox": [138, 88, 65, 56]},
    ],
}
# Of the astronaut: two pieces of an arm with a gap between them, and the head.
PIECES = {
    "head": [(153, 70), (215, 18), (293, 50), (275, 133), (245, 185), (186, 155)],
    "ruarm": [(52, 275), (95, 235), (125, 310), (118, 400), (20, 392), (40, 305)],
    "rlarm": [(20, 402), (117, 410), (150, 462), (112, 511), (45, 511)],
}
NOSE = [(240, 229), (272, 229), (290, 233), (274, 250), (257, 264), (250, 247)]
HEAD = [(40, 30), (200, 10), (345, 45), (350, 165), (300, 262), (190, 278), (55, 160)]
BETTER_NOSE = [(238, 227), (292, 231), (258, 256)]
NOTE = "The nose ends a little higher."


def mask(corners) -> np.ndarray:
    drawn = Pillow.new("1", (512, 512))
    ImageDraw.Draw(drawn).polygon(corners, fill=1)
    return np.array(drawn)


def archive(tmp_path) -> bytes:
    """A zip of one PASCAL-Part file."""
    parts = [(name, mask(corners)) for name, corners in PIECES.items()]
    whole = mask([(15, 200), (150, 14), (300, 14), (364, 300), (364, 511), (15, 511)])
    person = pascal_mats.MatObject("person", whole | np.any([m for _, m in parts], axis=0), parts)
    path = pascal_mats.save(tmp_path, "astronaut", [person])
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        file.write(path, "Annotations_Part/astronaut.mat")
    return packed.getvalue()


def bring_in(page, site, run_jobs, name: str, content: bytes) -> None:
    page.goto(site("/datasets/photographs/objects/import/"))
    sent = {"name": name, "mimeType": "application/octet-stream", "buffer": content}
    page.set_input_files("#id_file", sent)
    page.click("button:has-text('Import')")
    page.wait_for_url("**/objects/import/*/")
    run_jobs()
    page.reload()


def open_campaign(page, site) -> Campaign:
    page.goto(site("/campaigns/new/"))
    page.fill("#id_title", "Parts of photographs")
    page.select_option("#id_dataset", label="photographs")
    page.click("text=Part polygons")
    page.click("summary:has-text('More rules')")
    page.fill("#id_gold_share", "0")
    page.fill("#id_page_size", "1")
    page.click("text=Create draft")
    page.wait_for_selector("text=Parts of photographs")
    page.click("button:has-text('Open')")
    page.wait_for_selector(".badge.open")
    return Campaign.objects.get(name="parts-of-photographs")


def choose(page, part: str) -> None:
    page.click(f"[data-choose='{part}']")


def say_of_the_rest(page, key: str) -> None:
    """Presses the same state for each part that is still missing."""
    while page.inner_text("[data-missing-count]") != "0":
        hands.press(page, "j", key)


def wait_for_stroke(page, corners: int, drawn: str) -> None:
    """Until the server has a draft with this part drawn and so many corners of an unfinished one.

    Drafts are sent while strokes are drawn: one of an earlier stroke may have as many corners.
    """
    for _ in range(450):
        draft = Draft.objects.first()
        drawing = draft.content["drawing"] if draft is not None else {"shapes": {}}
        if drawn in drawing["shapes"] and len(drawing["stroke"] or ()) == corners:
            return
        page.wait_for_timeout(100)
    raise AssertionError(f"the draft is {draft and draft.content}")


def draw_the_cat(page, site, new_context, bob):
    """By mouse, with an undo, a closed browser and another machine in between."""
    hands.open_page(page, site, "parts-of-photographs")
    page.click("[data-do=half-yes]")
    choose(page, "nose")
    hands.draw(page, (240, 220), (260, 220), (250, 240))
    page.keyboard.press("Control+z")
    hands.expect_state(page, "nose", "missing")
    page.keyboard.press("Escape")
    hands.draw(page, *NOSE)
    choose(page, "head")
    hands.click(page, *HEAD[:4])
    wait_for_stroke(page, 4, drawn="nose")
    page.context.close()

    page = new_context(bob).new_page()
    hands.open_page(page, site, "parts-of-photographs")
    hands.expect_state(page, "nose", "drawn")
    choose(page, "head") if hands.chosen(page) != "head" else None
    hands.click(page, *HEAD[4:], HEAD[0])
    hands.expect_state(page, "head", "drawn")
    say_of_the_rest(page, "2")
    hands.send(page, "Shift+Enter")
    return page


def draw_the_astronaut(page) -> None:
    """With the keyboard alone: hair of three corners, and what is not to be seen."""
    hands.press(page, "y")
    assert page.evaluate("document.activeElement.closest('[data-drawing]') !== null")
    while hands.chosen(page) != "hair":
        hands.press(page, "j")
    hands.press(page, "Enter", *["Shift+ArrowRight"] * 3, "Enter", *["Shift+ArrowDown"] * 3)
    hands.press(page, "Enter", "c")
    hands.expect_state(page, "hair", "drawn")
    say_of_the_rest(page, "3")
    hands.send(page, "Shift+Enter")


def test_parts_come_in_are_drawn_mended_and_come_out(
    browser_as, new_context, alice, bob, site, run_jobs, looked_at, tmp_path, monkeypatch
):
    # Seats come in the order of their tokens: of two held at once the cat is first.
    monkeypatch.setattr(claiming, "new_token", map("{:032x}".format, itertools.count()).__next__)
    page = browser_as(alice, accept_downloads=True)
    make_dataset(page, site, ["chelsea.png", "astronaut.png"])

    # The import is told what its names mean; the pieces of an arm are merged.
    page.goto(site("/datasets/photographs/objects/import/"))
    page.click("button:has-text('Use the built-in vocabulary')")
    page.wait_for_selector("text=Cat")
    bring_in(page, site, run_jobs, "pascal.zip", archive(tmp_path))
    assert "1 object" in page.inner_text("main")
    bring_in(page, site, run_jobs, "cats.json", json.dumps(COCO).encode())
    looked_at(page, "parts-story-import")
    arm = Item.objects.get(image__name="astronaut.png", region__isnull=False)
    page.goto(site(f"/datasets/photographs/objects/{arm.pk}/"))
    page.click("a:has-text('2 pieces')")
    page.wait_for_selector("text=Merge of right arm")
    looked_at(page, "parts-story-merge")
    [merged] = [part for part in objects.describe([arm])[arm.pk].parts if part.key == "arm"]
    assert (len(merged.pieces), len(merged.polygons), merged.apart) == (2, 1, False)

    # Bob draws what is missing.
    campaign = open_campaign(page, site)
    factories.join(bob, campaign)
    rita = factories.make_user("rita")
    factories.join(rita, campaign, "reviewer")
    cat = campaign.questions.get(item__image__name="chelsea.png")
    person = campaign.questions.get(item__image__name="astronaut.png")
    campaign.questions.filter(pk=person.pk).update(ticket=campaign.last_ticket + 1)
    theirs = draw_the_cat(new_context(bob).new_page(), site, new_context, bob)
    assert not Draft.objects.filter(assignment__question=cat).exists()
    theirs.wait_for_selector("text=person")
    hands.settle(theirs)
    draw_the_astronaut(theirs)
    assert {row.state for row in campaign.questions.all()} == {"review"}

    # Rita sends the cat back, Bob mends it, Rita accepts both.
    review = browser_as(rita)
    review.goto(site(f"/campaigns/parts-of-photographs/review/?question={cat.pk}"))
    looked_at(review, "parts-story-review")
    review.keyboard.press("b")
    review.keyboard.type(NOTE)
    review.keyboard.press("Control+Enter")
    review.wait_for_selector("text=Sent back:")
    assert SentBack.objects.get().note == NOTE
    hands.open_page(theirs, site, "parts-of-photographs")
    assert NOTE in theirs.inner_text("[data-sent-back-note]")
    choose(theirs, "nose")
    hands.press(theirs, "2", "1")
    hands.draw(theirs, *BETTER_NOSE)
    hands.send(theirs, "Shift+Enter")
    review.goto(site("/campaigns/parts-of-photographs/review/"))
    for _ in range(2):
        review.keyboard.press("a")
        review.wait_for_selector("text=Accepted:")
    assert set(Question.objects.values_list("state", flat=True)) == {"settled"}

    # Alice freezes, and another tool reads what comes out.
    freeze(page, site, "parts-of-photographs")
    check(download(page, "a:has-text('COCO')"), tmp_path)


def check(packed: bytes, tmp_path: Path) -> None:
    from pycocotools.coco import COCO as Reader

    with zipfile.ZipFile(io.BytesIO(packed)) as file:
        [name] = [name for name in file.namelist() if name.endswith("parts.json")]
        (tmp_path / "parts.json").write_bytes(file.read(name))
    coco = Reader(str(tmp_path / "parts.json"))
    # Parts are named with their class: cat nose.
    names = {
        row["id"]: row["name"].removeprefix(f"{row.get('supercategory')} ")
        for row in coco.dataset["categories"]
    }
    areas = {
        (coco.imgs[row["image_id"]]["file_name"], names[row["category_id"]]): int(
            coco.annToMask(row).sum()
        )
        for row in coco.dataset["annotations"]
    }
    nose = areas["chelsea.png", "nose"]
    assert 720 < nose < 790, areas  # the mended triangle, not the first outline
    assert areas["chelsea.png", "eye"] > 2000
    assert areas["astronaut.png", "arm"] > 20_000
    assert areas["astronaut.png", "hair"] > 0
