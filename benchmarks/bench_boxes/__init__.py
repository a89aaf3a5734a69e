"""Campaigns of boxes: opening a large one."""

from typing import Any


def main() -> list[dict[str, Any]]:
    from benchmarks.bench_boxes import opening

    return opening.main()
