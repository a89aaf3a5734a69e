"""A night on a site with benchmarks of all six kinds, each with three submissions.

`python -m benchmarks night [--size IMAGES]`: the first night scores every submission, the second
one follows a tenth more labels, the third one finds nothing new, and the last one scores a late
submission to each benchmark. Answers and settlements are written in bulk; the nights are those of
`manage.py nightly`, each in a process of its own, on SQLite.
"""

import tempfile
import time
from typing import Any

from benchmarks import Row, load, own_process, row, sized

MAX_RATIO = 1.3


def main(images: int = sized(10_000, 100)) -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:

        def change(action: str, argument: Any = None) -> None:
            own_process.run("bench_night.site", folder, action, argument)

        def pass_night() -> Any:
            return own_process.run("bench_night", folder, "night")

        change("build", images)
        first = pass_night()
        change("label", [images, images // 10])
        more, nothing = pass_night(), pass_night()
        change("submit_late")
        late = pass_night()
    nights = (first, more, nothing, late)
    expected = [[6, 0], [6, 5], [0, 0], [5, 0]]
    assert [night["done"] for night in nights] == expected, nights
    ratio = more["processor"] / first["processor"]
    seconds = [f"{night['processor']:.1f} s ({night['seconds']:.1f} passed)" for night in nights]
    return [
        row(
            f"a night after 10 % new labels, {images:,} images, six kinds, over the first night",
            f"{ratio:.2f}: {seconds[1]} and {seconds[0]} of the processor, "
            f"{more['queries']:,} and {first['queries']:,} queries, {load()}",
            f"≤ {MAX_RATIO}",
            ratio <= MAX_RATIO,
        ),
        row("… without new labels", f"{seconds[2]}, {nothing['queries']:,} queries"),
        row("… with a late submission to each", f"{seconds[3]}, {late['queries']:,} queries"),
        row("… peak memory", f"{max(night['mib'] for night in nights)} MiB"),
    ]


# In a process of its own, with Django set up.


def night(_: Any) -> dict[str, Any]:
    """Return seconds, processor seconds, queries and memory (mib) of a night, and done: the runs
    and the versions that it made.
    """
    from django.db import connection

    from evaluation.benchmarks import runs

    queries = 0

    def count(execute: Any, *rest: Any) -> Any:
        nonlocal queries
        queries += 1
        return execute(*rest)

    began, processor = time.monotonic(), time.process_time()
    with connection.execute_wrapper(count):
        report: Any = runs.nightly()
    seconds, processor = time.monotonic() - began, time.process_time() - processor
    faults = [each["error"] for each in report["benchmarks"] if each["error"]]
    assert not [*faults, *report["failed"]], report
    versions = sum(each["notes"] is not None for each in report["benchmarks"] if "notes" in each)
    made = [report["runs"], versions]
    measured = {"seconds": seconds, "processor": processor, "queries": queries, "done": made}
    return measured | {"mib": own_process.peak_mib()}
