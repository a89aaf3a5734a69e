"""A file of predictions cut into one for each classifier. No Django."""

import contextlib
import csv
from pathlib import Path
from typing import Any


def split(path: Path, into: Path) -> dict[str, Path]:
    """classifier → a CSV in the folder `into` with its rows of a file that was checked.

    Every column is kept, in the order of the file; files are named by number. As many files are
    open as there are classifiers.
    """
    found: dict[str, Path] = {}
    writers: dict[str, Any] = {}
    with contextlib.ExitStack() as files:
        rows = csv.reader(files.enter_context(open(path, encoding="utf-8-sig", newline="")))
        header = [name.strip() for name in next(rows)]
        place = header.index("classifier")
        for row in rows:
            if not row:
                continue
            name = row[place]
            if name not in writers:
                found[name] = into / f"{len(found)}.csv"
                goal = files.enter_context(open(found[name], "w", encoding="utf-8", newline=""))
                writers[name] = csv.writer(goal, lineterminator="\n")
                writers[name].writerow(header)
            writers[name].writerow(row)
    return found
