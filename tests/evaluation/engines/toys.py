"""Tasks for tests: module-level, since other processes import them."""

import os
import signal
from pathlib import Path

from evaluation.engines.tasks import task
from labeling.files import BadInput


@task(version=1)
def square(number: int, log: str = "", die_at: str = "") -> bytes:
    """The square of a number; writes that it ran, and dies once where it shall."""
    if log:
        with open(log, "a") as file:
            file.write(f"{number}\n")
    if die_at and Path(die_at).exists():
        Path(die_at).unlink()
        os.kill(os.getpid(), signal.SIGKILL)
    return str(number * number).encode()


@task(version=1)
def refuse(number: int) -> bytes:
    """Refuses its input, as a reader does."""
    raise BadInput("is no pool", file="pool.jsonl", line=number, cure="make it again")


@task(version=1)
def die() -> bytes:
    """Dies whenever it runs."""
    os.kill(os.getpid(), signal.SIGKILL)
    return b""
