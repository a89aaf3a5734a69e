"""From photographs to an average precision with its interval, by pages alone.

Five people say what is in real photographs and box it, one of them in a browser; each wave of
questions follows from the answers before. The one in the browser draws the first box of the cup too
loose: others send it back. A researcher does the rest on pages: uploads, opens, freezes, scores.
"""

import io
import json
import zipfile

import pytest

from labeling.boxes.chain import CHECK, COVER
from labeling.geometry.boxes import iou
from labeling.models import Answer, Campaign, Question, Seat, User
from tests import factories
from tests.browser import box_hands as hands
from tests.browser.conftest import expect
from tests.browser.labeling.test_labeling import SHOWN, press, wait_for_chip
from tests.browser.researcher_hands import download, freeze, invite, join, make_dataset
from tests.evaluation import crowd
from tests.labeling import boxers

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

CUP, MOTORCYCLE = "n03147509", "n03790512"
PHOTOGRAPHS = ["coffee.png", "motorcycle_left.png", "chelsea.png"]
# Outlined by hand for the demonstration: annotator/demo/boxes.csv.
INSTANCES = {
    ("coffee.png", CUP): [173.0, 18.0, 410.0, 307.0],
    ("motorcycle_left.png", MOTORCYCLE): [93.0, 17.0, 684.0, 450.0],
}
# A detector that sees a cup where the cat is before it sees the cup: half of what it says is right.
FOUND = [
    "motorcycle_left.png,n03790512,0.9,93,17,684,450",
    "chelsea.png,n03147509,0.8,10,10,90,90",
    "coffee.png,n03147509,0.7,173,18,410,307",
]
OTHERS = ("dave", "erin", "frank", "grace")
QUESTIONS = "\n".join(f"{name},{wnid}" for name in PHOTOGRAPHS for wnid in (CUP, MOTORCYCLE))
WIDTHS = {600: "coffee.png", 741: "motorcycle_left.png", 451: "chelsea.png"}
FINISHED = "[data-finished]:not([hidden])"


def open_campaign(page, site, title: str, kind: str) -> None:
    """The form of a new campaign, filled in but for what it asks about."""
    page.goto(site("/campaigns/new/"))
    page.fill("#id_title", title)
    page.select_option("#id_dataset", label="photographs")
    page.click(f"text={kind}")
    page.click("summary:has-text('More rules')")
    page.fill("#id_gold_share", "0")


def launch(page) -> Campaign:
    page.click("text=Create draft")
    page.click("button:has-text('Open campaign')")
    page.wait_for_selector(".badge.open")
    return Campaign.objects.latest("pk")


def label_what_is_there(page, site, campaign: Campaign) -> None:
    """Says yes where the photograph has what is asked about, until nothing is left."""
    page.goto(site(f"/campaigns/{campaign.name}/label/"))
    while True:
        page.wait_for_selector(f"{SHOWN}:visible, {FINISHED}:visible")
        if page.is_visible(FINISHED):
            break
        width = page.eval_on_selector(SHOWN, "image => image.naturalWidth")
        wnid = CUP if "cup" in page.inner_text("h1") else MOTORCYCLE
        press(page, "y" if (WIDTHS[width], wnid) in INSTANCES else "n")
    wait_for_chip(page, "All saved")


def box_what_is_asked(page, site, campaign: Campaign, boxes=INSTANCES, loose: bool = True) -> int:
    """How many boxes, checks and looks this person has sent, until nothing waits for them.

    loose: draw the first box too large.
    """
    page.goto(site(f"/campaigns/{campaign.name}/label/"))
    sent = 0
    while True:
        page.wait_for_selector(f"{hands.READY}:visible, {FINISHED}:visible")
        if page.is_visible(FINISHED):
            return sent
        hands.wait(page)
        seat = hands.seat_of(page)
        seats = Seat.objects.select_related("question__item__image")
        _box(page, seats.get(token=seat), boxes, loose)
        page.wait_for_selector(f"{hands.READY}:not([data-seat='{seat}']), {FINISHED}")
        sent += 1


def is_good(question: Question, boxes=INSTANCES) -> bool:
    """Whether the box that the question asks about is the instance's."""
    box = boxes[question.item.image.name, question.topic]
    return iou(tuple(question.content["box"]), tuple(box)) > 0.9


def says(question: Question, person: User) -> object:
    """The answer of somebody without a browser."""
    if question.step == CHECK:
        return "good" if is_good(question) else "loose"
    if question.step == COVER:
        return "complete"
    return boxers.box(INSTANCES[question.item.image.name, question.topic])


def _box(page, seat: Seat, boxes, loose: bool) -> None:
    """Answers one step with the mouse."""
    question = seat.question
    image = question.item.image
    box = boxes[image.name, question.topic]
    if question.step == CHECK:
        hands.send_by(page, "[data-do=good]" if is_good(question, boxes) else "[data-reason=loose]")
    elif question.step == COVER:
        hands.send_by(page, "[data-do=complete]")
    else:
        answers = Answer.objects.filter(assignment__question__campaign=question.campaign_id)
        x0, y0, x1, y1 = box
        larger = [x0 / 2, y0 / 2, (x1 + image.width) / 2, (y1 + image.height) / 2]
        hands.draw(page, larger if loose and not answers.exists() else box)
        hands.send_by(page, "[data-do=send-box]:visible")


def test_photographs_become_an_average_precision(
    browser_as, alice, site, run_jobs, looked_at, wordnet
):
    page = browser_as(alice, accept_downloads=True)
    carol, others = browser_as(factories.make_user("carol")), list(map(factories.make_user, OTHERS))
    make_dataset(page, site, PHOTOGRAPHS)

    # What is in them?
    open_campaign(page, site, "What is there", "Yes/no question (MAD)")
    page.fill("#id_questions", QUESTIONS)
    campaign = launch(page)
    join(carol, invite(page, site, campaign.name, 1))
    label_what_is_there(carol, site, campaign)
    for person in others:
        factories.join(person, campaign)
    crowd.answer(campaign, others, lambda *pair: "yes" if pair in INSTANCES else "no")
    run_jobs()
    freeze(page, site, campaign.name)

    # Where is every one of them?
    open_campaign(page, site, "Where it is", "Bounding boxes")
    page.select_option("#id_release", str(campaign.releases.get().pk))
    boxes = launch(page)
    join(carol, invite(page, site, boxes.name, 1))
    for person in others:
        factories.join(person, boxes)
    while box_what_is_asked(carol, site, boxes) + len(boxers.work(boxes, others, says)):
        run_jobs()
    page.goto(site(f"/campaigns/{boxes.name}/boxes/"))
    page.click("text=Compute now")
    run_jobs()
    page.reload()
    expect(page.get_by_role("heading", name="Cost of a box")).to_be_visible()
    looked_at(page, "boxes-story-figures")
    freeze(page, site, boxes.name)
    check_release(download(page, "a:has-text('Download')"))

    # Who finds them?
    page.goto(site(f"/benchmarks/new/labeled/?campaign={boxes.name}"))
    page.get_by_label("Detection").check()
    page.get_by_label("Title").fill("Cups and motorcycles")
    page.get_by_label("Name").fill("found")
    page.get_by_label("test: for the final results").check()
    page.get_by_role("button", name="Create benchmark").click()
    page.wait_for_selector("text=score on it once")
    page.get_by_label("Classifier").fill("finder")
    rows = "\n".join(["image,wnid,confidence,x0,y0,x1,y1", *FOUND])
    file = {"name": "finder.csv", "mimeType": "text/csv", "buffer": rows.encode()}
    page.set_input_files("input[type=file]", file)
    page.get_by_role("button", name="Upload").click()
    page.wait_for_selector("text=The score waits for a worker")
    run_jobs()
    page.wait_for_selector("#answer")
    text = page.inner_text("section[aria-labelledby=answer]")
    assert "Mean AP 0.7500" in text
    assert "finder on 3 images (99.9 % interval 0." in text


def check_release(packed: bytes) -> None:
    """Each instance has its box, and each photograph whether all of its boxes are there."""
    with zipfile.ZipFile(io.BytesIO(packed)) as files:
        read = {
            name.rsplit("/")[-1]: [json.loads(line) for line in files.read(name).splitlines()]
            for name in files.namelist()
            if name.endswith(("boxes.jsonl", "coverage.jsonl"))
        }
    boxes = {(row["image"], row["wnid"]): row["box"] for row in read["boxes.jsonl"]}
    assert len(read["boxes.jsonl"]) == len(INSTANCES) == len(boxes)
    assert all(iou(tuple(box), tuple(INSTANCES[pair])) > 0.95 for pair, box in boxes.items())
    states = {(row["image"], row["wnid"]): row["state"] for row in read["coverage.jsonl"]}
    assert {pair for pair, state in states.items() if state == "complete"} == set(INSTANCES)
