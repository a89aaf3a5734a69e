"""Runs a job's command as a child process with few rights and no longer than its job.

The child gets arguments (no shell), the variables of labeling/environment.py and those its caller
names, its own folder, limits, and a process group that is killed with the job: if the lease is
lost, the handler fails or the worker dies. Its output is bounded and masked; the last line, exit
status and last sign of life are stored in the job's row.
"""

import json
import logging
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from labeling.environment import allowed_variables
from labeling.errors import Refusal
from labeling.jobs import launcher, queue
from labeling.jobs.masking import mask_secrets
from labeling.models import Job

logger = logging.getLogger(__name__)

# Interval in seconds at which the lease is checked.
POLL_SECONDS = 1.0
# Limits of stdout, and of the end of stderr.
MAX_OUTPUT = 8 * 1024 * 1024
KEPT_ERRORS = 64 * 1024
MAX_LINE_LENGTH = 500
OPEN_FILES = 4096
FILE_BYTES = 1 << 40
GIB = 1 << 30


class ChildFailed(Exception):
    """The command exited with an error or was killed; `str()` says how."""


@dataclass(frozen=True)
class ChildLimits:
    """Limits of each child process.

    memory: bytes of private writable memory, without mapped files. cpu: seconds. files: open at
    once. file: bytes of the largest. seconds: of the whole command by the clock; None: no limit.
    """

    memory: int
    cpu: int
    files: int = OPEN_FILES
    file: int = FILE_BYTES
    seconds: int | None = None

    def as_json(self) -> str:
        # Not RLIMIT_AS: CUDA, Ray and mapped arrays reserve more address space than they use.
        return json.dumps(
            {
                "RLIMIT_DATA": self.memory,
                "RLIMIT_CPU": self.cpu,
                "RLIMIT_NOFILE": self.files,
                "RLIMIT_FSIZE": self.file,
            }
        )


def site_limits() -> ChildLimits:
    """Return the limits of the settings."""
    return ChildLimits(
        memory=int(settings.ASSAY_CHILD_GIB * GIB), cpu=int(settings.ASSAY_CHILD_CPU_HOURS * 3600)
    )


def manage(
    job: Job,
    folder: Path,
    *arguments: str,
    environment: Mapping[str, str] | None = None,
    limits: ChildLimits | None = None,
) -> str:
    """Run `manage.py …` in the folder and return its stdout; see `run`."""
    command = [sys.executable, str(settings.BASE_DIR / "manage.py"), *arguments]
    return run(job, folder, command, environment=environment, limits=limits)


def run(
    job: Job,
    folder: Path,
    command: Sequence[str],
    *,
    environment: Mapping[str, str] | None = None,
    limits: ChildLimits | None = None,
) -> str:
    """Run the command and return its masked stdout.

    environment: further variables. Raises Refusal if the command refuses (status 1 and a line of
    JSON with "error") or takes too long, ChildFailed if it fails otherwise, and LeaseLost.
    """
    limits = limits or site_limits()
    begun = time.monotonic()
    process = subprocess.Popen(  # noqa: S603 - no shell, and a list of our own
        [sys.executable, "-I", str(launcher.__file__), limits.as_json(), *command],
        cwd=folder,
        env=_environment(folder, environment or {}),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    output = _Output(process)
    try:
        while not _ended(process):
            output.read(POLL_SECONDS)
            if len(output.stdout) > MAX_OUTPUT:
                raise ChildFailed(f"The command printed more than {MAX_OUTPUT >> 20} MiB.")
            queue.renew_child(job, output.last_line())
            if limits.seconds is not None and time.monotonic() - begun > limits.seconds:
                raise Refusal(f"It took over {limits.seconds:,} seconds.")
    finally:
        # Kill the whole group, also what an ended command left behind. Nobody has waited for its
        # leader yet, so no other process can have its id.
        os.killpg(process.pid, signal.SIGKILL)
        code = process.wait()
        output.read_rest()
    last = output.last_line(ended=True)
    queue.renew_child(job, last, exit_code=code)
    if code:
        logger.warning("the child of job %s ended with status %s: %s", job.pk, code, last)
        raise _failure(code, last, limits)
    return mask_secrets(output.stdout.decode(errors="replace"))


def _environment(folder: Path, extra: Mapping[str, str]) -> dict[str, str]:
    # ASSAY_CHILD: settings skip .env. ASSAY_DATA: a folder without database and key.
    variables = {"ASSAY_CHILD": "1", "ASSAY_DATA": str(folder), "PYTHONUNBUFFERED": "1"}
    return {**allowed_variables(os.environ), **variables, **extra}


def _ended(process: subprocess.Popen[bytes]) -> bool:
    ended = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    return ended is not None


def _failure(code: int, last: str, limits: ChildLimits) -> Exception:
    try:
        refused = json.loads(last) if code == 1 else None
    except ValueError:
        refused = None
    if isinstance(refused, dict) and "error" in refused:
        prefix = f"{Path(str(refused['file'])).name}: " if refused.get("file") else ""
        cure = f"; {refused['cure']}" if refused.get("cure") else ""
        return Refusal(f"{prefix}{refused['error']}{cure}.")
    if code == 128 + signal.SIGXCPU:
        if limits != site_limits():
            return Refusal(f"It took over {limits.cpu:,} seconds of processor time.")
        return Refusal(
            f"It took over {settings.ASSAY_CHILD_CPU_HOURS:g} hours of processor time in one "
            "process. Reduce the work, or raise ASSAY_CHILD_CPU_HOURS."
        )
    ending = f"was killed by signal {code - 128}" if code > 128 else f"ended with status {code}"
    return ChildFailed(f"The command {ending}. Its last line: {last or 'none'}")


class _Output:
    """The output of a process: the beginning of stdout, the end of stderr."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        assert process.stderr is not None
        self.stdout, self.stderr = bytearray(), bytearray()
        self.open = {process.stdout: self.stdout, process.stderr: self.stderr}
        self.process = process
        self.selector = selectors.DefaultSelector()
        for pipe in self.open:
            os.set_blocking(pipe.fileno(), False)
            self.selector.register(pipe, selectors.EVENT_READ)

    def read(self, seconds: float) -> bool:
        """Wait this many seconds; return whether output came or a pipe closed."""
        if not self.open:
            # Both pipes are closed, so the process is about to exit.
            seconds = min(seconds, 0.05)
        ready = self.selector.select(seconds)
        for key, _ in ready:
            pipe = key.fileobj
            content = os.read(key.fd, 65536)
            if not content:
                self.selector.unregister(pipe)
                self.open.pop(pipe)  # type: ignore[call-overload]
                continue
            self.open[pipe] += content  # type: ignore[index]
        del self.stderr[:-KEPT_ERRORS]
        return bool(ready)

    def read_rest(self) -> None:
        """Read what the pipes hold; a process that left the group may keep them open."""
        for _ in range(KEPT_ERRORS):
            if len(self.stdout) > MAX_OUTPUT or not (self.open and self.read(0)):
                break
        self.selector.close()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert pipe is not None
            pipe.close()

    def last_line(self, ended: bool = False) -> str:
        """Return the last line of stderr with words, masked.

        While the process runs, only a complete line: half a secret could not be masked.
        """
        text = bytes(self.stderr).decode(errors="replace").replace("\r", "\n")
        if not ended:
            text = text.rpartition("\n")[0]
        lines = [line.strip() for line in text.split("\n")]
        return mask_secrets(next((line for line in reversed(lines) if line), ""))[:MAX_LINE_LENGTH]
