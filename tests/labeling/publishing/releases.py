"""Releases of every kind of campaign to publish."""

from labeling.campaigns import lifecycle
from labeling.follow_ups import opening
from labeling.models import Dataset, Release, User
from labeling.releases import freezing
from tests import factories
from tests.evaluation import crowd
from tests.labeling import boxers, label_files, part_releases
from tests.labeling.boxers import CAT, DOG, A, B

POLICY = {"votes": 1, "max_votes": 1, "gold_share": 0}


def yes_or_no(owner: User, annotator: User, dataset: Dataset) -> Release:
    """Four pairs: a dog, no cat, no dog, and one that was too hard. Bob answers all of them."""
    pairs = {("0.png", DOG): "yes", ("0.png", CAT): "no", ("1.png", DOG): "no"}
    for name in ("0.png", "1.png", "2.png"):
        factories.make_image(dataset, name)
    campaign = lifecycle.create(
        owner, name="labels", title="Labels", kind="contains", dataset=dataset, policy=POLICY
    )
    lifecycle.define_topics(campaign, [{"key": DOG, "name": "dog"}, {"key": CAT, "name": "cat"}])
    opening.ask(campaign, [*pairs, ("2.png", CAT)])
    lifecycle.launch(campaign, owner)
    factories.join(annotator, campaign)
    crowd.answer(campaign, [annotator], lambda image, topic: pairs.get((image, topic), "hard"))
    return freezing.freeze(campaign, owner)


def naming(owner: User, annotator: User, dataset: Dataset) -> Release:
    for name in ("a.png", "b.png"):
        factories.make_image(dataset, name)
    campaign = opening.draft(
        owner,
        name="names",
        title="Names",
        kind="naming",
        dataset=dataset,
        policy=POLICY,
        settings={},
        vocabulary=[{"key": DOG, "name": "dog"}, {"key": CAT, "name": "cat"}],
        pairs=opening.naming_pairs(dataset, ["a.png", "b.png"]),
    )
    lifecycle.launch(campaign, owner)
    factories.join(annotator, campaign)
    crowd.answer(
        campaign, [annotator], lambda image, _: {"key": DOG} if image == "a.png" else "none"
    )
    return freezing.freeze(campaign, owner)


def boxes(owner: User, annotator: User, dataset: Dataset) -> Release:
    """Two dogs in one image."""
    campaign = boxers.make(owner, dataset)
    crowd_of_five = boxers.people(campaign)
    steps = (boxers.box(A), "good", {"missing": [[40, 20]]}, boxers.box(B, "occluded"))
    boxers.settle(campaign, crowd_of_five, *steps, "good", "complete")
    return freezing.freeze(campaign, owner)


def graph(owner: User, annotator: User, dataset: Dataset) -> Release:
    return label_files.home_release(owner, dataset)


def parts(owner: User, annotator: User, dataset: Dataset) -> Release:
    return part_releases.release(owner, annotator, dataset)


KINDS = {
    "contains": yes_or_no,
    "naming": naming,
    "boxes": boxes,
    "hierarchy": graph,
    "parts": parts,
}
