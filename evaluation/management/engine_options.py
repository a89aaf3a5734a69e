"""Options of commands whose work can be cut into tasks: where they run, where results are kept."""

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from django.core.management.base import CommandParser

from evaluation.engines import running
from evaluation.engines.running import Engine
from evaluation.engines.store import Store
from evaluation.engines.tasks import Task
from labeling.management.contract import ContractCommand, UsageError


def add_engine(parser: CommandParser) -> None:
    """--on and --work."""
    group = parser.add_argument_group("work cut into tasks, in several processes or on a cluster")
    group.add_argument(
        "--on",
        type=_engine,
        metavar="ENGINE",
        help="local[:N]: N processes here; ray:auto or ray:HOST:PORT: a Ray cluster",
    )
    group.add_argument(
        "--work",
        metavar="DIR|s3://…",
        help="where the tasks' results are kept, so that a stopped run goes on; every machine must "
        "see it (without: a temporary folder)",
    )


@dataclass(frozen=True)
class Work:
    """Where tasks run and what they have made."""

    engine: Engine
    store: Store
    command: ContractCommand

    def make(self, tasks: Sequence[Task], what: str) -> list[str]:
        """The keys of the tasks' objects in their order, now that all are made."""
        with self.command.progress(len(tasks), "task", what) as bar:
            return running.run(tasks, self.store, self.engine, watch=bar.update)

    def results(self, tasks: Sequence[Task], what: str) -> Iterator[bytes]:
        """The objects of tasks in their order."""
        return map(self.store.get, self.make(tasks, what))


@contextmanager
def in_tasks(
    command: ContractCommand, on: Engine | None, address: str | None
) -> Iterator[Work | None]:
    """Where the options say that tasks run; None where they say nothing of it.

    --work alone runs them one after the other, as `local:1` does.
    """
    if on is None and address is None:
        yield None
    elif address is not None:
        yield Work(on or Engine.named("local:1"), Store.at(address), command)
    elif on is not None and on.kind == "ray":
        raise UsageError("--on ray:… needs --work DIR or s3://…, which every machine sees")
    elif on is not None:
        with tempfile.TemporaryDirectory(prefix="assay-") as folder:
            yield Work(on, Store.at(folder), command)


def _engine(text: str) -> Engine:
    try:
        return Engine.named(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
