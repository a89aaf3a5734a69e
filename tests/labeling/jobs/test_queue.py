"""Enqueue, claim, renew, finish, fail, retry, sweep."""

import threading
from contextlib import suppress
from datetime import timedelta
from functools import partial

import pytest
from django.db import connection, transaction
from django.utils import timezone

from labeling.errors import Conflict, Refusal, StoreUnreachable
from labeling.jobs import queue
from labeling.models import Job
from tests.labeling.crowd import at_once

SEEN: list[int] = []


def note(job: Job) -> None:
    SEEN.append(job.pk)


def crash(job: Job) -> None:
    raise RuntimeError("the scale is broken")


def refuse(job: Job) -> None:
    raise Refusal("The file is empty.")


def full(job: Job) -> None:
    raise OSError(28, "No space left on device")


def too_early(job: Job) -> None:
    raise queue.TooEarly


def without_engine(job: Job) -> None:
    raise StoreUnreachable("The object store does not answer (503).")


def lose_lease(job: Job) -> None:
    Job.objects.filter(pk=job.pk).update(claim="another worker")


@pytest.fixture(autouse=True)
def handlers(settings):
    SEEN.clear()
    names = ("note", "crash", "refuse", "full", "lose_lease", "too_early", "without_engine")
    settings.ASSAY_JOB_HANDLERS = {name: f"{__name__}.{name}" for name in names}


@pytest.fixture
def sent(monkeypatch) -> list[int]:
    """Ids that were handed to the broker."""
    ids: list[int] = []

    def take(name, args, **_):
        assert name == "labeling.run_job"
        ids.extend(args)

    monkeypatch.setattr(queue.current_app, "send_task", take)
    monkeypatch.setattr(queue, "_broker_rests_until", 0.0)
    return ids


def make(**fields) -> Job:
    return Job.objects.create(**{"kind": "note", "key": "a", **fields})


def ago(**delta):
    return timezone.now() - timedelta(**delta)


# Enqueue


def test_the_id_is_sent_only_when_the_transaction_is_committed(
    sent, db, django_capture_on_commit_callbacks
):
    with django_capture_on_commit_callbacks(execute=True):
        job = queue.enqueue("note", "a", {"x": 1})
        assert sent == []

    assert sent == [job.pk]
    assert job.payload == {"x": 1}


@pytest.mark.django_db(transaction=True)
def test_a_transaction_that_is_rolled_back_leaves_no_job_and_sends_nothing(sent):
    with suppress(ValueError), transaction.atomic():
        queue.enqueue("note", "a")
        raise ValueError("the action failed after all")

    assert not Job.objects.exists()
    assert sent == []


def test_the_same_work_is_queued_once(db, sent, django_capture_on_commit_callbacks):
    with django_capture_on_commit_callbacks(execute=True):
        first = queue.enqueue("note", "a")
        second = queue.enqueue("note", "a")
        second_job = queue.enqueue("note", "b")

    assert first.pk == second.pk != second_job.pk
    assert sent == [first.pk, second_job.pk]


def test_work_that_runs_already_is_queued_again(db):
    running = make(state="running", claim="x", leased_until=timezone.now() + timedelta(hours=1))

    again = queue.enqueue("note", "a")

    assert again.pk != running.pk


def test_a_broker_that_is_away_fails_no_request(
    db, monkeypatch, django_capture_on_commit_callbacks
):
    calls = []

    def refuse_connection(*args, **kwargs):
        calls.append(args)
        raise ConnectionRefusedError("no broker")

    monkeypatch.setattr(queue.current_app, "send_task", refuse_connection)
    monkeypatch.setattr(queue, "_broker_rests_until", 0.0)

    with django_capture_on_commit_callbacks(execute=True):
        queue.enqueue("note", "a")
        queue.enqueue("note", "b")

    assert Job.objects.filter(state="queued").count() == 2
    assert len(calls) == 1  # the second request does not wait for the same broker


# Claim, renew, finish


def test_a_job_is_claimed_once(db):
    job = make()

    first, second = queue.claim(job.pk), queue.claim(job.pk)

    assert second is None
    assert first.attempts == 1


def test_a_job_under_lease_cannot_be_claimed_and_an_abandoned_one_can(db):
    leased = make(state="running", claim="x", leased_until=timezone.now() + timedelta(minutes=1))
    expired = make(state="running", claim="x", leased_until=ago(seconds=1))
    swept = make(state="running", claim="", leased_until=timezone.now() + timedelta(minutes=1))

    assert queue.claim(leased.pk) is None
    assert queue.claim(expired.pk) is not None
    assert queue.claim(swept.pk) is not None


@pytest.mark.parametrize("hours", [-5, 5])
def test_leases_follow_the_clock_of_the_database_not_of_the_machine(db, monkeypatch, hours):
    clock = timezone.now
    lost = make(key="lost", state="running", claim="x", leased_until=ago(seconds=1))
    alive = make(key="alive", state="running", claim="x", leased_until=ago(seconds=-60), attempts=1)
    monkeypatch.setattr(queue.timezone, "now", lambda: clock() + timedelta(hours=hours))
    monkeypatch.setattr(queue, "_send", lambda *_: True)

    job = queue.claim(make(key="claimed").pk)
    leases = [job.leased_until]
    assert queue.claim(alive.pk) is None
    assert queue.sweep()["sent"] == 1
    for change in (lambda: queue.renew(job, 1, 1), lambda: queue.renew_child(job, "")):
        change()
        job.refresh_from_db()
        leases.append(job.leased_until)
    for key in ("queued", "claimed"):
        if key == "queued":
            queue.enqueue("note", key)
        else:
            queue.fail(job, "again")
        leases.append(Job.objects.get(key=key).leased_until)
    lost.refresh_from_db()
    leases.append(lost.leased_until)

    late = clock() + timedelta(hours=1)
    assert all(clock() - timedelta(minutes=1) < lease < late for lease in leases), leases


@pytest.mark.parametrize("state", ["done", "failed"])
def test_a_job_that_has_ended_cannot_be_claimed(db, state):
    assert queue.claim(make(state=state).pk) is None


def test_a_worker_that_lost_its_lease_can_neither_renew_finish_nor_fail(db):
    job = make()
    slow = queue.claim(job.pk)
    Job.objects.filter(pk=job.pk).update(leased_until=ago(seconds=1))
    quick = queue.claim(job.pk)

    with pytest.raises(queue.LeaseLost):
        queue.renew(slow)
    with pytest.raises(queue.LeaseLost):
        queue.finish(slow)
    with pytest.raises(queue.LeaseLost):
        queue.fail(slow, "too late")
    queue.finish(quick)

    job.refresh_from_db()
    assert (job.state, job.error, job.attempts) == ("done", "", 2)
    with pytest.raises(queue.LeaseLost):
        queue.finish(quick)


def test_renewing_keeps_the_lease_and_tells_how_far_the_work_is(db, settings):
    job = queue.claim(make().pk)
    before = job.leased_until
    settings.ASSAY_JOB_LEASE_SECONDS = 600

    queue.renew(job, done=3, total=10)

    job.refresh_from_db()
    assert (job.progress_done, job.progress_total) == (3, 10)
    assert job.leased_until > before + timedelta(seconds=500)


def test_frequent_renewals_are_written_once_a_second_and_the_last_one_always(
    db, django_assert_num_queries
):
    job = queue.claim(make().pk)

    with django_assert_num_queries(2):
        for done in range(1, 101):
            queue.renew(job, done=done, total=100)

    job.refresh_from_db()
    assert job.progress_done == 100


# Run and fail


def test_running_calls_the_handler_once_and_finishes_however_often_a_message_comes(db):
    job = queue.run(make().pk)

    assert queue.run(job.pk) is None
    assert queue.run(12345) is None
    assert [job.pk] == SEEN
    job.refresh_from_db()
    assert job.state == "done"
    assert job.finished_at is not None


def test_a_failure_keeps_its_reason_and_is_tried_a_bounded_number_of_times(db, caplog):
    job = make(kind="crash")

    queue.run(job.pk)
    job.refresh_from_db()
    assert job.state == "queued"
    assert job.leased_until > timezone.now()
    for _ in range(5):
        queue.run(job.pk)

    job.refresh_from_db()
    assert (job.state, job.attempts) == ("failed", queue.MAX_FAILURES)
    assert job.error == "RuntimeError: the scale is broken"
    assert "Traceback" in caplog.text


@pytest.mark.parametrize(
    ("kind", "state", "error"),
    [
        ("refuse", "failed", "The file is empty."),
        ("juggling", "failed", "No handler for jobs of the kind 'juggling'."),
        ("full", "queued", "The disk is full. Free some space, then try again."),
    ],
)
def test_what_the_domain_refuses_is_not_tried_again_and_says_why(db, kind, state, error):
    job = make(kind=kind)

    queue.run(job.pk)

    job.refresh_from_db()
    assert (job.state, job.attempts) == (state, 1)
    assert job.error.startswith(error)


def test_work_that_must_come_later_waits_and_spends_no_attempt(db):
    job = make(kind="too_early")
    for _ in range(queue.MAX_FAILURES + 1):
        queue.run(job.pk)

    job.refresh_from_db()
    assert (job.state, job.claim, job.attempts, job.error) == ("queued", "", 0, "")
    assert job.leased_until > timezone.now()


@pytest.mark.parametrize(
    ("waited", "pause"),
    [
        (timedelta(), queue.UNREACHABLE_PAUSE),
        (timedelta(minutes=5), timedelta(minutes=5)),
        (timedelta(hours=5), queue.MAX_PATIENCE),
    ],
)
def test_work_without_its_store_waits_ever_longer_and_spends_no_attempt(db, waited, pause):
    job = make(kind="without_engine", waits_since=timezone.now() - waited if waited else None)

    queue.run(job.pk)
    job.refresh_from_db()

    assert (job.state, job.claim, job.attempts) == ("queued", "", 0)
    assert job.error == "The object store does not answer (503)."
    assert abs(job.leased_until - timezone.now() - pause) < timedelta(seconds=10)
    assert abs(timezone.now() - waited - job.waits_since) < timedelta(seconds=10)


def test_work_without_its_store_is_given_up_after_a_day_until_a_person_asks(db, alice):
    job = make(kind="without_engine", waits_since=timezone.now() - queue.LONGEST_OUTAGE)

    queue.run(job.pk)
    job.refresh_from_db()

    assert (job.state, job.leased_until) == ("failed", None)
    assert job.error == (
        f"It waited for the object store since {job.waits_since:%Y-%m-%d %H:%M} UTC: "
        "The object store does not answer (503)."
    )
    assert queue.retry(job, alice).waits_since is None


def test_a_store_that_was_back_in_between_is_waited_for_anew(db):
    job = make(kind="crash", waits_since=timezone.now() - queue.LONGEST_OUTAGE)

    queue.run(job.pk)
    job.refresh_from_db()

    assert (job.state, job.waits_since) == ("queued", None)


def test_a_failure_gives_way_to_the_same_work_queued_meanwhile(db):
    job = queue.claim(make(kind="crash").pk)
    newer = queue.enqueue("crash", "a")

    queue.fail(job, RuntimeError("x"))

    job.refresh_from_db()
    assert job.state == "failed"
    assert Job.objects.get(state="queued").pk == newer.pk


def test_a_result_that_comes_after_the_lease_went_to_another_changes_nothing(db, caplog):
    job = make(kind="lose_lease")

    queue.run(job.pk)

    job.refresh_from_db()
    assert (job.state, job.claim) == ("running", "another worker")
    assert "went to another worker" in caplog.text


def test_the_heartbeat_renews_while_a_handler_says_nothing(db, settings, monkeypatch):
    settings.ASSAY_JOB_LEASE_SECONDS = 0.03
    beaten = threading.Event()

    class Row:
        def update(self, **_):
            beaten.set()
            return 1

    monkeypatch.setattr(queue, "_ours", lambda job: Row())
    with queue._Heartbeat(make()):
        assert beaten.wait(5)


# Retry


def test_a_failed_job_can_be_tried_again_with_all_its_attempts(
    db, alice, sent, django_capture_on_commit_callbacks
):
    job = make(state="failed", attempts=3, error="x", finished_at=timezone.now())

    with django_capture_on_commit_callbacks(execute=True):
        again = queue.retry(job, alice)

    assert sent == [job.pk]
    assert (again.state, again.attempts, again.error, again.finished_at) == ("queued", 0, "", None)


@pytest.mark.parametrize("state", ["queued", "running", "done"])
def test_only_a_failed_job_is_tried_again(db, alice, state):
    with pytest.raises(Conflict):
        queue.retry(make(state=state), alice)


def test_a_failed_job_whose_work_is_queued_again_is_not_tried_again(db, alice):
    job = make(state="failed")
    queue.enqueue("note", "a")

    with pytest.raises(Conflict):
        queue.retry(job, alice)

    job.refresh_from_db()
    assert job.state == "failed"


# Queues


@pytest.fixture
def sent_to(monkeypatch) -> list[tuple[int, str | None]]:
    """Ids that were handed to the broker, each with its queue."""
    messages: list[tuple[int, str | None]] = []

    def take(name, args, queue, **_):
        messages.append((*args, queue))

    monkeypatch.setattr(queue.current_app, "send_task", take)
    monkeypatch.setattr(queue, "_broker_rests_until", 0.0)
    return messages


@pytest.fixture
def gpu_queue(settings):
    settings.ASSAY_JOB_QUEUES = {"note": "gpu"}


@pytest.mark.usefixtures("gpu_queue")
def test_jobs_of_a_kind_with_a_queue_go_there_and_others_to_the_default_one(
    db, sent_to, django_capture_on_commit_callbacks
):
    with django_capture_on_commit_callbacks(execute=True):
        jobs = [queue.enqueue(kind, "a") for kind in ("note", "refuse")]

    assert sent_to == [(jobs[0].pk, "gpu"), (jobs[1].pk, None)]


@pytest.mark.usefixtures("gpu_queue")
def test_the_sweep_and_a_retry_send_to_the_same_queue_again(
    db, sent_to, django_capture_on_commit_callbacks
):
    overdue = make(leased_until=ago(seconds=1))
    failed = make(key="b", state="failed", error="No GPU.")

    queue.sweep()
    with django_capture_on_commit_callbacks(execute=True):
        queue.retry(failed, None)

    assert sent_to == [(overdue.pk, "gpu"), (failed.pk, "gpu")]


@pytest.mark.usefixtures("gpu_queue")
def test_without_a_worker_for_the_queue_the_shell_runs_its_jobs(db):
    job = make()

    assert queue.run_all() == 1

    job.refresh_from_db()
    assert job.state == "done"


# Sweep


def test_the_sweep_sends_what_nobody_works_on_and_nothing_else(db, sent):
    unsent = make(key="unsent", leased_until=None)
    lost = make(key="lost", leased_until=ago(seconds=1))
    dead = make(key="dead", state="running", claim="x", attempts=1, leased_until=ago(seconds=1))
    make(key="young", leased_until=timezone.now() + timedelta(seconds=30))
    make(key="alive", state="running", claim="x", leased_until=timezone.now() + timedelta(hours=1))
    make(key="done", state="done")
    make(key="failed", state="failed")

    assert queue.sweep()["sent"] == 3
    # Not the same again at once.
    assert queue.sweep()["sent"] == 0

    assert sorted(sent) == sorted([unsent.pk, lost.pk, dead.pk])


def test_a_long_wait_is_asked_after_ever_more_rarely(db, sent):
    old = make(key="old", leased_until=ago(seconds=1), created_at=ago(minutes=5))
    ancient = make(key="ancient", leased_until=ago(seconds=1), created_at=ago(days=5))

    queue.sweep()

    old.refresh_from_db()
    ancient.refresh_from_db()
    now = timezone.now()
    assert timedelta(minutes=4) < old.leased_until - now < timedelta(minutes=6)
    assert timedelta(minutes=9) < ancient.leased_until - now < timedelta(minutes=11)


def test_a_job_that_keeps_killing_its_worker_is_given_up_with_a_reason(db, sent):
    job = make(state="running", claim="x", attempts=queue.MAX_DEATHS, leased_until=ago(seconds=1))

    counts = queue.sweep()

    job.refresh_from_db()
    assert (counts["given_up"], job.state, sent) == (1, "failed", [])
    assert "died 5 times" in job.error


def test_the_sweep_stops_at_a_broker_that_is_away_and_sends_all_later(db, sent, monkeypatch):
    first = make(key="a", leased_until=ago(seconds=2))
    second = make(key="b", leased_until=ago(seconds=1))
    monkeypatch.setattr(queue, "_send", lambda *_: False)
    assert queue.sweep()["sent"] == 0
    monkeypatch.undo()
    monkeypatch.setattr(queue.current_app, "send_task", lambda name, args, **_: sent.extend(args))

    queue.sweep()

    assert sorted(sent) == [first.pk, second.pk]


def test_after_the_sweep_the_dead_workers_claim_is_void(db, sent):
    job = queue.claim(make().pk)
    Job.objects.filter(pk=job.pk).update(leased_until=ago(seconds=1))

    queue.sweep()

    with pytest.raises(queue.LeaseLost):
        queue.finish(job)
    assert queue.claim(job.pk) is not None


# Together


def test_running_everything_here_runs_each_waiting_job_once(db):
    make(key="a")
    make(key="b", kind="crash")
    make(key="c", state="running", claim="x", leased_until=ago(seconds=1))
    make(key="d", state="running", claim="x", leased_until=timezone.now() + timedelta(hours=1))

    assert queue.run_all() == 3
    assert len(SEEN) == 2


@pytest.mark.django_db(transaction=True)
def test_many_workers_and_one_job_give_one_run():
    job = make()

    won = at_once(*[partial(queue.claim, job.pk)] * 4)

    assert [claimed for claimed in won if claimed is not None] == [job]


@pytest.mark.django_db(transaction=True)
def test_waiting_work_does_not_start_before_the_transaction_that_needs_it_is_committed():
    if not connection.features.has_select_for_update:
        pytest.skip("SQLite has one writer at a time, so there is nothing to prove")
    job = make()
    claimed = threading.Event()

    def work() -> None:
        try:
            queue.claim(job.pk)
            claimed.set()
        finally:
            connection.close()

    worker = threading.Thread(target=work)
    with transaction.atomic():
        again = queue.enqueue("note", "a")
        worker.start()
        early = claimed.wait(0.3)
    worker.join()

    assert again.pk == job.pk
    assert not early
    assert claimed.is_set()
