"""Twelve drakes, two classifiers that take some of them for coots, and people who look again."""

from pathlib import Path
from typing import Any

from evaluation.benchmarks import runs
from evaluation.benchmarks.kinds.labeled.label_sets import reviews
from evaluation.metrics.wordnet.nouns import load
from evaluation.models import Benchmark, MistakeReview, Run
from labeling.campaigns import lifecycle
from labeling.follow_ups import asking
from labeling.jobs import queue
from labeling.models import Dataset, Job, User
from tests import factories
from tests.evaluation import crowd
from tests.evaluation.benchmarks.kinds.labeled import world

DRAKE, COOT = "n01847000", "n02018207"
IMAGES = [f"lake/{number:02}.png" for number in range(12)]
# Of these the first coot is valid too, the second is all there is, the third is a mistake.
WRONG = {"alpha": IMAGES[:3], "beta": IMAGES[1:4]}
VALID = {(IMAGES[0], COOT), (IMAGES[1], COOT)}
POLICY = {"votes": 1, "gold_share": 0, "stop_early": "never"}


def predicted(benchmark: Benchmark, user: User, folder: Path, name: str, wrong: list[str]) -> None:
    rows = [(image, 1, COOT if image in wrong else DRAKE) for image in IMAGES]
    world.submit(benchmark, user, folder, name, rows)


def make(alice: User, bob: User, dataset: Dataset, folder: Path) -> Benchmark:
    """A classification whose truth is twelve drakes, with alpha and beta."""
    campaign = factories.make_campaign(
        alice, dataset, "drakes", topic=DRAKE, policy=POLICY, launch=False
    )
    pairs = []
    for name in IMAGES:
        factories.make_image(dataset, name)
        pairs.append((name, DRAKE))
    asking.add_questions(campaign, pairs)
    lifecycle.launch(campaign, alice)
    factories.join(bob, campaign)
    crowd.answer(campaign, [bob], crowd.right_is(DRAKE))
    made = world.make(alice, campaign, "classification", name="ducks")
    for name, wrong in WRONG.items():
        predicted(made, alice, folder, name, wrong)
    return made


def opened(benchmark: Benchmark, user: User, **fields: Any) -> MistakeReview:
    fields = {"name": "second-look", "title": "A second look", "agreements": 0.25} | fields
    return reviews.open_review(benchmark, user, wordnet=load(), policy=POLICY, **fields)


def judge(image: str, topic: str) -> object:
    if (image, topic) in VALID or (topic == DRAKE and image != IMAGES[1]):
        return "valid"
    return {"answer": "minor", "tags": ["fine_grained"]}


def answered(review: MistakeReview, person: User) -> MistakeReview:
    """Everything is judged as it is."""
    lifecycle.launch(review.campaign, review.created_by)
    factories.join(person, review.campaign)
    crowd.answer(review.campaign, [person], judge)
    return review


def scored(benchmark: Benchmark, user: User) -> Run:
    run = runs.request(benchmark, user)
    queue.run(Job.objects.get(kind="score", key=f"run {run.pk}").pk)
    run.refresh_from_db()
    assert run.state == Run.State.DONE, run.error
    return run
