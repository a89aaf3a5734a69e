"""Settings of the worker processes that test_broker.py starts and kills."""

import os

from annotator.settings import *  # noqa: F403

CELERY_TASK_DEFAULT_QUEUE = os.environ.get("TEST_QUEUE", "tests")
if CELERY_BROKER_URL.startswith("redis"):  # noqa: F405
    # Everything a killed worker leaves behind can then be found and removed.
    CELERY_BROKER_TRANSPORT_OPTIONS = {"global_keyprefix": CELERY_TASK_DEFAULT_QUEUE}
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
ASSAY_JOB_HANDLERS = dict.fromkeys(
    ("slow", "score"), "tests.labeling.broker_jobs.work_until_go_file"
)
