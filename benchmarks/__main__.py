"""`python -m benchmarks [--smallest] [--size N] [--out DIR] [NAME …]`: all, or those named.

A bench is a module bench_*.py with `main()` that returns the rows of one table (benchmarks.row).
Exit 1 when a target is missed. --smallest runs every line on the smallest input and judges no
target: it shows that the benchmarks still work.
"""

import argparse
import importlib
import os
import pkgutil
import sys
import time
from pathlib import Path

import benchmarks


def main(
    names: list[str], *, smallest: bool = False, size: int | None = None, out: Path | None = None
) -> int:
    if smallest:
        os.environ[benchmarks.SMALLEST] = "1"
    names_of_all = [
        m.name for m in pkgutil.iter_modules(benchmarks.__path__) if m.name[:6] == "bench_"
    ]
    chosen = [name for name in names_of_all if not names or name.removeprefix("bench_") in names]
    if not chosen:
        known = ", ".join(name.removeprefix("bench_") for name in names_of_all)
        print(f"no such benchmark; there are {known}", file=sys.stderr)
        return 2
    rows: list[benchmarks.Row] = []
    for name in chosen:
        start = time.monotonic()
        print(f"{name} …", file=sys.stderr, end=" ", flush=True)
        measured = importlib.import_module(f"benchmarks.{name}").main
        rows += measured(size) if size else measured()
        print(f"{time.monotonic() - start:.0f} s", file=sys.stderr)
    if smallest:
        rows = [row | {"ok": None} for row in rows]
    rows.append(benchmarks.row("this machine", benchmarks.load()))
    print(render(rows))
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        (out / f"{'-'.join(names) or 'all'}.md").write_text(render(rows, "| ") + "\n")
    return int(any(row["ok"] is False for row in rows))


def render(rows: list[benchmarks.Row], border: str = "") -> str:
    head = ("name", "target", "measured", "ok")
    words = {True: "ok", False: "MISSED", None: ""}
    text = [(str(r["name"]), str(r["target"]), str(r["measured"]), words[r["ok"]]) for r in rows]
    widths = [max(len(line[i]) for line in [head, *text]) for i in range(len(head))]
    return "\n".join(
        border
        + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        + border[::-1].rstrip()
        for line in [head, tuple("-" * width for width in widths), *text]
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--smallest", action="store_true", help="show that they run; no targets")
    parser.add_argument("--size", type=int, metavar="N", help="of the one that is named")
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder for the table as Markdown")
    options = parser.parse_args()
    sys.exit(main(options.names, smallest=options.smallest, size=options.size, out=options.out))
