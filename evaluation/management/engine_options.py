"""Options of commands whose work can be cut into tasks: where they run, where results are kept."""

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from django.core.management.base import CommandParser

from evaluation.engines import running
from evaluation.engines.running import Engine
from evaluation.engines.store import Store
from evaluation.engines.tasks import Task
from labeling.management.contract import ContractCommand, UsageError
from labeling.records import Record

Item = TypeVar("Item")
Shard = tuple[int, int]


def add_engine(parser: CommandParser, shard: bool = True) -> None:
    """--on, --work and --shard. shard: False where the command has a --shard of its own."""
    group = parser.add_argument_group("work cut into tasks, in several processes or on a cluster")
    group.add_argument(
        "--on",
        type=_engine,
        metavar="ENGINE",
        help="local[:N]: N processes here; ray:auto or ray:HOST:PORT: a Ray cluster, whose "
        "machines see the same files under the same names",
    )
    group.add_argument(
        "--work",
        metavar="DIR|s3://…",
        help="where the tasks' results are kept, so that a stopped run goes on; every machine must "
        "see it (without: a temporary folder)",
    )
    if shard:
        group.add_argument(
            "--shard",
            type=shard_of,
            metavar="I/N",
            help="process I of an array of N, as Slurm has them: makes the tasks j with "
            "j mod N = I, into --work; the same command without --shard then joins them",
        )


@dataclass(kw_only=True)
class Share(Record):
    """What a process of an array made: so many tasks, kept in `work`. shard: (I, N)."""

    shard: list[int]
    tasks: int
    work: str


@dataclass(frozen=True)
class Work:
    """Where tasks run and what they have made. shard: (I, N) of an array of processes."""

    engine: Engine
    store: Store
    command: ContractCommand
    shard: Shard | None = None

    def mine(self, stretches: Sequence[Item]) -> list[Item]:
        """What this process makes: its share, or all."""
        return running.share(stretches, *self.shard) if self.shard else list(stretches)

    def share(self, tasks: Sequence[Task], purpose: str) -> Share:
        """Return the result of --shard, whose tasks are now made."""
        assert self.shard is not None
        made = self.make(tasks, purpose)
        return Share(shard=list(self.shard), tasks=len(made), work=self.store.address)

    def make(self, tasks: Sequence[Task], purpose: str) -> list[str]:
        """Return the keys of the tasks' objects in their order, now that all are made."""
        with self.command.progress(len(tasks), "task", purpose) as bar:
            return running.run(tasks, self.store, self.engine, watch=bar.update)

    def results(self, tasks: Sequence[Task], purpose: str) -> Iterator[bytes]:
        """Return the objects of tasks in their order."""
        return map(self.store.get, self.make(tasks, purpose))


@contextmanager
def in_tasks(
    command: ContractCommand, on: Engine | None, work: str | None, shard: Shard | None = None
) -> Iterator[Work | None]:
    """Where the options say that tasks run; None where they say nothing of it.

    --work alone runs them one after the other, as `local:1` does.
    """
    if work is not None:
        yield Work(on or Engine.from_name("local:1"), Store.at(work), command, shard)
    elif shard is not None:
        raise UsageError("--shard I/N of tasks needs --work, where the other shares are kept")
    elif on is None:
        yield None
    elif on.on_other_machines:
        raise UsageError("--on ray:… needs --work DIR or s3://…, which every machine sees")
    else:
        with tempfile.TemporaryDirectory(prefix="assay-") as folder:
            yield Work(on, Store.at(folder), command)


def needed(out: Path | None) -> Path:
    """--out. Raises UsageError where it is not given."""
    if out is None:
        raise UsageError("give --out; only --shard I/N with --work needs none")
    return out


def shard_of(text: str) -> Shard:
    """I and N; I counts from 0 or from 1: N is the share of 0."""
    try:
        index, shares = (int(number) for number in text.split("/"))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}: give I/N, such as 1/4") from None
    if not 0 <= index <= shares or shares < 1:
        raise argparse.ArgumentTypeError(f"{text!r}: shares count from 0 or 1 to {shares}")
    return index, shares


def _engine(text: str) -> Engine:
    try:
        return Engine.from_name(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
