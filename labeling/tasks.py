"""What workers do. Only ids travel; the Job table says the rest."""

from celery import shared_task

from labeling import assigning, jobs, upkeep


@shared_task(name="labeling.run_job")
def run_job(job_id: int) -> None:
    jobs.run(job_id)


@shared_task(name="labeling.sweep", ignore_result=True)
def sweep() -> dict[str, int]:
    """Counts of jobs sent again and given up, and of seats whose lease ran out."""
    counts = jobs.sweep()
    counts["seats_returned"] = assigning.return_expired()
    upkeep.sweep()
    return counts
