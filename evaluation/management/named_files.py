"""Options that name files: several as NAME=PATH or a path whose stem is the name; DIR:PART."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evaluation.splits.files import read_part
from labeling.files import refuse_address
from labeling.management.contract import UsageError
from labeling.management.options import option


def part_option() -> Any:
    """Return the field of --part."""
    return option("of a split: only its images count", None, type=read_part, metavar="DIR:PART")


def named_files(arguments: Sequence[str]) -> dict[str, Path]:
    """Return name → path, in the order given. Raises UsageError for an empty or repeated name,
    BadInput for an address.

    A text that is itself an existing path is a path, even with = in it.

    >>> named_files(["runs/a.csv", "B=b.csv"])
    {'a': PosixPath('runs/a.csv'), 'B': PosixPath('b.csv')}
    """
    files: dict[str, Path] = {}
    for text in arguments:
        name, equals, path = text.partition("=")
        if not equals or Path(text).exists():
            name, path = Path(text).stem, text
        if not name or not path:
            raise UsageError(f"{text!r} is neither a path nor NAME=PATH")
        if name in files:
            raise UsageError(f"two files are called {name!r}: give each a name, as NAME=PATH")
        files[name] = Path(path)
        refuse_address(files[name])
    return files
