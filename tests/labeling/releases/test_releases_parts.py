"""A release of a campaign that draws parts: what was given and what people said, joined."""

import json

import pytest
import shapely

from labeling.datasets import objects
from labeling.exchange import merging
from labeling.files import BadInput
from labeling.geometry.polygons import to_shapely
from labeling.json_text import canonical
from labeling.models import Campaign, GivenLabel, Question
from labeling.parts import background
from labeling.parts.model import REST_BACKGROUND, REST_OBJECT, PartedObject
from labeling.release_files import frozen
from labeling.release_files.frozen import Frozen
from labeling.releases import freezing
from tests import factories
from tests.labeling import part_releases as cats
from tests.labeling.parted import CAT, COW, drawn, square


@pytest.fixture
def campaign(alice, bob, dataset) -> Campaign:
    return cats.settled(alice, bob, dataset)


@pytest.fixture
def release(campaign) -> Frozen:
    return freezing.read(freezing.freeze(campaign))


def objects_of(release: Frozen) -> list[PartedObject]:
    return [thing for _, objects in release.objects() for thing in objects]


def parts_of(thing: PartedObject) -> dict:
    return {part.key: part for part in thing.parts}


def test_every_settled_object_has_a_line_by_image_and_name(release):
    lines = list(release.lines("objects.jsonl"))

    assert [(line["image"], line["object"], line["category"]) for line in lines] == [
        ("cats/0.png", "cat-1", CAT),
        ("cats/0.png", "cow-1", COW),
        ("cats/1.png", "cat-1", CAT),
    ]
    assert release.meta["counts"]["objects"] == 3


def test_given_and_answered_parts_stand_together_in_the_vocabularys_order(release):
    first = parts_of(background.without_rest(objects_of(release)[0]))

    assert [(key, part.origin, part.state) for key, part in first.items()] == [
        ("head", "given", "drawn"),
        ("torso", "explicit", "drawn"),
        ("leg", "explicit", "drawn"),
        ("tail", "explicit", "not_visible"),
    ]
    assert first["leg"].polygons == cats.LEGS
    assert first["torso"].name == "torso"


def test_a_given_part_keeps_what_it_was_merged_of(release):
    head = objects_of(release)[0].parts[0]

    [known] = [part for part in cats.parted_objects()[0].parts if part.key == "head"]
    assert (head.merges, head.radius, head.names) == (known.merges, 6.5, known.names)
    assert len(head.pieces) == 2


def test_what_people_say_of_a_given_part_stands_and_the_given_one_is_kept(release):
    line = list(release.lines("objects.jsonl"))[2]

    [head] = [part for part in line["parts"] if part["key"] == "head"]
    assert head["origin"] == "explicit"
    assert head["polygons"] == [[[[11, 8], [22, 8], [22, 20], [11, 20]]]]
    assert head["instead_of"]["polygons"] == [[[[10, 8], [22, 8], [22, 20], [10, 20]]]]


def test_a_part_that_nobody_spoke_of_is_unknown_never_not_visible(release):
    line = list(release.lines("objects.jsonl"))[2]

    assert line["unknown"] == ["leg"]
    assert "leg" not in {part["key"] for part in line["parts"]}
    assert release.meta["parts"][CAT]["parts"]["leg"] == {
        "drawn": 1,
        "not_visible": 0,
        "occluded": 0,
        "unknown": 1,
        "explicit": 1,
        "given": 0,
    }


def test_an_object_that_was_skipped_is_among_the_answers_alone(release):
    answers = list(release.answers())

    assert [line["contains"] for line in answers] == [True, True, True, None]
    assert answers[3]["votes"] == {"too_small": 1}
    assert release.meta["counts"]["dropped"] == 1
    assert [(photo.name, len(objects)) for photo, objects in release.objects()] == [
        ("cats/0.png", 2),
        ("cats/1.png", 1),
        ("cats/2.png", 0),
    ]


def test_the_rest_is_made_when_read_and_told_apart_where_the_outline_is_known(release):
    cat, cow, _ = objects_of(release)

    assert [part.key for part in cat.parts[-2:]] == [REST_OBJECT, REST_BACKGROUND]
    assert {part.origin for part in cat.parts[-2:]} == {"made"}
    shapes = [to_shapely(part.polygons) for part in cat.parts if part.key != REST_BACKGROUND]
    assert shapely.equals(shapely.union_all(shapes), to_shapely(cats.OUTLINE))
    assert cow.outline is None
    assert [part.key for part in cow.parts if part.origin == "made"] == [REST_BACKGROUND]
    assert "unlabeled" not in (release.folder / "objects.jsonl").read_text()


def test_parts_and_rest_fill_the_crop(release):
    for thing in objects_of(release):
        covered = shapely.union_all([to_shapely(part.polygons) for part in thing.parts])

        assert thing.crop is not None
        assert shapely.equals(covered, shapely.box(*thing.crop))


def test_an_outline_that_people_draw_stands_over_the_given_one(alice, bob, dataset):
    campaign = cats.campaign_of(alice, dataset)
    question = campaign.questions.get(item__image__name="cats/0.png", topic=CAT)
    outline = [[[[9, 7], [55, 7], [55, 41], [9, 41]]]]
    cats.settle(question, bob, cats.ANSWER | {"outline": outline})

    frozen = freezing.read(freezing.freeze(campaign))

    [line] = frozen.lines("objects.jsonl")
    assert (line["outline"], line["outline_origin"]) == (outline, "explicit")


def test_agreement_probability_and_review_go_along(alice, bob, dataset):
    campaign = cats.campaign_of(alice, dataset)
    question = campaign.questions.get(item__image__name="cats/1.png")
    agreed = {"torso": {"iou": 0.83, "boundary_f": 0.9, "voters": 2}}
    cats.settle(question, bob, cats.ANSWER | {"agreement": agreed}, reviewed=True)

    [line] = freezing.read(freezing.freeze(campaign)).lines("objects.jsonl")

    torso = next(part for part in line["parts"] if part["key"] == "torso")
    assert (torso["agreement"], torso["probability"]) == (agreed["torso"], 1.0)
    assert line["reviewed"] is True
    assert line["settled_by"] == {"answers": 1, "policy": 1}


def test_old_consumers_find_the_category_of_each_image(release):
    labels = [(line["image"], line["wnid"], line["value"]) for line in release.labels()]

    assert labels == [
        ("cats/0.png", COW, "yes"),
        ("cats/0.png", CAT, "yes"),
        ("cats/1.png", CAT, "yes"),
        ("cats/2.png", CAT, "unknown"),
    ]
    assert {line["origin"] for line in release.labels()} == {"explicit"}


def test_votes_name_the_object_and_hold_what_was_drawn(release, bob):
    votes = list(release.votes())

    assert [(vote["image"], vote["object"]) for vote in votes][:2] == [
        ("cats/0.png", "cat-1"),
        ("cats/0.png", "cow-1"),
    ]
    assert votes[0]["value"] == cats.ANSWER
    text = (release.folder / "votes.jsonl").read_text()
    assert bob.username not in text
    assert bob.pseudonym not in text


def test_votes_on_two_objects_of_an_image_are_sorted_apart(alice, bob, dataset):
    campaign = cats.campaign_of(alice, dataset)
    people = [bob, factories.make_user("carol"), factories.make_user("dave")]
    for question in campaign.questions.filter(item__image__name="cats/0.png"):
        settlements = [cats.settle(question, person, cats.ANSWER) for person in people]
        settlements[-1].answers = [pk for row in settlements for pk in row.answers]
        settlements[-1].save()

    votes = list(freezing.read(freezing.freeze(campaign)).votes())

    assert [vote["object"] for vote in votes] == ["cat-1"] * 3 + ["cow-1"] * 3
    names = [vote["annotator"] for vote in votes]
    assert names[:3] == sorted(names[:3]) == names[3:]


def test_the_same_content_is_the_same_release_and_another_radius_is_not(campaign):
    first = freezing.freeze(campaign)
    assert freezing.freeze(campaign) == first

    head = GivenLabel.objects.get(item__image__name="cats/0.png", key="head")
    head.geometry["merges"][0]["radius"] = 9.0
    head.save()

    assert freezing.freeze(campaign).number == 2


def test_marks_follow_the_vocabulary_and_what_is_given(campaign, dataset):
    before = freezing.fingerprint(campaign)
    assert freezing.fingerprint(campaign) == before

    again = cats.parted_objects()[2:3]
    objects.put(dataset, again, "another importer")

    assert freezing.fingerprint(campaign) != before
    assert before["vocabulary"] == campaign.vocabulary_id


def test_marks_follow_another_radius_and_what_is_taken_away(campaign, alice):
    head = GivenLabel.objects.get(item__image__name="cats/0.png", key="head")
    before = freezing.fingerprint(campaign)

    merging.choose(head.item, "head", "", 9.0, alice)
    chosen = freezing.fingerprint(campaign)
    GivenLabel.objects.filter(item__image__name="cats/1.png", key="head").delete()

    assert before != chosen != freezing.fingerprint(campaign)


def test_a_release_says_by_which_vocabulary_it_was_drawn(release, campaign):
    assert release.meta["vocabulary"] == {"version": 1, "sha256": campaign.vocabulary.sha256}
    assert release.parts()[COW] == {"head": "head", "horn": "horn"}


def test_a_part_that_left_the_vocabulary_comes_after_the_others(alice, bob, dataset):
    campaign = cats.campaign_of(alice, dataset)
    item = campaign.questions.get(item__image__name="cats/1.png").item
    polygons = {"polygons": [[[[1, 1], [5, 1], [5, 5]]]], "state": "drawn"}
    GivenLabel.objects.create(item=item, key="whisker", geometry=polygons, source="the importer")
    cats.settle(campaign.questions.get(item=item), bob, drawn(torso=square(22, 12, 50, 30)))

    [line] = freezing.read(freezing.freeze(campaign)).lines("objects.jsonl")

    assert [part["key"] for part in line["parts"]] == ["head", "torso", "whisker"]


def test_an_objects_file_that_was_changed_is_refused(release):
    with open(release.folder / "objects.jsonl", "a") as file:
        file.write("{}\n")

    with pytest.raises(BadInput, match=r"objects\.jsonl: differs from what was frozen"):
        frozen.read(release.folder)


def test_freezing_asks_the_database_as_often_for_many_objects(
    alice, bob, dataset, django_assert_num_queries, django_assert_max_num_queries
):
    campaign = cats.campaign_of(alice, dataset)
    for question in campaign.questions.all():
        cats.settle(question, bob, cats.ANSWER)
    with django_assert_max_num_queries(40) as few:
        freezing.freeze(campaign)
    for number in range(3, 40):
        factories.make_image(dataset, f"cats/{number}.png")
        thing = cats.parted_objects()[2]
        objects.put(
            dataset,
            [PartedObject(f"cats/{number}.png", CAT, thing.box, thing.parts, name="cat-1")],
            "the importer",
        )
    from labeling.exchange import part_campaigns

    part_campaigns.ask(campaign)
    for question in campaign.questions.filter(state=Question.State.OPEN):
        cats.settle(question, bob, cats.ANSWER)

    with django_assert_num_queries(len(few)):
        freezing.freeze(campaign)


def test_a_release_of_another_kind_has_no_objects(alice, dataset):
    campaign = factories.make_campaign(alice, dataset, "coots", images=2)

    release = freezing.read(freezing.freeze(campaign))

    assert "objects.jsonl" not in release.meta["files"]
    assert list(release.objects()) == []
    assert release.parts() == {}


def test_lines_are_canonical(release):
    for text in (release.folder / "objects.jsonl").read_text().splitlines():
        assert canonical(json.loads(text)).decode() == text
