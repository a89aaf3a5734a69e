"""Decoder processes: few, limited, and killed when they hang.

A decoder is foreign code. It never runs in a web process, but in `decoding.py` with bounded memory
and processor time and few variables. One that hangs or dies is replaced.
"""

import contextlib
import json
import os
import select
import subprocess
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypedDict

from labeling.environment import allowed_variables
from labeling.geometry.polygons import PolygonLists

ROOT = Path(__file__).resolve().parents[2]
# Longest start and decoding. SAM's decoder takes a tenth of a second.
START_SECONDS, DECODE_SECONDS = 20.0, 5.0
# Most requests that decode or wait at once, and the longest wait. Each holds one of the four
# threads of a web process; half of the threads stay free for other requests.
MAX_WAITING, WAIT_SECONDS = 2, 5.0
MEMORY_BYTES = 2 << 30
# Limit of total processor seconds, after which a process is replaced.
CPU_SECONDS = 3600
# Networks whose processes are kept.
MAX_NETWORKS = 2
MAX_REPLY_BYTES = 4 << 20


class Reply(TypedDict, total=False):
    """A reply of a process.

    polygons, score: of a request. refused: why there are none. ready, broken: at its start.
    """

    polygons: PolygonLists
    score: float | None
    refused: str
    ready: bool
    broken: str


class NetworkBusy(Exception):
    """Too many requests are waiting; a later one may succeed."""


class NetworkBroken(Exception):
    """The network cannot be opened, fails, hangs, or was killed."""


class _ProcessEnded(Exception):
    """The process exited or timed out."""


@dataclass
class _Worker:
    """One process of one network, used only while its pool's lock is held."""

    decoder: Path
    preparation: str
    process: subprocess.Popen[bytes] | None = None
    rest: bytes = b""

    def ask(self, request: Mapping[str, Any]) -> Reply:
        """Return the reply. Raises NetworkBroken; the next request then starts a new process."""
        try:
            if self.process is None or self.process.poll() is not None:
                self._start()
            assert self.process is not None
            assert self.process.stdin is not None
            self.process.stdin.write(json.dumps(request).encode() + b"\n")
            self.process.stdin.flush()
            return self._read(DECODE_SECONDS)
        except (_ProcessEnded, OSError, ValueError):
            self.end()
            raise NetworkBroken("gave no answer") from None

    def _start(self) -> None:
        self.end()
        command = [sys.executable, "-m", "labeling.promptable.decoding", str(self.decoder)]
        limits = [self.preparation, str(MEMORY_BYTES), str(CPU_SECONDS)]
        self.process = subprocess.Popen(  # noqa: S603 - no shell, and a list of our own
            [*command, *limits],
            cwd=ROOT,
            env={**allowed_variables(os.environ), "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self.rest = b""
        first = self._read(START_SECONDS)
        if "ready" not in first:
            self.end()
            raise NetworkBroken(first.get("broken", "cannot be opened"))

    def _read(self, seconds: float) -> Reply:
        """Return the next line of the process as JSON, within this many seconds."""
        assert self.process is not None
        assert self.process.stdout is not None
        until = time.monotonic() + seconds
        while b"\n" not in self.rest:
            ready, _, _ = select.select([self.process.stdout], [], [], until - time.monotonic())
            content = os.read(self.process.stdout.fileno(), 65536) if ready else b""
            if not content or len(self.rest) > MAX_REPLY_BYTES or time.monotonic() > until:
                raise _ProcessEnded
            self.rest += content
        line, _, self.rest = self.rest.partition(b"\n")
        reply: Reply = json.loads(line)
        return reply

    def end(self) -> None:
        process, self.process, self.rest = self.process, None, b""
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            with contextlib.suppress(OSError):
                pipe.close()


@dataclass
class DecoderPool:
    """A process for each network in use; one request at a time."""

    _turn: threading.Lock = field(default_factory=threading.Lock)
    _waiting: int = 0
    _count: threading.Lock = field(default_factory=threading.Lock)
    _workers: OrderedDict[str, _Worker] = field(default_factory=OrderedDict)
    _process: int = 0

    def decode(
        self,
        decoder: Path,
        preparation: Mapping[str, Any],
        embedding: Path,
        size: tuple[int, int],
        prompts: Mapping[str, Any],
    ) -> Reply:
        """Return {"polygons", "score"} of the prompts. Raises NetworkBusy and NetworkBroken."""
        with self._count:
            if self._waiting >= MAX_WAITING:
                raise NetworkBusy(f"{self._waiting} requests wait")
            self._waiting += 1
        try:
            if not self._turn.acquire(timeout=WAIT_SECONDS):
                raise NetworkBusy(f"{self._waiting} requests wait")
            try:
                worker = self._worker(decoder, json.dumps(preparation, sort_keys=True))
                reply = worker.ask(
                    {"embedding": str(embedding), "size": list(size), "prompts": dict(prompts)}
                )
            finally:
                self._turn.release()
        finally:
            with self._count:
                self._waiting -= 1
        if "refused" in reply:
            raise NetworkBroken(reply["refused"])
        return reply

    def _worker(self, decoder: Path, preparation: str) -> _Worker:
        if self._process != os.getpid():
            # After a fork, the pipes belong to the parent.
            self._workers, self._process = OrderedDict(), os.getpid()
        key = f"{decoder} {preparation}"
        if key not in self._workers:
            self._workers[key] = _Worker(decoder, preparation)
            while len(self._workers) > MAX_NETWORKS:
                self._workers.popitem(last=False)[1].end()
        self._workers.move_to_end(key)
        return self._workers[key]

    def end(self) -> None:
        """End all processes of this pool."""
        if self._process == os.getpid():
            for worker in self._workers.values():
                worker.end()
            self._workers.clear()


POOL = DecoderPool()
