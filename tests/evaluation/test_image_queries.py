"""What the browser of images and the page of an image cost where a dataset has everything."""

from typing import Any
from urllib.parse import urlencode

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from evaluation.models import Benchmark, Selection
from labeling.datasets import image_ranks
from labeling.follow_ups import asking
from labeling.models import GivenLabel, Item
from labeling.reports.image_browser import ORDER_WORDS
from tests import factories
from tests import world as worlds
from tests.clients import logged_in, text_of
from tests.evaluation.benchmarks.kinds.labeled import world as labeled
from tests.evaluation.cds import world as cds
from tests.labeling import crowd

IMAGE = "cats/1.png"
MOST = 12


@pytest.fixture
def busy(alice, bob, dataset, wordnet):
    """A dataset with two benchmarks of every kind, each with a result, and four campaigns."""
    cats = labeled.campaign_of(alice, bob, dataset)
    for number in range(2):
        for kind in ("classification", "localization", "detection", "wsol"):
            more = {"thresholds": 10} if kind == "wsol" else {}
            row = labeled.make(alice, cats, kind, name=f"{kind}-{number}", **more)
            labeled.run_of(row, alice)
        cds.run_by_hand(cds.make(alice, cats, name=f"reveal-{number}"), alice)
        coots = factories.make_campaign(
            alice, dataset, f"coots-{number}", images=2, policy={"votes": 3}
        )
        asking.add_questions(coots, [(IMAGE, crowd.COOT)])
        if number:
            crowd.crowd(coots, ["yes", "no", "yes"])
        made = worlds.make_benchmark(alice, coots)
        Benchmark.objects.filter(pk=made.pk).update(name=f"mad-{number}")
        Selection.objects.filter(benchmark=made, rank=1).update(image=IMAGE)
    item = Item.objects.get(image__name=IMAGE, region__isnull=True)
    GivenLabel.objects.create(item=item, key=crowd.COOT, source="pilot", value="yes")
    for number in range(3):
        alice.saved_views.create(dataset=dataset, name=f"view {number}", query="q=cats")
    return dataset


FILTERS = {
    "q": "cats",
    "label": "cat",
    "state": "settled",
    "campaign": "cats",
    "least_px": "1",
    "prediction": "cat",
    "outcome": "right",
}


def queries_of(client: Any, address: str) -> tuple[int, str]:
    """The number of queries of a page whose files were read before, and the page."""
    client.get(address)
    with CaptureQueriesContext(connection) as queries:
        page = text_of(client.get(address))
    return len(queries), page


# The other way round, an order costs the same; `.ci/run` looks.
ORDERS = [
    pytest.param(order, marks=pytest.mark.ci if order.startswith("-") else ())
    for order in ORDER_WORDS
]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("is_sorted", [False, True])
def test_the_browser_costs_twelve_queries_with_every_filter(
    busy, alice, order, is_sorted, run_jobs
):
    client = logged_in(alice)
    if is_sorted:
        image_ranks.enqueue_sort(busy)
        run_jobs()
    first, *_, last = busy.images.order_by("name").values_list("pk", flat=True)
    counts = {}
    for more in ({}, {"after": first}, {"before": last}, {"before": 0}):
        for chosen in (FILTERS, {"prediction": crowd.COOT, "outcome": "right"}):
            address = f"/datasets/{busy.name}/images/?{urlencode(chosen | more | {'order': order})}"
            counts[address], page = queries_of(client, address)
            assert more or IMAGE in page

    assert {address: n for address, n in counts.items() if n > MOST} == {}


def test_the_page_of_an_image_costs_twelve_queries(busy, alice):
    image = busy.images.get(name=IMAGE)
    count, page = queries_of(logged_in(alice), f"/datasets/{busy.name}/images/{image.pk}/")

    assert count <= MOST
    used = [title for title in Benchmark.objects.values_list("title", flat=True) if title in page]
    assert len(used) == Benchmark.objects.count() == 12
