"""Gold in the form of a new campaign, by mouse: naming, a question graph, part polygons."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from labeling.datasets import objects
from labeling.models import Dataset, Gold
from tests import factories
from tests.labeling import parted
from tests.labeling.web.test_views_graph import PETS

pytestmark = pytest.mark.browser
DRAWING = parted.drawn(torso=parted.square(24, 10, 44, 30), leg="occluded", tail="not_visible")
Begin = Callable[[str], None]


@pytest.fixture
def begin(page, site, dataset) -> Begin:
    """Opens the form, with a title and a kind."""

    def fill(kind: str) -> None:
        page.goto(site(f"/campaigns/new/?dataset={dataset.pk}"))
        page.fill("#id_title", "With gold")
        page.click(f"text={kind}")

    return fill


def create(page: Any, site: Callable[[str], str]) -> Gold:
    """Press the last button, look at the page of gold, and return the one gold question."""
    page.get_by_role("button", name="Create draft").click()
    page.wait_for_url("**/campaigns/with-gold/")
    page.goto(site("/campaigns/with-gold/gold/"))
    return Gold.objects.select_related("question__item__image").get()


def two_images(dataset: Dataset) -> None:
    for name in ("a.png", "b.png"):
        factories.make_image(dataset, name)


def test_naming_takes_gold_as_text(page, site, dataset, begin):
    two_images(dataset)
    begin("Image naming")
    page.fill("#id_vocabulary", "n1,coot\nn2,duck")
    page.fill("#id_gold", "a.png,label,n1,Red eyes")

    gold = create(page, site)

    table = page.get_by_role("region", name="Gold").get_by_role("row")
    assert table.count() == 2
    assert "coot" in table.nth(1).inner_text()
    assert "Red eyes" in table.nth(1).inner_text()
    assert (gold.answer, gold.question.item.image.name) == ({"key": "n1"}, "a.png")


def test_a_graph_takes_gold_as_a_file(page, site, dataset, begin):
    two_images(dataset)
    graph = {"name": "g.json", "mimeType": "application/json", "buffer": json.dumps(PETS).encode()}
    node = "animal"
    lines = f"image,wnid,answer,explanation\nb.png,{node},yes,It is large\n".encode()
    begin("Question graph (ILSVRC)")
    page.check("[name=graph][value=file]")
    page.set_input_files("#id_graph_file", graph)
    page.set_input_files(
        "#id_gold_file", {"name": "gold.csv", "mimeType": "text/csv", "buffer": lines}
    )

    gold = create(page, site)

    row = page.get_by_role("region", name="Gold").get_by_role("row").nth(1).inner_text()
    assert "b.png" in row
    assert "It is large" in row
    assert (gold.question.topic, gold.answer) == (node, "yes")


def test_parts_take_a_drawing_as_gold(page, site, dataset, begin):
    parted.objects_in(dataset, 2)
    cat = objects.in_dataset(dataset).select_related("image").earliest("pk")
    row = {"image": cat.image.name, "object": cat.name, "answer": DRAWING}
    begin("Part polygons")
    page.fill("#id_gold", json.dumps(row))

    gold = create(page, site)

    assert cat.image.name in page.get_by_role("region", name="Gold").inner_text()
    assert gold.question.item_id == cat.pk
    assert gold.answer["parts"]["torso"]["polygons"], "the drawing"
