"""Run tasks in processes of this machine; a process that dies loses only its own task."""

import os
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, as_completed, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from queue import SimpleQueue

from evaluation.engines.store import Store
from evaluation.engines.tasks import Task
from labeling import processors
from labeling.files import BadInput

# Libraries that start threads read these variables on import.
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def run(
    tasks: Sequence[Task],
    store: Store,
    processes: int,
    retries: int,
    watch: Callable[[int], object],
) -> None:
    """Make each task's object, in this many processes (0: one per processor).

    Raises the error of a task, and BadInput where processes died at one task more than `retries`
    times. Running tasks then finish; the others do not start.
    """
    available = processors.count()
    count = min(processes or available, len(tasks))
    idle: SimpleQueue[_Process] = SimpleQueue()
    made = [_Process(threads=max(1, available // count)) for _ in range(count)]
    for process in made:
        idle.put(process)

    def make(each: Task) -> None:
        process = idle.get()
        try:
            process.make(each, store, retries)
        finally:
            idle.put(process)

    with ThreadPoolExecutor(count) as pool:
        running = [pool.submit(make, each) for each in tasks]
        try:
            for future in as_completed(running):
                future.result()
                watch(1)
        finally:
            for future in running:
                future.cancel()
            # Running tasks finish first; a failed task leaves no process behind.
            wait(running)
            for process in made:
                process.executor.shutdown()


class _Process:
    """One process with its own executor: when it is killed, no other process's task is lost."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self.begin()

    def begin(self) -> None:
        # Spawn: a fork would copy locks that threads of this process hold.
        self.executor = ProcessPoolExecutor(
            1, get_context("spawn"), _prepare, (os.getpid(), self.threads)
        )

    def make(self, each: Task, store: Store, retries: int) -> None:
        for _ in range(retries + 1):
            try:
                return self.executor.submit(each.make, store).result()
            except BrokenProcessPool:
                self.executor.shutdown()
                self.begin()
        raise BadInput(
            f"its process died {retries + 1} times",
            file=each.key,
            cure="free some memory, or cut the work into smaller tasks, and run again",
        )


def _prepare(parent: int, threads: int) -> None:
    for name in THREADS:
        os.environ.setdefault(name, str(threads))
    end_with_parent(parent)


def end_with_parent(parent: int) -> None:
    """End this process within a second of its parent's death, even by SIGKILL."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
