"""What docs/benchmarks.md promises, measured: one module for each subject."""

import os
from typing import TypeVar

SMALLEST = "ASSAY_SMALLEST_BENCHMARKS"
T = TypeVar("T")


def sized(full: T, smallest: T) -> T:
    """Return the full size, or the smallest one that still runs every line, as CI wants.

    It is read from the environment, so that the processes of a benchmark agree.
    """
    return smallest if os.environ.get(SMALLEST) else full
