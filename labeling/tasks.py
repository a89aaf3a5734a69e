"""What workers do. Only ids travel; the Job table says the rest."""

from celery import shared_task

from labeling.jobs import queue, rounds


@shared_task(name="labeling.run_job")
def run_job(job_id: int) -> None:
    queue.run(job_id)


@shared_task(name="labeling.sweep", ignore_result=True)
def sweep() -> dict[str, int]:
    """Counts of jobs sent again and given up, and of seats whose lease ran out."""
    # Here: beat has the tasks, too, and needs none of it.
    from labeling.assignment import claiming, counters

    rounds.record("sweep")
    counts = queue.sweep()
    counts["seats_returned"] = claiming.return_expired()
    counters.sweep()
    return counts
