"""The page of a release's objects: tiles with coloured parts, counts by part and state."""

import pytest
from django.urls import reverse

from labeling.files import BadInput
from labeling.models import Release
from labeling.release_files import line_index
from labeling.releases import freezing
from labeling.web.views import release_objects as page
from tests import factories
from tests.labeling import part_releases as cats
from tests.labeling.parted import CAT, COW


@pytest.fixture
def release(alice, bob, dataset) -> Release:
    return cats.release(alice, bob, dataset)


def address(release: Release, query: str = "") -> str:
    where = [release.campaign.name, release.number]
    return reverse("labeling:release_objects", args=where) + query


def objects_page(client, alice, release, query: str = ""):
    client.force_login(alice)
    response = client.get(address(release, query))
    assert response.status_code == 200
    return response


def test_every_object_is_shown_with_its_parts_over_its_photograph(client, alice, release):
    response = objects_page(client, alice, release)

    tiles = response.context["tiles"]
    assert [(tile.parted.image, tile.parted.name) for tile in tiles] == [
        ("cats/0.png", "cat-1"),
        ("cats/0.png", "cow-1"),
        ("cats/1.png", "cat-1"),
    ]
    assert [part.number for part in tiles[0].shapes] == [1, 2, 3]
    text = response.content.decode()
    assert 'viewBox="3 2 58 44"' in text
    assert "M10 8 22 8 22 20 10 20Z" in text
    item = tiles[0].item
    assert reverse("labeling:object_image", args=["pond", item.pk]) in text


def test_what_is_not_drawn_and_what_nobody_said_is_in_the_legend(client, alice, release):
    tiles = objects_page(client, alice, release).context["tiles"]

    labels = [{part.name: part.label for part in tile.parts} for tile in tiles]
    assert labels[0] == {"head": "given", "torso": "", "leg": "", "tail": "not visible"}
    assert labels[2] == {"head": "", "torso": "", "tail": "occluded", "leg": "not labeled"}


def test_one_category_is_shown_with_the_counts_of_each_part(client, alice, release):
    response = objects_page(client, alice, release, f"?category={CAT}")

    assert [tile.category for tile in response.context["tiles"]] == ["cat", "cat"]
    rows = {row.name: row.counts for row in response.context["rows"]}
    # Drawn, not visible, occluded, nobody said.
    assert rows == {
        "head": [2, 0, 0, 0],
        "torso": [2, 0, 0, 0],
        "leg": [1, 0, 0, 1],
        "tail": [0, 1, 1, 0],
    }


def test_all_categories_are_counted_together_and_lead_to_each(client, alice, release):
    response = objects_page(client, alice, release)

    assert {row.name: row.counts for row in response.context["rows"]} == {
        "cow": [1, 1, 0, 0],
        "cat": [5, 1, 1, 1],
    }
    assert f'href="?category={COW}"' in response.content.decode()


def test_a_category_that_is_not_there_shows_all(client, alice, release):
    assert len(objects_page(client, alice, release, "?category=n99999999").context["tiles"]) == 3


def test_objects_come_in_pages(client, alice, release, monkeypatch):
    monkeypatch.setattr(page, "PAGE_SIZE", 2)

    second = objects_page(client, alice, release, "?page=2")

    assert [tile.parted.image for tile in second.context["tiles"]] == ["cats/1.png"]
    assert "Page 2 of 2" in second.content.decode()


def test_the_page_takes_as_many_queries_for_many_objects(
    client, alice, release, django_assert_num_queries, monkeypatch
):
    client.force_login(alice)
    monkeypatch.setattr(page, "PAGE_SIZE", 1)
    client.get(address(release))
    with django_assert_num_queries(9) as few:
        client.get(address(release))
    monkeypatch.setattr(page, "PAGE_SIZE", 12)

    with django_assert_num_queries(len(few)):
        client.get(address(release))


def test_an_object_whose_image_left_the_dataset_is_still_listed(client, alice, release):
    item = release.campaign.questions.get(topic=COW).item
    type(item).objects.filter(pk=item.pk).update(name="cow-9")

    tiles = objects_page(client, alice, release).context["tiles"]

    assert [tile.item is None for tile in tiles] == [False, True, False]


def test_files_that_were_changed_are_said_with_the_cure(client, alice, release):
    line_index.by_category.cache_clear()
    with open(freezing.folder_of(release) / "objects.jsonl", "a") as file:
        file.write("{}\n")
    client.force_login(alice)

    response = client.get(address(release))

    assert response.status_code == 400
    assert "Freeze it again." in response.content.decode()


def test_a_release_of_another_kind_has_no_objects(client, alice, dataset):
    campaign = factories.make_campaign(alice, dataset, "coots", images=1)

    text = objects_page(client, alice, freezing.freeze(campaign)).content.decode()

    assert "in a part polygon campaign." in text


def test_the_releases_page_leads_to_objects_and_offers_their_formats(client, alice, release):
    client.force_login(alice)

    text = client.get(reverse("labeling:releases", args=["cats"])).content.decode()

    assert address(release) in text
    for name in ("coco", "pascal-part", "png", "label-studio", "pictures", "csv"):
        assert f"?format={name}" in text


def test_an_empty_release_says_what_will_be_here(client, alice, dataset):
    release = freezing.freeze(cats.campaign_of(alice, dataset))

    text = objects_page(client, alice, release).content.decode()

    assert "No object is settled in this release" in text


def test_lines_of_a_category_are_found_without_reading_the_others(release):
    frozen = freezing.read(release)
    path = frozen.folder / "objects.jsonl"
    by_category = line_index.by_category(path, frozen.meta["files"]["objects.jsonl"]["sha256"])

    assert {key: len(lines) for key, lines in by_category.items()} == {"": 3, CAT: 2, COW: 1}
    assert by_category[CAT][1]["image"] == "cats/1.png"
    assert [line["object"] for line in by_category[""][0:2]] == ["cat-1", "cow-1"]
    assert list(by_category[""]) == list(frozen.lines("objects.jsonl"))


def test_an_index_of_another_file_is_refused(tmp_path):
    with pytest.raises(BadInput, match="is missing"):
        line_index.by_category(tmp_path / "objects.jsonl", "0" * 64)
