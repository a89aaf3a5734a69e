"""A small world with one of everything, for tests that try every address on everybody."""

import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

from django.core.files.base import ContentFile
from django.core.files.storage import storages

from annotator.pages.seats import image_url
from evaluation.benchmarks import runs
from evaluation.benchmarks.kinds.labeled import running
from evaluation.benchmarks.kinds.labeled.label_sets import reviews
from evaluation.metrics.wordnet.nouns import load
from evaluation.models import Benchmark, Pool, RegisteredModel, Run, Selection, Submission
from evaluation.pools import model_runs
from evaluation.release_splits import making as splits
from labeling.answers import flagging
from labeling.assignment import claiming
from labeling.campaigns import lifecycle
from labeling.campaigns.markdown import signer_of
from labeling.datasets import objects, vocabulary_store
from labeling.exchange import naming_campaigns
from labeling.follow_ups import asking, candidate_lists, opening
from labeling.jobs import partial_uploads, queue
from labeling.models import Calibration, Campaign, Dataset, Import, Job, Question, Seat, User
from labeling.parts import simplifying
from labeling.parts.model import Merge, Part, PartedObject
from labeling.quality import auditing, memberships
from labeling.quality.gold import add_gold
from labeling.question_graph import replaying
from labeling.releases import freezing
from labeling.web import tokens
from tests import factories
from tests.evaluation import crowd
from tests.evaluation.benchmarks.kinds.labeled import world as labeled_world
from tests.evaluation.cds import world as cds
from tests.evaluation.pool import make_pool
from tests.evaluation.pools.pool_rows import selection_of, zipped

COOT, DRAKE = "n02018207", "n01847000"
GRAPH = {
    "nodes": [
        {"id": "bird", "question": "Is there a bird?"},
        {"id": COOT, "question": "Is there a coot?", "parents": ["bird"], "class": COOT},
        {"id": DRAKE, "question": "Is there a drake?", "parents": ["bird"], "class": DRAKE},
    ]
}
META = {
    "classifiers": ["alpha", "beta"],
    "classifier_order": "sorted",
    "top_k": 2,
    "min_confidence": 0.8,
    "max_per_label": 3,
    "distance": "weighted",
    "reserve": 1,
}


@dataclass
class World:
    """People around Alice's campaign `coots` and Rita's campaign `ducks`, and what is in it."""

    alice: User
    bob: User
    vera: User
    charlie: User
    otto: User
    rita: User
    dataset: Dataset
    campaign: Campaign
    benchmark: Benchmark
    run: Run
    secret: str = ""
    signature: str = ""
    # What stands for each part of an address.
    parts: dict[str, Any] = field(default_factory=dict)


def build() -> World:
    alice = factories.make_user("alice", is_researcher=True)
    rita = factories.make_user("rita", is_researcher=True)
    bob, vera, charlie, otto = (
        factories.make_user(name) for name in ("bob", "vera", "charlie", "otto")
    )
    dataset = factories.make_dataset(alice, "hidden-lake")
    campaign = factories.make_campaign(
        alice, dataset, "coots", images=2, policy={"votes": 1, "gold_share": 0.3}
    )
    drake = {"key": DRAKE, "name": "drake", "url": "https://en.wikipedia.org/wiki/Drake"}
    lifecycle.define_topics(campaign, [drake])
    asking.add_questions(campaign, [(f"coots/{n:03}.png", DRAKE) for n in range(2)])
    factories.join(bob, campaign)
    factories.join(vera, campaign, "reviewer")
    ducks = factories.make_campaign(rita, factories.make_dataset(rita, "lake"), "ducks", images=2)
    factories.join(otto, ducks)
    crowd.answer(campaign, [bob], crowd.right_is(COOT))
    benchmark = make_benchmark(alice, campaign)
    run = runs.request(benchmark, alice)
    queue.run(Job.objects.get(kind="score").pk)
    run.refresh_from_db()
    assert run.state == Run.State.DONE, run.error
    world = World(alice, bob, vera, charlie, otto, rita, dataset, campaign, benchmark, run)
    _furnish(world)
    return world


def split_coot(image: str) -> PartedObject:
    """A coot whose left leg came in two pieces, merged."""
    pieces = tuple(((((10.0, y), (14.0, y), (14.0, y + 6), (10.0, y + 6)),),) for y in (10.0, 18.0))
    part = simplifying.remerged(Part("leg"), [Merge(pieces, instance="left")])
    return PartedObject(image, COOT, (8, 8, 30, 30), (part,))


def label_sets_of(campaign: Campaign, owner: User) -> Benchmark:
    """A classification of coots, whose label sets have a second version."""
    made = labeled_world.make(owner, campaign, "classification", name="species")
    rows = [("coots/000.png", 1, DRAKE), ("coots/001.png", 1, COOT)]
    with tempfile.TemporaryDirectory() as folder:
        labeled_world.submit(made, owner, Path(folder), content=rows)
    fields = {"name": "looks", "title": "Looks", "agreements": 0}
    review = reviews.open_review(made, owner, wordnet=load(), **fields)
    questions = review.campaign.questions.values_list("pk", flat=True)
    factories.put(review.campaign, questions, state=Question.State.DROPPED, seats_free=0)
    reviews.apply(review, owner, load())
    return made


def make_benchmark(owner: User, campaign: Campaign) -> Benchmark:
    """A competition of two classifiers over images 0 and 1, image 2 in reserve."""
    benchmark = Benchmark.objects.create(
        name="coots",
        title="Coots",
        campaign=campaign,
        created_by=owner,
        settings={
            "smoothing": "laplace",
            "bootstrap": 20,
            "seed": 0,
            "meta": META,
            "vocabulary": [COOT, DRAKE],
            "selection_sha256": "0" * 64,
        },
    )
    first, second = (
        Submission.objects.create(
            benchmark=benchmark, name=name, position=index, submitted_by=owner
        )
        for index, name in enumerate(META["classifiers"])
    )
    for rank in (1, 2, 3):
        Selection.objects.create(
            benchmark=benchmark,
            first=first,
            second=second,
            rank=rank,
            image=f"coots/{rank - 1:03}.png",
            first_label=COOT,
            second_label=DRAKE,
            first_confidence=0.9,
            second_confidence=0.9,
            distance=0.003662109375,
            state="chosen" if rank <= META["top_k"] else "reserve",
        )
    return benchmark


def _furnish(world: World) -> None:
    """Open, reviewed and golden questions, a seat, an example, an invitation, what has failed."""
    campaign, alice = world.campaign, world.alice
    for n in range(2, 8):
        factories.make_image(world.dataset, f"coots/{n:03}.png")
    asking.add_questions(campaign, [(f"coots/{n:03}.png", COOT) for n in range(2, 7)])
    add_gold(campaign, alice, [{"image": "coots/007.png", "topic": DRAKE, "answer": "no"}])
    gold = campaign.questions.get(state=Question.State.GOLD)
    reviewed = campaign.questions.filter(state=Question.State.OPEN).latest("pk")
    factories.put(campaign, [reviewed.pk], state=Question.State.REVIEW, seats_free=0)
    example = lifecycle.add_example(
        campaign, COOT, world.dataset.images.get(name="coots/000.png"), "yes", "White bill."
    )
    Calibration.objects.create(campaign=campaign, number=1, reason="nightly")
    auditing.draw(campaign, alice, 1, seed=0)
    page = claiming.next_page(world.bob, campaign, 3)
    seat = page.seats[0].token
    invitation, world.secret = memberships.invite(campaign, alice, max_uses=10)
    job = Job.objects.create(
        kind="score", key="run 0", campaign=campaign, state="failed", error="It broke."
    )
    upload = Import.objects.create(
        dataset=world.dataset,
        name="lake.zip",
        created_by=alice,
        job=Job.objects.create(kind="import images", key="1", state="failed", error="It broke."),
    )
    labels = Job.objects.create(
        kind="import labels",
        key=f"{world.dataset.pk}:1",
        payload={"file": "labels.csv", "by": alice.username},
        state="failed",
        error="It broke.",
    )
    token, _ = tokens.create_token(alice, "laptop", "read", 30)
    release = freezing.freeze(campaign, alice)
    birds, _ = opening.draft_graph(
        alice,
        replaying.build(GRAPH),
        name="birds",
        title="Birds",
        dataset=world.dataset,
        settings={"order": "learned", "price": 0.006},
    )
    vocabulary_store.start(world.dataset, alice)
    parts = Job.objects.create(
        kind="import parts",
        key=f"{world.dataset.pk}:1",
        payload={"file": "cows.zip", "by": alice.username, "stored": "parts/gone"},
        state="failed",
        error="It broke.",
    )
    pool = pool_of(world.dataset)
    objects.put(world.dataset, [split_coot("coots/000.png")], "zoo", words={COOT: "coot"})
    meadow = factories.make_dataset(alice, "meadow")
    cats = cds.campaign_of(alice, world.bob, meadow)
    factories.join(world.vera, cats, "reviewer")
    reveal = cds.make(alice, cats)
    revealed = cds.run_by_hand(reveal, alice)
    maps = labeled_world.make(alice, cats, name="maps", thresholds=10)
    mapped = labeled_world.run_of(maps, alice)
    outcomes = running.images_path(maps, mapped.pk)
    # As if its truth had a later version.
    shutil.copy(outcomes, outcomes.with_name("newest.jsonl"))
    classes = label_sets_of(campaign, alice)
    finds = candidate_lists.draft(
        alice,
        [candidate_lists.CandidateRow("coots/000.png", COOT, "mud hen")],
        [{"key": COOT, "name": "coot"}],
        name="finds",
        title="Finds",
        kind="candidates",
        dataset=world.dataset,
    )
    names = naming_campaigns.draft(
        alice,
        world.dataset,
        name="names",
        title="Names",
        kind="naming",
        images=["coots/000.png"],
        vocabulary=[{"key": COOT, "name": "coot"}],
        settings={"most": 2},
    )
    lifecycle.launch(names, alice)
    for made in (birds, finds, names):
        factories.join(world.bob, made)
        factories.join(world.vera, made, "reviewer")
    note = flagging.flag(world.bob, campaign, uuid4(), seat, "Blurred.")
    world.signature = image_url(Seat.objects.get(token=seat), world.bob).split("?")[1]
    world.parts = {
        "campaign": campaign.name,
        "dataset": world.dataset.name,
        "benchmark": world.benchmark.name,
        "reveal": reveal.name,
        "revealed": revealed.pk,
        "maps": maps.name,
        "mapped": mapped.pk,
        "classes": classes.name,
        "secret": world.secret,
        "seat": seat,
        "example token": example.token,
        "picture": signer_of(campaign).sign(campaign.dataset.images.earliest("pk").name),
        "example": example.pk,
        "question": campaign.questions.filter(state=Question.State.SETTLED).earliest("pk").pk,
        "reviewed": reviewed.pk,
        "gold": gold.pk,
        "member": campaign.memberships.get(user=world.bob).pk,
        "invitation": invitation.pk,
        "job": job.pk,
        "import": upload.pk,
        "label import": labels.pk,
        "parts import": parts.pk,
        "object": objects.in_dataset(world.dataset).get().pk,
        "topic": campaign.topics.get(key=COOT).pk,
        "topic key": COOT,
        "birds": "birds",
        "finds": "finds",
        "names": "names",
        "node": "bird",
        "audit": campaign.audits.earliest("pk").pk,
        "release": release.number,
        "split": splits.make(splits.request(release, alice, by="1/2")).pk,
        "pool": pool.pk,
        "selection": selection_of(pool).pk,
        "counterexample": Selection.objects.filter(benchmark__name="coots").earliest("pk").pk,
        "model run": model_runs.request(classes, alice, "colours", pool=pool.pk).pk,
        "flag": note.pk,
        "saved view": world.alice.saved_views.create(dataset=world.dataset, name="kept").pk,
        "image": world.dataset.images.earliest("pk").pk,
        "run": world.run.pk,
        "token": token.token_key,
        "partial upload": partial_uploads.begin(alice, "a" * 64, "big.csv", 9).sha256,
    }


def pool_of(dataset: Dataset) -> Pool:
    """A pool that was made, of the one model that is registered and another one."""
    RegisteredModel.objects.create(name="colours", spec="x", classes=[COOT], source={})
    with tempfile.TemporaryDirectory() as folder:
        ids = list(dataset.images.order_by("name").values_list("name", flat=True))
        make_pool(Path(folder), ("colours", "shapes"), ids=ids, classes=[COOT, DRAKE])
        content = zipped(Path(folder))
    return Pool.objects.create(
        dataset=dataset,
        names=["colours", "shapes"],
        job=Job.objects.create(kind="predict", key="pool", payload={}, state="done"),
        file=storages["data"].save("pools/1.zip", ContentFile(content)),
        result={"colours": {"images": 8, "skipped": 0}},
        created_by=dataset.owner,
    )
