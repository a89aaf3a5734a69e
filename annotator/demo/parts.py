"""The demo's third campaign: the parts of a cat, a person and a horse.

Its imported parts are annotator/demo/parts.json, drawn by hand. One arm comes in two pieces, which
are merged. carol has drawn the cat's head, which waits for review.
"""

from pathlib import Path

from django.db import transaction

from annotator.demo.joining import join
from labeling.answers import submitting
from labeling.answers.submitted_answers import uuid7
from labeling.assignment import claiming
from labeling.campaigns import lifecycle
from labeling.datasets import vocabulary_store
from labeling.exchange import part_campaigns, part_imports
from labeling.models import Campaign, Dataset, Seat, User

SOURCE = Path(__file__).resolve().parent / "parts.json"
NAME = "demo-parts"
DRAWER = "carol"
CAT = "chelsea.png"
POLICY = {"gold_share": 0, "seconds_per_answer": 180, "cost_per_hour": 14, "page_size": 1}
INSTRUCTIONS = "\n\n".join(
    [
        "Outline each missing part of the object, as far as you see it. Parts may touch, and then "
        "share their border; they should not overlap.",
        "Say of a part that is not in the picture that it is not visible, and of one behind "
        "something else that it is occluded.",
    ]
)
# In pixels of the photograph: the head below the ears, which the image's edge cuts off.
HEAD_POINTS = (
    "40,30 70,0 330,0 347,45 357,90 361,125 350,165 335,200 318,230 305,262 280,278 240,284 "
    "190,278 150,262 120,235 80,195 55,160 42,110 35,70"
)
HEAD = [[int(number) for number in point.split(",")] for point in HEAD_POINTS.split()]


@transaction.atomic
def load(users: dict[str, User], owner: User, dataset: Dataset) -> Campaign:
    """Create the campaign on the first call, in one transaction; return it.

    users: by name, at least build.ANNOTATORS. Safe to call again.
    """
    existing = Campaign.objects.filter(name=NAME).first()
    if existing is not None:
        return existing
    version = vocabulary_store.start(dataset, owner)
    report = part_imports.PartImportReport()
    part_import = part_imports.PartImport(dataset, version, part_imports.ImportOptions(), report)
    part_import.read(SOURCE, "coco")
    campaign = part_campaigns.draft(
        owner,
        dataset,
        version=version,
        name=NAME,
        title="Part polygons demo",
        policy=POLICY,
        instructions=INSTRUCTIONS,
        settings={"ask_half": False},
    )
    lifecycle.launch(campaign, owner)
    join(campaign, owner, list(users.values()))
    _draw(users[DRAWER], campaign)
    return campaign


def _draw(user: User, campaign: Campaign) -> None:
    """Submit this person's drawing of the cat's head and give their other seats back."""
    drawing = {
        "parts": {
            "head": {"state": "drawn", "polygons": [[HEAD]]},
            "paw": {"state": "not_visible"},
            "tail": {"state": "not_visible"},
        },
        "half": True,
    }
    claiming.next_page(user, campaign, campaign.questions.count())
    mine = Seat.objects.filter(annotator=user, question__campaign=campaign)
    token = mine.get(question__item__image__name=CAT).token
    submitting.submit(user, campaign, [submitting.SubmittedAnswer(uuid7(), token, drawing, 95_000)])
    claiming.return_seats_of(user, campaign)
