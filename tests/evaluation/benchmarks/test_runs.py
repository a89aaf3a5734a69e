"""From settled answers to the published rank."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.sessions.models import Session
from django.utils import timezone

from evaluation import tasks
from evaluation.benchmarks import runs
from evaluation.benchmarks.kinds.mad import competitions
from evaluation.devices import versions
from evaluation.metrics.mad import ranking
from evaluation.models import Benchmark, Run
from labeling.errors import Conflict
from labeling.jobs import queue
from labeling.models import Campaign, Job, Question, Release
from labeling.quality import monitoring
from labeling.releases import freezing
from tests import factories
from tests.clients import html_of, text_of
from tests.evaluation import crowd
from tests.evaluation.crowd import COOT, DRAKE


@pytest.fixture
def settled(birds, people) -> Benchmark:
    """Everything is answered: alpha always right, beta too, gamma never."""
    crowd.answer(birds.campaign, people, crowd.right_is(COOT, DRAKE))
    return birds


def finished_run(benchmark: Benchmark, run_jobs, actor=None, **options) -> Run:
    run = runs.request(benchmark, actor, **options)
    run_jobs()
    run.refresh_from_db()
    return run


def counts_of(night):
    """Return what a night settled, froze and scored."""
    return {key: night[key] for key in ("settled", "releases", "runs")}


def test_a_run_freezes_ranks_and_keeps_the_result(settled, alice, run_jobs):
    run = finished_run(settled, run_jobs, alice)

    assert run.state == Run.State.DONE
    assert run.release == settled.campaign.releases.get()
    assert run.result["classifiers"] == ["alpha", "beta", "gamma"]
    assert run.result["ranks"] == [1.5, 1.5, 3]
    # alpha and beta right on their 3 images, Laplace: 4 / 5.
    assert run.result["accuracy"][0][1] == pytest.approx(0.8)
    assert run.result["accuracy"][2][0] == pytest.approx(0.2)
    assert run.result["cases"] == {"I": 3, "II": 6, "III": 0}
    assert run.result["pending"] == 0
    assert run.result["release"]["sha256"] == run.release.sha256
    assert (run.result["device"], run.result["versions"]) == ("cpu", versions())


def test_result_is_what_ranking_the_frozen_files_gives(settled, run_jobs):
    run = finished_run(settled, run_jobs)

    frozen = freezing.read(run.release)
    answers = {(line["image"], line["wnid"]): line["contains"] for line in frozen.answers()}
    selection = competitions.selection_of(settled)
    expected = ranking.rank(
        selection.lines, answers, selection.classifiers, selection.top_k, bootstrap=50
    ).to_json()

    for key in ("accuracy", "dominance", "scores", "ranks", "rank_intervals", "hodge", "cases"):
        assert run.result[key] == expected[key], key


def test_result_is_strict_json(settled, run_jobs):
    settled.settings["bootstrap"] = 0
    settled.save()

    run = finished_run(settled, run_jobs)

    # Without bootstrap rounds the intervals are not numbers: null, never NaN.
    assert run.result["rank_intervals"] == [[None, None]] * 3
    json.dumps(run.result, allow_nan=False)


def test_unsettled_images_are_left_out_and_counted(birds, people, run_jobs):
    answer = crowd.right_is(COOT, DRAKE)
    crowd.answer(
        birds.campaign, people, lambda i, t: None if i == "alpha-beta-2.png" else answer(i, t)
    )

    run = finished_run(birds, run_jobs)

    assert run.result["pending"] == 1
    assert [pair["images"] for pair in run.result["pairs"]] == [2, 3, 3]


def test_dropped_images_and_their_replacements_are_ranked_as_they_stand(birds, people, run_jobs):
    right = crowd.right_is(COOT, DRAKE)

    def decide(image, topic):
        return "hard" if (image, topic) == ("alpha-beta-2.png", COOT) else right(image, topic)

    crowd.answer(birds.campaign, people, decide)
    run_jobs()
    crowd.answer(birds.campaign, people, decide)

    run = finished_run(birds, run_jobs)

    pair = run.result["pairs"][0]
    assert (pair["images"], pair["dropped"], pair["pending"]) == (3, 1, 0)


def test_no_ranking_yet_fails_the_run_with_its_reason_and_not_the_job(birds, run_jobs):
    run = finished_run(birds, run_jobs)

    assert run.state == Run.State.FAILED
    assert "no comparison joins the groups (alpha), (beta) and (gamma)" in run.error
    assert Job.objects.get(kind="score").state == Job.State.DONE


def test_nothing_settled_is_not_scored_and_freezes_nothing(birds, alice):
    with pytest.raises(Conflict, match="no image has both of its questions settled"):
        runs.score_now(birds, alice)
    assert not runs.has_changed(birds)

    assert not birds.runs.exists()
    assert not birds.campaign.releases.exists()


def test_the_classifiers_that_nothing_joins_are_named(birds, people):
    crowd.answer(
        birds.campaign,
        people,
        lambda image, topic: "yes" if image.startswith("alpha-beta") else None,
    )

    assert "no settled image connects alpha, beta | gamma." in runs.obstacle(birds)
    # Neither the clock nor the night leaves a failed run.
    assert runs.rescore_changed() == []


def test_a_question_of_two_is_nothing_to_compare(birds, people):
    crowd.answer(birds.campaign, people, lambda image, topic: "yes" if topic == COOT else None)

    assert runs.obstacle(birds).startswith("No classifiers can be compared yet")


def test_another_failure_is_kept_on_the_run_and_fails_the_job(settled, run_jobs, monkeypatch):
    def fail(*_args, **_options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(freezing, "freeze", fail)
    run = runs.request(settled)
    for _ in range(queue.MAX_FAILURES):
        queue.run(Job.objects.get(kind="score").pk)

    run.refresh_from_db()
    assert run.state == Run.State.FAILED
    assert run.error == "The disk is full. Free some space, then try again."
    assert Job.objects.get(kind="score").state == Job.State.FAILED


def test_a_run_that_failed_succeeds_when_its_job_is_tried_again(
    settled, alice, run_jobs, monkeypatch
):
    with monkeypatch.context() as broken:
        broken.setattr(freezing, "freeze", lambda *_a, **_o: 1 / 0)
        run = runs.request(settled)
        for _ in range(queue.MAX_FAILURES):
            queue.run(Job.objects.get(kind="score").pk)

    queue.retry(Job.objects.get(kind="score"), alice)
    run_jobs()

    run.refresh_from_db()
    assert run.state == Run.State.DONE
    assert run.error == ""


def test_executing_twice_keeps_the_first_result(settled, run_jobs):
    run = finished_run(settled, run_jobs)
    Run.objects.filter(pk=run.pk).update(result={"kept": True})

    runs.execute(Job.objects.get(kind="score"))

    run.refresh_from_db()
    assert run.result == {"kept": True}


def test_asking_twice_makes_one_run(settled, alice):
    assert runs.request(settled, alice) == runs.request(settled, alice)

    assert Job.objects.filter(kind="score").count() == 1


def test_accuracies_are_compared_once_every_classifier_has_one(settled, run_jobs):
    competitions.set_accuracies(settled, {"alpha": 70.0, "beta": 60.0})
    assert "spearman" not in finished_run(settled, run_jobs).result

    competitions.set_accuracies(settled, {"gamma": 80.0})
    result = finished_run(settled, run_jobs).result

    assert result["accuracy_ranks"] == [2, 3, 1]
    assert result["rank_changes"] == [0.5, 1.5, -2]
    assert result["spearman"] == pytest.approx(-0.8660, abs=1e-4)


def test_clock_scores_what_settled_and_not_what_did_not(birds, people, run_jobs, settings):
    settings.ASSAY_RESCORE_SECONDS = 0
    assert runs.rescore_changed() == []

    crowd.answer(birds.campaign, people, crowd.right_is(COOT))
    [run] = runs.rescore_changed()
    run_jobs()

    assert runs.rescore_changed() == []
    run.refresh_from_db()
    assert run.state == Run.State.DONE
    assert run.settings["interim"] is True


def test_clock_waits_between_two_scores(birds, people, run_jobs, settings):
    settings.ASSAY_RESCORE_SECONDS = 60
    right = crowd.right_is(COOT)
    crowd.answer(birds.campaign, people, lambda i, t: right(i, t) if i == "shared.png" else None)
    runs.rescore_changed()
    run_jobs()
    crowd.answer(birds.campaign, people, right)

    assert runs.rescore_changed() == []
    Run.objects.update(created_at=timezone.now() - timedelta(seconds=61))
    assert len(runs.rescore_changed()) == 1


def test_interim_runs_do_not_pile_up(client, birds, alice, people, run_jobs, settings):
    settings.ASSAY_RESCORE_SECONDS = 0
    right = crowd.right_is(COOT)
    for images in (("shared.png",), ("alpha-beta-2.png",), ("alpha-gamma-2.png",)):
        crowd.answer(
            birds.campaign, people, lambda i, t, images=images: right(i, t) if i in images else None
        )
        runs.rescore_changed()
        run_jobs()

    assert Run.objects.filter(state="done").count() == 1
    assert [release.number for release in Release.objects.all()] == [3]
    # What was replaced keeps its number, date and hash, on a page.
    replaced = birds.campaign.replaced_releases.order_by("number")
    assert [(row.number, row.replaced_by) for row in replaced] == [(1, 2), (2, 3)]
    client.force_login(alice)
    page = html_of(client.get(f"/campaigns/{birds.campaign.name}/releases/"))
    assert replaced[0].sha256 in page
    gone = client.get(f"/api/v1/campaigns/{birds.campaign.name}/releases/1/")
    assert gone.status_code == 404
    assert "release 2 replaced it" in html_of(gone)


def test_a_run_that_somebody_asked_for_stays(birds, people, alice, run_jobs, settings):
    settings.ASSAY_RESCORE_SECONDS = 0
    right = crowd.right_is(COOT)
    crowd.answer(birds.campaign, people, lambda i, t: right(i, t) if i == "shared.png" else None)
    kept = finished_run(birds, run_jobs, alice)
    crowd.answer(birds.campaign, people, right)
    runs.rescore_changed()
    run_jobs()

    assert Run.objects.filter(pk=kept.pk).exists()
    assert freezing.read(kept.release).meta["number"] == 1
    assert Release.objects.count() == 2


def test_asking_for_what_the_clock_queued_makes_it_ones_own(settled, alice, run_jobs):
    queued = runs.request(settled, interim=True)

    mine = runs.request(settled, alice)
    run_jobs()

    mine.refresh_from_db()
    assert mine == queued
    assert mine.requested_by == alice
    assert mine.release.counts["interim"] is False


def test_night_settles_freezes_and_scores_what_changed(settled):
    assert counts_of(runs.nightly()) == {"settled": 0, "releases": 1, "runs": 1}

    assert runs.latest(settled).result["ranks"] == [1.5, 1.5, 3]
    assert counts_of(runs.nightly()) == {"settled": 0, "releases": 0, "runs": 0}


def test_night_keeps_what_the_clock_made_by_day(settled, run_jobs):
    runs.rescore_changed()
    run_jobs()

    counts = counts_of(runs.nightly())

    assert counts == {"settled": 0, "releases": 0, "runs": 1}
    assert Release.objects.get().counts["interim"] is False
    assert [run.settings["interim"] for run in Run.objects.all()] == [False]


def test_night_counts_questions_settled_since_the_kept_run(birds, people, run_jobs, as_alice):
    def changed():
        [row] = runs.nightly()["benchmarks"]
        return row["changed"], row["run"] is not None

    answer = crowd.right_is(COOT)
    pairs = {("shared.png", COOT), ("shared.png", DRAKE)}
    crowd.answer(birds.campaign, people, lambda *pair: answer(*pair) if pair in pairs else None)
    assert changed() == (2, False)
    text = text_of(as_alice.get("/nightly/"))
    assert "2 questions" in text
    assert "cannot be scored yet" in text
    left = ("beta-gamma-3.png", DRAKE)
    crowd.answer(birds.campaign, people, lambda *pair: None if pair == left else answer(*pair))
    count = birds.campaign.questions.filter(state="settled").count()
    assert changed() == (count, True)
    crowd.answer(birds.campaign, people, answer)
    # An interim run of the day does not count.
    finished_run(birds, run_jobs, interim=True)

    assert changed() == (1, True)
    assert changed() == (0, False)


def test_night_settles_what_a_crash_left_open(birds, people):
    crowd.answer(birds.campaign, people, crowd.right_is(COOT))
    question = birds.campaign.questions.filter(state="settled").first()
    question.settlements.all().delete()
    Question.objects.filter(pk=question.pk).update(state="open")

    counts = counts_of(runs.nightly())

    question.refresh_from_db()
    assert counts["settled"] == 1
    assert question.state == "settled"


def test_night_freezes_campaigns_without_a_benchmark_too(coots, people):
    for person in people:
        factories.join(person, coots)
    crowd.answer(coots, people, lambda image, topic: "yes")

    counts = counts_of(runs.nightly())

    assert counts["releases"] == 1
    assert coots.releases.count() == 1


def test_a_night_is_a_job_for_each_campaign_and_step_and_starts_once(settled):
    night = runs.start_night()
    assert runs.start_night() == night
    nightly = Job.objects.filter(kind="nightly")
    first = nightly.get()
    assert (first.campaign, first.payload["step"]) == (settled.campaign, "settle")

    queue.run_all()
    assert queue.run(first.pk) is None
    Session.objects.create(session_key="ended", expire_date=timezone.now() - timedelta(days=1))
    tasks.nightly()
    queue.run_all()
    assert not Session.objects.filter(session_key="ended").exists()

    assert [job.payload["step"] for job in nightly.order_by("pk")] == [
        "settle",
        "watch",
        "calibrate",
        "audit",
        "freeze",
        "score",
    ]
    assert set(Job.objects.values_list("state", flat=True)) == {"done"}
    assert settled.campaign.releases.count() == 1
    assert settled.runs.count() == 1
    runs.start_night("the night after")
    assert nightly.filter(state="queued").count() == 1


@pytest.mark.parametrize(
    ("hour", "late"),
    [
        (0, timedelta(minutes=-4)),
        (2, timedelta(0)),
        (23, timedelta(hours=13)),
        (2, timedelta(hours=23)),
    ],
)
def test_a_late_round_is_of_the_night_that_was_due_and_the_next_has_its_own(
    settled, settings, monkeypatch, hour, late
):
    settings.ASSAY_NIGHTLY_HOUR = hour
    due = datetime(2026, 11, 22, hour, tzinfo=UTC)
    monkeypatch.setattr(runs.timezone, "now", lambda: due + late)
    assert runs.start_night() == "2026-11-22"

    monkeypatch.setattr(runs.timezone, "now", lambda: due + timedelta(days=1))
    assert runs.start_night() == "2026-11-23"


def test_the_night_takes_only_the_steps_that_can_change_a_closed_campaign(settled):
    Campaign.objects.update(state=Campaign.State.CLOSED)

    assert counts_of(runs.nightly()) == {"settled": 0, "releases": 1, "runs": 1}

    jobs = Job.objects.filter(kind="nightly").order_by("pk")
    assert [job.payload["step"] for job in jobs] == ["settle", "freeze", "score"]


def test_the_night_draws_the_audit_that_the_campaign_asks_for(settled):
    runs.nightly()
    assert not settled.campaign.audits.exists()
    Campaign.objects.update(nightly_audit=2)

    runs.nightly()

    assert settled.campaign.audits.count() == 2


def test_the_night_removes_its_done_jobs_of_more_than_a_week_ago(settled):
    runs.nightly()
    old = Job.objects.filter(kind="nightly")
    failed = old.get(payload__step="watch")
    Job.objects.filter(pk=failed.pk).update(state=Job.State.FAILED)
    Job.objects.update(finished_at=timezone.now() - timedelta(days=8))
    recent = old.get(payload__step="freeze")
    Job.objects.filter(pk=recent.pk).update(finished_at=timezone.now() - timedelta(days=6))

    runs.start_night("a week later")

    kept = old.exclude(key__endswith="a week later")
    assert set(kept) == {failed, recent}
    assert Job.objects.filter(kind="score", state="done").exists()


def test_a_step_that_fails_holds_up_neither_the_next_nor_another_campaign(
    settled, alice, dataset, monkeypatch
):
    failing_campaign = factories.make_campaign(alice, dataset, "aaa", images=1)
    watch_all = monitoring.watch_all
    watched = []

    def fragile(campaign):
        watched.append(campaign)
        if campaign == failing_campaign:
            raise RuntimeError("broken")
        return watch_all(campaign)

    monkeypatch.setattr(monitoring, "watch_all", fragile)

    night = runs.nightly()

    assert counts_of(night) == {"settled": 0, "releases": 1, "runs": 1}
    [step] = night["failed"]
    assert (step["campaign"], step["step"]) == (failing_campaign.name, "watch")
    assert (step["reason"], "jobs retry" in step["cure"]) == ("RuntimeError: broken", True)
    assert set(watched) == {failing_campaign, settled.campaign}
    steps = failing_campaign.jobs.filter(kind="nightly").order_by("pk")
    assert [(job.payload["step"], job.state) for job in steps] == [
        ("settle", "done"),
        ("watch", "queued"),
        ("calibrate", "done"),
        ("audit", "done"),
        ("freeze", "done"),
    ]
    assert steps[1].error == "RuntimeError: broken"


@pytest.fixture
def clock(monkeypatch):
    """What another worker does while somebody waits: the next of these at each look."""
    actions: list = []

    def look(_seconds):
        assert actions, "it waits for ever"
        actions.pop(0)()

    monkeypatch.setattr(runs.time, "sleep", look)
    return actions


@pytest.mark.parametrize("step", ["settle", "freeze", "score", "run"])
def test_the_command_waits_for_what_a_worker_of_the_site_does(settled, monkeypatch, clock, step):
    claim = queue.claim
    taken = []

    def claim_beside_a_worker(pk):
        job = Job.objects.get(pk=pk)
        if not taken and step == ("run" if job.kind == "score" else job.payload.get("step")):
            taken.append(claim(pk))
            return None
        return claim(pk)

    def work():
        [job] = taken
        queue._handler(job.kind)(job)
        queue.finish(job)

    monkeypatch.setattr(queue, "claim", claim_beside_a_worker)
    clock.append(work)

    assert counts_of(runs.nightly()) == {"settled": 0, "releases": 1, "runs": 1}
    assert not clock


def worked_on(campaign: Campaign, kind: str) -> Job:
    """A job that a worker has begun."""
    return Job.objects.create(
        kind=kind,
        key="x",
        campaign=campaign,
        state="running",
        claim="a worker's",
        leased_until=timezone.now() + timedelta(days=1),
    )


@pytest.mark.parametrize(
    "kind", ["advance", "calibrate", "look again", "question dropped", "watch"]
)
def test_the_night_freezes_after_what_still_settles_or_watches(settled, clock, kind):
    work = worked_on(settled.campaign, kind)

    def end():
        assert not settled.campaign.releases.exists()
        freeze = Job.objects.get(kind="nightly", payload__step="freeze")
        assert (freeze.state, freeze.attempts, freeze.error) == ("queued", 0, "")
        Job.objects.filter(pk=work.pk).update(state="done", claim="")

    clock.append(end)

    assert counts_of(runs.nightly()) == {"settled": 0, "releases": 1, "runs": 1}
    assert not clock


@pytest.mark.parametrize("state", ["failed", "queued"])
def test_work_that_failed_does_not_hold_up_the_freeze(settled, monkeypatch, state):
    def fail(_job):
        raise RuntimeError("broken")

    monkeypatch.setattr(monitoring, "execute", fail)
    Job.objects.create(
        kind="watch", key="1:1", campaign=settled.campaign, state=state, error="broken"
    )

    assert runs.nightly()["releases"] == 1


def test_the_freeze_does_not_wait_for_ever(settled, clock):
    worked_on(settled.campaign, "watch")
    clock.append(
        lambda: Job.objects.filter(payload__step="freeze").update(
            created_at=timezone.now() - runs.FREEZE_PATIENCE
        )
    )

    assert runs.nightly()["releases"] == 1


def test_drafts_are_left_alone_by_clock_and_night(alice, dataset, wordnet):
    crowd.make(alice, dataset, wordnet, launch=False)

    assert runs.rescore_changed() == []
    assert counts_of(runs.nightly()) == {"settled": 0, "releases": 0, "runs": 0}


def test_a_run_whose_worker_died_for_good_fails_and_holds_up_no_other(settled, settings):
    settings.ASSAY_RESCORE_SECONDS = 0
    run = runs.request(settled)
    Run.objects.filter(pk=run.pk).update(state=Run.State.RUNNING)
    Job.objects.filter(kind="score").update(state=Job.State.FAILED, error="The worker died.")

    [again] = runs.rescore_changed()

    run.refresh_from_db()
    assert (run.state, run.error) == (Run.State.FAILED, "The worker died.")
    assert again != run


def test_night_leaves_no_run_where_nothing_can_be_compared(birds, people):
    right = crowd.right_is(COOT)
    crowd.answer(
        birds.campaign, people, lambda i, t: right(i, t) if i == "alpha-beta-2.png" else None
    )

    counts = counts_of(runs.nightly())

    assert not Run.objects.exists()
    assert counts == {"settled": 0, "releases": 1, "runs": 0}
