"""Releases of campaigns that ask by a graph: what is frozen, and the labels that follow from it."""

import itertools
import random
from functools import partial

import pytest

from labeling.exchange import prior_labels
from labeling.follow_ups import following
from labeling.graphs import store
from labeling.models import Settlement
from labeling.quality import gold
from labeling.question_graph import replaying
from labeling.release_files import frozen, frozen_labels
from labeling.releases import freezing
from tests import factories
from tests.labeling.crowd import answer_all, query_count
from tests.labeling.hierarchies import follow, make, question, reopen, settle, standing_labels

CAT, DOG, OVEN, CUP = "n02121620", "n02084071", "n03862676", "n03147509"
LAMP, PERSON = "n03636248", "n00007846"


@pytest.fixture
def home(alice, dataset):
    """0.png: a dog, nobody could tell of a person. 1.png: nothing but what was given. 2: open."""
    campaign = make(alice, dataset, images=3, opened=False)
    prior_labels.add(dataset, [{"image": "1.png", "key": CUP}], "a list of cups")
    following.open_images(campaign)
    settle(campaign, animal="yes", kitchen="no", electric="no", person="dropped")
    follow(campaign, 1, animal="no", electric="no", person="yes")
    settle(campaign, cat="no", dog="yes")
    follow(campaign, 1, oven="no")
    return campaign


def labels_by_class(release) -> dict[str, dict[str, str]]:
    """value/origin of each class, by image; "?" where it is not decided."""
    labels: dict[str, dict[str, str]] = {}
    for line in freezing.read(release).labels():
        word = f"{line['value']}/{line['origin']}" if line["decided"] else "?"
        labels.setdefault(line["image"], {})[line["wnid"]] = word
    return labels


def test_every_class_of_every_image_says_what_it_is_and_whence(home):
    labels = labels_by_class(freezing.freeze(home))

    assert labels["0.png"] == {
        PERSON: "unknown/explicit",
        DOG: "yes/explicit",
        CAT: "no/explicit",
        CUP: "no/inherited",
        OVEN: "no/inherited",
        LAMP: "no/inherited",
    }
    assert labels["1.png"] == {
        PERSON: "yes/explicit",
        DOG: "no/inherited",
        CAT: "no/inherited",
        CUP: "yes/given",
        OVEN: "no/explicit",
        LAMP: "no/inherited",
    }
    assert set(labels["2.png"].values()) == {"?"}


def test_what_nobody_decided_is_unknown_never_no(home):
    lines = list(freezing.read(freezing.freeze(home)).labels())

    open_lines = [line for line in lines if line["image"] == "2.png"]
    assert {line["value"] for line in open_lines} == {"unknown"}
    assert {line["origin"] for line in lines} <= {"explicit", "inherited", "given"}


def test_answers_name_node_class_and_order(home):
    lines = list(freezing.read(freezing.freeze(home)).answers())

    first = {line["node"]: line for line in lines if line["image"] == "0.png"}
    assert [first[node]["wnid"] for node in ("animal", "dog")] == [None, DOG]
    assert [first[node]["contains"] for node in ("animal", "kitchen", "person")] == [
        True,
        False,
        None,
    ]
    order = sorted(first, key=lambda node: first[node]["order"])
    assert order == ["animal", "kitchen", "electric", "person", "cat", "dog"]
    assert first["dog"]["probability"] == 0.9


def test_the_graph_and_given_labels_are_in_the_folder(home):
    read = freezing.read(freezing.freeze(home))

    assert read.graph().sha256 == store.load_graph(home).sha256
    assert list(read.known_labels()) == [
        {
            "image": "1.png",
            "node": "cup",
            "wnid": CUP,
            "value": "yes",
            "source": "a list of cups",
            "geometry": None,
        }
    ]
    assert set(read.meta["files"]) == {*frozen.FILES, *frozen.GRAPH_FILES}


def test_given_labels_of_other_classes_and_images_stay_out(home, alice):
    factories.make_image(home.dataset, "apart.png")
    prior_labels.add(home.dataset, [{"image": "0.png", "key": "n01440764"}], "tenches")
    prior_labels.add(home.dataset, [{"image": "apart.png", "key": CUP}], "apart")

    read = freezing.read(freezing.freeze(home))

    assert [line["source"] for line in read.known_labels()] == ["a list of cups"]
    assert [line["name"] for line in read.images()] == ["0.png", "1.png", "2.png"]


def test_a_release_does_not_tell_gold_from_what_was_given(home, alice):
    factories.make_image(home.dataset, "3.png")
    gold.add_gold(home, alice, [{"image": "3.png", "topic": "person", "answer": "yes"}])
    following.open_images(home)

    release = freezing.freeze(home)

    assert labels_by_class(release)["3.png"][PERSON] == "yes/given"
    folder = freezing.folder_of(release)
    for name in ("given.jsonl", "answers.jsonl", "images.jsonl"):
        assert "gold" not in (folder / name).read_text()


def test_labels_read_back_are_the_labels_that_stand(home):
    release = freezing.freeze(home)
    items = dict(home.questions.values_list("item_id", "item__image__name"))
    live = standing_labels(home, list(items))
    fields = ("question__item", "question__topic")
    rows = Settlement.objects.filter(question__campaign=home).order_by("pk")
    sure = {(item, node): stated for item, node, stated in rows.values_list(*fields, "probability")}
    nodes = store.load_graph(home).by_key

    read = {
        (line["image"], line["wnid"]): (
            line["value"],
            line["origin"] if line["decided"] else None,
            line["probability"],
        )
        for line in freezing.read(release).labels()
    }

    assert read == {
        (items[item], key): (
            value,
            origin,
            sure[item, nodes[key]] if origin == "explicit" else None,
        )
        for (item, key), (value, origin) in live.items()
    }


def test_answers_below_what_is_open_again_do_not_count(home):
    reopen(home, "animal")

    assert labels_by_class(freezing.freeze(home))["0.png"][DOG] == "?"


def test_strict_mode_follows_the_order_of_settling(alice, dataset):
    campaign = make(alice, dataset, mode="strict")
    settle(campaign, electric="yes")
    follow(campaign, 1, kitchen="no")
    settle(campaign, oven="yes", kitchen="no")
    follow(campaign, 1, electric="yes")

    labels = labels_by_class(freezing.freeze(campaign))

    assert labels["0.png"][OVEN] == "yes/explicit"
    assert labels["1.png"][OVEN] == "no/inherited"


def test_freezing_twice_is_one_release_and_a_given_label_makes_another(home):
    first = freezing.freeze(home)
    marks = freezing.fingerprint(home)
    assert freezing.freeze(home).number == first.number

    prior_labels.add(home.dataset, [{"image": "2.png", "key": CUP}], "more")

    assert freezing.fingerprint(home) != marks
    assert freezing.freeze(home).number == first.number + 1


def test_votes_of_one_question_stay_together_by_node(alice, dataset, bob):
    campaign = make(alice, dataset)
    factories.join(bob, campaign)
    answer_all(bob, campaign, "no")

    votes = list(freezing.read(freezing.freeze(campaign)).votes())

    assert [(line["image"], line["node"]) for line in votes] == [
        (image, node)
        for image in ("0.png", "1.png")
        for node in ("animal", "electric", "kitchen", "person")
    ]
    assert {line["wnid"] for line in votes} == {None, PERSON}


def test_without_a_graph_labels_are_what_was_settled():
    answers = [
        {"image": "0.png", "wnid": CAT, "contains": True},
        {"image": "0.png", "wnid": DOG, "contains": None},
        {"image": "1.png", "wnid": CUP},
        {"image": "2.png", "wnid": "none"},
        {"image": "3.png", "wnid": None},
    ]

    lines = list(frozen_labels.explicit(answers, ()))

    assert [(line["image"], line["wnid"], line["value"]) for line in lines] == [
        ("0.png", CAT, "yes"),
        ("0.png", DOG, "unknown"),
        ("1.png", CUP, "yes"),
    ]
    assert {line["origin"] for line in lines} == {"explicit"}


def test_queries_of_a_freeze_do_not_grow_with_images(alice, dataset):
    counts = []
    for images in (2, 12):
        pond = factories.make_dataset(alice, f"pond{images}")
        campaign = make(alice, pond, images=images, name=f"home{images}")
        for image in range(images):
            settle(campaign, image, animal="yes", person="no")
        counts.append(query_count(partial(freezing.freeze, campaign)))

    assert counts[0] == counts[1]


@pytest.mark.parametrize("mode", replaying.MODES)
def test_random_answers_read_back_as_algorithm_1_labels_them(alice, dataset, mode):
    """People answer at random, in random order; the plain algorithm gives the same labels."""
    chance = random.Random(7)
    campaign = make(alice, dataset, images=6, mode=mode)
    graph = store.load_graph(campaign)
    orders: dict[int, list[tuple[str, str]]] = {image: [] for image in range(6)}
    for _ in itertools.repeat(None, 200):
        rows = list(
            campaign.questions.filter(state="open").values_list("topic", "item__image__name")
        )
        if not rows:
            break
        node, name = chance.choice(rows)
        image = int(name.split(".")[0])
        value = chance.choice(["yes", "no", "no", "dropped"])
        settle(campaign, image, **{node: value})
        orders[image].append((node, "unknown" if value == "dropped" else value))
        following.advance(campaign)

    labels = labels_by_class(freezing.freeze(campaign))

    assert not campaign.questions.filter(state="open").exists()
    for image, answers in orders.items():
        expected = _algorithm_1(graph, answers, mode)
        assert labels[f"{image}.png"] == {
            graph.node(node).key: expected[node] for node in graph.leaves
        }
        assert question(campaign, "animal", image).state in ("settled", "dropped")


def _algorithm_1(graph, answers, mode):
    """Labels by the printed algorithm, node by node; safe closes what has only closed parents."""
    labels: dict[str, str] = {}
    for node, value in answers:
        if node in labels:
            continue
        labels[node] = f"{value}/explicit"
        if value != "no":
            continue
        for below in graph.descendants(node):
            if below in labels:
                continue
            parents = graph.node(below).parents
            if mode == "strict" or all(labels.get(p, "").startswith("no/") for p in parents):
                labels[below] = "no/inherited"
    return labels
