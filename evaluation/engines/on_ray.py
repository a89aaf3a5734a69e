"""Tasks on a Ray cluster. Imported by `--on ray:…` alone."""

import os
from collections.abc import Callable, Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection

from evaluation.engines.store import Store
from evaluation.engines.tasks import Task
from labeling.files import BadInput, first_line


def run(
    tasks: Sequence[Task],
    store: Store,
    address: str,
    retries: int,
    watch: Callable[[int], object],
) -> None:
    """Makes each task's object on the cluster at `auto` or HOST:PORT.

    Ray begins a task again, up to `retries` times, whose process or machine died.
    Raises what a task raises, and BadInput where Ray is not installed, or the cluster does not
    answer or goes away: Ray notices that after a minute.
    """
    # A driver whose cluster's head dies is ended by Ray itself: a process of its own, so that this
    # one can say so.
    context = get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    driver = context.Process(
        target=_drive, args=(sender, tasks, store, address, retries), daemon=True
    )
    driver.start()
    sender.close()
    try:
        while (message := receiver.recv()) is not None:
            if isinstance(message, BaseException):
                raise message
            watch(message)
    except EOFError:
        raise BadInput(
            f"the cluster at {address} went away",
            cure="start it and run the same command again: what is done stays done",
        ) from None
    finally:
        driver.terminate()
        driver.join()


def _drive(
    sender: Connection, tasks: Sequence[Task], store: Store, address: str, retries: int
) -> None:
    """Sends how many more tasks are done, at last None, or the exception that ended the work."""
    # Ray writes what it lacks, over many lines.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    try:
        _make_all(tasks, store, address, retries, sender.send)
        sender.send(None)
    except Exception as error:
        sender.send(error)


def _make_all(
    tasks: Sequence[Task],
    store: Store,
    address: str,
    retries: int,
    send: Callable[[int], None],
) -> None:
    try:
        import ray
    except ModuleNotFoundError:
        raise BadInput(
            "Ray is not installed", cure="pip install -r requirements-cluster.txt, on every machine"
        ) from None
    try:
        ray.init(address=address, log_to_driver=False, configure_logging=False)
    except (ConnectionError, RuntimeError, TimeoutError, ValueError) as error:
        raise BadInput(
            f"there is no Ray cluster at {address} ({first_line(error)})",
            cure="start one with: ray start --head",
        ) from None
    make = ray.remote(Task.make).options
    waiting = [make(num_gpus=each.gpus, max_retries=retries).remote(each, store) for each in tasks]
    try:
        while waiting:
            done, waiting = ray.wait(waiting)
            ray.get(done)
            send(len(done))
    except ray.exceptions.RayTaskError as error:
        raise error.cause from None
    except ray.exceptions.RayError as error:
        raise BadInput(
            f"a task failed on the cluster ({first_line(error)})",
            cure="see the cluster's logs, then run again: what is done stays done",
        ) from None
