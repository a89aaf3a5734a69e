"""What workers do. Only ids travel; the Job table says the rest."""

from celery import shared_task

from labeling import jobs


@shared_task(name="labeling.run_job")
def run_job(job_id: int) -> None:
    jobs.run(job_id)


@shared_task(name="labeling.sweep")
def sweep() -> None:
    jobs.sweep()
