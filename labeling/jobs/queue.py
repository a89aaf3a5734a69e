"""Background work: the Job row is the truth, a broker only carries its id.

An action writes the row in its own transaction, `on_commit` sends the id, a worker claims the row
by a conditional update, renews its lease while it works and finishes it once; `sweep` sends again
what nobody works on. So a job may run twice, and every handler must bear that. Leases are written
and compared by the database's clock: a machine whose clock is wrong holds no job for hours. See
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
from labeling.errors import Conflict, Refusal, StoreAway
from labeling.files import BadInput
from labeling.models import Campaign, Job, User

logger = logging.getLogger(__name__)

# How often a handler may raise, and how often its worker may die under it, before a person looks.
MAX_FAILURES = 3
MAX_DEATHS = 5
# A queued row that nobody claims is sent again after a minute, then ever more rarely: a long queue
# is no lost message, and must not fill the broker with copies.
PATIENCE = timedelta(minutes=1)
MAX_PATIENCE = timedelta(minutes=10)
# How long a job waits whose work came too early.
EARLY_PAUSE = timedelta(seconds=10)
# How long one waits whose object store is away: at first, in all before a person looks.
AWAY_PAUSE = timedelta(seconds=30)
MOST_AWAY = timedelta(days=1)
# What a request waits for the broker at most, whatever the transport's own timeouts are; what the
# sweep does, and a process before it ends; and how long nobody waits for the broker again after it
# refused or was silent.
SEND_SECONDS = 1.0
PATIENT_SEND_SECONDS = 10.0
BROKER_REST_SECONDS = 5.0
SWEEP_SIZE = 500
# Progress is for people: it is written at most this often, whoever calls `renew`.
RENEW_SECONDS = 1.0

_broker_rests_until = 0.0


class LeaseLost(Exception):
    """Another worker has the job, or a person took it back: stop, and write nothing more."""


class TooEarly(Exception):
    """Raised by a handler whose work must come after another's: the job waits, as if untried."""


def enqueue(
    kind: str,
    key: str,
    payload: Mapping[str, object] | None = None,
    campaign: Campaign | None = None,
) -> Job:
    """Return the queued job of this kind and key: a new one, or the one that is waiting already.

    Call it in the transaction of the action that needs the work. A waiting job is locked until that
    transaction ends, so it cannot start before what it must see is committed. A job that runs
    already does not count: it may have looked too early. The first payload stands.
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
                # Someone else enqueued it at this moment; take theirs. Another cause (a campaign
                # that is gone) would come back for ever.
                if not waiting.exists():
                    raise
                continue
            transaction.on_commit(partial(_send, job.pk, job.kind), robust=True)
            return job


def claim(job_id: int) -> Job | None:
    """Return the job, running under a lease of ours, or None if it needs nobody.

    Queued jobs can be claimed, and running ones whose worker has let the lease run out.
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
    """Renew the lease and stores how far the work is. Raises LeaseLost for a job of others."""
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
    """Renew the lease and stores what the job's child process says: alive now, or ended with a
    status. Raises LeaseLost for a job of others.
    """
    changes = {"child_seen_at": timezone.now(), "exit_code": exit_code, "last_line": last_line}
    if not _ours(job).update(leased_until=Now() + _lease(), **changes):
        raise LeaseLost(f"job {job.pk} went to another worker")
    vars(job).update(changes)


def finish(job: Job) -> None:
    """The job, done. Raises LeaseLost if it is no longer ours."""
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
    """Keep the reason, and queues the job again unless trying again is of no use.

    What the domain refuses is refused tomorrow as well; other failures get MAX_FAILURES attempts,
    each after a longer pause. Raises LeaseLost if the job is no longer ours.
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
    """Return whether a handler that raises this is not called again until a person asks for it."""
    if isinstance(error, LeaseLost | TooEarly | StoreAway):
        return False
    return isinstance(error, Refusal | BadInput) or job.attempts >= MAX_FAILURES


def run(job_id: int) -> Job | None:
    """Return the job after its handler ran, or None if there was nothing to claim.

    A failure is stored on the row and logged with its traceback; it is not raised, since whoever
    runs jobs goes on with the next.
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
        except StoreAway as fault:
            logger.warning("job %s (%s) waits: %s", job.pk, job, fault)
            _wait_for_store(job, fault)
        except Exception as error:
            logger.exception("job %s (%s) failed", job.pk, job)
            fail(job, error)
    except LeaseLost as lost:
        logger.warning("%s; its result stands, ours is not needed", lost)
    return job


def retry(job: Job, actor: User | None) -> Job:
    """Return the failed job, queued again with all its attempts. Raises Conflict if it has not
    failed.
    """
    again = Conflict("The same work is waiting or running already. Wait for it to end.")
    with transaction.atomic():
        if Job.objects.filter(kind=job.kind, key=job.key, state=Job.State.QUEUED).exists():
            raise again
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
            raise again from None
        if not changed:
            raise Conflict("Only a failed job can be tried again; this one has not failed.")
        transaction.on_commit(partial(_send, job.pk, job.kind), robust=True)
    by = actor.pseudonym if actor else "the shell"
    logger.info("job %s (%s) was queued again by %s", job.pk, job, by)
    job.refresh_from_db()
    return job


def sweep() -> dict[str, int]:
    """Counts of what was sent again and what was given up.

    Any number of sweeps may run at once: each row is taken by a condition on what was read.
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
        # An empty claim: whoever held it can neither renew nor finish, and anyone may claim.
        if not _as_read(job).update(claim="", leased_until=Now() + _patience(job, now)):
            continue
        if not _send(job.pk, job.kind, PATIENT_SEND_SECONDS):
            Job.objects.filter(pk=job.pk, claim="", state=job.state).update(
                leased_until=job.leased_until
            )
            break
        counts["sent"] += 1
    return counts


def run_all(after: Callable[[], object] | None = None) -> int:
    """Return the number of jobs run here, one after the other, until none is left: for machines
    without a broker, and for the shell. after: called after each.
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
        # Past it even when it failed: its next attempt is the sweep's affair.
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
    """Renews the lease from a second thread while a handler works, however seldom it says so.

    A killed worker takes the thread with it, so the lease still tells who is alive.
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
                # The database may be away for a moment; the lease has two more beats to live.
                logger.warning("the lease of job %s was not renewed", self.job.pk, exc_info=True)
            finally:
                # This thread's own connection: it must not stay open behind the worker's back.
                connection.close()


def _handler(kind: str) -> Callable[[Job], object]:
    path = settings.ASSAY_JOB_HANDLERS.get(kind)
    if path is None:
        raise Refusal(f"Nothing here does jobs of the kind {kind!r}. See ASSAY_JOB_HANDLERS.")
    handler: Callable[[Job], object] = import_string(path)
    return handler


def _lease() -> timedelta:
    return timedelta(seconds=settings.ASSAY_JOB_LEASE_SECONDS)


def _ours(job: Job):
    return Job.objects.filter(pk=job.pk, state=Job.State.RUNNING, claim=job.claim)


def _as_read(job: Job):
    return Job.objects.filter(
        pk=job.pk, state=job.state, claim=job.claim, leased_until=job.leased_until
    )


def _patience(job: Job, now: datetime) -> timedelta:
    return min(max(PATIENCE, now - job.created_at), MAX_PATIENCE)


def _wait_for_store(job: Job, fault: StoreAway) -> None:
    """Queues the job again as if untried, after as long a pause as it waits already; one that
    waited for MOST_AWAY fails."""
    now = timezone.now()
    since = job.waits_since or now
    if now - since >= MOST_AWAY:
        reason = f"It waited for the object store since {since:%Y-%m-%d %H:%M} UTC: {fault}"
        fail(job, Refusal(reason))
        return
    job.attempts -= 1
    pause = min(max(AWAY_PAUSE, now - since), MAX_PATIENCE)
    if not _queue_again(job, explain(fault), pause, waits_since=since):
        finish(job)


def _queue_again(
    job: Job, reason: str, pause: timedelta, waits_since: datetime | None = None
) -> bool:
    """Whether the job waits for its next attempt. The pause is kept by the sweep."""
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
        # The same work was queued again while this ran: that one is the next attempt.
        return False
    if not changed:
        raise LeaseLost(f"job {job.pk} went to another worker")
    job.state, job.error, job.waits_since = Job.State.QUEUED, reason, waits_since
    return True


def _give_up(job: Job, now: datetime) -> int:
    reason = (
        f"The worker died {job.attempts} times while it worked on this. "
        "Look for a lack of memory on its machine, then try again."
    )
    return _as_read(job).update(
        state=Job.State.FAILED, claim="", leased_until=None, error=reason, finished_at=now
    )


# Threads that a broker keeps waiting.
_sending: set[threading.Thread] = set()


@atexit.register
def _finish_sending() -> None:
    """A command that ends now would take the messages along."""
    for sender in _sending:
        sender.join(PATIENT_SEND_SECONDS)


def _send(job_id: int, kind: str, patience: float = SEND_SECONDS) -> bool:
    """Whether the broker took the id within so many seconds, into the queue that
    ASSAY_JOB_QUEUES names for the kind. A broker that is away or silent fails no request: the sweep
    sends."""
    global _broker_rests_until
    if time.monotonic() < _broker_rests_until:
        return False
    errors: list[Exception] = []
    # In a thread, since no timeout of a transport covers all: the name's address, the connection,
    # the handshake and the message. One that hangs ends when the transport gives up.
    _sending.intersection_update([each for each in _sending if each.is_alive()])
    # With the context of whoever sends: the message has the id of the request.
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
    logger.warning("job %s waits for the sweep: the broker is away (%s)", job_id, reason)
    return False


def _publish(job_id: int, queue: str | None, errors: list[Exception]) -> None:
    """queue: None for Celery's default one."""
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
