"""What the clock calls. The Job table says the rest (labeling/jobs/queue.py)."""

from celery import shared_task


@shared_task(name="evaluation.tasks.nightly")
def nightly() -> None:
    """Queues the jobs that settle, watch, calibrate, freeze and score what changed."""
    from evaluation.benchmarks import runs
    from evaluation.pools import making

    runs.start_night()
    making.sweep()


@shared_task(name="evaluation.tasks.rescore")
def rescore() -> None:
    """Queues interim runs where something settled."""
    from evaluation.benchmarks import runs

    runs.rescore_changed()
