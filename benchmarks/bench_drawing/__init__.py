"""The drawing engine as a hand feels it, and what the scissors save."""

from typing import Any


def main() -> list[dict[str, Any]]:
    from benchmarks.bench_drawing import pace

    return pace.main()
