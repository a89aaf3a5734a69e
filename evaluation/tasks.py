"""Periodic tasks. The Job table records everything else (labeling/jobs/queue.py)."""

from celery import shared_task


@shared_task(name="evaluation.tasks.nightly")
def nightly() -> None:
    """Queue the jobs that settle, watch, calibrate, freeze and score what changed."""
    from evaluation.benchmarks import runs
    from evaluation.pools import making, model_runs

    runs.start_night()
    making.sweep()
    model_runs.sweep()


@shared_task(name="evaluation.tasks.rescore")
def rescore() -> None:
    """Queue interim runs where something settled."""
    from evaluation.benchmarks import runs

    runs.rescore_changed()
