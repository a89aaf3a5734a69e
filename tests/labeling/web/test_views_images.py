"""Images as pages and by the API: one image with its history, the browser, and saved views."""

import pytest
from django.urls import reverse

from labeling.datasets import objects
from labeling.models import GivenLabel, Item, Question, SavedView
from labeling.parts.model import PartedObject
from tests import factories
from tests.clients import text_of
from tests.labeling import crowd
from tests.labeling.crowd import COOT


@pytest.fixture
def voted(alice, dataset):
    campaign = factories.make_campaign(alice, dataset, images=3, policy={"votes": 3})
    crowd.make_gold(campaign, alice, ["yes"])
    crowd.crowd(campaign, ["yes", "no", "yes"])
    return campaign


def image_of(campaign, name="coots/000.png"):
    return campaign.dataset.images.get(name=name)


def test_the_page_shows_votes_by_pseudonym_and_settlements(desk, voted):
    page = text_of(desk.get(f"/datasets/pond/images/{image_of(voted).pk}/"))

    assert "American coot" in page
    assert "annotator-0yes" in page
    assert "annotator-1no" in page
    assert "crowd0" not in page
    assert "Yes, from 3 answers" in page
    question = Question.objects.get(item__image=image_of(voted))
    assert f"/campaigns/coots/questions/{question.pk}/" in page


def test_the_page_tells_no_gold(desk, voted):
    [name] = [row.name for row in voted.dataset.images.all() if row.name.startswith("gold/")]
    page = text_of(desk.get(f"/datasets/pond/images/{image_of(voted, name).pk}/"))

    assert "No campaign of yours asks about this image." in page


def test_the_page_draws_objects_and_known_boxes(desk, voted):
    image = image_of(voted)
    objects.put(voted.dataset, [PartedObject(image.name, "cat", (1, 2, 30, 40), name="cat-1")])
    whole = Item.objects.get(image=image, region__isnull=True)
    GivenLabel.objects.create(item=whole, key=COOT, geometry={"boxes": [[3, 4, 10, 11]]})

    page = text_of(desk.get(f"/datasets/pond/images/{image.pk}/"))

    assert "M1 2 30 2 30 40 1 40Z" in page
    assert "M3 4 10 4 10 11 3 11Z" in page
    assert "/datasets/pond/objects/" in page


def test_the_page_leads_to_its_neighbours_within_the_filter(desk, voted):
    first, middle, last = (image_of(voted, f"coots/00{number}.png") for number in range(3))
    address = f"/datasets/pond/images/{middle.pk}/"
    page = text_of(desk.get(f"{address}?q=coots"))

    for way, image in (("previous", first), ("next", last)):
        assert f'href="?q=coots&amp;go={way}"' in page
        response = desk.get(f"{address}?q=coots&go={way}")
        assert response["Location"] == f"/datasets/pond/images/{image.pk}/?q=coots"
    response = desk.get(f"/datasets/pond/images/{last.pk}/?q=coots&go=next", follow=True)
    assert "No next image within 2,000 images." in text_of(response)


def test_the_program_gets_the_same_facts(alices, voted):
    image = image_of(voted)
    body = alices.get(f"/api/v1/datasets/pond/images/{image.pk}/").json()

    [label] = body["labels"]
    assert label["campaign"] == "coots"
    assert label["topic_name"] == "American coot"
    assert {(row["person"], row["answer"]) for row in label["answers"]} == {
        ("annotator-0yes", "Yes"),
        ("annotator-1no", "No"),
        ("annotator-2yes", "Yes"),
    }
    assert len(label["settlements"]) == 1
    assert body["uses"] == []


def fill(campaign, count: int) -> None:
    """Add images with a question each."""
    for number in range(1_000, 1_000 + count):
        factories.make_image(campaign.dataset, f"more/{number:04}.png", seed=number)


def test_pages_cost_the_same_whatever_the_size(desk, voted, django_assert_max_num_queries):
    image = image_of(voted)
    query = f"q=coots&label={COOT}&state=disputed&campaign=coots&prediction={COOT}&query=a"
    for count in (0, 100):
        fill(voted, count)
        for address in (
            "/datasets/pond/images/",
            f"/datasets/pond/images/?{query}",
            f"/datasets/pond/images/?after={image.pk}&order=-size",
        ):
            with django_assert_max_num_queries(12):
                assert desk.get(address).status_code == 200
        with django_assert_max_num_queries(12):
            assert desk.get(f"/datasets/pond/images/{image.pk}/").status_code == 200


def test_a_view_is_saved_replaced_opened_and_removed(desk, alice, dataset):
    factories.make_image(dataset, "coot.png")
    address = reverse("labeling:view_save", args=["pond"])
    desk.post(address, {"name": "Birds", "query": "q=drake"})
    response = desk.post(address, {"name": "Birds", "query": "q=coot&order=-size"})
    view = SavedView.objects.get()

    assert response["Location"] == "/datasets/pond/images/?q=coot&order=-size"
    assert 'href="?q=coot&amp;order=-size"' in text_of(desk.get("/datasets/pond/images/"))
    assert "The view was not saved" in text_of(desk.post(address, {"name": ""}, follow=True))
    desk.post(f"/datasets/pond/images/views/{view.pk}/remove/")
    assert not SavedView.objects.exists()


def test_saved_views_belong_to_one_person(desk, bob, dataset):
    view = bob.saved_views.create(dataset=dataset, name="Bob’s")

    assert "Bob’s" not in text_of(desk.get("/datasets/pond/images/"))
    assert desk.post(f"/datasets/pond/images/views/{view.pk}/remove/").status_code == 404


def test_a_wrong_filter_says_so_and_matches_all(desk, dataset):
    factories.make_image(dataset, "coot.png")
    page = text_of(desk.get("/datasets/pond/images/?least_px=many&order=random&campaign=none"))

    assert "Enter a whole number." in page
    assert "coot.png" in page


def test_an_image_of_another_dataset_is_not_shown(desk, alice, dataset):
    lake_image = factories.make_image(factories.make_dataset(alice, "lake"), "a.png")
    for end in ("", "display"):
        assert desk.get(f"/datasets/pond/images/{lake_image.pk}/{end}").status_code == 404


def test_the_api_browses_images_by_what_people_said(desk, voted, django_assert_max_num_queries):
    address = "/api/v1/datasets/pond/images/browse/"
    with django_assert_max_num_queries(12):
        page = desk.get(address, {"order": "doubtful", "q": "coots"}).json()
    first = page["results"][0]["id"]

    assert sorted(row["name"] for row in page["results"]) == [
        "coots/000.png",
        "coots/001.png",
        "coots/002.png",
    ]
    assert (page["next"], page["seen_to"]) == (None, "")
    rest = desk.get(address, {"order": "doubtful", "q": "coots", "after": first}).json()
    assert rest["results"] == page["results"][1:]
    assert desk.get(address, {"order": "beauty"}).status_code == 400
    assert desk.get(address, {"color": "red"}).status_code == 400


def test_the_page_orders_by_label_with_few_queries(desk, voted, django_assert_max_num_queries):
    with django_assert_max_num_queries(12):
        page = text_of(desk.get("/datasets/pond/images/?order=label"))

    assert "coots/000.png" in page
