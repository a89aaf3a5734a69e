"""The Celery application. Brokers carry job ids only; the Job table is the truth.

`celery -A annotator worker --beat` is one process for everything. With several workers, run `celery
-A annotator beat` once, on its own.
"""

import logging
import os
import sys
from typing import Any

from celery import Celery, Task, signals
from celery.schedules import crontab
from kombu.transport import TRANSPORT_ALIASES

from annotator import request_log

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "annotator.settings")
if "beat" in sys.argv:
    # Skip the checks, which import every page: web processes and workers run them.
    os.environ.setdefault("CELERY_SKIP_CHECKS", "true")

# Use the alias, so that `filesystem://` stays an ordinary broker URL that tests may replace.
TRANSPORT_ALIASES["filesystem"] = "annotator.broker:Transport"

app = Celery("assay")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@app.on_after_configure.connect
def schedule(sender: Celery, **_: object) -> None:
    from django.conf import settings

    sender.conf.beat_schedule = {
        "sweep": {
            "task": "labeling.sweep",
            "schedule": float(settings.ASSAY_SWEEP_SECONDS),
            # Old sweeps are useless; without an expiry they would pile up.
            "options": {"expires": float(settings.ASSAY_SWEEP_SECONDS)},
        },
        "rescore": {
            "task": "evaluation.tasks.rescore",
            # This runs often, but `rescore_changed` limits how often it scores.
            "schedule": min(15.0, float(settings.ASSAY_RESCORE_SECONDS)),
            "options": {"expires": 15.0},
        },
        "nightly": {
            "task": "evaluation.tasks.nightly",
            "schedule": crontab(hour=str(settings.ASSAY_NIGHTLY_HOUR), minute="0"),
        },
    }
    # The schedule's state goes into the data folder, since the working folder may be read-only.
    sender.conf.beat_schedule_filename = str(settings.DATA_DIR / "celerybeat-schedule")


@signals.setup_logging.connect
def keep_logging(loglevel: int | None = None, **_: Any) -> None:
    """Keep the log handlers of the settings; `--loglevel` applies to Celery's own messages."""
    if loglevel:
        logging.getLogger("celery").setLevel(loglevel)


@signals.before_task_publish.connect
def send_request_id(headers: dict[str, Any] | None = None, **_: Any) -> None:
    if headers is not None and (name := request_log.request_id.get()):
        headers["request_id"] = name


@signals.task_prerun.connect
def take_request_id(task: Task, task_id: str, args: Any = (), **_: Any) -> None:
    """Log with the id of the request that queued the task, or else the task's own id."""
    request_log.request_id.set(task.request.get("request_id") or task_id)
    request_log.job.set(args[0] if task.name == "labeling.run_job" and args else None)


@signals.task_postrun.connect
def forget_request_id(**_: Any) -> None:
    request_log.request_id.set("")
    request_log.job.set(None)
