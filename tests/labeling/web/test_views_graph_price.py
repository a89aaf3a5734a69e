"""The price of a question: its page, its form, its figures in the API, and who may see them."""

import pytest
from django.urls import reverse

from labeling.models import Job
from labeling.question_graph.scenes import FALSE_COST
from labeling.reports import graph_price_page
from tests import factories
from tests.cases import for_each
from tests.clients import text_of
from tests.labeling.crowd import query_count
from tests.labeling.hierarchies import make, teach

pytestmark = pytest.mark.django_db
PRICE = 0.006


@pytest.fixture
def home(alice, bob, dataset):
    campaign = make(alice, dataset, order="learned", price=PRICE)
    factories.join(bob, campaign)
    return campaign


def page(campaign) -> str:
    return reverse("labeling:graph_price", args=[campaign.name])


def test_until_scenes_are_learned_the_page_says_when(home, as_alice):
    text = text_of(as_alice.get(page(home)))

    assert "Until 200 images are finished" in text
    assert "<svg viewBox" not in text


def test_the_page_has_figure_table_and_n(home, as_alice):
    learned = teach(home)

    text = text_of(as_alice.get(page(home)))

    assert "n = 400 finished images" in text
    assert text.count('class="missed" points="') == 1
    assert text.count('<th scope="row"') == len(learned.curve) + 1
    assert "this campaign’s" in text


def test_a_page_costs_as_many_queries_however_many_images(home, as_alice, dataset):
    teach(home)
    few = query_count(lambda: as_alice.get(page(home)))
    make_more(dataset)

    assert query_count(lambda: as_alice.get(page(home))) == few


def make_more(dataset) -> None:
    for index in range(10, 30):
        factories.make_image(dataset, f"{index}.png")


def test_another_price_looks_at_every_image_again(home, as_alice):
    response = as_alice.post(page(home), {"price": "0.01"}, follow=True)

    home.refresh_from_db()
    assert home.settings["price"] == 0.01
    assert "All images are being re-evaluated." in text_of(response)
    assert Job.objects.filter(campaign=home, kind="look again", state="queued").exists()


@for_each("price", ["", "0", "2", "dear"])
def test_a_price_that_is_none_is_refused_at_its_field(home, as_alice, price):
    text = text_of(as_alice.post(page(home), {"price": price}))

    home.refresh_from_db()
    assert home.settings["price"] == PRICE
    assert 'aria-invalid="true"' in text


def test_a_campaign_without_a_price_has_no_such_page(alice, dataset, as_alice):
    campaign = make(alice, dataset, name="free")

    assert as_alice.get(page(campaign)).status_code == 404
    assert page(campaign) not in text_of(
        as_alice.get(reverse("labeling:campaign", args=[campaign.name]))
    )


def test_the_api_says_the_same(home, as_alice):
    url = f"/api/v1/campaigns/{home.name}/graph/price/"
    assert as_alice.get(url).json() == {
        "price": PRICE,
        "false_cost": FALSE_COST,
        "finished": None,
        "scenes": 0,
        "error": None,
        "curve": [],
        "algorithm_1": None,
    }
    learned = teach(home)

    body = as_alice.get(url).json()

    assert (body["finished"], body["scenes"], body["error"]) == (400, 2, 0.02)
    assert body["curve"] == [point.to_json() for point in learned.curve]


def test_the_marks_of_the_figure_lie_inside_it(home):
    teach(home)

    figure = graph_price_page.price_curve(home).figure

    for at in (*figure.missed, *figure.false, *figure.current, *figure.plain):
        assert figure.left <= at.x <= figure.width
        assert 0 <= at.y <= figure.bottom + 8
    assert len(figure.current) == len(figure.plain) == 2
