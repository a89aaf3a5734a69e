"""The demonstration's campaign of boxes: what was answered, what waits, and who finds it."""

import json

import pytest
from django.utils import translation

from annotator.demo import build, instances
from evaluation.models import Benchmark, Run
from labeling.assignment import claiming
from labeling.jobs import queue
from labeling.models import Campaign, Job, Question, User
from labeling.reports import boxes_page
from tests.annotator.pieces import ground


@pytest.fixture(scope="module")
def made(once):
    with once():
        return instances.load(*ground()).name


@pytest.fixture
def campaign(made, afresh) -> Campaign:
    return Campaign.objects.get(name=made)


def test_something_of_every_step_waits_for_bob(campaign):
    bob = User.objects.get(username="bob")

    seats = claiming.next_page(bob, campaign, 20).seats

    questions = Question.objects.filter(pk__in=[seat.question_id for seat in seats])
    waits = {(row.item.image.name, row.step) for row in questions.exclude(state="gold")}
    assert waits == {
        ("coins.png", "draw"),
        ("rocket.jpg", "check"),
        ("motorcycle_left.png", "cover"),
    }


def test_most_pairs_are_complete_and_a_loose_box_was_drawn_again(campaign):
    figures = boxes_page.figures(campaign)

    assert {row.words: row.count for row in figures.pairs if row.count} == {
        "Every instance has a box": 7,
        "Some have a box": 3,
    }
    again = campaign.questions.filter(content__rejected__isnull=False).select_related("item__image")
    assert [row.item.image.name for row in again] == ["coffee.png"]


def test_the_detector_that_is_least_off_finds_most(campaign):
    run = Benchmark.objects.get(name=instances.FOUND).runs.get()
    queue.run(Job.objects.get(kind="score", key=f"run {run.pk}").pk)
    run.refresh_from_db()
    assert run.state == Run.State.DONE, run.error

    scores = {row["name"]: row["result"]["mean_ap"] for row in run.result["submissions"]}
    values = [scores[name]["value"] for name in ("falcon", "heron", "owl")]
    assert values == sorted(values, reverse=True)
    assert values[0] > values[2] > 0
    assert len(scores["falcon"]["interval"]) == 2


def test_loading_twice_makes_nothing_new(campaign):
    before = campaign.questions.count()

    instances.load(*ground())

    assert campaign.questions.count() == before
    assert Benchmark.objects.filter(name=instances.FOUND).count() == 1


@pytest.mark.parametrize("language", ["de", "zh-hans"])
def test_its_title_is_that_of_its_kind_in_every_language(language):
    """Home says the kind's title beneath a campaign's, unless it is the same."""
    texts = json.loads((build.SOURCE / "texts.json").read_text(encoding="utf-8"))

    with translation.override(language):
        assert texts["demo-instances"][language]["title"] == translation.gettext(instances.TITLE)
