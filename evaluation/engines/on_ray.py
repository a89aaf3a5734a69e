"""Tasks on a Ray cluster. Imported by `--on ray:…` alone."""

from collections.abc import Callable, Sequence

from evaluation.engines.store import Store
from evaluation.engines.tasks import Task
from labeling.files import BadInput, first_line


def run(
    tasks: Sequence[Task],
    store: Store,
    address: str,
    gpus: float,
    retries: int,
    watch: Callable[[int], object],
) -> None:
    """Makes each task's object on the cluster at `auto` or HOST:PORT, on so many GPUs a task.

    Ray begins a task again, up to `retries` times, whose process or machine died.
    Raises what a task raises, and BadInput where Ray is not installed or the cluster does not
    answer.
    """
    ray = _ray()
    try:
        ray.init(address=address, log_to_driver=False, configure_logging=False)
    except (ConnectionError, RuntimeError, TimeoutError) as error:
        raise BadInput(
            f"there is no Ray cluster at {address} ({first_line(error)})",
            cure="start one with: ray start --head",
        ) from error
    try:
        make = ray.remote(Task.make).options(num_gpus=gpus, max_retries=retries)
        waiting = [make.remote(each, store) for each in tasks]
        while waiting:
            done, waiting = ray.wait(waiting)
            ray.get(done)
            watch(len(done))
    except ray.exceptions.RayTaskError as error:
        raise error.cause from error
    except ray.exceptions.RayError as error:
        raise BadInput(
            f"the cluster at {address} went away ({first_line(error)})",
            cure="run the same command again: what is done stays done",
        ) from error
    finally:
        ray.shutdown()


def _ray():  # type: ignore[no-untyped-def]
    try:
        import ray
    except ModuleNotFoundError:
        raise BadInput(
            "Ray is not installed", cure="pip install -r requirements-cluster.txt, on every machine"
        ) from None
    return ray
