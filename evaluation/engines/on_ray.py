"""Run tasks on a Ray cluster. Imported only for `--on ray:…`.

Anyone who reaches a cluster can run code on it, so only private addresses are used, with its token.
The process that talks to it has no secret of the site or of the shell in its environment.
"""

import ipaddress
import os
import socket
from collections.abc import Callable, Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

from evaluation.engines import local
from evaluation.engines.store import Store
from evaluation.engines.tasks import Task
from labeling import environment
from labeling.files import BadInput, first_line

# Timeouts in seconds: for a cluster to answer (usually about 3), and for the driver to end.
CONNECT_SECONDS = 30.0
END_SECONDS = 3.0


def run(
    tasks: Sequence[Task],
    store: Store,
    address: str,
    retries: int,
    watch: Callable[[int], object],
) -> None:
    """Make each task's object on the cluster at `auto` or HOST:PORT.

    Ray restarts a task whose process or machine died, up to `retries` times. Raises the error of a
    task, and BadInput where Ray is not installed, there is no token, or the cluster does not answer
    within CONNECT_SECONDS or disappears, which Ray notices after a minute.
    """
    # Ray kills a driver when the cluster's head dies. The driver is a separate process, so that
    # this one can report it.
    context = get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    driver = context.Process(
        target=_drive,
        args=(os.getpid(), sender, tasks, store, address, retries),
        daemon=True,
    )
    driver.start()
    sender.close()
    try:
        # The first message means that the cluster answered; Ray itself would retry forever.
        if not receiver.poll(CONNECT_SECONDS):
            raise _no_cluster(address, f"no answer in {CONNECT_SECONDS:.0f} s")
        while (message := receiver.recv()) is not None:
            if isinstance(message, BaseException):
                raise message
            watch(message)
    except EOFError:
        raise BadInput(
            f"the cluster at {address} went away",
            cure="start it and run the same command again: finished tasks are not repeated",
        ) from None
    finally:
        driver.terminate()
        driver.join(END_SECONDS)
        # Ray ignores signals while it looks for a cluster.
        driver.kill()
        driver.join()


def _drive(
    parent: int,
    sender: Connection,
    tasks: Sequence[Task],
    store: Store,
    address: str,
    retries: int,
) -> None:
    """Send the number of newly finished tasks, and at the end None or the exception.

    parent: the process of the command; Ray stops its tasks when it is gone.
    """
    local.end_with_parent(parent)
    # Keep RAY_AUTH_MODE, RAY_AUTH_TOKEN and the address; nodes have their own rights to the store.
    environment.restrict(r"RAY_\w+")
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    # Ray reads it once, on import.
    os.environ.setdefault("RAY_AUTH_MODE", "token")
    # Ray prints long texts about missing parts, and dead workers to stdout, where the result of the
    # command is.
    for descriptor in (1, 2):
        os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)
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
    _refuse_without_token()
    if address != "auto":
        _refuse_public(address)
    try:
        ray.init(address=address, log_to_driver=False, configure_logging=False)
        _refuse_public(ray.get_runtime_context().gcs_address)
    except (ConnectionError, RuntimeError, TimeoutError, ValueError) as error:
        raise _no_cluster(address, first_line(error)) from None
    send(0)
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
            cure="see the cluster's logs, then run again: finished tasks are not repeated",
        ) from None


def _no_cluster(address: str, reason: str) -> BadInput:
    return BadInput(
        f"there is no Ray cluster at {address} ({reason})",
        cure="start one (docs/how-to/clusters-and-gpus.md), and give its RAY_AUTH_TOKEN",
    )


def _refuse_without_token() -> None:
    """Raise BadInput unless there is a token where Ray looks for one."""
    if (mode := os.environ["RAY_AUTH_MODE"]) != "token":
        raise BadInput(
            f"RAY_AUTH_MODE is {mode}, so strangers could run code on the cluster",
            cure="set it to token on every machine",
        )
    file = Path(os.environ.get("RAY_AUTH_TOKEN_PATH") or Path.home() / ".ray" / "auth_token")
    if not os.environ.get("RAY_AUTH_TOKEN") and not file.is_file():
        raise BadInput(
            "there is no token for the cluster, without which strangers could run code on it",
            cure="start every machine of it with RAY_AUTH_MODE=token and one token, and give it as "
            "RAY_AUTH_TOKEN, or in ~/.ray/auth_token",
        )


def _refuse_public(address: str) -> None:
    """Raise BadInput where HOST:PORT is, or may be, reachable from the internet."""
    host = address.rpartition(":")[0].strip("[]")
    try:
        addresses = {str(entry[4][0]).partition("%")[0] for entry in socket.getaddrinfo(host, None)}
    except OSError:
        # An unknown host: Ray does not find it either.
        return
    if public := sorted(each for each in addresses if ipaddress.ip_address(each).is_global):
        raise BadInput(
            f"the cluster at {address} has the public address {public[0]}, where strangers could "
            "run code on it",
            cure="start it on a private one (ray start --node-ip-address …)",
        )
