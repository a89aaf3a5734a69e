"""The Celery application. Brokers carry job ids only; the Job table is the truth.

`celery -A annotator worker --beat` is one process that does everything; with several workers run
`celery -A annotator beat` once, by itself.
"""

import os

from celery import Celery
from celery.schedules import crontab
from kombu.transport import TRANSPORT_ALIASES

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "annotator.settings")

# By its alias, so that `filesystem://` stays an ordinary broker URL that tests may replace.
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
            # Sweeps that nobody ran are of no use later; without this they would pile up.
            "options": {"expires": float(settings.ASSAY_SWEEP_SECONDS)},
        },
        "rescore": {
            "task": "evaluation.tasks.rescore",
            # Looks often and scores seldom: how seldom, `rescore_changed` decides.
            "schedule": min(15.0, float(settings.ASSAY_RESCORE_SECONDS)),
            "options": {"expires": 15.0},
        },
        "nightly": {
            "task": "evaluation.tasks.nightly",
            "schedule": crontab(hour=str(settings.ASSAY_NIGHTLY_HOUR), minute="0"),
        },
    }
    # When each was last due: beside the data, since the working folder may be read-only.
    sender.conf.beat_schedule_filename = str(settings.DATA_DIR / "celerybeat-schedule")
