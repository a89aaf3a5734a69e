"""The number of processors for this process. No Django."""

import os


def count() -> int:
    """Return the processors this process may use; if unknown, those of the machine."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
