"""A job that takes as long as the test wants; runs in the workers of test_broker.py."""

import os
import time
from pathlib import Path

from labeling.jobs import queue
from labeling.models import Job


def work_until_go_file(job: Job) -> None:
    folder = Path(job.payload["folder"])
    log = folder / f"{job.key}.log"
    with log.open("a") as lines:
        lines.write(f"started {os.getpid()}\n")
    while not (folder / "go").exists():
        queue.renew(job, done=1, total=2)
        time.sleep(0.02)
    with log.open("a") as lines:
        lines.write("ended\n")
