"""The demo's second campaign: the same photographs with a small question graph.

annotator/demo/ has its graph, its gold and the simulated answers, so that the quality pages have
data: two annotators are careful, one always says yes, two have not started.
"""

import csv
from collections import defaultdict
from pathlib import Path

from django.db import transaction

from annotator.demo.joining import join
from labeling.answers import submitting
from labeling.answers.submitted_answers import uuid7
from labeling.assignment import claiming
from labeling.campaigns import lifecycle
from labeling.follow_ups import following, opening
from labeling.models import Campaign, Dataset, Seat, User
from labeling.quality import monitoring
from labeling.quality.gold import add_gold
from labeling.question_graph import replaying

SOURCE = Path(__file__).resolve().parent
NAME = "demo-graph"
CARELESS, CAREFUL = "frank", ("carol", "dave")
UNUSED_PHOTOGRAPHS = (
    "brick.png",
    "flower.jpg",
    "grass.png",
    "gravel.png",
    "motorcycle_right.png",
    "page.png",
)
# A low target: two who agree are enough, even against a third. Real campaigns should ask for more.
POLICY = {
    "method": "posterior",
    "assumed_accuracy": 0.92,
    "target_error": 0.1,
    "target_rule": "model",
    "inner_no_error": 0.1,
    "max_votes": 5,
    "gold_share": 0.2,
    "signal_answers": 20,
    "run_length": 20,
    "seconds_per_answer": 2,
    "cost_per_hour": 14,
    "page_size": 12,
}
INSTRUCTIONS = "\n\n".join(
    [
        "You see a question and a page of photographs. Tap those that contain it, then press Done.",
        "What is small, cut off or in the background counts. A picture or a toy of the thing is "
        "not the thing.",
    ]
)
# Photographs that are neither questions nor gold of this question.
EXAMPLES = (
    ("living", "flower.jpg", "yes", "A plant is a living thing."),
    ("living", "page.png", "no", "Words do not live."),
    ("vehicle", "gravel.png", "no", "Nothing here moves anybody."),
)
ANSWER_MS = 2100


@transaction.atomic
def load(users: dict[str, User], owner: User, dataset: Dataset) -> Campaign:
    """Create the campaign with some answers on the first call, in one transaction; return it.

    users: by name, at least build.ANNOTATORS. Safe to call again.
    """
    existing = Campaign.objects.filter(name=NAME).first()
    if existing is not None:
        return existing
    campaign = _make(owner, dataset)
    join(campaign, owner, [users[name] for name in ("bob", *CAREFUL, "erin", CARELESS)])
    yes = _yes()
    for name in (CARELESS, *CAREFUL):
        _answer(users[name], campaign, None if name == CARELESS else yes[name])
    following.advance(campaign)
    monitoring.watch_all(campaign)
    return campaign


def _make(owner: User, dataset: Dataset) -> Campaign:
    names = dataset.images.exclude(name__in=UNUSED_PHOTOGRAPHS).order_by("name")
    campaign, _ = opening.draft_graph(
        owner,
        replaying.build(replaying.read(SOURCE / "graph.json")),
        names=list(names.values_list("name", flat=True)),
        name=NAME,
        title="Question graph demo: objects in photographs",
        dataset=dataset,
        policy=POLICY,
        instructions=INSTRUCTIONS,
    )
    for topic, image, answer, caption in EXAMPLES:
        lifecycle.add_example(campaign, topic, dataset.images.get(name=image), answer, caption)
    add_gold(campaign, owner, read_rows("graph_gold.csv"))
    lifecycle.launch(campaign, owner)
    return campaign


def _answer(user: User, campaign: Campaign, yes: set[tuple[str, str]] | None) -> None:
    """Answer the first questions of all images: yes to the given ones, or to all."""
    while seats := claiming.next_page(user, campaign).seats:
        rows = Seat.objects.filter(token__in=[seat.token for seat in seats]).values_list(
            "token", "question__item__image__name", "question__topic"
        )
        submitting.submit(
            user,
            campaign,
            [
                submitting.SubmittedAnswer(
                    uuid7(),
                    token,
                    "yes" if yes is None or (image, node) in yes else "no",
                    ANSWER_MS,
                )
                for token, image, node in rows
            ],
        )


def _yes() -> dict[str, set[tuple[str, str]]]:
    """Return the questions that each careful annotator answers with yes, gold included."""
    gold = read_rows("graph_gold.csv")
    known = {(row["image"], row["topic"]) for row in gold if row["answer"] == "yes"}
    pairs_by_name: dict[str, set[tuple[str, str]]] = defaultdict(lambda: set(known))
    for row in read_rows("graph_yes.csv"):
        for name in row["people"].split():
            pairs_by_name[name].add((row["image"], row["topic"]))
    return pairs_by_name


def read_rows(name: str) -> list[dict[str, str]]:
    with open(SOURCE / name, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
