"""A Ray cluster of two nodes on this machine: at two addresses of the loopback, on free ports."""

import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from labeling import environment

ROOT = Path(__file__).resolve().parents[3]
# Ray takes 127.0.0.1 for the machine's address in its network, but none of the others.
HEAD, SECOND = "127.0.0.2", "127.0.0.3"
START = (
    *(sys.executable, "-m", "ray.scripts.scripts", "start", "--block", "--disable-usage-stats"),
    *("--num-cpus", "1", "--object-store-memory", "80000000", "--include-log-monitor", "false"),
)
OF_HEAD = ("--head", "--port", "0", "--include-dashboard", "false")
# Much longer than a busy machine takes.
SECONDS = 120


@dataclass(frozen=True)
class Node:
    """What one `ray start` started: the processes of its session, in the sense of POSIX."""

    process: subprocess.Popen[bytes]
    printed: Path

    @property
    def processes(self) -> dict[int, str]:
        """The name of each of its processes that lives."""
        names_by_pid = {}
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                name, _, fields = (folder / "stat").read_text().rpartition(")")
            except (FileNotFoundError, ProcessLookupError):
                continue
            state, _, _, session = fields.split()[:4]
            if int(session) == self.process.pid and state != "Z":
                names_by_pid[int(folder.name)] = name.partition("(")[2]
        return names_by_pid

    def kill(self, name: str = "") -> None:
        """Kills all of its processes, or those of a name."""
        while mine := [
            pid for pid, process_name in self.processes.items() if not name or process_name == name
        ]:
            for pid in mine:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
            # Its own child; the others are children of those that died, or of init.
            self.process.poll()
        if not name:
            self.process.wait()


@dataclass(frozen=True)
class Cluster:
    """address: HOST:PORT of its head. environment: what a command needs to be let in."""

    address: str
    head: Node
    second: Node
    environment: Mapping[str, str]


@contextmanager
def running(variables: Mapping[str, str]) -> Iterator[Cluster]:
    """A cluster whose processes have these variables; they are killed in the end."""
    settings = {
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": secrets.token_hex(32),
        "RAY_USAGE_STATS_ENABLED": "0",
    }
    # Memory that other tests take must not end a worker.
    shared = {
        **environment.allowed_variables(os.environ),
        **variables,
        **settings,
        "PYTHONPATH": str(ROOT),
    }
    shared |= {"RAY_memory_monitor_refresh_ms": "0", "OMP_NUM_THREADS": "1"}
    # Short: paths of sockets have at most 107 bytes.
    folder = Path(tempfile.mkdtemp(prefix="ray", dir="/tmp"))
    nodes = []
    try:
        nodes.append(_started(folder / "head", shared, *OF_HEAD, "--temp-dir", folder / "r", HEAD))
        address = _found(nodes[0], r"--address='(\S+)'")
        nodes.append(_started(folder / "second", shared, "--address", address, SECOND))
        for node in nodes:
            _found(node, r"(Ray runtime started)")
        yield Cluster(address, *nodes, settings)
    finally:
        for node in nodes:
            node.kill()
        shutil.rmtree(folder)


def tasks_of(cluster: Cluster) -> set[int]:
    """The processes in which tasks run now."""
    every = {**cluster.head.processes, **cluster.second.processes}
    return {
        pid for pid, name in every.items() if name.startswith("ray::Task") or name == "ray::make"
    }


def until(check: Callable[[], object], description: str) -> None:
    """Returns as soon as something is the case; fails where it is not for very long."""
    end = time.monotonic() + SECONDS
    while not check():
        assert time.monotonic() < end, f"waited in vain: {description}"
        time.sleep(0.05)


def _started(printed: Path, shared: Mapping[str, str], *options: object) -> Node:
    """options: of `ray start`, the last one the node's address."""
    *others, address = map(str, options)
    with printed.open("wb") as file:
        process = subprocess.Popen(
            [*START, *others, "--node-ip-address", address],
            cwd=ROOT,
            env=dict(shared),
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    return Node(process, printed)


def _found(node: Node, pattern: str) -> str:
    """What a node prints, once it has. Fails where it ends before."""

    def text() -> str:
        return node.printed.read_text(errors="replace")

    def there() -> bool:
        return bool(re.search(pattern, text())) or node.process.poll() is not None

    until(there, pattern)
    match = re.search(pattern, text())
    assert match, text()
    return match[1]
