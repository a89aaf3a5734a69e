"""`python -m benchmarks [NAME …]`: runs every bench_*.py, or those named, and prints one table.

A bench is a module with `main()` that returns rows {"name", "target", "measured", "ok"}; ok is None
for a row without a target. Exit 1 when a target is missed.
"""

import importlib
import pkgutil
import sys
import time
from typing import Any

import benchmarks


def main(names: list[str]) -> int:
    found = [m.name for m in pkgutil.iter_modules(benchmarks.__path__) if m.name[:6] == "bench_"]
    chosen = [name for name in found if not names or name.removeprefix("bench_") in names]
    if not chosen:
        known = ", ".join(name.removeprefix("bench_") for name in found)
        print(f"no such benchmark; there are {known}", file=sys.stderr)
        return 2
    rows: list[dict[str, Any]] = []
    for name in chosen:
        start = time.monotonic()
        print(f"{name} …", file=sys.stderr, end=" ", flush=True)
        rows += importlib.import_module(f"benchmarks.{name}").main()
        print(f"{time.monotonic() - start:.0f} s", file=sys.stderr)
    print(render(rows))
    return int(any(row["ok"] is False for row in rows))


def render(rows: list[dict[str, Any]]) -> str:
    head = ("name", "target", "measured", "ok")
    words = {True: "ok", False: "MISSED", None: ""}
    text = [(str(r["name"]), str(r["target"]), str(r["measured"]), words[r["ok"]]) for r in rows]
    widths = [max(len(line[i]) for line in [head, *text]) for i in range(len(head))]
    return "\n".join(
        " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in [head, tuple("-" * width for width in widths), *text]
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
