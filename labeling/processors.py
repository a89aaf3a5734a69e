"""How many processors this process may use. No Django."""

import os


def count() -> int:
    """Return those that the system lets this process use; where it does not say, those of the
    machine.
    """
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
