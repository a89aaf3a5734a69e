"""A program, not a module: `python -I launcher.py LIMITS COMMAND…` runs the command under limits.

LIMITS: JSON, name of a resource (RLIMIT_…) → bound. Exits with the command's status, or 128 + the
signal that killed it. It leads the command's process group and kills the whole group when its stdin
closes, so a command ends even if its worker is killed. Standard library only: whatever it imports
is loaded in each child.
"""

import json
import os
import resource
import signal
import subprocess
import sys
import threading


def main(limits: str, *command: str) -> int:
    for name, bound in {**json.loads(limits), "RLIMIT_CORE": 0}.items():
        kind = getattr(resource, name)
        # The soft limit of processor time sends a signal; the hard limit kills.
        last = bound + 5 * (name == "RLIMIT_CPU")
        most = resource.getrlimit(kind)[1]
        if most != resource.RLIM_INFINITY:
            bound, last = min(bound, most), min(last, most)
        resource.setrlimit(kind, (bound, last))
    threading.Thread(target=_end_with_worker, daemon=True).start()
    code = subprocess.Popen(command, stdin=subprocess.DEVNULL).wait()  # noqa: S603 - no shell, and a list of our own
    return 128 - code if code < 0 else code


def _end_with_worker() -> None:
    while os.read(0, 4096):
        pass
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
