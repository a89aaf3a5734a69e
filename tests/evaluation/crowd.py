"""A small competition and the people who answer it."""

import json
import uuid
from collections.abc import Callable
from typing import Any

from django.core.files.uploadedfile import SimpleUploadedFile

from evaluation.benchmarks.kinds.mad import competitions
from evaluation.metrics.wordnet.nouns import WordNet
from evaluation.models import Benchmark
from labeling.answers import submitting
from labeling.assignment import claiming
from labeling.campaigns import lifecycle
from labeling.models import Campaign, Dataset, User
from tests import factories
from tests.clients import upload

COOT, DRAKE, TENCH, GOLDFISH = "n02018207", "n01847000", "n01440764", "n01443537"
TOP_K = 3
PAIRS = (("alpha", "beta"), ("alpha", "gamma"), ("beta", "gamma"))
LABELS = {"alpha": COOT, "beta": DRAKE, "gamma": TENCH, "delta": GOLDFISH}


def lines(
    pairs: tuple[tuple[str, str], ...] = PAIRS,
    *,
    reserve: int = 2,
    top_k: int = TOP_K,
    images: Callable[[int, int], str] | None = None,
    **meta: Any,
) -> list[dict[str, Any]]:
    """The lines of a selection. Images are pair-rank.png, but rank 1 is shared by all pairs."""
    names = sorted({name for pair in pairs for name in pair})
    rows: list[dict[str, Any]] = [
        {
            "meta": {
                "classifiers": names,
                "classifier_order": "sorted",
                "top_k": top_k,
                "min_confidence": 0.8,
                "max_per_label": 3,
                "distance": "weighted",
                "reserve": reserve,
                **meta,
            }
        }
    ]
    for pair in pairs:
        for rank in range(1, top_k + reserve + 1):
            image_name = f"{pair[0]}-{pair[1]}-{rank}.png"
            rows.append(
                {
                    "pair": list(pair),
                    "rank": rank,
                    "image": "shared.png" if rank == 1 else image_name,
                    "labels": [LABELS[name] for name in pair],
                    "confidences": [0.9, 0.85],
                    "distance": 1 / rank,
                }
                | ({"reserve": True} if rank > top_k else {})
            )
    return rows


def joining() -> list[dict[str, Any]]:
    """The lines by which delta joins the competition of PAIRS."""
    rows = lines((("alpha", "delta"), ("beta", "delta"), ("delta", "gamma")))
    rows[0]["meta"]["classifiers"] = ["alpha", "beta", "delta", "gamma"]
    return rows


def file_of(rows: list[dict[str, Any]]) -> SimpleUploadedFile:
    return upload("selection.jsonl", "".join(json.dumps(row) + "\n" for row in rows))


def add_images(
    dataset: Dataset, rows: list[dict[str, Any]], *, but: set[str] = frozenset()
) -> None:
    there = set(dataset.images.values_list("name", flat=True))
    for name in sorted({row["image"] for row in rows[1:]} - there - but):
        factories.make_image(dataset, name)


def make(
    owner: User,
    dataset: Dataset,
    wordnet: WordNet,
    rows: list[dict[str, Any]] | None = None,
    *,
    name: str = "birds",
    but: set[str] = frozenset(),
    launch: bool = True,
    **options: Any,
) -> Benchmark:
    """A competition over these lines whose images are all there but `but`, open."""
    rows = rows or lines()
    add_images(dataset, rows, but=but)
    options = {
        "policy": {"gold_share": 0, "stop_early": "never"},
        "settings": {"bootstrap": 50},
    } | options
    benchmark = competitions.create(
        owner, name=name, title="Birds", dataset=dataset, lines=rows, wordnet=wordnet, **options
    )
    if launch:
        lifecycle.launch(benchmark.campaign, owner)
    return benchmark


def people_of(campaign: Campaign, count: int = 5) -> list[User]:
    people = [factories.make_user(f"{campaign.name}-person{n}") for n in range(count)]
    for person in people:
        factories.join(person, campaign)
    return people


def answer(campaign: Campaign, people: list[User], decide: Callable[[str, str], Any | None]) -> int:
    """How many answers were given: everybody answers all they are given, as `decide` says of the
    image and the topic; what it says nothing of is left."""
    answered = 0
    for person in people:
        while True:
            page = claiming.next_page(person, campaign, 100)
            sent = [
                submitting.SubmittedAnswer(uuid.uuid4(), seat.token, value, 800)
                for seat in page.seats
                if (value := decide(seat.image_name, seat.topic)) is not None
            ]
            if not sent:
                break
            results = submitting.submit(person, campaign, sent)
            assert {result.status for result in results} == {"accepted"}
            answered += len(sent)
        for seat in claiming.open_seats(person, campaign):
            claiming.return_seat(person, seat.token)
    return answered


def right_is(*wnids: str) -> Callable[[str, str], str]:
    """Says yes to these classes on every image, no to all others."""
    return lambda image, topic: "yes" if topic in wnids else "no"
