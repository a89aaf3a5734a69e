"""Background jobs: the Job row is authoritative, a broker only transports its id.

An action writes the row in its own transaction, `on_commit` sends the id, a worker claims the row
by a conditional update, renews its lease while working and finishes it once; `sweep` resends jobs
without a worker. A job may run twice, so every handler must be idempotent. Leases use the
database's clock, so a machine with a wrong clock cannot hold jobs for hours. See
docs/explanation/assigning-and-jobs.md.
"""

import atexit
import logging
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from contextvars import copy_context
from datetime import datetime, timedelta
from functools import partial

from celery import current_app
from django.conf import settings
from django.db import IntegrityError, connection, transaction
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.module_loading import import_string

from labeling import disk_full
from labeling.errors import Conflict, Refusal, StoreUnreachable
from labeling.files import BadInput
from labeling.models import Campaign, Job, User

logger = logging.getLogger(__name__)

# How often a handler may raise, and its worker may die, before the job fails for good.
MAX_FAILURES = 3
MAX_DEATHS = 5
# A queued row that nobody claims is sent again after a minute, then at growing intervals. The
# message may just be waiting in a long queue, and copies must not fill the broker.
PATIENCE = timedelta(minutes=1)
MAX_PATIENCE = timedelta(minutes=10)
# How long a job waits after TooEarly.
EARLY_PAUSE = timedelta(seconds=10)
# How long a job waits for the object store: at first, and in total before it fails.
UNREACHABLE_PAUSE = timedelta(seconds=30)
LONGEST_OUTAGE = timedelta(days=1)
# Seconds to wait for the broker, whatever the transport's timeouts are: in a request; in the sweep
# and before a process exits. After a failure, nothing is sent for BROKER_REST_SECONDS.
SEND_SECONDS = 1.0
PATIENT_SEND_SECONDS = 10.0
BROKER_REST_SECONDS = 5.0
SWEEP_SIZE = 500
# Minimum interval between writes of the progress.
RENEW_SECONDS = 1.0

_broker_rests_until = 0.0


class LeaseLost(Exception):
    """Another worker has the job, or a person withdrew it: stop without further writes."""


class TooEarly(Exception):
    """Raised by a handler that must run after another: the job waits without losing an attempt."""


def enqueue(
    kind: str,
    key: str,
    payload: Mapping[str, object] | None = None,
    campaign: Campaign | None = None,
) -> Job:
    """Return the queued job of this kind and key: an existing one, or a new one.

    Call it in the transaction of the action that needs the job. A queued job is locked until that
    transaction ends, so it cannot start before the data is committed. A running job is not reused,
    since it may have read older data. The first payload is kept.
    """
    with transaction.atomic():
        waiting = Job.objects.filter(kind=kind, key=key, state=Job.State.QUEUED)
        while True:
            job = waiting.select_for_update().first()
            if job is not None:
                return job
            try:
                with transaction.atomic():
                    job = Job.objects.create(
                        kind=kind,
                        key=key,
                        payload=dict(payload or {}),
                        campaign=campaign,
                        leased_until=Now() + PATIENCE,
                    )
            except IntegrityError:
                # A concurrent call enqueued it; use that job. Another cause (a deleted
                # campaign) would repeat forever.
                if not waiting.exists():
                    raise
                continue
            transaction.on_commit(partial(_send, job.pk, job.kind), robust=True)
            return job


def claim(job_id: int) -> Job | None:
    """Return the job, running under our lease, or None if there is nothing to do.

    Claims queued jobs, and running ones with an expired lease.
    """
    token = secrets.token_hex(16)
    abandoned = Q(state=Job.State.RUNNING) & (Q(claim="") | Q(leased_until__lte=Now()))
    taken = Job.objects.filter(Q(state=Job.State.QUEUED) | abandoned, pk=job_id).update(
        state=Job.State.RUNNING,
        claim=token,
        leased_until=Now() + _lease(),
        attempts=F("attempts") + 1,
        progress_done=0,
        progress_total=0,
        child_seen_at=None,
        exit_code=None,
        last_line="",
    )
    return Job.objects.filter(pk=job_id, claim=token).first() if taken else None


def renew(job: Job, done: int | None = None, total: int | None = None) -> None:
    """Renew the lease and store the progress. Raises LeaseLost if the job is no longer ours."""
    moment = time.monotonic()
    finished = done is not None and done == total
    if not finished and moment - getattr(job, "_renewed_at", 0.0) < RENEW_SECONDS:
        return
    changes: dict[str, object] = {"leased_until": Now() + _lease()}
    if done is not None:
        changes["progress_done"] = job.progress_done = done
    if total is not None:
        changes["progress_total"] = job.progress_total = total
    if not _ours(job).update(**changes):
        raise LeaseLost(f"job {job.pk} went to another worker")
    job._renewed_at = moment  # type: ignore[attr-defined]


def renew_child(job: Job, last_line: str, exit_code: int | None = None) -> None:
    """Renew the lease and store the state of the child process: alive now, or its exit status.

    Raises LeaseLost if the job is no longer ours.
    """
    changes = {"child_seen_at": timezone.now(), "exit_code": exit_code, "last_line": last_line}
    if not _ours(job).update(leased_until=Now() + _lease(), **changes):
        raise LeaseLost(f"job {job.pk} went to another worker")
    vars(job).update(changes)


def finish(job: Job) -> None:
    """Mark the job as done. Raises LeaseLost if it is no longer ours."""
    now = timezone.now()
    if not _ours(job).update(
        state=Job.State.DONE,
        claim="",
        leased_until=None,
        error="",
        waits_since=None,
        finished_at=now,
    ):
        raise LeaseLost(f"job {job.pk} went to another worker")
    job.state, job.finished_at = Job.State.DONE, now


def fail(job: Job, error: BaseException | str) -> None:
    """Store the reason and queue the job again, unless that is hopeless.

    Refusals of the domain are final; other failures get MAX_FAILURES attempts with growing pauses.
    Raises LeaseLost if the job is no longer ours.
    """
    reason = explain(error)
    pause = timedelta(seconds=5 * 2**job.attempts)
    if not is_hopeless(job, error) and _queue_again(job, reason, pause):
        return
    changed = _ours(job).update(
        state=Job.State.FAILED,
        claim="",
        leased_until=None,
        error=reason,
        finished_at=timezone.now(),
    )
    if not changed:
        raise LeaseLost(f"job {job.pk} went to another worker")
    job.state, job.error = Job.State.FAILED, reason


def is_hopeless(job: Job, error: BaseException | str) -> bool:
    """Return whether a job that raised this is retried only on request."""
    if isinstance(error, LeaseLost | TooEarly | StoreUnreachable):
        return False
    return isinstance(error, Refusal | BadInput) or job.attempts >= MAX_FAILURES


def run(job_id: int) -> Job | None:
    """Run the job's handler and return the job; None if it cannot be claimed.

    A failure is stored in the row and logged with its traceback, not raised, so that the caller can
    continue with the next job.
    """
    job = claim(job_id)
    if job is None:
        return None
    try:
        try:
            handler = _handler(job.kind)
            with _Heartbeat(job):
                handler(job)
            finish(job)
        except LeaseLost:
            raise
        except TooEarly:
            job.attempts -= 1
            if not _queue_again(job, "", EARLY_PAUSE):
                finish(job)
        except StoreUnreachable as fault:
            logger.warning("job %s (%s) waits: %s", job.pk, job, fault)
            _wait_for_store(job, fault)
        except Exception as error:
            logger.exception("job %s (%s) failed", job.pk, job)
            fail(job, error)
    except LeaseLost as lost:
        logger.warning("%s; this worker's result is discarded", lost)
    return job


def retry(job: Job, actor: User | None) -> Job:
    """Queue the failed job again with all attempts. Raises Conflict if it has not failed."""
    conflict = Conflict("The same job is already queued or running. Wait until it ends.")
    with transaction.atomic():
        if Job.objects.filter(kind=job.kind, key=job.key, state=Job.State.QUEUED).exists():
            raise conflict
        try:
            with transaction.atomic():
                changed = Job.objects.filter(pk=job.pk, state=Job.State.FAILED).update(
                    state=Job.State.QUEUED,
                    claim="",
                    attempts=0,
                    error="",
                    waits_since=None,
                    finished_at=None,
                    leased_until=Now() + PATIENCE,
                )
        except IntegrityError:
            raise conflict from None
        if not changed:
            raise Conflict("Only a failed job can be tried again; this one has not failed.")
        transaction.on_commit(partial(_send, job.pk, job.kind), robust=True)
    by = actor.pseudonym if actor else "the shell"
    logger.info("job %s (%s) was queued again by %s", job.pk, job, by)
    job.refresh_from_db()
    return job


def sweep() -> dict[str, int]:
    """Resend or fail stuck jobs and return their counts.

    Concurrent sweeps are safe: each row is updated on the condition of its previous state.
    """
    now = timezone.now()
    overdue = (
        Job.objects.filter(state__in=[Job.State.QUEUED, Job.State.RUNNING])
        .filter(Q(leased_until__lte=Now()) | Q(leased_until=None))
        .order_by("leased_until", "pk")[:SWEEP_SIZE]
    )
    counts = {"sent": 0, "given_up": 0}
    for job in overdue:
        if job.state == Job.State.RUNNING and job.attempts >= MAX_DEATHS:
            counts["given_up"] += _give_up(job, now)
            continue
        # Clear the claim: the former holder can neither renew nor finish, and anyone may claim.
        patience = min(max(PATIENCE, now - job.created_at), MAX_PATIENCE)
        if not _unchanged(job).update(claim="", leased_until=Now() + patience):
            continue
        if not _send(job.pk, job.kind, PATIENT_SEND_SECONDS):
            Job.objects.filter(pk=job.pk, claim="", state=job.state).update(
                leased_until=job.leased_until
            )
            break
        counts["sent"] += 1
    return counts


def run_all(after: Callable[[], object] | None = None) -> int:
    """Run all queued jobs in this process and return their number; for sites without a broker.

    after: called after each job.
    """
    count = 0
    last = 0
    while True:
        job = (
            Job.objects.filter(pk__gt=last)
            .filter(
                Q(state=Job.State.QUEUED)
                | Q(state=Job.State.RUNNING, claim="")
                | Q(state=Job.State.RUNNING, leased_until__lte=Now())
            )
            .order_by("pk")
            .first()
        )
        if job is None:
            return count
        # Skip it even if it failed: the sweep starts its next attempt.
        last = job.pk
        count += run(job.pk) is not None
        if after:
            after()


def explain(error: BaseException | str) -> str:
    """Return the failure as a sentence for a person.

    >>> explain(OSError(28, "No space left on device"))
    'The disk is full. Free some space, then try again.'
    >>> explain(KeyError("n01847000"))
    "KeyError: 'n01847000'"
    """
    if isinstance(error, str):
        return error
    if isinstance(error, OSError) and error.errno in disk_full.NO_SPACE:
        return disk_full.MESSAGE
    if isinstance(error, MemoryError):
        return "The worker ran out of memory. Give it more, then try again."
    if isinstance(error, Refusal | BadInput):
        return str(error)
    return f"{type(error).__name__}: {error}".rstrip(": ")


class _Heartbeat:
    """Renews the lease in a second thread while a handler works.

    A killed worker takes the thread along, so the lease shows which workers are alive.
    """

    def __init__(self, job: Job) -> None:
        self.job = job
        self.over = threading.Event()
        beat = partial(copy_context().run, self._beat)
        self.thread = threading.Thread(target=beat, daemon=True, name=f"job-{job.pk}")

    def __enter__(self) -> None:
        self.thread.start()

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.thread.join()

    def _beat(self) -> None:
        while not self.over.wait(_lease().total_seconds() / 3):
            try:
                if not _ours(self.job).update(leased_until=Now() + _lease()):
                    return
            except Exception:
                # The database may be briefly unavailable; the lease lasts two more beats.
                logger.warning("the lease of job %s was not renewed", self.job.pk, exc_info=True)
            finally:
                # Close this thread's own connection.
                connection.close()


def _handler(kind: str) -> Callable[[Job], object]:
    path = settings.ASSAY_JOB_HANDLERS.get(kind)
    if path is None:
        raise Refusal(f"No handler for jobs of the kind {kind!r}. See ASSAY_JOB_HANDLERS.")
    handler: Callable[[Job], object] = import_string(path)
    return handler


def _lease() -> timedelta:
    return timedelta(seconds=settings.ASSAY_JOB_LEASE_SECONDS)


def _ours(job: Job):
    return Job.objects.filter(pk=job.pk, state=Job.State.RUNNING, claim=job.claim)


def _unchanged(job: Job):
    return Job.objects.filter(
        pk=job.pk, state=job.state, claim=job.claim, leased_until=job.leased_until
    )


def _wait_for_store(job: Job, fault: StoreUnreachable) -> None:
    """Queue the job again without losing an attempt, doubling its wait.

    Fail it after LONGEST_OUTAGE.
    """
    now = timezone.now()
    since = job.waits_since or now
    if now - since >= LONGEST_OUTAGE:
        reason = f"It waited for the object store since {since:%Y-%m-%d %H:%M} UTC: {fault}"
        fail(job, Refusal(reason))
        return
    job.attempts -= 1
    pause = min(max(UNREACHABLE_PAUSE, now - since), MAX_PATIENCE)
    if not _queue_again(job, explain(fault), pause, waits_since=since):
        finish(job)


def _queue_again(
    job: Job, reason: str, pause: timedelta, waits_since: datetime | None = None
) -> bool:
    """Queue the job again; the sweep resends it after the pause.

    Return False if the same work is already queued as another job.
    """
    try:
        with transaction.atomic():
            changed = _ours(job).update(
                state=Job.State.QUEUED,
                claim="",
                attempts=job.attempts,
                error=reason,
                waits_since=waits_since,
                leased_until=Now() + pause,
            )
    except IntegrityError:
        # The same work was queued again meanwhile; that job is the next attempt.
        return False
    if not changed:
        raise LeaseLost(f"job {job.pk} went to another worker")
    job.state, job.error, job.waits_since = Job.State.QUEUED, reason, waits_since
    return True


def _give_up(job: Job, now: datetime) -> int:
    reason = (
        f"The worker died {job.attempts} times while it worked on this. Check whether its machine "
        "has enough memory, then try again."
    )
    return _unchanged(job).update(
        state=Job.State.FAILED, claim="", leased_until=None, error=reason, finished_at=now
    )


# Threads that wait for the broker.
_sending: set[threading.Thread] = set()


@atexit.register
def _finish_sending() -> None:
    """Wait for the sending threads: a command that exits would lose their messages."""
    for sender in _sending:
        sender.join(PATIENT_SEND_SECONDS)


def _send(job_id: int, kind: str, patience: float = SEND_SECONDS) -> bool:
    """Send the id to the queue of its kind in ASSAY_JOB_QUEUES; return whether the broker took it.

    Waits at most `patience` seconds. An unavailable broker does not fail the request, since the
    sweep resends the job.
    """
    global _broker_rests_until
    if time.monotonic() < _broker_rests_until:
        return False
    errors: list[Exception] = []
    # Use a thread, since no transport has one timeout for the DNS lookup, the connection, the
    # handshake and the message. A thread that hangs ends when the transport gives up.
    _sending.intersection_update([each for each in _sending if each.is_alive()])
    # With the sender's context, so that the message has the id of the request.
    publish = partial(
        copy_context().run, _publish, job_id, settings.ASSAY_JOB_QUEUES.get(kind), errors
    )
    sender = threading.Thread(target=publish, daemon=True, name="send job")
    sender.start()
    sender.join(patience)
    if sender.is_alive():
        _sending.add(sender)
        reason: object = f"no answer within {patience:g} s"
    elif errors:
        reason = errors[0]
    else:
        return True
    _broker_rests_until = time.monotonic() + BROKER_REST_SECONDS
    logger.warning("job %s waits for the sweep: the broker is unreachable (%s)", job_id, reason)
    return False


def _publish(job_id: int, queue: str | None, errors: list[Exception]) -> None:
    """Publish the id; append an exception to `errors`. queue: None for Celery's default queue."""
    try:
        current_app.send_task(
            "labeling.run_job",
            args=[job_id],
            queue=queue,
            ignore_result=True,
            retry=True,
            retry_policy={"max_retries": 1, "interval_start": 0, "interval_max": 0},
        )
    except Exception as error:
        errors.append(error)
