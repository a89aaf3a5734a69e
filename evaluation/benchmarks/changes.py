"""Files that say how a truth differs from the one before. No database."""

import gzip
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

CHANGES = "changes.jsonl.gz"


def write_changes(path: Path, rows: Iterable[Mapping[str, object]]) -> None:
    """Write a line per row; equal rows give equal bytes."""
    with path.open("wb") as raw, gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as file:
        for row in rows:
            file.write(f"{json.dumps(row, ensure_ascii=False)}\n".encode())


def read_changes(path: Path) -> Iterator[Any]:
    """Yield the rows of a file that write_changes wrote."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


def link_or_copy(source: str | Path, goal: str | Path) -> None:
    """Make goal the same file as source, or a copy where the file system has no links."""
    try:
        os.link(source, goal)
    except OSError:
        shutil.copyfile(source, goal)
