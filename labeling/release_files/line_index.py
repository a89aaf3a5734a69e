"""Byte offsets of the objects in objects.jsonl, so that a page reads only its own lines. Pure."""

import hashlib
import json
import re
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import IO, Any, TypeVar

from labeling.files import BadInput
from labeling.release_files.frozen import FREEZE_AGAIN, Line
from labeling.release_files.frozen_objects import ObjectLine

__all__ = ["Line", "ObjectLines", "by_category"]

T = TypeVar("T")
# Lines are canonical: only the box comes before the category.
CATEGORY = re.compile(rb'^\{"box":\[[^\]]*\],"category":"([^"\\]*)"')


def file_stamp(path: Path) -> tuple[int, int]:
    """Return when a file of a run was written and its size. Raises BadInput if it is missing."""
    try:
        stat = path.stat()
    except FileNotFoundError:
        raise BadInput(
            "is not on this server", file=path, cure="score the benchmark again"
        ) from None
    return stat.st_mtime_ns, stat.st_size


@dataclass
class ObjectLines(Sequence[T]):
    """Some lines of a file, read on access."""

    path: Path
    starts: array = field(default_factory=lambda: array("Q"))

    def __len__(self) -> int:
        return len(self.starts)

    def __getitem__(self, at: Any) -> Any:
        with open(self.path, "rb") as file:
            if not isinstance(at, slice):
                return _line(file, self.starts[at])
            return [_line(file, start) for start in self.starts[at]]


def _line(file: IO[bytes], start: int) -> Any:
    file.seek(start)
    return json.loads(file.readline())


@lru_cache(maxsize=16)
def by_category(path: Path, sha256: str) -> dict[str, ObjectLines[ObjectLine]]:
    """Return the objects of each category, and of all under "", in the order of the file.

    sha256: the stated hash of the file. Reads the file once. Raises BadInput for another hash.
    """
    lines_by_category = {"": ObjectLines[ObjectLine](path)}
    digest, start = hashlib.sha256(), 0
    try:
        with open(path, "rb") as file:
            for line in file:
                digest.update(line)
                match = CATEGORY.match(line)
                key = match.group(1).decode() if match else ""
                for name in {"", key}:
                    lines_by_category.setdefault(name, ObjectLines(path)).starts.append(start)
                start += len(line)
    except FileNotFoundError:
        raise BadInput("is missing from the release", file=path, cure=FREEZE_AGAIN) from None
    if digest.hexdigest() != sha256:
        raise BadInput("differs from what was frozen", file=path, cure=FREEZE_AGAIN)
    return lines_by_category
