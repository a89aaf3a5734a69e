"""Where a command computes: --device, and the tasks that its work can be cut into."""

import argparse
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from evaluation import devices
from evaluation.devices import Named
from evaluation.engines import running
from evaluation.engines.running import Engine
from evaluation.engines.store import Store
from evaluation.engines.tasks import Task
from labeling.files import BadInput
from labeling.management.contract import ContractCommand, UsageError
from labeling.management.options import option
from labeling.records import Record

Item = TypeVar("Item")
Shard = tuple[int, int]


def shard_of(text: str) -> Shard:
    """Return I and N of the text I/N; I counts from 0 or from 1, and share N is share 0."""
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


@dataclass(kw_only=True)
class DeviceOptions:
    """--device of commands that can compute on a GPU."""

    on_gpu: ClassVar[bool] = True
    device: str = option(
        "auto, cpu, cuda, cuda:1, … (auto: a GPU if there is one)", devices.AUTO, metavar="DEVICE"
    )


@dataclass(kw_only=True)
class CpuOptions(DeviceOptions):
    """--device of commands that compute on the CPU alone; a GPU must exist, and is not used."""

    on_gpu: ClassVar[bool] = False
    device: str = option(
        "auto, cpu, cuda, cuda:1, …; whatever is given, this computes on the CPU (auto)",
        devices.AUTO,
        metavar="DEVICE",
    )


@dataclass(kw_only=True)
class EngineOptions(DeviceOptions):
    """The options of commands whose work can be cut into tasks."""

    on: Engine | None = option(
        "local[:N]: N processes here; ray:auto or ray:HOST:PORT: a Ray cluster, whose machines see "
        "the same files under the same names",
        type=_engine,
        metavar="ENGINE",
    )
    work: str | None = option(
        "where the results of tasks are kept, so that a stopped run goes on; every machine must "
        "see it (without: a temporary folder)",
        metavar="DIR|s3://…",
    )


@dataclass(kw_only=True)
class ShardOptions(EngineOptions):
    """The options of commands whose tasks an array of processes can share."""

    shard: Shard | None = option(
        "process I of an array of N, as Slurm has them: makes the tasks j with j mod N = I, into "
        "--work; the same command without --shard then joins them",
        type=shard_of,
        metavar="I/N",
    )


OfDevice = TypeVar("OfDevice", bound=DeviceOptions)


def on_device(action: Callable[[Any, OfDevice], Named]) -> Callable[[Any, OfDevice], Named]:
    """Return the action, wrapped.

    It is called with the device that --device means here. Its result names the versions, and the
    device unless it already does.
    """

    @wraps(action)
    def computed(command: Any, options: OfDevice) -> Named:
        # Skip the check for "auto": looking for a GPU that is not used would import torch.
        needed = options.on_gpu or options.device != devices.AUTO
        engine = getattr(options, "on", None)
        usable = device_of(options.device, engine) if needed else devices.CPU
        device = usable if options.on_gpu else devices.CPU
        return devices.with_device(action(command, replace(options, device=device)), device)

    return computed


def device_of(name: str, on: Engine | None) -> str:
    """Return the device that --device names where the work is done.

    auto is what this machine has. On a cluster, cuda is the GPU that the cluster gives to a task;
    the task checks it, and this machine needs no GPU. Raises BadInput.
    """
    if on is None or not on.on_other_machines or not name.startswith("cuda"):
        return devices.check_device(name)
    if name != "cuda":
        raise BadInput(
            f"the device {name} is not usable (a cluster itself says which GPU a task takes)",
            cure="give --device cuda",
        )
    return name


@dataclass(kw_only=True)
class TaskShare(Record):
    """The result of a process of an array: its tasks, kept in `work`. shard: (I, N)."""

    shard: list[int]
    tasks: int
    work: str


@dataclass(frozen=True)
class TaskWork:
    """Where tasks run and where their results are. shard: (I, N) of an array of processes."""

    engine: Engine
    store: Store
    command: ContractCommand
    shard: Shard | None = None

    def mine(self, stretches: Sequence[Item]) -> list[Item]:
        """Return the stretches of this process: its share, or all."""
        return running.share(stretches, *self.shard) if self.shard else list(stretches)

    def share(self, tasks: Sequence[Task], purpose: str) -> TaskShare:
        """Run the tasks and return the result of --shard."""
        assert self.shard is not None
        made = self.make(tasks, purpose)
        return TaskShare(shard=list(self.shard), tasks=len(made), work=self.store.address)

    def make(self, tasks: Sequence[Task], purpose: str) -> list[str]:
        """Run the tasks and return the keys of their objects in the same order."""
        with self.command.progress(len(tasks), "task", purpose) as bar:
            return running.run(tasks, self.store, self.engine, watch=bar.update)

    def results(self, tasks: Sequence[Task], purpose: str) -> Iterator[bytes]:
        """Run the tasks and yield their objects in the same order."""
        return map(self.store.get, self.make(tasks, purpose))


@contextmanager
def in_tasks(
    command: ContractCommand, options: EngineOptions, shard: Shard | None = None
) -> Iterator[TaskWork | None]:
    """Yield the engine and store of the tasks that the options request, or None without tasks.

    --work alone runs them one after the other, as `local:1` does.
    """
    if options.work is not None:
        engine = options.on or Engine.from_name("local:1")
        yield TaskWork(engine, Store.at(options.work), command, shard)
    elif shard is not None:
        raise UsageError("--shard I/N of tasks needs --work, where the other shares are kept")
    elif options.on is None:
        yield None
    elif options.on.on_other_machines:
        raise UsageError("--on ray:… needs --work DIR or s3://…, which every machine sees")
    else:
        with tempfile.TemporaryDirectory(prefix="assay-") as folder:
            yield TaskWork(options.on, Store.at(folder), command)


def needed(out: Path | None) -> Path:
    """Return --out. Raises UsageError where it is not given."""
    if out is None:
        raise UsageError("give --out; only --shard I/N with --work needs none")
    return out
