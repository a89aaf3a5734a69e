"""Settings of the worker processes that test_broker.py starts and kills."""

import os

from annotator.settings import *  # noqa: F403

CELERY_TASK_DEFAULT_QUEUE = os.environ["TEST_QUEUE"]
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
ASSAY_JOB_HANDLERS = {"slow": "tests.labeling.broker_jobs.work_until_told"}
