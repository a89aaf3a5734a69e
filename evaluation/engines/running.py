"""Run tasks: in processes here (`local:N`), on a Ray cluster, or a share of them (`I/N`)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from evaluation.engines import local
from evaluation.engines.store import Store
from evaluation.engines.tasks import Task
from labeling.files import BadInput

Watch = Callable[[int], object]
Item = TypeVar("Item")
RETRIES = 5


@dataclass(frozen=True)
class Engine:
    """Where tasks run. kind: local or ray. address: the number of processes, auto or HOST:PORT."""

    kind: str
    address: str

    @classmethod
    def from_name(cls, name: str) -> "Engine":
        """Return the engine of `local`, `local:N`, `ray:auto` or `ray:HOST:PORT`.

        Raises ValueError for another name.
        """
        kind, _, address = name.partition(":")
        if kind == "local" and (not address or (address.isdigit() and int(address) > 0)):
            return cls(kind, address)
        host, _, port = address.rpartition(":")
        if kind == "ray" and (address == "auto" or (host and port.isdigit())):
            return cls(kind, address)
        raise ValueError(f"{name!r} is not local, local:N, ray:auto or ray:HOST:PORT")

    @property
    def on_other_machines(self) -> bool:
        """Return whether tasks may run without this machine's temporary files and devices."""
        return self.kind == "ray"

    def run(self, tasks: Sequence[Task], store: Store, retries: int, watch: Watch) -> None:
        """Make each task's object. Raises BadInput where one failed or the engine disappeared."""
        if self.kind == "local":
            local.run(tasks, store, int(self.address or 0), retries, watch)
            return
        from evaluation.engines import on_ray

        on_ray.run(tasks, store, self.address, retries, watch)


def run(
    tasks: Sequence[Task],
    store: Store,
    engine: Engine,
    retries: int = RETRIES,
    watch: Watch = lambda done: None,
) -> list[str]:
    """Make the tasks' objects that the store lacks, and return the keys of all in their order.

    retries: how often to restart a task whose process died. watch: called with the number of newly
    finished tasks.
    """
    missing = _missing(tasks, store)
    watch(len(tasks) - len(missing))
    if missing:
        engine.run(missing, store, retries, watch)
        if lost := _missing(missing, store):
            raise BadInput(
                f"{len(lost)} of {len(missing)} results are not in the store",
                file=store.address,
                cure="give --work a folder that every machine sees, or s3://BUCKET/PREFIX",
            )
    return [each.key for each in tasks]


def share(items: Sequence[Item], index: int, shares: int) -> list[Item]:
    """Return the items j with j mod shares = index mod shares: the share of process I of N."""
    return [each for j, each in enumerate(items) if j % shares == index % shares]


def _missing(tasks: Sequence[Task], store: Store) -> list[Task]:
    """Return the distinct tasks whose objects are not in the store."""
    prefixes = {each.key.partition("/")[0] + "/" for each in tasks}
    there = set().union(*map(store.keys, prefixes))
    return list({each.key: each for each in tasks if each.key not in there}.values())
