"""The demo's bounding-box campaign: coins, cups, spoons and towers.

annotator/demo/boxes.csv has the true boxes, outlined by hand. Four simulated annotators have
answered: their boxes have realistic errors, and one around the cup is too loose, so that it is
drawn again. One question of every step is left for bob: a coin to draw, a tower to check, and a
motorcycle image to search for more. Simulated detectors are scored on the first release.
"""

import csv
import random
from collections import defaultdict
from pathlib import Path

from django.conf import settings
from django.db import transaction

from annotator.demo import labeled
from annotator.demo.joining import join
from evaluation.benchmarks import runs
from evaluation.benchmarks.kinds.labeled import benchmarks
from evaluation.benchmarks.kinds.labeled.truth.ground_truth import DETECTION
from evaluation.models import Benchmark
from labeling.answers import submitting
from labeling.answers.submitted_answers import uuid7
from labeling.assignment import claiming
from labeling.boxes import shaking
from labeling.boxes.chain import CHECK, DRAW
from labeling.boxes.cleaning import as_box, holds
from labeling.campaigns import lifecycle
from labeling.consensus import calibrating
from labeling.exchange import box_campaigns
from labeling.follow_ups import following, opening
from labeling.geometry.boxes import Box, iou
from labeling.models import Campaign, Dataset, Question, User
from labeling.quality.gold import add_gold

SOURCE = Path(__file__).resolve().parent / "boxes.csv"
NAME, FOUND = "demo-instances", "demo-found"
TITLE = "Bounding boxes"
FOUND_TITLE = "Detection demo: 3 simulated detectors"
ANSWERED = ("carol", "dave", "erin", "frank")
# Pairs with known instances, for gold.
GOLD = (("china.jpg", "n03874965"), ("camera.png", "n04485082"))
# Number of accepted boxes after which answering stops, and the questions left then.
STOP_AFTER = {
    ("coins.png", "n13388245"): (20, DRAW),
    ("rocket.jpg", "n04460130"): (2, CHECK),
    ("motorcycle_left.png", "n03790512"): (1, "cover"),
}
LOOSE = ("coffee.png", "n03147509")
POLICY = {
    "gold_share": 0.1,
    "cost_per_hour": 14,
    # No second looks: they depend on a hash of names, and the demo should always look the same.
    "second_looks": 0,
}
MILLISECONDS = {DRAW: 7_200, CHECK: 1_900, "cover": 6_400}
INSTRUCTIONS = "\n\n".join(
    [
        "Draw the smallest box around all that you see of the thing. What hides behind something "
        "else is not guessed.",
        "A box is good if every side touches the thing. One that is a little off is good as well; "
        "one that cuts something off or has room to spare is not.",
    ]
)
Pair = tuple[str, str]


def load(users: dict[str, User], owner: User, dataset: Dataset) -> Campaign:
    """Create the campaign and its benchmark on the first call; return the campaign.

    Safe to call again.
    """
    campaign = Campaign.objects.filter(name=NAME).first() or _make(users, owner, dataset)
    if not Benchmark.objects.filter(name=FOUND).exists():
        _score(campaign, owner)
    return campaign


@transaction.atomic
def _make(users: dict[str, User], owner: User, dataset: Dataset) -> Campaign:
    known = _known()
    campaign = box_campaigns.draft(
        owner,
        dataset,
        pairs=[pair for pair in known if pair not in GOLD],
        name=NAME,
        title=TITLE,
        kind="boxes",
        policy=POLICY,
        instructions=INSTRUCTIONS,
    )
    opening.define_asked(campaign, GOLD)
    rows = [
        {"image": image, "topic": topic, "answer": [list(box) for box in known[image, topic]]}
        for image, topic in GOLD
    ]
    add_gold(campaign, owner, rows)
    lifecycle.launch(campaign, owner)
    join(campaign, owner, list(users.values()))
    people = [users[name] for name in ANSWERED]
    while _round(campaign, people, known):
        following.advance(campaign)
    for person in people:
        claiming.return_seats_of(person, campaign)
    calibrating.calibrate(campaign, reason="the demonstration's answers")
    return campaign


def _known() -> dict[Pair, list[Box]]:
    boxes_by_pair: dict[Pair, list[Box]] = defaultdict(list)
    with open(SOURCE, encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            sides = [float(row[side]) for side in ("x0", "y0", "x1", "y1")]
            boxes_by_pair[row["image"], row["wnid"]].append(as_box(sides))
    return dict(boxes_by_pair)


def _round(campaign: Campaign, people: list[User], known: dict[Pair, list[Box]]) -> int:
    """Answer everything these people hold; return the number of answers."""
    count = 0
    for person in people:
        seats = claiming.next_page(person, campaign, 20).seats
        questions = Question.objects.select_related("item__image").in_bulk(
            [seat.question_id for seat in seats]
        )
        sent = []
        for seat in seats:
            question = questions[seat.question_id]
            value = _answer(question, known[seat.image_name, seat.topic])
            if value is not None:
                spent = MILLISECONDS[question.step]
                sent.append(submitting.SubmittedAnswer(uuid7(), seat.token, value, spent))
        if sent:
            submitting.submit(person, campaign, sent)
        count += len(sent)
    return count


def _answer(question: Question, instances: list[Box]) -> object:
    """Return the person's simulated answer; None for a question left open."""
    content = question.content or {}
    boxed = [as_box(box) for box in content.get("boxes", [])]
    image = question.item.image
    pair = (image.name, question.topic)
    if STOP_AFTER.get(pair) == (len(boxed), question.step):
        return None
    left = [box for box in instances if all(iou(box, drawn_box) < 0.5 for drawn_box in boxed)]
    if question.step == CHECK:
        best = max(iou(as_box(content["box"]), box) for box in instances)
        return "good" if best >= 0.8 else "loose"
    if question.step != DRAW:
        points = [[(box[0] + box[2]) / 2, (box[1] + box[3]) / 2] for box in left]
        return {"missing": points} if points else "complete"
    if not left:
        return "none"
    chance = random.Random(f"{pair} {content}")
    aimed = [box for box in left if "at" in content and holds(box, content["at"])]
    box = (aimed or left)[0]
    drawn = shaking.good(box, image.width, image.height, chance)
    if pair == LOOSE and not content:
        x0, y0, x1, y1 = box
        drawn = x0 - 60, y0 - 10, x1 + 70, y1 + 50
    return {"box": list(drawn), "how": "drag"}


def _score(campaign: Campaign, owner: User) -> None:
    """Create the detection benchmark on the campaign's current release, with three simulated
    detectors.
    """
    benchmark = benchmarks.create(
        owner, kind=DETECTION, name=FOUND, title=FOUND_TITLE, campaign=campaign, min_images=1
    )
    folder = Path(settings.DATA_DIR) / "demo" / "found" / FOUND
    labeled.submit_detections(benchmark, owner, folder)
    runs.request(benchmark, owner)
