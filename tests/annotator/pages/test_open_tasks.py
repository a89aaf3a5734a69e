"""First steps and open tasks on the home page."""

import uuid

import pytest
from django.utils import timezone

from annotator.pages import open_tasks
from evaluation.models import Benchmark, Run, Submission
from labeling.answers import flagging
from labeling.assignment import claiming
from labeling.models import Dataset, Job, Settlement
from labeling.releases import freezing
from tests import factories
from tests.clients import html_of
from tests.labeling import crowd

pytestmark = pytest.mark.django_db


@pytest.fixture
def benchmark(coots, alice):
    return Benchmark.objects.create(
        name="ranks", title="Ranks", kind="mad", campaign=coots, created_by=alice
    )


def tasks_of(campaign):
    tasks = open_tasks.open_tasks(campaign.created_by, [campaign])
    return {(task.count, task.words): task.url for task in tasks}


def test_each_open_task_has_a_number_and_its_page(client, coots, alice, bob, benchmark):
    questions = factories.questions_of(coots)
    factories.put(coots, [questions[-1].pk], state="review", seats_free=0)
    Job.objects.create(kind="score", key="x", campaign=coots, state="failed", error="Full.")
    coots.memberships.filter(user=bob).update(standing={"reasons": [{"signal": "fast"}]})
    [seat, *_] = claiming.next_page(bob, coots).seats
    flagging.flag(bob, coots, uuid.uuid4(), seat.token, "It is upside down.")
    coots.gold_failing = 3
    Submission.objects.create(benchmark=benchmark, name="a", position=0, submitted_by=bob)
    now = timezone.now()
    for state in ("done", "done", "failed"):
        Run.objects.create(benchmark=benchmark, state=state, finished_at=now)
    Run.objects.create(benchmark=benchmark, state="done", finished_at=now, requested_by=alice)
    Submission.objects.create(benchmark=benchmark, name="b", position=1, submitted_by=alice)
    Run.objects.create(benchmark=benchmark, state="done", finished_at=now - open_tasks.NEW * 2)

    urls = tasks_of(coots)

    assert set(urls) >= {
        (1, "question to review"),
        (1, "failed job"),
        (1, "annotator to check"),
        (1, "flag to answer"),
        (3, "gold questions that most people fail"),
        (1, "failed score"),
        (1, "new submission"),
        (2, "new scores"),
    }
    client.force_login(alice)
    pages = [url for url in urls.values() if url.startswith("/campaigns/")]
    assert [client.get(url).status_code for url in pages] == [200] * len(pages)


def test_counts_of_questions_are_those_of_the_counters(coots):
    for user in crowd.people(coots, 5):
        crowd.answer_all(user, coots, "yes")
    pages = {words: url for (_, words), url in tasks_of(coots).items()}

    assert pages == {"questions settled: freeze a release": "/campaigns/coots/releases/"}


def test_settled_questions_wait_for_a_release_until_it_has_their_newest_settlements(coots, alice):
    for user in crowd.people(coots, 5):
        crowd.answer_all(user, coots, "yes")
    task = (coots.questions.count(), "questions settled: freeze a release")
    freezing.freeze(coots, alice, interim=True)
    assert task in tasks_of(coots)
    freezing.freeze(coots, alice)
    assert task not in tasks_of(coots)

    newest = Settlement.objects.filter(question__campaign=coots).latest("pk")
    newest.pk, newest.value = None, "no"
    newest.save()

    assert task in tasks_of(coots)


def test_archived_benchmarks_and_datasets_ask_for_nothing(coots, alice, bob, dataset, benchmark):
    Submission.objects.create(benchmark=benchmark, name="a", position=0, submitted_by=bob)
    Run.objects.create(benchmark=benchmark, state="failed", finished_at=timezone.now())
    assert (1, "failed score") in tasks_of(coots)

    Benchmark.objects.update(archived_at=timezone.now())
    Dataset.objects.update(archived_at=timezone.now())

    assert not {words for _, words in tasks_of(coots)} & {"failed score", "new submission"}
    photographs = open_tasks.first_steps(alice, [])[0]
    assert (photographs.is_done, photographs.url) == (False, "/datasets/new/")


def test_campaign_with_few_free_questions_runs_dry(coots):
    [(count, words)] = tasks_of(coots)

    assert (count, words) == (coots.questions.count(), "free questions left: add questions")


def test_checked_annotators_and_answered_flags_are_no_tasks(coots, alice, bob):
    [seat, *_] = claiming.next_page(bob, coots).seats
    flag = flagging.flag(bob, coots, uuid.uuid4(), seat.token, "It is upside down.")
    flagging.reply(coots, flag.pk, alice, "Thanks.")
    coots.memberships.filter(user=bob).update(standing={"reasons": []})

    assert [words for _, words in tasks_of(coots)] == ["free questions left: add questions"]


def test_home_counts_with_the_same_queries_for_one_campaign_and_for_five(
    client, alice, dataset, django_assert_max_num_queries
):
    for index in range(5):
        factories.make_campaign(alice, dataset, f"c{index}", images=1)
    client.force_login(alice)

    with django_assert_max_num_queries(22):
        client.get("/")


def test_first_steps_are_ticked_one_after_the_next(alice, dataset, coots, bob):
    done = [step.name for step in open_tasks.first_steps(alice, [coots]) if step.is_done]

    assert done == ["Photographs", "Classes or predictions", "Campaign", "People"]


def test_first_steps_end_with_a_score(alice, coots, benchmark):
    Run.objects.create(benchmark=benchmark, state="done")

    assert open_tasks.first_steps(alice, [coots]) == []


def test_an_empty_home_links_only_the_steps_that_can_be_done(client, charlie):
    charlie.is_researcher = True
    charlie.save()
    steps = open_tasks.first_steps(charlie, [])

    assert [bool(step.url) for step in steps] == [True, False, False, False, False, False]
    client.force_login(charlie)
    assert "Try the demonstration data" in html_of(client.get("/"))


def test_annotators_see_neither_steps_nor_tasks(client, bob, coots):
    client.force_login(bob)

    page = html_of(client.get("/"))

    assert "First steps" not in page
    assert "Open tasks" not in page


def test_demonstration_photographs_are_added_once_for_each_researcher(client, alice):
    client.force_login(alice)
    for _ in range(2):
        response = client.post("/photographs/")

    dataset = Dataset.objects.get(name=f"photographs-{alice.pk}")
    assert response.url == f"/datasets/{dataset.name}/"
    assert dataset.owner == alice
    assert dataset.images.count() == 19


def test_annotators_may_not_add_demonstration_photographs(client, bob, coots):
    client.force_login(bob)

    assert client.post("/photographs/").status_code == 403
    assert not Dataset.objects.filter(name__startswith="photographs").exists()
