"""Files that tasks read, named in their arguments by what they hold."""

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from evaluation.readers.answers import file_sha256
from labeling.files import BadInput

SAME = "let every machine see the same files under the same names, then run again"


def files_sha256(paths: Iterable[Path]) -> str:
    """SHA-256 of the files' SHA-256, one after the other. Raises BadInput for one that is away."""
    found = hashlib.sha256()
    for path in paths:
        try:
            found.update(bytes.fromhex(file_sha256(path)))
        except FileNotFoundError:
            raise BadInput("is not on this machine", path, None, SAME) from None
    return found.hexdigest()


def all_sha256(stretches: Iterable[Sequence[Path]]) -> Iterator[str]:
    """files_sha256 of each, in order, by as many threads as there are processors."""
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        yield from pool.map(files_sha256, stretches)


def refuse_others(paths: Sequence[Path], sha256: str) -> None:
    """Raises BadInput unless these files are the ones that were named by their SHA-256."""
    if files_sha256(paths) != sha256:
        raise BadInput(
            "this file, or one of those after it, is another here than where the command began",
            paths[0],
            None,
            SAME,
        )
