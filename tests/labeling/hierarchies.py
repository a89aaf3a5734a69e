"""A small question graph, and images whose questions are settled as a test says."""

from datetime import timedelta
from typing import Any

import numpy as np
from django.utils import timezone

from labeling.campaigns import lifecycle
from labeling.consensus import calibration_store
from labeling.follow_ups import following
from labeling.graphs import image_state, store
from labeling.models import Campaign, Dataset, Question, Seat, Settlement, User
from labeling.question_graph import planning
from labeling.question_graph.inferring import LearnedScenes
from labeling.question_graph.scenes import Scenes
from labeling.simulation import simulating_correlated
from tests import factories

# Two inner questions share the oven; a person is asked about at once.
GRAPH: dict[str, Any] = {
    "name": "home",
    "nodes": [
        {"id": "animal", "question": "an animal", "guidance": "Not on a picture in the picture."},
        {"id": "dog", "question": "a dog", "class": "n02084071", "parents": ["animal"]},
        {"id": "cat", "question": "a cat", "class": "n02121620", "parents": ["animal"]},
        {"id": "kitchen", "question": "something of a kitchen"},
        {"id": "cup", "question": "a cup", "class": "n03147509", "parents": ["kitchen"]},
        {
            "id": "oven",
            "question": "an oven",
            "class": "n03862676",
            "parents": ["kitchen", "electric"],
        },
        {"id": "electric", "question": "something electric"},
        {"id": "lamp", "question": "a lamp", "class": "n03636248", "parents": ["electric"]},
        {"id": "person", "question": "a person", "class": "n00007846"},
    ],
}
ROOTS = ["animal", "kitchen", "electric", "person"]
POLICY = {"votes": 1, "max_votes": 3, "gold_share": 0}


def make(
    owner: User,
    dataset: Dataset,
    *,
    images: int = 2,
    name: str = "home",
    raw: dict[str, Any] | None = None,
    policy: dict[str, Any] | None = None,
    opened: bool = True,
    **settings: str,
) -> Campaign:
    """An open campaign by the small graph on images 0.png, 1.png, …, with their first questions."""
    for index in range(images):
        if not dataset.images.filter(name=f"{index}.png").exists():
            factories.make_image(dataset, f"{index}.png")
    campaign = lifecycle.create(
        owner,
        name=name,
        title=name.title(),
        kind="hierarchy",
        dataset=dataset,
        policy=POLICY | (policy or {}),
        settings=settings,
    )
    store.define(campaign, owner, raw or GRAPH)
    if opened:
        following.open_images(campaign)
        lifecycle.launch(campaign, owner)
    return campaign


def question(campaign: Campaign, node: str, image: int = 0) -> Question:
    return campaign.questions.get(item__image__name=f"{image}.png", topic=node, round=0)


def settle(campaign: Campaign, image: int = 0, **values: str | None) -> None:
    """Settles questions as settling.py would: yes, no, dropped, or None for a reviewer."""
    for node, value in values.items():
        row = question(campaign, node, image)
        state = {"dropped": "dropped", None: "review"}.get(value, "settled")
        Settlement.objects.create(
            question=row, policy=row.policy, value=value, probability=None if value is None else 0.9
        )
        factories.put(campaign, [row.pk], state=state, seats_free=0, follow_up=True)


def follow(campaign: Campaign, image: int = 0, **values: str | None) -> following.FollowUpCounts:
    """As settle, and the image's next questions are opened and closed."""
    settle(campaign, image, **values)
    return following.advance(campaign)


def reopen(campaign: Campaign, node: str, image: int = 0) -> None:
    """Opens a settled question again, as a block does."""
    row = question(campaign, node, image)
    factories.put(campaign, [row.pk], state="open", seats_free=1, follow_up=True)


def states_of(campaign: Campaign, image: int = 0) -> dict[str, str]:
    """State by node of the image's questions, in the order of their tickets."""
    rows = campaign.questions.filter(item__image__name=f"{image}.png", round=0)
    return dict(rows.order_by("ticket").values_list("topic", "state"))


def open_nodes(campaign: Campaign, image: int = 0) -> list[str]:
    return [node for node, state in states_of(campaign, image).items() if state == "open"]


def item(campaign: Campaign, image: int = 0) -> int:
    return question(campaign, next(iter(states_of(campaign, image))), image).item_id


def labels(campaign: Campaign, image: int = 0) -> dict[str, tuple[str, str | None]]:
    """(value, origin) by class key; the origin is None where nobody has answered."""
    by_item = standing_labels(campaign, [item(campaign, image)])
    return {key: value for (_, key), value in by_item.items()}


def standing_labels(
    campaign: Campaign, items: list[int]
) -> dict[tuple[int, str], tuple[str, str | None]]:
    """As labels, of several images, by (item, class key)."""
    graph, mode = store.load_graph(campaign), campaign.settings["mode"]
    labels_of_items = image_state.labels(campaign.pk, graph, items)
    rows = image_state.questions_of(campaign.pk, items)
    values: dict[tuple[int, str], tuple[str, str | None]] = {}
    for pk in items:
        settled = planning.replay_current(
            graph, rows.get(pk, ()), mode, labels_of_items.get(pk)
        ).settled
        for key, node in graph.by_key.items():
            values[pk, key] = settled.get(node, ("unknown", None))
    return values


def lease(user: User, row: Question) -> Seat:
    return Seat.objects.create(
        question=row,
        annotator=user,
        subject=row.pk,
        leased_until=timezone.now() + timedelta(minutes=5),
    )


def teach(campaign: Campaign, finished: int = 400) -> LearnedScenes:
    """Puts a calibration in force that knows two scenes of the small graph: pets and kitchens."""
    graph = store.load_graph(campaign)
    shows = [{"dog", "cat"}, {"cup", "oven", "lamp"}]
    rare = {"person": 0.1}
    present = np.array(
        [[0.8 if n in scene else rare.get(n, 0.001) for n in graph.leaves] for scene in shows]
    )
    known = Scenes(np.array([0.5, 0.5]), present)
    learned = LearnedScenes.of(graph, known, 0.02, finished)
    learned.curve, learned.algorithm_1 = simulating_correlated.stated_curve(
        graph, learned.scenes(graph), 0.02, campaign.settings["price"]
    )
    made = calibration_store.create(
        campaign.pk, calibration_store.CalibrationContent(scenes=learned), "taught"
    )
    Campaign.objects.filter(pk=campaign.pk).update(calibration=made)
    campaign.refresh_from_db()
    return learned
