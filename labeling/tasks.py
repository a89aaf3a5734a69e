"""Celery tasks. Messages carry only ids; the Job table has the rest."""

from celery import shared_task

from labeling.jobs import queue, rounds


@shared_task(name="labeling.run_job")
def run_job(job_id: int) -> None:
    queue.run(job_id)


@shared_task(name="labeling.sweep", ignore_result=True)
def sweep() -> dict[str, int]:
    """Return counts of resent and failed jobs, and of expired seats."""
    # Imported here: beat loads the tasks too, and needs none of these modules.
    from labeling.assignment import claiming, counters

    rounds.record("sweep")
    counts = queue.sweep()
    counts["seats_returned"] = claiming.return_expired()
    counters.sweep()
    return counts
