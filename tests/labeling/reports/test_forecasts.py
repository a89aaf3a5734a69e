"""What a campaign will cost: one estimator, for the draft, the pages, the API and the shell."""

import json
import random
import time
from io import StringIO

import pytest
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from labeling.db import question_counts
from labeling.follow_ups import opening
from labeling.graphs import store
from labeling.kinds import policies
from labeling.models import Campaign, Question
from labeling.question_graph import graph as question_graph
from labeling.reports import forecasts, progress
from labeling.web.forms.campaigns import NewCampaignForm
from tests import factories
from tests.cases import for_each
from tests.clients import html_of
from tests.labeling import boxers

IMAGES = 26
# 26 images on ILSVRC's graph, as `simulate queries` has it for 1.4, 2.8 and 5.6 classes an image.
LOW, LIKELY, HIGH = 869, 1249, 1896
POLICY = {
    "votes": 3,
    "stop_early": "never",
    "gold_share": 0.0,
    "seconds_per_answer": 4,
    "cost_per_hour": 12.0,
}


@pytest.fixture
def home(alice, dataset) -> Campaign:
    for n in range(IMAGES):
        factories.make_image(dataset, f"{n:02}.png")
    campaign, opened = opening.draft_graph(
        alice, store.load_ilsvrc(), name="home", title="Home", dataset=dataset, policy=POLICY
    )
    assert opened == IMAGES * 17
    return campaign


def simulated(present: float, *options: str) -> float:
    out = StringIO()
    call_command(
        *("simulate", "queries", "--graph", "ilsvrc", "--present", str(present), "--json"),
        *options,
        stdout=out,
    )
    return json.loads(out.getvalue())["questions_per_image"]


@for_each("mode", ["safe", "strict"])
@for_each("order", ["breadth", "depth"])
def test_the_range_is_what_simulate_queries_says(mode, order):
    forecast = forecasts.per_image(store.load_ilsvrc(), mode, order)

    options = ("--mode", mode, "--order", order)
    assert forecast == tuple(simulated(present, *options) for present in (1.4, 2.8, 5.6))


@pytest.mark.ci
def test_the_learned_order_is_forecast_within_the_range():
    low, likely, high = forecasts.per_image(store.load_ilsvrc(), "strict", "learned")

    drawn = simulated(2.8, "--mode", "strict", "--order", "learned")
    assert low < drawn < high
    assert drawn == pytest.approx(likely, rel=0.02)


def test_draft_api_status_and_progress_agree(home, alice):
    client = Client()
    client.force_login(alice)
    out = StringIO()
    call_command("campaign", "status", "home", "--json", stdout=out)
    status = json.loads(out.getvalue())
    sent = {"kind": "hierarchy", "graph": "ilsvrc", "mode": "safe", "order": "breadth"}
    form = NewCampaignForm(
        alice, policies.DEFAULTS | POLICY | sent | {"dataset": home.dataset.pk}, {}
    )
    form.is_valid()

    plan = client.get("/api/v1/campaigns/home/estimate/").json()

    assert (plan["low"]["questions"], plan["questions"], plan["high"]["questions"]) == (
        LOW,
        LIKELY,
        HIGH,
    )
    assert plan["answers"] == 3 * LIKELY
    assert plan["high"]["cost"] == pytest.approx(3 * HIGH * 4 / 3600 * 12)
    assert form.estimate() == progress.estimate_of(home)
    # What is open now is still counted as before; what follows is in the range beside it.
    assert status["questions"] == IMAGES * 17
    assert status["questions_range"] == [LOW, HIGH]
    assert status["answers_left"] == 3 * LIKELY
    assert status["answers_left_range"] == [3 * LOW, 3 * HIGH]
    assert status["cost_left"] == pytest.approx(plan["cost"])
    assert client.get("/api/v1/campaigns/home/progress/").json()["cost_left_range"] == [
        pytest.approx(plan["low"]["cost"]),
        pytest.approx(plan["high"]["cost"]),
    ]
    page = html_of(client.get("/campaigns/home/"))
    assert f"{3 * LOW:,} – {3 * HIGH:,}" in page
    assert f"about {3 * LIKELY:,} answers" in page


def test_many_images_are_forecast_before_their_questions_are_made(home, monkeypatch, alice):
    monkeypatch.setattr(opening, "AT_ONCE", 0)
    later, opened = opening.draft_graph(
        alice, store.load_ilsvrc(), name="later", title="Later", dataset=home.dataset
    )

    assert opened is None
    assert progress.estimate_of(later).questions == LIKELY


def test_nothing_more_is_forecast_once_all_is_settled(home):
    pks = home.questions.values_list("pk", flat=True)
    factories.put(home, pks, state="settled", seats_free=0)

    state = progress.progress(home)

    assert state.questions_range == (IMAGES * 17, IMAGES * 17)
    assert (state.answers_left, state.cost_left_range) == (0, (0, 0))


def test_classes_per_image_are_a_setting(home):
    plain = forecasts.of_campaign(home, question_counts.of_campaign(home.pk))
    home.settings |= {"present": 5.6}

    more = forecasts.of_campaign(home, question_counts.of_campaign(home.pk))

    assert more.likely == plain.high


def test_finished_images_update_the_forecast(home):
    """Half of the images are finished after 17 questions, half of these after two more."""
    items = list(home.questions.values_list("item", flat=True).distinct().order_by("item"))
    done = home.questions.filter(item__in=items[:24])
    Question.objects.filter(pk__in=done).update(state="settled", seats_free=0)
    for item in items[:12]:
        extra = home.questions.filter(item=item).order_by("pk")[:2]
        for number, question in enumerate(extra):
            question.pk, question.topic = None, f"more {number}"
            question.save(force_insert=True)
    question_counts.reconcile(home.pk)
    counts = question_counts.of_campaign(home.pk)

    forecast = forecasts.of_campaign(home, counts)

    assert forecast.likely == round(IMAGES * 18)
    assert counts.questions <= forecast.low <= forecast.likely <= forecast.high < LIKELY


def test_listed_questions_are_a_number_and_no_range(coots):
    state = progress.progress(coots)
    plan = progress.estimate_of(coots)

    assert plan.low.answers == plan.answers == plan.high.answers > 0
    assert state.answers_left_range == (state.answers_left,) * 2


@pytest.mark.parametrize("parents", [12, 13])
def test_a_question_under_many_parents_is_forecast_within_a_pages_time(parents):
    roots = [{"id": f"r{n}", "question": "Is it?"} for n in range(40)]
    chosen = random.Random(1)
    under = [
        {
            "id": f"l{n}",
            "question": "Is it?",
            "leaf": True,
            "parents": [f"r{index}" for index in chosen.sample(range(40), parents)],
        }
        for n in range(60)
    ]
    graph = question_graph.build({"nodes": roots + under})

    # The processor's time of this thread, which other work on the machine does not lengthen.
    start = time.thread_time()
    forecast = forecasts.per_image(graph, "strict")

    assert time.thread_time() - start < 30
    # As `simulate queries` has it.
    expected = {12: (41.58, 44.45, 56.83), 13: (41.62, 44.76, 58.47)}
    assert forecast == pytest.approx(expected[parents], rel=0.03)


@pytest.mark.parametrize("state", ["draft", "open"])
def test_the_page_that_is_read_again_and_again_counts_no_questions(home, alice, state):
    Campaign.objects.filter(pk=home.pk).update(state=state)
    client = Client()
    client.force_login(alice)

    with CaptureQueriesContext(connection) as captured:
        page = client.get("/campaigns/home/progress/")

    queries = [query["sql"] for query in captured]
    assert ("It needs about" in page.content.decode()) == (state == "draft")
    # One for the frame, one for the figures.
    assert len([sql for sql in queries if "labeling_questioncount" in sql]) == 2
    assert [sql for sql in queries if 'FROM "labeling_question"' in sql] == []


@pytest.mark.parametrize("as_named", [True, False])
def test_images_that_a_job_still_opens_are_added_to_those_with_questions(
    home, dataset, monkeypatch, as_named
):
    new = [f"new/{n}.png" for n in range(10)]
    for name in new:
        factories.make_image(dataset, name)
    monkeypatch.setattr(opening, "AT_ONCE", 0)

    # One of those that are named has its questions already.
    opening.open_images(home, [*new, "00.png"] if as_named else ())

    whole = forecasts.of_images(store.load_ilsvrc(), IMAGES + len(new))
    assert progress.count(home).forecast == whole


def test_a_pair_of_boxes_takes_several_steps():
    # One instance: drawn, checked, looked at for more, and by a second person.
    assert forecasts.of_pairs(3, 1.0).low == 12
    low, likely, high = forecasts.of_pairs(100, 0.7)
    assert low < likely < high
    assert likely == round(100 * (1.61 * 1.1 * 3 + 0.7))


def test_a_campaign_of_boxes_is_forecast_with_the_steps_to_come(alice, dataset):
    campaign = boxers.make(alice, dataset, images=3, policy={"second_looks": 1, "checks": 2})

    forecast = progress.count(campaign).forecast

    assert forecast == forecasts.of_pairs(3, 1.0)
    # A drawing and a look for more by one, a check by two.
    assert forecasts.estimate(forecast, policies.for_campaign(campaign)).low.answers == 16
    to_come = round((forecast.high - 3) * 4 / 3)
    assert progress.progress(campaign).answers_left_range == (3 + 12, 3 + to_come)
    assert question_counts.differences(campaign.pk) == {}
    boxers.work(campaign, boxers.people(campaign), whole)
    # Nothing more follows.
    progress_of_boxes = progress.progress(campaign)
    assert (progress_of_boxes.answers_left, progress_of_boxes.questions_range) == (
        0,
        (progress_of_boxes.questions, progress_of_boxes.questions),
    )
    assert question_counts.differences(campaign.pk) == {}


def whole(question, _):
    return {"draw": boxers.box(boxers.A), "check": "good", "cover": "complete"}[question.step]
