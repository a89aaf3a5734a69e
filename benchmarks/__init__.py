"""Measure what docs/reference/benchmarks.md promises: one module for each subject."""

import os
from typing import Any, TypeVar

SMALLEST = "ASSAY_SMALLEST_BENCHMARKS"
T = TypeVar("T")
Row = dict[str, Any]


def sized(full: T, smallest: T) -> T:
    """Return the full size; in a smallest run, as in CI, the smallest size that runs every line.

    The choice is read from the environment, so that all processes of a benchmark agree.
    """
    return smallest if os.environ.get(SMALLEST) else full


def row(name: str, measured: str, target: str = "none", ok: bool | None = None) -> Row:
    """Return a line of the table; ok is None where there is no target."""
    return {"name": name, "target": target, "measured": measured, "ok": ok}


def load() -> str:
    """Return how busy this machine is."""
    return f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
