import pytest
from django.core.management import call_command

from labeling.assignment import claiming
from labeling.campaigns import lifecycle
from labeling.datasets import objects, vocabulary_store
from labeling.errors import Conflict, Refusal
from labeling.exchange import part_campaigns
from labeling.follow_ups import asking
from labeling.kinds import policies
from labeling.models import Campaign, Decision, Item
from labeling.vocabulary.reading import shipped
from tests import factories
from tests.clients import program
from tests.labeling import parted


@pytest.fixture
def cats(alice, bob, dataset) -> Campaign:
    campaign = parted.parts_campaign(alice, dataset)
    factories.join(bob, campaign)
    return campaign


def test_every_object_is_asked_about_by_its_category(cats):
    questions = cats.questions.order_by("pk").values_list("topic", "item__name")

    assert list(questions) == [(parted.CAT, "cat-1")] * 3
    assert cats.topics.get().name == "cat"


def test_the_settings_say_what_the_vocabulary_says_of_each_part(cats, dataset):
    parts = cats.settings["categories"][parted.CAT]["parts"]

    assert [part["key"] for part in parts] == ["head", "torso", "leg", "tail"]
    assert [part["several"] for part in parts] == [False, False, True, False]
    assert cats.vocabulary == vocabulary_store.current(dataset)


def test_drawing_has_rules_of_its_own_unless_somebody_says_otherwise(cats):
    policy = policies.for_campaign(cats)

    assert (policy["votes"], policy["review"], policy["lease_minutes"]) == (1, "all", 120)


def test_people_get_objects_to_draw(cats, bob):
    seats = claiming.next_page(bob, cats).seats

    assert {seat.topic for seat in seats} == {parted.CAT}
    assert len(seats) == policies.for_campaign(cats)["page_size"]


def test_some_objects_alone_may_be_asked_about(alice, dataset):
    parted.objects_in(dataset)
    chosen = (
        Item.objects.filter(region__isnull=False).order_by("pk").values_list("pk", flat=True)[1]
    )

    campaign = part_campaigns.draft(alice, dataset, name="one", title="One", items=[chosen])

    assert list(campaign.questions.values_list("item", flat=True)) == [chosen]


def test_asking_again_asks_only_what_is_new(cats, dataset):
    factories.make_image(dataset, "cats/9.png")
    objects.put(dataset, [parted.cat("cats/9.png")], "later")

    added = part_campaigns.ask(cats)

    assert (added.created, added.existing) == (1, 3)


def test_a_dataset_without_vocabulary_says_where_to_get_one(alice, dataset):
    with pytest.raises(Refusal, match="start from the shipped one"):
        part_campaigns.draft(alice, dataset, name="cats", title="Cats")

    assert not Campaign.objects.exists()


def test_a_dataset_without_objects_says_what_to_import(alice, dataset):
    vocabulary_store.start(dataset, alice)

    with pytest.raises(Refusal, match="Import objects first"):
        part_campaigns.draft(alice, dataset, name="cats", title="Cats")

    assert not Campaign.objects.exists()


def test_whole_images_are_not_asked_for_parts(cats):
    with pytest.raises(Refusal, match="about objects"):
        asking.add_questions(cats, [("cats/0.png", parted.CAT)])


def test_objects_of_another_dataset_are_not_asked_about(cats, alice):
    second_dataset = factories.make_dataset(alice, "elsewhere")
    parted.objects_in(second_dataset, 1)
    theirs = Item.objects.get(image__dataset=second_dataset, region__isnull=False)

    with pytest.raises(Refusal, match="1 of the objects"):
        part_campaigns.ask(cats, [theirs.pk])


def test_a_campaign_takes_a_later_vocabulary(cats, alice, dataset):
    content = vocabulary_store.read(cats.vocabulary).content()
    content["categories"][0]["parts"].append({"key": "whiskers", "name": "whiskers"})
    later = vocabulary_store.add_version(dataset, content, alice)

    changed = part_campaigns.adopt(cats, alice, later)

    parts = changed.settings["categories"][parted.CAT]["parts"]
    assert parts[-1]["key"] == "whiskers"
    assert changed.vocabulary == later
    assert cats.decisions.filter(kind=Decision.Kind.VOCABULARY).exists()
    # `cats` was read before, as by a request at the same time.
    lifecycle.change(cats, alice, settings={"ask_half": True})
    assert Campaign.objects.get(pk=cats.pk).settings["categories"] == changed.settings["categories"]


def test_a_vocabulary_without_a_part_that_is_asked_for_is_refused(cats, alice, dataset):
    content = vocabulary_store.read(cats.vocabulary).content()
    content["categories"][0]["parts"] = content["categories"][0]["parts"][:2]
    later = vocabulary_store.add_version(dataset, content, alice)

    with pytest.raises(Conflict, match="leg"):
        part_campaigns.adopt(cats, alice, later)

    assert Campaign.objects.get(pk=cats.pk).vocabulary != later


def test_the_shipped_vocabulary_makes_settings(alice, dataset):
    categories = part_campaigns.categories_of(shipped())

    assert len(categories) >= 13
    assert all(category["parts"] for category in categories.values())


def new_campaign(**options: str) -> dict[str, str]:
    fields = {"title": "Cats", "name": "cats", "kind": "parts", "ask_half": "on"}
    return fields | {key: str(value) for key, value in policies.DEFAULTS.items()} | options


def test_a_researcher_opens_one_by_the_form(alice, dataset, client):
    parted.objects_in(dataset)
    client.force_login(alice)

    made = client.post(
        "/campaigns/new/", new_campaign(dataset=str(dataset.pk), categories="cat", votes="2")
    )

    assert made.status_code == 302, made.content.decode()
    campaign = Campaign.objects.get(name="cats")
    assert campaign.questions.count() == 3
    assert (campaign.settings["ask_half"], campaign.settings["ask_outline"]) == (True, False)
    assert policies.for_campaign(campaign)["votes"] == 2


def test_the_form_names_a_category_that_is_not_there(alice, dataset, client):
    parted.objects_in(dataset)
    client.force_login(alice)

    answer = client.post("/campaigns/new/", new_campaign(dataset=str(dataset.pk), categories="owl"))

    assert "has no category &#x27;owl&#x27;. It has: cat, cow." in answer.content.decode()
    assert not Campaign.objects.exists()


def test_the_shell_opens_one_by_the_shipped_vocabulary(alice, dataset):
    parted.objects_in(dataset)

    call_command(
        "campaign", "open", "parts", "--name=cats", "--dataset=pond", "--vocabulary=shipped"
    )

    campaign = Campaign.objects.get(name="cats")
    assert campaign.state == "open"
    assert campaign.questions.count() == 3
    assert campaign.vocabulary.version == 2


def test_the_shell_opens_one_on_some_images(alice, dataset, tmp_path):
    parted.objects_in(dataset)
    (tmp_path / "names.txt").write_text("cats/2.png\n")

    call_command(
        "campaign",
        "open",
        "parts",
        "--name=cats",
        "--dataset=pond",
        f"--images={tmp_path / 'names.txt'}",
    )

    [question] = Campaign.objects.get(name="cats").questions.all()
    assert question.item.image.name == "cats/2.png"


def test_programs_open_one(alice, dataset):
    parted.objects_in(dataset)
    body = {"name": "cats", "title": "Cats", "kind": "parts", "dataset": "pond"}

    made = program(alice).post(
        "/api/v1/campaigns/", body | {"settings": {"ask_half": False}}, format="json"
    )
    response = program(alice).post(
        "/api/v1/campaigns/cats/objects/", {"images": ["cats/1.png"]}, format="json"
    )

    assert made.status_code == 201, made.json()
    assert made.json()["settings"]["ask_half"] is False
    assert (response.status_code, response.json()) == (
        201,
        {"created": 1, "existing": 0, "reopened": 0},
    )


def test_settings_that_the_vocabulary_gives_are_not_written_by_hand(cats, alice):
    changed = lifecycle.change(cats, alice, settings={"categories": {"x": {}}, "ask_half": False})

    assert set(changed.settings["categories"]) == {parted.CAT, parted.COW}
    assert changed.settings["ask_half"] is False


def test_the_settings_page_takes_the_latest_vocabulary(cats, alice, dataset, client):
    content = vocabulary_store.read(cats.vocabulary).content()
    content["categories"][0]["parts"].append({"key": "whiskers", "name": "whiskers"})
    vocabulary_store.add_version(dataset, content, alice)
    client.force_login(alice)

    assert "version 2 is the latest" in client.get("/campaigns/cats/edit/").content.decode()
    client.post("/campaigns/cats/vocabulary/")

    assert Campaign.objects.get(pk=cats.pk).vocabulary.version == 2


def test_objects_are_added_on_the_page(cats, alice, dataset, client):
    factories.make_image(dataset, "cats/7.png")
    objects.put(dataset, [parted.cat("cats/7.png")], "later")
    client.force_login(alice)

    answer = client.post("/campaigns/cats/questions/add/", {"questions": "cats/7.png"}, follow=True)

    assert "1 object was added; 0 existed already." in answer.content.decode()


def test_the_price_counts_the_objects(alice, dataset, client):
    parted.objects_in(dataset)
    client.force_login(alice)

    form = new_campaign(dataset=str(dataset.pk), votes="2", gold_share="0")
    price = client.post("/campaigns/new/estimate/", form).content.decode()

    assert ">6<" in price.replace(" ", "").replace("\n", ""), price
