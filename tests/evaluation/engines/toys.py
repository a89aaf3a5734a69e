"""Tasks for tests: module-level, since other processes import them."""

import os
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from evaluation.engines import local
from evaluation.engines.store import Store
from evaluation.engines.tasks import Task, task
from labeling.files import BadInput


@task(version=1)
def square(number: int, log: str = "", die_at: str = "") -> bytes:
    """The square of a number; writes that it ran, and dies once where it shall."""
    if log:
        with open(log, "a") as file:
            file.write(f"{number}\n")
    if die_at and _removed(Path(die_at)):
        os.kill(os.getpid(), signal.SIGKILL)
    return str(number * number).encode()


@task(version=1)
def wait(number: int, log: str, gate: str) -> bytes:
    """The number, once the file `gate` is there. Writes by which process's child it ran."""
    with open(log, "a") as file:
        file.write(f"{number} {os.getppid()}\n")
    while not Path(gate).exists():
        time.sleep(0.05)
    return str(number).encode()


@task(version=1)
def refuse(number: int) -> bytes:
    """Refuses its input, as a reader does."""
    raise BadInput("is no pool", file="pool.jsonl", line=number, cure="make it again")


@task(version=1)
def die() -> bytes:
    """Dies whenever it runs."""
    os.kill(os.getpid(), signal.SIGKILL)
    return b""


def _removed(path: Path) -> bool:
    """Whether this call removed the file: of several that try, one does."""
    try:
        path.unlink()
    except FileNotFoundError:
        return False
    return True


IN_PROCESSES = local.run


def run_one_here(
    tasks: Sequence[Task],
    store: Store,
    processes: int,
    retries: int,
    watch: Callable[[int], object],
) -> None:
    """As local.run, but what one process would do is done in this one, which takes no seconds."""
    if processes > 1:
        IN_PROCESSES(tasks, store, processes, retries, watch)
        return
    for each in tasks:
        each.make(store)
        watch(1)
