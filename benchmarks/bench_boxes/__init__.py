"""Campaigns of boxes: opening a large one, and the page on which people label."""

from typing import Any


def main() -> list[dict[str, Any]]:
    from benchmarks.bench_boxes import opening, screens

    return [*screens.main(), *opening.main()]
